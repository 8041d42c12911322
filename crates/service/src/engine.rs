//! The scheduling engine: it decides when a run starts, stops or is repeated. It is pure and synchronous: `now` is an
//! argument, and effects are return values (house style S1, S2). It knows paths and digests, never files, processes or
//! screens.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::burst::Burst;
use crate::effect::{Effect, LastRunState, Notice, Order};
use crate::engine::busy::BusyFiles;
use crate::engine::copied_files::CopiedFilesChain;
use crate::engine::hold::{GitHold, HoldDecision};
use crate::engine::moved::WaitingRepetition;
use crate::engine::round::{KnownTask, Round, RoundChecks};
use crate::engine::stage::{HintEffect, LookPurpose, Stage, StopProgress};
use crate::engine::unrest::Unrest;
use crate::engine::unscanned_changes::UnscannedChanges;
use crate::event::{Event, RunFinish};
use proctor_model::{
    CommandExit, OnChange, Repetitions, StopReason, TaskId, TreeDigest, TreePath, Trigger, TriggerKind, WatchHint, WatchProblem,
};
use proctor_project::Selection;

mod asked;
mod busy;
mod copied_files;
mod hold;
mod moved;
mod round;
mod save_during_run;
mod stage;
mod unrest;
mod unscanned_changes;

pub use busy::busy_lines;
pub use copied_files::differing_lines;

/// A time in milliseconds on a monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

/// The settings of `[watch]` that scheduling needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// How long no hint may come before a burst of changes ends.
    pub quiet: Duration,
    /// The time limit of a burst: after this time the burst ends, even if more hints come.
    pub longest_burst: Duration,
    /// Whether a save during a run restarts the run or waits for its end.
    pub on_change: OnChange,
    /// How many times in a row a save may stop and restart a run. After that many restarts, a run is allowed to finish.
    pub max_restarts: u32,
    /// The time limit for waiting until git finishes an operation. After it, changes are tested although git has not
    /// finished.
    pub git_wait: Duration,
    /// The tasks to run on a save, in this order.
    pub tasks: Vec<TaskId>,
}

/// Schedules the runs of one project.
#[derive(Debug)]
pub struct Engine {
    settings: EngineSettings,
    stage: Stage,
    burst: Option<Burst>,
    /// The task of the run under way, or of the last run.
    current: TaskId,
    /// Whether that run carries out only checks that were asked for by name.
    is_of_named_checks: bool,
    known: BTreeMap<TaskId, KnownTask>,
    round: Option<Round>,
    /// How many rounds in a row were begun for tasks that are behind.
    catch_ups: u32,
    repetitions: Repetitions,
    repetition: Option<WaitingRepetition>,
    unrest: Unrest,
    busy: BusyFiles,
    unscanned_changes: UnscannedChanges,
    copied_files: CopiedFilesChain,
    git: Option<GitHold>,
    /// Whether everything must be run again when the run under way ends: a person asked for it, or asked for a reload while
    /// that run used the older configuration.
    everything_owed: bool,
    /// Whether a person approved something while another run was under way or due. When that is over, the refused tasks run.
    approval_owed: bool,
    leaving: Option<CommandExit>,
}

impl Moment {
    /// Returns the moment `duration` later.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Engine {
    /// Returns an engine that has not handled any event.
    pub fn new(settings: EngineSettings) -> Self {
        Self {
            settings,
            stage: Stage::Idle,
            burst: None,
            current: TaskId::default_task(),
            is_of_named_checks: false,
            known: BTreeMap::new(),
            round: None,
            catch_ups: 0,
            repetitions: Repetitions::at_most(Repetitions::OF_A_WATCH),
            repetition: None,
            unrest: Unrest::default(),
            busy: BusyFiles::default(),
            unscanned_changes: UnscannedChanges::everything(),
            copied_files: CopiedFilesChain::default(),
            git: None,
            everything_owed: false,
            approval_owed: false,
            leaving: None,
        }
    }

