//! One service for one store: a lock on the file `locks/service`, which names the process that serves and its socket.
//!
//! The lock beside the control socket does not suffice: two services with different runtime directories have different
//! sockets, and both would run the checks of every save. `lock_file` says why such a lock never outlives its holder.

use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use proctor_wire::wire;

use crate::changes::{create_directories, write_at};
use crate::lock_file::{ALL_BYTES, LockFile};
use crate::{EvidenceError, Store};
use proctor_model::ProjectId;

/// The name and version of the record's format.
const SCHEMA: &str = "proctor-service-lock-v1";

/// The length in bytes to which every record is padded, so that one write replaces the whole earlier record. The path of a
/// socket has at most 107 bytes.
const RECORD_BYTES: usize = 1024;

/// The right to serve the projects of a store. It is given up when the value is dropped.
#[derive(Debug)]
pub struct ServiceLock {
    _file: LockFile,
}

/// The process that serves the projects of a store.
#[wire]
pub struct ServingProcess {
    schema: String,
    pub pid: u32,
    /// The control socket on which the process answers.
    pub socket: PathBuf,
}

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum ServiceLockError {
    /// Another process serves the projects of this store.
    #[error("the projects of this store are served already{}", holder.as_ref().map(|by| format!(" by process {}, which answers on `{}`", by.pid, by.socket.display())).unwrap_or_default())]
    Busy {
        /// The process that serves; `None` if it has not yet written who it is.
        holder: Option<ServingProcess>,
    },
    /// The lock file could not be used.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

impl Store {
    /// Takes the right to serve the projects of this store. `socket` is the control socket on which this process answers.
    pub fn lock_service(&self, socket: &Path) -> Result<ServiceLock, ServiceLockError> {
        let path = service_lock_path(self.root());
        let file = LockFile::open(&path)?;
        if !file.try_lock(&ALL_BYTES)? {
            return Err(ServiceLockError::Busy { holder: read(&file) });
        }
        let record = ServingProcess { schema: SCHEMA.to_owned(), pid: std::process::id(), socket: socket.to_owned() };
        // A path that is no UTF-8 has no JSON form. The lock is taken all the same, and its file does not name the socket.
        let mut bytes = serde_json::to_vec(&record).unwrap_or_default();
        bytes.resize(bytes.len().max(RECORD_BYTES), b' ');
        write_at(file.file(), &path, &bytes, 0)?;
        Ok(ServiceLock { _file: file })
    }
}

/// Returns the process that serves the projects of the store at `root`; `None` if no process does, or nothing can be found
/// out. The store need not exist.
pub fn serving_process(root: &Path) -> Option<ServingProcess> {
    let file = LockFile::open_to_inspect(&service_lock_path(root)).ok()??;
    let is_locked = file.locked_by_others(ALL_BYTES).is_ok_and(|locks| !locks.is_empty());
    if is_locked { read(&file) } else { None }
}

/// No project can have this name, because project ids end in 8 hexadecimal digits.
fn service_lock_path(root: &Path) -> PathBuf {
    root.join("locks").join("service")
}

fn read(file: &LockFile) -> Option<ServingProcess> {
    let mut bytes = [0_u8; RECORD_BYTES];
    let count = file.file().read_at(&mut bytes, 0).ok()?;
    let record: ServingProcess = serde_json::from_slice(&bytes[..count]).ok()?;
    (record.schema == SCHEMA).then_some(record)
}

// One process at a time works on a governance workflow. Each workflow has a lock file. Its lock is released when the
// process that holds it ends, however the process ends.

/// The right to work on a workflow. The lock is released when this value is dropped.
#[derive(Debug)]
pub struct WorkflowLock {
    _file: LockFile,
}

impl Store {
    /// Takes the lock of a workflow, or returns `None` if another process has it. `slug` must be safe as a file name.
    ///
    /// # Errors
    /// When the lock file cannot be opened or locked.
    pub fn lock_workflow(&self, project: &ProjectId, slug: &str) -> Result<Option<WorkflowLock>, EvidenceError> {
        let directory = self.root().join("workflows").join(project.as_str());
        create_directories(&directory)?;
        let file = LockFile::open(&directory.join(format!("{slug}.lock")))?;
        Ok(file.try_lock(&ALL_BYTES)?.then_some(WorkflowLock { _file: file }))
    }
}

// Every `proctor watch` says that it runs: it locks one byte of the file `locks/watches`, whose place is made of the last 8 digits of the
// project's id and the id of the process. The file stays empty.

/// The bits of a place that hold the id of the process: no kernel gives an id above 2^22 (proc(5), `pid_max`).
const PROCESS_BITS: u32 = 22;

/// Says that this process watches a project, until the value is dropped.
#[derive(Debug)]
pub struct WatchLock {
    _file: LockFile,
}

impl Store {
    /// Says that this process watches a project.
    ///
    /// # Errors
    /// When the lock file cannot be opened or locked.
    pub fn lock_watch(&self, project: &ProjectId) -> Result<WatchLock, EvidenceError> {
        let file = LockFile::open(&watches_path(self.root()))?;
        let place = places_of_watches(project).start + i64::from(std::process::id());
        file.try_lock(&(place..place + 1))?;
        Ok(WatchLock { _file: file })
    }
}

/// Returns the process of a `proctor watch` of this project, the one with the lowest id of several; `None` if none runs, or nothing can
/// be found out. The store need not exist.
pub fn watching_process(root: &Path, project: &ProjectId) -> Option<u32> {
    let places = places_of_watches(project);
    let file = LockFile::open_to_inspect(&watches_path(root)).ok()??;
    let first = file.locked_by_others(places.clone()).ok()?.into_iter().next()?;
    u32::try_from(first.start - places.start).ok()
}

fn watches_path(root: &Path) -> PathBuf {
    root.join("locks").join("watches")
}

fn places_of_watches(project: &ProjectId) -> Range<i64> {
    let digits = project.as_str().rsplit('-').next().unwrap_or_default();
    let number = i64::from(u32::from_str_radix(digits, 16).unwrap_or_default());
    number << PROCESS_BITS..(number + 1) << PROCESS_BITS
}

// One process at a time changes a small file, such as the record of an agent's session: hooks of several sub-agents run at once. `lock_file`
// says why such a lock never outlives its holder.

/// The pause between two attempts at a lock that is taken. A holder only reads and writes a small file.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The right to change the files of a directory. It is given up when the value is dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    _file: LockFile,
}

