//! The steps of a run, one after another or side by side. Decides which of them are carried out.

use crate::concurrency::{Concurrency, ConcurrencyLimits, concurrency};
use crate::flow::{StepFlow, is_stopped, skip_reason};
use crate::parallel_steps::ParallelSteps;
use crate::perform::{Performer, ServiceStart};
use crate::perform_all::PrerequisiteStatus;
use crate::reuse::ReusableInputs;
use crate::run_context::RunContext;
use proctor_evidence::report::{ActionResult, SkipReason};
use proctor_model::{Action, Service};
use proctor_project::{ProjectError, Selection};

/// What is needed to carry out, skip or reuse the steps of a run.
pub(crate) struct Steps<'s, 'w, 'c> {
    pub(crate) context: &'s RunContext<'s>,
    pub(crate) performer: &'s mut Performer<'w, 'c>,
    pub(crate) prerequisites: PrerequisiteStatus,
    pub(crate) known: Option<&'s ReusableInputs>,
}

/// Carries out the steps, and returns their results in the order of execution.
pub(crate) fn perform_steps(mut steps: Steps<'_, '_, '_>) -> Result<Vec<ActionResult>, ProjectError> {
    let request = steps.context.request;
    let limits = ConcurrencyLimits {
        setting: request.settings.parallel,
        home: request.settings.sandbox.home,
        on_snapshot: steps.performer.place.is_snapshot(),
        turns: steps.performer.turns(),
    };
    match concurrency(request.plan, limits) {
        Concurrency::OneByOne => {}
        together @ (Concurrency::AllIndependent | Concurrency::Validations) => {
            return ParallelSteps::new(steps, together)?.run_all();
        }
    }
    let mut flow = StepFlow::default();
    let mut performed = Vec::with_capacity(steps.context.order.len());
    for action in steps.context.order.iter().copied() {
        let one = match steps.skip_or_reuse(action, &flow) {
            Some(one) => one,
            None => steps.performer.perform(action)?,
        };
        note(&mut flow, action, &one);
        performed.push(one);
    }
    Ok(performed)
}

impl Steps<'_, '_, '_> {
    /// Returns the result of a step that is skipped or reused; `None` if the step has to be carried out.
    pub(crate) fn skip_or_reuse(&mut self, action: &Action, flow: &StepFlow) -> Option<ActionResult> {
        let reason = if self.performer.is_out_of_time() {
            SkipReason::RunTimedOut
        } else if self.prerequisites == PrerequisiteStatus::Failed {
            SkipReason::PrerequisiteFailed
        } else if let Some(verdict) =
            self.performer.earlier_verdict(action, self.known).filter(|_| !is_stopped(self.context, action))
        {
            // A reused result is reported even if the change does not trigger the check, because the verdict then
            // covers one more check.
            return Some(self.performer.reuse(action, verdict));
        } else if !self.context.selected.holds(&action.name) {
            // A run of checks that were chosen by name leaves the others out.
            let is_chosen = matches!(self.context.request.checks, Selection::Named(_));
            if action.when.is_save() || is_chosen { SkipReason::NotSelected } else { SkipReason::WaitsForRequest }
        } else if let Some(reason) = flow.skip_reason_for(action) {
            reason
        } else if is_stopped(self.context, action) {
            skip_reason(self.context.request.control)
        } else {
            return None;
        };
        Some(self.performer.skip(action, reason))
    }
}

/// Tells the flow how a step ended, so that it can skip the steps that depend on it.
pub(crate) fn note(flow: &mut StepFlow, action: &Action, one: &ActionResult) {
    match one.skipped() {
        Some(reason) => flow.note_skipped(action, reason),
        None => flow.note(action, one.judgement()),
    }
}

/// Starts a service, unless the run is being stopped.
pub(crate) fn start_or_skip(
    context: &RunContext<'_>,
    performer: &mut Performer<'_, '_>,
    action: &Action,
    service: &Service,
) -> Result<ServiceStart, ProjectError> {
    if is_stopped(context, action) {
        return Ok(ServiceStart::Over(Box::new(performer.skip(action, skip_reason(context.request.control)))));
    }
    performer.start_service(action, service)
}
