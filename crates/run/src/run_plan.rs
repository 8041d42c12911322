//! The order of one run: lock, recovery, tree, start record, prerequisites → steps → cleanup, second reading of the
//! tree, verdict, seal, publication.

use std::collections::{BTreeMap, BTreeSet};

use crate::check_place::CheckPlace;
use crate::conditions::IgnoredBefore;
use crate::environment::{LookedTwice, SurveyProgress};
use crate::guarded_files::GuardedFiles;
use crate::judge_and_seal::{RunEnd, prerequisites_met};
use crate::missing_root::require_root;
use crate::order::{order_checks, order_setting};
use crate::perform::{Performer, RunningService, ServiceStart, configured_files};
use crate::prerequisite;
use crate::program_records::{ends_in_usage_error, program_records};
use crate::project::{Progress, ProjectError, RunOutcome, RunRequest, SelectedChecks, Workspace, select_checks};
use crate::records;
use crate::steps::{Steps, perform_steps, start_or_skip};
use crate::stop_requests::{is_stopped, skip_reason, stop_reasons_for, stops_whole_run};
use proctor_evidence::report::{ActionResult, SkipReason};
use proctor_evidence::{DurableStep, Ledger, ProjectLock, RunDirectory, remove_half_of_run};
use proctor_model::{
    Action, ActionId, ActionPhase, CheckOrder, Digest, ExpectedFailure, HelperDeath, Phase, ProgramRecord, RunId, StopReason,
    SupersededRecord, TddState, Timestamp, TreeComparison, TreeDigest, TreeIssue,
};
use proctor_sandbox::process::clock;
use proctor_tools::ConfiguredFiles;
use proctor_tree as tree;

/// Everything that a run needs from its beginning to its end.
pub(crate) struct RunContext<'a> {
    pub(crate) request: &'a RunRequest<'a>,
    pub(crate) run_id: RunId,
    /// The time of the file system's clock before the tree was read. A file with a later time may have been saved during
    /// the run.
    pub(crate) looked: Timestamp,
    pub(crate) started: Timestamp,
    pub(crate) begun: clock::Monotonic,
    pub(crate) issues: Vec<TreeIssue>,
    pub(crate) plan_digest: Digest,
    pub(crate) before: TreeDigest,
    pub(crate) tdd: TddState,
    pub(crate) selected: SelectedChecks,
    /// The checks in the order of execution.
    pub(crate) order: Vec<&'a Action>,
    /// The runs in which checks already had a result on this tree, by check, if the missing checks were asked for.
    pub(crate) on_this_tree: BTreeMap<ActionId, RunId>,
    /// The prerequisites that succeeded in earlier runs, by name. The value is the digest of the prerequisite's command,
    /// inputs and outputs when it last succeeded.
    pub(crate) met: BTreeMap<String, Digest>,
    /// The files that decide how the project is judged, if an action of the plan works in the project itself.
    pub(crate) guarded: GuardedFiles,
    /// The checks of which neither tree nor program changed since a rule approved their commands. Empty if no action ended in a
    /// usage error, and until the actions have ended.
    pub(crate) unchanged_since_approval: BTreeSet<ActionId>,
    /// Whether a configuration in the tree may leave files out of a check that does not say how many files it had.
    pub(crate) configured_files: ConfiguredFiles,
}

impl RunContext<'_> {
    /// Returns the action that is carried out last.
    pub(crate) fn last_action(&self) -> Option<&Action> {
        let plan = self.request.plan;
        plan.cleanup.last().or_else(|| self.order.last().copied()).or_else(|| plan.prerequisites.last())
    }

    /// Returns whether the checks' inputs must be known before the first check, because a result may be reused in this
    /// run or later. In a started cycle nothing is reused.
    fn needs_check_inputs(&self) -> bool {
        let may_reuse_later = self.request.plan.steps.iter().any(|step| !step.reuse.is_off());
        !self.tdd.started && (may_reuse_later || !self.on_this_tree.is_empty())
    }

    /// Returns the phase in which the run is judged: the requested one, otherwise the task's.
    pub(crate) fn phase(&self) -> Phase {
        self.request.phase.unwrap_or(self.tdd.phase)
    }

    /// Returns the declared failure of the task's tests, if it applies now. Outside of a started cycle it always
    /// applies. In a started cycle it applies in the red phase only: in the other phases the same tests must pass
    /// (C06), whichever phase is requested.
    pub(crate) fn expected_failure(&self) -> Option<&ExpectedFailure> {
        let declared = self.request.plan.criteria.as_ref()?.expected_failure.as_ref();
        declared.filter(|_| !self.tdd.started || (self.tdd.phase == Phase::Red && self.phase() == Phase::Red))
    }

    /// Returns whether the run is a step of a started cycle. A run for another phase than the cycle's gets advice only.
    pub(crate) fn is_step_of_cycle(&self) -> bool {
        self.tdd.started && self.phase() == self.tdd.phase && !self.request.is_typed()
    }
}