    /// Returns the effects that begin a watch: every task is run.
    pub fn begin(&mut self) -> Vec<Effect> {
        self.everything(TriggerKind::Start)
    }

    /// Returns the tasks that run on a save, in the order in which they run.
    pub fn watched_tasks(&self) -> &[TaskId] {
        &self.settings.tasks
    }

    /// Returns whether the tree is being compared only because the time for it has come, and nobody has been told of it.
    pub fn is_sweeping(&self) -> bool {
        matches!(self.stage, Stage::Looking(LookPurpose::Sweep(_)))
    }

    /// Handles an event. Returns what the host (the foreground watch or the service) must do.
    pub fn handle(&mut self, now: Moment, event: Event) -> Vec<Effect> {
        match event {
            Event::Hints(hints) => self.on_hints(now, hints),
            Event::Rewatched => {
                self.unscanned_changes.anything();
                Vec::new()
            }
            Event::Git(operation) => {
                self.git = hold::follow(self.git, now, operation);
                Vec::new()
            }
            Event::Begun => self.on_begun(now),
            Event::Timer => self.on_timer(now),
            Event::Key(key) => self.on_key(key),
            Event::Requested(task, selection) => self.on_request(task, selection, TriggerKind::Request),
            Event::Awaited(task) => self.on_request(task, Selection::Missing, TriggerKind::Wait),
            Event::Signal(signal) => self.on_signal(signal),
            Event::Settings(settings) => {
                self.settings = settings;
                Vec::new()
            }
            Event::ChecksOver => {
                if matches!(self.stage, Stage::Running(StopProgress::Going)) {
                    self.stage = Stage::Running(StopProgress::ChecksOver);
                }
                Vec::new()
            }
            Event::CopiedOut(copied) => {
                self.copied_files.note(copied);
                Vec::new()
            }
            Event::Finished(finished) => self.on_finished(now, finished),
            Event::Compared(content) => self.on_compared(content),
        }
    }

