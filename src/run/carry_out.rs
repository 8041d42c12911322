//! The order of one run: lock, recovery, tree, start record, prerequisites → steps → cleanup, second look at the tree, verdict,
//! seal, publication.

use crate::project::Carried;
use crate::project::Progress;
use crate::project::ProjectError;
use crate::project::RunRequest;
use crate::project::Selected;
use crate::project::Survey;
use crate::project::Surveyed;
use crate::project::Workspace;
use crate::project::pinned;
use crate::project::select;
use std::collections::BTreeMap;

use crate::evidence::{DurableStep, Ledger, ProjectLock, RunDirectory};
use crate::model::{
    Action, ActionPhase, CheckOrder, Digest, ExpectedFailure, Phase, RunId, Service, StopReason, SupersededRecord, TddState,
    Timestamp, TreeComparison, TreeDigest, TreeIssue,
};
use crate::process::{Control, clock};
use crate::report::{ActionResult, SkipReason};
use crate::run::conclude::{Concluding, prerequisites_met};
use crate::run::order::in_order;
use crate::run::perform::{Performer, RunningService, Started};
use crate::run::prerequisite;
use crate::run::records;
use crate::run::reuse::ReusableInputs;
use crate::run::steps::{Steps, perform_steps};
use crate::tree;

/// Everything that a run needs from its beginning to its end.
pub(crate) struct Course<'a> {
    pub(crate) request: &'a RunRequest<'a>,
    pub(crate) run_id: RunId,
    pub(crate) started: Timestamp,
    pub(crate) begun: clock::Monotonic,
    pub(crate) issues: Vec<TreeIssue>,
    pub(crate) plan_digest: Digest,
    pub(crate) before: TreeDigest,
    pub(crate) tdd: TddState,
    pub(crate) selected: Selected,
    /// The checks in the order of execution.
    pub(crate) order: Vec<&'a Action>,
    /// Prerequisites that are known to have succeeded, by name.
    pub(crate) met: BTreeMap<String, Digest>,
}

impl Course<'_> {
    /// Returns the action that is carried out last.
    pub(crate) fn last_action(&self) -> Option<&Action> {
        let plan = self.request.plan;
        plan.cleanup.last().or_else(|| self.order.last().copied()).or_else(|| plan.prerequisites.last())
    }

    /// Returns whether the checks' inputs must be known before the first check, because a result may be reused in this run or
    /// later.
    fn asks_for_inputs(&self) -> bool {
        !self.tdd.started && self.request.plan.steps.iter().any(|step| !step.reuse.is_off())
    }

    /// Returns the phase in which the run is judged: the requested one, otherwise the task's.
    pub(crate) fn phase(&self) -> Phase {
        self.request.phase.unwrap_or(self.tdd.phase)
    }

    /// Returns the declared failure of the task's tests, if it applies now. It applies in the red phase only: in the other phases
    /// of a started cycle the same tests must pass (C06), whichever phase is requested.
    pub(crate) fn expected_failure(&self) -> Option<&ExpectedFailure> {
        let declared = self.request.plan.criteria.as_ref()?.expected_failure.as_ref();
        declared.filter(|_| !self.tdd.started || (self.tdd.phase == Phase::Red && self.phase() == Phase::Red))
    }

    /// Returns whether the run is a step of a started cycle. A run for another phase than the cycle's gets advice only.
    pub(crate) fn in_cycle(&self) -> bool {
        self.tdd.started && self.phase() == self.tdd.phase && !self.request.is_typed()
    }
}

