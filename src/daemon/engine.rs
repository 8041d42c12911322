//! The scheduling engine: every decision about when a run starts, stops or is repeated. Pure and synchronous; `now` is an
//! argument, effects are values (house style S1, S2). It knows paths and digests, never files, processes or screens.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::daemon::burst::Burst;
use crate::daemon::effect::{Effect, Notice, Order, Selection, Standing};
use crate::daemon::event::{Event, Finished, Key, OnDisk, OsSignal};
use crate::model::{CommandExit, OnChange, StopReason, TreeDigest, TreePath, Trigger, TriggerKind, WatchHint, WatchProblem};

/// Milliseconds on a clock that never steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

/// So many repetitions are made, each after a longer pause, while every run leaves content that none has seen: a person may be
/// saving the same file in each of them, and a save is never lost.
const MOST_REPETITIONS: u32 = 5;

/// The settings of `[watch]` that scheduling needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSettings {
    /// How long it must be quiet before a burst counts as over.
    pub quiet: Duration,
    /// The longest a burst is waited for.
    pub longest_burst: Duration,
    /// What a save during a run does.
    pub on_change: OnChange,
    /// After so many restarts in a row one run is let finish.
    pub max_restarts: u32,
}

/// The state of scheduling for one project.
#[derive(Debug)]
pub struct Engine {
    settings: EngineSettings,
    stage: Stage,
    burst: Option<Burst>,
    restarts: u32,
    repeat: Repeat,
    repetitions: u32,
    repetition: Option<Repetition>,
    last_tree: Option<TreeDigest>,
    last_failed: Vec<String>,
    lost_events: bool,
    /// Whether everything is to be run once more when the run under way is over: its configuration was read before that was asked.
    reload_owed: bool,
    leaving: Option<CommandExit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    Running(Flow),
}

/// How far the run under way is from its end, as far as we had a hand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Going,
    LetFinish,
    Stopping,
}

/// A repetition that waits for quiet. A hint in between comes from outside and cancels it: nothing of ours is running.
#[derive(Debug)]
struct Repetition {
    paths: BTreeSet<TreePath>,
    due: Moment,
    /// Until then hints of `paths` are late ones of the run itself.
    late_until: Moment,
}

/// Whether the run under way repeats one whose tree moved (S6).
#[derive(Debug, PartialEq, Eq)]
enum Repeat {
    No,
    Of(BTreeSet<TreePath>),
}

impl Moment {
    /// Returns the moment `duration` later.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Engine {
    /// Returns an engine that has seen nothing.
    pub fn new(settings: EngineSettings) -> Self {
        Self {
            settings,
            stage: Stage::Idle,
            burst: None,
            restarts: 0,
            repeat: Repeat::No,
            repetitions: 0,
            repetition: None,
            last_tree: None,
            last_failed: Vec::new(),
            lost_events: false,
            reload_owed: false,
            leaving: None,
        }
    }

    /// Returns the order every watch begins with.
    pub fn begin(&mut self) -> Vec<Effect> {
        vec![self.start(TriggerKind::Start, BTreeSet::new(), Selection::All, None)]
    }

    /// Takes in what arrived and says what is to be done.
    pub fn handle(&mut self, now: Moment, event: Event) -> Vec<Effect> {
        match event {
            Event::Hint(hint) => self.on_hint(now, hint),
            Event::Timer => self.on_timer(now),
            Event::Key(key) => self.on_key(key),
            Event::Signal(signal) => self.on_signal(signal),
            Event::Settings(settings) => {
                self.settings = settings;
                Vec::new()
            }
            Event::Finished(finished) => self.on_finished(now, finished),
        }
    }

    fn on_hint(&mut self, now: Moment, hint: WatchHint) -> Vec<Effect> {
        if self.is_late_echo(now, &hint) {
            return Vec::new();
        }
        let mut effects = Vec::new();
        if self.repetition.take().is_some() {
            // Nothing of ours is running: this comes from outside.
            self.no_repetition();
        }
        let burst = self.burst.get_or_insert_with(|| Burst::begin(now));
        match hint {
            WatchHint::Saved(path) => burst.saved(now, path),
            WatchHint::Writing(path) => burst.writing(now, path),
            WatchHint::LookAgain(problem) => {
                match problem {
                    WatchProblem::Overflow | WatchProblem::TooManyWatches(_) | WatchProblem::Backend(_) => burst.lost(now),
                    // What is seen changed, but nothing that happened went unseen.
                    WatchProblem::RulesChanged(_) | WatchProblem::RootReturned => burst.touch(now),
                }
                effects.push(Effect::Show(Notice::EventsLost(problem)));
            }
            WatchHint::RootVanished => {
                self.burst = None;
                return vec![Effect::Show(Notice::RootVanished)];
            }
        }
        effects.extend(self.wake());
        effects
    }