    fn on_hints(&mut self, now: Moment, hints: Vec<WatchHint>) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut news = HintEffect::Nothing;
        for hint in hints {
            news = news.max(self.on_hint(now, hint, &mut effects));
        }
        // The engine decides only after every hint is noted: the two steps of one save arrive as two hints of one
        // event.
        match news {
            HintEffect::Nothing => {}
            HintEffect::Sweep => effects.extend(self.on_sweep(now)),
            HintEffect::Change => effects.extend(self.on_change(now)),
        }
        effects.extend(self.start_approved());
        effects
    }

    fn on_hint(&mut self, now: Moment, hint: WatchHint, effects: &mut Vec<Effect>) -> HintEffect {
        self.unscanned_changes.heard(&hint);
        if let Some(path) = unrest::path_of(&hint) {
            self.busy.heard(now, path, !matches!(self.stage, Stage::Idle));
        }
        match &hint {
            WatchHint::LookAgain(WatchProblem::Sweep) => return HintEffect::Sweep,
            // The service handles the watcher's confirmation itself. An ignored entry is read by the next run, and starts none.
            WatchHint::Synced(_) | WatchHint::IgnoredCame(_) => return HintEffect::Nothing,
            WatchHint::Approved => {
                self.approval_owed = true;
                return HintEffect::Nothing;
            }
            WatchHint::Polling(reason) => {
                effects.push(Effect::Show(Notice::Polling(reason.clone())));
                return HintEffect::Nothing;
            }
            WatchHint::LookAgain(WatchProblem::Unsynced | WatchProblem::SeveralNames(_)) => {}
            WatchHint::LookAgain(problem) => effects.push(Effect::Show(Notice::EventsLost(problem.clone()))),
            WatchHint::RootVanished => {
                self.burst = None;
                effects.push(Effect::Show(Notice::RootVanished));
                return HintEffect::Nothing;
            }
            path if self.is_late_echo(now, path) || self.is_echo_of_unstable_run(now, path) => return HintEffect::Nothing,
            WatchHint::Saved(_) | WatchHint::Created(_) | WatchHint::Writing(_) | WatchHint::Removed(_) => {}
        }
        if self.repetition.is_some() {
            if !self.may_replace_repetition() {
                return HintEffect::Nothing;
            }
            // No run is under way, so this change probably comes from outside.
            self.repetition = None;
            self.repetitions.reset();
        } else if self.is_at_rest() {
            self.unrest.reset();
        }
        self.burst.get_or_insert_with(|| Burst::begin(now)).hear(now, hint);
        HintEffect::Change
    }

    /// Handles a change. If the tree is being scanned for a burst or a sweep, and the time limit of the burst is not reached, the
    /// scan is cancelled, because the burst continues.
    fn on_change(&mut self, now: Moment) -> Vec<Effect> {
        let (longest, is_only_busy) = (self.settings.longest_burst, self.is_only_busy());
        if let Stage::Looking(LookPurpose::Burst(burst) | LookPurpose::Sweep(burst)) = &mut self.stage
            && now < burst.bound(longest)
            && !is_only_busy
        {
            let begun = std::mem::replace(burst, Burst::begin(now));
            self.stage = Stage::Recalling;
            self.burst = self.burst.take().map(|later| begun.recalled_for(later));
            return vec![Effect::Stop(StopReason::Superseded)];
        }
        self.settle(now)
    }

    /// Handles the periodic sweep, which compares the whole tree with the tree of a verdict. Does nothing if no task has a
    /// verdict, or if something else is under way.
    fn on_sweep(&mut self, now: Moment) -> Option<Effect> {
        let is_idle = matches!(self.stage, Stage::Idle) && self.burst.is_none() && self.repetition.is_none();
        if !is_idle || self.git.is_some() {
            return None;
        }
        // Scanning the tree for one task with a verdict shows whether the tree has changed. If it has, the other tasks
        // run too.
        let has_verdict = |task: &&TaskId| self.known.get(task).is_some_and(|known| known.last_tree.is_some());
        let task = self.settings.tasks.iter().find(has_verdict)?.clone();
        let known = self.known.get(&task)?.clone();
        let last_tree = known.last_tree;
        self.unscanned_changes.anything();
        let mut round = Round::new(TriggerKind::Save, BTreeSet::new(), RoundChecks::Triggered);
        round.had(&task);
        self.round = Some(round);
        let selection = Selection::Triggered { failed: known.not_succeeded() };
        Some(self.start(task, LookPurpose::Sweep(Burst::begin(now)), TriggerKind::Save, BTreeSet::new(), selection, last_tree))
    }

    /// Handles the beginning of a run. The scan of the tree that precedes every run has ended.
    fn on_begun(&mut self, now: Moment) -> Vec<Effect> {
        match self.stage {
            Stage::Looking(_) => self.stage = Stage::Running(StopProgress::Going),
            Stage::Recalling => {
                // The cancellation came too late: the run has begun. It counts as a run that a save stopped.
                self.of_current().restarts += 1;
                self.stage = Stage::Running(StopProgress::Stopping);
            }
            Stage::Idle | Stage::Running(_) => {}
        }
        if let Some(round) = &mut self.round {
            round.ran();
        }
        self.unscanned_changes.looked();
        self.settle(now)
    }

    fn on_timer(&mut self, now: Moment) -> Vec<Effect> {
        match self.begin_repetition(now) {
            Some(start) => vec![start],
            None => self.settle(now),
        }
    }

    /// Checks whether the burst of changes has ended. If it has, returns the effects that follow. If not, returns the
    /// effect that checks again later.
    fn settle(&mut self, now: Moment) -> Vec<Effect> {
        let later = self.busy_until(now);
        let mut effects = self.tell_of_busy();
        effects.extend(match later {
            Some(moment) => vec![Effect::WakeAt(moment)],
            None => self.settle_burst(now),
        });
        effects
    }

    fn settle_burst(&mut self, now: Moment) -> Vec<Effect> {
        let Some(burst) = &self.burst else { return Vec::new() };
        let (quiet, longest) = (self.settings.quiet, self.settings.longest_burst);
        let due = match self.stage {
            Stage::Idle => burst.due(quiet, longest),
            Stage::Looking(_) | Stage::Running(StopProgress::Going) => burst.due_during_run(quiet, longest),
            Stage::Recalling | Stage::Running(StopProgress::Stopping | StopProgress::ChecksOver | StopProgress::LetFinish) => {
                return Vec::new();
            }
        };
        if now < due {
            return vec![Effect::WakeAt(due)];
        }
        match hold::ask(self.git.as_mut(), now, self.settings.git_wait) {
            HoldDecision::No => self.on_settled(),
            HoldDecision::Until(moment) => vec![Effect::WakeAt(moment)],
            HoldDecision::NoLonger(operation) => {
                let mut effects = vec![Effect::Show(Notice::GitGoesOn(operation))];
                effects.extend(self.on_settled());
                effects
            }
        }
    }

    fn on_settled(&mut self) -> Vec<Effect> {
        match self.stage {
            Stage::Idle => {
                let Some(burst) = self.burst.take() else { return Vec::new() };
                self.catch_ups = 0;
                self.round = Some(Round::new(TriggerKind::Save, burst.paths(), RoundChecks::Triggered));
                self.next_of_round(LookPurpose::Burst(burst)).into_iter().collect()
            }
            Stage::Running(StopProgress::Going) => self.compare_saved_files(),
            Stage::Looking(_)
            | Stage::Recalling
            | Stage::Running(StopProgress::Stopping | StopProgress::ChecksOver | StopProgress::LetFinish) => Vec::new(),
        }
    }

    fn on_finished(&mut self, now: Moment, finished: RunFinish) -> Vec<Effect> {
        let was_sweep = self.is_sweeping();
        let stage = std::mem::replace(&mut self.stage, Stage::Idle);
        let has_verdict = matches!(finished, RunFinish::Verdict { .. } | RunFinish::Partial { .. });
        let is_older = has_verdict && matches!(stage, Stage::Running(StopProgress::LetFinish));
        if let Some(exit) = self.leaving {
            return vec![Effect::Quit(exit)];
        }
        if matches!(stage, Stage::Running(_)) {
            self.busy.run_ended(now, &finished.moved_paths());
        }
        match finished {
            // The count of saves that have stopped the task's run is kept.
            RunFinish::Stopped | RunFinish::Moved { .. } => {}
            RunFinish::Verdict { .. }
            | RunFinish::Partial { .. }
            | RunFinish::Unchanged
            | RunFinish::Untriggered
            | RunFinish::Paused
            | RunFinish::Refused
            | RunFinish::Waits
            | RunFinish::Failed => self.of_current().restarts = 0,
        }
        self.note_refusal(&finished);
        if self.everything_owed {
            // Everything is run next. This also covers the waiting changes and the tasks that were still to be run.
            self.burst = None;
            self.round = None;
        }
        let found_nothing = matches!(finished, RunFinish::Unchanged | RunFinish::Untriggered);
        if was_sweep && finished == RunFinish::Unchanged {
            self.round = None;
        }
        let mut effects: Vec<Effect> = is_older.then_some(Effect::Show(Notice::OlderTree)).into_iter().collect();
        effects.extend(self.on_outcome(now, finished));
        if was_sweep && found_nothing && self.burst.is_none() && matches!(self.stage, Stage::Idle) {
            effects.clear();
        }
        if self.everything_owed && matches!(self.stage, Stage::Idle) {
            self.everything_owed = false;
            effects.retain(|effect| !matches!(effect, Effect::Show(Notice::Waiting(_)) | Effect::WakeAt(_)));
            effects.extend(self.on_everything());
        }
        effects
    }

    fn on_outcome(&mut self, now: Moment, finished: RunFinish) -> Vec<Effect> {
        match finished {
            RunFinish::Verdict { tree, failed, warned, paused } => {
                self.unscanned_changes.reported();
                let known = self.of_current();
                (known.last_tree, known.last_failed, known.last_warned) = (Some(tree), failed, warned);
                self.unrest.reset();
                self.follow_copied_files(Some(tree));
                self.note_tasks_behind(tree);
                self.repetitions.reset();
                self.after_run(now, if paused { LastRunState::Paused } else { LastRunState::Verdict })
            }
            RunFinish::Partial { failed, warned, paused } => {
                self.unscanned_changes.reported();
                let known = self.of_current();
                known.last_failed = failed;
                known.last_warned.extend(warned);
                self.follow_copied_files(None);
                self.after_run(now, if paused { LastRunState::Paused } else { LastRunState::Verdict })
            }
            RunFinish::Moved { paths, on_disk } => {
                self.unscanned_changes.reported();
                self.on_moved(now, paths, on_disk)
            }
            RunFinish::Stopped => self.after_run(now, LastRunState::NoVerdict),
            RunFinish::Unchanged => self.after_look(now, self.unchanged_notice()),
            RunFinish::Untriggered => self.after_look(now, Notice::Untriggered),
            RunFinish::Paused | RunFinish::Refused => self.after_run(now, LastRunState::Paused),
            // Checks that were asked for by name say nothing about the verdict, also if there is no check of that name.
            RunFinish::Failed if self.is_of_named_checks => self.after_run(now, LastRunState::NoVerdict),
            RunFinish::Waits | RunFinish::Failed => {
                self.of_current().last_tree = None;
                self.after_run(now, LastRunState::NoVerdict)
            }
        }
    }

    /// Handles a scan that led to no run. The notice is shown only if no newer change waits, and the save or request
    /// that caused the scan started no run and starts none later.
    fn after_look(&mut self, now: Moment, notice: Notice) -> Vec<Effect> {
        self.unscanned_changes.looked();
        let is_worth_a_word = self.burst.is_none() && self.round_came_to_nothing();
        let mut effects: Vec<Effect> = is_worth_a_word.then_some(Effect::Show(notice)).into_iter().collect();
        effects.extend(self.after_run(now, LastRunState::Verdict));
        effects
    }

    /// Decides what follows a run. A burst that came during the run is handled next. Without such a burst, the next
    /// task that still has to run is started, or the engine waits for changes.
    fn after_run(&mut self, now: Moment, standing: LastRunState) -> Vec<Effect> {
        let is_paused = self.busy_until(now).is_some();
        if self.burst.is_some() && !is_paused {
            return self.settle(now);
        }
        if self.repetition.is_none()
            && let Some(next) = self.next_of_round(LookPurpose::Request).or_else(|| self.catch_up(now))
        {
            return vec![next];
        }
        if let Some(approved) = self.start_approved() {
            return vec![approved];
        }
        let mut effects = vec![Effect::Show(Notice::Waiting(standing))];
        effects.extend(if is_paused { self.settle(now) } else { self.tell_of_busy() });
        effects.extend(self.repetition.as_ref().map(|repetition| Effect::WakeAt(repetition.due)));
        effects
    }

    fn of_current(&mut self) -> &mut KnownTask {
        self.known.entry(self.current.clone()).or_default()
    }

    fn start(
        &mut self,
        task: TaskId,
        look: LookPurpose,
        kind: TriggerKind,
        paths: BTreeSet<TreePath>,
        selection: Selection,
        unless_tree: Option<TreeDigest>,
    ) -> Effect {
        self.stage = Stage::Looking(look);
        self.busy.ordered();
        self.current = task.clone();
        self.is_of_named_checks = matches!(selection, Selection::Named(_));
        self.known.get_mut(&task).into_iter().for_each(KnownTask::ordered);
        let given = self.unscanned_changes.give();
        let paths = paths.iter().take(Trigger::SHOWN_PATHS).map(ToString::to_string).collect();
        let trigger = Trigger { kind, paths };
        Effect::Start(Order { task, trigger, selection, unless_tree, hints: given.hints, lost_events: given.lost })
    }
}

#[cfg(test)]
mod tests;
