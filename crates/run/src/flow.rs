//! Decides which remaining steps of a run are skipped, and when the run's time is over. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::run_context::RunContext;
use proctor_evidence::report::SkipReason;
use proctor_model::{Action, ActionId, ActionJudgement, ActionPhase, Blocking, DurationMs, Plan, StopReason};
use proctor_sandbox::process::Control;
use proctor_sandbox::process::clock::Monotonic;

/// What the results of the finished steps mean for the steps that are left.
#[derive(Debug, Default)]
pub(crate) struct StepFlow {
    /// The steps that failed or were skipped. Steps that depend on them are skipped too.
    unsuccessful: BTreeSet<ActionId>,
    /// Whether a step without `continue_on_failure` failed. All remaining steps are then skipped.
    halted: bool,
}

impl StepFlow {
    /// Returns why a step is skipped because of the results of other steps; `None` if no such result prevents it.
    pub(crate) fn skip_reason_for(&self, step: &Action) -> Option<SkipReason> {
        // An unmet dependency is the better explanation, so it is checked before other failures.
        if step.after.iter().any(|needed| self.unsuccessful.contains(needed)) {
            return Some(SkipReason::DependencyFailed);
        }
        self.halted.then_some(SkipReason::AfterFailure)
    }

    /// Records the result of a step that was carried out or reused. Findings that the policy allows do not count as a
    /// failure (C33).
    pub(crate) fn note(&mut self, step: &Action, outcome: Option<&ActionJudgement>) {
        if outcome.is_some_and(|outcome| outcome.blocking == Blocking::Blocks) {
            self.unsuccessful.insert(step.id.clone());
            self.halted |= !step.continue_on_failure;
        }
    }

    /// Records a skipped step. A step that was left out by selection does not block others: a person who selects a step
    /// by name wants to run it without its predecessors.
    pub(crate) fn note_skipped(&mut self, step: &Action, reason: SkipReason) {
        match reason {
            SkipReason::NotSelected | SkipReason::WaitsForRequest | SkipReason::Unchanged => {}
            SkipReason::PrerequisiteFailed
            | SkipReason::Stopped
            | SkipReason::AfterFailure
            | SkipReason::DependencyFailed
            | SkipReason::RunTimedOut
            | SkipReason::SpecificationWrong => {
                self.unsuccessful.insert(step.id.clone());
            }
        }
    }
}

/// Measures how much of the run's time limit is left for prerequisites and steps. Waiting for the actions of other runs
/// does not count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunClock {
    begun: Monotonic,
    timeout: Option<Duration>,
    waited: Duration,
}

impl RunClock {
    pub(crate) fn new(plan: &Plan, begun: Monotonic) -> Self {
        Self { begun, timeout: plan.timeout, waited: Duration::ZERO }
    }

    /// Adds the time of a wait for the actions of other runs, which does not count against the time limit.
    pub(crate) fn note_wait(&mut self, waited: Option<DurationMs>) {
        self.waited += waited.map(|waited| Duration::from_millis(waited.0)).unwrap_or_default();
    }

    /// Returns the remaining time and the configured limit; `None` if the run has no limit.
    pub(crate) fn left(&self, now: Monotonic) -> Option<(Duration, Duration)> {
        let timeout = self.timeout?;
        let spent = now.since(self.begun).saturating_sub(self.waited);
        Some((timeout.saturating_sub(spent), timeout))
    }

    /// Returns whether the run's time limit has passed; false if the run has no limit.
    pub(crate) fn is_over(&self, now: Monotonic) -> bool {
        self.left(now).is_some_and(|(left, _)| left.is_zero())
    }
}

// Which stop requests of a run apply to which of its actions.

/// Returns whether the run was asked to stop an action of this phase.
pub(crate) fn is_stopped(context: &RunContext<'_>, action: &Action) -> bool {
    context.request.control.requested().is_some_and(|reason| stop_reasons_for(action.phase).contains(&reason))
}

/// Returns why an action is skipped: after a service ended, because a prerequisite failed; otherwise because the run
/// was stopped.
pub(crate) fn skip_reason(control: &Control) -> SkipReason {
    match control.requested() {
        Some(StopReason::ServiceEnded) => SkipReason::PrerequisiteFailed,
        Some(
            StopReason::ChecksOver
            | StopReason::HelperDied
            | StopReason::Superseded
            | StopReason::Interrupted
            | StopReason::Terminated,
        )
        | None => SkipReason::Stopped,
    }
}

/// Returns whether a stop request ends the whole run, which then has no verdict.
pub(crate) fn stops_whole_run(reason: &StopReason) -> bool {
    match reason {
        StopReason::ServiceEnded | StopReason::ChecksOver => false,
        StopReason::HelperDied | StopReason::Superseded | StopReason::Interrupted | StopReason::Terminated => true,
    }
}

