//! The part of a report that is attested in a separate file: which checks passed, and the isolation level. Programs
//! that do not know the report's format can read that file.

use crate::model::{IsolationLevel, ProjectId, ResultType};
use crate::report::ExecutionReportV2;

/// The facts about a run that its attestation states. The attestation is a separate file beside the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttestedRun {
    pub project: ProjectId,
    /// The isolation level; `None` if the run's process died before it could record it.
    pub isolation: Option<IsolationLevel>,
    /// The checks that succeeded, for example `STEP.1 pytest`.
    pub passed: Vec<String>,
    /// The checks that did not succeed, but do not block the verdict.
    pub warned: Vec<String>,
    /// The checks that did not succeed and block the verdict. Checks that were not run are in none of the three lists.
    pub failed: Vec<String>,
}

/// Sorts the checks of a report into passed, warned and failed. A check that was not run is left out.
pub fn attested(report: &ExecutionReportV2) -> AttestedRun {
    let mut run = AttestedRun {
        project: report.project.id.clone(),
        isolation: report.isolation.as_ref().map(|isolation| isolation.level),
        passed: Vec::new(),
        warned: Vec::new(),
        failed: Vec::new(),
    };
    for check in &report.step_execution.results {
        let checks = match (check.status, check.blocking) {
            (None, _) => continue,
            (Some(ResultType::Success), _) => &mut run.passed,
            (Some(_), Some(false)) => &mut run.warned,
            (Some(_), Some(true) | None) => &mut run.failed,
        };
        checks.push(format!("{} {}", check.action_id, check.name));
    }
    run
}
