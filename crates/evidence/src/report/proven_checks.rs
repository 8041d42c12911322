//! Counts the checks of a report that have a result on the run's own tree. Pure.

use crate::report::{ActionResultV2, ExecutionReportV2, SkipReason};
use proctor_model::{CheckCounts, CheckProof};

/// Returns how many checks a report has, and how many of them have a result on its tree.
pub fn count_checks(report: &ExecutionReportV2) -> CheckCounts {
    CheckCounts::of_proofs(report.step_execution.results.iter().map(proof))
}

fn proof(check: &ActionResultV2) -> CheckProof {
    match &check.reused {
        Some(reused) if reused.other_tree.is_some() => CheckProof::Nothing,
        Some(_) => CheckProof::Reused,
        None if check.skip_reason == Some(SkipReason::NotSelected) => CheckProof::Nothing,
        None => CheckProof::OfThisRun,
    }
}
