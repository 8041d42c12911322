//! The end of a run: verdict, route, report, seal, index, link. The judgements themselves are made elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::criteria_facts::{run_cause, test_result};
use crate::earlier_runs::{earlier_runs, told_notes};
use crate::environment::toolchain_component;
use crate::exports::write_exports;
use crate::hidden_inputs::add_input_notes;
use crate::look_again::ProjectAfter;
use crate::lowered_verdict::{
    needs_a_person, note_changed_rules, note_partial_selection, note_protected_files, note_rewritten_tree, note_tests_not_run,
};
use crate::records::{check_records, inputs, named_checks, prerequisites_met};
use crate::review::write_debt;
use crate::run_context::RunContext;
use crate::{criteria_facts, records, review};
use proctor_evidence::report::{
    ActionResult, CompletionFacts, ContentionV2, EnvironmentComponentV2, EnvironmentV2, ExecutionReportV2, RouteFacts, RunFacts,
    SkipReason, TddV2, TreeFacts, attested, build, seal_hash, to_bytes,
};
use proctor_evidence::{DurableStep, RunDirectory, SealInput, publish_latest, remove_outputs_of_run, seal};
use proctor_model::{
    Action, ActionPhase, Blocking, CommandExit, CopiedFiles, CriteriaEvaluation, Digest, DurationMs, EvidenceFile, HelperDeath,
    HomeAccess, IsolationFacts, IsolationLevel, OPEN_WORLD, OnDisk, OverallStatus, PersonAsked, PlanNote, ResultType, RouteEntry,
    RouteKind, RunRecord, StopReason, TddState, Timestamp, UNNAMED_FILES,
};
use proctor_plan::routing::{self, TestResult};
use proctor_plan::verdict::{self, CyclePosition, RunFlow, RunVerdict};
use proctor_project::{
    Evidence, HeldLedger, LastRuns, ProjectError, ProjectScope, RunOutcome, Runner, SealedReport, Trees, changed_between,
    note_not_hashed,
};
use proctor_sandbox::isolation::{self, StartedAction};
use proctor_sandbox::process::clock;

/// The longest report, in bytes, that is kept in memory for the comparison with the next run.
const LARGEST_KEPT_REPORT: usize = 1 << 20;

/// Everything that is known about a run when its last action is over.
pub(crate) struct RunEnd<'a> {
    pub(crate) context: &'a RunContext<'a>,
    pub(crate) performed: Vec<ActionResult>,
    pub(crate) stopped: Option<StopReason>,
    /// The death of a helper process while an action went on; `None` if there was none.
    pub(crate) died: Option<HelperDeath>,
    pub(crate) after: ProjectAfter,
}

/// What was decided about a run, before its report is built.
struct RunJudgement {
    verdict: RunVerdict,
    criteria: Option<CriteriaEvaluation>,
    route: Option<RouteEntry>,
    override_of: Option<proctor_model::NextNode>,
    tdd: TddState,
    ended: Timestamp,
}

/// Judges, reports, seals and publishes a run.
pub(crate) fn judge_and_seal(
    evidence: &mut Evidence,
    trees: &mut Trees,
    runner: &mut Runner,
    last_runs: &mut LastRuns,
    run_end: &mut RunEnd<'_>,
    mut directory: RunDirectory,
    held: &mut HeldLedger,
) -> Result<RunOutcome, ProjectError> {
    let decided = decide(run_end);
    let context = run_end.context;
    let request = context.request;
    let facts = facts_beside_others(evidence, trees, runner, run_end, &decided)?;
    let told_notes = told_notes(evidence, last_runs, request);
    let mut report = write_debt(evidence, request, build(&facts), &mut directory)?;
    report.violations = evidence.index.violations_since(&request.scope.project, 0)?;
    let report = seal_hash(write_exports(&evidence.store, request, report, &mut directory)?);
    let record = record(run_end, &facts.actions, &decided, &report);
    let sealing = SealInput { report: to_bytes(&report), record, attested: attested(&report).with_tests(&facts.actions) };
    // While the files are being written to disk, the launcher can be shut down without delaying the seal.
    runner.dismiss_launcher_after_last_run();
    let removed = remove_outputs_of_run(&held.lock, &context.run_id).map_err(ProjectError::Evidence);
    if !runner.has_runs_ahead() {
        runner.preparation.close();
    }
    let is_kept = runner.has_runs_ahead() && sealing.report.len() <= LARGEST_KEPT_REPORT;
    let directory = seal_and_publish(evidence, request.scope, directory, sealing, held)?;
    removed?;
    if let Some(hash) = report.authenticity.report_hash.filter(|_| is_kept) {
        evidence.last_report.keep(hash, Arc::new(report.clone()));
    }
    let sealed = Box::new(sealed_report(run_end, &facts.actions, &decided, report, told_notes, &directory));
    evidence.observer()(DurableStep::Published);
    last_runs.to_prune = Some((request.scope.clone(), request.settings.limits));
    // Without a reserve the run is sealed all the same. While the reserve is there, this reads only its length.
    let _unwritten = evidence.store.renew_reserve();
    Ok(outcome(sealed, decided.verdict.overall_status, run_end.stopped))
}

