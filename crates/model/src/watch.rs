//! The messages of the file watcher. Each message is a hint that something may have changed; only reading the tree
//! shows whether it did (chapter "The way of one save" of the architecture document).
//!
//! Who works through a queue whose thread exists only while something is in it.
//!
//! Decides whether a run is repeated because the tree changed during it (S6). Pure.
//!
//! A run during which the tree changed gives no verdict, so it is repeated. If only the same paths change again and the
//! repetition ends with the content that it began with, then the checks write these files themselves. Another run would
//! show the same, so the tree counts as unstable. If the repetition ends with content that no run has tested, a person
//! may have saved a file. That content is tested too, but the number of repetitions is limited, because some files are
//! written all the time.

use std::collections::BTreeSet;
use std::fmt;

use crate::{TreeDigest, TreePath};

/// A hint that files may have changed. A hint only says where to look; the tree's digest says what changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchHint {
    /// A file has its final content: it was closed after writing, renamed to this name, or created as a link, or its
    /// mode changed. For a new directory, or one whose mode changed, this is the directory's path.
    Saved(TreePath),
    /// A new file was created and is still open, so more content may follow.
    Created(TreePath),
    /// A file was truncated or written and is still open, so its content may be incomplete.
    Writing(TreePath),
    /// A path was removed or moved away. It may return at once, because many editors move the old file aside when they
    /// save.
    Removed(TreePath),
    /// An entry that does not belong to the tree has come to this path, and may be an ignored input of checks. No run starts
    /// because of it; the next run reads this path. Changes of an entry that is already there are not reported.
    IgnoredCame(TreePath),
    /// The whole tree must be compared to find out what changed; the problem says why.
    LookAgain(WatchProblem),
    /// From now on a part of the tree is read again and again, because the kernel reports no events for it. No change
    /// was missed so far.
    Polling(PollReason),
    /// The root directory of the project no longer exists.
    RootVanished,
    /// A person's approval was written to the project's ledger, by whatever process. No file of the tree has changed.
    Approved,
    /// Every save before a call of `WatcherHandle::sync` has been reported. The id was given as the argument of that
    /// call.
    Synced(SyncId),
}

/// The number by which `WatchHint::Synced` answers a call of `WatcherHandle::sync`. The calling code chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyncId(pub u64);

/// Why a part of the tree is read again and again (polled) instead of watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PollReason {
    /// The limit on watched directories (`fs.inotify.max_user_watches`) is reached.
    TooManyWatches {
        /// The first directory that cannot be watched; there may be more.
        path: TreePath,
        /// A value of the limit that would be enough.
        raise_to: u64,
    },
    /// The limit on inotify instances (`fs.inotify.max_user_instances`) is reached.
    TooManyInstances {
        /// A value of the limit that would be enough.
        raise_to: u64,
    },
    /// The file system reports no event for some changes, because a network, another machine or another kernel shares
    /// it.
    FileSystem {
        /// The first directory that lies on the file system; there may be more.
        path: TreePath,
        /// The name of the file system, for messages.
        name: &'static str,
    },
    /// The kernel reported no event for a file that the watcher created as a test.
    Deaf,
}

impl fmt::Display for PollReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raise = |name, number| format!("; to have it watched: sudo sysctl fs.inotify.{name}={number}");
        let (what, hint) = match self {
            Self::TooManyWatches { path, raise_to } => {
                (format!("the limit on watches is reached at `{path}`"), raise("max_user_watches", raise_to))
            }
            Self::TooManyInstances { raise_to } => {
                ("the limit on inotify instances is reached".to_owned(), raise("max_user_instances", raise_to))
            }
            Self::FileSystem { path, name } => {
                (format!("`{path}` is on a file system ({name}) that does not tell of every change"), String::new())
            }
            Self::Deaf => ("changes of files are not heard of here".to_owned(), String::new()),
        };
        write!(formatter, "{what}: what cannot be watched is looked at every so often, see `poll` in proctor.toml{hint}")
    }
}

/// Why the whole tree has to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchProblem {
    /// The kernel's event queue overflowed.
    Overflow,
    /// The library or system call that reports events failed; the text is its error.
    Backend(String),
    /// A rules file (`.gitignore`, `.ignore`) changed, so the set of files in the tree may have changed.
    RulesChanged(TreePath),
    /// The project's root directory had vanished or was replaced, and is watched again.
    RootReturned,
    /// A file system was mounted or unmounted inside the project. The kernel reported no event for that, and none for what
    /// was saved in it so far.
    MountsChanged,
    /// A file with several hard links was written. The kernel reports only the name by which the file was opened, so
    /// the paths of the other links must be found.
    SeveralNames(TreePath),
    /// The watcher could not find out whether all earlier events have arrived.
    Unsynced,
    /// No problem is known. The whole tree is compared from time to time, in case an event was missed.
    Sweep,
}

