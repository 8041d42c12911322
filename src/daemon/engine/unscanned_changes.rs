//! What was heard of and no look at the tree has answered yet. Pure.

use std::collections::BTreeSet;

use crate::model::{TreePath, WatchHint, WatchProblem};
use crate::tree::TreeHints;

/// What was heard of since a look that was carried through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnscannedChanges {
    /// Since the order under way was given.
    fresh: ReportedChanges,
    /// What the order under way was given; it is handed on to the next one if nothing came of this one.
    given: ReportedChanges,
}

/// Which paths, and whether that is all.
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
    /// Nobody has looked yet.
    pub(super) fn everything() -> Self {
        Self { fresh: ReportedChanges { hints: TreeHints::Everything, lost: false }, given: ReportedChanges::nothing() }
    }

    /// Takes a hint in.
    pub(super) fn heard(&mut self, hint: &WatchHint) {
        match hint {
            WatchHint::Saved(path) | WatchHint::Created(path) | WatchHint::Writing(path) | WatchHint::Removed(path) => {
                self.fresh.name([path.clone()]);
            }
            // It has its turn only when nothing else is going on.
            WatchHint::LookAgain(WatchProblem::Sweep) | WatchHint::Polling(_) | WatchHint::Synced(_) => {}
            WatchHint::LookAgain(problem) => {
                self.anything();
                self.fresh.lost |= problem.loses_events();
            }
            WatchHint::RootVanished => self.anything(),
        }
    }

    /// Everything is to be compared.
    pub(super) fn anything(&mut self) {
        self.fresh.hints = TreeHints::Everything;
    }

    /// Returns what an order is given.
    pub(super) fn give(&mut self) -> ReportedChanges {
        let fresh = std::mem::replace(&mut self.fresh, ReportedChanges::nothing());
        self.given.add(fresh);
        self.given.clone()
    }

    /// A look was carried through; no report says so.
    pub(super) fn looked(&mut self) {
        self.given.hints = TreeHints::Only(BTreeSet::new());
    }

    /// A look was carried through, and a report says what was lost before it.
    pub(super) fn reported(&mut self) {
        self.given = ReportedChanges::nothing();
    }
}