/// Returns the stop requests that apply to an action of this phase. A newer save stops checks, but neither
/// prerequisites nor cleanup. The end of a service and the death of a helper process stop everything except the cleanup.
pub(crate) fn stop_reasons_for(phase: ActionPhase) -> &'static [StopReason] {
    match phase {
        ActionPhase::Step => &[
            StopReason::ServiceEnded,
            StopReason::HelperDied,
            StopReason::Superseded,
            StopReason::Interrupted,
            StopReason::Terminated,
        ],
        ActionPhase::Prerequisite => {
            &[StopReason::ServiceEnded, StopReason::HelperDied, StopReason::Interrupted, StopReason::Terminated]
        }
        ActionPhase::Cleanup => &[StopReason::Interrupted, StopReason::Terminated],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::testing;
    use proctor_model::{ActionPhase, AgentAction, CategoryCode, Classification, DebtGeneration, ResultType};
    use proctor_sandbox::process::clock;

    fn step(number: usize, after: &[usize], continue_on_failure: bool) -> Action {
        Action {
            id: ActionId::numbered("STEP", number),
            after: after.iter().map(|number| ActionId::numbered("STEP", *number)).collect(),
            continue_on_failure,
            ..testing::generic_action(ActionPhase::Step)
        }
    }

    fn outcome(blocking: Blocking) -> ActionJudgement {
        ActionJudgement {
            classification: Classification::plain(ResultType::ValidationFailure, CategoryCode::Findings, "seen"),
            blocking,
            debt: DebtGeneration::none("none"),
            agent_action: AgentAction { required: false, action: "CONTINUE".to_owned(), message: String::new() },
            diagnostics: Vec::new(),
            summary: None,
        }
    }

    #[test]
    fn a_failed_step_holds_back_what_comes_after_it_and_nothing_else() {
        let mut flow = StepFlow::default();
        flow.note(&step(1, &[], true), Some(&outcome(Blocking::Blocks)));
        assert_eq!(flow.skip_reason_for(&step(2, &[1], true)), Some(SkipReason::DependencyFailed));
        assert_eq!(flow.skip_reason_for(&step(3, &[], true)), None);
        flow.note_skipped(&step(2, &[1], true), SkipReason::DependencyFailed);
        assert_eq!(flow.skip_reason_for(&step(4, &[2], true)), Some(SkipReason::DependencyFailed), "it is passed on");
    }

    #[test]
    fn a_failed_step_that_is_not_to_be_gone_on_after_halts_the_rest() {
        let mut flow = StepFlow::default();
        flow.note(&step(1, &[], false), Some(&outcome(Blocking::Allowed)));
        assert_eq!(flow.skip_reason_for(&step(2, &[1], true)), None, "what the policy allows is no failure");
        flow.note(&step(2, &[], false), Some(&outcome(Blocking::Blocks)));
        assert_eq!(flow.skip_reason_for(&step(3, &[], true)), Some(SkipReason::AfterFailure));
        assert_eq!(flow.skip_reason_for(&step(4, &[2], true)), Some(SkipReason::DependencyFailed));
    }

    #[test]
    fn a_step_that_was_not_asked_for_holds_nothing_back() {
        let mut flow = StepFlow::default();
        flow.note_skipped(&step(1, &[], true), SkipReason::NotSelected);
        assert_eq!(flow.skip_reason_for(&step(2, &[1], true)), None);
    }

    #[test]
    fn the_time_of_a_run_is_its_own_and_not_what_others_let_it_wait() {
        let begun = clock::monotonic();
        let after = |seconds| begun.plus(Duration::from_secs(seconds)).expect("a near point");
        let timeout = Some(Duration::from_secs(10));
        let mut clock = RunClock { begun, timeout, waited: Duration::ZERO };
        assert_eq!(clock.left(after(4)), Some((Duration::from_secs(6), Duration::from_secs(10))));
        assert!(!clock.is_over(after(9)) && clock.is_over(after(10)) && clock.is_over(after(99)));
        clock.note_wait(Some(DurationMs(5000)));
        assert!(!clock.is_over(after(14)) && clock.is_over(after(15)));
        let endless = RunClock { timeout: None, ..clock };
        assert!(!endless.is_over(after(1_000_000)) && endless.left(after(1)).is_none());
    }
}

#[cfg(test)]
mod stop_requests_tests {
    use super::*;

    #[test]
    fn a_newer_save_stops_checks_and_nothing_else() {
        for phase in [ActionPhase::Prerequisite, ActionPhase::Step, ActionPhase::Cleanup] {
            assert_eq!(stop_reasons_for(phase).contains(&StopReason::Superseded), phase == ActionPhase::Step, "{phase:?}");
            assert!(stop_reasons_for(phase).contains(&StopReason::Interrupted), "{phase:?}");
            assert!(stop_reasons_for(phase).contains(&StopReason::Terminated), "{phase:?}");
            assert_eq!(stop_reasons_for(phase).contains(&StopReason::HelperDied), phase != ActionPhase::Cleanup, "{phase:?}");
        }
    }
}
