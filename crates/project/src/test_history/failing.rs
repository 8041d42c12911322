//! Since when the failures of a run fail, and whether they are flaky.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::error::ProjectError;
use crate::store_reader::StoreReader;
use crate::test_history::flaky::{Flips, flips_of_check, flips_of_tests, rosters_in};
use crate::test_history::{AFTER_A_RUN, catch_up_tests};
use proctor_evidence::EvidenceError;
use proctor_evidence::report::ExecutionReportV2;
use proctor_index::{CheckRun, NewestTests, Roster, StoreIndex};
use proctor_model::{FailingRow, FailureName, FailurePast, ProjectId, ResultType, RunId, Sequence, TaskId};

/// How many results of a check are read, so that the beginning of a row of failures is found.
const LOOKED_AT: u32 = 200;

/// The last results of a check.
struct CheckPast {
    /// The results that were not reused, oldest first, of every attempt.
    runs: Vec<CheckRun>,
    rosters: BTreeMap<u32, Roster>,
    of_check: Flips,
    of_tests: BTreeMap<u32, Flips>,
}

impl StoreReader {
    /// Returns the sealed report of a run, and the past of the failures that `names` finds in it, in the same order. The past is
    /// unknown where the index of tests cannot be read: a failure is told all the same.
    ///
    /// # Errors
    /// When no such run was sealed, or its report was pruned, is missing, or is not the one that the ledger has the hash of.
    pub fn failed_run(
        &mut self,
        project: &ProjectId,
        run_id: &RunId,
        names: impl Fn(&ExecutionReportV2) -> Vec<FailureName>,
    ) -> Result<(ExecutionReportV2, Vec<FailurePast>), ProjectError> {
        let missing = || ProjectError::Evidence(EvidenceError::NotInLedger { run_id: run_id.clone() });
        let run = self.find(project, Some(run_id.as_str()))?.ok_or_else(missing)?;
        if let Some(why) = run.pruned {
            return Err(ProjectError::Pruned { run_id: run.run_id.clone(), why });
        }
        let (_, report) = self.report(project, &run)?;
        let names = names(&report);
        if names.is_empty() {
            return Ok((report, Vec::new()));
        }
        let read = catch_up_tests(&self.store, &mut self.index, project, Some(AFTER_A_RUN));
        let pasts = read.and_then(|_| pasts(&self.index, project, &run.task, run.sequence, &names));
        let pasts = pasts.unwrap_or_else(|error| {
            tracing::warn!("since when the failures of {} fail is not known: {error}", run.run_id);
            vec![FailurePast::default(); names.len()]
        });
        Ok((report, pasts))
    }
}

fn pasts(
    index: &StoreIndex,
    project: &ProjectId,
    task: &TaskId,
    last: Sequence,
    names: &[FailureName],
) -> Result<Vec<FailurePast>, ProjectError> {
    let checks = index.indexed_checks(project)?;
    let has_tests = names.iter().any(|name| name.test.is_some());
    let tests = if has_tests { index.known_tests(project)? } else { Vec::new() };
    let mut known: BTreeMap<u32, CheckPast> = BTreeMap::new();
    let mut pasts = Vec::new();
    for name in names {
        let check = checks.iter().find(|check| check.task == *task && check.name == name.check);
        let Some(number) = check.map(|check| check.number) else {
            pasts.push(FailurePast::default());
            continue;
        };
        let past = match known.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(check_past(index, project, number, last)?),
        };
        pasts.push(match &name.test {
            None => FailurePast { row: row(&past.runs, has_failed), flaky_since: past.of_check.since },
            Some(test) => {
                let is_wanted = |(_, of, named): &&(u32, u32, proctor_model::NamedTest)| {
                    *of == number && named.report_name.as_deref().unwrap_or(&named.id) == test
                };
                match tests.iter().find(is_wanted) {
                    Some((test, ..)) => FailurePast {
                        row: row(&past.runs, |run| test_failed(run, &past.rosters, *test)),
                        flaky_since: past.of_tests.get(test).and_then(|flips| flips.since),
                    },
                    None => FailurePast::default(),
                }
            }
        });
    }
    Ok(pasts)
}

fn check_past(index: &StoreIndex, project: &ProjectId, check: u32, last: Sequence) -> Result<CheckPast, ProjectError> {
    let later = index.results_after(project, check, last)?;
    let wanted = NewestTests { limit: LOOKED_AT, skip: later, durations: false, reused: false };
    let runs = index.check_runs(project, check, wanted)?;
    let rosters = index.rosters(project, &rosters_in(&runs))?;
    let (of_check, of_tests) = (flips_of_check(&runs), flips_of_tests(&runs, &rosters));
    Ok(CheckPast { runs, rosters, of_check, of_tests })
}

