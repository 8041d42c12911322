//! The changes that the watcher has reported since the last status check. Pure.
//!
//! Every reported path is kept until a status check has read it. Reading only these paths then finds the same changes
//! as reading the whole tree, if events report every change ([`LookCare::Events`]). If events may miss a change, the whole tree
//! is read.

use std::collections::BTreeSet;

use proctor_model::WatchHint;
use proctor_tree::TreeHints;

/// The most paths that are kept. Beyond this number, reading the whole tree costs little more.
const MOST_PATHS: usize = 1024;

/// How thoroughly the tree is read for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LookCare {
    /// Only the reported paths are read, after the watcher has confirmed that it has reported everything saved before
    /// the question.
    ///
    /// This finds every change that the kernel reports, whoever makes it: saves, renames, removals, and changes of
    /// modes, links and directories. It misses changes that cause no event below the root: a write through a shared
    /// memory mapping, a write through a name of the file outside of the tree, a mount over a directory. These
    /// changes are found when the whole tree is next read. That happens at the end of a run in the project itself,
    /// for every `wait`, and in the periodic sweep (`watch.sweep`, 60 s). A mount is also noticed when the watcher confirms.
    Events,
    /// Every entry of the tree is read.
    Whole,
}

/// The changes reported since the last status check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PendingChanges {
    hints: TreeHints,
    trust: EventTrust,
}

/// Whether events report every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventTrust {
    /// Events report every change, except for those that [`LookCare::Events`] lists.
    Full,
    /// Events miss changes, because part of the tree is polled or is watched by outdated rules. Every status check
    /// reads the whole tree.
    None,
}

impl PendingChanges {
    /// Returns the state before the first status check: anything may have changed.
    pub(super) fn everything() -> Self {
        Self { hints: TreeHints::Everything, trust: EventTrust::Full }
    }

    /// Adds the changed path that a hint of the watcher names. Without a path, anything may have changed.
    pub(super) fn add_hint(&mut self, hint: &WatchHint) {
        match hint {
            WatchHint::Saved(path) | WatchHint::Created(path) | WatchHint::Writing(path) | WatchHint::Removed(path) => {
                if let TreeHints::Only(paths) = &mut self.hints {
                    paths.insert(path.clone());
                    if paths.len() > MOST_PATHS {
                        self.anything();
                    }
                }
            }
            WatchHint::LookAgain(_) | WatchHint::RootVanished => self.anything(),
            WatchHint::Polling(_) => self.distrust(),
            // A status does not depend on ignored entries, and it reads the ledger anyway.
            WatchHint::Synced(_) | WatchHint::IgnoredCame(_) | WatchHint::Approved => {}
        }
    }

    /// Notes that any file may have changed, so the next status check must read the whole tree.
    pub(super) fn anything(&mut self) {
        self.hints = TreeHints::Everything;
    }

    /// Notes that events no longer report every change.
    pub(super) fn distrust(&mut self) {
        self.trust = EventTrust::None;
    }

    /// Returns whether it is enough to read the reported paths once the watcher has confirmed that it has reported
    /// everything.
    pub(super) fn is_enough(&self) -> bool {
        self.trust == EventTrust::Full && matches!(self.hints, TreeHints::Only(_))
    }

    /// Returns what a status check that begins now has to read, and forgets it. Later reports are for the next check.
    pub(super) fn take(&mut self, care: LookCare) -> TreeHints {
        let pending_changes = std::mem::replace(&mut self.hints, TreeHints::Only(BTreeSet::new()));
        match (care, self.trust) {
            (LookCare::Events, EventTrust::Full) => pending_changes,
            (LookCare::Whole, _) | (_, EventTrust::None) => TreeHints::Everything,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{PollReason, SyncId, TreePath, WatchProblem};

    fn path(text: &str) -> TreePath {
        TreePath::try_from(text).unwrap()
    }

    fn looked_at() -> PendingChanges {
        let mut pending_changes = PendingChanges::everything();
        assert!(!pending_changes.is_enough());
        assert_eq!(pending_changes.take(LookCare::Events), TreeHints::Everything);
        pending_changes
    }

    #[test]
    fn every_path_that_was_hinted_at_is_looked_at_once() {
        let mut pending_changes = looked_at();
        for hint in [
            WatchHint::Saved(path("a")),
            WatchHint::Created(path("b")),
            WatchHint::Writing(path("c/d")),
            WatchHint::Removed(path("a")),
            WatchHint::Synced(SyncId(1)),
        ] {
            pending_changes.add_hint(&hint);
        }
        assert!(pending_changes.is_enough());
        let paths = ["a", "b", "c/d"].map(path).into();
        assert_eq!(pending_changes.take(LookCare::Events), TreeHints::Only(paths));
        assert_eq!(pending_changes.take(LookCare::Events), TreeHints::Only(BTreeSet::new()));
    }

    #[test]
    fn whatever_is_in_doubt_is_a_look_at_everything() {
        for hint in [
            WatchHint::LookAgain(WatchProblem::Overflow),
            WatchHint::LookAgain(WatchProblem::Sweep),
            WatchHint::LookAgain(WatchProblem::SeveralNames(path("a"))),
            WatchHint::RootVanished,
        ] {
            let mut pending_changes = looked_at();
            pending_changes.add_hint(&hint);
            pending_changes.add_hint(&WatchHint::Saved(path("a")));
            assert!(!pending_changes.is_enough(), "{hint:?}");
            assert_eq!(pending_changes.take(LookCare::Events), TreeHints::Everything, "{hint:?}");
            assert!(pending_changes.is_enough(), "one look settles it: {hint:?}");
        }
        let mut pending_changes = looked_at();
        (0..=MOST_PATHS).for_each(|number| pending_changes.add_hint(&WatchHint::Saved(path(&number.to_string()))));
        assert_eq!(pending_changes.take(LookCare::Events), TreeHints::Everything);
    }

    #[test]
    fn what_is_polled_is_never_answered_by_events() {
        let mut pending_changes = looked_at();
        pending_changes.add_hint(&WatchHint::Polling(PollReason::Deaf));
        assert_eq!(pending_changes.take(LookCare::Events), TreeHints::Everything);
        assert!(!pending_changes.is_enough());
        assert_eq!(pending_changes.take(LookCare::Events), TreeHints::Everything, "for good");
        let mut pending_changes = looked_at();
        pending_changes.add_hint(&WatchHint::Saved(path("a")));
        assert_eq!(pending_changes.take(LookCare::Whole), TreeHints::Everything);
        assert_eq!(
            pending_changes.take(LookCare::Events),
            TreeHints::Only(BTreeSet::new()),
            "it was looked at with everything else"
        );
    }
}
