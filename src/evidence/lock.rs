//! One writer per project: an open-file-description lock on `locks/<project-id>`, never on evidence.
//!
//! The whole of the file is locked; `lock_file` says why such a lock is never stale.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::evidence::changes::{create_directories, create_directory, create_file};
use crate::evidence::lock_file::{ALL_BYTES, LockFile, Waiting};
use crate::evidence::lock_record::LockRecord;
use crate::evidence::ready::Ready;
use crate::evidence::{EvidenceError, LOCK_SCHEMA, OpenRun, Store};
use crate::model::ProjectId;

/// How long to wait between two attempts at a busy lock.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const BOOT_ID_PATH: &str = "/proc/sys/kernel/random/boot_id";

/// Says why a project's lock was not given.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("project `{project}` is in use by {}", holder.map_or("another proctor process".to_owned(), |pid| format!("the proctor process {pid}")))]
    Busy {
        /// The project.
        project: ProjectId,
        /// The process that holds it, where its lock file says so.
        holder: Option<u32>,
    },
    /// The lock file could not be used.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// The right to write a project's evidence. Clones share it; the lock is given back when the last of them is dropped.
#[derive(Debug, Clone)]
pub struct ProjectLock {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    store: Store,
    project: ProjectId,
    file: LockFile,
    boot_id: String,
    recovered: AtomicBool,
    run_is_open: AtomicBool,
    ready: Mutex<Ready>,
}

/// What the last holder left behind, as far as the lock file tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LeftBehind {
    /// Every run was sealed.
    Nothing,
    /// This run was begun and not sealed.
    Run(OpenRun),
    /// Nothing is known: the run directories must be compared with the ledger.
    Unknown,
}

/// The one run of a project that is open in this process; dropping it says that it no longer is.
#[derive(Debug)]
pub(super) struct RunIsOpen {
    lock: ProjectLock,
}

impl Store {
    /// Takes a project's lock, asking `waiting` after each failed attempt whether to go on.
    pub fn lock(&self, project: &ProjectId, waiting: &mut dyn FnMut() -> Waiting) -> Result<ProjectLock, LockError> {
        let path = self.lock_path(project);
        let file = LockFile::open(&path)?;
        while !file.try_lock(&ALL_BYTES)? {
            match waiting() {
                Waiting::GoOn => thread::sleep(POLL_INTERVAL),
                Waiting::GiveUp => {
                    let holder = LockRecord::read(file.file()).map(|record| record.pid);
                    return Err(LockError::Busy { project: project.clone(), holder });
                }
            }
        }
        // The record of the last holder stays but for the process id: if this process dies before it has recovered what the
        // last holder left, the next one must still find it.
        let pid = std::process::id();
        let record =
            LockRecord::read(file.file()).map_or_else(|| LockRecord::unknown(pid), |record| LockRecord { pid, ..record });
        record.write(file.file(), &path)?;
        let held = Held {
            store: self.clone(),
            project: project.clone(),
            file,
            boot_id: read_boot_id(),
            recovered: AtomicBool::new(false),
            run_is_open: AtomicBool::new(false),
            ready: Mutex::default(),
        };
        Ok(ProjectLock { held: Arc::new(held) })
    }
}

impl ProjectLock {
    /// Returns the store the project lies in.
    pub fn store(&self) -> &Store {
        &self.held.store
    }

    /// Returns the project.
    pub fn project(&self) -> &ProjectId {
        &self.held.project
    }

    /// Takes over what was made ready for the run that begins.
    pub(super) fn use_ready(&self, ready: Ready) {
        *self.ready() = ready;
    }

    /// Creates a file that must not exist yet, out of what is ready where there is something.
    pub(super) fn create_file(&self, path: &Path) -> Result<File, EvidenceError> {
        let ready = self.ready().file(path);
        ready.map_or_else(|| create_file(path), Ok)
    }

    /// Creates a directory that must not exist yet, out of what is ready where there is something.
    pub(super) fn create_directory(&self, path: &Path) -> Result<(), EvidenceError> {
        if self.ready().directory(path) { Ok(()) } else { create_directory(path) }
    }

    /// Creates a directory and its parents, where they are missing, out of what is ready where there is something.
    pub(super) fn create_directories(&self, path: &Path) -> Result<(), EvidenceError> {
        if self.ready().directory(path) { Ok(()) } else { create_directories(path) }
    }

    fn ready(&self) -> std::sync::MutexGuard<'_, Ready> {
        self.held.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the lock file says about runs that are begun and not sealed.
    pub(super) fn left_behind(&self) -> LeftBehind {
        match LockRecord::read(self.held.file.file()) {
            Some(record) if !record.boot_id.is_empty() && record.boot_id == self.held.boot_id => {
                record.open_run.map_or(LeftBehind::Nothing, LeftBehind::Run)
            }
            Some(_) | None => LeftBehind::Unknown,
        }
    }

