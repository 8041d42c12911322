//! Syncing the complete files of a run while the run goes on.

use std::collections::HashSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::changes::seal_files;
use crate::{BackgroundJob, BackgroundThread, EvidenceError};

/// The first sync requests of a run, up to this number, are carried out without delay. Later requests may wait to share
/// a sync. So a run of few actions never waits.
const SYNCS_BEFORE_BATCHING: usize = 8;

/// The longest time that a file waits, so that it can be synced together with later files. A file system's journal commits
/// many files at the cost of one, and creating a file waits while a commit goes on.
const BATCH_DELAY: Duration = Duration::from_secs(1);

/// A sync that goes on in the background; `join` waits for its result.
#[derive(Debug)]
pub(super) struct SyncHandle {
    sync: BackgroundJob<Result<(), EvidenceError>>,
}

/// The files of a run that are being synced, or are already on disk.
#[derive(Debug)]
pub(super) struct FileSyncs {
    background: BackgroundThread,
    begun: HashSet<PathBuf>,
    single: Vec<SyncHandle>,
    batched: Option<SyncBatcher>,
}

/// A thread that collects files and syncs them together.
#[derive(Debug)]
struct SyncBatcher {
    files: Sender<Vec<PathBuf>>,
    /// Dropping this sender ends the thread's wait for further files.
    wait_for_more: Sender<Infallible>,
    thread: JoinHandle<Result<(), EvidenceError>>,
}

impl SyncHandle {
    pub(super) fn begin(
        background: &BackgroundThread,
        sync: impl FnOnce() -> Result<(), EvidenceError> + Send + 'static,
    ) -> Self {
        Self { sync: background.begin(sync) }
    }

    /// Waits until the sync is done.
    pub(super) fn join(self) -> Result<(), EvidenceError> {
        self.sync.wait().expect("syncing does not panic")
    }
}

impl FileSyncs {
    pub(super) fn new(background: BackgroundThread) -> Self {
        Self { background, begun: HashSet::new(), single: Vec::new(), batched: None }
    }

    /// Begins to sync complete files without delay.
    pub(super) fn begin(&mut self, files: Vec<PathBuf>) {
        if !files.is_empty() {
            self.begun.extend(files.iter().cloned());
            self.single.push(SyncHandle::begin(&self.background, move || seal_files(&files)));
        }
    }

    /// Begins to sync files, for runs with many actions that each take less time than syncing their files. The first
    /// requests are carried out at once; later files are collected for about a second and synced together.
    pub(super) fn begin_batched(&mut self, files: Vec<PathBuf>) {
        if self.single.len() >= SYNCS_BEFORE_BATCHING && self.batched.is_none() {
            self.batched = SyncBatcher::start();
        }
        match &self.batched {
            Some(gathering) if !files.is_empty() => {
                self.begun.extend(files.iter().cloned());
                gathering.files.send(files).expect("the thread takes files until nobody sends any");
            }
            Some(_) => {}
            None => self.begin(files),
        }
    }

    /// Returns whether the sync of this file has been begun.
    pub(super) fn has_begun(&self, file: &Path) -> bool {
        self.begun.contains(file)
    }

    /// Waits until all files are on disk; returns the first failure.
    pub(super) fn join(&mut self) -> Result<(), EvidenceError> {
        let together = self.batched.take().map_or(Ok(()), SyncBatcher::join);
        self.single.drain(..).map(SyncHandle::join).fold(Ok(()), Result::and).and(together)
    }
}

impl SyncBatcher {
    /// Starts the thread. Returns `None` if the system refuses to start a thread.
    fn start() -> Option<Self> {
        let (files, arriving) = channel();
        let (patience, hurry) = channel();
        let started = thread::Builder::new().name("syncs".to_owned()).spawn(move || sync_batches(&arriving, &hurry));
        started.ok().map(|thread| Self { files, wait_for_more: patience, thread })
    }

    fn join(self) -> Result<(), EvidenceError> {
        drop((self.files, self.wait_for_more));
        self.thread.join().expect("syncing does not panic")
    }
}

