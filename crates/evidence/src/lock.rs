//! One writer per project: a lock on the file `locks/<project-id>`, never on evidence itself.
//!
//! The lock covers the whole file. `lock_file` says why such a lock never outlives its holder.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::changes::{create_directories, create_directory, create_file};
use crate::lock_file::{ALL_BYTES, LockFile, WaitDecision};
use crate::lock_record::LockRecord;
use crate::prepared_files::PreparedFiles;
use crate::{EvidenceError, LOCK_SCHEMA, OpenRun, Store};
use proctor_model::ProjectId;

/// The pause between two attempts at a lock that is taken.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const BOOT_ID_PATH: &str = "/proc/sys/kernel/random/boot_id";

/// Why a project's lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("project `{project}` is in use by {}", holder.map_or("another proctor process".to_owned(), |pid| format!("the proctor process {pid}")))]
    Busy {
        project: ProjectId,
        /// The id of the process that holds the lock, if the lock file says so.
        holder: Option<u32>,
    },
    /// The lock file could not be used.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// The right to write a project's evidence. Clones share one lock, which is released when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct ProjectLock {
    state: Arc<ProjectLockState>,
}

#[derive(Debug)]
struct ProjectLockState {
    store: Store,
    project: ProjectId,
    file: LockFile,
    boot_id: String,
    recovered: AtomicBool,
    run_is_open: AtomicBool,
    prepared: Mutex<PreparedFiles>,
}

/// The runs that the last lock holder may have left, according to the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LeftBehind {
    /// No run is left behind: every run was sealed.
    Nothing,
    /// This run was begun and not sealed.
    Run(OpenRun),
    /// Nothing is known: the run directories have to be compared with the ledger.
    Unknown,
}

/// A guard that exists while a run of the project is open in this process. Dropping the guard allows the next run.
#[derive(Debug)]
pub(super) struct OpenRunGuard {
    lock: ProjectLock,
}

impl Store {
    /// Takes a project's lock. After each failed attempt, `waiting` decides whether to try again.
    pub fn lock(&self, project: &ProjectId, waiting: &mut dyn FnMut() -> WaitDecision) -> Result<ProjectLock, LockError> {
        let path = self.lock_path(project);
        let file = LockFile::open(&path)?;
        while !file.try_lock(&ALL_BYTES)? {
            match waiting() {
                WaitDecision::GoOn => thread::sleep(POLL_INTERVAL),
                WaitDecision::GiveUp => {
                    let holder = LockRecord::read(file.file()).map(|record| record.pid);
                    return Err(LockError::Busy { project: project.clone(), holder });
                }
            }
        }
        // Only the process id is replaced. If this process dies before it has recovered the last holder's runs, the
        // next holder must still find them in the record.
        let pid = std::process::id();
        let record =
            LockRecord::read(file.file()).map_or_else(|| LockRecord::unknown(pid), |record| LockRecord { pid, ..record });
        record.write(file.file(), &path)?;
        let state = ProjectLockState {
            store: self.clone(),
            project: project.clone(),
            file,
            boot_id: read_boot_id(),
            recovered: AtomicBool::new(false),
            run_is_open: AtomicBool::new(false),
            prepared: Mutex::default(),
        };
        Ok(ProjectLock { state: Arc::new(state) })
    }
}

impl ProjectLock {
    /// Returns the store that the lock's project lies in.
    pub fn store(&self) -> &Store {
        &self.state.store
    }

    /// Returns the project whose evidence the holder of this lock may write.
    pub fn project(&self) -> &ProjectId {
        &self.state.project
    }

    /// Takes over files and directories that were created in advance for the next run.
    pub(super) fn use_prepared_files(&self, prepared: PreparedFiles) {
        *self.prepared() = prepared;
    }

    /// Creates a private file, by renaming a prepared file if one is left. An existing file at `path` is an error.
    pub(super) fn create_file(&self, path: &Path) -> Result<File, EvidenceError> {
        let prepared = self.prepared().take_file(path);
        prepared.map_or_else(|| create_file(path), Ok)
    }

    /// Creates a private directory, by renaming a prepared directory if one is left. An existing directory is an error.
    pub(super) fn create_directory(&self, path: &Path) -> Result<(), EvidenceError> {
        if self.prepared().take_directory(path) { Ok(()) } else { create_directory(path) }
    }

    /// Creates a private directory, by renaming a prepared directory if one is left. Otherwise the missing parents are
    /// created too.
    pub(super) fn create_directories(&self, path: &Path) -> Result<(), EvidenceError> {
        if self.prepared().take_directory(path) { Ok(()) } else { create_directories(path) }
    }

    fn prepared(&self) -> std::sync::MutexGuard<'_, PreparedFiles> {
        self.state.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the lock file which run was begun and not sealed.
    pub(super) fn left_behind(&self) -> LeftBehind {
        match LockRecord::read(self.state.file.file()) {
            Some(record) if !record.boot_id.is_empty() && record.boot_id == self.state.boot_id => {
                record.open_run.map_or(LeftBehind::Nothing, LeftBehind::Run)
            }
            Some(_) | None => LeftBehind::Unknown,
        }
    }

