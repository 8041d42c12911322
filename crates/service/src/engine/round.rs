//! A round: the tasks that are run, one after the other, because of one save, reload, key or start. Pure.

use std::collections::BTreeSet;

use crate::burst::Burst;
use crate::effect::Effect;
use crate::engine::stage::{LookPurpose, Stage};
use crate::engine::{Engine, Moment};
use proctor_model::{Repetitions, TaskId, TreeDigest, TreePath, TriggerKind};
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
    /// Whether the plan of the task's last run of all checks was approved, as far as this process knows.
    pub(super) is_approved: bool,
    /// Whether the task's last look led to no run, because it waits for a person or the changes trigger no check.
    pub(super) is_held: bool,
    /// Whether a save came since this task was started last that only the repetition of another task's run has seen.
    pub(super) has_missed_save: bool,
    /// Whether another task has had a verdict on another tree than this one's since this one was started last.
    pub(super) is_behind: bool,
}

impl KnownTask {
    /// Notes that a run of the task is ordered. It sees what is on disk.
    pub(super) fn ordered(&mut self) {
        (self.has_missed_save, self.is_behind) = (false, false);
    }

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
    /// All checks of the tasks whose plan was not approved, and of the tasks that have not run in this process: whether these were refused
    /// is unknown. Checks of the latter that have a result on the present tree are not carried out again.
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
    /// Returns the effects that begin a watch if the `settled` tasks need no run: the other tasks are run. A settled task comes with the
    /// present tree if it has a fresh verdict. Returns no effects if every task is settled, or while a run is under way.
    pub fn begin_without(&mut self, settled: &[(TaskId, Option<TreeDigest>)]) -> Vec<Effect> {
        let mut round = Round::new(TriggerKind::Start, BTreeSet::new(), RoundChecks::All);
        for (task, judged) in settled {
            round.had(task);
            if judged.is_some() {
                let known = self.known.entry(task.clone()).or_default();
                (known.last_tree, known.is_approved) = (*judged, true);
            }
        }
        if !matches!(self.stage, Stage::Idle) {
            return Vec::new();
        }
        let earlier = self.round.replace(round);
        if self.pending().is_none() {
            self.round = earlier;
            return Vec::new();
        }
        self.next_of_round(LookPurpose::Request).into_iter().collect()
    }

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

    /// Notes, after a verdict on this tree, which tasks have theirs on another tree. Most have their turn in the round under way. The
    /// others had it before the tree changed: by what a run copied to the project, or by a save that only the repetition of a moved run
    /// has tested.
    pub(super) fn note_tasks_behind(&mut self, tested: TreeDigest) {
        let current = &self.current;
        // Tasks that get no further run because of copied files count as judged on the tree that these make.
        let tree = self.known.get(current).and_then(|known| known.last_tree).unwrap_or(tested);
        for (_, known) in self.known.iter_mut().filter(|(task, _)| *task != current) {
            let may_differ = known.has_missed_save || (!known.is_held && known.last_tree.is_some());
            known.is_behind = may_differ && known.last_tree != Some(tree);
        }
    }

    /// Starts the first task whose last verdict is about other files than that of the task before, once the round is over. Tasks whose checks
    /// change each other's files would go on like that for ever, so it is done a limited number of times between two saves.
    pub(super) fn catch_up(&mut self, now: Moment) -> Option<Effect> {
        let is_behind = |task: &&TaskId| self.known.get(*task).is_some_and(|known| known.is_behind);
        if self.catch_ups >= Repetitions::OF_A_WATCH || !self.settings.tasks.iter().any(|task| is_behind(&task)) {
            return None;
        }
        self.catch_ups += 1;
        let mut round = Round::new(TriggerKind::Save, BTreeSet::new(), RoundChecks::Triggered);
        self.settings.tasks.iter().filter(|task| !is_behind(task)).for_each(|task| round.had(task));
        self.round = Some(round);
        // Nobody asked for it, so nobody is told if nothing has to be run.
        self.next_of_round(LookPurpose::Sweep(Burst::begin(now)))
    }

    pub(super) fn pending(&self) -> Option<TaskId> {
        let round = self.round.as_ref()?;
        let has_a_turn = |task: &&TaskId| match round.which {
            RoundChecks::All | RoundChecks::Triggered => true,
            RoundChecks::Failed => self.known.get(task).is_some_and(|known| !known.last_failed.is_empty()),
            RoundChecks::Refused => self.known.get(task).is_none_or(|known| !known.is_approved),
        };
        self.settings.tasks.iter().filter(has_a_turn).find(|task| !round.done.contains(*task)).cloned()
    }
}
