//! Builds the report from the facts of a run, key by key in the order of the project's original report format (design
//! document seed 004; `docs/design/decisions.md` lists the seeds).
//!
//! The builder judges nothing. A key for which the run has no fact is left out.

use std::collections::BTreeMap;

use crate::report::build_action::build_action;
use crate::report::redact::redact_counted;
use crate::report::sums::{
    are_all_met, compute_action_counts, compute_action_results, compute_step_pass_rate, compute_test_totals,
};
use crate::report::{
    ActionDisposition, ActionResult, ActionResultV2, ActualValueV2, AuthenticityV2, CleanupExecutionV2, CompletionV2, CustodyV2,
    EnvironmentV2, ExecutionReportV2, ExecutionSummaryV2, FailureConditionV2, FailureConditionsV2, IsolationV2, MetCountsV2,
    PrerequisiteExecutionV2, ProjectV2, RequiredEvidenceV2, ReusedVerdictV2, RouteFacts, RouteV2, RunFacts, StepExecutionV2,
    SuccessConditionV2, SurvivorV2, TestSpecificationV2, TreeFacts, TreeIssueV2, TreeV2, UnenforcedLimitV2, ValidationCriteriaV2,
};
use proctor_model::{
    ActionId, ActionPhase, ActualValue, ConditionValue, CriteriaEvaluation, Digest, EvidenceFile, EvidenceKind, IsolationFacts,
    JudgedCondition, JudgedExpectation, Plan, PlanNote, RunId, Survivor, TreeIssue, UnenforcedLimit,
};

/// The version of the report's format. A report of any other version is refused when it is read.
pub(super) const REPORT_VERSION: &str = "2.0.0";
/// The name and version of this program, as reports and records state it in `generatedBy`.
pub const GENERATED_BY: &str = concat!("proctor ", env!("CARGO_PKG_VERSION"));
/// The most changed paths that the report lists. The count beside the list includes all changed paths.
const LISTED_MOVED_PATHS: usize = 200;

/// Returns the report of a run, with secrets redacted. [`crate::report::with_debt`] adds the section about the debt
/// file, which is built from the report. Last, [`crate::report::seal_hash`] sets the hash.
pub fn build(facts: &RunFacts) -> ExecutionReportV2 {
    let (mut report, redacted) = redact_counted(build_unredacted(facts));
    report.notes.extend(redaction_note(redacted, &report.evidence_files));
    report
}

/// Returns a note that texts were redacted, and where the originals are; `None` if nothing was redacted.
fn redaction_note(redacted: usize, files: &[EvidenceFile]) -> Option<PlanNote> {
    if redacted == 0 {
        return None;
    }
    let exact = files.iter().filter(|file| file.name.ends_with(".log") || file.kind == EvidenceKind::ToolReport);
    let exact: Vec<&str> = exact.map(|file| file.name.as_str()).collect();
    Some(PlanNote {
        subject: "secrets".to_owned(),
        message: format!(
            "{redacted} text(s) of this report held what looks like a secret and are redacted; these files hold the exact bytes and \
             are not: {}",
            exact.join(", ")
        ),
    })
}