    /// Writes down that everything a dead process left has been dealt with.
    pub(super) fn note_recovered(&self) -> Result<(), EvidenceError> {
        self.note(None)?;
        self.held.recovered.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Writes down that a run is begun, before anything of it exists.
    pub(super) fn begin_run(&self, run: OpenRun) -> Result<RunIsOpen, EvidenceError> {
        if !self.held.recovered.load(Ordering::Relaxed) {
            return Err(EvidenceError::NotRecovered { project: self.held.project.clone() });
        }
        if self.held.run_is_open.swap(true, Ordering::Relaxed) {
            return Err(EvidenceError::RunIsOpen { project: self.held.project.clone() });
        }
        let open = RunIsOpen { lock: self.clone() };
        if self.left_behind() != LeftBehind::Nothing {
            // An earlier run of this process failed before its commit: noting another would forget it.
            return Err(EvidenceError::NotRecovered { project: self.held.project.clone() });
        }
        self.note(Some(run))?;
        Ok(open)
    }

    /// Writes down that a sealed run is published, so that nobody has to look for it any more.
    ///
    /// The run stands whether or not this succeeds, so that a failure is not reported: the next run is then refused until
    /// [`crate::evidence::recover`] has found this one in the ledger and linked it.
    pub fn note_published(&self) {
        let _found_by_recovery = self.end_run();
    }

    /// Writes down that the open run is dropped.
    pub(super) fn end_run(&self) -> Result<(), EvidenceError> {
        self.note(None)
    }

    /// Refuses to go on while a run is open in this process.
    pub(super) fn check_no_run_is_open(&self) -> Result<(), EvidenceError> {
        if self.held.run_is_open.load(Ordering::Relaxed) {
            return Err(EvidenceError::RunIsOpen { project: self.held.project.clone() });
        }
        Ok(())
    }

    fn note(&self, open_run: Option<OpenRun>) -> Result<(), EvidenceError> {
        let record =
            LockRecord { schema: LOCK_SCHEMA.to_owned(), pid: std::process::id(), boot_id: self.held.boot_id.clone(), open_run };
        record.write(self.held.file.file(), &self.held.store.lock_path(&self.held.project))
    }
}

impl Drop for RunIsOpen {
    fn drop(&mut self) {
        self.lock.held.run_is_open.store(false, Ordering::Relaxed);
    }
}

impl LockError {
    /// Returns the sentence that says what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "wait until it is done, or stop it; one process at a time runs the checks of a project",
            Self::Evidence(error) => error.hint(),
        }
    }
}

/// Returns the kernel's id of this boot, empty where it cannot be read: then recovery always scans.
fn read_boot_id() -> String {
    std::fs::read_to_string(BOOT_ID_PATH).map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::testing::{TestStore, mode};
    use crate::model::{RunId, TaskId, Timestamp};

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
            if attempts < 3 { Waiting::GoOn } else { Waiting::GiveUp }
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
        assert!(matches!(test.store.lock(&test.project, &mut || Waiting::GiveUp), Err(LockError::Busy { .. })));
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
            if attempts < 500 { Waiting::GoOn } else { Waiting::GiveUp }
        });
        assert!(second.is_ok());
    }

    #[test]
    fn a_run_needs_recovery_first_and_no_other_open_run() {
        let test = TestStore::new();
        let lock = test.lock();
        assert_eq!(lock.left_behind(), LeftBehind::Unknown);
        assert!(matches!(lock.begin_run(open_run()), Err(EvidenceError::NotRecovered { .. })));
        lock.note_recovered().unwrap();
        let open = lock.begin_run(open_run()).unwrap();
        assert!(matches!(lock.begin_run(open_run()), Err(EvidenceError::RunIsOpen { .. })));
        drop(open);
        assert!(matches!(lock.begin_run(open_run()), Err(EvidenceError::NotRecovered { .. })));
    }

    #[test]
    fn what_the_last_holder_left_is_still_known_after_a_holder_that_did_nothing() {
        let test = TestStore::new();
        let lock = test.lock();
        lock.note_recovered().unwrap();
        drop(lock.begin_run(open_run()).unwrap());
        drop(lock);
        drop(test.lock());
        assert_eq!(test.lock().left_behind(), LeftBehind::Run(open_run()));
    }

    #[test]
    fn a_record_of_another_boot_is_not_believed() {
        let test = TestStore::new();
        let lock = test.lock();
        lock.note_recovered().unwrap();
        assert_eq!(lock.left_behind(), LeftBehind::Nothing);
        let record = LockRecord { boot_id: "another".to_owned(), ..LockRecord::unknown(1) };
        record.write(lock.held.file.file(), &test.store.lock_path(&test.project)).unwrap();
        assert_eq!(lock.left_behind(), LeftBehind::Unknown);
    }
}
