//! What the watcher said of the tree since it was last looked at for a question about now. Pure.
//!
//! Every path that was hinted at and not looked at since is kept, so that a look at these alone finds what a look at everything would:
//! that is true as far as events tell of changes ([`LookCare::Events`]), and where they may not, everything is looked at.

use std::collections::BTreeSet;

use crate::model::WatchHint;
use crate::tree::TreeHints;

/// So many paths are kept; with more of them a look at everything is not much dearer.
const MOST_PATHS: usize = 1024;

/// How carefully the tree is looked at for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LookCare {
    /// At what the watcher heard of, after it has said that everything saved before the question was heard of.
    ///
    /// This sees every change that the kernel tells of: saves, renames, removals, modes, links, directories, whoever makes them and
    /// however many. It does not see what makes no event below the root, until the next look at everything: a store through a shared
    /// mapping, a write to a file by a name of it outside of the tree, something mounted over a directory. Such a look is every run's
    /// end, every `wait`'s, and that of `watch.sweep` (60 s).
    Events,
    /// At every entry.
    Whole,
}

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PendingChanges {
    hints: TreeHints,
    trust: EventTrust,
}

/// Whether events tell of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventTrust {
    /// As far as they ever do.
    Full,
    /// Part of the tree is polled, or is watched by other rules than its own: no look is spared.
    None,
}

impl PendingChanges {
    /// Nobody has looked yet.
    pub(super) fn everything() -> Self {
        Self { hints: TreeHints::Everything, trust: EventTrust::Full }
    }

    /// Takes a hint in.
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
            WatchHint::Synced(_) => {}
        }
    }

    /// Anything may have changed.
    pub(super) fn anything(&mut self) {
        self.hints = TreeHints::Everything;
    }

    /// Events do not tell of everything from here on.
    pub(super) fn distrust(&mut self) {
        self.trust = EventTrust::None;
    }

    /// Returns whether a look at what was heard of would be enough, once everything before it has been heard of.
    pub(super) fn is_enough(&self) -> bool {
        self.trust == EventTrust::Full && matches!(self.hints, TreeHints::Only(_))
    }

    /// Returns what a look that begins now has to look at. What is heard from here on is for the next one.
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
    use crate::model::{PollReason, SyncId, TreePath, WatchProblem};

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