fn build_unredacted(facts: &RunFacts) -> ExecutionReportV2 {
    ExecutionReportV2 {
        report_version: REPORT_VERSION.to_owned(),
        generated_at: facts.generated_at,
        generated_by: GENERATED_BY.to_owned(),
        known_from: None,
        project: ProjectV2 { id: facts.project_id.clone(), name: Some(facts.plan.project_name.clone()) },
        test_specification: test_specification(&facts.plan, facts.plan_digest, facts.specification_file.clone()),
        specification_errors: Vec::new(),
        trigger: Some(facts.trigger.clone()),
        execution_summary: build_summary(facts),
        prerequisite_execution: PrerequisiteExecutionV2 {
            all_met: Some(are_all_met(&facts.actions)),
            results: build_phase(facts, ActionPhase::Prerequisite),
        },
        step_execution: StepExecutionV2 { results: build_phase(facts, ActionPhase::Step) },
        cleanup_execution: CleanupExecutionV2 {
            executed: Some(
                facts.actions.iter().any(|action| action.action.phase == ActionPhase::Cleanup && action.executed().is_some()),
            ),
            results: build_phase(facts, ActionPhase::Cleanup),
        },
        validation_criteria_evaluation: build_validation(facts),
        completion_criteria_evaluation: build_completion(facts),
        technical_debt_generated: None,
        route: facts.route.as_ref().map(build_route),
        tdd: facts.tdd.clone(),
        tree: Some(build_tree(&facts.tree)),
        isolation: facts.isolation.as_ref().map(|isolation| build_isolation(facts, isolation)),
        environment: Some(build_environment(facts)),
        configuration_changed: facts.configuration_changed.clone(),
        rules_changed: facts.rules_changed.clone(),
        fewer_tests: facts.fewer_tests.clone(),
        tests_not_run: facts.plan.tests_not_run.clone(),
        tests_modified: facts.tests_modified.clone(),
        custody: CustodyV2::SameUser,
        limit: facts.actions.iter().filter_map(ActionResult::judgement).find_map(|judgement| judgement.classification.limit),
        contended: facts.contended.clone(),
        reused: facts.actions.iter().filter_map(build_reused).collect(),
        lost_events: facts.lost_events.clone(),
        violations: Vec::new(),
        notes: facts.plan.notes.iter().chain(&facts.notes).cloned().collect::<Vec<PlanNote>>(),
        evidence_files: sorted_by_name(&facts.evidence_files),
        authenticity: unsealed(facts.run_id.clone(), Some(facts.process_id)),
    }
}

/// Returns the description of the requested task, for the report and the start record.
pub fn test_specification(plan: &Plan, plan_digest: Digest, file: Option<String>) -> TestSpecificationV2 {
    let source = plan.specification.as_ref();
    TestSpecificationV2 {
        file,
        schema_version: source.map(|source| source.schema_version.clone()),
        task_id: plan.task.clone(),
        task_title: source.map(|source| source.task_title.clone()),
        sprint_id: source.map(|source| source.sprint_id.clone()),
        origin: Some(plan.origin.clone()),
        plan_digest: Some(plan_digest),
    }
}

/// Returns the `authenticity` section of a report that is not sealed yet: without a hash and a signature.
pub(super) fn unsealed(run_id: RunId, process_id: Option<u32>) -> AuthenticityV2 {
    AuthenticityV2 {
        execution_id: run_id,
        generator_version: GENERATED_BY.to_owned(),
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        platform: std::env::consts::OS.to_owned(),
        process_id,
        signature_algorithm: None,
        signature: None,
        report_hash: None,
    }
}

/// Returns the report with further evidence files in its list.
pub fn with_evidence_files(mut report: ExecutionReportV2, files: Vec<EvidenceFile>) -> ExecutionReportV2 {
    report.evidence_files.extend(files);
    report.evidence_files = sorted_by_name(&report.evidence_files);
    report
}

/// Returns the evidence files sorted by name, the order in which reports list them.
pub(super) fn sorted_by_name(files: &[EvidenceFile]) -> Vec<EvidenceFile> {
    let mut files = files.to_vec();
    files.sort_by(|one, other| one.name.cmp(&other.name));
    files
}

/// Converts a tree entry that could not be digested to its wire form.
pub(super) fn build_issue(issue: &TreeIssue) -> TreeIssueV2 {
    TreeIssueV2 { path: issue.path.to_string(), kind: issue.kind }
}

fn build_summary(facts: &RunFacts) -> ExecutionSummaryV2 {
    ExecutionSummaryV2 {
        overall_status: facts.overall_status,
        start_time: facts.started,
        end_time: Some(facts.ended),
        total_duration: Some(facts.duration),
        action_counts: Some(compute_action_counts(&facts.actions)),
        action_results: Some(compute_action_results(&facts.actions)),
        test_results: compute_test_totals(&facts.actions),
    }
}

