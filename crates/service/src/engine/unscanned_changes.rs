//! The reported changes that no scan of the tree has covered yet. Pure.

use proctor_model::{TreePath, WatchHint, WatchProblem};
use proctor_tree::TreeHints;

/// The changes reported since the last completed scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnscannedChanges {
    /// The changes reported since the engine last ordered a run.
    fresh: ReportedChanges,
    /// The changes that the last ordered run was told. If its scan of the tree is not completed, the next run is told
    /// them too.
    given: ReportedChanges,
    /// How many ignored entries were named since the last order.
    ignored: usize,
    /// Whether events report every change. Once they do not, every scan reads the whole project: a change of an ignored entry
    /// starts no run, so a scan that misses it would not be followed by another one.
    events: EventCoverage,
}

/// The most ignored entries that are remembered. Beyond this number, reading the whole project costs little more.
const MOST_IGNORED: usize = 4096;

/// Whether the watcher reports every change by an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventCoverage {
    Complete,
    /// Some directories are polled, or could not be watched.
    Incomplete,
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
        Self { hints: TreeHints::nothing(), lost: false }
    }

    fn add(&mut self, other: Self) {
        self.lost |= other.lost;
        self.hints.add(other.hints);
    }

    fn name(&mut self, path: &TreePath) {
        match &mut self.hints {
            TreeHints::Everything => {}
            TreeHints::Only(known) => drop(known.insert(path.clone())),
        }
    }
}

impl UnscannedChanges {
    /// Returns the state before the first scan: anything may have changed.
    pub(super) fn everything() -> Self {
        let fresh = ReportedChanges { hints: TreeHints::Everything, lost: false };
        Self { fresh, given: ReportedChanges::nothing(), ignored: 0, events: EventCoverage::Complete }
    }

    /// Adds the changed path that a hint of the watcher names. Without a path, anything may have changed.
    pub(super) fn heard(&mut self, hint: &WatchHint) {
        match hint {
            WatchHint::Saved(path) | WatchHint::Created(path) | WatchHint::Writing(path) | WatchHint::Removed(path) => {
                self.fresh.name(path);
            }
            WatchHint::IgnoredCame(path) => {
                self.ignored += 1;
                if self.ignored > MOST_IGNORED { self.anything() } else { self.fresh.name(path) }
            }
            WatchHint::Polling(_) => self.events = EventCoverage::Incomplete,
            // The engine notes a sweep only when it begins one.
            WatchHint::LookAgain(WatchProblem::Sweep) | WatchHint::Synced(_) | WatchHint::Approved => {}
            WatchHint::LookAgain(problem) => {
                self.anything();
                self.fresh.lost |= problem.loses_events();
                if matches!(problem, WatchProblem::Backend(_)) {
                    self.events = EventCoverage::Incomplete;
                }
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
        self.ignored = 0;
        if self.events == EventCoverage::Incomplete {
            self.given.hints = TreeHints::Everything;
        }
        self.given.clone()
    }

    /// Notes that a scan was completed. Lost events stay noted, because no report has named them yet.
    pub(super) fn looked(&mut self) {
        self.given.hints = TreeHints::nothing();
    }

    /// Notes that a scan was completed and that a report names the events lost before it.
    pub(super) fn reported(&mut self) {
        self.given = ReportedChanges::nothing();
    }
}
