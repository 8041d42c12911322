//! The sums of the report: every count is computed from the list it counts (C61–C63, C65).

use crate::report::{
    ActionCountsV2, ActionDisposition, ActionResult, ActionResultV2, ActionResultsV2, ExecutionReportV2, SkipReason, TestTotalsV2,
};
use proctor_model::{ActionPhase, CheckCounts, CheckProof, ResultType, TestResults};

/// Returns the number of actions by phase and disposition (C62).
pub(super) fn compute_action_counts(actions: &[ActionResult]) -> ActionCountsV2 {
    let mut counts = ActionCountsV2::default();
    for facts in actions {
        counts.total += 1;
        match facts.action.phase {
            ActionPhase::Prerequisite => counts.prerequisites += 1,
            ActionPhase::Step => counts.steps += 1,
            ActionPhase::Cleanup => counts.cleanup += 1,
        }
        if matches!(facts.disposition, ActionDisposition::Reused(_)) {
            counts.reused += 1;
            continue;
        }
        match facts.status() {
            None => counts.skipped += 1,
            Some(status) if status.was_executed() => counts.executed += 1,
            Some(_) => {}
        }
    }
    counts
}

/// Returns the number of actions by result type (C61).
pub(super) fn compute_action_results(actions: &[ActionResult]) -> ActionResultsV2 {
    let mut results = ActionResultsV2::default();
    for status in actions.iter().filter_map(ActionResult::status) {
        let count = match status {
            ResultType::Success => &mut results.success,
            ResultType::TestFailure => &mut results.test_failure,
            ResultType::ExecutionError => &mut results.execution_error,
            ResultType::ValidationFailure => &mut results.validation_failure,
            ResultType::Timeout => &mut results.timeout,
            ResultType::PrerequisiteFailure => &mut results.prerequisite_failure,
            ResultType::SpecificationError => &mut results.specification_error,
        };
        *count += 1;
    }
    results
}

/// Returns the counts of tests over all actions; `None` if no test report was read.
pub(super) fn compute_test_totals(actions: &[ActionResult]) -> Option<TestTotalsV2> {
    let mut totals: Option<TestTotalsV2> = None;
    for facts in actions {
        let Some(results) = tests_of(facts) else { continue };
        let totals = totals.get_or_insert_with(TestTotalsV2::default);
        totals.passed += results.counts.passed;
        totals.failed += results.counts.failed;
        totals.skipped += results.counts.skipped;
        totals.total += results.total;
    }
    totals.map(|totals| TestTotalsV2 { pass_rate: compute_rate(totals.passed, totals.passed + totals.failed), ..totals })
}

/// Returns the share of checks that ended as SUCCESS, among all checks of the plan, in per cent. A check that did not
/// run counts as not passed (C63).
pub(super) fn compute_step_pass_rate(actions: &[ActionResult]) -> Option<f64> {
    let steps = || actions.iter().filter(|facts| facts.action.phase == ActionPhase::Step);
    let passed = steps().filter(|facts| facts.status() == Some(ResultType::Success)).count();
    compute_rate(passed as u64, steps().count() as u64)
}

/// Returns whether each prerequisite succeeded, or was skipped because it is unchanged since it last succeeded.
pub(super) fn are_all_met(actions: &[ActionResult]) -> bool {
    actions.iter().filter(|facts| facts.action.phase == ActionPhase::Prerequisite).all(|facts| {
        match (facts.status(), facts.skipped()) {
            (Some(status), _) => status == ResultType::Success,
            (None, skipped) => skipped == Some(SkipReason::Unchanged),
        }
    })
}

fn tests_of(facts: &ActionResult) -> Option<&TestResults> {
    match &facts.disposition {
        ActionDisposition::Executed(executed) => executed.interpretation.test_results.as_ref(),
        ActionDisposition::Reused(reused) => reused.entry.result.as_ref()?.test_results.as_ref(),
        ActionDisposition::Skipped(_) => None,
    }
}

/// Returns the share of `part` in `whole` in per cent, rounded half up to one decimal; `None` if `whole` is 0. Integers
/// keep the result exact.
fn compute_rate(part: u64, whole: u64) -> Option<f64> {
    if whole == 0 {
        return None;
    }
    let (part, whole) = (u128::from(part), u128::from(whole));
    let tenths = (part * 2000 + whole) / (2 * whole);
    Some(u32::try_from(tenths).map_or(f64::from(u32::MAX), f64::from) / 10.0)
}

// Counts the checks of a report that have a result on the run's own tree. Pure.

/// Returns how many checks a report has, and how many of them have a result on its tree.
pub fn count_checks(report: &ExecutionReportV2) -> CheckCounts {
    CheckCounts::of_proofs(report.step_execution.results.iter().map(proof))
}

fn proof(check: &ActionResultV2) -> CheckProof {
    match &check.reused {
        Some(reused) if reused.other_tree.is_some() => CheckProof::Nothing,
        Some(_) => CheckProof::Reused,
        None if check.skip_reason.is_some_and(SkipReason::is_left_out) => CheckProof::Nothing,
        None => CheckProof::OfThisRun,
    }
}

#[cfg(test)]
mod tests {
    use super::compute_rate;

    #[test]
    fn rates_are_rounded_half_up_to_one_decimal() {
        assert_eq!(compute_rate(8, 15), Some(53.3));
        assert_eq!(compute_rate(10, 16), Some(62.5));
        assert_eq!(compute_rate(1, 2000), Some(0.1));
        assert_eq!(compute_rate(1, 2001), Some(0.0));
        assert_eq!(compute_rate(1999, 2000), Some(100.0));
        assert_eq!(compute_rate(2, 3), Some(66.7));
        assert_eq!(compute_rate(0, 0), None);
        assert_eq!(compute_rate(u64::MAX, u64::MAX), Some(100.0));
    }
}
