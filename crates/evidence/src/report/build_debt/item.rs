//! Fills in a debt item from the entries of its actions. A field without a source in the entries is null (C50).

use std::collections::BTreeSet;

use crate::report::build_debt::cause::first_failure;
use crate::report::build_debt::{Entries, Group, NumberedGroup};
use crate::report::{
    ActionOutcomeV2, ActionResultV2, AgentInstructionsV1, ContextV1, DebtClassificationV1, DebtDiagnosticsV1, DebtEvidenceV1,
    DebtItemV1, DebtRouteV1, DebtTestFailureV1, DiagnosticsV2, ErrorDetailsV1, ExecutionReportV2, HealthCheckV2, HttpTraceV1,
    ImplementationGuidanceV1,
};
use proctor_model::{
    ActionType, CategoryCode, DebtCategory, DebtOrigin, DebtSettings, Diagnostic, ResultType, Severity, TestFailure, WorkType,
    WrittenActionType,
};

/// Exceptions of Python which mean that a module or a name does not exist.
const MISSING_NAMES: [&str; 3] = ["ModuleNotFoundError", "ImportError", "NameError"];

pub(super) fn build_item(
    NumberedGroup { id, group }: &NumberedGroup<'_>,
    routing: DebtRouteV1,
    entries: &Entries<'_>,
    report: &ExecutionReportV2,
    settings: &DebtSettings,
) -> DebtItemV1 {
    let head = group.head;
    let title = on_one_line(group.debt.title.as_deref().unwrap_or(&head.name));
    let reason = head.classification.as_ref().map(|classification| classification.reason.as_str()).unwrap_or_default();
    let fix = group.debt.suggested_fix.as_deref().map(|fix| format!(": {}", on_one_line(fix))).unwrap_or_default();
    DebtItemV1 {
        fingerprint: group.fingerprint,
        action_id: head.action_id.clone(),
        tool: head.tool.clone(),
        description: group.debt.reason.clone().unwrap_or_else(|| reason.to_owned()),
        classification: DebtClassificationV1 {
            category: group.category,
            severity: group.severity,
            priority: priority(group.severity),
            work_type: work_type(group),
            origin: origin(head),
            blocking: group.blocking,
        },
        routing,
        test_failure: build_test_failure(group),
        evidence: DebtEvidenceV1 {
            files: group.members().flat_map(|entry| entry.evidence_files.iter().cloned()).collect(),
            earlier_run: head.reused.clone(),
        },
        implementation_guidance: build_guidance(group, report, settings),
        agent_instructions: AgentInstructionsV1 {
            markdown_format: format!("- [ ] **{id}** ({}, {}) {title}{fix}", word(&group.severity), word(&group.category)),
        },
        error_details: ErrorDetailsV1 {
            execution_result: head.status.unwrap_or(ResultType::ExecutionError),
            original_error: group.cause.error.clone(),
            contextual_information: ContextV1 {
                prerequisites_met: report.prerequisite_execution.all_met,
                server_running: group.members().find_map(is_server_running),
                previous_steps_succeeded: entries
                    .iter()
                    .take_while(|entry| entry.action_id != head.action_id)
                    .filter(|entry| entry.status == Some(ResultType::Success))
                    .map(|entry| entry.action_id.clone())
                    .collect(),
                related_failures: group.related.iter().map(|entry| entry.action_id.clone()).collect(),
            },
            diagnostics: build_diagnostics(group),
        },
        debt_id: id.clone(),
        title,
    }
}

fn priority(severity: Severity) -> u8 {
    match severity {
        Severity::Critical => 1,
        Severity::High => 2,
        Severity::Medium => 3,
        Severity::Low => 4,
    }
}

/// Returns FEATURE if the code lacks something and BUG_FIX if it is wrong (C41, C42); `None` for a refactoring, or if
/// the code is not known to be the cause.
fn work_type(group: &Group<'_>) -> Option<WorkType> {
    let code = group.head.classification.as_ref()?.code;
    let name = group.cause.error.error_type.as_deref();
    let is_missing = group.category == DebtCategory::ApiEndpointMissing
        || matches!(code, CategoryCode::FileMissing | CategoryCode::EndpointMissing)
        || name.is_some_and(|name| MISSING_NAMES.contains(&name));
    match (origin(group.head), group.category) {
        (_, DebtCategory::Refactor) => None,
        (Some(DebtOrigin::Code), _) if is_missing => Some(WorkType::Feature),
        (Some(DebtOrigin::Code), _) => Some(WorkType::BugFix),
        (Some(DebtOrigin::Environment) | None, _) => None,
    }
}

/// Returns whether the code or the environment has to be fixed (C49); `None` if neither is known to be the cause, for example if
/// a tool failed or ran out of time.
fn origin(entry: &ActionResultV2) -> Option<DebtOrigin> {
    match entry.status? {
        ResultType::PrerequisiteFailure => Some(DebtOrigin::Environment),
        ResultType::TestFailure | ResultType::ValidationFailure => Some(DebtOrigin::Code),
        ResultType::Success | ResultType::ExecutionError | ResultType::Timeout | ResultType::SpecificationError => None,
    }
}

