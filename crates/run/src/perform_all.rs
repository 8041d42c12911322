//! Carries out all actions of a run: prerequisites, steps, cleanup.

use crate::environment::SurveyProgress;
use crate::flow::{is_stopped, skip_reason, stops_whole_run};
use crate::perform::{Performer, RunningService, ServiceStart};
use crate::prerequisite;
use crate::run_context::RunContext;
use crate::steps::{Steps, perform_steps, start_or_skip};
use proctor_evidence::report::{ActionResult, SkipReason};
use proctor_model::{Action, HelperDeath, PlanNote, StopReason};
use proctor_project::{ProjectError, ToolchainSurvey};
use proctor_tree::TreeIndex;

/// The outcome of carrying out all actions.
pub(crate) struct PerformedActions {
    pub(crate) results: Vec<ActionResult>,
    pub(crate) stopped: Option<StopReason>,
    /// The death of a helper process while an action went on; `None` if there was none.
    pub(crate) died: Option<HelperDeath>,
    pub(crate) known: SurveyProgress,
    pub(crate) toolchains: Option<ToolchainSurvey>,
    pub(crate) prepared: PreparedTree,
}

/// The tree on which the checks ran, if they ran on a snapshot.
pub(crate) enum PreparedTree {
    /// No prerequisite ran, so the tree is the one that was digested at the beginning.
    AsDigested,
    /// The tree after the last prerequisite.
    ReadAgain(Box<TreeIndex>),
    /// A service worked in the project itself while the checks ran, because a prerequisite came after it.
    InUse,
}

/// Carries out the prerequisites until one fails, then the steps, then the cleanup. The cleanup runs even if proctor
/// itself failed before.
pub(crate) fn perform_all(
    context: &RunContext<'_>,
    performer: &mut Performer<'_, '_>,
    index: &TreeIndex,
) -> Result<PerformedActions, ProjectError> {
    let mut performed = Vec::with_capacity(context.request.plan.actions().count());
    let mut services = RunningServices::default();
    let mut prepared = PreparedTree::AsDigested;
    let carried = perform_prerequisites(context, performer, &mut performed, &mut services, &mut prepared).and_then(|met| {
        // The survey starts after the prerequisites, because they install what it reads. It continues during the
        // checks.
        let survey = performer.survey(index);
        performer.survey_toolchains(index);
        let known = if context.needs_check_inputs() && met == PrerequisiteStatus::Met {
            SurveyProgress::Known(Box::new(performer.reusable_inputs(survey, index)?))
        } else {
            SurveyProgress::UnderWay(survey)
        };
        performed.extend(perform_steps(Steps { context, performer, prerequisites: met, known: known.inputs() })?);
        Ok(known)
    });
    // Stop requests so far end the checks but not the cleanup. Another request ends the cleanup too.
    let control = context.request.control;
    let stopped = control.take().filter(stops_whole_run);
    let served = services.end(performer, &mut performed);
    control.forget(StopReason::ServiceEnded);
    let cleaned = perform_cleanup(context, performer, &mut performed);
    // The death of a helper process ends this run only, not its repetition.
    let died = performer.helper_death().cloned();
    let stopped = stopped.or(control.requested()).or(died.as_ref().map(|_| StopReason::HelperDied));
    control.forget(StopReason::HelperDied);
    let known = carried?;
    served.and(cleaned)?;
    let toolchains = performer.toolchains.take();
    if let (Some(message), Some(first)) = (performer.references.unseen(), performed.first_mut()) {
        first.notes.push(PlanNote { subject: "git".to_owned(), message });
    }
    Ok(PerformedActions { results: performed, stopped, died, known, toolchains, prepared })
}

/// Running services, each with its position among all performed actions.
#[derive(Default)]
struct RunningServices {
    places: Vec<usize>,
    running: Vec<RunningService>,
}

impl RunningServices {
    /// Ends the services because the checks are over, and inserts their results at their positions.
    fn end(self, performer: &mut Performer<'_, '_>, performed: &mut Vec<ActionResult>) -> Result<(), ProjectError> {
        let ended = performer.end_services(self.running)?;
        // Inserting in this order is right, because each position already counts the services before it.
        self.places.into_iter().zip(ended).for_each(|(place, one)| performed.insert(place, one));
        Ok(())
    }
}

