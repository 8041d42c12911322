//! The way of a run's complete files to the disk, while the run goes on.

use std::collections::HashSet;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::evidence::changes::seal_files;
use crate::evidence::{Background, EvidenceError, Pending};

/// So many times files go to the disk by themselves before some wait for others: in a run of few actions none does.
const AT_ONCE: usize = 8;

/// How long files wait for others that go with them. A file system's journal takes many at the cost of one, and whoever creates a
/// file meanwhile waits for it.
const TOGETHER: Duration = Duration::from_secs(1);

/// Something that goes to the disk in the background.
#[derive(Debug)]
pub(super) struct SyncHandle {
    sync: Pending<Result<(), EvidenceError>>,
}

/// The files of one run that are on their way to the disk, or there.
#[derive(Debug)]
pub(super) struct FileSyncs {
    background: Background,
    begun: HashSet<PathBuf>,
    alone: Vec<SyncHandle>,
    together: Option<Gathering>,
}

/// A thread that takes files to the disk together.
#[derive(Debug)]
struct Gathering {
    files: Sender<Vec<PathBuf>>,
    /// Dropped, it ends the waiting for others.
    patience: Sender<Infallible>,
    thread: JoinHandle<Result<(), EvidenceError>>,
}

impl SyncHandle {
    pub(super) fn begin(background: &Background, sync: impl FnOnce() -> Result<(), EvidenceError> + Send + 'static) -> Self {
        Self { sync: background.begin(sync) }
    }

    /// Waits until the sync is over.
    pub(super) fn join(self) -> Result<(), EvidenceError> {
        self.sync.wait().expect("syncing does not panic")
    }
}

impl FileSyncs {
    /// Nothing is on its way.
    pub(super) fn new(background: Background) -> Self {
        Self { background, begun: HashSet::new(), alone: Vec::new(), together: None }
    }

    /// Begins the way of some complete files.
    pub(super) fn begin(&mut self, files: Vec<PathBuf>) {
        if !files.is_empty() {
            self.begun.extend(files.iter().cloned());
            self.alone.push(SyncHandle::begin(&self.background, move || seal_files(&files)));
        }
    }

    /// Begins it in a long row of actions that take no longer than their files' way to the disk: those of about a second go together,
    /// whatever the run does meanwhile. What comes first goes at once.
    pub(super) fn begin_with_others(&mut self, files: Vec<PathBuf>) {
        if self.alone.len() >= AT_ONCE && self.together.is_none() {
            self.together = Gathering::start();
        }
        match &self.together {
            Some(gathering) if !files.is_empty() => {
                self.begun.extend(files.iter().cloned());
                gathering.files.send(files).expect("the thread takes files until nobody sends any");
            }
            Some(_) => {}
            None => self.begin(files),
        }
    }

    /// Returns whether a file is on its way.
    pub(super) fn has_begun(&self, file: &Path) -> bool {
        self.begun.contains(file)
    }

    /// Waits until everything that is on its way has arrived, and returns the first failure.
    pub(super) fn join(&mut self) -> Result<(), EvidenceError> {
        let together = self.together.take().map_or(Ok(()), Gathering::join);
        self.alone.drain(..).map(SyncHandle::join).fold(Ok(()), Result::and).and(together)
    }
}

impl Gathering {
    /// None where the system refuses a thread.
    fn start() -> Option<Self> {
        let (files, arriving) = channel();
        let (patience, hurry) = channel();
        let started = thread::Builder::new().name("syncs".to_owned()).spawn(move || take_together(&arriving, &hurry));
        started.ok().map(|thread| Self { files, patience, thread })
    }

    fn join(self) -> Result<(), EvidenceError> {
        drop((self.files, self.patience));
        self.thread.join().expect("syncing does not panic")
    }
}

/// Takes files to the disk until nobody sends any more. All are tried; the first failure is returned.
fn take_together(arriving: &Receiver<Vec<PathBuf>>, hurry: &Receiver<Infallible>) -> Result<(), EvidenceError> {
    let mut outcome = Ok(());
    while let Ok(mut files) = arriving.recv() {
        match hurry.recv_timeout(TOGETHER) {
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
    use crate::evidence::changes::write_new;

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

    /// Has begun so often that what comes now goes together.
    fn in_a_long_row(first: &[PathBuf]) -> FileSyncs {
        let mut syncs = FileSyncs::new(Background::default());
        first.iter().for_each(|file| syncs.begin_with_others(vec![file.clone()]));
        syncs
    }

    #[test]
    fn the_first_files_go_at_once_and_those_of_many_short_actions_together() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut syncs = FileSyncs::new(Background::default());
        syncs.begin(Vec::new());
        syncs.begin_with_others(Vec::new());
        assert_eq!((syncs.alone.len(), syncs.together.is_some()), (0, false), "nothing goes nowhere");
        let files = files(directory.path(), AT_ONCE + 20);
        for (index, file) in files.iter().enumerate() {
            assert!(!syncs.has_begun(file), "{index}");
            syncs.begin_with_others(vec![file.clone()]);
            assert!(syncs.has_begun(file), "{index}");
            assert_eq!(syncs.together.is_some(), index >= AT_ONCE, "{index}");
        }
        assert_eq!(syncs.alone.len(), AT_ONCE);
        syncs.join().expect("they can be sealed");
        assert!(files.iter().all(is_sealed));
    }

    #[test]
    fn files_wait_for_others_no_longer_than_a_moment_whatever_the_run_does() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = files(directory.path(), AT_ONCE + 3);
        let (first, others) = files.split_at(AT_ONCE);
        let mut syncs = in_a_long_row(first);
        syncs.begin_with_others(others.to_vec());
        let looks = 0..6000;
        let are_taken = looks.into_iter().any(|_| {
            thread::sleep(Duration::from_millis(10));
            others.iter().all(is_sealed)
        });
        assert!(are_taken, "nobody took them");
        drop(syncs);
    }

    #[test]
    fn a_run_that_is_given_up_leaves_no_thread_that_waits() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = files(directory.path(), AT_ONCE + 3);
        let mut syncs = in_a_long_row(&files);
        let Gathering { files, patience, thread } = syncs.together.take().expect("so many go together");
        drop((files, patience, syncs));
        thread.join().expect("it ends").expect("they can be sealed");
    }

    #[test]
    fn a_file_that_cannot_be_taken_is_told_and_the_others_are_taken_all_the_same() {
        for (missing, is_alone) in [(0, false), (70, false), (199, false), (70, true)] {
            let directory = tempfile::tempdir().expect("a directory");
            let files = files(directory.path(), AT_ONCE + 200);
            let (first, others) = files.split_at(AT_ONCE);
            let mut named = others.to_vec();
            named[missing] = directory.path().join("gone");
            let mut syncs = in_a_long_row(first);
            if is_alone {
                syncs.begin(named.clone());
            } else {
                syncs.begin_with_others(named.clone());
            }
            let failure = syncs.join().expect_err("one is missing");
            assert!(matches!(&failure, EvidenceError::File { path, .. } if *path == named[missing]), "{failure:?}");
            assert!(named.iter().enumerate().all(|(index, file)| index == missing || is_sealed(file)), "{missing}");
        }
    }
}
