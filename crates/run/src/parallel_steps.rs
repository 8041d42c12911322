//! Carries out steps side by side. `order` picks the next step. A lane (a thread with its own launcher) supervises
//! each running step. One thread does all other work.
//!
//! A step that no other step can run beside is carried out as in a sequence: by the run's own launcher and without a
//! lane. So it starts as early as it would in a sequence.
//!
//! Results are reported as they come, and returned in the order of execution. Only the first turn in the machine-wide
//! queue is waited for. More turns are taken only when they are free, because waiting for others while holding a turn
//! could be a deadlock.

use proctor_project::ProjectError;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{PipeReader, Read as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use crate::concurrency::{CheckFacts, Concurrency, relations, role_of};
use crate::flow::{StepFlow, is_stopped, skip_reason, stop_reasons_for};
use crate::order::{ScheduleState, StepNeeds, dependency_positions, next};
use crate::perform::{
    Attempts, BackgroundAction, BackgroundActionEnd, BackgroundActionOrder, EndReceiver, PreparedAttempt, ended_not_started,
    ended_without_launcher, skipped,
};
use crate::queue::{AwaitedTurn, QueueTurn};
use crate::seen_layers::SeenLayers;
use crate::steps::{Steps, note};
use proctor_evidence::Slot;
use proctor_evidence::report::ActionResult;
use proctor_model::{Action, ActionPhase, DurationMs, EndedAction, HomeAccess, StopReason};
use proctor_sandbox::process::clock::{self, Monotonic};
use proctor_sandbox::process::{LauncherHandle, SuperviseError};

/// How long a step waits before it asks again for a turn in the queue. Other processes free turns without telling.
const TURN_SLICE: Duration = Duration::from_millis(20);

/// The most time that a step waits for another step, which has just started, to end and leave its launcher. Because
/// of the wait, starting a second launcher does not delay the first step, and no second launcher is started if the
/// first step ends at once.
const HEAD_START: Duration = Duration::from_millis(2);

/// The longest wait for the end of a running step or for a stop request, if no step waits for a turn. Either event ends
/// the wait early.
const LONG_SLICE: Duration = Duration::from_secs(1);

/// The progress of steps that are carried out side by side. A number is a step's position in the order of execution.
pub(crate) struct ParallelSteps<'s, 'w, 'c> {
    steps: Steps<'s, 'w, 'c>,
    limit: usize,
    needs: Vec<StepNeeds<PathBuf>>,
    flow: StepFlow,
    /// The running steps. Dropping them kills their processes, so none of them is left when the run continues after an
    /// error.
    open: BTreeMap<usize, RunningAttempt>,
    /// The steps whose last attempt failed and that are waiting for their next attempt.
    again: BTreeSet<usize>,
    attempts: BTreeMap<usize, Attempts>,
    results: BTreeMap<usize, ActionResult>,
    /// Launchers whose action has ended. Another action of the run can use them.
    idle: Vec<LauncherHandle>,
    /// When the last running step was started.
    last_start: Option<Monotonic>,
    receiver: EndReceiver,
    ends: Receiver<BackgroundActionEnd>,
    bell: PipeReader,
}

/// A running attempt. `background_action` is dropped first, so that `prepared` moves files back only when no process is
/// left.
struct RunningAttempt {
    background_action: BackgroundAction,
    prepared: PreparedAttempt,
    _slot: Option<Slot>,
    waited: Option<DurationMs>,
    /// Whether a stop request was passed on to this attempt.
    is_asked: bool,
    /// Whether the attempt already has its second launcher, because the first one died before it could start the
    /// attempt.
    is_second_launcher: bool,
}

/// The result of trying to start a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartOutcome {
    /// The step was started, or it ended without being started.
    Done,
    /// The step has to wait, and is tried again after this time at the latest.
    Later(Duration),
}

