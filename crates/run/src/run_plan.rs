//! One run of a plan, as stages. Each stage is a function of its own; its parameters say which owners it touches, and its result is
//! what it hands on.
//!
//! Before anything runs: [`open_ledger`], [`look`], [`select`], [`approve`], [`context_of_run`], [`begin`]. The first four may end the
//! attempt with an outcome, so that no run begins. Then [`carry_out`]: `perform_all` → `look_again` → `judge_and_seal`.

use std::collections::BTreeMap;

use crate::check_place::{CheckPlace, SnapshotOrReason, look_and_copy, place_of_checks};
use crate::flow::stop_reasons_for;
use crate::guarded_files::GuardedFiles;
use crate::judge_and_seal::{RunEnd, judge_and_seal};
use crate::left_behind::LeftBefore;
use crate::look_again::{BackgroundLooks, SecondLook, left_by_stopped_run, look_again};
use crate::order::{last_failed_checks, last_report_path, order_checks, order_setting};
use crate::perform::{Performer, configured_files, may_replace_session};
use crate::perform_all::{PerformedActions, perform_all};
use crate::records::{self, prerequisites_met};
use crate::reuse::results_on_this_tree;
use crate::run_context::RunContext;
use proctor_evidence::report::ActionResult;
use proctor_evidence::{DurableStep, Ledger, LedgerLookup, ProjectLock, RunDirectory, Store, remove_half_of_run};
use proctor_index::RunsJudgedBy;
use proctor_model::{
    ActionPhase, CachesMode, ChangedRules, CheckOrder, Digest, RunId, StopReason, SupersededRecord, TddState, Timestamp,
};
use proctor_project::{
    Evidence, HeldLedger, LastRuns, PlanApproval, Progress, ProjectError, RunOutcome, RunRequest, Runner, SelectedChecks, Trees,
    Workspace, approve_by_rule, has_link, mend_link, park_for_the_next_run, restore_link, select_checks, unmet_dependencies,
    update_task_list,
};
use proctor_sandbox::process::clock;
use proctor_tree::{TreeHints, TreeIndex};

/// Why no run begins.
enum NotBegun {
    /// The attempt has an outcome already, for example because no check is triggered.
    Decided(Box<RunOutcome>),
    Failed(ProjectError),
}

impl From<RunOutcome> for NotBegun {
    fn from(outcome: RunOutcome) -> Self {
        Self::Decided(Box::new(outcome))
    }
}

impl From<ProjectError> for NotBegun {
    fn from(error: ProjectError) -> Self {
        Self::Failed(error)
    }
}

/// The project's files as they were before anything ran.
struct FirstLook {
    /// The time of the file system's clock before the tree was read.
    looked: Timestamp,
    index: TreeIndex,
    copies: SnapshotOrReason,
    plan_digest: Digest,
}

/// A run that has begun: nothing was carried out yet.
struct BegunRun<'a> {
    context: RunContext<'a>,
    place: CheckPlace,
    index: TreeIndex,
}

/// Carries out a plan once, judges the results and seals the run.
pub(crate) fn run_plan_once(
    workspace: &mut Workspace,
    request: &RunRequest<'_>,
    show: &mut dyn FnMut(Progress),
) -> Result<RunOutcome, ProjectError> {
    match begin_and_carry_out(workspace, request, show) {
        Ok(outcome) => Ok(outcome),
        Err(NotBegun::Decided(outcome)) => Ok(*outcome),
        Err(NotBegun::Failed(error)) => Err(error),
    }
}

fn begin_and_carry_out(
    workspace: &mut Workspace,
    request: &RunRequest<'_>,
    show: &mut dyn FnMut(Progress),
) -> Result<RunOutcome, NotBegun> {
    let Workspace { evidence, trees, runner, last_runs, .. } = &mut *workspace;
    let (mut held, tdd) = open_ledger(evidence, request, show)?;
    let look = look(&evidence.store, trees, runner, request)?;
    let selected = select(evidence, trees, request, &look)?;
    let changed_rules = approve(evidence, runner, last_runs, request, &look, &mut held.ledger, show)?;
    let context = context_of_run(evidence, trees, request, &held.ledger, &look, (tdd, changed_rules), selected)?;
    if context.changed_rules.is_none() {
        trees.known.keep_tested(request.scope, &look.index);
    }
    let run = begin(&evidence.store, runner, last_runs, context, look, &held.lock)?;
    Ok(carry_out(workspace, run, &mut held, show)?)
}

