//! Decides, from the events of one action, what the supervisor must do next and how the action ended.
//!
//! Pure: events, requests and the time go in, a [`ProgressStep`] comes out, which [`mod@crate::process::supervise`]
//! performs. A stop follows E10: it is recorded first, and after that no exit status can change the result.

use std::time::Duration;

use crate::process::clock::Monotonic;
use crate::process::control::stronger;
use crate::process::ladder::StopLadder;
use crate::process::protocol::{EndedChild, LauncherEvent, LeaderStatus};
use proctor_model::{
    ActionEnd, ActionLimits, GroupUsage, LimitKind, ReachedIsolation, ReachedLevel, SpawnFailure, StopReason, StopStage,
    Survivor, Usage,
};

/// After the end of the action, reading stops when a pipe that is still open has given no output for this time (house
/// style P4).
pub(super) const QUIET: Duration = Duration::from_millis(200);

/// The limit on the time for which an open pipe is read after the end of the action, even if output goes on (house
/// style P4).
pub(super) const DRAIN: Duration = Duration::from_secs(1);

/// The limit on the wait for processes to end after SIGKILL. When the limit is reached, the action counts as over,
/// because a process that the kernel does not end must not hold up a run.
pub(super) const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// What the supervisor must do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum ProgressStep {
    /// Signal all processes of the action, then ask for the next step.
    Signal(StopStage),
    /// Wait for an event, at most until this time.
    Wait(Option<Monotonic>),
    /// Stop supervising, because no more events will come.
    Finish,
}

#[derive(Debug)]
enum Leader {
    /// The start was requested or the process is running; its end is not known yet.
    Open,
    NotStarted(SpawnFailure),
    Ended(EndedChild),
    /// The launcher, the process that starts actions, has ended, so the status cannot be known.
    Lost {
        why: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Limit(LimitKind),
    Request(StopReason),
    OwnFault,
}

#[derive(Debug)]
struct Stop {
    cause: Cause,
    requests: u32,
    ladder: StopLadder,
}

/// The state of one action, from the request to start it to its end.
#[derive(Debug)]
pub(super) struct ActionProgress<'limits> {
    limits: &'limits ActionLimits,
    begun: Monotonic,
    leader: Leader,
    stop: Option<Stop>,
    killed: Option<Monotonic>,
    over: Option<Monotonic>,
    last_output: Option<Monotonic>,
    survivors: Vec<Survivor>,
    reached: Option<ReachedLevel>,
    group: Option<GroupUsage>,
}

impl<'limits> ActionProgress<'limits> {
    /// Returns the state of an action whose start is requested now. The action's time limits count from `now`.
    pub(super) fn begin(now: Monotonic, limits: &'limits ActionLimits) -> Self {
        Self {
            limits,
            begun: now,
            leader: Leader::Open,
            stop: None,
            killed: None,
            over: None,
            last_output: None,
            survivors: Vec::new(),
            reached: None,
            group: None,
        }
    }

    /// Notes an event from the launcher, the process that starts actions, about this action.
    pub(super) fn note_event(&mut self, now: Monotonic, event: LauncherEvent) {
        match event {
            LauncherEvent::Started { level, obstacles, unenforced, early, .. } => {
                self.reached = Some(ReachedLevel { level, obstacles, unenforced, early });
            }
            LauncherEvent::NotStarted { failure, .. } => {
                self.leader = Leader::NotStarted(failure);
                self.over = Some(now);
            }
            LauncherEvent::Ended { leader, survivors, group, .. } => {
                self.group = group;
                self.leader = Leader::Ended(leader);
                self.over = survivors.is_empty().then_some(now);
                self.survivors = survivors;
            }
            LauncherEvent::Emptied { group, .. } => {
                self.group = group;
                self.over = self.over.or(Some(now));
            }
            LauncherEvent::Vanished { why, group, .. } => {
                self.group = group;
                self.note_lost(now, why, Vec::new());
            }
        }
    }

    /// Notes that the launcher, the process that starts actions, is gone. `survivors` are the processes of the action
    /// that were found and killed.
    pub(super) fn note_lost(&mut self, now: Monotonic, why: String, survivors: Vec<Survivor>) {
        if matches!(self.leader, Leader::Open) {
            self.leader = Leader::Lost { why };
            self.survivors = survivors;
        }
        self.over = self.over.or(Some(now));
    }