/// Returns whether a check failed as a whole in a run; `None` if the run says nothing about its tree.
fn has_failed(run: &CheckRun) -> Option<bool> {
    run.is_about_its_tree().then(|| run.status != ResultType::Success)
}

/// Returns whether a test failed in a run; `None` if the run says nothing about its tree, or does not say how the test ended.
fn test_failed(run: &CheckRun, rosters: &BTreeMap<u32, Roster>, test: u32) -> Option<bool> {
    if !run.is_about_its_tree() {
        return None;
    }
    match rosters.get(&run.roster?)?.place(test) {
        Some(place) => Some(run.outcome(place).0.is_failure()),
        None => run.is_complete.then_some(false),
    }
}

/// Returns the row of failures with which the results end; `None` if the last one is no failure. `failed` says how a result ended, or
/// that it says nothing, which does not end a row.
fn row(runs: &[CheckRun], failed: impl Fn(&CheckRun) -> Option<bool>) -> Option<FailingRow> {
    // Only the last attempt of a run is its result.
    let is_last = |place: &usize| runs.get(place + 1).is_none_or(|next| next.sequence != runs[*place].sequence);
    let results = (0..runs.len()).filter(is_last).filter_map(|place| Some((&runs[place], failed(&runs[place])?)));
    let results: Vec<(&CheckRun, bool)> = results.collect();
    let row: Vec<&CheckRun> = results.iter().rev().take_while(|(_, failed)| *failed).map(|(run, _)| *run).collect();
    let first = row.last()?;
    Some(FailingRow {
        first: first.run_id.clone(),
        started: first.started,
        runs: row.len() as u64,
        is_longer: row.len() == results.len() && runs.len() >= LOOKED_AT as usize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_index::NotPassed;
    use proctor_model::{OverallStatus, TestOutcome, Timestamp};

    /// Returns a result of a check whose list has test 7 and test 8; `failed` are the places of those that failed.
    fn result(number: u64, run_status: OverallStatus, failed: &[u32]) -> CheckRun {
        let started = Timestamp::from_millis(i64::try_from(number).unwrap() * 1000);
        let status = if failed.is_empty() { ResultType::Success } else { ResultType::TestFailure };
        let not_passed = failed.iter().map(|place| NotPassed { position: *place, outcome: TestOutcome::Failed, message: None });
        CheckRun {
            sequence: Sequence(number),
            run_id: RunId::new(started, number),
            started,
            tree: None,
            run_status,
            attempt: 1,
            status,
            blocks: true,
            duration: None,
            counts: None,
            reused: None,
            roster: Some(1),
            is_complete: true,
            not_passed: not_passed.collect(),
            durations: Vec::new(),
        }
    }

    #[test]
    fn a_row_begins_with_the_first_failure_after_the_last_pass() {
        let rosters = BTreeMap::from([(1, Roster::new(vec![7, 8])), (2, Roster::new(vec![8]))]);
        let good = OverallStatus::Success;
        let mut runs = vec![
            result(1, good, &[0, 1]),
            result(2, good, &[0]),
            result(3, good, &[0, 1]),
            // Cut short, so it does not say how the tests are.
            result(4, OverallStatus::Interrupted, &[]),
            result(5, good, &[1]),
        ];
        let of = |runs: &[CheckRun], test: u32| {
            row(runs, |run| test_failed(run, &rosters, test)).map(|row| (row.first.number(), row.runs))
        };
        assert_eq!(of(&runs, 8), Some((3, 2)));
        assert_eq!(of(&runs, 7), None, "it passed in the last run");
        assert_eq!(of(&runs[..4], 7), Some((1, 3)));
        assert_eq!(row(&runs, has_failed).map(|row| (row.first.number(), row.runs)), Some((1, 4)));
        // A whole list without the test ends its row, a shortened list does not.
        runs[1] = CheckRun { roster: Some(2), ..result(2, good, &[0]) };
        assert_eq!(of(&runs[..4], 7), Some((3, 1)));
        runs[1].is_complete = false;
        assert_eq!(of(&runs[..4], 7), Some((1, 2)));
        // Only the last attempt is the result of a run.
        let retried = [result(1, good, &[0]), CheckRun { attempt: 2, ..result(1, good, &[]) }];
        assert_eq!(of(&retried, 7), None);
        assert_eq!(row(&[], has_failed), None);
    }
}