/// Returns the facts for the report, with the notes that come from a comparison with earlier runs and with the rest of the project.
fn facts_beside_others(
    evidence: &Evidence,
    trees: &mut Trees,
    runner: &Runner,
    run_end: &mut RunEnd<'_>,
    decided: &RunJudgement,
) -> Result<RunFacts, ProjectError> {
    let request = run_end.context.request;
    let before = evidence.configuration_before(&request.scope.project, &request.plan.task)?;
    let mut facts = facts(run_end, decided, &before);
    let head = run_end.after.conditions.head.clone();
    let earlier = earlier_runs(evidence, request, &facts, head.as_deref());
    run_end.after.conditions.fewer_tests.clone_from(&earlier.fewer);
    facts.fewer_tests = earlier.fewer;
    facts.notes.extend(earlier.notes);
    facts.notes.extend(runner.refused_requests.take_note());
    facts.notes.extend(trees.note_tracked_outside(request.scope));
    add_input_notes(request, &mut facts.notes);
    if let Some(files) = facts.tests_modified.as_mut().filter(|files| files.modified) {
        files.tests = earlier.tests;
    }
    Ok(facts)
}

/// Returns the outcome of a sealed run.
fn outcome(sealed: Box<SealedReport>, status: OverallStatus, stopped: Option<StopReason>) -> RunOutcome {
    match status {
        OverallStatus::Moved => RunOutcome::Moved(sealed),
        OverallStatus::Interrupted => match stopped {
            Some(StopReason::HelperDied) => RunOutcome::HelperDied(sealed),
            Some(StopReason::ServiceEnded | StopReason::ChecksOver | StopReason::Superseded)
            | Some(StopReason::Interrupted | StopReason::Terminated)
            | None => RunOutcome::Interrupted(sealed),
        },
        OverallStatus::Success
        | OverallStatus::PartialSuccess
        | OverallStatus::RewroteTree
        | OverallStatus::Failed
        | OverallStatus::SpecificationError
        | OverallStatus::Superseded => RunOutcome::Judged(sealed),
    }
}

/// Seals a run, then updates the index and the task's links. Returns the run's directory.
pub(crate) fn seal_and_publish(
    evidence: &mut Evidence,
    scope: &ProjectScope,
    directory: RunDirectory,
    sealing: SealInput,
    held: &mut HeldLedger,
) -> Result<PathBuf, ProjectError> {
    let leads_latest = sealing.record.leads_latest();
    let (task, run_id) = (sealing.record.task.clone(), sealing.record.run_id.clone());
    let observer = evidence.observer();
    let sealed = seal(directory, sealing, &mut held.ledger, &scope.asker, clock::now(), &*observer)?;
    // The seal makes the verdict final. If updating the index fails, the lock file is not marked as published, so
    // the next run brings the index up to date.
    let indexed = evidence.apply(&scope.project, sealed.offset_after, sealed.line);
    if indexed.is_ok() {
        observer(DurableStep::IndexUpdated);
    }
    let linked = if leads_latest { publish_latest(&held.lock, &task, &run_id).map_err(ProjectError::Evidence) } else { Ok(()) };
    if leads_latest && linked.is_ok() {
        observer(DurableStep::LatestLinked);
    }
    match indexed.and(linked) {
        Ok(()) => held.lock.mark_published(),
        Err(error) => evidence.say_behind(&run_id, &error),
    }
    Ok(sealed.directory)
}

