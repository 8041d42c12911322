//! The steps of a run, one after another or side by side. Decides which of them are carried out.

use crate::model::Action;
use crate::project::ProjectError;
use crate::report::{ActionResult, SkipReason};
use crate::run::carry_out::{Course, Prerequisites, is_stopped, skip_reason};
use crate::run::flow::Flow;
use crate::run::perform::Performer;
use crate::run::reuse::ReusableInputs;
use crate::run::side_by_side::SideBySide;

/// What is needed to carry out the steps.
pub(crate) struct Steps<'s, 'w, 'c> {
    pub(crate) course: &'s Course<'s>,
    pub(crate) performer: &'s mut Performer<'w, 'c>,
    pub(crate) prerequisites: Prerequisites,
    pub(crate) known: Option<&'s ReusableInputs>,
}

/// Carries out the steps, and returns their results in the order of execution.
pub(crate) fn perform_steps(mut steps: Steps<'_, '_, '_>) -> Result<Vec<ActionResult>, ProjectError> {
    if steps.course.request.plan.parallel {
        return SideBySide::new(steps).carry_out();
    }
    let mut flow = Flow::default();
    let mut performed = Vec::with_capacity(steps.course.order.len());
    for action in steps.course.order.iter().copied() {
        let one = match steps.settle(action, &flow) {
            Some(one) => one,
            None => steps.performer.perform(action)?,
        };
        note(&mut flow, action, &one);
        performed.push(one);
    }
    Ok(performed)
}

impl Steps<'_, '_, '_> {
    /// Returns the result of a step that is skipped or reused; none: it has to be carried out.
    pub(crate) fn settle(&mut self, action: &Action, flow: &Flow) -> Option<ActionResult> {
        let reason = if self.performer.is_out_of_time() {
            SkipReason::RunTimedOut
        } else if self.prerequisites == Prerequisites::Failed {
            SkipReason::PrerequisiteFailed
        } else if let Some(verdict) =
            self.performer.earlier_verdict(action, self.known).filter(|_| !is_stopped(self.course, action))
        {
            // A reused result is reported even if the change does not trigger the check, because the run then says more.
            return Some(self.performer.reuse(action, verdict));
        } else if !self.course.selected.holds(&action.name) {
            SkipReason::NotSelected
        } else if let Some(reason) = flow.obstacle(action) {
            reason
        } else if is_stopped(self.course, action) {
            skip_reason(self.course.request.control)
        } else {
            return None;
        };
        Some(self.performer.skip(action, reason))
    }
}

/// Records the result of a step.
pub(crate) fn note(flow: &mut Flow, action: &Action, one: &ActionResult) {
    match one.skipped() {
        Some(reason) => flow.note_skipped(action, reason),
        None => flow.note(action, one.judgement()),
    }
}
