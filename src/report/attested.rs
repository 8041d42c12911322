//! What of a report is attested beside it, for programs that know nothing of its shape: which checks passed, and how it was kept apart.

use crate::model::{IsolationLevel, ProjectId, ResultType};
use crate::report::ExecutionReportV2;

/// What of a report is attested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttestedRun {
    /// The project.
    pub project: ProjectId,
    /// The level of isolation; none where nobody lived to say it.
    pub isolation: Option<IsolationLevel>,
    /// The checks that succeeded: `STEP.1 pytest`.
    pub passed: Vec<String>,
    /// Those that did not and do not block the verdict.
    pub warned: Vec<String>,
    /// Those that did not and do. Checks that were not run are in none of the three.
    pub failed: Vec<String>,
}

/// Returns what of a report is attested.
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