/// Collects and syncs the files that arrive, until their sender is dropped. All files are tried; the first failure is
/// returned.
fn sync_batches(arriving: &Receiver<Vec<PathBuf>>, hurry: &Receiver<Infallible>) -> Result<(), EvidenceError> {
    let mut outcome = Ok(());
    while let Ok(mut files) = arriving.recv() {
        match hurry.recv_timeout(BATCH_DELAY) {
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            Ok(never) => match never {},
        }
        files.extend(arriving.try_iter().flatten());
        outcome = outcome.and(seal_files(&files));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::changes::write_new;

    fn files(directory: &Path, count: usize) -> Vec<PathBuf> {
        let file = |number: usize| {
            let path = directory.join(number.to_string());
            write_new(&path, b"x").expect("the directory is ours");
            path
        };
        (0..count).map(file).collect()
    }

    fn is_sealed(file: &PathBuf) -> bool {
        std::fs::metadata(file).expect("it is there").permissions().mode() & 0o777 == 0o400
    }

    /// Begins a sync for each of these files. With enough files, later requests are collected into batches.
    fn in_a_long_row(first: &[PathBuf]) -> FileSyncs {
        let mut syncs = FileSyncs::new(BackgroundThread::default());
        first.iter().for_each(|file| syncs.begin_batched(vec![file.clone()]));
        syncs
    }

    #[test]
    fn the_first_files_are_synced_at_once_and_later_ones_in_batches() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut syncs = FileSyncs::new(BackgroundThread::default());
        syncs.begin(Vec::new());
        syncs.begin_batched(Vec::new());
        assert_eq!((syncs.single.len(), syncs.batched.is_some()), (0, false), "nothing goes nowhere");
        let files = files(directory.path(), SYNCS_BEFORE_BATCHING + 20);
        for (index, file) in files.iter().enumerate() {
            assert!(!syncs.has_begun(file), "{index}");
            syncs.begin_batched(vec![file.clone()]);
            assert!(syncs.has_begun(file), "{index}");
            assert_eq!(syncs.batched.is_some(), index >= SYNCS_BEFORE_BATCHING, "{index}");
        }
        assert_eq!(syncs.single.len(), SYNCS_BEFORE_BATCHING);
        syncs.join().expect("they can be sealed");
        assert!(files.iter().all(is_sealed));
    }

    #[test]
    fn a_batch_is_synced_soon_even_if_the_run_makes_no_further_call() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = files(directory.path(), SYNCS_BEFORE_BATCHING + 3);
        let (first, others) = files.split_at(SYNCS_BEFORE_BATCHING);
        let mut syncs = in_a_long_row(first);
        syncs.begin_batched(others.to_vec());
        let looks = 0..6000;
        let are_taken = looks.into_iter().any(|_| {
            thread::sleep(Duration::from_millis(10));
            others.iter().all(is_sealed)
        });
        assert!(are_taken, "nobody took them");
        drop(syncs);
    }

    #[test]
    fn the_thread_ends_when_a_run_is_dropped_unsealed() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = files(directory.path(), SYNCS_BEFORE_BATCHING + 3);
        let mut syncs = in_a_long_row(&files);
        let SyncBatcher { files, wait_for_more: patience, thread } = syncs.batched.take().expect("so many go together");
        drop((files, patience, syncs));
        thread.join().expect("it ends").expect("they can be sealed");
    }

    #[test]
    fn a_missing_file_is_reported_and_the_others_are_synced_all_the_same() {
        for (missing, is_alone) in [(0, false), (70, false), (199, false), (70, true)] {
            let directory = tempfile::tempdir().expect("a directory");
            let files = files(directory.path(), SYNCS_BEFORE_BATCHING + 200);
            let (first, others) = files.split_at(SYNCS_BEFORE_BATCHING);
            let mut named = others.to_vec();
            named[missing] = directory.path().join("gone");
            let mut syncs = in_a_long_row(first);
            if is_alone {
                syncs.begin(named.clone());
            } else {
                syncs.begin_batched(named.clone());
            }
            let failure = syncs.join().expect_err("one is missing");
            assert!(matches!(&failure, EvidenceError::File { path, .. } if *path == named[missing]), "{failure:?}");
            assert!(named.iter().enumerate().all(|(index, file)| index == missing || is_sealed(file)), "{missing}");
        }
    }
}