impl Workspace {
    /// Carries out a plan.
    ///
    /// # Errors
    ///
    /// Only failures of proctor itself: the store, the launcher, a tree that cannot be read. Failures of tools are values.
    pub fn carry_out(&mut self, request: &RunRequest<'_>, show: &mut dyn FnMut(Progress)) -> Result<Carried, ProjectError> {
        let stopped = || request.control.requested().filter(|reason| heeded(ActionPhase::Prerequisite).contains(reason));
        let lock = self.lock(request.scope, request.settings.lock_wait, &stopped, show)?;
        let mut ledger = self.recovered_ledger(&lock, request.scope, show)?;
        self.catch_up(&request.scope.project)?;
        self.keep_task_list(&mut ledger, request.scope, request.settings, show)?;
        let tdd = self.tdd(&request.scope.project, &request.plan.task)?;
        if let Some(pause) = tdd.paused {
            return Ok(Carried::Paused(pause));
        }
        let plan_digest = crate::spec::plan_digest(request.plan);
        let index = self.look_at_tree(request)?;
        let before = index.digest();
        if request.control.requested() == Some(StopReason::Superseded) {
            // The run has left no trace so far, so none is needed. A run that a person stops is recorded.
            return Ok(Carried::Withdrawn);
        }
        if request.unless_tree == Some(before) {
            return Ok(Carried::Unchanged);
        }
        let changed = self.changed_since_verdict(request, plan_digest, &index);
        let selected = select(&request.checks, &request.plan.steps, changed.as_deref());
        if selected == Selected::Nothing {
            return Ok(Carried::Untriggered);
        }
        let dependencies = request.plan.specification.as_ref().map(|source| source.dependencies.as_slice()).unwrap_or_default();
        let unmet = self.unmet_dependencies(request.scope, dependencies, before)?;
        if !unmet.is_empty() {
            return Ok(Carried::Waits(unmet));
        }
        if let Some(unapproved) = self.approve_by_rule(request, plan_digest, &index, &mut ledger, show)? {
            return Ok(Carried::NotApproved(unapproved));
        }
        let failed = match request.settings.order {
            CheckOrder::Plan => Vec::new(),
            CheckOrder::FailedFirst => self.failed_last(request),
        };
        let started = clock::now();
        let course = Course {
            request,
            run_id: RunId::new(started, ledger.next_sequence().0),
            started,
            begun: clock::monotonic(),
            issues: index.issues(),
            plan_digest,
            before,
            tdd,
            selected,
            order: in_order(request.plan, request.settings.order, &failed),
            met: self.prerequisites_met(&request.scope.project)?,
        };
        show(Progress::Begun {
            run_id: course.run_id.clone(),
            project_name: request.plan.project_name.clone(),
            tree: before,
            issues: index.issues(),
        });
        self.parking.open(&lock)?;
        let result = self.run_in_directory(course, &lock, &mut ledger, &index, show);
        if self.has_runs_ahead() {
            self.park_for_the_next_run(&lock)?;
        }
        // A run that was begun and not sealed is closed by the next process that gets the lock.
        result
    }

    fn run_in_directory(
        &mut self,
        course: Course<'_>,
        lock: &ProjectLock,
        ledger: &mut Ledger,
        index: &tree::TreeIndex,
        show: &mut dyn FnMut(Progress),
    ) -> Result<Carried, ProjectError> {
        let request = course.request;
        let mut directory = RunDirectory::create(lock, &request.plan.task, &course.run_id).map_err(ProjectError::Evidence)?;
        directory.start_record(&records::start(&course)).map_err(ProjectError::Evidence)?;
        self.observer()(DurableStep::RunRecordWritten);
        let protected = self.begin_protected(request.plan, index);
        let mut performer = Performer::new(self, lock, &course, &mut directory, show);
        let Carrying { performed, stopped, known } = perform_all(&course, &mut performer, index)?;
        if stopped == Some(StopReason::Superseded) {
            let met = prerequisites_met(&course, &performed);
            return self.drop_superseded(&course, met, directory, ledger);
        }
        let again = known.is_known().then(|| self.begin_survey(request));
        let (comparison, after) = self.sweep(index, request)?;
        let (surveyed, inputs) = known.finish(again, index);
        self.remember_digests(&surveyed.learnt)?;
        // Changes that somebody made to the task list during the checks belong in this report.
        self.keep_task_list(ledger, request.scope, request.settings, show)?;
        let protected = match protected {
            Some(look) => self.protected_seen(request.scope, request.plan, look)?,
            None => None,
        };
        let concluding = Concluding { course: &course, performed, comparison, stopped, surveyed, inputs, protected };
        let carried = self.conclude(concluding, directory, ledger, lock)?;
        self.keep_task_list(ledger, request.scope, request.settings, show)?;
        if matches!(carried, Carried::Judged(_)) {
            self.keep_verdict_tree(request, course.plan_digest, &after);
        }
        Ok(carried)
    }

    fn sweep(
        &mut self,
        before: &tree::TreeIndex,
        request: &RunRequest<'_>,
    ) -> Result<(TreeComparison, tree::TreeIndex), ProjectError> {
        let after = self.look_again(request)?;
        Ok((tree::compare(before, &after), after))
    }