    fn is_late_echo(&self, now: Moment, hint: &WatchHint) -> bool {
        match (&self.repetition, hint) {
            (Some(repetition), WatchHint::Saved(path) | WatchHint::Writing(path)) => {
                now <= repetition.late_until && repetition.paths.contains(path)
            }
            (Some(_), WatchHint::LookAgain(_) | WatchHint::RootVanished) | (None, _) => false,
        }
    }

    fn on_timer(&mut self, now: Moment) -> Vec<Effect> {
        if let Some(repetition) = self.repetition.take_if(|repetition| repetition.due <= now) {
            self.repeat = Repeat::Of(repetition.paths.clone());
            return vec![self.start(TriggerKind::Moved, repetition.paths, Selection::All, None)];
        }
        let due = self.burst.as_ref().map(|burst| burst.due(self.settings.quiet, self.settings.longest_burst));
        match due {
            Some(due) if due <= now => self.on_settled(),
            Some(_) => self.wake().into_iter().collect(),
            None => Vec::new(),
        }
    }

    fn on_settled(&mut self) -> Vec<Effect> {
        match self.stage {
            Stage::Idle => {
                let Some(burst) = self.burst.take() else { return Vec::new() };
                self.lost_events |= burst.incomplete;
                self.no_repetition();
                let unless = self.last_tree;
                let selection = Selection::Triggered { failed: self.last_failed.clone() };
                vec![self.start(TriggerKind::Save, burst.paths().clone(), selection, unless)]
            }
            Stage::Running(Flow::Stopping | Flow::LetFinish) => Vec::new(),
            Stage::Running(Flow::Going) => self.on_settled_during_run(),
        }
    }

    fn on_settled_during_run(&mut self) -> Vec<Effect> {
        let paths = self.burst.as_ref().map(|burst| burst.paths().clone()).unwrap_or_default();
        // A repetition whose own paths are written again shows that the run writes them itself: stopping it proves nothing.
        let writes_itself = !paths.is_empty() && self.repeats(&paths);
        let may_restart = self.restarts < self.settings.max_restarts && !writes_itself;
        match (self.settings.on_change, may_restart) {
            (OnChange::Restart, true) => {
                self.restarts += 1;
                self.stage = Stage::Running(Flow::Stopping);
                let path = paths.into_iter().next();
                vec![Effect::Show(Notice::Restarting { path }), Effect::Stop(StopReason::Superseded)]
            }
            (OnChange::Restart, false) => {
                self.stage = Stage::Running(Flow::LetFinish);
                vec![Effect::Show(Notice::LettingFinish)]
            }
            (OnChange::Queue, _) => {
                self.stage = Stage::Running(Flow::LetFinish);
                Vec::new()
            }
        }
    }

    fn repeats(&self, paths: &BTreeSet<TreePath>) -> bool {
        match &self.repeat {
            Repeat::No => false,
            Repeat::Of(moved) => paths.is_subset(moved),
        }
    }

    fn on_key(&mut self, key: Key) -> Vec<Effect> {
        match key {
            Key::Clear => vec![Effect::ClearScreen],
            Key::Quit => self.leave(CommandExit::Proceed, StopReason::Interrupted),
            Key::Again | Key::All => self.on_request(Selection::All),
            Key::FailedOnly if self.last_failed.is_empty() => vec![Effect::Show(Notice::NothingFailed)],
            Key::FailedOnly => {
                let failed = self.last_failed.clone();
                self.on_request(Selection::Named(failed))
            }
        }
    }

    fn on_request(&mut self, selection: Selection) -> Vec<Effect> {
        match self.stage {
            Stage::Idle => {
                if selection == Selection::All {
                    // It covers whatever was to be run; checks that are picked by name do not.
                    self.burst = None;
                    self.repetition = None;
                    self.no_repetition();
                }
                vec![self.start(TriggerKind::Request, BTreeSet::new(), selection, None)]
            }
            Stage::Running(_) => Vec::new(),
        }
    }

    fn on_signal(&mut self, signal: OsSignal) -> Vec<Effect> {
        match signal {
            OsSignal::Interrupt => self.leave(CommandExit::Interrupted, StopReason::Interrupted),
            OsSignal::Terminate => self.leave(CommandExit::Terminated, StopReason::Terminated),
            OsSignal::Reload => self.on_reload(),
        }
    }

    /// Every run reads the configuration before it begins, so a run of everything is all there is to it.
    fn on_reload(&mut self) -> Vec<Effect> {
        match self.stage {
            Stage::Idle => self.on_request(Selection::All),
            Stage::Running(_) if self.leaving.is_some() => Vec::new(),
            Stage::Running(_) => {
                self.reload_owed = true;
                vec![Effect::Show(Notice::ReloadingAfterRun)]
            }
        }
    }

