//! Makes the criteria of a task: everything it is judged by besides the results of its actions.
//!
//! Makes the settings for a task's debt from the specification's general settings and the task's likely failures.

use crate::spec::specification::{
    RawCondition, RawDebtConfiguration, RawExpectedOutcome, RawLikelyFailure, RawTask, RawTaskExtension,
};
use proctor_model::{DebtSettings, EvidenceKind, ExpectedFailure, ExpectedOutput, LikelyFailure, TaskCondition, TaskCriteria};

/// A pass rate of 100 %, in basis points: every step must pass.
const EVERY_STEP: u32 = 10_000;

/// Returns a task's criteria. If the specification says that not every step must pass but gives no pass rate, all steps
/// must pass.
pub(super) fn criteria(task: &RawTask) -> TaskCriteria {
    let (validation, completion) = (&task.validation_criteria, &task.completion_criteria);
    let conditions = |raw: &[RawCondition]| raw.iter().map(condition).collect();
    let rate = completion.minimum_pass_rate.map(basis_points);
    TaskCriteria {
        success: conditions(&validation.success_conditions),
        failure: conditions(&validation.failure_conditions),
        expected_output: validation.expected_output.as_ref().map(|expected| ExpectedOutput {
            stdout_contains: expected.stdout_contains.clone(),
            stderr_empty: expected.stderr_empty == Some(true),
            exit_code: expected.exit_code,
        }),
        all_steps_must_pass: completion.all_steps_must_pass,
        minimum_pass_rate_basis_points: rate.or_else(|| (!completion.all_steps_must_pass).then_some(EVERY_STEP)),
        required_evidence: completion.required_evidence.iter().copied().map(EvidenceKind::from).collect(),
        task_status_lock: completion.task_status_lock != Some(false),
        expected_failure: task.proctor.as_ref().and_then(expected_failure),
    }
}

/// Returns the expected failure of the task's tests; `None` if the tests are expected to pass (C06).
fn expected_failure(added: &RawTaskExtension) -> Option<ExpectedFailure> {
    match added.expected_outcome {
        Some(RawExpectedOutcome::Fail) => Some(ExpectedFailure { tests: added.expected_failing_tests.clone() }),
        Some(RawExpectedOutcome::Pass) | None => None,
    }
}

fn condition(raw: &RawCondition) -> TaskCondition {
    TaskCondition { condition: raw.condition.clone(), description: raw.description.clone() }
}

/// Converts per cent to basis points and rounds up, so that rounding never lowers the required rate.
fn basis_points(percent: f64) -> u32 {
    // Decimal fractions are not exact in binary. A remainder smaller than this comes from the binary form and must not
    // be rounded up.
    const NOTHING: f64 = 1e-6;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the schema bounds it to 0 to 100")]
    let rounded = (percent * 100.0 - NOTHING).ceil().max(0.0) as u32;
    rounded
}

/// Returns the settings for a task's debt. Missing values are the defaults of schema 2.0.0.
pub(super) fn debt(configuration: Option<&RawDebtConfiguration>, task: &RawTask) -> DebtSettings {
    let usual = DebtSettings::default();
    let thresholds = configuration.and_then(|said| said.capacity_thresholds.as_ref());
    let severities = configuration.and_then(|said| said.severity_levels.as_ref());
    let likely = task.technical_debt_expectations.iter().flat_map(|expected| &expected.likely_failures);
    DebtSettings {
        enabled: configuration.map_or(usual.enabled, |said| said.enabled),
        routing: configuration.map_or(usual.routing, |said| said.routing_strategy),
        sprint_max_items: thresholds.and_then(|said| said.sprint_tasks_max_items).unwrap_or(usual.sprint_max_items),
        sprint_max_critical: thresholds.and_then(|said| said.sprint_tasks_max_critical).unwrap_or(usual.sprint_max_critical),
        severities: severities.map_or(usual.severities, |said| said.to_vec()),
        likely_failures: likely.map(likely_failure).collect(),
        dependencies: task.dependencies.clone(),
    }
}

fn likely_failure(raw: &RawLikelyFailure) -> LikelyFailure {
    LikelyFailure {
        scenario: raw.scenario.clone(),
        category: raw.expected_debt_category,
        severity: raw.expected_severity,
        suggested_fix: raw.suggested_fix.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_rate_is_never_rounded_down() {
        for (percent, expected) in [(0.0, 0), (60.0, 6000), (60.1, 6010), (66.666, 6667), (99.999, 10_000), (100.0, 10_000)] {
            assert_eq!(basis_points(percent), expected, "{percent}");
        }
    }
}
