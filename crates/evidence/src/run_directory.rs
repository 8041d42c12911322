//! The directory of one run while the run goes on: files are created in it, never overwritten, and hashed while they
//! are written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::changes::{create_directories, create_directory, create_file, seal_files, sync_directory, write_all, write_new};
use crate::error::failed;
use crate::file_syncs::{FileSyncs, SyncHandle};
use crate::files::list_directory;
use crate::lock::OpenRunGuard;
use crate::names::{START_RECORD_NAME, check_new_name};
use crate::output::remove_tree;
use crate::prepared_files::PreparedFiles;
use crate::publish::LATEST;
use crate::report::RunStartV1;
use crate::{EvidenceError, FileOperation, OpenRun, ProjectLock};
use proctor_model::{ActionId, Digest, EvidenceFile, EvidenceKind, RunId, TaskId};

/// The name and version of the format of `run.json`.
pub const RUN_SCHEMA: &str = "proctor-run-v1";

/// The directory of a run that is begun and not yet sealed. If this value is dropped before the run is sealed, recovery
/// seals the run as INTERRUPTED.
#[derive(Debug)]
pub struct RunDirectory {
    pub(super) lock: ProjectLock,
    pub(super) path: PathBuf,
    pub(super) task: TaskId,
    pub(super) run_id: RunId,
    /// The digests, by file name, of files whose content need not be read again when the run is sealed.
    pub(super) digests: BTreeMap<Vec<u8>, Digest>,
    start_record: StartRecord,
    /// Files that are complete and whose sync has not begun.
    complete: Vec<PathBuf>,
    pub(super) syncs: FileSyncs,
    pub(super) is_open: OpenRunGuard,
}

/// The progress of `run.json` on its way to the disk.
#[derive(Debug)]
enum StartRecord {
    None,
    Written(PathBuf),
    Syncing(SyncHandle),
}

impl RunDirectory {
    /// Creates the directory of a new run. The project must have been recovered, and no other run of the project may be
    /// open in this process.
    pub fn create(lock: &ProjectLock, task: &TaskId, run_id: &RunId) -> Result<Self, EvidenceError> {
        let is_open = lock.begin_run(OpenRun { task: task.clone(), run_id: run_id.clone() })?;
        let runs = lock.store().runs_directory(lock.project(), task);
        create_directories(&runs)?;
        if !lock.store().has_directory(&runs) {
            return Err(EvidenceError::NotADirectory { path: runs });
        }
        let path = lock.store().run_directory(lock.project(), task, run_id);
        lock.create_directory(&path)?;
        Ok(Self {
            lock: lock.clone(),
            path,
            task: task.clone(),
            run_id: run_id.clone(),
            digests: BTreeMap::new(),
            start_record: StartRecord::None,
            complete: Vec::new(),
            syncs: FileSyncs::new(lock.store().syncs().clone()),
            is_open,
        })
    }