fn build_test_failure(group: &Group<'_>) -> Option<DebtTestFailureV1> {
    let first = first_failure(group.head.result.as_ref()?)?;
    let failed = |entry: &ActionResultV2| Some(entry.result.as_ref()?.test_results.as_ref()?.counts.failed);
    let all: u64 = group.members().filter_map(failed).sum();
    Some(DebtTestFailureV1 {
        test_file: first.test_file.clone(),
        test_name: first.test_name.clone(),
        error_message: first.error.clone(),
        error_stack: first.stack.clone(),
        expected_behavior: first.expected.clone(),
        actual_behavior: first.received.clone(),
        further_failures: all.saturating_sub(1),
    })
}

/// Returns whether the server that an action needs has answered; `None` if that is not known.
fn is_server_running(entry: &ActionResultV2) -> Option<bool> {
    let result = entry.result.as_ref()?;
    let of_look = |look: &HealthCheckV2| match look.result.as_str() {
        "HEALTHY" => Some(true),
        "CONNECTION_REFUSED" => Some(false),
        _ => None,
    };
    if result.status_code.is_some() {
        return Some(true);
    }
    let connection = match &result.diagnostics {
        DiagnosticsV2::Connection(connection) => Some(connection),
        DiagnosticsV2::Findings(_) => None,
    };
    let asked = connection.and_then(|connection| connection.server_health_check.as_ref()).and_then(of_look);
    let listening = || connection?.port_check.as_ref().filter(|port| !port.in_use).map(|_| false);
    asked.or_else(listening).or_else(|| result.health_check.as_ref().and_then(of_look))
}

fn build_diagnostics(group: &Group<'_>) -> DebtDiagnosticsV1 {
    let head = group.head;
    let result = head.result.as_ref();
    let trace = (head.action_type == WrittenActionType::Known(ActionType::HttpRequest)).then(|| HttpTraceV1 {
        request: head.command.clone(),
        response_status: result.and_then(|result| result.status_code),
        response_body: result.and_then(|result| result.response_body.as_ref()).map(|body| body.text.clone()),
    });
    let looked = |entry: &ActionResultV2| {
        let result = entry.result.as_ref()?;
        let state = if result.file_exists? { "FOUND" } else { "NOT_FOUND" };
        Some(format!("{}: {state}", result.file_path.as_deref()?))
    };
    DebtDiagnosticsV1 { http_trace: trace, files_checked: group.members().filter_map(looked).collect() }
}

/// Returns the word by which JSON represents a value of an enum. Texts for people and fingerprints use this word too.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("a unit variant is a word");
    value.as_str().map(str::to_owned).unwrap_or_default()
}

/// Returns the words of a text on one line, because a list entry must fit on one line.
pub(super) fn on_one_line(text: &str) -> String {
    text.split(|it: char| it.is_whitespace() || it.is_control()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

// Guidance for fixing a debt item: files, findings, acceptance criteria. It contains only what was seen (facts, 2.6).

/// The most files, steps and failing tests that a debt item lists.
const NAMED: usize = 20;

pub(super) fn build_guidance(group: &Group<'_>, report: &ExecutionReportV2, settings: &DebtSettings) -> ImplementationGuidanceV1 {
    ImplementationGuidanceV1 {
        files: files(group),
        steps: steps(group, settings),
        dependencies: settings.dependencies.clone(),
        acceptance_criteria: acceptance_criteria(group, report),
    }
}

fn results<'a>(group: &Group<'a>) -> impl Iterator<Item = &'a ActionOutcomeV2> {
    group.members().filter_map(|entry| entry.result.as_ref())
}

fn failures<'a>(group: &Group<'a>) -> Vec<&'a TestFailure> {
    results(group).filter_map(|result| result.test_results.as_ref()).flat_map(|tests| &tests.failures).collect()
}

fn findings<'a>(group: &Group<'a>) -> Vec<&'a Diagnostic> {
    results(group).flat_map(|result| result.diagnostics.findings()).collect()
}

/// Returns the files that the group's failures mention, without repetition. The file of the cause is the first.
fn files(group: &Group<'_>) -> Vec<String> {
    let tests = failures(group);
    let traced = tests.iter().flat_map(|failure| traced_files(failure.stack.as_deref().unwrap_or_default()));
    let of_tests = tests.iter().filter_map(|failure| failure.test_file.clone());
    let of_findings = findings(group).into_iter().filter_map(|finding| finding.file.clone());
    let checked = results(group).filter_map(|result| result.file_path.clone());
    let all = group.cause.error.file.clone().into_iter().chain(of_tests).chain(traced).chain(of_findings).chain(checked);
    distinct(all).into_iter().take(NAMED).collect()
}

