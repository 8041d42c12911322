//! Compares two runs of a project: their checks, their tests, and the durations of these.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::ProjectError;
use crate::store_reader::StoreReader;
use crate::test_history::flaky::rosters_in;
use crate::test_history::slow::{durations_in, has_grown, middle};
use proctor_index::{CheckRun, FormerName, IndexedCheck, NewestTests, PastRun, Roster};
use proctor_model::{
    ComparedCheck, ComparedTest, NamedTest, ProjectId, RenamedTest, ResultType, RunComparison, RunId, Sequence, SlowerTest,
    TestOutcome, join_differences,
};

/// How many results up to the earlier run say how much a test's duration varies.
const NOISE: u32 = 10;

/// Why two runs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    #[error(
        "the tests of run {0} are not known: it was judged by rules that nobody approved, or its evidence was not there when they were read"
    )]
    Unknown(RunId),
    #[error("run {0} is of task `{1}` and run {2} of task `{3}`: their checks are not the same ones")]
    OtherTask(RunId, proctor_model::TaskId, RunId, proctor_model::TaskId),
}

/// The results of a run by the numbers of its checks. For a reused result, it is the one of the run that carried the check out.
type Results = BTreeMap<u32, (IndexedCheck, CheckRun)>;

/// The tests of a check in a run: outcome, message and duration, by number.
type Tests = BTreeMap<u32, (TestOutcome, Option<u32>, Option<u64>)>;

impl StoreReader {
    /// Compares two runs. The runs are named in the order of time.
    ///
    /// # Errors
    /// When the index cannot be read. That the runs cannot be compared is the inner error.
    pub fn compare_runs(
        &self,
        project: &ProjectId,
        from: &RunId,
        to: &RunId,
    ) -> Result<Result<RunComparison, NotComparable>, ProjectError> {
        let find = |run_id: &RunId| self.index.past_run(project, run_id).map_err(ProjectError::Index);
        let Some((from, _)) = find(from)? else { return Ok(Err(NotComparable::Unknown(from.clone()))) };
        let Some((to, _)) = find(to)? else { return Ok(Err(NotComparable::Unknown(to.clone()))) };
        if from.task != to.task {
            return Ok(Err(NotComparable::OtherTask(from.run_id, from.task, to.run_id, to.task)));
        }
        self.compare_known(project, &from, &to).map(Ok)
    }

    fn compare_known(&self, project: &ProjectId, from: &PastRun, to: &PastRun) -> Result<RunComparison, ProjectError> {
        let (before, after) = (self.results(project, from)?, self.results(project, to)?);
        let steps = self.index.tree_differences(project, &from.task, from.sequence, to.sequence).map_err(ProjectError::Index)?;
        let (changed_files, are_all_files_known) = join_differences(&from.run_id, &to.run_id, &steps);
        let mut comparison = RunComparison {
            from: from.run_id.clone(),
            to: to.run_id.clone(),
            equal_trees: from.tree.zip(to.tree).map(|(from, to)| from == to),
            checks: compared_checks(&before, &after),
            newly_failing: Vec::new(),
            mended: Vec::new(),
            changed: Vec::new(),
            gone: Vec::new(),
            new: Vec::new(),
            renamed: Vec::new(),
            slower: Vec::new(),
            not_compared: Vec::new(),
            changed_files,
            are_all_files_known,
        };
        let known = self.tests_by_number(project)?;
        let former = self.index.former_names(project)?;
        comparison.renamed = renamed_between(&former, &known, from.sequence, to.sequence);
        comparison.renamed.retain(|renamed| renamed.test.task == from.task);
        for (number, (check, before)) in &before {
            let Some((_, after)) = after.get(number) else { continue };
            if !has_all_tests(before, after) {
                comparison.not_compared.push(check.name.clone());
            }
            self.compare_tests(project, &known, *number, before, after, &mut comparison)?;
        }
        Ok(comparison)
    }

    /// Returns the last attempt of each check of a run. A reused result is replaced by the run that carried the check out.
    fn results(&self, project: &ProjectId, run: &PastRun) -> Result<Results, ProjectError> {
        let mut results = Results::new();
        for (check, result) in self.index.checks_of_run(project, run.sequence)? {
            let result = match &result.reused {
                Some(source) => self.carried_out(project, source, &check)?.unwrap_or(result),
                None => result,
            };
            results.insert(check.number, (check, result));
        }
        Ok(results)
    }

    fn carried_out(&self, project: &ProjectId, run: &RunId, check: &IndexedCheck) -> Result<Option<CheckRun>, ProjectError> {
        let found = self.index.past_run(project, run)?;
        let Some((run, _)) = found else { return Ok(None) };
        let results = self.index.checks_of_run(project, run.sequence)?;
        Ok(results.into_iter().filter(|(other, _)| other.number == check.number).map(|(_, result)| result).next_back())
    }