/// Takes the lock of the files in a directory, which is made if it is missing. `None` if others hold it for longer than `wait`.
///
/// # Errors
/// When the lock file cannot be opened or locked.
pub fn lock_directory(directory: &Path, wait: Duration) -> Result<Option<DirectoryLock>, EvidenceError> {
    create_directories(directory)?;
    let file = LockFile::open(&directory.join("lock"))?;
    let mut left = wait.as_millis() / POLL_INTERVAL.as_millis();
    while !file.try_lock(&ALL_BYTES)? {
        if left == 0 {
            return Ok(None);
        }
        left -= 1;
        thread::sleep(POLL_INTERVAL);
    }
    Ok(Some(DirectoryLock { _file: file }))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes what another program may write")]
mod tests {
    use super::*;
    use crate::testing::TestStore;

    #[test]
    fn a_second_service_is_told_who_serves_and_a_dropped_lock_is_free() {
        let test = TestStore::new();
        let root = test.store.root();
        assert_eq!(serving_process(root), None, "the file is not there");
        let first = test.store.lock_service(Path::new("/run/one/control.sock")).unwrap();
        let Err(ServiceLockError::Busy { holder: Some(holder) }) = test.store.lock_service(Path::new("/run/other.sock")) else {
            panic!("two services have the lock");
        };
        assert_eq!((holder.pid, holder.socket.as_path()), (std::process::id(), Path::new("/run/one/control.sock")));
        assert_eq!(serving_process(root), Some(holder));
        drop(first);
        assert_eq!(serving_process(root), None, "what the file says is out of date");
        let _again = test.store.lock_service(Path::new("/run/a.sock")).unwrap();
        assert_eq!(serving_process(root).map(|by| by.socket), Some(PathBuf::from("/run/a.sock")), "a shorter record");
        std::fs::write(service_lock_path(root), "not JSON").unwrap();
        assert_eq!(serving_process(root), None);
    }
}

#[cfg(test)]
mod workflow_lock_tests {
    use crate::testing::TestStore;

    #[test]
    fn each_workflow_has_at_most_one_holder() {
        let test = TestStore::new();
        let lock = |slug: &str| test.store.lock_workflow(&test.project, slug).unwrap();
        let first = lock("notes");
        assert!(first.is_some() && lock("notes").is_none() && lock("ideas").is_some());
        drop(first);
        assert!(lock("notes").is_some());
    }
}

#[cfg(test)]
mod watch_lock_tests {
    use super::*;
    use crate::testing::TestStore;

    #[test]
    fn a_watch_is_known_to_its_own_project_as_long_as_it_runs() {
        let test = TestStore::new();
        let (root, project) = (test.store.root(), |id: &str| ProjectId::try_from(id).expect("an id"));
        let (first, last) = (project("shop-00000000"), project("shop-ffffffff"));
        assert_eq!(watching_process(root, &first), None, "the file is not there");
        for watched in [&first, &last] {
            let lock = test.store.lock_watch(watched).expect("nobody else watches");
            let found = [&first, &last, &test.project].map(|project| watching_process(root, project));
            let expected = [&first, &last, &test.project].map(|project| (project == watched).then(std::process::id));
            assert_eq!(found, expected);
            drop(lock);
            assert_eq!(watching_process(root, watched), None);
        }
    }
}

#[cfg(test)]
mod directory_lock_tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_has_the_lock_and_a_dropped_one_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("hooks");
        let first = lock_directory(&place, Duration::ZERO).unwrap();
        assert!(first.is_some() && lock_directory(&place, POLL_INTERVAL).unwrap().is_none());
        drop(first);
        assert!(lock_directory(&place, Duration::ZERO).unwrap().is_some());
    }
}
