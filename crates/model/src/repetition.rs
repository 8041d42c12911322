//! Decides whether a run is repeated because the tree changed during it (S6). Pure.
//!
//! A run during which the tree changed gives no verdict, so it is repeated. If only the same paths change again and the
//! repetition ends with the content that it began with, then the checks write these files themselves. Another run would
//! show the same, so the tree counts as unstable. If the repetition ends with content that no run has tested, a person
//! may have saved a file. That content is tested too, but the number of repetitions is limited, because some files are
//! written all the time.

use std::collections::BTreeSet;

use crate::{TreeDigest, TreePath};

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