fn build_phase(facts: &RunFacts, phase: ActionPhase) -> Vec<ActionResultV2> {
    let mut files: BTreeMap<&str, Vec<&EvidenceFile>> = BTreeMap::new();
    for file in &facts.evidence_files {
        files.entry(file.action_id.as_deref().unwrap_or_default()).or_default().push(file);
    }
    let files_of = |action: &ActionResult| files.get(action.action.id.as_str()).map(Vec::as_slice).unwrap_or_default();
    let of_phase = facts.actions.iter().filter(|action| action.action.phase == phase);
    of_phase.map(|action| build_action(action, &facts.actions, files_of(action))).collect()
}

fn build_reused(facts: &ActionResult) -> Option<ReusedVerdictV2> {
    let ActionDisposition::Reused(reused) = &facts.disposition else { return None };
    Some(ReusedVerdictV2 {
        action_id: facts.action.id.clone(),
        run_id: reused.run_id.clone(),
        report_hash: reused.report_hash,
        isolation_level: reused.isolation_level,
        evidence_files: sorted_by_name(&reused.files),
    })
}

fn build_route(facts: &RouteFacts) -> RouteV2 {
    let destination = &facts.entry.destination;
    RouteV2 {
        next_node: destination.next_node,
        reason: destination.reason.clone(),
        requires_human: destination.requires_human,
        retry_allowed: destination.retry_allowed,
        kind: facts.entry.kind,
        phase: facts.entry.phase,
        exit_code: facts.entry.exit_code,
        exit_code_source: facts.entry.exit_code_source,
        override_of: facts.override_of,
    }
}

fn build_tree(facts: &TreeFacts) -> TreeV2 {
    let comparison = facts.comparison.as_ref();
    let moved = comparison.map(|comparison| comparison.moved.as_slice()).unwrap_or_default();
    TreeV2 {
        format: facts.format,
        before: facts.before,
        after: comparison.map(|comparison| comparison.after),
        moved: moved.iter().take(LISTED_MOVED_PATHS).map(ToString::to_string).collect(),
        moved_count: comparison.map(|comparison| comparison.moved.len() as u64),
        files: comparison.map(|comparison| comparison.files),
        since_last_run: facts.since_last_run.clone(),
        issues: facts.issues.iter().map(build_issue).collect(),
        snapshot: facts.snapshot.clone(),
    }
}

fn build_isolation(facts: &RunFacts, isolation: &IsolationFacts) -> IsolationV2 {
    let survivors = facts.actions.iter().flat_map(|action| match &action.disposition {
        ActionDisposition::Executed(executed) => {
            executed.ended.survivors.iter().map(|survivor| build_survivor(&action.action.id, survivor)).collect()
        }
        ActionDisposition::Skipped(_) | ActionDisposition::Reused(_) => Vec::new(),
    });
    IsolationV2 {
        level: isolation.kept.reached.level,
        killed_by: isolation.kept.killed_by,
        survivors: survivors.collect(),
        obstacles: isolation.kept.reached.obstacles.clone(),
        unenforced_limits: isolation.kept.reached.unenforced.iter().map(build_unenforced_limit).collect(),
        open_channels: isolation.open_channels.clone(),
    }
}

fn build_unenforced_limit(limit: &UnenforcedLimit) -> UnenforcedLimitV2 {
    UnenforcedLimitV2 { setting: limit.setting, why: limit.why.clone(), mend: UnenforcedLimitV2::MEND.to_owned() }
}

fn build_survivor(action_id: &ActionId, survivor: &Survivor) -> SurvivorV2 {
    let argv = survivor.argv.clone();
    SurvivorV2 { action_id: action_id.clone(), pid: survivor.pid, argv, age_ms: survivor.age }
}

fn build_environment(facts: &RunFacts) -> EnvironmentV2 {
    let mut names = facts.environment.names.clone();
    names.sort();
    names.dedup();
    EnvironmentV2 { names, ..facts.environment.clone() }
}

// Builds the two report sections about a task's criteria. All counts are computed from the lists (C65).

