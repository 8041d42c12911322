//! One service for one store: a lock on the file `locks/service`, which names the process that serves and its socket.
//!
//! The lock beside the control socket does not suffice: two services with different runtime directories have different
//! sockets, and both would run the checks of every save. `lock_file` says why such a lock never outlives its holder.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::changes::write_at;
use crate::lock_file::{ALL_BYTES, LockFile};
use crate::{EvidenceError, Store};

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
        // A path that is no UTF-8 has no JSON form. Then nobody is told of the socket, and the lock holds all the same.
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