/// Whether the checks may be carried out. `Failed` means that a prerequisite blocks and has no `continue_on_failure`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrerequisiteStatus {
    Met,
    Failed,
}

fn perform_prerequisites(
    context: &RunContext<'_>,
    performer: &mut Performer<'_, '_>,
    performed: &mut Vec<ActionResult>,
    services: &mut RunningServices,
    prepared: &mut PreparedTree,
) -> Result<PrerequisiteStatus, ProjectError> {
    let root = &context.request.scope.root;
    let plan = context.request.plan;
    // Services from this position on, and the checks, work on the snapshot. The prerequisites before this position work
    // in the project.
    let snapshot_from = plan.prerequisites.iter().rposition(|action| action.service.is_none()).map_or(0, |last| last + 1);
    let mut so_far = PrerequisiteStatus::Met;
    let mut has_run = false;
    for (position, action) in plan.prerequisites.iter().enumerate() {
        if position == snapshot_from && so_far == PrerequisiteStatus::Met {
            *prepared = performer.prepare_place(has_run, services)?;
        }
        let one = if so_far == PrerequisiteStatus::Failed {
            performer.skip(action, SkipReason::PrerequisiteFailed)
        } else if performer.is_out_of_time() {
            so_far = PrerequisiteStatus::Failed;
            performer.skip(action, SkipReason::RunTimedOut)
        } else if let Some(service) = &action.service {
            match start_or_skip(context, performer, action, service)? {
                ServiceStart::Over(one) => *one,
                ServiceStart::Ready(running) => {
                    services.places.push(performed.len() + services.running.len());
                    services.running.push(*running);
                    continue;
                }
            }
        } else if prerequisite::is_unchanged(root, action, &context.met) {
            performer.skip(action, SkipReason::Unchanged)
        } else {
            // The inputs are read before the start, because the prerequisite may not see what is saved while it runs.
            let inputs = prerequisite::inputs(root, action);
            has_run = true;
            let mut one = perform_or_stop(context, performer, action)?;
            one.met = inputs.and_then(|inputs| prerequisite::state_digest(root, action, inputs));
            one
        };
        if one.blocks() && !action.continue_on_failure {
            so_far = PrerequisiteStatus::Failed;
        }
        performed.push(one);
    }
    if snapshot_from == plan.prerequisites.len() && so_far == PrerequisiteStatus::Met {
        *prepared = performer.prepare_place(has_run, services)?;
    }
    Ok(so_far)
}

impl Performer<'_, '_> {
    /// Updates the snapshot to what the prerequisites left in the project, and lets services use the snapshot. `services`
    /// are the services that run already.
    fn prepare_place(&mut self, has_run: bool, services: &RunningServices) -> Result<PreparedTree, ProjectError> {
        let after = if has_run { self.refresh_place()? } else { None };
        self.place.open_for_services();
        Ok(match after {
            _ if !services.running.is_empty() => PreparedTree::InUse,
            Some(after) => PreparedTree::ReadAgain(Box::new(after)),
            None => PreparedTree::AsDigested,
        })
    }
}

/// Carries out every cleanup action, even if proctor fails at one of them. The first such failure is returned at the
/// end.
fn perform_cleanup(
    context: &RunContext<'_>,
    performer: &mut Performer<'_, '_>,
    performed: &mut Vec<ActionResult>,
) -> Result<(), ProjectError> {
    let mut outcome = Ok(());
    for action in &context.request.plan.cleanup {
        match performer.perform(action) {
            Ok(one) => performed.push(one),
            Err(error) => outcome = outcome.and(Err(error)),
        }
    }
    outcome
}

fn perform_or_stop(
    context: &RunContext<'_>,
    performer: &mut Performer<'_, '_>,
    action: &Action,
) -> Result<ActionResult, ProjectError> {
    if is_stopped(context, action) {
        return Ok(performer.skip(action, skip_reason(context.request.control)));
    }
    performer.perform(action)
}