    fn drop_superseded(
        &mut self,
        course: &Course<'_>,
        prerequisites: BTreeMap<String, Digest>,
        directory: RunDirectory,
        ledger: &mut Ledger,
    ) -> Result<Carried, ProjectError> {
        let record = SupersededRecord {
            run_id: course.run_id.clone(),
            task: course.request.plan.task.clone(),
            tree_digest: course.before,
            prerequisites,
            started: course.started,
        };
        let asker = &course.request.scope.asker;
        let (line, offset) =
            crate::evidence::drop_superseded(directory, record, ledger, asker, clock::now()).map_err(ProjectError::Evidence)?;
        self.apply(&course.request.scope.project, offset, line)?;
        Ok(Carried::Superseded)
    }
}

/// The outcome of carrying out all actions.
struct Carrying {
    performed: Vec<ActionResult>,
    stopped: Option<StopReason>,
    known: Surroundings,
}

/// What is known about the run's environment during its checks.
enum Surroundings {
    /// No check needs it, so the survey continues in the background.
    UnderWay(Survey),
    /// The checks' inputs were computed before the first check.
    Known(Box<ReusableInputs>),
}

impl Surroundings {
    fn is_known(&self) -> bool {
        self.inputs().is_some()
    }

    fn inputs(&self) -> Option<&ReusableInputs> {
        match self {
            Self::UnderWay(_) => None,
            Self::Known(inputs) => Some(inputs),
        }
    }

    /// Returns the environment, and the digests of inputs that were the same before and after the checks.
    fn finish(self, again: Option<Survey>, index: &tree::TreeIndex) -> (Surveyed, BTreeMap<String, Digest>) {
        match self {
            Self::UnderWay(survey) => (survey.finish(pinned(index)), BTreeMap::new()),
            Self::Known(inputs) => {
                let ReusableInputs { surveyed, of_checks } = *inputs;
                let is_same = again.is_some_and(|again| again.finish(pinned(index)).digest == surveyed.digest);
                let of_checks = of_checks.into_iter().filter(|_| is_same).map(|(name, (digest, _))| (name, digest));
                (surveyed, of_checks.collect())
            }
        }
    }
}

/// Carries out the prerequisites until one fails, then the steps, then the cleanup. The cleanup runs even if proctor itself
/// failed before.
fn perform_all(
    course: &Course<'_>,
    performer: &mut Performer<'_, '_>,
    index: &tree::TreeIndex,
) -> Result<Carrying, ProjectError> {
    let mut performed = Vec::with_capacity(course.request.plan.actions().count());
    let mut services = Services::default();
    let carried = perform_prerequisites(course, performer, &mut performed, &mut services).and_then(|met| {
        // The survey starts after the prerequisites, because they install what it reads. It continues during the checks.
        let survey = performer.survey();
        let known = if course.asks_for_inputs() && met == Prerequisites::Met {
            Surroundings::Known(Box::new(performer.reusable_inputs(survey, index)?))
        } else {
            Surroundings::UnderWay(survey)
        };
        performed.extend(perform_steps(Steps { course, performer, prerequisites: met, known: known.inputs() })?);
        Ok(known)
    });
    // Stop requests so far end the checks but not the cleanup. Another request ends the cleanup too.
    let control = course.request.control;
    let stopped = control.take().filter(is_of_the_run);
    let served = services.end(performer, &mut performed);
    control.forget(StopReason::ServiceEnded);
    let cleaned = perform_cleanup(course, performer, &mut performed);
    let known = carried?;
    served.and(cleaned)?;
    Ok(Carrying { performed, stopped: stopped.or(control.requested()), known })
}

/// Running services, each with its position among all performed actions.
#[derive(Default)]
struct Services {
    places: Vec<usize>,
    running: Vec<RunningService>,
}

impl Services {
    /// Ends the services because the checks are over, and inserts their results at their positions.
    fn end(self, performer: &mut Performer<'_, '_>, performed: &mut Vec<ActionResult>) -> Result<(), ProjectError> {
        let ended = performer.end_services(self.running)?;
        // Each position already counts the services before it.
        self.places.into_iter().zip(ended).for_each(|(place, one)| performed.insert(place, one));
        Ok(())
    }
}

/// Whether every prerequisite succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prerequisites {
    Met,
    Failed,
}