    /// Notes a request to stop. The first request begins the stop ladder. A further request leads to SIGKILL at once,
    /// unless its reason is `Superseded`, `ServiceEnded` or `HelperDied` (see `ControlHandle::stop`).
    pub(super) fn note_request(&mut self, now: Monotonic, reason: StopReason) {
        if !matches!(self.leader, Leader::Open) && self.stop.is_none() {
            return;
        }
        let stop = self.stop_for(now, Cause::Request(reason));
        stop.requests += 1;
        if let Cause::Request(known) = stop.cause {
            stop.cause = Cause::Request(stronger(known, reason));
        }
        let is_insisting = match reason {
            StopReason::Superseded | StopReason::ServiceEnded | StopReason::HelperDied => false,
            StopReason::ChecksOver | StopReason::Interrupted | StopReason::Terminated => stop.requests > 1,
        };
        if is_insisting {
            stop.ladder.hurry();
        }
    }

    /// Notes that output could not be written to the log or read from a pipe, which is proctor's fault or the
    /// machine's. Every process of the action is then killed.
    pub(super) fn note_own_fault(&mut self, now: Monotonic) {
        self.stop_for(now, Cause::OwnFault).ladder.hurry();
    }

    /// Notes that output arrived; `printed` counts all bytes so far. More output than `limits.output` stops the action.
    /// After the end of the action's main process this limit no longer applies: remaining processes are killed anyway,
    /// and their output does not count as the command's.
    pub(super) fn note_output(&mut self, now: Monotonic, printed: u64) {
        self.last_output = Some(now);
        if matches!(self.leader, Leader::Open) && self.limits.output.is_some_and(|limit| printed > limit) {
            let _recorded = self.stop_for(now, Cause::Limit(LimitKind::Output));
        }
    }

