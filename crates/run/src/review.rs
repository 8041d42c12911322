//! The effect of a run's reviews on the exit code, and the number of earlier rejections.

use crate::test_history::report_of;
use proctor_evidence::report::{ActionResult, ExecutionReportV2};
use proctor_evidence::{LedgerLookup, Store};
use proctor_model::{CommandExit, Observation, ReviewObservation, ReviewVerdict};
use proctor_project::{LedgerRuns, RunRequest};

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
    let made = of_task.find_map(|run| rejections_of(&report_of(store, request, &run)?, review));
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