/// Returns the section with the verdict, and with the conditions that led to it.
fn build_validation(facts: &RunFacts) -> ValidationCriteriaV2 {
    let evaluation = facts.criteria.as_ref();
    ValidationCriteriaV2 {
        success_conditions: evaluation.map(|evaluation| build_success(&evaluation.success)),
        failure_conditions: evaluation.map(|evaluation| build_failure(&evaluation.failure)),
        expected_output: evaluation.and_then(|evaluation| build_expected(&evaluation.expected_output)),
        expected_failure: evaluation.and_then(|evaluation| evaluation.expected_failure.clone()),
        overall_result: facts.overall_result,
        reason: facts.overall_reason.clone(),
    }
}

/// Returns the section that says whether the task may be marked as done.
fn build_completion(facts: &RunFacts) -> CompletionV2 {
    let evaluation = facts.criteria.as_ref();
    let criteria = evaluation.map(|evaluation| &evaluation.criteria);
    CompletionV2 {
        all_steps_must_pass: criteria.map(|criteria| criteria.all_steps_must_pass),
        minimum_pass_rate: criteria
            .and_then(|criteria| criteria.minimum_pass_rate_basis_points)
            .map(|basis_points| f64::from(basis_points) / 100.0),
        actual_pass_rate: compute_step_pass_rate(&facts.actions),
        required_evidence: evaluation.map(build_evidence),
        task_status_lock: criteria.map(|criteria| criteria.task_status_lock),
        completion_status: facts.completion.status,
        task_status: facts.completion.task_status,
        partial_reason: facts.completion.partial_reason,
        reason: facts.completion.reason.clone(),
    }
}

fn build_success(judged: &[JudgedCondition]) -> MetCountsV2<SuccessConditionV2> {
    let met = judged.iter().filter(|judged| judged.decided).count() as u64;
    let total = judged.len() as u64;
    MetCountsV2 { total, met, failed: total - met, details: judged.iter().map(build_success_condition).collect() }
}

fn build_success_condition(judged: &JudgedCondition) -> SuccessConditionV2 {
    let (actual_value, actual_values) = build_actual(&judged.actual);
    SuccessConditionV2 {
        condition: judged.condition.condition.clone(),
        description: judged.condition.description.clone(),
        met: judged.decided,
        actual_value,
        actual_values,
        unknown: judged.unknown.clone(),
        reason: judged.reason.clone(),
    }
}

fn build_failure(judged: &[JudgedCondition]) -> FailureConditionsV2 {
    FailureConditionsV2 {
        total: judged.len() as u64,
        triggered: judged.iter().filter(|judged| judged.decided).count() as u64,
        details: judged.iter().map(build_failure_condition).collect(),
    }
}

fn build_failure_condition(judged: &JudgedCondition) -> FailureConditionV2 {
    let (actual_value, actual_values) = build_actual(&judged.actual);
    FailureConditionV2 {
        condition: judged.condition.condition.clone(),
        description: judged.condition.description.clone(),
        triggered: judged.decided,
        actual_value,
        actual_values,
        unknown: judged.unknown.clone(),
        reason: judged.reason.clone(),
    }
}

/// Returns the value alone if the condition has one reference, or the values by name if it has several. The design
/// document seed 004 knows only the first form.
fn build_actual(actual: &[ActualValue]) -> (Option<ConditionValue>, Vec<ActualValueV2>) {
    match actual {
        [single] => (single.value.clone(), Vec::new()),
        several => {
            let build = |one: &ActualValue| ActualValueV2 { reference: one.reference.clone(), value: one.value.clone() };
            (None, several.iter().map(build).collect())
        }
    }
}

fn build_expected(judged: &[JudgedExpectation]) -> Option<MetCountsV2<JudgedExpectation>> {
    let met = judged.iter().filter(|judged| judged.met).count() as u64;
    let total = judged.len() as u64;
    (total > 0).then(|| MetCountsV2 { total, met, failed: total - met, details: judged.to_vec() })
}

fn build_evidence(evaluation: &CriteriaEvaluation) -> RequiredEvidenceV2 {
    let required = &evaluation.criteria.required_evidence;
    let missing = &evaluation.missing_evidence;
    let collected: Vec<EvidenceKind> = required.iter().copied().filter(|kind| !missing.contains(kind)).collect();
    RequiredEvidenceV2 { required: required.clone(), collected, missing: missing.clone() }
}