/// Locks the project's evidence and brings ledger, index and task list up to date. Returns the state of the task's cycle too.
fn open_ledger(
    evidence: &mut Evidence,
    request: &RunRequest<'_>,
    show: &mut dyn FnMut(Progress),
) -> Result<(HeldLedger, TddState), NotBegun> {
    let stopped = || request.control.requested().filter(|reason| stop_reasons_for(ActionPhase::Prerequisite).contains(reason));
    let mut held = evidence.hold_ledger(request.scope, request.settings.lock_wait, &stopped, show)?;
    held.ledger.read_signing_key(clock::now()).map_err(ProjectError::Evidence)?;
    // A link that leads elsewhere is no part of the tree only where it is the project's own.
    mend_link(&evidence.store, request.scope, request.settings).into_iter().for_each(|note| show(Progress::Note(note)));
    update_task_list(evidence, &mut held.ledger, request.scope, request.settings, show)?;
    let tdd = evidence.tdd(&request.scope.project, &request.plan.task)?;
    match tdd.paused {
        Some(pause) => Err(RunOutcome::Paused(pause).into()),
        None => Ok((held, tdd)),
    }
}

/// Reads the tree, and copies it for a snapshot.
fn look(store: &Store, trees: &mut Trees, runner: &mut Runner, request: &RunRequest<'_>) -> Result<FirstLook, NotBegun> {
    let plan_digest = proctor_plan::spec::plan_digest(request.plan);
    let looked = clock::file_time();
    let (index, copies) = look_and_copy(store, trees, runner, request, &request.hints)?;
    if request.control.requested() == Some(StopReason::Superseded) {
        // A newer save replaces this run, which has left no trace so far, so nothing is sealed. A run that a person
        // stops is recorded.
        return Err(RunOutcome::Withdrawn.into());
    }
    if request.unless_tree == Some(index.digest()) {
        return Err(RunOutcome::Unchanged.into());
    }
    Ok(FirstLook { looked, index, copies, plan_digest })
}

/// Selects the checks that the changes trigger, if the tasks that this one depends on are complete.
fn select(evidence: &Evidence, trees: &Trees, request: &RunRequest<'_>, look: &FirstLook) -> Result<SelectedChecks, NotBegun> {
    let changed = trees.changed_since_verdict(request, look.plan_digest, &look.index);
    let selected = select_checks(&request.checks, &request.plan.steps, changed.as_deref());
    if selected == SelectedChecks::Nothing {
        return Err(RunOutcome::Untriggered.into());
    }
    let dependencies = request.plan.specification.as_ref().map(|source| source.dependencies.as_slice()).unwrap_or_default();
    let unmet = unmet_dependencies(evidence, request.scope, dependencies, look.index.digest())?;
    if !unmet.is_empty() {
        return Err(RunOutcome::Waits(unmet).into());
    }
    Ok(selected)
}

/// Makes sure that the plan may be carried out. Returns which of its rules nobody has approved.
fn approve(
    evidence: &mut Evidence,
    runner: &Runner,
    last_runs: &LastRuns,
    request: &RunRequest<'_>,
    look: &FirstLook,
    ledger: &mut Ledger,
    show: &mut dyn FnMut(Progress),
) -> Result<Option<ChangedRules>, NotBegun> {
    let programs = runner.program_search(request.scope, request.settings);
    match approve_by_rule(evidence, programs, request, look.plan_digest, &look.index, ledger, show)? {
        PlanApproval::Approved => {
            evidence.approved_trees.keep_first_approved_tree(&evidence.store, request.scope, &look.index);
            Ok(None)
        }
        PlanApproval::ChangedRules(changed) => Ok(Some(changed)),
        PlanApproval::Refused(mut unapproved) => {
            let before = last_runs.before_stopped_run.get(&request.scope.project).map(GuardedFiles::before);
            unapproved.protected.extend(before.and_then(|before| before.changed_in_stopped_run(&request.scope.root)));
            Err(RunOutcome::NotApproved(unapproved).into())
        }
    }
}

