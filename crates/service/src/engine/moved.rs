//! Runs during which the tree changed, called "moved" runs. This module decides when they are repeated, and which hints are only
//! late reports of the run's own changes. [`Repetitions`](proctor_model::Repetitions) decides whether they are repeated. Pure.

use std::collections::BTreeSet;

use crate::effect::{Effect, LastRunState, Notice};
use crate::engine::stage::LookPurpose;
use crate::engine::{Engine, Moment};
use proctor_model::{AfterMovedRun, OnDisk, TaskId, TreePath, TriggerKind, WatchHint, is_covered};
use proctor_project::Selection;

/// A repetition that waits for its time. No run is under way meanwhile, so a hint reports a change from outside and cancels the
/// repetition. The exception is a late report of the run's own changes.
#[derive(Debug)]
pub(super) struct WaitingRepetition {
    pub(super) task: TaskId,
    paths: BTreeSet<TreePath>,
    pub(super) due: Moment,
    /// Until this moment, hints about `paths` count as late reports of the run's own changes.
    late_until: Moment,
}

impl Engine {
    /// Handles the end of a run during which the tree changed: the run is repeated, the person is told that the tree is unstable,
    /// or a save of other paths causes the next run.
    pub(super) fn on_moved(&mut self, now: Moment, paths: BTreeSet<TreePath>, on_disk: OnDisk) -> Vec<Effect> {
        self.of_current().last_tree = None;
        if self.take_busy_move(now, &paths) {
            return self.after_run(now, LastRunState::NoVerdict);
        }
        if self.was_saved_besides(&paths) {
            return self.on_moved_beside_saves(now, paths);
        }
        self.of_current().restarts = 0;
        // Saves during the run need no run of their own: either the repetition covers them, or the tree is called unstable.
        self.leave_saves();
        match self.repetitions.follow_moved_run(&paths, on_disk) {
            AfterMovedRun::Unstable => self.call_unstable(now, paths),
            AfterMovedRun::Repeat { made_before } => self.repeat_later(now, paths, made_before),
        }
    }

    /// Has the run repeated after a pause, which grows with the number of repetitions before.
    pub(super) fn repeat_later(&mut self, now: Moment, paths: BTreeSet<TreePath>, made_before: u32) -> Vec<Effect> {
        let due = now.plus(self.settings.longest_burst * 2_u32.pow(made_before));
        let late_until = now.plus(self.settings.quiet);
        let task = self.current.clone();
        self.repetition = Some(WaitingRepetition { task, paths: paths.clone(), due, late_until });
        vec![Effect::Show(Notice::Repeating { paths }), Effect::WakeAt(due)]
    }

    /// Leaves the saves that have led to no run yet to the repetition of the current task's run. The other tasks have missed them.
    pub(super) fn leave_saves(&mut self) {
        let others = self.settings.tasks.iter().filter(|task| **task != self.current);
        if self.burst.take().is_some() {
            others.for_each(|task| self.known.entry(task.clone()).or_default().has_missed_save = true);
        }
    }

    /// Returns whether paths other than `moved` were saved during the run, or may have been. The save then causes the next run.
    fn was_saved_besides(&self, moved: &BTreeSet<TreePath>) -> bool {
        self.burst
            .as_ref()
            .is_some_and(|burst| burst.is_incomplete() || !burst.paths().iter().all(|path| is_covered(path, moved)))
    }

    /// Begins the waiting repetition if its time has come.
    pub(super) fn begin_repetition(&mut self, now: Moment) -> Option<Effect> {
        let WaitingRepetition { task, paths, .. } = self.repetition.take_if(|repetition| repetition.due <= now)?;
        self.repetitions.begin(paths.clone());
        Some(self.start(task, LookPurpose::Request, TriggerKind::Moved, paths, Selection::All, None))
    }

    /// Returns whether a hint is a late report of a change that the last run made itself, while the repetition of that
    /// run is still waiting.
    pub(super) fn is_late_echo(&self, now: Moment, hint: &WatchHint) -> bool {
        match (&self.repetition, hint) {
            (
                Some(repetition),
                WatchHint::Saved(path) | WatchHint::Created(path) | WatchHint::Writing(path) | WatchHint::Removed(path),
            ) => now <= repetition.late_until && is_covered(path, &repetition.paths),
            (
                Some(_),
                WatchHint::IgnoredCame(_)
                | WatchHint::Approved
                | WatchHint::LookAgain(_)
                | WatchHint::Polling(_)
                | WatchHint::RootVanished
                | WatchHint::Synced(_),
            )
            | (None, _) => false,
        }
    }
}
