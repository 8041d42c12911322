//! Tells the past of one test: its results, its durations, when it last changed, and whether it is still there.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::ProjectError;
use crate::store_reader::StoreReader;
use crate::test_history::slow::middle;
use proctor_index::{CheckRun, NewestTests};
use proctor_model::{
    FormerTestName, NamedTest, OutcomeChange, PastTestResult, ProjectId, ProofState, RunId, Sequence, TaskId, TestCounts,
    TestOutcome, TestPast, TreeDigest,
};

/// How many of the newest durations say how long a test usually takes.
pub(super) const TYPICAL: usize = 20;

/// The tests that a word on the command line may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestSearch {
    Found(FoundTest),
    /// Several tests fit, and none of them better than the others.
    Several(Vec<NamedTest>),
    Nothing,
}

/// A test, with its numbers in the index of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTest {
    pub test: NamedTest,
    pub(super) number: u32,
    pub(super) check: u32,
}

/// The place of a test in each list of tests that has it, by the number of the list.
type Places = BTreeMap<u32, u32>;

/// A test in one attempt of its check.
struct Seen<'a> {
    run: &'a CheckRun,
    outcome: TestOutcome,
}

impl StoreReader {
    /// Finds a test by its key, by the tool's own id, by its name in the tool's report, by a part of one of them that no other test
    /// has, or by a name that it had before it was renamed.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn find_test(&self, project: &ProjectId, task: Option<&TaskId>, wanted: &str) -> Result<TestSearch, ProjectError> {
        let mut tests = self.index.known_tests(project)?;
        tests.retain(|(_, _, test)| task.is_none_or(|task| test.task == *task));
        let former = self.index.former_names(project)?;
        let mut had: BTreeMap<u32, NameFit> = BTreeMap::new();
        for name in &former {
            let names = [Some(name.former_id.as_str()), name.report_name.as_deref()];
            let whole = (name.key.to_string() == wanted).then_some(NameFit::Whole);
            let fit = names.into_iter().flatten().filter_map(|name| name_fit(name, wanted)).chain(whole).max();
            let former = match fit {
                Some(NameFit::Whole) => NameFit::FormerWhole,
                Some(NameFit::LastPart) => NameFit::FormerLastPart,
                Some(NameFit::Contained | NameFit::FormerLastPart | NameFit::FormerWhole) | None => continue,
            };
            let best = had.entry(name.number).or_insert(former);
            *best = (*best).max(former);
        }
        let fit = |number: u32, test: &NamedTest| {
            let names = [Some(test.id.as_str()), test.report_name.as_deref()];
            let whole = test.is_named(wanted).then_some(NameFit::Whole);
            let former = had.get(&number).copied();
            names.into_iter().flatten().filter_map(|name| name_fit(name, wanted)).chain(whole).chain(former).max()
        };
        let best = tests.iter().filter_map(|(number, _, test)| fit(*number, test)).max();
        tests.retain(|(number, _, test)| best.is_some() && fit(*number, test) == best);
        Ok(match tests.len() {
            0 => TestSearch::Nothing,
            1 => {
                let (number, check, test) = tests.swap_remove(0);
                TestSearch::Found(FoundTest { test, number, check })
            }
            _ => TestSearch::Several(tests.into_iter().map(|(_, _, test)| test).collect()),
        })
    }

    /// Returns every known test of a project, sorted by task, check and id.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn tests(&self, project: &ProjectId) -> Result<Vec<NamedTest>, ProjectError> {
        let tests = self.index.known_tests(project)?;
        let mut tests: Vec<NamedTest> = tests.into_iter().map(|(_, _, test)| test).collect();
        tests.sort_by(|one, other| (&one.task, &one.check, &one.id).cmp(&(&other.task, &other.check, &other.id)));
        Ok(tests)
    }

    /// Returns the past of a test, with its newest results, at most `limit`.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn test_past(&self, project: &ProjectId, found: &FoundTest, limit: usize) -> Result<TestPast, ProjectError> {
        let all = NewestTests { limit: u32::MAX, skip: 0, durations: false, reused: false };
        let runs = self.index.check_runs(project, found.check, all)?;
        let places = self.index.places(project, found.check, found.number)?;
        let seen = seen_in(&runs, &places);
        let results = self.newest_results(project, found, &runs, &places, limit.max(TYPICAL))?;
        // A failure may end a test early, and a skipped test takes no time.
        let passed = results.iter().take(TYPICAL).filter(|result| result.outcome == TestOutcome::Passed);
        let durations: Vec<u64> = passed.filter_map(|result| result.duration_us).collect();
        Ok(TestPast {
            test: found.test.clone(),
            counts: counts(&seen),
            flips_on_equal_trees: flips(&seen),
            last_change: last_change(&seen),
            last_seen: seen.last().map(|seen| seen.run.run_id.clone()),
            runs_without_it: runs_after(&runs, seen.last()),
            typical_duration_us: middle(durations),
            former_names: self.former_names(project, found.number, &found.test.id)?,
            results: results.into_iter().take(limit).collect(),
        })
    }

    /// Returns how a test ended in a run, at the last attempt of its check; `None` if the index has no result of it there.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn test_outcome(
        &self,
        project: &ProjectId,
        found: &FoundTest,
        run_id: &RunId,
    ) -> Result<Option<TestOutcome>, ProjectError> {
        let all = NewestTests { limit: u32::MAX, skip: 0, durations: false, reused: false };
        let runs = self.index.check_runs(project, found.check, all)?;
        let places = self.index.places(project, found.check, found.number)?;
        let ended = runs.iter().rev().find(|run| run.run_id == *run_id);
        Ok(ended.and_then(|run| Some(run.outcome(place_in(run, &places)?).0)))
    }

    /// Returns the names that a test had before the present one, oldest first.
    fn former_names(&self, project: &ProjectId, number: u32, id: &str) -> Result<Vec<FormerTestName>, ProjectError> {
        let names = self.index.former_names(project)?;
        let mut former: Vec<FormerTestName> = Vec::new();
        for name in names.into_iter().filter(|name| name.number == number) {
            let renamed_in = self.index.run_at(project, name.until)?;
            former.push(FormerTestName { id: name.former_id, renamed_in });
        }
        // A test that was named back has its present name among the former ones.
        former.retain(|name| name.id != id);
        Ok(former)
    }

    fn newest_results(
        &self,
        project: &ProjectId,
        found: &FoundTest,
        runs: &[CheckRun],
        places: &Places,
        limit: usize,
    ) -> Result<Vec<PastTestResult>, ProjectError> {
        let has_test = |run: &CheckRun| place_in(run, places).is_some();
        let wanted: Vec<usize> = (0..runs.len()).rev().filter(|place| has_test(&runs[*place])).take(limit).collect();
        let (Some(newest), Some(oldest)) = (wanted.first(), wanted.last()) else { return Ok(Vec::new()) };
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let skip = count(runs.len() - 1 - newest);
        let wanted = NewestTests { limit: count(newest - oldest + 1), skip, durations: true, reused: false };
        let timed = self.index.check_runs(project, found.check, wanted)?;
        let mut results = Vec::new();
        for run in timed.iter().rev() {
            let Some(place) = place_in(run, places) else { continue };
            let (outcome, message) = run.outcome(place);
            let message = message.map(|number| self.index.failure_message(project, number)).transpose()?;
            results.push(PastTestResult {
                run_id: run.run_id.clone(),
                started: run.started,
                tree: run.tree,
                attempt: run.attempt,
                outcome,
                duration_us: run.duration_of(place),
                message: message.flatten(),
                evidence: self.proof_of(project, &run.run_id)?,
            });
        }
        Ok(results)
    }

    /// Returns whether the evidence of a run in the index of tests is there.
    pub(super) fn proof_of(&self, project: &ProjectId, run_id: &RunId) -> Result<ProofState, ProjectError> {
        let found = self.index.past_run(project, run_id)?;
        let Some((run, proof)) = found else { return Ok(ProofState::Missing) };
        let is_there = || self.store.run_directory(project, &run.task, run_id).is_dir();
        Ok(match proof {
            ProofState::Kept if !is_there() => ProofState::Missing,
            state @ (ProofState::Kept | ProofState::Pruned | ProofState::Missing) => state,
        })
    }
}

