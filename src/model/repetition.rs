//! When a run whose tree moved is repeated, and when repeating it is given up (S6). Pure.
//!
//! A run whose tree moved gives no verdict, so it is repeated. Where the repetition moves nothing but the same paths and leaves the
//! content it began with, the checks write these files themselves: another run would show the same, and the tree is unstable. Where
//! it leaves content that no run has tested, a person may have saved during the run. That content is tested too, but only so many
//! times, since a file that is written all the time never comes to rest.

use std::collections::BTreeSet;

use crate::model::{TreeDigest, TreePath};

/// What a run whose tree moved leaves on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnDisk {
    /// The content it began with, written again: nothing is untested.
    AsTested,
    /// Content that no run has seen.
    Newer,
}

/// What follows a run whose tree moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AfterMovedRun {
    /// It is run again.
    Repeat {
        /// How many repetitions came before this one: the pause before it may grow with them.
        made_before: u32,
    },
    /// Nothing runs by itself before something else changes.
    Unstable,
}

/// The repetitions in a row of a run whose tree moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repetitions {
    most: u32,
    made: u32,
    /// What moved in the run that the run under way repeats; none where it repeats none.
    repeated: Option<BTreeSet<TreePath>>,
}

impl OnDisk {
    /// Compares the tree a run began with and the one it left.
    pub fn compare(before: TreeDigest, after: TreeDigest) -> Self {
        if before == after { Self::AsTested } else { Self::Newer }
    }
}

impl Repetitions {
    /// For a command that makes one run and ends: its run is repeated once, whatever that leaves on disk.
    pub const OF_A_COMMAND: u32 = 1;
    /// For whoever goes on watching: so many repetitions are made while every run leaves content that none has tested. A person may
    /// be saving the same file in each of them, and a save is never lost.
    pub const OF_A_WATCH: u32 = 5;

    /// Returns the state before any run moved its tree, with a bound on repetitions in a row.
    pub fn at_most(most: u32) -> Self {
        Self { most, made: 0, repeated: None }
    }

    /// Says what follows a run whose tree moved, and counts the repetition if there is to be one.
    pub fn follow_moved_run(&mut self, paths: &BTreeSet<TreePath>, on_disk: OnDisk) -> AfterMovedRun {
        let has_settled = self.are_written_by_run(paths) && on_disk == OnDisk::AsTested;
        if has_settled || self.made >= self.most {
            return AfterMovedRun::Unstable;
        }
        self.made += 1;
        AfterMovedRun::Repeat { made_before: self.made - 1 }
    }

    /// Notes that the repetition of a run in which these paths moved begins.
    pub fn begin(&mut self, paths: BTreeSet<TreePath>) {
        self.repeated = Some(paths);
    }

    /// Returns whether the run under way writes these paths itself: it repeats a run in which all of them moved.
    pub fn are_written_by_run(&self, paths: &BTreeSet<TreePath>) -> bool {
        self.repeated.as_ref().is_some_and(|moved| paths.is_subset(moved))
    }

    /// Forgets what came before: the next run whose tree moves is the first in a row.
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

    /// Has a run move its tree, and begins the repetition if there is one.
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
    fn what_is_on_disk_is_told_by_the_digests_alone() {
        let digest = |text: &[u8]| TreeDigest(crate::model::Digest::of(text));
        assert_eq!(OnDisk::compare(digest(b"one"), digest(b"one")), OnDisk::AsTested);
        assert_eq!(OnDisk::compare(digest(b"one"), digest(b"two")), OnDisk::Newer);
    }
}
