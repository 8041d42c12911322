//! Carries out steps side by side. `schedule` picks the next step, a lane (a thread with its own launcher) supervises
//! each running one, and all other work happens in one thread.
//!
//! Results are reported as they come, and returned in the order of execution. Only the first turn in the machine-wide
//! queue is waited for. More turns are taken only when they are free, because waiting for others while holding a turn
//! could be a deadlock.

use crate::project::ProjectError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::config::HomeAccess;
use crate::evidence::Slot;
use crate::model::{Action, ActionPhase, DurationMs, EndedAction, StopReason};
use crate::process::{LauncherHandle, SuperviseError};
use crate::report::ActionResult;
use crate::run::flow::StepFlow;
use crate::run::perform::{
    Attempts, BackgroundAction, BackgroundActionEnd, BackgroundActionOrder, PreparedAttempt, ended_not_started, skipped,
};
use crate::run::queue::{AwaitedTurn, QueueTurn};
use crate::run::run_plan::{is_stopped, skip_reason, stop_reasons_for};
use crate::run::schedule::{ScheduleState, StepNeeds, dependency_positions, next};
use crate::run::steps::{Steps, note};

/// How long the end of a running step is waited for before stop requests and free turns are checked again.
const SLICE: Duration = Duration::from_millis(20);

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
    /// Launchers whose action has ended; the next action can use them.
    idle: Vec<LauncherHandle>,
    tell: Sender<BackgroundActionEnd>,
    told: Receiver<BackgroundActionEnd>,
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
    /// Whether this is the second launcher, because the first one died before it could start the attempt.
    is_second_launcher: bool,
}

/// The result of trying to start a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartOutcome {
    /// The step was started, or it ended without being started.
    Done,
    /// No turn in the machine-wide queue is free, so the step has to wait.
    NoTurn,
}

impl<'s, 'w, 'c> ParallelSteps<'s, 'w, 'c> {
    pub(crate) fn new(steps: Steps<'s, 'w, 'c>) -> Self {
        let context = steps.context;
        let settings = context.request.settings;
        // All changes to an overlay home lie in one directory, and the kernel allows only one mount of this directory
        // at a time (`overlayfs`). So steps with an overlay home run one at a time.
        let home = (settings.sandbox.home == HomeAccess::Overlay).then(|| PathBuf::from("/"));
        let needs = |action: &&Action| StepNeeds {
            after: dependency_positions(&context.order, action),
            alone_with: steps.performer.project_report_paths(action).into_iter().chain(home.clone()).collect(),
        };
        let needs = context.order.iter().map(needs).collect();
        let limit = usize::try_from(settings.queue.max_parallel).unwrap_or(usize::MAX);
        let (tell, told) = channel();
        let (open, again, attempts) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let (results, idle, flow) = (BTreeMap::new(), Vec::new(), StepFlow::default());
        Self { steps, limit, needs, flow, open, again, attempts, results, idle, tell, told }
    }

    /// Carries out all steps, and returns their results in the order of execution.
    pub(crate) fn run_all(mut self) -> Result<Vec<ActionResult>, ProjectError> {
        while self.results.len() < self.needs.len() {
            self.forward_stops();
            self.start_ready_steps()?;
            if self.open.is_empty() {
                continue;
            }
            match self.told.recv_timeout(SLICE) {
                Ok(over) => self.take(over)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("a sender is held here"),
            }
        }
        Ok(self.results.into_values().collect())
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
        // the others.
        let in_force = control.in_force().filter(is_heeded);
        for open in self.open.values_mut() {
            let missed = in_force.filter(|_| requests.is_empty() && !open.is_asked);
            requests.iter().copied().chain(missed).for_each(|reason| open.background_action.stop(reason));
            open.is_asked |= in_force.is_some();
        }
    }

    fn start_ready_steps(&mut self) -> Result<(), ProjectError> {
        loop {
            let state = ScheduleState {
                over: self.results.keys().copied().collect(),
                open: self.open.keys().chain(&self.again).copied().collect(),
            };
            let again = self.again.first().copied();
            let Some(place) = again.or_else(|| next(&self.needs, &state, self.limit)) else { return Ok(()) };
            if again.is_none()
                && let Some(one) = self.steps.skip_or_reuse(self.action(place), &self.flow)
            {
                self.finish(place, one);
            } else if self.try_to_start(place)? == StartOutcome::NoTurn {
                return Ok(());
            }
        }
    }

    fn try_to_start(&mut self, place: usize) -> Result<StartOutcome, ProjectError> {
        let action = self.action(place);
        if !action.kind.starts_a_process() {
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
            let Some(turn) = self.steps.performer.try_take_turn()? else { return Ok(StartOutcome::NoTurn) };
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
        Ok(())
    }

    fn background_action(&mut self, place: usize, prepared: &PreparedAttempt) -> Result<BackgroundAction, ProjectError> {
        let action = self.action(place);
        let request = prepared.launch.request.clone().expect("whoever has no program is not started");
        let order = BackgroundActionOrder {
            place,
            request,
            limits: prepared.launch.limits.clone(),
            sinks: prepared.launch.sinks(action)?,
        };
        let launcher = match self.idle.pop() {
            Some(launcher) => launcher,
            None => self.steps.performer.start_background_launcher()?,
        };
        BackgroundAction::start(action, order, launcher, self.tell.clone())
    }

    /// Handles the end of an action on a lane: judges the action, or starts it again if its launcher was lost.
    fn take(&mut self, over: BackgroundActionEnd) -> Result<(), ProjectError> {
        let BackgroundActionEnd { place, launcher, outcome } = over;
        let mut open = self.open.remove(&place).expect("only what goes on ends");
        if !launcher.is_lost() {
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
            Err(source) => Err(ProjectError::Supervise { action: self.action(place).name.clone(), source }),
            Ok(ended) => {
                let RunningAttempt { background_action, prepared, _slot, waited, .. } = open;
                // No process of the action is left, so another action may start while this one is judged.
                drop((background_action, _slot));
                self.judge(place, prepared, ended, waited)
            }
        }
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
