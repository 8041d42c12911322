//! Finds tests that passed and failed on equal trees. Such a test says nothing about the code by itself. A test that passed only
//! after a change, or that was repeated until it passed, is told apart by the tree's digest and not by a guess.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::ProjectError;
use crate::store_reader::StoreReader;
use crate::test_history::RECENT;
use proctor_index::{CheckRun, NewestTests, Roster};
use proctor_model::{FlakyTest, NamedTest, ProjectId, ResultType, RunId, Sequence, TestOutcome, Timestamp, TreeDigest};

/// What is known about a test, or a whole check, on the trees on which it both passed and failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Flips {
    pub(super) trees: u64,
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// The newest failure: ledger line, run, tree, and the number of its message.
    pub(super) last: Option<(Sequence, RunId, TreeDigest, Option<u32>)>,
    /// The ledger lines of the runs with these failures.
    pub(super) failures: BTreeSet<Sequence>,
    /// When the run began that first contradicted an earlier one on an equal tree.
    pub(super) since: Option<Timestamp>,
}

/// The results of one test on one tree.
#[derive(Debug, Default)]
struct OnTree {
    passed: u64,
    failed: Vec<(Sequence, RunId, Option<u32>)>,
    first_passed: Option<Timestamp>,
    first_failed: Option<Timestamp>,
}

impl OnTree {
    fn pass(&mut self, run: &CheckRun) {
        self.passed += 1;
        self.first_passed = earlier(self.first_passed, run.started);
    }

    fn fail(&mut self, run: &CheckRun, message: Option<u32>) {
        self.failed.push((run.sequence, run.run_id.clone(), message));
        self.first_failed = earlier(self.first_failed, run.started);
    }
}

fn earlier(known: Option<Timestamp>, other: Timestamp) -> Option<Timestamp> {
    Some(known.map_or(other, |known| known.min(other)))
}

/// Returns, for each test that passed and failed on an equal tree, what happened there. The tests are given by their numbers.
pub(super) fn flips_of_tests(runs: &[CheckRun], rosters: &BTreeMap<u32, Roster>) -> BTreeMap<u32, Flips> {
    let mut flips: BTreeMap<u32, Flips> = BTreeMap::new();
    for (tree, runs) in by_tree(runs) {
        let mut tests: BTreeMap<u32, OnTree> = BTreeMap::new();
        for run in &runs {
            let Some(roster) = run.roster.and_then(|number| rosters.get(&number)) else { continue };
            for other in run.not_passed.iter().filter(|other| other.outcome.is_failure()) {
                let Some(test) = roster.tests().get(other.position as usize) else { continue };
                tests.entry(*test).or_default().fail(run, other.message);
            }
        }
        for (test, on_tree) in &mut tests {
            let passed = |run: &&&CheckRun| {
                let place = run.roster.and_then(|number| rosters.get(&number)).and_then(|roster| roster.place(*test));
                place.is_some_and(|place| run.outcome(place).0 == TestOutcome::Passed)
            };
            runs.iter().filter(passed).for_each(|run| on_tree.pass(run));
        }
        for (test, on_tree) in tests {
            add(&mut flips, test, tree, on_tree);
        }
    }
    flips
}

/// Returns the numbers of the lists of tests that these results refer to.
pub(super) fn rosters_in<'r>(runs: impl IntoIterator<Item = &'r CheckRun>) -> BTreeSet<u32> {
    runs.into_iter().filter_map(|run| run.roster).collect()
}

/// Returns what happened where a check as a whole succeeded and failed on an equal tree.
pub(super) fn flips_of_check(runs: &[CheckRun]) -> Flips {
    let mut flips = BTreeMap::new();
    for (tree, runs) in by_tree(runs) {
        let mut on_tree = OnTree::default();
        for run in runs {
            match has_passed(run.status) {
                Some(true) => on_tree.pass(run),
                Some(false) => on_tree.fail(run, None),
                None => {}
            }
        }
        add(&mut flips, 0, tree, on_tree);
    }
    flips.remove(&0).unwrap_or_default()
}

/// Returns whether a result says that a check passed, or that it failed. `None` for a check that could not be carried out: that
/// says something about the machine or the settings, and nothing about the tree.
pub(super) fn has_passed(status: ResultType) -> Option<bool> {
    match status {
        ResultType::Success => Some(true),
        ResultType::TestFailure | ResultType::ValidationFailure | ResultType::Timeout => Some(false),
        ResultType::ExecutionError | ResultType::PrerequisiteFailure | ResultType::SpecificationError => None,
    }
}

/// Returns the results that are about a tree, by tree; only trees with more than one.
fn by_tree(runs: &[CheckRun]) -> BTreeMap<TreeDigest, Vec<&CheckRun>> {
    let mut trees: BTreeMap<TreeDigest, Vec<&CheckRun>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.is_about_its_tree()) {
        if let Some(tree) = run.tree {
            trees.entry(tree).or_default().push(run);
        }
    }
    trees.retain(|_, runs| runs.len() > 1);
    trees
}

fn add(flips: &mut BTreeMap<u32, Flips>, test: u32, tree: TreeDigest, on_tree: OnTree) {
    let Some((sequence, run_id, message)) = on_tree.failed.iter().max_by_key(|(sequence, _, _)| *sequence).cloned() else {
        return;
    };
    let (Some(first_passed), Some(first_failed)) = (on_tree.first_passed, on_tree.first_failed) else { return };
    let known = flips.entry(test).or_default();
    known.since = earlier(known.since, first_passed.max(first_failed));
    known.trees += 1;
    known.passed += on_tree.passed;
    known.failed += on_tree.failed.len() as u64;
    known.failures.extend(on_tree.failed.iter().map(|(sequence, _, _)| *sequence));
    if known.last.as_ref().is_none_or(|(last, ..)| *last < sequence) {
        known.last = Some((sequence, run_id, tree, message));
    }
}

impl StoreReader {
    /// Returns the tests that passed and failed on equal trees within the last runs of their checks; the most often failed ones
    /// first.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn flaky_tests(&self, project: &ProjectId) -> Result<Vec<FlakyTest>, ProjectError> {
        let mut flaky = Vec::new();
        for check in self.index.indexed_checks(project)? {
            let wanted = NewestTests { limit: RECENT, skip: 0, durations: false, reused: false };
            let runs = self.index.check_runs(project, check.number, wanted)?;
            let rosters = self.index.rosters(project, &rosters_in(&runs))?;
            let flips = flips_of_tests(&runs, &rosters);
            let known = if flips.is_empty() { BTreeMap::new() } else { self.tests_by_number(project)? };
            for (number, flips) in flips {
                let (Some(test), Some((_, last_failed, last_tree, message))) = (known.get(&number), flips.last) else { continue };
                let message = message.map(|number| self.index.failure_message(project, number)).transpose()?;
                flaky.push(FlakyTest {
                    test: test.clone(),
                    trees: flips.trees,
                    passed: flips.passed,
                    failed: flips.failed,
                    last_failed,
                    last_tree,
                    message: message.flatten(),
                });
            }
        }
        flaky.sort_by(|one, other| (other.failed, &one.test).cmp(&(one.failed, &other.test)));
        Ok(flaky)
    }

    pub(super) fn tests_by_number(&self, project: &ProjectId) -> Result<BTreeMap<u32, NamedTest>, ProjectError> {
        let tests = self.index.known_tests(project)?;
        Ok(tests.into_iter().map(|(number, _, test)| (number, test)).collect())
    }
}
