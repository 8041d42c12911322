//! Writes the debt file of a run beside its report.

use proctor_evidence::report::{
    DEBT_FILE, ExecutionReportV2, TechnicalDebtV1, build_debt, parse_debt, seal_debt_hash, to_bytes, with_debt,
};
use proctor_evidence::{RunDirectory, SealedFiles};
use proctor_index::RunsJudgedBy;
use proctor_model::{EvidenceKind, PlanNote};
use proctor_project::{Evidence, ProjectError, RunRequest};

/// Writes the debt file of a judged run, and returns the report with its section about debt items added. A run
/// without a verdict, or with debt switched off, has no debt file.
pub(crate) fn write_debt(
    evidence: &Evidence,
    request: &RunRequest<'_>,
    mut report: ExecutionReportV2,
    directory: &mut RunDirectory,
) -> Result<ExecutionReportV2, ProjectError> {
    let previous = match debt_before(evidence, request) {
        Ok(previous) => previous,
        Err(why) => {
            report.notes.push(PlanNote {
                subject: DEBT_FILE.to_owned(),
                message: format!("the last verdict's file could not be used, so that items are numbered anew: {why}"),
            });
            None
        }
    };
    let settings = request.plan.debt.clone().unwrap_or_default();
    let Some(debt) = build_debt(&report, &settings, previous.as_ref()) else { return Ok(report) };
    let debt = seal_debt_hash(debt);
    let written = directory.write(DEBT_FILE, &to_bytes(&debt), EvidenceKind::TechnicalDebt, None);
    Ok(with_debt(report, &debt, written?))
}

/// Returns the debt file of the task's last verdict, as it was sealed; `None` if there is none.
fn debt_before(evidence: &Evidence, request: &RunRequest<'_>) -> Result<Option<TechnicalDebtV1>, String> {
    let (project, task) = (&request.scope.project, &request.plan.task);
    let Some(run) = evidence.index.last_run(project, task, RunsJudgedBy::ApprovedRules).map_err(|error| error.to_string())?
    else {
        return Ok(None);
    };
    // The seal of the index proves the last run.
    let Some(hashes) = run.sealed else { return Ok(None) };
    let files = SealedFiles::open(&evidence.store, project, task, &run.run_id, hashes.manifest);
    let files = files.map_err(|error| error.to_string())?;
    if !files.has(DEBT_FILE) {
        return Ok(None);
    }
    let bytes = files.read(DEBT_FILE).map_err(|error| error.to_string())?;
    parse_debt(&bytes).map(Some).map_err(|error| error.to_string())
}