fn decide(run_end: &RunEnd<'_>) -> RunJudgement {
    let context = run_end.context;
    let flow = match (run_end.stopped, &run_end.died) {
        (Some(StopReason::Interrupted | StopReason::Terminated), _) => RunFlow::Interrupted,
        (Some(StopReason::Superseded), _) => RunFlow::Superseded,
        (None | Some(StopReason::HelperDied | StopReason::ServiceEnded | StopReason::ChecksOver), Some(death)) => {
            RunFlow::HelperDied(death)
        }
        (None | Some(StopReason::HelperDied | StopReason::ServiceEnded | StopReason::ChecksOver), None)
            if !run_end.after.comparison.moved.is_empty() =>
        {
            RunFlow::Moved
        }
        // The end of a service is a failed prerequisite, which is judged like any other result.
        (None | Some(StopReason::HelperDied | StopReason::ServiceEnded | StopReason::ChecksOver), None) => RunFlow::Finished,
    };
    let selected = run_end.performed.iter().filter(|one| !one.skipped().is_some_and(SkipReason::is_left_out));
    let results: Vec<_> = selected.map(|one| (one.action.phase, one.judgement())).collect();
    let mut verdict = verdict::judge_run(&results, &flow);
    let criteria = criteria_facts::judge(&mut verdict, context, &run_end.performed);
    note_partial_selection(run_end, &mut verdict);
    note_protected_files(run_end, &mut verdict);
    note_rewritten_tree(run_end, &mut verdict);
    // An approval of the rules takes back what is said of them alone, so it is said last.
    note_tests_not_run(run_end, &mut verdict);
    note_changed_rules(run_end, &mut verdict);
    let ended = clock::now();
    if flow != RunFlow::Finished {
        return RunJudgement { verdict, criteria, route: None, override_of: None, tdd: context.tdd.clone(), ended };
    }
    let (route, tdd) = route(run_end, ended, verdict.overall_status);
    let override_of = route.as_ref().and_then(overridden);
    RunJudgement { verdict, criteria, route, override_of, tdd, ended }
}

/// Decides where the task goes next by the first TEST action that did not succeed, otherwise by the last TEST action
/// (R1). There is no route if no TEST action was carried out (R2),
/// or if the run is no verdict on its tree.
fn route(run_end: &RunEnd<'_>, now: Timestamp, status: OverallStatus) -> (Option<RouteEntry>, TddState) {
    let context = run_end.context;
    if status == OverallStatus::RewroteTree {
        return (None, context.tdd.clone());
    }
    // When a prerequisite failed while the checks ran, as a service can, the results of the checks say nothing about
    // the code.
    if run_end.performed.iter().any(|one| one.status() == Some(ResultType::PrerequisiteFailure) && one.blocks()) {
        return (None, context.tdd.clone());
    }
    // "First" means first in the plan, whatever the order of execution was.
    let performed = |step: &Action| run_end.performed.iter().find(|one| one.action.id == step.id);
    let cause = run_cause(&context.request.trigger);
    let told = |one| Some((one, TestResult { cause, ..test_result(one, &context.run_id, context.before, now)? }));
    let tests: Vec<_> = context.request.plan.steps.iter().filter_map(performed).filter_map(told).collect();
    let chosen = tests.iter().find(|(one, _)| one.status() != Some(ResultType::Success)).or(tests.last());
    let Some((_, result)) = chosen else { return (None, context.tdd.clone()) };
    let settings = &context.request.settings.routing;
    let asked = context.request.phase.filter(|phase| *phase != context.tdd.phase || !context.tdd.started);
    let is_no_step = context.request.is_typed() || context.changed_rules.is_some();
    let advice = asked.or_else(|| is_no_step.then(|| context.phase()));
    let review = review::missing_review_verdict(&run_end.performed);
    let protected = needs_a_person(run_end);
    let verify = |state| match (review, &protected) {
        (Some(why), _) => routing::verify_without_review_verdict(result, state, settings, why),
        (None, Some(why)) => routing::verify_with_unapproved_files(result, state, settings, why),
        (None, None) => routing::verify_phase(result, state, settings),
    };
    let verified = match advice {
        // A run that asks for another phase than the task's is no step of the cycle, so no attempt is counted (R6). The
        // same holds for a typed command, and for a run by rules that nobody approved.
        Some(phase) => {
            let asked = TddState { phase, started: false, ..TddState::default() };
            let verified = verify(asked);
            routing::RouteDecision { state: context.tdd.clone(), ..verified }
        }
        None => verify(context.tdd.clone()),
    };
    verified.log.iter().for_each(|line| tracing::debug!("{line}"));
    routing::emit_decision(&context.request.plan.task, &context.run_id, &verified.entry, result.category);
    (Some(verified.entry), verified.state)
}