    fn compare_tests(
        &self,
        project: &ProjectId,
        known: &BTreeMap<u32, NamedTest>,
        check: u32,
        before: &CheckRun,
        after: &CheckRun,
        comparison: &mut RunComparison,
    ) -> Result<(), ProjectError> {
        let mut rosters = self.index.rosters(project, &rosters_in([before, after]))?;
        // A check without a record of tests says nothing about them.
        let (Some(tests_before), Some(tests_after)) = (tests(before, &rosters), tests(after, &rosters)) else { return Ok(()) };
        let numbers: BTreeSet<u32> = tests_before.keys().chain(tests_after.keys()).copied().collect();
        let mut slower = Vec::new();
        for number in numbers {
            let Some(test) = known.get(&number) else { continue };
            let (from, to) = (tests_before.get(&number), tests_after.get(&number));
            let compared = |message| ComparedTest {
                test: test.clone(),
                from: from.map(|(outcome, ..)| *outcome),
                to: to.map(|(outcome, ..)| *outcome),
                message,
            };
            match (from, to) {
                (None, None) => {}
                (Some(_), None) if after.is_complete => comparison.gone.push(compared(None)),
                (Some(_), None) => {}
                (from, Some((outcome, message, duration))) => {
                    let was_failing = from.is_some_and(|(outcome, ..)| outcome.is_failure());
                    if outcome.is_failure() && !was_failing {
                        let message = message.map(|number| self.index.failure_message(project, number)).transpose();
                        comparison.newly_failing.push(compared(message?.flatten()));
                    } else if *outcome == TestOutcome::Passed && was_failing {
                        comparison.mended.push(compared(None));
                    } else if from.is_some_and(|(before, ..)| before != outcome) {
                        comparison.changed.push(compared(None));
                    }
                    if from.is_none() && before.is_complete {
                        comparison.new.push(compared(None));
                    }
                    let times = from.and_then(|(_, _, before)| *before).zip(*duration);
                    if let Some((before, now)) = times.filter(|(before, now)| has_grown(*before, *now)) {
                        slower.push((number, before, now));
                    }
                }
            }
        }
        if slower.is_empty() {
            return Ok(());
        }
        let earlier = self.results_up_to(project, check, before)?;
        rosters.extend(self.index.rosters(project, &rosters_in(&earlier))?);
        let durations = durations_in(&earlier, &rosters);
        for (number, before_us, now_us) in slower {
            let earlier = durations.get(&number).cloned().unwrap_or_default();
            let is_usual = earlier.iter().any(|duration| *duration >= now_us);
            let before_us = middle(earlier).unwrap_or(before_us);
            if let Some(test) = known.get(&number).filter(|_| !is_usual && has_grown(before_us, now_us)) {
                comparison.slower.push(SlowerTest { test: test.clone(), before_us, now_us, before_run: before.run_id.clone() });
            }
        }
        Ok(())
    }

    /// Returns the last results of a check up to the one of the earlier run.
    fn results_up_to(&self, project: &ProjectId, check: u32, last: &CheckRun) -> Result<Vec<CheckRun>, ProjectError> {
        let later = self.index.results_after(project, check, last.sequence)?;
        let wanted = NewestTests { limit: NOISE, skip: later, durations: true, reused: false };
        self.index.check_runs(project, check, wanted).map_err(ProjectError::Index)
    }
}

/// Returns the tests whose names differ between two ledger lines. `former` has the oldest names first.
fn renamed_between(former: &[FormerName], known: &BTreeMap<u32, NamedTest>, from: Sequence, to: Sequence) -> Vec<RenamedTest> {
    let numbers: BTreeSet<u32> =
        former.iter().filter(|name| name.until > from && name.until <= to).map(|name| name.number).collect();
    // The name at a line is the first one that was given up later, or the present one.
    let name_at = |number: u32, line: Sequence| former.iter().find(|name| name.number == number && name.until > line);
    let renamed = |number: u32| {
        let mut test = known.get(&number)?.clone();
        let former_id = name_at(number, from)?.former_id.clone();
        if let Some(name) = name_at(number, to) {
            (test.id, test.report_name) = (name.former_id.clone(), name.report_name.clone());
        }
        (test.id != former_id).then_some(RenamedTest { test, former_id })
    };
    numbers.into_iter().filter_map(renamed).collect()
}

/// Returns the checks whose results differ. A check that only one of the plans has is named too.
fn compared_checks(before: &Results, after: &Results) -> Vec<ComparedCheck> {
    let status = |results: &Results, number: u32| -> Option<ResultType> { Some(results.get(&number)?.1.status) };
    let numbers: BTreeSet<u32> = before.keys().chain(after.keys()).copied().collect();
    let compared = |number: u32| {
        let (check, _) = after.get(&number).or_else(|| before.get(&number))?;
        let (before, after) = (status(before, number), status(after, number));
        (before != after).then(|| ComparedCheck { check: check.name.clone(), before, after })
    };
    numbers.into_iter().filter_map(compared).collect()
}

/// Returns whether every test of a check can be compared. It cannot if a list lacks tests, if only one side has a list, or if the tests
/// were only counted. A check without tests on both sides has none to compare.
pub(super) fn has_all_tests(before: &CheckRun, after: &CheckRun) -> bool {
    let source = |run: &CheckRun| run.reused.clone().unwrap_or_else(|| run.run_id.clone());
    match (before.roster, after.roster) {
        _ if source(before) == source(after) => true,
        (Some(_), Some(_)) => before.is_complete && after.is_complete,
        (None, None) => {
            let is_known = |run: &CheckRun| run.reused.is_none() && run.counts.is_none();
            is_known(before) && is_known(after)
        }
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn tests(run: &CheckRun, rosters: &BTreeMap<u32, Roster>) -> Option<Tests> {
    let roster = rosters.get(&run.roster?)?;
    let result = |(place, test): (u32, &u32)| {
        let (outcome, message) = run.outcome(place);
        (*test, (outcome, message, run.duration_of(place)))
    };
    Some((0..).zip(roster.tests()).map(result).collect())
}