    /// Records that no run of a dead process is left to be recovered.
    pub(super) fn mark_recovered(&self) -> Result<(), EvidenceError> {
        self.note(None)?;
        self.state.recovered.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Records that a run is begun, before its directory exists.
    pub(super) fn begin_run(&self, run: OpenRun) -> Result<OpenRunGuard, EvidenceError> {
        if !self.state.recovered.load(Ordering::Relaxed) {
            return Err(EvidenceError::NotRecovered { project: self.state.project.clone() });
        }
        if self.state.run_is_open.swap(true, Ordering::Relaxed) {
            return Err(EvidenceError::RunIsOpen { project: self.state.project.clone() });
        }
        let open = OpenRunGuard { lock: self.clone() };
        if self.left_behind() != LeftBehind::Nothing {
            // An earlier run of this process failed before its commit. Recording a new run would overwrite the record
            // of the earlier run, which would then never be recovered.
            return Err(EvidenceError::NotRecovered { project: self.state.project.clone() });
        }
        self.note(Some(run))?;
        Ok(open)
    }

    /// Records that a sealed run is published, so that recovery does not search for it.
    ///
    /// The run is valid even if this fails, so the error is dropped. The next run is then refused until
    /// [`crate::recover`] has found this run in the ledger and linked it.
    pub fn mark_published(&self) {
        let _found_by_recovery = self.end_run();
    }

    /// Records in the lock file that no run of this project is open any more.
    pub(super) fn end_run(&self) -> Result<(), EvidenceError> {
        self.note(None)
    }

    /// Fails while a run of the project is open in this process.
    pub(super) fn check_no_run_is_open(&self) -> Result<(), EvidenceError> {
        if self.state.run_is_open.load(Ordering::Relaxed) {
            return Err(EvidenceError::RunIsOpen { project: self.state.project.clone() });
        }
        Ok(())
    }

    fn note(&self, open_run: Option<OpenRun>) -> Result<(), EvidenceError> {
        let record =
            LockRecord { schema: LOCK_SCHEMA.to_owned(), pid: std::process::id(), boot_id: self.state.boot_id.clone(), open_run };
        record.write(self.state.file.file(), &self.state.store.lock_path(&self.state.project))
    }
}

impl Drop for OpenRunGuard {
    fn drop(&mut self) {
        self.lock.state.run_is_open.store(false, Ordering::Relaxed);
    }
}

impl LockError {
    /// Returns the hint that is shown below the message: what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "wait until it is done, or stop it; one process at a time runs the checks of a project",
            Self::Evidence(error) => error.hint(),
        }
    }
}

/// Returns the kernel's id of this boot, or an empty text if the id cannot be read. With an empty id, recovery scans
/// all runs every time.
pub fn read_boot_id() -> String {
    std::fs::read_to_string(BOOT_ID_PATH).map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestStore, mode};
    use proctor_model::{RunId, TaskId, Timestamp};

    fn open_run() -> OpenRun {
        OpenRun { task: TaskId::default_task(), run_id: RunId::new(Timestamp::from_millis(0), 1) }
    }

    #[test]
    fn a_second_holder_is_refused_and_told_the_first_ones_pid() {
        let test = TestStore::new();
        let first = test.lock();
        let mut attempts = 0;
        let refused = test.store.lock(&test.project, &mut || {
            attempts += 1;
            if attempts < 3 { WaitDecision::GoOn } else { WaitDecision::GiveUp }
        });
        assert_eq!(attempts, 3);
        match refused {
            Err(LockError::Busy { holder, .. }) => assert_eq!(holder, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        drop(first);
        test.lock();
    }

    #[test]
    fn the_lock_lasts_as_long_as_the_last_clone() {
        let test = TestStore::new();
        let first = test.lock();
        let clone = first.clone();
        drop(first);
        assert!(matches!(test.store.lock(&test.project, &mut || WaitDecision::GiveUp), Err(LockError::Busy { .. })));
        drop(clone);
        test.lock();
        assert_eq!(mode(&test.store.lock_path(&test.project)), 0o600);
    }

    #[test]
    fn a_waiter_gets_the_lock_as_soon_as_it_is_free() {
        let test = TestStore::new();
        let mut first = Some(test.lock());
        let mut attempts = 0;
        let second = test.store.lock(&test.project, &mut || {
            attempts += 1;
            first = None;
            if attempts < 500 { WaitDecision::GoOn } else { WaitDecision::GiveUp }
        });
        assert!(second.is_ok());
    }

    #[test]
    fn a_run_needs_recovery_first_and_no_other_open_run() {
        let test = TestStore::new();
        let lock = test.lock();
        assert_eq!(lock.left_behind(), LeftBehind::Unknown);
        assert!(matches!(lock.begin_run(open_run()), Err(EvidenceError::NotRecovered { .. })));
        lock.mark_recovered().unwrap();
        let open = lock.begin_run(open_run()).unwrap();
        assert!(matches!(lock.begin_run(open_run()), Err(EvidenceError::RunIsOpen { .. })));
        drop(open);
        assert!(matches!(lock.begin_run(open_run()), Err(EvidenceError::NotRecovered { .. })));
    }

    #[test]
    fn what_the_last_holder_left_is_still_known_after_a_holder_that_did_nothing() {
        let test = TestStore::new();
        let lock = test.lock();
        lock.mark_recovered().unwrap();
        drop(lock.begin_run(open_run()).unwrap());
        drop(lock);
        drop(test.lock());
        assert_eq!(test.lock().left_behind(), LeftBehind::Run(open_run()));
    }

    #[test]
    fn a_record_of_another_boot_is_not_believed() {
        let test = TestStore::new();
        let lock = test.lock();
        lock.mark_recovered().unwrap();
        assert_eq!(lock.left_behind(), LeftBehind::Nothing);
        let record = LockRecord { boot_id: "another".to_owned(), ..LockRecord::unknown(1) };
        record.write(lock.state.file.file(), &test.store.lock_path(&test.project)).unwrap();
        assert_eq!(lock.left_behind(), LeftBehind::Unknown);
    }
}
