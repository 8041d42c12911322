//! A round: the tasks that are run, one after the other, because of one save, reload or key. Pure.

use std::collections::BTreeSet;

use crate::daemon::effect::Effect;
use crate::daemon::engine::Engine;
use crate::daemon::engine::stage::LookPurpose;
use crate::model::{TaskId, TreeDigest, TreePath, TriggerKind};
use crate::project::Selection;

/// What the engine remembers of a task that was run.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownTask {
    /// The tree of the task's last verdict; `None` if a later run ended without one.
    pub(super) last_tree: Option<TreeDigest>,
    /// The names of the checks that did not succeed in it.
    pub(super) last_failed: Vec<String>,
    /// How often in a row a save stopped it.
    pub(super) restarts: u32,
}

/// The tasks to run because of one save, reload or key.
#[derive(Debug)]
pub(super) struct Round {
    kind: TriggerKind,
    paths: BTreeSet<TreePath>,
    which: RoundChecks,
    /// The tasks that have had their turn.
    done: BTreeSet<TaskId>,
    /// How many of them were run, and not only looked at.
    runs: u32,
}

/// Which checks of each task are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundChecks {
    /// All checks.
    All,
    /// The checks that the change triggers, if there is a change.
    Triggered,
    /// The checks that did not succeed last time. Tasks without such checks are skipped.
    Failed,
}

impl Round {
    pub(super) fn new(kind: TriggerKind, paths: BTreeSet<TreePath>, which: RoundChecks) -> Self {
        Self { kind, paths, which, done: BTreeSet::new(), runs: 0 }
    }

    /// Returns a round in which every task except `one` has had its turn.
    pub(super) fn of_one(tasks: &[TaskId], one: &TaskId) -> Self {
        let mut round = Self::new(TriggerKind::Moved, BTreeSet::new(), RoundChecks::All);
        round.done = tasks.iter().filter(|task| *task != one).cloned().collect();
        round
    }

    /// Notes that a task has had its turn.
    pub(super) fn had(&mut self, task: &TaskId) {
        self.done.insert(task.clone());
    }

    /// Notes that a task needs another turn in this round.
    pub(super) fn has_not_had(&mut self, task: &TaskId) {
        self.done.remove(task);
    }

    /// Notes that a run has begun.
    pub(super) fn ran(&mut self) {
        self.runs += 1;
    }
}

impl Engine {
    /// Starts the next task of the round; `None` if all have had their turn and the round is over.
    pub(super) fn next_of_round(&mut self, look: LookPurpose) -> Option<Effect> {
        let Some(task) = self.pending() else {
            self.round = None;
            return None;
        };
        let known = self.known.get(&task).cloned().unwrap_or_default();
        let round = self.round.as_mut()?;
        round.had(&task);
        let (kind, paths) = (round.kind, round.paths.clone());
        let (selection, unless) = match round.which {
            RoundChecks::All => (Selection::All, None),
            RoundChecks::Triggered => (Selection::Triggered { failed: known.last_failed }, known.last_tree),
            RoundChecks::Failed => (Selection::Named(known.last_failed), None),
        };
        self.repetitions.reset();
        Some(self.start(task, look, kind, paths, selection, unless))
    }

    /// Returns whether the round is over and nothing was run in it. Only then is the person told what a look found.
    pub(super) fn round_came_to_nothing(&self) -> bool {
        self.round.as_ref().is_none_or(|round| round.runs == 0) && self.pending().is_none()
    }

    fn pending(&self) -> Option<TaskId> {
        let round = self.round.as_ref()?;
        let has_a_turn = |task: &&TaskId| match round.which {
            RoundChecks::All | RoundChecks::Triggered => true,
            RoundChecks::Failed => self.known.get(task).is_some_and(|known| !known.last_failed.is_empty()),
        };
        self.settings.tasks.iter().filter(has_a_turn).find(|task| !round.done.contains(*task)).cloned()
    }
}
