//! Failures for the simulator: it lets an operation on one store of this process fail, or the "process" die at it. What the process
//! does after its death changes nothing on disk.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;

#[cfg(feature = "test-fakes")]
use super::planned as otherwise;
#[cfg(not(feature = "test-fakes"))]
use super::release as otherwise;
use crate::FileOperation;

static SIMULATED: Mutex<Vec<Arc<Injector>>> = Mutex::new(Vec::new());

/// What a loss of power leaves: what was synced, by inode.
#[derive(Debug, Default)]
pub struct DurableFiles {
    pub contents: BTreeMap<u64, Vec<u8>>,
    /// The names in a directory, each with the inode behind it.
    pub names: BTreeMap<u64, BTreeMap<OsString, u64>>,
}

/// [`DurableFiles`], which threads that sync share.
pub type SyncedFiles = Arc<Mutex<DurableFiles>>;

/// What happens at the chosen operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimulatedFault {
    Dies,
    Fails(Errno),
}

#[derive(Debug)]
struct Injector {
    root: PathBuf,
    /// The number of the operation at which the fault happens, counted from 1.
    at: u64,
    fault: SimulatedFault,
    passed: AtomicU64,
    is_dead: AtomicBool,
    synced: SyncedFiles,
}

/// The failure of one store. Dropping it lets everything succeed again.
#[derive(Debug)]
pub struct SimulatedFailure(Arc<Injector>);

impl SimulatedFailure {
    /// Lets the fault happen at this operation below `root`.
    pub fn plan(root: &Path, at: u64, fault: SimulatedFault, synced: SyncedFiles) -> Self {
        let (passed, is_dead) = (AtomicU64::new(0), AtomicBool::new(false));
        let injector = Arc::new(Injector { root: root.to_owned(), at, fault, passed, is_dead, synced });
        SIMULATED.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&injector));
        Self(injector)
    }

    pub fn is_dead(&self) -> bool {
        self.0.is_dead.load(Ordering::SeqCst)
    }

    /// Counts a change of a file at `path` that this crate does not make.
    ///
    /// # Errors
    /// When the fault happens here, or has happened and the process is dead.
    pub fn pass(&self, path: &Path) -> io::Result<()> {
        self.0.pass(FileOperation::Write, path)
    }
}

impl Drop for SimulatedFailure {
    fn drop(&mut self) {
        SIMULATED.lock().unwrap_or_else(PoisonError::into_inner).retain(|one| !Arc::ptr_eq(one, &self.0));
    }
}

impl Injector {
    fn of(path: &Path) -> Option<Arc<Self>> {
        let all = SIMULATED.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|one| path.starts_with(&one.root)).cloned()
    }

    fn pass(&self, operation: FileOperation, path: &Path) -> io::Result<()> {
        let number = self.passed.fetch_add(1, Ordering::SeqCst) + 1;
        if self.is_dead.load(Ordering::SeqCst) {
            return Err(Errno::EIO.into());
        }
        if number == self.at {
            return Err(match self.fault {
                SimulatedFault::Dies => {
                    self.is_dead.store(true, Ordering::SeqCst);
                    Errno::EIO.into()
                }
                SimulatedFault::Fails(errno) => errno.into(),
            });
        }
        if operation == FileOperation::Sync {
            self.note_sync(path);
        }
        Ok(())
    }

    fn note_sync(&self, path: &Path) {
        let Ok(found) = fs::symlink_metadata(path) else { return };
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        if found.is_dir() {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let names = entries.map(|entry| (entry.file_name(), entry.ino())).collect();
            synced.names.insert(found.ino(), names);
        } else if let Some(content) = found.is_file().then(|| fs::read(path).ok()).flatten() {
            synced.contents.insert(found.ino(), content);
        }
        // Linux's file systems keep the name by which a new file is reached together with its content.
        for path in path.ancestors().take_while(|path| *path != self.root) {
            let inode = |path: &Path| fs::symlink_metadata(path).map(|found| found.ino()).ok();
            let (Some(name), Some(own), Some(parent)) = (path.file_name(), inode(path), path.parent().and_then(inode)) else {
                return;
            };
            synced.names.entry(parent).or_default().insert(name.to_owned(), own);
        }
    }
}

pub(crate) fn fail_if_planned(operation: FileOperation, path: &Path) -> io::Result<()> {
    match Injector::of(path) {
        Some(injector) => injector.pass(operation, path),
        None => otherwise::fail_if_planned(operation, path),
    }
}

pub(crate) fn write_unless_planned_to_fail(
    path: &Path,
    bytes: &[u8],
    write: impl FnOnce(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let Some(injector) = Injector::of(path) else { return otherwise::write_unless_planned_to_fail(path, bytes, write) };
    let was_dead = injector.is_dead.load(Ordering::SeqCst);
    match injector.pass(FileOperation::Write, path) {
        Ok(()) => write(bytes),
        Err(error) if was_dead => Err(error),
        Err(error) => {
            write(&bytes[..bytes.len() / 2])?;
            Err(error)
        }
    }
}
