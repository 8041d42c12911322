//! What the scheduling of a project sees of the project's directory: the reports of its watcher, git's state, and whether saved files
//! have changed. The tests' simulator has a directory in memory in its place.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use crate::arrivals::ArrivalSender;
use proctor_model::{GitOperation, SyncId, TreePath};
use proctor_tree::ignore::Matcher;
use proctor_tree::watch::{GitFiles, Pace, WatchError, Watcher, WatcherHandle};
use proctor_tree::{TreeIndex, is_unchanged_on_disk};

/// If saved files have more bytes than this in total, they count as changed. Otherwise their content is compared, and the event
/// loop waits meanwhile.
const COMPARED_BYTES: u64 = 4 * 1024 * 1024;

/// A watched directory.
pub trait WatchedDirectory: fmt::Debug + Send {
    /// Has the watcher confirm by a hint with this number that it has reported every save before this call.
    fn sync(&self, id: SyncId);
    /// Replaces the watcher by one with new rules. The old one is dropped only when the new one works, so that no event is missed.
    ///
    /// # Errors
    /// When the new watcher cannot be started. The old one stays.
    fn watch_anew(&mut self, matcher: Matcher, pace: &Pace) -> Result<(), WatchError>;
    /// Returns a handle for questions to the watcher, if there is one that can be asked.
    fn watcher(&self) -> Option<WatcherHandle>;
    /// Reads which operation git is in the middle of.
    fn git_operation(&self) -> Option<GitOperation>;
    /// Returns whether these files have the content that they have in `tested`.
    fn is_unchanged(&self, tested: &TreeIndex, paths: &BTreeSet<TreePath>) -> bool;
}

/// A directory on disk.
#[derive(Debug)]
pub(super) struct DirectoryOnDisk {
    root: PathBuf,
    /// The project's ledger, which every watcher of this project follows for approvals.
    ledger: PathBuf,
    watcher: Watcher,
    /// Provides the sender for a watcher that replaces the present one.
    arrivals: ArrivalSender,
    git: GitFiles,
}

impl DirectoryOnDisk {
    /// Returns the directory `root`. The watcher must send to `arrivals`. From now on it also follows the project's ledger.
    pub(super) fn new(root: PathBuf, ledger: PathBuf, watcher: Watcher, arrivals: ArrivalSender) -> Self {
        watcher.follow_ledger(&ledger);
        let git = GitFiles::find(&root);
        Self { root, ledger, watcher, arrivals, git }
    }
}

impl WatchedDirectory for DirectoryOnDisk {
    fn sync(&self, id: SyncId) {
        self.watcher.handle().sync(id);
    }

    fn watch_anew(&mut self, matcher: Matcher, pace: &Pace) -> Result<(), WatchError> {
        self.watcher = self.watcher.start_beside(&self.root, matcher, pace, self.arrivals.hints())?;
        self.watcher.follow_ledger(&self.ledger);
        Ok(())
    }

    fn watcher(&self) -> Option<WatcherHandle> {
        Some(self.watcher.handle())
    }

    fn git_operation(&self) -> Option<GitOperation> {
        self.git.read()
    }

    fn is_unchanged(&self, tested: &TreeIndex, paths: &BTreeSet<TreePath>) -> bool {
        is_unchanged_on_disk(tested, paths.iter(), COMPARED_BYTES)
    }
}