    /// Leaves when the run under way is over; asking again makes the worker kill at once.
    fn leave(&mut self, exit: CommandExit, reason: StopReason) -> Vec<Effect> {
        match self.stage {
            Stage::Idle => vec![Effect::Quit(exit)],
            Stage::Running(_) => {
                self.stage = Stage::Running(Flow::Stopping);
                self.leaving = Some(exit);
                vec![Effect::Stop(reason)]
            }
        }
    }

    fn on_finished(&mut self, now: Moment, finished: Finished) -> Vec<Effect> {
        self.stage = Stage::Idle;
        if let Some(exit) = self.leaving {
            return vec![Effect::Quit(exit)];
        }
        if finished != Finished::Stopped {
            self.restarts = 0;
        }
        let mut effects = self.on_outcome(now, finished);
        if self.reload_owed && self.stage == Stage::Idle {
            self.reload_owed = false;
            effects.retain(|effect| !matches!(effect, Effect::Show(Notice::Waiting(_)) | Effect::WakeAt(_)));
            effects.extend(self.on_request(Selection::All));
        }
        effects
    }

    fn on_outcome(&mut self, now: Moment, finished: Finished) -> Vec<Effect> {
        match finished {
            Finished::Verdict { tree, failed, paused } => {
                self.last_tree = Some(tree);
                self.last_failed = failed;
                self.no_repetition();
                self.after_run(now, if paused { Standing::Paused } else { Standing::Verdict })
            }
            Finished::Partial { failed, paused } => {
                self.last_failed = failed;
                self.after_run(now, if paused { Standing::Paused } else { Standing::Verdict })
            }
            Finished::Moved { paths, on_disk } => self.on_moved(now, paths, on_disk),
            Finished::Stopped => self.after_run(now, Standing::NoVerdict),
            Finished::Unchanged => {
                let mut effects = vec![Effect::Show(Notice::Unchanged)];
                effects.extend(self.after_run(now, Standing::Verdict));
                effects
            }
            Finished::Untriggered => {
                let mut effects = vec![Effect::Show(Notice::Untriggered)];
                effects.extend(self.after_run(now, Standing::Verdict));
                effects
            }
            Finished::Paused => self.after_run(now, Standing::Paused),
            Finished::Failed => {
                self.last_tree = None;
                self.after_run(now, Standing::NoVerdict)
            }
        }
    }

    /// A burst that came during the run leads to the next one; without one we wait.
    fn after_run(&mut self, now: Moment, standing: Standing) -> Vec<Effect> {
        if self.burst.is_some() {
            return self.on_timer(now);
        }
        let mut effects = vec![Effect::Show(Notice::Waiting(standing))];
        effects.extend(self.repetition.as_ref().map(|repetition| Effect::WakeAt(repetition.due)));
        effects
    }

    fn on_moved(&mut self, now: Moment, paths: BTreeSet<TreePath>, on_disk: OnDisk) -> Vec<Effect> {
        self.last_tree = None;
        let foreign = self.burst.as_ref().is_some_and(|burst| burst.incomplete || !burst.paths().is_subset(&paths));
        if foreign {
            self.no_repetition();
            return self.after_run(now, Standing::NoVerdict);
        }
        // What moved during the run is answered by the repetition, or by giving up.
        self.burst = None;
        let is_settled = self.repeats(&paths) && on_disk == OnDisk::AsTested;
        if is_settled || self.repetitions >= MOST_REPETITIONS {
            self.no_repetition();
            return vec![Effect::Show(Notice::Unstable { paths }), Effect::Show(Notice::Waiting(Standing::NoVerdict))];
        }
        let due = now.plus(self.settings.longest_burst * 2_u32.pow(self.repetitions));
        let late_until = now.plus(self.settings.quiet);
        self.repetitions += 1;
        self.repetition = Some(Repetition { paths: paths.clone(), due, late_until });
        vec![Effect::Show(Notice::Repeating { paths }), Effect::WakeAt(due)]
    }

    fn no_repetition(&mut self) {
        self.repeat = Repeat::No;
        self.repetitions = 0;
    }

    fn start(
        &mut self,
        kind: TriggerKind,
        paths: BTreeSet<TreePath>,
        selection: Selection,
        unless_tree: Option<TreeDigest>,
    ) -> Effect {
        self.stage = Stage::Running(Flow::Going);
        let lost_events = std::mem::take(&mut self.lost_events);
        let paths = paths.iter().take(Trigger::SHOWN_PATHS).map(ToString::to_string).collect();
        Effect::Start(Order { trigger: Trigger { kind, paths }, selection, unless_tree, lost_events })
    }

    fn wake(&self) -> Option<Effect> {
        let burst = self.burst.as_ref()?;
        Some(Effect::WakeAt(burst.due(self.settings.quiet, self.settings.longest_burst)))
    }
}

#[cfg(test)]
mod tests;