fn perform_prerequisites(
    course: &Course<'_>,
    performer: &mut Performer<'_, '_>,
    performed: &mut Vec<ActionResult>,
    services: &mut Services,
) -> Result<Prerequisites, ProjectError> {
    let root = &course.request.scope.root;
    let mut so_far = Prerequisites::Met;
    for action in &course.request.plan.prerequisites {
        let one = if so_far == Prerequisites::Failed {
            performer.skip(action, SkipReason::PrerequisiteFailed)
        } else if performer.is_out_of_time() {
            so_far = Prerequisites::Failed;
            performer.skip(action, SkipReason::RunTimedOut)
        } else if let Some(service) = &action.service {
            match start_or_skip(course, performer, action, service)? {
                Started::Over(one) => *one,
                Started::Ready(running) => {
                    services.places.push(performed.len() + services.running.len());
                    services.running.push(*running);
                    continue;
                }
            }
        } else if prerequisite::is_unchanged(root, action, &course.met) {
            performer.skip(action, SkipReason::Unchanged)
        } else {
            // The inputs are read before the start: the prerequisite may not have seen what is saved while it runs.
            let inputs = prerequisite::inputs(root, action);
            let mut one = perform_or_stop(course, performer, action)?;
            one.met = inputs.and_then(|inputs| prerequisite::state_digest(root, action, inputs));
            one
        };
        if one.blocks() && !action.continue_on_failure {
            so_far = Prerequisites::Failed;
        }
        performed.push(one);
    }
    Ok(so_far)
}

/// Carries out every cleanup action, even if proctor fails at one of them. The first such failure is returned at the end.
fn perform_cleanup(
    course: &Course<'_>,
    performer: &mut Performer<'_, '_>,
    performed: &mut Vec<ActionResult>,
) -> Result<(), ProjectError> {
    let mut outcome = Ok(());
    for action in &course.request.plan.cleanup {
        match performer.perform(action) {
            Ok(one) => performed.push(one),
            Err(error) => outcome = outcome.and(Err(error)),
        }
    }
    outcome
}

fn perform_or_stop(
    course: &Course<'_>,
    performer: &mut Performer<'_, '_>,
    action: &Action,
) -> Result<ActionResult, ProjectError> {
    if is_stopped(course, action) {
        return Ok(performer.skip(action, skip_reason(course.request.control)));
    }
    performer.perform(action)
}

fn start_or_skip(
    course: &Course<'_>,
    performer: &mut Performer<'_, '_>,
    action: &Action,
    service: &Service,
) -> Result<Started, ProjectError> {
    if is_stopped(course, action) {
        return Ok(Started::Over(Box::new(performer.skip(action, skip_reason(course.request.control)))));
    }
    performer.start_service(action, service)
}

pub(crate) fn is_stopped(course: &Course<'_>, action: &Action) -> bool {
    course.request.control.requested().is_some_and(|reason| heeded(action.phase).contains(&reason))
}

/// Returns why an action is skipped: after a service ended, because a prerequisite failed; otherwise because the run was stopped.
pub(crate) fn skip_reason(control: &Control) -> SkipReason {
    match control.requested() {
        Some(StopReason::ServiceEnded) => SkipReason::PrerequisiteFailed,
        Some(StopReason::ChecksOver | StopReason::Superseded | StopReason::Interrupted | StopReason::Terminated) | None => {
            SkipReason::Stopped
        }
    }
}

/// Returns whether a stop request ends the whole run, which then has no verdict.
fn is_of_the_run(reason: &StopReason) -> bool {
    match reason {
        StopReason::ServiceEnded | StopReason::ChecksOver => false,
        StopReason::Superseded | StopReason::Interrupted | StopReason::Terminated => true,
    }
}

/// Returns the stop requests that apply to an action of this phase. A newer save stops checks, but neither prerequisites nor
/// cleanup. The end of a service stops everything except the cleanup.
pub(crate) fn heeded(phase: ActionPhase) -> &'static [StopReason] {
    match phase {
        ActionPhase::Step => &[StopReason::ServiceEnded, StopReason::Superseded, StopReason::Interrupted, StopReason::Terminated],
        ActionPhase::Prerequisite => &[StopReason::ServiceEnded, StopReason::Interrupted, StopReason::Terminated],
        ActionPhase::Cleanup => &[StopReason::Interrupted, StopReason::Terminated],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_save_stops_checks_and_nothing_else() {
        for phase in [ActionPhase::Prerequisite, ActionPhase::Step, ActionPhase::Cleanup] {
            assert_eq!(heeded(phase).contains(&StopReason::Superseded), phase == ActionPhase::Step, "{phase:?}");
            assert!(heeded(phase).contains(&StopReason::Interrupted), "{phase:?}");
            assert!(heeded(phase).contains(&StopReason::Terminated), "{phase:?}");
        }
    }
}
