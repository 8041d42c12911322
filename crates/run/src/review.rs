//! The effect of a run's reviews on the exit code, the number of earlier rejections, and the debt file beside the report.

use crate::test_history::sealed_report;
use proctor_evidence::report::{
    ActionResult, DEBT_FILE, ExecutionReportV2, TechnicalDebtV1, build_debt, parse_debt, seal_debt_hash, to_bytes, with_debt,
};
use proctor_evidence::{LedgerLookup, RunDirectory, SealedFiles, Store};
use proctor_index::RunsJudgedBy;
use proctor_model::{CommandExit, EvidenceKind, Observation, PlanNote, ReviewObservation, ReviewVerdict};
use proctor_project::{Evidence, LedgerRuns, ProjectError, RunRequest};

/// A person is asked after this number of rejections of a review in a row (V4), because the changes evidently do not lead to what
/// the reviewer wants.
const MOST_REJECTIONS: u32 = 3;

/// The most earlier runs that are searched for the last run with the review.
const LOOKED_AT: usize = 50;

/// Returns how often in a row a review has rejected before this run. Reports that cannot be read, or are not as they were
/// sealed, are ignored. The runs are read from checked lines of the ledger, because the index does not prove older runs.
pub(crate) fn rejections_before(store: &Store, request: &RunRequest<'_>, review: &str) -> u32 {
    let Ok(ledger) = LedgerLookup::open(store, &request.scope.project) else { return 0 };
    let runs = LedgerRuns::newest(&ledger).map_while(Result::ok);
    let mut of_task = runs.filter(|run| run.task == request.plan.task && !run.by_changed_rules).take(LOOKED_AT);
    let made = of_task.find_map(|run| rejections_of(&sealed_report(store, request, &run).ok()?, review));
    made.unwrap_or(0)
}

/// Returns how often in a row a review had rejected at the end of a run; `None` if the run did not make the review.
fn rejections_of(report: &ExecutionReportV2, review: &str) -> Option<u32> {
    let mut results = report.step_execution.results.iter();
    let entry = results.find(|result| result.name == review)?;
    Some(entry.result.as_ref()?.review.as_ref()?.rejections)
}

/// Counts a review's rejections. An approval resets the count, and an indeterminate review does not change it.
pub(crate) fn count_rejections(seen: &mut ReviewObservation, before: u32) {
    seen.rejections = match seen.verdict {
        ReviewVerdict::Approved => 0,
        ReviewVerdict::Rejected => before.saturating_add(1),
        ReviewVerdict::Indeterminate => before,
    };
}

/// Returns the exit code of a run that would end with `exit`. If that code says whether the task may continue, but a
/// review has no verdict or has rejected too often, a person is needed, whatever other checks failed (G5, V3, V4).
pub(crate) fn exit(exit: CommandExit, performed: &[ActionResult]) -> CommandExit {
    let is_verdict = matches!(exit, CommandExit::CodeNeedsWork | CommandExit::Proceed);
    if is_verdict && performed.iter().filter_map(seen).any(needs_a_person) { CommandExit::PersonNeeded } else { exit }
}

/// Returns why a review has no verdict; `None` if every review has one.
pub(crate) fn missing_review_verdict(performed: &[ActionResult]) -> Option<&str> {
    let undecided = performed.iter().filter_map(seen).find(|seen| seen.verdict == ReviewVerdict::Indeterminate);
    undecided.map(|seen| seen.reason.as_str())
}

fn needs_a_person(seen: &ReviewObservation) -> bool {
    match seen.verdict {
        ReviewVerdict::Approved => false,
        ReviewVerdict::Rejected => seen.rejections >= MOST_REJECTIONS,
        ReviewVerdict::Indeterminate => true,
    }
}

fn seen(one: &ActionResult) -> Option<&ReviewObservation> {
    match &one.executed()?.observed {
        Observation::Review(seen) => Some(seen),
        Observation::Nothing | Observation::File(_) | Observation::Exchange(_) | Observation::Service(_) => None,
    }
}

// Writes the debt file of a run beside its report.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_in_a_row_are_counted_and_the_third_needs_a_person() {
        let mut before = 0;
        for (verdict, counted, person) in [
            (ReviewVerdict::Rejected, 1, false),
            (ReviewVerdict::Rejected, 2, false),
            (ReviewVerdict::Indeterminate, 2, true),
            (ReviewVerdict::Rejected, 3, true),
            (ReviewVerdict::Rejected, 4, true),
            (ReviewVerdict::Approved, 0, false),
            (ReviewVerdict::Rejected, 1, false),
        ] {
            let mut seen = ReviewObservation { verdict, reason: String::new(), rejections: 0, attempts: Vec::new() };
            count_rejections(&mut seen, before);
            assert_eq!((seen.rejections, needs_a_person(&seen)), (counted, person), "{verdict:?} after {before}");
            before = seen.rejections;
        }
    }
}