/// Returns the project's files in a traceback with lines `path:line: …`, as relative paths.
fn traced_files(stack: &str) -> Vec<String> {
    let named = |line: &str| {
        let (path, rest) = line.split_once(':')?;
        let line_number = rest.split_once(':')?.0;
        let is_place = !line_number.is_empty() && line_number.bytes().all(|byte| byte.is_ascii_digit());
        let is_path = path.contains('.') && !path.starts_with(['/', '.']) && !path.contains(char::is_whitespace);
        (is_place && is_path).then(|| path.to_owned())
    };
    stack.lines().filter_map(named).collect()
}

fn steps(group: &Group<'_>, settings: &DebtSettings) -> Vec<String> {
    let tests = failures(group).into_iter().map(|failure| format!("make `{}` pass: {}", failure.test_name, failure.error));
    let findings = findings(group).into_iter().map(|finding| format!("mend {}", finding_line(finding)));
    let mut steps: Vec<_> = distinct(tests.chain(findings).map(|step| on_one_line(&step))).into_iter().take(NAMED).collect();
    if steps.is_empty() {
        steps.extend(group.debt.suggested_fix.as_deref().map(on_one_line));
    }
    let is_likely =
        |likely: &&proctor_model::LikelyFailure| likely.category == group.category && likely.severity == group.severity;
    steps.extend(settings.likely_failures.iter().filter(is_likely).filter_map(|likely| {
        let fix = likely.suggested_fix.as_deref()?;
        Some(on_one_line(&format!("the specification, for \"{}\": {fix}", likely.scenario)))
    }));
    steps
}

fn finding_line(finding: &Diagnostic) -> String {
    let place = finding.file.as_deref().map(|file| finding.line.map_or(file.to_owned(), |line| format!("{file}:{line}")));
    let name = finding.code.as_deref().or(finding.rule_id.as_deref());
    let fix = finding.fix.as_ref().map(|fix| format!(" ({})", fix.suggestion)).unwrap_or_default();
    let parts = [place.as_deref(), name, Some(&finding.message)];
    format!("{}{fix}", parts.into_iter().flatten().collect::<Vec<_>>().join(": "))
}

/// Returns the acceptance criteria: tests pass, actions succeed, conditions are met, evidence exists.
fn acceptance_criteria(group: &Group<'_>, report: &ExecutionReportV2) -> Vec<String> {
    let tests = distinct(failures(group).into_iter().map(|failure| format!("`{}` passes", failure.test_name)));
    let further = tests.len().saturating_sub(NAMED);
    let mut criteria: Vec<_> = tests.into_iter().take(NAMED).collect();
    if further > 0 {
        criteria.push(format!("{further} further tests pass"));
    }
    criteria.extend(group.members().map(|entry| format!("{} (`{}`) is SUCCESS", entry.action_id, entry.name)));
    let conditions = report.validation_criteria_evaluation.success_conditions.as_ref();
    let unmet = conditions.map(|conditions| conditions.details.as_slice()).unwrap_or_default().iter().filter(|one| !one.met);
    let names = |text: &str| group.members().any(|entry| mentions(text, entry.action_id.as_str()));
    criteria.extend(unmet.filter(|one| names(&one.condition)).map(|one| format!("`{}` is met", on_one_line(&one.condition))));
    let evidence = report.completion_criteria_evaluation.required_evidence.as_ref();
    let missing = evidence.map(|evidence| evidence.missing.as_slice()).unwrap_or_default();
    criteria.extend(missing.iter().map(|kind| format!("evidence of kind `{}` is collected", kind.word())));
    criteria
}

/// Returns whether a condition mentions an action in any notation. `STEP.11` and `PRESTEP.1` do not mention `STEP.1`.
fn mentions(condition: &str, action_id: &str) -> bool {
    let dotted = ["['", "[\"", "']", "\"]"].into_iter().zip([".", ".", "", ""]);
    let dotted = dotted.fold(condition.to_owned(), |text, (bracket, dot)| text.replace(bracket, dot));
    // Text in quotation marks is a value and mentions no action.
    let outside = dotted.split(['\'', '"']).step_by(2);
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '.';
    outside.into_iter().any(|text| {
        text.match_indices(action_id).any(|(at, _)| {
            let after = text[at + action_id.len()..].chars().next();
            let before = text[..at].chars().next_back();
            after.is_none_or(|character| !character.is_ascii_digit()) && before.is_none_or(|character| !is_of_name(character))
        })
    })
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| seen.insert(text.clone())).collect()
}

#[cfg(test)]
mod guidance_tests {
    use super::mentions;

    #[test]
    fn a_condition_speaks_of_the_actions_it_names_and_of_no_others() {
        for (condition, expected) in [
            ("STEP.1.exitCode === 0", true),
            ("!(STEP.1.failed)", true),
            ("STEP['1'].exitCode === 0", true),
            ("STEP[\"1\"].exitCode === 0", true),
            ("STEP.11.exitCode === 0", false),
            ("PRESTEP.1.success", false),
            ("STEP.2.stdout.includes(\"STEP.1\")", false),
            ("STEP.2.stdout.includes('x') && STEP.1.success", true),
        ] {
            assert_eq!(mentions(condition, "STEP.1"), expected, "{condition}");
        }
    }
}