impl<'s, 'w, 'c> ParallelSteps<'s, 'w, 'c> {
    /// Decides what the steps wait for and what they see of each other's writes.
    pub(crate) fn new(steps: Steps<'s, 'w, 'c>, together: Concurrency) -> Result<Self, ProjectError> {
        let context = steps.context;
        let settings = context.request.settings;
        let facts = |action: &&Action| CheckFacts { role: role_of(action), after: dependency_positions(&context.order, action) };
        let relations = relations(together, &context.order.iter().map(facts).collect::<Vec<_>>());
        let seen = SeenLayers::of_checks(&context.order, &relations);
        steps.performer.place.show_layers(seen);
        // All changes to an overlay home lie in one directory, and the kernel allows only one mount of this directory
        // at a time (`overlayfs`). So steps with an overlay home run one at a time.
        let home = (settings.sandbox.home == HomeAccess::Overlay).then(|| PathBuf::from("/"));
        // On a snapshot every step writes its report to a layer of its own, unless `writable` opens a part of the project.
        let in_project = !steps.performer.place.is_snapshot() || !settings.sandbox.writable.is_empty();
        let reports = |action| if in_project { steps.performer.project_report_paths(action) } else { Vec::new() };
        let needs = context.order.iter().zip(relations).map(|(action, relations)| StepNeeds {
            after: relations.waits_for.into_iter().collect(),
            alone_with: reports(action).into_iter().chain(home.clone()).collect(),
        });
        let needs = needs.collect();
        let limit = usize::try_from(settings.queue.max_parallel).unwrap_or(usize::MAX);
        let (sender, ends) = channel();
        let (bell, ringer) = std::io::pipe().map_err(|source| ProjectError::LaneThread {
            action: context.order.first().map(|first| first.name.clone()).unwrap_or_default(),
            source,
        })?;
        let receiver = EndReceiver { ends: sender, bell: Arc::new(ringer) };
        let (open, again, attempts) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let (results, idle, flow) = (BTreeMap::new(), Vec::new(), StepFlow::default());
        Ok(Self { steps, limit, needs, flow, open, again, attempts, results, idle, last_start: None, receiver, ends, bell })
    }

    /// Carries out all steps, and returns their results in the order of execution.
    pub(crate) fn run_all(mut self) -> Result<Vec<ActionResult>, ProjectError> {
        while self.results.len() < self.needs.len() {
            let longest = match self.start_ready_steps()? {
                StartOutcome::Done => LONG_SLICE,
                StartOutcome::Later(after) => after,
            };
            // This is the last look at requests before the wait, because a start may have read one, and only a request
            // that nobody has read ends the wait.
            self.forward_stops();
            if self.open.is_empty() {
                continue;
            }
            match self.ends.try_recv() {
                Ok(over) => self.take(over)?,
                Err(TryRecvError::Empty) => self.steps.context.request.control.wait_at_most(self.bell.as_fd(), longest),
                Err(TryRecvError::Disconnected) => unreachable!("a sender is held here"),
            }
        }
        self.give_back_launchers();
        Ok(self.results.into_values().collect())
    }

    /// Keeps one launcher for the clean-up, and ends the others.
    fn give_back_launchers(&mut self) {
        let (up, lost): (Vec<_>, Vec<_>) = self.idle.drain(..).partition(|launcher| !launcher.is_lost());
        up.into_iter().for_each(|launcher| self.steps.performer.give_back_launcher(launcher));
        drop(lost);
    }

    /// Takes an idle launcher that can start an action. Launchers that were told to end stay where they are: they are reaped
    /// after the last step.
    fn take_idle_launcher(&mut self) -> Option<LauncherHandle> {
        let place = self.idle.iter().position(|launcher| !launcher.is_lost())?;
        Some(self.idle.swap_remove(place))
    }

