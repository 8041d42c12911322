//! Which stop requests of a run apply to which of its actions.

use crate::run_context::RunContext;
use proctor_evidence::report::SkipReason;
use proctor_model::{Action, ActionPhase, StopReason};
use proctor_sandbox::process::Control;

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