fn context_of_run<'a>(
    evidence: &Evidence,
    trees: &Trees,
    request: &'a RunRequest<'a>,
    ledger: &Ledger,
    look: &FirstLook,
    (tdd, changed_rules): (TddState, Option<ChangedRules>),
    selected: SelectedChecks,
) -> Result<RunContext<'a>, ProjectError> {
    let order = order_setting(request.plan, request.settings.order);
    // A project without a ledger had no run. A ledger that cannot be read stops the run elsewhere.
    let lookup = LedgerLookup::open(&evidence.store, &request.scope.project).ok();
    let failed = match order {
        CheckOrder::FailedFirst if request.plan.steps.len() > 1 => last_failed_checks(evidence, request, lookup.as_ref()),
        CheckOrder::Plan | CheckOrder::FailedFirst => Vec::new(),
    };
    let before = look.index.digest();
    let on_this_tree = results_on_this_tree(&evidence.index, request, look.plan_digest, before, tdd.started)?;
    // A run by rules that nobody approved leaves nothing to a run by approved ones, so these do not name it.
    let judged_by = if changed_rules.is_some() { RunsJudgedBy::AnyRules } else { RunsJudgedBy::ApprovedRules };
    let last = evidence.index.last_run(&request.scope.project, &request.plan.task, judged_by);
    let last = last.map_err(ProjectError::Index)?.and_then(|last| Some((last.run_id, last.tree_digest?)));
    let started = clock::now();
    Ok(RunContext {
        request,
        run_id: RunId::new(started, ledger.next_run_number()?),
        looked: look.looked,
        started,
        begun: clock::monotonic(),
        since_last_run: last.and_then(|last| trees.difference_since(request.scope, last, &look.index)),
        issues: look.index.issues(),
        plan_digest: look.plan_digest,
        before,
        tdd,
        selected,
        order: order_checks(request.plan, order, &failed),
        on_this_tree,
        met: evidence.prerequisites_met(&request.scope.project)?,
        left_before: lookup.map_or_else(LeftBefore::default, |ledger| LeftBefore::read(&ledger, &request.scope.root)),
        guarded: GuardedFiles::default(),
        changed_rules,
        configured_files: configured_files(request.plan, &request.scope.root, &look.index),
        may_replace_session: false,
    })
}

/// Decides where the checks work, and notes the files that must not change meanwhile.
fn begin<'a>(
    store: &Store,
    runner: &mut Runner,
    last_runs: &mut LastRuns,
    mut context: RunContext<'a>,
    look: FirstLook,
    lock: &ProjectLock,
) -> Result<BegunRun<'a>, ProjectError> {
    let request = context.request;
    runner.preparation.open(lock)?;
    // A run by rules that nobody approved finds no caches of other runs, and leaves none.
    let caches = if context.changed_rules.is_some() { CachesMode::Fresh } else { request.settings.sandbox.caches };
    let place = place_of_checks(store, runner, request, look.copies, caches)?;
    context.may_replace_session =
        may_replace_session(request.plan, &request.scope.root, &look.index, &mut last_runs.session_code);
    let guarded = GuardedFiles::find(request, &look.index, &place);
    context.guarded = guarded.since(last_runs.before_stopped_run.remove(&request.scope.project));
    Ok(BegunRun { context, place, index: look.index })
}

/// Carries out a run that has begun, and leaves project and store ready for the next one.
fn carry_out(
    workspace: &mut Workspace,
    run: BegunRun<'_>,
    held: &mut HeldLedger,
    show: &mut dyn FnMut(Progress),
) -> Result<RunOutcome, ProjectError> {
    let (request, run_id) = (run.context.request, run.context.run_id.clone());
    show(Progress::Begun {
        run_id: run_id.clone(),
        project_name: request.plan.project_name.clone(),
        task: request.plan.task.clone(),
        tree: run.context.before,
        issues: run.index.issues(),
        index: Box::new(run.index.clone()),
        last_report: last_report_path(&workspace.evidence, request),
    });
    let had_link = has_link(&workspace.evidence.store, request.scope, request.settings);
    let result = run_in_directory(workspace, run, held, show);
    let store = &workspace.evidence.store;
    if had_link {
        restore_link(store, request.scope, request.settings).into_iter().for_each(|note| show(Progress::Note(note)));
    }
    if result.as_ref().is_err_and(ProjectError::is_disk_full) {
        let removed = remove_half_of_run(&held.lock, &request.plan.task, &run_id);
        let note = match removed {
            Ok(()) => format!("the disk is full, so what run {} had written was removed", run_id.number()),
            Err(_) => format!("the disk is full, and what run {} had written could not be removed", run_id.number()),
        };
        show(Progress::Note(note));
    }
    if workspace.runner.has_runs_ahead() {
        park_for_the_next_run(store, &mut workspace.runner, &held.lock)?;
    }
    // If the run was begun and not sealed, the next process that gets the lock closes it.
    result
}