    /// Returns whether a stop of the action was recorded, because of a limit, a request or a fault.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_some()
    }

    /// Returns what the supervisor must do next. `pipes_open` says whether at least one output stream may still provide
    /// bytes.
    pub(super) fn next_step(&mut self, now: Monotonic, pipes_open: bool) -> ProgressStep {
        if self.killed.is_some_and(|killed| now.since(killed) >= KILL_PATIENCE) {
            self.over = self.over.or(Some(now));
        }
        if let Some(over) = self.over {
            return self.drain_step(now, over, pipes_open);
        }
        if matches!(self.leader, Leader::Open)
            && let Some((_, limit)) = self.time_limit().filter(|(deadline, _)| now >= *deadline)
        {
            let _recorded = self.stop_for(now, Cause::Limit(limit));
        }
        // Processes that remain after the action's main process ended by itself are killed without a grace period,
        // because no one uses their results (E14).
        let leftover = (self.has_ended() && self.killed.is_none()).then_some(StopStage::Sigkill);
        let stage = self.stop.as_mut().map_or(leftover, |stop| stop.ladder.take_due(now));
        if let Some(stage) = stage {
            if stage == StopStage::Sigkill {
                self.killed = Some(now);
            }
            return ProgressStep::Signal(stage);
        }
        ProgressStep::Wait(self.next_deadline())
    }

    /// Returns how the action ended. The first recorded cause decides. If proctor stopped the action, that takes
    /// precedence over the exit status of the main process.
    pub(super) fn end(&self) -> ActionEnd {
        let (code, signal) = match &self.leader {
            Leader::Ended(EndedChild { status: LeaderStatus::Exited { code }, .. }) => (Some(*code), None),
            Leader::Ended(EndedChild { status: LeaderStatus::Signalled { signal }, .. }) => (None, Some(*signal)),
            Leader::Open | Leader::NotStarted(_) | Leader::Lost { .. } => (None, None),
        };
        let stop = self.stop.as_ref().map(|stop| (stop.cause, stop.ladder.last_taken()));
        match (&self.leader, stop) {
            (Leader::NotStarted(failure), _) => ActionEnd::NotStarted(failure.clone()),
            (_, Some((Cause::Limit(limit), stage))) => ActionEnd::TimedOut { limit, stage, code, signal },
            (_, Some((Cause::Request(reason), stage))) => ActionEnd::Stopped { reason, stage },
            (_, Some((Cause::OwnFault, _))) => ActionEnd::Lost { why: "its output could not be kept".to_owned() },
            (Leader::Ended(child), None) => match (self.group.and_then(exceeded_limit), child.status) {
                // The kernel enforced a memory or process limit. The command could not work normally, so its exit
                // status is ignored (C15).
                (Some(limit), _) => ActionEnd::TimedOut { limit, stage: StopStage::Sigkill, code, signal },
                (None, LeaderStatus::Exited { code }) => ActionEnd::Exited { code },
                (None, LeaderStatus::Signalled { signal }) => ActionEnd::Signalled { signal },
            },
            // When an action exceeds its memory limit, the kernel kills its keeper too (`memory.oom.group`).
            (Leader::Lost { why }, None) => match self.group.and_then(exceeded_limit) {
                Some(limit) => ActionEnd::TimedOut { limit, stage: StopStage::Sigkill, code, signal },
                None => ActionEnd::Lost { why: why.clone() },
            },
            (Leader::Open, None) => ActionEnd::Lost { why: "its end was never seen".to_owned() },
        }
    }

    /// Returns the resources that the action used, as [`merge_usage`] defines them; `None` if the end of the main
    /// process was not seen.
    pub(super) fn usage(&self) -> Option<Usage> {
        match &self.leader {
            Leader::Ended(child) => Some(merge_usage(child.usage, self.group)),
            Leader::Open | Leader::NotStarted(_) | Leader::Lost { .. } => None,
        }
    }

    /// Returns whether the action may have read the repository by git: without namespaces nobody can tell.
    pub(super) fn used_git(&self) -> bool {
        matches!(self.leader, Leader::Ended(child) if child.used_git)
            || self.reached.as_ref().is_some_and(|it| it.level.is_weaker())
    }

    /// Returns how the action was isolated; `None` if it was not started.
    pub(super) fn kept(&self) -> Option<ReachedIsolation> {
        let was_killed = self.killed.is_some() || !self.survivors.is_empty();
        let reached = self.reached.clone()?;
        Some(ReachedIsolation { killed_by: was_killed.then(|| reached.level.killed_by()), reached })
    }

    /// Returns the processes that were still running when the leader, the action's main process, had ended.
    pub(super) fn survivors(&self) -> &[Survivor] {
        &self.survivors
    }

    fn has_ended(&self) -> bool {
        match self.leader {
            Leader::Ended(_) => true,
            Leader::Open | Leader::NotStarted(_) | Leader::Lost { .. } => false,
        }
    }

    fn stop_for(&mut self, now: Monotonic, cause: Cause) -> &mut Stop {
        let ladder = || StopLadder::begin(now, self.limits);
        self.stop.get_or_insert_with(|| Stop { cause, requests: 0, ladder: ladder() })
    }

    /// Returns the time limit that is exceeded first if no output arrives, and the time at which it is exceeded. If two
    /// are exceeded at the same moment, the limit on the whole time is returned.
    fn time_limit(&self) -> Option<(Monotonic, LimitKind)> {
        let silent_since = self.last_output.unwrap_or(self.begun);
        let wall = self.begun.plus(self.limits.timeout).map(|deadline| (deadline, LimitKind::Wall));
        let idle = self.limits.idle.and_then(|idle| silent_since.plus(idle)).map(|deadline| (deadline, LimitKind::Idle));
        [wall, idle].into_iter().flatten().min_by_key(|(deadline, _)| *deadline)
    }

    /// Returns when the next step is due even if no event arrives: a time limit, a signal of the ladder, or the end of
    /// a wait.
    fn next_deadline(&self) -> Option<Monotonic> {
        let rung = self.stop.as_ref().and_then(|stop| stop.ladder.next_due());
        let patience = self.killed.and_then(|killed| killed.plus(KILL_PATIENCE));
        let limit = if self.stop.is_none() && !self.has_ended() { self.time_limit() } else { None };
        let limit = limit.map(|(deadline, _)| deadline);
        [rung, patience, limit].into_iter().flatten().min()
    }

    fn drain_step(&self, now: Monotonic, over: Monotonic, pipes_open: bool) -> ProgressStep {
        let has_output = match self.leader {
            Leader::NotStarted(_) => false,
            Leader::Open | Leader::Ended(_) | Leader::Lost { .. } => true,
        };
        if !pipes_open || !has_output {
            return ProgressStep::Finish;
        }
        let quiet_since = self.last_output.map_or(over, |last| last.max(over));
        match [quiet_since.plus(QUIET), over.plus(DRAIN)].into_iter().flatten().min() {
            Some(until) if now < until => ProgressStep::Wait(Some(until)),
            Some(_) | None => ProgressStep::Finish,
        }
    }
}

/// Returns the resources that all processes of an action used, if the action had a cgroup; otherwise the resources that
/// the leader, the action's main process, used.
fn merge_usage(leader: Usage, group: Option<GroupUsage>) -> Usage {
    let group = group.unwrap_or_default();
    Usage {
        user: group.user.unwrap_or(leader.user),
        system: group.system.unwrap_or(leader.system),
        peak_memory_kib: group.peak_memory.map_or(leader.peak_memory_kib, |bytes| bytes / 1024),
    }
}

fn exceeded_limit(group: GroupUsage) -> Option<LimitKind> {
    if group.memory_exceeded {
        return Some(LimitKind::Memory);
    }
    if group.processes_exceeded {
        return Some(LimitKind::Pids);
    }
    group.written_exceeded.then_some(LimitKind::Written)
}

#[cfg(test)]
mod tests;