impl WatchProblem {
    /// Returns whether events may have been lost.
    pub fn loses_events(&self) -> bool {
        match self {
            Self::Overflow | Self::Backend(_) | Self::MountsChanged => true,
            // These problems need a comparison of the tree for another reason than lost events.
            Self::RulesChanged(_) | Self::RootReturned | Self::SeveralNames(_) | Self::Unsynced | Self::Sweep => false,
        }
    }
}

impl fmt::Display for WatchProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow => {
                formatter.write_str("file events were lost (the kernel's queue overflowed): the whole tree is compared")
            }
            Self::Backend(message) => write!(formatter, "the watcher reported: {message}; the whole tree is compared"),
            Self::RootReturned => formatter.write_str("the project's directory is back: the whole tree is compared"),
            Self::MountsChanged => {
                formatter.write_str("a file system was mounted or unmounted inside the project: the whole tree is compared")
            }
            Self::RulesChanged(path) => write!(formatter, "{path} changed what belongs to the tree: the whole tree is compared"),
            Self::Sweep | Self::Unsynced | Self::SeveralNames(_) => formatter.write_str("the whole tree is compared"),
        }
    }
}

/// An operation of git that is not finished, recognised by git's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GitOperation {
    /// A git command holds the lock on the index.
    Index,
    Rebase,
    /// A series of patches is being applied (`git am`, or a rebase by patches).
    Apply,
    Merge,
    CherryPick,
    Revert,
}

impl GitOperation {
    /// Returns the operation's name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Index => "a git command",
            Self::Rebase => "a rebase",
            Self::Apply => "git am",
            Self::Merge => "a merge",
            Self::CherryPick => "a cherry-pick",
            Self::Revert => "a revert",
        }
    }
}

/// The state of the one worker of a queue. `W` is what the worker keeps while it has no thread.
pub enum Post<W> {
    /// There is no worker yet.
    Vacant,
    /// No thread. The next message starts one.
    Resting(Box<W>),
    /// A thread was started, which takes the worker from here.
    Starting(Box<W>),
    /// A thread handles the messages.
    Working,
    /// The worker has ended. Messages are dropped.
    Ended,
}

impl<W> std::fmt::Debug for Post<W> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Vacant => "Vacant",
            Self::Resting(_) => "Resting",
            Self::Starting(_) => "Starting",
            Self::Working => "Working",
            Self::Ended => "Ended",
        })
    }
}

/// The content on disk at the end of a run during which files were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnDisk {
    /// The same content as at the start of the run: files were written again with the same bytes, so everything on disk
    /// was tested.
    AsTested,
    /// Content that no run has tested.
    Newer,
    /// Installed packages that a check may have changed: a repetition would work with what the check left.
    LeftByChecks,
}

/// What happens after a run during which the tree changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AfterMovedRun {
    /// The run starts again.
    Repeat {
        /// How many repetitions came before this one. The pause before a repetition may grow with this number.
        made_before: u32,
    },
    /// The run is not repeated. The next run starts after another change or on request.
    Unstable,
}

/// Counts consecutive repetitions of a run during which the tree changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repetitions {
    most: u32,
    made: u32,
    /// The paths that changed during the repeated run; `None` if the present run is no repetition.
    repeated: Option<BTreeSet<TreePath>>,
}

/// Returns whether a path is one of the moved paths, or lies below a directory that moved. Renaming a directory makes
/// file events for everything below it.
pub fn is_covered(path: &TreePath, moved: &BTreeSet<TreePath>) -> bool {
    std::iter::successors(Some(path.clone()), TreePath::parent).any(|at_or_above| moved.contains(&at_or_above))
}

impl OnDisk {
    /// Compares the tree at the beginning of a run with the tree at its end.
    pub fn compare(before: TreeDigest, after: TreeDigest) -> Self {
        if before == after { Self::AsTested } else { Self::Newer }
    }
}

impl Repetitions {
    /// The limit for a command that makes one run and ends: it repeats the run once, whatever content is on disk
    /// afterwards.
    pub const OF_A_COMMAND: u32 = 1;
    /// The limit for a program that keeps watching, such as `proctor watch`. It is higher than a single command's
    /// limit, because a person may be saving the same file during each run, and no save may be lost.
    pub const OF_A_WATCH: u32 = 5;

    /// Returns a counter that allows `most` repetitions in a row.
    pub fn at_most(most: u32) -> Self {
        Self { most, made: 0, repeated: None }
    }

