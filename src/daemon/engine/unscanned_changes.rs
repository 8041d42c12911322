//! The reported changes that no scan of the tree has covered yet. Pure.

use std::collections::BTreeSet;

use crate::model::{TreePath, WatchHint, WatchProblem};
use crate::tree::TreeHints;

/// The changes reported since the last completed scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnscannedChanges {
    /// The changes reported since the engine last ordered a run.
    fresh: ReportedChanges,
    /// The changes that the last ordered run was told. If its scan of the tree is not completed, the next run is told
    /// them too.
    given: ReportedChanges,
}

/// The paths that may have changed, and whether events about other paths may have been lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReportedChanges {
    pub(super) hints: TreeHints,
    /// Whether events may have been lost (`lostEvents` in the report).
    pub(super) lost: bool,
}

impl ReportedChanges {
    fn nothing() -> Self {
        Self { hints: TreeHints::Only(BTreeSet::new()), lost: false }
    }

    fn add(&mut self, other: Self) {
        self.lost |= other.lost;
        match other.hints {
            TreeHints::Everything => self.hints = TreeHints::Everything,
            TreeHints::Only(paths) => self.name(paths),
        }
    }

    fn name(&mut self, paths: impl IntoIterator<Item = TreePath>) {
        match &mut self.hints {
            TreeHints::Everything => {}
            TreeHints::Only(known) => known.extend(paths),
        }
    }
}

impl UnscannedChanges {
    /// Returns the state before the first scan: anything may have changed.
    pub(super) fn everything() -> Self {
        Self { fresh: ReportedChanges { hints: TreeHints::Everything, lost: false }, given: ReportedChanges::nothing() }
    }

    /// Adds the changed path that a hint of the watcher names. Without a path, anything may have changed.
    pub(super) fn heard(&mut self, hint: &WatchHint) {
        match hint {
            WatchHint::Saved(path) | WatchHint::Created(path) | WatchHint::Writing(path) | WatchHint::Removed(path) => {
                self.fresh.name([path.clone()]);
            }
            // The engine notes a sweep only when it begins one. The other hints here report no change.
            WatchHint::LookAgain(WatchProblem::Sweep) | WatchHint::Polling(_) | WatchHint::Synced(_) => {}
            WatchHint::LookAgain(problem) => {
                self.anything();
                self.fresh.lost |= problem.loses_events();
            }
            WatchHint::RootVanished => self.anything(),
        }
    }

    /// Notes that any file may have changed, so the next scan must read the whole tree.
    pub(super) fn anything(&mut self) {
        self.fresh.hints = TreeHints::Everything;
    }

    /// Returns the changes to pass to the next order.
    pub(super) fn give(&mut self) -> ReportedChanges {
        let fresh = std::mem::replace(&mut self.fresh, ReportedChanges::nothing());
        self.given.add(fresh);
        self.given.clone()
    }

    /// Notes that a scan was completed. Lost events stay noted, because no report has named them yet.
    pub(super) fn looked(&mut self) {
        self.given.hints = TreeHints::Only(BTreeSet::new());
    }

    /// Notes that a scan was completed and that a report names the events lost before it.
    pub(super) fn reported(&mut self) {
        self.given = ReportedChanges::nothing();
    }
}