fn overridden(entry: &RouteEntry) -> Option<proctor_model::NextNode> {
    match entry.kind {
        RouteKind::Routed => None,
        RouteKind::RetryLimit
        | RouteKind::AttemptLimit
        | RouteKind::CollectionErrorPolicy
        | RouteKind::Category
        | RouteKind::ProtectedFiles
        | RouteKind::NotRedYet
        | RouteKind::Override => Some(routing::route_by_exit_code(entry.exit_code.unwrap_or(3), entry.phase).next_node),
    }
}

fn facts(run_end: &mut RunEnd<'_>, decided: &RunJudgement, before: &BTreeMap<String, Digest>) -> RunFacts {
    let context = run_end.context;
    let request = context.request;
    let verdict = &decided.verdict;
    let counts = verdict.overall_status.counts();
    let isolation = isolation::facts(
        run_end.performed.iter().filter_map(|result| {
            let kept = result.executed()?.ended.kept.as_ref()?;
            Some(StartedAction { name: &result.action.name, network: result.action.network, kept })
        }),
        &request.settings.sandbox,
        run_end.after.snapshot.tested,
    );
    run_end.after.conditions.unnamed = unnamed_files(isolation.as_ref());
    RunFacts {
        run_id: context.run_id.clone(),
        project_id: request.scope.project.clone(),
        plan: request.plan.clone(),
        plan_digest: context.plan_digest,
        specification_file: records::specification_file(request.plan),
        started: context.started,
        ended: decided.ended,
        duration: DurationMs::from(clock::monotonic().since(context.begun)),
        generated_at: decided.ended,
        process_id: std::process::id(),
        overall_status: verdict.overall_status,
        overall_result: verdict.overall_result,
        overall_reason: verdict.reason.clone(),
        completion: CompletionFacts {
            status: verdict.completion_status,
            task_status: verdict.task_status,
            partial_reason: verdict.partial_reason,
            reason: verdict.completion_reason.clone(),
        },
        criteria: decided.criteria.clone(),
        trigger: request.trigger.clone(),
        tree: TreeFacts {
            format: request.settings.tree_format(),
            before: context.before,
            comparison: Some(run_end.after.comparison.clone()),
            since_last_run: context.since_last_run.clone(),
            issues: context.issues.clone(),
            snapshot: Some(run_end.after.snapshot.clone()),
        },
        isolation,
        environment: environment(run_end),
        configuration_changed: changed_between(before, &run_end.after.surveyed.configuration),
        rules_changed: context.changed_rules.as_ref().map(|rules| rules.changed.clone()).unwrap_or_default(),
        fewer_tests: None,
        tests_modified: run_end.after.protected.as_ref().map(|seen| seen.to_report(request.plan)),
        route: decided.route.clone().map(|entry| RouteFacts { entry, override_of: decided.override_of }),
        tdd: counts.then(|| tdd_facts(context, decided)),
        evidence_files: evidence_files(&run_end.performed),
        contended: contended(&run_end.performed),
        lost_events: if request.lost_events { vec![LOST_EVENTS.to_owned()] } else { Vec::new() },
        notes: notes(run_end),
        // This line moves the actions out of `run_end`, so it must come after everything that reads them.
        actions: std::mem::take(&mut run_end.performed),
    }
}