    /// Decides what happens after a run during which `paths` changed. If the decision is `Repeat`, the count of
    /// repetitions grows by one.
    pub fn follow_moved_run(&mut self, paths: &BTreeSet<TreePath>, on_disk: OnDisk) -> AfterMovedRun {
        let has_settled = self.are_written_by_run(paths) && on_disk == OnDisk::AsTested;
        if has_settled || on_disk == OnDisk::LeftByChecks || self.made >= self.most {
            return AfterMovedRun::Unstable;
        }
        self.made += 1;
        AfterMovedRun::Repeat { made_before: self.made - 1 }
    }

    /// Records that the run that begins now is a repetition; `paths` changed during the run that it repeats.
    pub fn begin(&mut self, paths: BTreeSet<TreePath>) {
        self.repeated = Some(paths);
    }

    /// Returns whether the checks of the present run write these paths themselves. That is assumed if the present run
    /// is a repetition and every one of these paths changed during the repeated run too.
    pub fn are_written_by_run(&self, paths: &BTreeSet<TreePath>) -> bool {
        self.repeated.as_ref().is_some_and(|moved| paths.iter().all(|path| is_covered(path, moved)))
    }

    /// Starts the count anew, so that the full number of repetitions is allowed again.
    pub fn reset(&mut self) {
        *self = Self::at_most(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> BTreeSet<TreePath> {
        names.iter().map(|name| TreePath::try_from(*name).unwrap()).collect()
    }

    /// Ends a run during which these paths changed. If the run is to be repeated, this function also begins the
    /// repetition.
    fn moved(repetitions: &mut Repetitions, names: &[&str], on_disk: OnDisk) -> AfterMovedRun {
        let after = repetitions.follow_moved_run(&paths(names), on_disk);
        if after != AfterMovedRun::Unstable {
            repetitions.begin(paths(names));
        }
        after
    }

    #[test]
    fn a_run_is_repeated_once_where_it_writes_the_same_content_again() {
        let mut watch = Repetitions::at_most(Repetitions::OF_A_WATCH);
        assert_eq!(moved(&mut watch, &["a", "b"], OnDisk::AsTested), AfterMovedRun::Repeat { made_before: 0 });
        assert!(watch.are_written_by_run(&paths(&["a"])) && !watch.are_written_by_run(&paths(&["a", "c"])));
        assert_eq!(moved(&mut watch, &["b"], OnDisk::AsTested), AfterMovedRun::Unstable);
        watch.reset();
        assert_eq!(moved(&mut watch, &["b"], OnDisk::AsTested), AfterMovedRun::Repeat { made_before: 0 }, "counted anew");
        assert_eq!(moved(&mut watch, &["c"], OnDisk::AsTested), AfterMovedRun::Repeat { made_before: 1 }, "another path");
    }

    #[test]
    fn content_that_no_run_has_tested_is_run_as_often_as_the_bound_says() {
        for most in [Repetitions::OF_A_COMMAND, Repetitions::OF_A_WATCH] {
            let mut repetitions = Repetitions::at_most(most);
            for made_before in 0..most {
                assert_eq!(moved(&mut repetitions, &["a"], OnDisk::Newer), AfterMovedRun::Repeat { made_before });
            }
            assert_eq!(moved(&mut repetitions, &["a"], OnDisk::Newer), AfterMovedRun::Unstable, "{most}");
        }
    }

    #[test]
    fn a_directory_that_moved_covers_everything_below_it() {
        let moved = paths(&["src/deep", "b"]);
        let is_covered = |name: &str| is_covered(&TreePath::try_from(name).unwrap(), &moved);
        assert!(["src/deep", "src/deep/a/c", "b"].into_iter().all(is_covered));
        assert!(!["src", "src/deeper", "a", ""].into_iter().any(is_covered));
        let mut watch = Repetitions::at_most(Repetitions::OF_A_WATCH);
        watch.begin(moved.clone());
        assert!(watch.are_written_by_run(&paths(&["src/deep/a", "b"])) && !watch.are_written_by_run(&paths(&["src/a"])));
    }

    #[test]
    fn what_is_on_disk_is_told_by_the_digests_alone() {
        let digest = |text: &[u8]| TreeDigest(crate::Digest::of(text));
        let mut command = Repetitions::at_most(Repetitions::OF_A_COMMAND);
        assert_eq!(moved(&mut command, &["a"], OnDisk::LeftByChecks), AfterMovedRun::Unstable);
        assert_eq!(OnDisk::compare(digest(b"one"), digest(b"one")), OnDisk::AsTested);
        assert_eq!(OnDisk::compare(digest(b"one"), digest(b"two")), OnDisk::Newer);
    }
}
