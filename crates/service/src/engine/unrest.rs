//! Bounds how often runs follow one another because files are saved during them. A check that writes to the project in
//! place, for example one that swaps two files through a third, looks to the engine like a person who saves during every
//! run. So the runs that such saves cause are counted until a run has a verdict, whoever makes the saves. Pure.

use std::collections::BTreeSet;

use crate::effect::{Effect, LastRunState, Notice};
use crate::engine::{Engine, Moment};
use proctor_model::{Repetitions, TreePath, WatchHint, is_covered};

/// Runs in a row that ended without a verdict because the tree changed and other files were saved besides.
#[derive(Debug, Default)]
pub(super) struct Unrest {
    repeats: u32,
    /// Set when the tree is called unstable. Until this moment, hints about these paths count as late reports of the
    /// last run's own changes.
    echoes: Option<(Moment, BTreeSet<TreePath>)>,
}

/// Whether one more run may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterUnrest {
    /// A run follows. `made_before` is the number of runs that followed in this way since the last verdict.
    Repeat { made_before: u32 },
    /// Nothing runs until something is saved while no run is under way.
    Enough,
}

impl Unrest {
    /// Counts one more run, if one more may follow.
    pub(super) fn follow(&mut self) -> AfterUnrest {
        if self.repeats >= Repetitions::OF_A_WATCH {
            return AfterUnrest::Enough;
        }
        self.repeats += 1;
        AfterUnrest::Repeat { made_before: self.repeats - 1 }
    }

    /// Begins the count anew. The callers do this when a run has a verdict, or when somebody asks for a run or saves while none
    /// is under way.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    fn is_echo(&self, now: Moment, hint: &WatchHint) -> bool {
        let (Some((until, paths)), Some(path)) = (&self.echoes, path_of(hint)) else { return false };
        now <= *until && is_covered(path, paths)
    }
}

impl Engine {
    /// Handles the end of a run during which the tree changed and other files were saved besides. The first time, the
    /// saves cause a run at once, because a person has probably made them. After that the pauses grow.
    pub(super) fn on_moved_beside_saves(&mut self, now: Moment, paths: BTreeSet<TreePath>) -> Vec<Effect> {
        self.repetitions.reset();
        let saved = self.burst.as_ref().map(|burst| burst.paths()).unwrap_or_default();
        let paths: BTreeSet<TreePath> = paths.into_iter().chain(saved).collect();
        match self.unrest.follow() {
            AfterUnrest::Repeat { made_before: 0 } => self.after_run(now, LastRunState::NoVerdict),
            AfterUnrest::Repeat { made_before } => {
                // The repetition tests what is on disk then, so it covers the saves too.
                self.leave_saves();
                self.repeat_later(now, paths, made_before - 1)
            }
            AfterUnrest::Enough => {
                self.leave_saves();
                self.call_unstable(now, paths)
            }
        }
    }

    /// Tells the person that the tree is unstable, and waits for a change from outside. Other tasks whose verdict is older than what was
    /// saved during the runs have a turn before.
    pub(super) fn call_unstable(&mut self, now: Moment, paths: BTreeSet<TreePath>) -> Vec<Effect> {
        self.repetitions.reset();
        self.of_current().restarts = 0;
        self.known.values_mut().for_each(|known| known.is_behind |= known.has_missed_save && known.last_tree.is_some());
        self.unrest = Unrest { repeats: 0, echoes: Some((now.plus(self.settings.quiet), paths.clone())) };
        let mut effects = vec![Effect::Show(Notice::Unstable { paths })];
        effects.extend(self.after_run(now, LastRunState::NoVerdict));
        effects
    }

    /// Returns whether a hint is a late report of changes that the last run made itself, after the tree was called
    /// unstable.
    pub(super) fn is_echo_of_unstable_run(&self, now: Moment, hint: &WatchHint) -> bool {
        self.is_at_rest() && self.unrest.is_echo(now, hint)
    }

    /// Returns whether nothing runs and nothing waits to run. A save then comes from outside.
    pub(super) fn is_at_rest(&self) -> bool {
        matches!(self.stage, super::stage::Stage::Idle) && self.burst.is_none() && self.repetition.is_none()
    }

    /// Decides whether a save while a repetition waits runs the checks at once, in place of the repetition. If such saves
    /// have done that too often, the repetition stays, and covers the save.
    pub(super) fn may_replace_repetition(&mut self) -> bool {
        self.unrest.follow() != AfterUnrest::Enough
    }
}

/// Returns the path that a hint names.
pub(super) fn path_of(hint: &WatchHint) -> Option<&TreePath> {
    match hint {
        WatchHint::Saved(path) | WatchHint::Created(path) | WatchHint::Writing(path) | WatchHint::Removed(path) => Some(path),
        WatchHint::IgnoredCame(_)
        | WatchHint::Approved
        | WatchHint::LookAgain(_)
        | WatchHint::Polling(_)
        | WatchHint::RootVanished
        | WatchHint::Synced(_) => None,
    }
}