/// Returns the open channels by which checks read files that no digest names.
fn unnamed_files(isolation: Option<&IsolationFacts>) -> Vec<String> {
    let channels = isolation.into_iter().flat_map(|isolation| &isolation.open_channels);
    channels.filter(|channel| channel.starts_with(OPEN_WORLD) || channel.starts_with(UNNAMED_FILES)).cloned().collect()
}

/// The report's text when the kernel may have dropped events before the run.
const LOST_EVENTS: &str = "file events may have been lost before this run; the whole tree was compared";

fn environment(run_end: &RunEnd<'_>) -> EnvironmentV2 {
    let names: BTreeSet<_> = run_end.performed.iter().flat_map(|one| one.environment_names.iter().cloned()).collect();
    let mut components = run_end.after.surveyed.components.clone();
    components.extend(run_end.after.conditions.toolchains.iter().filter_map(|toolchain| {
        Some(EnvironmentComponentV2 { name: toolchain_component(&toolchain.path), sha256: toolchain.content? })
    }));
    components.extend(run_end.performed.iter().filter_map(|one| {
        let server = &one.action.remote.as_ref()?.server;
        let is_there = one.executed()?.ended.kept.as_ref()?.reached.level == IsolationLevel::Remote;
        let sha256 = server.image_digest().filter(|_| is_there)?;
        Some(EnvironmentComponentV2 { name: format!("image asked of {}", server.endpoint), sha256 })
    }));
    components.dedup_by(|a, b| a.name == b.name);
    let (digest, variables) = (run_end.after.surveyed.digest, run_end.after.variables);
    EnvironmentV2 { digest, names: names.into_iter().collect(), variables, components }
}

fn tdd_facts(context: &RunContext<'_>, decided: &RunJudgement) -> TddV2 {
    TddV2 {
        started: context.tdd.started,
        phase: context.tdd.phase,
        phase_after: decided.tdd.phase,
        attempts: decided.tdd.attempts,
        paused: decided.tdd.paused.clone(),
        notice: decided.tdd.notice.clone(),
    }
}

fn evidence_files(performed: &[ActionResult]) -> Vec<EvidenceFile> {
    performed.iter().flat_map(|one| one.files.iter().cloned()).collect()
}

fn contended(performed: &[ActionResult]) -> Vec<ContentionV2> {
    let waited = |one: &ActionResult| Some(ContentionV2 { action_id: one.action.id.clone(), waited_ms: one.waited? });
    performed.iter().filter_map(waited).collect()
}

fn notes(run_end: &RunEnd<'_>) -> Vec<PlanNote> {
    let one_by_one = || PlanNote {
        subject: "parallelExecution".to_owned(),
        message: "the steps were carried out one after the other: with `home = \"overlay\"` they share what they change there"
            .to_owned(),
    };
    let request = run_end.context.request;
    let of_the_run = (request.plan.parallel && request.settings.sandbox.home == HomeAccess::Overlay).then(one_by_one);
    let of_actions = run_end.performed.iter().flat_map(|one| one.notes.iter().cloned());
    let of_programs = run_end.after.conditions.other_programs.iter().map(|text| PlanNote {
        subject: "program".to_owned(),
        message: format!("{text}; the run proves nothing of a commit until a person says so (`proctor approve`)"),
    });
    let of_toolchains = note_not_hashed(&run_end.after.conditions.toolchains);
    of_actions.chain(of_the_run).chain(of_toolchains).chain(of_programs).chain(run_end.after.kept.notes.iter().cloned()).collect()
}