impl Workspace {
    /// Carries out a plan once, judges the results and seals the run.
    pub(super) fn run_plan_once(
        &mut self,
        request: &RunRequest<'_>,
        show: &mut dyn FnMut(Progress),
    ) -> Result<RunOutcome, ProjectError> {
        let stopped =
            || request.control.requested().filter(|reason| stop_reasons_for(ActionPhase::Prerequisite).contains(reason));
        let lock = self.lock(request.scope, request.settings.lock_wait, &stopped, show)?;
        let mut ledger = self.recovered_ledger(&lock, request.scope, show)?;
        self.catch_up(&request.scope.project)?;
        self.keep_task_list(&mut ledger, request.scope, request.settings, show)?;
        let tdd = self.tdd(&request.scope.project, &request.plan.task)?;
        if let Some(pause) = tdd.paused {
            return Ok(RunOutcome::Paused(pause));
        }
        let plan_digest = proctor_plan::spec::plan_digest(request.plan);
        let looked = clock::file_time();
        let (index, copies) = self.look_and_copy(request, &request.hints)?;
        let before = index.digest();
        if request.control.requested() == Some(StopReason::Superseded) {
            // A newer save replaces this run, which has left no trace so far, so nothing is sealed. A run that a person
            // stops is recorded.
            return Ok(RunOutcome::Withdrawn);
        }
        if request.unless_tree == Some(before) {
            return Ok(RunOutcome::Unchanged);
        }
        let changed = self.changed_since_verdict(request, plan_digest, &index);
        let selected = select_checks(&request.checks, &request.plan.steps, changed.as_deref());
        if selected == SelectedChecks::Nothing {
            return Ok(RunOutcome::Untriggered);
        }
        let dependencies = request.plan.specification.as_ref().map(|source| source.dependencies.as_slice()).unwrap_or_default();
        let unmet = self.unmet_dependencies(request.scope, dependencies, before)?;
        if !unmet.is_empty() {
            return Ok(RunOutcome::Waits(unmet));
        }
        if let Some(mut unapproved) = self.approve_by_rule(request, plan_digest, &index, &mut ledger, show)? {
            let before = self.before_stopped_run.get(&request.scope.project).map(GuardedFiles::before);
            unapproved.weakened.extend(before.and_then(|before| before.changed_in_stopped_run(&request.scope.root)));
            return Ok(RunOutcome::NotApproved(unapproved));
        }
        self.keep_first_approved_tree(request.scope, &index);
        let check_order = order_setting(request.plan, request.settings.order);
        let failed = match check_order {
            CheckOrder::Plan => Vec::new(),
            CheckOrder::FailedFirst => self.last_failed_checks(request),
        };
        let on_this_tree = self.results_on_this_tree(request, (plan_digest, before), tdd.started)?;
        let started = clock::now();
        let mut context = RunContext {
            request,
            run_id: RunId::new(started, ledger.next_sequence().0),
            looked,
            started,
            begun: clock::monotonic(),
            issues: index.issues(),
            plan_digest,
            before,
            tdd,
            selected,
            order: order_checks(request.plan, check_order, &failed),
            on_this_tree,
            met: self.prerequisites_met(&request.scope.project)?,
            guarded: GuardedFiles::default(),
            unchanged_since_approval: BTreeSet::new(),
            configured_files: configured_files(request.plan, &request.scope.root, &index),
        };
        self.run_preparation.open(&lock)?;
        let place = self.place_of_checks(request, copies)?;
        let guarded = GuardedFiles::find(request, &index, &place);
        context.guarded = guarded.since(self.before_stopped_run.remove(&request.scope.project));
        show(Progress::Begun {
            run_id: context.run_id.clone(),
            project_name: request.plan.project_name.clone(),
            tree: before,
            issues: index.issues(),
            index: Box::new(index.clone()),
            last_report: self.last_report_path(request),
        });
        let run_id = context.run_id.clone();
        let had_link = self.has_link(request.scope, request.settings);
        let result = self.run_in_directory((context, place), &lock, &mut ledger, &index, show);
        if had_link {
            self.restore_link(request.scope, request.settings).into_iter().for_each(|note| show(Progress::Note(note)));
        }
        if result.as_ref().is_err_and(ProjectError::is_disk_full) {
            let removed = remove_half_of_run(&lock, &request.plan.task, &run_id);
            let note = match removed {
                Ok(()) => format!("the disk is full, so what run {} had written was removed", run_id.number()),
                Err(_) => format!("the disk is full, and what run {} had written could not be removed", run_id.number()),
            };
            show(Progress::Note(note));
        }
        if self.has_runs_ahead() {
            self.park_for_the_next_run(&lock)?;
        }
        // If the run was begun and not sealed, the next process that gets the lock closes it.
        result
    }