/// How well a word fits the name of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameFit {
    Contained,
    /// The last part of a name that the test had before it was renamed.
    FormerLastPart,
    /// The name ends with the word, and it does not begin within another word: `test_1` in `a.py::test_1`.
    LastPart,
    /// The test had this name before it was renamed.
    FormerWhole,
    Whole,
}

fn name_fit(name: &str, wanted: &str) -> Option<NameFit> {
    if wanted.is_empty() || !name.contains(wanted) {
        return (name == wanted).then_some(NameFit::Whole);
    }
    let before = name.strip_suffix(wanted).map(|before| before.chars().next_back());
    Some(match before {
        Some(None) => NameFit::Whole,
        Some(Some(character)) if !character.is_alphanumeric() && character != '_' => NameFit::LastPart,
        Some(Some(_)) | None => NameFit::Contained,
    })
}

/// Returns the place of the test in the list of a run.
pub(super) fn place_in(run: &CheckRun, places: &Places) -> Option<u32> {
    places.get(&run.roster?).copied()
}

/// Returns the results of a test, oldest first.
fn seen_in<'a>(runs: &'a [CheckRun], places: &Places) -> Vec<Seen<'a>> {
    let seen = |run: &'a CheckRun| {
        let place = place_in(run, places)?;
        Some(Seen { run, outcome: run.outcome(place).0 })
    };
    runs.iter().filter_map(seen).collect()
}