fn record(run_end: &RunEnd<'_>, actions: &[ActionResult], decided: &RunJudgement, report: &ExecutionReportV2) -> RunRecord {
    let context = run_end.context;
    let counts = decided.verdict.overall_status.counts();
    // A run by rules that nobody approved leaves no result that another run may use.
    let is_of_tree = counts && decided.verdict.overall_status != OverallStatus::RewroteTree && context.changed_rules.is_none();
    RunRecord {
        run_id: context.run_id.clone(),
        task: context.request.plan.task.clone(),
        report_hash: report.authenticity.report_hash.expect("`seal_hash` set it"),
        manifest_hash: Digest::of(b""),
        tree_digest: Some(context.before),
        tree_format: context.request.settings.tree_format(),
        tested: Some(run_end.after.snapshot.tested),
        environment_digest: Some(run_end.after.surveyed.digest),
        plan_digest: Some(context.plan_digest),
        checks: named_checks(context),
        overall_status: decided.verdict.overall_status,
        overall_result: decided.verdict.overall_result,
        blocking: decided.verdict.blocking,
        exit: Some(exit(run_end, actions, decided)),
        isolation: report.isolation.as_ref().map(|isolation| isolation.level).filter(|level| level.is_weaker()),
        route: decided.route.clone(),
        tdd: (counts && context.changed_rules.is_none()).then(|| decided.tdd.clone()),
        prerequisites: prerequisites_met(context, actions),
        configuration: run_end.after.surveyed.configuration.clone(),
        inputs: if is_of_tree { inputs(run_end, actions) } else { BTreeMap::new() },
        results: (counts && !context.request.is_typed()).then(|| check_records(actions)),
        programs: None,
        conditions: Some(Box::new(run_end.after.conditions.clone())),
        reused: report.reused.iter().map(|reused| reused.run_id.clone()).collect::<BTreeSet<_>>().into_iter().collect(),
        started: context.started,
        ended: decided.ended,
        signature: None,
    }
}

fn sealed_report(
    run_end: &RunEnd<'_>,
    actions: &[ActionResult],
    decided: &RunJudgement,
    report: ExecutionReportV2,
    told_notes: Vec<PlanNote>,
    directory: &Path,
) -> SealedReport {
    let context = run_end.context;
    let unsuccessful = |one: &&ActionResult| one.action.phase == ActionPhase::Step && one.status() != Some(ResultType::Success);
    let is_allowed = |one: &&ActionResult| one.judgement().is_some_and(|judgement| judgement.blocking == Blocking::Allowed);
    let not_left_out = |one: &&ActionResult| !one.skipped().is_some_and(SkipReason::is_left_out);
    let names = |is_named: &dyn Fn(&ActionResult) -> bool| {
        let named = actions.iter().filter(unsuccessful).filter(not_left_out).filter(|one| is_named(one));
        named.map(|one| one.action.name.clone()).collect()
    };
    SealedReport {
        run_id: context.run_id.clone(),
        report,
        report_path: directory.join(proctor_evidence::report::EXECUTION_REPORT_FILE),
        tree: context.before,
        tree_after: run_end.after.comparison.after,
        failed: names(&|one| !is_allowed(&one)),
        warned: names(&|one| is_allowed(&one)),
        told_notes,
        moved: run_end.after.comparison.moved.clone(),
        on_disk: match run_end.after.conditions.left_in_environment.is_empty() {
            true => OnDisk::compare(context.before, run_end.after.comparison.after),
            false => OnDisk::LeftByChecks,
        },
        copied: run_end.after.kept.tree.map(|tree| CopiedFiles {
            tested: context.before,
            tree,
            paths: run_end.after.kept.changed.clone(),
        }),
        person: PersonAsked::of_cycle(&context.request.plan.task, &decided.tdd),
        exit: exit(run_end, actions, decided),
    }
}

fn exit(run_end: &RunEnd<'_>, actions: &[ActionResult], decided: &RunJudgement) -> CommandExit {
    // A run for another phase than the cycle's gets advice only. So nobody turns a failure into an expected one by
    // asking for the phase RED (R6).
    let is_step_of_cycle = run_end.context.is_step_of_cycle();
    let standing = if is_step_of_cycle { CyclePosition::of(true, &decided.tdd) } else { CyclePosition::OutsideCycle };
    match (run_end.stopped, verdict::command_exit(&decided.verdict, decided.route.as_ref(), standing)) {
        (Some(StopReason::Terminated), CommandExit::Interrupted) => CommandExit::Terminated,
        (Some(StopReason::HelperDied), CommandExit::Interrupted) => CommandExit::OwnFault,
        // The task would continue, but a person has to approve the changed protected files first.
        (_, CommandExit::Proceed) if needs_a_person(run_end).is_some() => CommandExit::PersonNeeded,
        (_, exit) => review::exit(exit, actions),
    }
}