    fn action(&self, place: usize) -> &'s Action {
        self.steps.context.order[place]
    }

    /// Passes a stop request of the run on to all running steps. Every request is passed on, because a second request
    /// kills a step.
    fn forward_stops(&mut self) {
        let control = self.steps.context.request.control;
        let is_heeded = |reason: &StopReason| stop_reasons_for(ActionPhase::Step).contains(reason);
        let requests: Vec<_> = control.take_requests().into_iter().filter(is_heeded).collect();
        // An action that was about to start may already have consumed the request. The request is still in force for
        // the running actions.
        let in_force = control.in_force().filter(is_heeded);
        for open in self.open.values_mut() {
            let missed = in_force.filter(|_| requests.is_empty() && !open.is_asked);
            requests.iter().copied().chain(missed).for_each(|reason| open.background_action.stop(reason));
            open.is_asked |= in_force.is_some();
        }
    }

    /// Starts all steps that may start now. Returns whether one of them has to wait.
    fn start_ready_steps(&mut self) -> Result<StartOutcome, ProjectError> {
        loop {
            let state = ScheduleState {
                over: self.results.keys().copied().collect(),
                open: self.open.keys().chain(&self.again).copied().collect(),
            };
            let again = self.again.first().copied();
            let Some(place) = again.or_else(|| next(&self.needs, &state, self.limit)) else {
                return Ok(StartOutcome::Done);
            };
            if again.is_none()
                && let Some(one) = self.steps.skip_or_reuse(self.action(place), &self.flow)
            {
                self.finish(place, one);
            } else if let later @ StartOutcome::Later(_) = self.try_to_start(place)? {
                return Ok(later);
            }
        }
    }

    /// Returns whether no other step runs or can start while this step runs.
    fn stays_alone(&self, place: usize) -> bool {
        let is_skipped = |other: &usize| !self.steps.context.selected.holds(&self.action(*other).name);
        let skipped = (0..self.needs.len()).filter(is_skipped);
        let state = ScheduleState { over: self.results.keys().copied().chain(skipped).collect(), open: BTreeSet::from([place]) };
        self.open.is_empty() && self.again.is_empty() && next(&self.needs, &state, self.limit).is_none()
    }

    /// Returns whether another action follows while or after a step runs.
    fn is_followed(&self, place: usize) -> bool {
        let is_left = |other: &usize| *other != place && !self.results.contains_key(other) && !self.open.contains_key(other);
        !self.steps.context.request.plan.cleanup.is_empty() || (0..self.needs.len()).any(|other| is_left(&other))
    }

    fn try_to_start(&mut self, place: usize) -> Result<StartOutcome, ProjectError> {
        let action = self.action(place);
        let is_first_attempt = !self.attempts.contains_key(&place);
        // The shards of a check run side by side with each other, and with no other step.
        if action.shards.is_some() && !self.open.is_empty() {
            return Ok(StartOutcome::Later(LONG_SLICE));
        }
        if !action.kind.starts_a_process() || action.shards.is_some() || (is_first_attempt && self.stays_alone(place)) {
            self.take_idle_launcher().into_iter().for_each(|launcher| self.steps.performer.give_back_launcher(launcher));
            let one = self.steps.performer.perform(action)?;
            self.finish(place, one);
            return Ok(StartOutcome::Done);
        }
        self.attempts.entry(place).or_insert_with(|| self.steps.performer.begin_attempts(action));
        let control = self.steps.context.request.control;
        let answer = if is_stopped(self.steps.context, action) {
            AwaitedTurn { turn: QueueTurn::Stopped, waited: None }
        } else if self.open.is_empty() {
            self.steps.performer.next_turn(action)?
        } else {
            if let Some(left) = self.left_of_head_start() {
                return Ok(StartOutcome::Later(left));
            }
            let Some(turn) = self.steps.performer.try_take_turn()? else { return Ok(StartOutcome::Later(TURN_SLICE)) };
            AwaitedTurn { turn, waited: None }
        };
        self.again.remove(&place);
        let waited = answer.waited;
        match answer.turn {
            QueueTurn::Given(slot) => self.start(place, slot, waited)?,
            QueueTurn::Stopped => self.note_attempt(place, ActionResult { waited, ..skipped(action, skip_reason(control)) }),
        }
        Ok(StartOutcome::Done)
    }

    /// Returns how long the step that started last keeps its head start; `None` if no step was started, if a launcher
    /// is idle, or if the time is over.
    fn left_of_head_start(&self) -> Option<Duration> {
        let is_idle = self.steps.performer.has_own_launcher() || self.idle.iter().any(|launcher| !launcher.is_lost());
        let since = clock::monotonic().since(self.last_start?);
        HEAD_START.checked_sub(since).filter(|left| !left.is_zero() && !is_idle)
    }

    fn start(&mut self, place: usize, slot: Option<Slot>, waited: Option<DurationMs>) -> Result<(), ProjectError> {
        let action = self.action(place);
        let prepared = self.steps.performer.prepare(action, attempts_at(&mut self.attempts, place))?;
        if let Err(failure) = &prepared.launch.request {
            let ended = ended_not_started(failure.clone());
            drop(slot);
            return self.judge(place, prepared, ended, waited);
        }
        let background_action = self.background_action(place, &prepared)?;
        let open =
            RunningAttempt { background_action, prepared, _slot: slot, waited, is_asked: false, is_second_launcher: false };
        self.open.insert(place, open);
        self.last_start = Some(clock::monotonic());
        Ok(())
    }

    fn background_action(&mut self, place: usize, prepared: &PreparedAttempt) -> Result<BackgroundAction, ProjectError> {
        let action = self.action(place);
        let mut request = prepared.launch.request.clone().expect("whoever has no program is not started");
        request.child.another_follows = self.is_followed(place);
        let order = BackgroundActionOrder {
            place,
            request,
            limits: prepared.launch.limits.clone(),
            sinks: prepared.launch.sinks(action)?,
        };
        let launcher = match self.steps.performer.take_own_launcher().or_else(|| self.take_idle_launcher()) {
            Some(launcher) => launcher,
            None => self.steps.performer.start_background_launcher()?,
        };
        BackgroundAction::start(action, order, launcher, self.receiver.clone())
    }

    /// Handles the end of an action on a lane (a thread with its own launcher): judges the action, or starts it once
    /// more with a new launcher, if its launcher was gone before the action was started.
    fn take(&mut self, over: BackgroundActionEnd) -> Result<(), ProjectError> {
        let BackgroundActionEnd { place, mut launcher, outcome } = over;
        // After each message about an end, the lane writes one byte to the pipe `bell`. This byte is read here.
        let _ended = self.bell.read_exact(&mut [0]);
        let mut open = self.open.remove(&place).expect("only what goes on ends");
        if !launcher.is_lost() {
            if !self.is_followed(place) && !self.open.is_empty() {
                // No later action needs this launcher. It is told to end now, while other steps still run, so nobody has
                // to wait for that.
                launcher.dismiss();
            }
            self.idle.push(launcher);
        }
        match outcome {
            // The action was not started, so a new launcher is tried once.
            Err(SuperviseError::LauncherGone) if !open.is_second_launcher => {
                tracing::warn!("the launcher of a lane was gone and is started anew");
                open.background_action = self.background_action(place, &open.prepared)?;
                self.open.insert(place, RunningAttempt { is_asked: false, is_second_launcher: true, ..open });
                Ok(())
            }
            Err(SuperviseError::LauncherGone) => self.end(place, open, ended_without_launcher()),
            Err(source) => Err(ProjectError::Supervise { action: self.action(place).name.clone(), source }),
            Ok(ended) => self.end(place, open, ended),
        }
    }

    fn end(&mut self, place: usize, open: RunningAttempt, ended: EndedAction) -> Result<(), ProjectError> {
        let RunningAttempt { background_action, prepared, _slot, waited, .. } = open;
        // No process of the action is left, so another action may start while this one is judged.
        drop((background_action, _slot));
        self.judge(place, prepared, ended, waited)
    }

    fn judge(
        &mut self,
        place: usize,
        prepared: PreparedAttempt,
        ended: EndedAction,
        waited: Option<DurationMs>,
    ) -> Result<(), ProjectError> {
        let (action, attempts) = (self.action(place), attempts_at(&mut self.attempts, place));
        let one = self.steps.performer.judge(action, prepared, ended, attempts)?;
        self.note_attempt(place, ActionResult { waited, ..one });
        Ok(())
    }

    fn note_attempt(&mut self, place: usize, one: ActionResult) {
        let (action, attempts) = (self.action(place), attempts_at(&mut self.attempts, place));
        match self.steps.performer.note_attempt(action, attempts, one) {
            Some(one) => self.finish(place, one),
            None => {
                self.again.insert(place);
            }
        }
    }

    fn finish(&mut self, place: usize, one: ActionResult) {
        let action = self.action(place);
        note(&mut self.flow, action, &one);
        self.results.insert(place, one);
    }
}

fn attempts_at(attempts: &mut BTreeMap<usize, Attempts>, place: usize) -> &mut Attempts {
    attempts.get_mut(&place).expect("they begin when a step is tried to be started")
}