/// Carries out the actions, looks at the project again, judges and seals.
fn run_in_directory(
    workspace: &mut Workspace,
    run: BegunRun<'_>,
    held: &mut HeldLedger,
    show: &mut dyn FnMut(Progress),
) -> Result<RunOutcome, ProjectError> {
    let BegunRun { context, mut place, index } = run;
    let request = context.request;
    let mut directory = begin_directory(&workspace.evidence, &held.lock, &context)?;
    let looks = BackgroundLooks::begin(&workspace.evidence.store, request, &place, &index);
    let mut performer = Performer::new(workspace, &held.lock, &context, &mut place, &index, &mut directory, show);
    let PerformedActions { results, stopped, died, known, toolchains, prepared } = perform_all(&context, &mut performer, &index)?;
    if stopped == Some(StopReason::Superseded) {
        let before = context.guarded.before_if_changed(&request.scope.root);
        let before = before.map(|before| (request.scope.project.clone(), before));
        workspace.last_runs.before_stopped_run.extend(before);
        let left = left_by_stopped_run(workspace, &context, &results, known, &index)?;
        return drop_superseded(&mut workspace.evidence, &context, &results, left, directory, &mut held.ledger);
    }
    let second = SecondLook {
        context: &context,
        place: &mut place,
        index: &index,
        results: &results,
        stopped,
        known,
        toolchains,
        prepared,
        looks,
    };
    let after = look_again(workspace, second, &mut held.ledger, show)?;
    let mut run_end = RunEnd { context: &context, performed: results, stopped, died, after };
    let Workspace { evidence, trees, runner, last_runs, .. } = workspace;
    let outcome = judge_and_seal(evidence, trees, runner, last_runs, &mut run_end, directory, held)?;
    update_task_list(evidence, &mut held.ledger, request.scope, request.settings, show)?;
    if matches!(outcome, RunOutcome::Judged(_)) {
        trees.keep_checked_tree(&evidence.index, request, &run_end.after.tree);
        // A run by rules that nobody approved leaves nothing to the next run.
        if context.changed_rules.is_none() {
            trees.keep_verdict_tree(request, context.plan_digest, &run_end.after.tree);
            evidence.approved_trees.keep_approved_tree(&evidence.store, request.scope, &index);
            runner.bytecode.to_compile = place.modules_to_compile(&request.scope.project);
        }
    }
    Ok(outcome)
}

/// Makes the directory of a run, with the record that the run was started.
fn begin_directory(evidence: &Evidence, lock: &ProjectLock, context: &RunContext<'_>) -> Result<RunDirectory, ProjectError> {
    let directory = RunDirectory::create(lock, &context.request.plan.task, &context.run_id);
    let mut directory = directory?;
    directory.start_record(&records::start(context))?;
    evidence.observer()(DurableStep::RunRecordWritten);
    Ok(directory)
}

/// Ends a run that a newer save replaces. It gets no verdict.
fn drop_superseded(
    evidence: &mut Evidence,
    context: &RunContext<'_>,
    performed: &[ActionResult],
    left_in_environment: BTreeMap<String, String>,
    directory: RunDirectory,
    ledger: &mut Ledger,
) -> Result<RunOutcome, ProjectError> {
    let record = SupersededRecord {
        run_id: context.run_id.clone(),
        task: context.request.plan.task.clone(),
        tree_digest: context.before,
        prerequisites: prerequisites_met(context, performed),
        programs: None,
        left_in_environment,
        started: context.started,
    };
    let asker = &context.request.scope.asker;
    let (line, offset) = proctor_evidence::drop_superseded(directory, record, ledger, asker, clock::now())?;
    evidence.apply(&context.request.scope.project, offset, line)?;
    Ok(RunOutcome::Superseded)
}

// Repeats a run during which a helper process of proctor died: the launcher (it starts actions) or the keeper (it watches one action).
// Such a death, for example by the kernel when memory runs out, says nothing about the code that is checked.

/// Carries out a plan, judges the results and seals the run. `show` is called with every step of the progress.
///
/// A run during which a helper process of proctor died is sealed without a verdict, and the plan is carried out once more. If
/// a helper process dies again, the outcome is [`RunOutcome::HelperDied`].
///
/// # Errors
///
/// Only failures of proctor itself: the store, the launcher, a tree that cannot be read. Failures of tools are
/// values.
pub fn run_plan(
    workspace: &mut Workspace,
    request: &RunRequest<'_>,
    show: &mut dyn FnMut(Progress),
) -> Result<RunOutcome, ProjectError> {
    let first = run_plan_once(workspace, request, show)?;
    let RunOutcome::HelperDied(sealed) = &first else { return Ok(first) };
    show(Progress::HelperDied {
        run_id: sealed.run_id.clone(),
        exit: sealed.exit,
        why: sealed.report.validation_criteria_evaluation.reason.clone(),
    });
    let again = RunRequest {
        checks: request.checks.clone(),
        trigger: request.trigger.clone(),
        // Files may have changed since the hints of the first request were given.
        hints: TreeHints::Everything,
        ..*request
    };
    let second = run_plan_once(workspace, &again, show)?;
    // A newer save came before the repetition began. The first run did begin, so the plan was not merely withdrawn.
    Ok(if matches!(second, RunOutcome::Withdrawn) { RunOutcome::Superseded } else { second })
}
