//! Guidance for fixing a debt item: files, findings, acceptance criteria. It contains only what was seen (facts, 2.6).

use std::collections::BTreeSet;

use crate::report::build_debt::groups::Group;
use crate::report::build_debt::item::on_one_line;
use crate::report::{ActionOutcomeV2, ExecutionReportV2, ImplementationGuidanceV1};
use proctor_model::{DebtSettings, Diagnostic, TestFailure};

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
mod tests {
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