    /// Waits until `run.json` is on disk; begins its sync first if that has not happened.
    pub(super) fn finish_start_record(&mut self) -> Result<(), EvidenceError> {
        self.begin_sync_of_start_record();
        match std::mem::replace(&mut self.start_record, StartRecord::None) {
            StartRecord::Syncing(handle) => handle.join(),
            StartRecord::None | StartRecord::Written(_) => sync_entries(&self.path),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn task(&self) -> &TaskId {
        &self.task
    }

    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// Writes `run.json` from the fields of `details`, with `schema`, `runId` and `task` added. Callers call this
    /// before the first process of the run is started.
    pub fn start_record(&mut self, details: &impl Serialize) -> Result<(), EvidenceError> {
        let (run_id, task) = (self.run_id.clone(), self.task.clone());
        let record = RunStartV1 { schema: RUN_SCHEMA.to_owned(), run_id, task, details };
        let bytes = to_json(START_RECORD_NAME, &record)?;
        let path = self.path.join(START_RECORD_NAME);
        let mut file = self.lock.create_file(&path)?;
        write_all(&mut file, &path, &bytes)?;
        self.digests.insert(START_RECORD_NAME.into(), Digest::of(&bytes));
        self.start_record = StartRecord::Written(path);
        Ok(())
    }

    /// Declares that all files which were written or adopted so far are complete, and begins to sync them. Sealing
    /// waits for these syncs. Files that are synced while a run goes on cost no time at its end.
    ///
    /// The first call also begins the sync of `run.json`. That call is to be made before the first process is started,
    /// but as late as possible: while a file is synced, creating another one in the same directory waits for the disk.
    pub fn begin_sync(&mut self) {
        self.begin_sync_of_start_record();
        self.syncs.begin(std::mem::take(&mut self.complete));
    }

    /// Does the same as [`RunDirectory::begin_sync`], for runs with many actions that each take less time than syncing
    /// their files. The files of about a second are then synced together, which is faster than one after the other.
    /// `run.json` and the first few files are synced at once.
    pub fn begin_batched_sync(&mut self) {
        self.begin_sync_of_start_record();
        self.syncs.begin_batched(std::mem::take(&mut self.complete));
    }

    pub(super) fn begin_sync_of_start_record(&mut self) {
        let StartRecord::Written(path) = &self.start_record else {
            return;
        };
        let (path, directory) = (path.clone(), self.path.clone());
        self.start_record = StartRecord::Syncing(SyncHandle::begin(self.lock.store().syncs(), move || {
            seal_files(&[path])?;
            sync_entries(&directory)
        }));
    }

    /// Creates a file for another writer. Call [`RunDirectory::adopt`] when it is complete.
    ///
    /// It is created with `O_EXCL` and `O_CLOEXEC`, mode 0600, open for reading and writing.
    pub fn create_file(&self, name: &str) -> Result<File, EvidenceError> {
        check_new_name(name)?;
        self.lock.create_file(&self.path.join(name))
    }

    /// Adds a file that another writer filled through [`RunDirectory::create_file`], with the size and digest that this
    /// writer computed while writing. The file is not read again: if its content differs from the digest, the run does
    /// not verify.
    pub fn adopt(
        &mut self,
        name: &str,
        bytes: u64,
        sha256: Digest,
        kind: EvidenceKind,
        action_id: Option<&ActionId>,
    ) -> Result<EvidenceFile, EvidenceError> {
        check_new_name(name)?;
        let path = self.path.join(name);
        path.symlink_metadata().map_err(failed(FileOperation::Open, &path))?;
        self.digests.insert(name.into(), sha256);
        self.complete.push(path);
        Ok(EvidenceFile { name: name.to_owned(), kind, action_id: action_id.map(|id| id.as_str().to_owned()), bytes, sha256 })
    }

    /// Creates a file with this content and adds it to the run's evidence.
    pub fn write(
        &mut self,
        name: &str,
        bytes: &[u8],
        kind: EvidenceKind,
        action_id: Option<&ActionId>,
    ) -> Result<EvidenceFile, EvidenceError> {
        check_new_name(name)?;
        write_new(&self.path.join(name), bytes)?;
        self.adopt(name, bytes.len() as u64, Digest::of(bytes), kind, action_id)
    }

    /// Creates a file with everything that `content` yields and adds it to the run's evidence.
    pub fn write_from(
        &mut self,
        name: &str,
        content: &mut dyn Read,
        kind: EvidenceKind,
        action_id: Option<&ActionId>,
    ) -> Result<EvidenceFile, EvidenceError> {
        check_new_name(name)?;
        let path = self.path.join(name);
        let mut file = create_file(&path)?;
        let (mut hasher, mut bytes, mut buffer) = (Sha256::new(), 0_u64, vec![0_u8; 64 * 1024]);
        loop {
            let count = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(FileOperation::Read, &path)(error)),
            };
            hasher.update(&buffer[..count]);
            bytes += count as u64;
            write_all(&mut file, &path, &buffer[..count])?;
        }
        self.adopt(name, bytes, Digest::from_hasher(hasher), kind, action_id)
    }
}