    fn run_in_directory(
        &mut self,
        (mut context, mut place): (RunContext<'_>, CheckPlace),
        lock: &ProjectLock,
        ledger: &mut Ledger,
        index: &tree::TreeIndex,
        show: &mut dyn FnMut(Progress),
    ) -> Result<RunOutcome, ProjectError> {
        let request = context.request;
        let mut directory = RunDirectory::create(lock, &request.plan.task, &context.run_id).map_err(ProjectError::Evidence)?;
        directory.start_record(&records::start(&context)).map_err(ProjectError::Evidence)?;
        self.observer()(DurableStep::RunRecordWritten);
        let protected = self.begin_protected_scan(request.plan, index);
        let ignored = IgnoredBefore::look(request, &place, index);
        let mut performer = Performer::new(self, lock, (&context, &mut place), &mut directory, show);
        let PerformedActions { performed, stopped, died, known, prepared } = perform_all(&context, &mut performer, index)?;
        if ends_in_usage_error(&performed) {
            context.unchanged_since_approval = self.unchanged_since_approval(request, context.before)?;
        }
        if stopped == Some(StopReason::Superseded) {
            let met = prerequisites_met(&context, &performed);
            let before = context.guarded.before_if_changed(&request.scope.root);
            self.before_stopped_run.extend(before.map(|before| (request.scope.project.clone(), before)));
            return self.drop_superseded(
                &context,
                (met, program_records(&performed, &context.unchanged_since_approval)),
                directory,
                ledger,
            );
        }
        require_root(&request.scope.root, &performed)?;
        let once = known.finish(index);
        self.remember_digests(&request.scope.project, &once.surveyed)?;
        let again = self.begin_second_survey(request, index, &once);
        if stopped != Some(StopReason::HelperDied) {
            show(Progress::ChecksOver);
        }
        // On a snapshot the checks saw only the tree that was digested, whatever was saved meanwhile. Only
        // prerequisites, and checks whose settings say so, worked in the project itself.
        let (mut comparison, after) = match prepared {
            _ if !place.is_snapshot() || !names_in_place(&performed).is_empty() => self.sweep(index, request)?,
            PreparedTree::AsDigested => {
                (TreeComparison { after: context.before, moved: Vec::new(), files: index.files() }, index.clone())
            }
            PreparedTree::ReadAgain(after) => (tree::compare(index, &after), *after),
            PreparedTree::InUse => self.sweep(index, request)?,
        };
        // Files that `writes` names are copied to the project only after the second reading of the tree, if there is
        // one. Otherwise that reading would take the copied files for saves of a person.
        let kept = self.copy_out(&context, &mut place, stopped, index)?;
        // Changes that somebody made to the task list during the checks belong in this report.
        self.keep_task_list(ledger, request.scope, request.settings, show)?;
        let protected = match protected {
            Some(look) => self.protected_files_status(request.scope, request.plan, look)?,
            None => None,
        };
        let LookedTwice { surveyed, inputs, moved } = once.look_again(again, index);
        comparison.moved.extend(moved);
        for path in context.guarded.changed(&request.scope.root) {
            if !comparison.moved.contains(&path) {
                comparison.moved.push(path);
            }
        }
        let snapshot = place.facts(&names_in_place(&performed));
        let conditions = ignored.conditions(request, &place, index);
        let run_end = RunEnd {
            context: &context,
            performed,
            comparison,
            stopped,
            died,
            surveyed,
            inputs,
            protected,
            snapshot,
            conditions,
            kept,
        };
        let carried = self.judge_and_seal(run_end, directory, ledger, lock)?;
        self.keep_task_list(ledger, request.scope, request.settings, show)?;
        if matches!(carried, RunOutcome::Judged(_)) {
            self.keep_verdict_tree(request, context.plan_digest, &after);
            self.keep_approved_tree(request.scope, index);
            self.bytecode.to_compile = place.modules_to_compile(&request.scope.project);
        }
        Ok(carried)
    }

    /// Reads the tree again and compares it with the tree before the checks.
    fn sweep(
        &mut self,
        before: &tree::TreeIndex,
        request: &RunRequest<'_>,
    ) -> Result<(TreeComparison, tree::TreeIndex), ProjectError> {
        let after = self.rescan_tree(request)?;
        Ok((tree::compare(before, &after), after))
    }

    fn drop_superseded(
        &mut self,
        context: &RunContext<'_>,
        (prerequisites, programs): (BTreeMap<String, Digest>, Vec<ProgramRecord>),
        directory: RunDirectory,
        ledger: &mut Ledger,
    ) -> Result<RunOutcome, ProjectError> {
        let record = SupersededRecord {
            run_id: context.run_id.clone(),
            task: context.request.plan.task.clone(),
            tree_digest: context.before,
            prerequisites,
            programs: Some(programs),
            started: context.started,
        };
        let asker = &context.request.scope.asker;
        let (line, offset) =
            proctor_evidence::drop_superseded(directory, record, ledger, asker, clock::now()).map_err(ProjectError::Evidence)?;
        self.apply(&context.request.scope.project, offset, line)?;
        Ok(RunOutcome::Superseded)
    }
}

/// Returns the names of the checks that ran in the project itself because their own settings say so.
fn names_in_place(performed: &[ActionResult]) -> Vec<&str> {
    let ran = performed.iter().filter(|one| one.action.in_place && one.executed().is_some());
    ran.map(|one| one.action.name.as_str()).collect()
}

/// The outcome of carrying out all actions.
struct PerformedActions {
    performed: Vec<ActionResult>,
    stopped: Option<StopReason>,
    /// The death of a helper process while an action went on; `None` if there was none.
    died: Option<HelperDeath>,
    known: SurveyProgress,
    prepared: PreparedTree,
}

/// The tree on which the checks ran, if they ran on a snapshot.
enum PreparedTree {
    /// No prerequisite ran, so the tree is the one that was digested at the beginning.
    AsDigested,
    /// The tree after the last prerequisite.
    ReadAgain(Box<tree::TreeIndex>),
    /// A service worked in the project itself while the checks ran, because a prerequisite came after it.
    InUse,
}

/// Carries out the prerequisites until one fails, then the steps, then the cleanup. The cleanup runs even if proctor
/// itself failed before.
fn perform_all(
    context: &RunContext<'_>,
    performer: &mut Performer<'_, '_>,
    index: &tree::TreeIndex,
) -> Result<PerformedActions, ProjectError> {
    let mut performed = Vec::with_capacity(context.request.plan.actions().count());
    let mut services = RunningServices::default();
    let mut prepared = PreparedTree::AsDigested;
    let carried = perform_prerequisites(context, performer, &mut performed, (&mut services, &mut prepared)).and_then(|met| {
        // The survey starts after the prerequisites, because they install what it reads. It continues during the
        // checks.
        let survey = performer.survey(index);
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
    Ok(PerformedActions { performed, stopped, died, known, prepared })
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
    (services, prepared): (&mut RunningServices, &mut PreparedTree),
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
