//! A round: the tasks that are run, one after the other, because of one save, reload, key or start. Pure.

use std::collections::BTreeSet;

use crate::effect::Effect;
use crate::engine::Engine;
use crate::engine::stage::LookPurpose;
use proctor_model::{TaskId, TreeDigest, TreePath, TriggerKind};
use proctor_project::Selection;

/// What the engine remembers about a task.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownTask {
    /// The tree of the task's last verdict; `None` if there is none, or if a later run ended without a verdict.
    pub(super) last_tree: Option<TreeDigest>,
    /// The names of the checks that made the verdict of the task's last run FAILED.
    pub(super) last_failed: Vec<String>,
    /// The names of the other checks that did not succeed then, which is allowed.
    pub(super) last_warned: Vec<String>,
    /// How many times in a row a save has stopped the task's run.
    pub(super) restarts: u32,
    /// Whether the task's last run was refused because its plan is not approved.
    pub(super) is_refused: bool,
}

impl KnownTask {
    /// Returns the names of all checks that did not succeed in the last run. A save runs them again whatever it changed.
    pub(super) fn not_succeeded(&self) -> Vec<String> {
        self.last_failed.iter().chain(&self.last_warned).cloned().collect()
    }
}

/// The tasks to run because of one save, reload, key or start.
#[derive(Debug)]
pub(super) struct Round {
    kind: TriggerKind,
    paths: BTreeSet<TreePath>,
    which: RoundChecks,
    /// The tasks that need no further run in this round.
    done: BTreeSet<TaskId>,
    /// How many runs have begun in this round. A scan without a run does not count.
    runs: u32,
}

/// Which checks of each task are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundChecks {
    All,
    /// The checks that the changes trigger. Without changes, nothing is run.
    Triggered,
    /// The checks that did not succeed last time. Tasks without such checks are skipped.
    Failed,
    /// All checks of the tasks that were refused because they are not approved, and of the tasks that have not run in this
    /// process: whether these were refused is unknown. Checks of the latter that have a result on the present tree are not
    /// carried out again.
    Refused,
}

impl Round {
    pub(super) fn new(kind: TriggerKind, paths: BTreeSet<TreePath>, which: RoundChecks) -> Self {
        Self { kind, paths, which, done: BTreeSet::new(), runs: 0 }
    }

    /// Returns a round in which only the task `one` still has to run.
    pub(super) fn of_one(tasks: &[TaskId], one: &TaskId) -> Self {
        let mut round = Self::new(TriggerKind::Moved, BTreeSet::new(), RoundChecks::All);
        round.done = tasks.iter().filter(|task| *task != one).cloned().collect();
        round
    }

    /// Notes that a task needs no further run in this round.
    pub(super) fn had(&mut self, task: &TaskId) {
        self.done.insert(task.clone());
    }

    /// Notes that a task needs another run in this round.
    pub(super) fn has_not_had(&mut self, task: &TaskId) {
        self.done.remove(task);
    }

    /// Counts a run that has begun.
    pub(super) fn ran(&mut self) {
        self.runs += 1;
    }
}

impl Engine {
    /// Starts the next task of the round. Returns `None` if no task is left, which ends the round.
    pub(super) fn next_of_round(&mut self, look: LookPurpose) -> Option<Effect> {
        let Some(task) = self.pending() else {
            self.round = None;
            return None;
        };
        let has_run = self.known.contains_key(&task);
        let known = self.known.get(&task).cloned().unwrap_or_default();
        let round = self.round.as_mut()?;
        round.had(&task);
        let (kind, paths) = (round.kind, round.paths.clone());
        let (selection, unless) = match round.which {
            RoundChecks::All => (Selection::All, None),
            RoundChecks::Triggered => (Selection::Triggered { failed: known.not_succeeded() }, known.last_tree),
            RoundChecks::Failed => (Selection::Named(known.last_failed), None),
            RoundChecks::Refused if has_run => (Selection::All, None),
            RoundChecks::Refused => (Selection::Missing, None),
        };
        self.repetitions.reset();
        Some(self.start(task, look, kind, paths, selection, unless))
    }

    /// Returns whether the round has ended without a run. Only then is the person told the result of the scan.
    pub(super) fn round_came_to_nothing(&self) -> bool {
        self.round.as_ref().is_none_or(|round| round.runs == 0) && self.pending().is_none()
    }

    fn pending(&self) -> Option<TaskId> {
        let round = self.round.as_ref()?;
        let has_a_turn = |task: &&TaskId| match round.which {
            RoundChecks::All | RoundChecks::Triggered => true,
            RoundChecks::Failed => self.known.get(task).is_some_and(|known| !known.last_failed.is_empty()),
            RoundChecks::Refused => self.known.get(task).is_none_or(|known| known.is_refused),
        };
        self.settings.tasks.iter().filter(has_a_turn).find(|task| !round.done.contains(*task)).cloned()
    }
}