/// Syncs the directories above the files of a new run, so that the run survives a power loss. The directories of the task and the project
/// may be new too. They are not where the task has a link to its latest run: that run was sealed, so they are on the disk.
pub(super) fn sync_entries(run_directory: &Path) -> Result<(), EvidenceError> {
    let is_sealed_task = run_directory.ancestors().nth(2).is_some_and(|task| task.join(LATEST).is_symlink());
    run_directory.ancestors().take(if is_sealed_task { 2 } else { 5 }).try_for_each(sync_directory)
}

/// Serialises a value completely before anything is written to disk (V2).
pub(super) fn to_json(name: &str, value: &impl Serialize) -> Result<Vec<u8>, EvidenceError> {
    let encoded = serde_json::to_vec_pretty(value);
    let mut bytes = encoded.map_err(|source| EvidenceError::Encode { name: name.to_owned(), source })?;
    bytes.push(b'\n');
    Ok(bytes)
}

// A directory that the actions of one run share, usually as their `/tmp`. It is removed after the run.

/// The largest number of attempts to remove a directory. An attempt fails if a keeper (the process that supervises an action)
/// creates a directory in it meanwhile. A keeper is done with that within a millisecond.
const TRIES: usize = 20;

/// The scratch directory of one run: `scratch/<project-id>/<process>-<number>`. It may be created before it is known
/// which run will use it.
#[derive(Debug)]
pub struct ScratchDirectory {
    path: PathBuf,
    prepared: PreparedFiles,
}