fn counts(seen: &[Seen<'_>]) -> TestCounts {
    let mut counts = TestCounts::default();
    for one in seen {
        match one.outcome {
            TestOutcome::Passed => counts.passed += 1,
            TestOutcome::Failed | TestOutcome::Error => counts.failed += 1,
            TestOutcome::Skipped => counts.skipped += 1,
        }
    }
    counts
}

/// Returns on how many trees the test both passed and failed.
fn flips(seen: &[Seen<'_>]) -> u64 {
    let mut trees: BTreeMap<TreeDigest, (bool, bool)> = BTreeMap::new();
    for one in seen.iter().filter(|one| one.run.is_about_its_tree()) {
        let Some(tree) = one.run.tree else { continue };
        let (passed, failed) = trees.entry(tree).or_default();
        *passed |= one.outcome == TestOutcome::Passed;
        *failed |= one.outcome.is_failure();
    }
    trees.values().filter(|(passed, failed)| *passed && *failed).count() as u64
}

fn last_change(seen: &[Seen<'_>]) -> Option<OutcomeChange> {
    let change = |pair: &[Seen<'_>]| {
        let [before, after] = pair else { return None };
        (before.outcome != after.outcome).then(|| OutcomeChange {
            run_id: after.run.run_id.clone(),
            started: after.run.started,
            tree: after.run.tree,
            from: before.outcome,
            to: after.outcome,
        })
    };
    seen.windows(2).rev().find_map(change)
}

/// Returns how many runs after the last result have a whole list of tests without the test. Attempts of one run are one run.
fn runs_after(runs: &[CheckRun], last: Option<&Seen<'_>>) -> u64 {
    let Some(last) = last else { return 0 };
    let is_later = |run: &&CheckRun| run.sequence > last.run.sequence && run.roster.is_some() && run.is_complete;
    let later: BTreeSet<Sequence> = runs.iter().filter(is_later).map(|run| run.sequence).collect();
    later.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_name_fits_better_than_its_end_and_that_better_than_any_part() {
        let rows = [
            ("a.py::test_1", "a.py::test_1", Some(NameFit::Whole)),
            ("a.py::test_1", "test_1", Some(NameFit::LastPart)),
            ("a.py::test_10", "test_1", Some(NameFit::Contained)),
            ("a.py::my_test_1", "test_1", Some(NameFit::Contained)),
            ("a.py::test_2", "test_1", None),
            ("a.py::test_2", "", None),
            ("", "", Some(NameFit::Whole)),
        ];
        for (name, wanted, fit) in rows {
            assert_eq!(name_fit(name, wanted), fit, "{name} {wanted}");
        }
    }
}