impl ScratchDirectory {
    /// Creates a new directory and removes the directories of earlier runs. No action can still use those, because only
    /// the lock holder runs actions of the project. `number` must be unique within this process.
    pub fn create(lock: &ProjectLock, number: u64) -> Result<Self, EvidenceError> {
        let all = lock.store().scratch_directory(lock.project());
        create_directories(&all)?;
        list_directory(&all)?.iter().for_each(|entry| remove_patiently(&entry.path()));
        let path = all.join(format!("{}-{number}", std::process::id()));
        create_directory(&path)?;
        Ok(Self { path, prepared: PreparedFiles::default() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the directory belongs to this project and still exists.
    pub fn is_usable_for(&self, lock: &ProjectLock) -> bool {
        self.path.starts_with(lock.store().scratch_directory(lock.project())) && self.path.is_dir()
    }

    /// Creates the files and directories that the next run needs first. Actions cannot see these files, because actions
    /// see only other subdirectories of the scratch directory.
    pub fn prepare_files(&mut self) -> Result<(), EvidenceError> {
        self.prepared = PreparedFiles::create(&self.path.join("ready"))?;
        Ok(())
    }

    /// Hands the prepared files over to the run that begins.
    pub fn hand_over_prepared_files(&mut self, lock: &ProjectLock) {
        lock.use_prepared_files(std::mem::take(&mut self.prepared));
    }

    /// Removes the directory with everything in it.
    pub fn remove(self) {
        remove_patiently(&self.path);
    }
}

/// Removes a directory in which a keeper (the process that supervises an action) may still be making directories,
/// because the keeper waits for another run or is being killed. If all attempts fail, the next run removes the rest,
/// which is not evidence.
fn remove_patiently(path: &Path) {
    let _left = (0..TRIES).find(|_| remove_tree(path).is_ok());
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::testing::{TestStore, mode, run_id};

    #[test]
    fn files_are_created_once_and_hashed_while_written() {
        let test = TestStore::new();
        let mut run = test.begin(1);
        let action = ActionId::numbered("STEP", 3);
        let file = run.write("STEP.3-x.log", b"abc", EvidenceKind::TerminalOutput, Some(&action)).unwrap();
        assert_eq!((file.bytes, file.sha256, file.action_id.as_deref()), (3, Digest::of(b"abc"), Some("STEP.3")));
        assert!(run.write("STEP.3-x.log", b"other", EvidenceKind::TerminalOutput, None).is_err());
        assert_eq!(std::fs::read(run.path().join("STEP.3-x.log")).unwrap(), b"abc");
        assert_eq!(mode(&run.path().join("STEP.3-x.log")), 0o600);
        assert_eq!(mode(run.path()), 0o700);
        for bad in
            ["../x", ".x", "run.json", "SHA256SUMS", "execution-report.json", "execution-report.json.sig", "x.intoto.jsonl", ""]
        {
            assert!(run.write(bad, b"", EvidenceKind::TerminalOutput, None).is_err(), "{bad}");
            assert!(run.create_file(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_start_record_names_its_schema_and_run() {
        let test = TestStore::new();
        let mut run = test.begin(7);
        run.start_record(&serde_json::json!({"trigger": "save"})).unwrap();
        let text = std::fs::read_to_string(run.path().join("run.json")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["schema"], RUN_SCHEMA);
        assert_eq!(value["runId"], run_id(7).as_str());
        assert_eq!((value["task"].as_str(), value["trigger"].as_str()), (Some("default"), Some("save")));
        assert!(run.start_record(&serde_json::json!({})).is_err());
    }

    #[test]
    fn a_file_somebody_else_wrote_is_adopted_with_the_digest_they_computed() {
        let test = TestStore::new();
        let mut run = test.begin(1);
        run.create_file("STEP.1-x.log").unwrap().write_all(b"out").unwrap();
        let digest = Digest::of(b"out");
        let file = run.adopt("STEP.1-x.log", 3, digest, EvidenceKind::TerminalOutput, None).unwrap();
        assert_eq!(file.sha256, digest);
        assert!(run.adopt("STEP.2-x.log", 3, digest, EvidenceKind::TerminalOutput, None).is_err());
    }

    #[test]
    fn the_start_record_goes_to_the_disk_before_any_action_and_files_when_they_are_complete() {
        let test = TestStore::new();
        let mut run = test.begin(1);
        run.start_record(&serde_json::json!({})).unwrap();
        run.begin_batched_sync();
        assert!(matches!(run.start_record, StartRecord::Syncing(_)));
        for (name, begin) in [
            ("STEP.1-x.log", RunDirectory::begin_sync as fn(&mut RunDirectory)),
            ("STEP.2-x.log", RunDirectory::begin_batched_sync),
        ] {
            run.write(name, b"x", EvidenceKind::TerminalOutput, None).unwrap();
            let path = run.path().join(name);
            assert!(!run.syncs.has_begun(&path), "{name}");
            begin(&mut run);
            assert!(run.syncs.has_begun(&path), "{name}");
        }
        run.syncs.join().unwrap();
    }

    #[test]
    fn one_run_at_a_time_is_open() {
        let test = TestStore::new();
        let run = test.begin(1);
        let second = RunDirectory::create(&run.lock.clone(), &test.task, &run_id(2));
        assert!(matches!(second, Err(EvidenceError::RunIsOpen { .. })));
    }
}

#[cfg(test)]
mod scratch_directory_tests {
    use super::*;
    use crate::testing::TestStore;

    #[test]
    fn the_next_run_gets_another_directory_and_nothing_of_a_dead_one_is_left() {
        let test = TestStore::new();
        let lock = test.lock();
        let first = ScratchDirectory::create(&lock, 1).unwrap();
        std::fs::create_dir_all(first.path().join("tmp/left")).unwrap();
        let second = ScratchDirectory::create(&lock, 2).unwrap();
        assert!(!first.is_usable_for(&lock) && second.is_usable_for(&lock));
        let all = test.store.scratch_directory(&test.project);
        second.remove();
        assert!(list_directory(&all).unwrap().is_empty());
    }
}
