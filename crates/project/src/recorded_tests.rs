//! Reads the tests that the sealed runs on one tree had, for `proctor gate`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use crate::environment_digest::variables_digest;
use crate::error::ProjectError;
use crate::former_identity::checkouts_directory;
use crate::known::environment;
use crate::other_checkouts::directory_in_repository;
use crate::store_reader::StoreReader;
use crate::test_history::read_sealed_tests;
use proctor_evidence::Store;
use proctor_index::{ListedTests, SealedCheck};
use proctor_model::{
    CategoryCode, GatePolicy, OverallResult, Plan, ProjectId, ResultType, RunId, RunRecord, Sequence, TaskId, TestOutcome,
    ToolchainRecord, TreeDigest,
};
use proctor_plan::changes::{RecordedTest, RecordedTests};
use proctor_plan::spec::plan_digest;
use proctor_plan::verdict::EndOfCheck;
use proctor_sandbox::EnvironmentAdditions;

/// The most runs on one tree of which the tests are read.
const MOST_RUNS: usize = 8;
/// The most runs on one tree of which the ends of checks are compared.
const MOST_ENDS: usize = 64;

/// A sealed run, with the project whose ledger has it.
type RunOfProject = (ProjectId, RunRecord);

impl StoreReader {
    /// Returns the tests of the checks that a policy asks for, of the newest runs on a tree that have a verdict by approved rules. `None` if
    /// there is none with tests, or its evidence is not there any more.
    ///
    /// # Errors
    /// When a ledger, the index or evidence cannot be read.
    pub fn tests_on_tree(
        &mut self,
        root: &Path,
        tree: TreeDigest,
        policy: &GatePolicy,
    ) -> Result<Option<RecordedTests>, ProjectError> {
        let runs = self.runs_here(root, tree)?;
        let by_approved_rules =
            |run: &RunRecord| run.conditions.as_ref().is_none_or(|conditions| conditions.rules_changed.is_none());
        let counts = |run: &&RunOfProject| {
            run.1.overall_result.is_some() && by_approved_rules(&run.1) && policy.tasks.contains(&run.1.task)
        };
        let is_asked_for = |check: &str| policy.checks.is_empty() || policy.checks.iter().any(|name| name == check);
        let mut all = RecordedTests { tests: Vec::new(), is_complete: true };
        for run in runs.iter().filter(counts).take(MOST_RUNS) {
            if let Some(recorded) = self.tests_of(run, &runs, &is_asked_for)? {
                all.tests.extend(recorded.tests);
            }
        }
        Ok(Some(all).filter(|all| !all.tests.is_empty()))
    }

    /// Returns the tests of all checks of these runs on a tree. `None` if one is not in this store, or its evidence
    /// is not there any more.
    ///
    /// # Errors
    /// When a ledger, the index or evidence cannot be read.
    pub fn tests_of_runs(
        &mut self,
        root: &Path,
        tree: TreeDigest,
        wanted: &[&RunId],
    ) -> Result<Option<RecordedTests>, ProjectError> {
        let runs = self.runs_here(root, tree)?;
        let mut all = RecordedTests { tests: Vec::new(), is_complete: true };
        for wanted in wanted {
            let Some(run) = runs.iter().find(|(_, run)| run.run_id == **wanted) else { return Ok(None) };
            let Some(recorded) = self.tests_of(run, &runs, &|_| true)? else { return Ok(None) };
            all.is_complete &= recorded.is_complete;
            all.tests.extend(recorded.tests);
        }
        Ok(Some(all).filter(|_| !wanted.is_empty()))
    }

    /// Returns whether the checks of one of these runs on a tree had other variables than checks would have here, such as another `TZ`.
    /// `settings` say which variables are passed on.
    ///
    /// # Errors
    /// When a ledger or the index cannot be read.
    pub fn had_other_variables(
        &mut self,
        (root, settings): (&Path, &EnvironmentAdditions),
        tree: TreeDigest,
        wanted: &[&RunId],
    ) -> Result<bool, ProjectError> {
        let here = variables_digest(&self.store, root, &self.ambient, settings);
        let runs = self.runs_here(root, tree)?;
        let wanted = runs.iter().filter(|(_, run)| wanted.contains(&&run.run_id));
        let there = wanted.filter_map(|(project, run)| environment(&self.store, project, run)?.variables);
        Ok(there.into_iter().any(|there| Some(there) != here))
    }

    /// Returns how the checks that a policy asks for ended in the newest runs on a tree, oldest first, by task and name. Runs by another plan
    /// than the deciding run's of the task, and in another environment, are left out. Where no run failed, nothing is read.
    ///
    /// # Errors
    /// When a ledger, the index or evidence cannot be read.
    pub fn check_ends(
        &mut self,
        root: &Path,
        tree: TreeDigest,
        (policy, deciding): (&GatePolicy, &[&RunId]),
    ) -> Result<BTreeMap<(TaskId, String), Vec<EndOfCheck>>, ProjectError> {
        let mut found: BTreeMap<(TaskId, String), Vec<EndOfCheck>> = BTreeMap::new();
        let runs = self.runs_here(root, tree)?;
        for task in &policy.tasks {
            let of_task = || runs.iter().filter(|(_, run)| run.task == *task && run.overall_result.is_some());
            let Some((_, proof)) = of_task().find(|(_, run)| deciding.contains(&&run.run_id)) else { continue };
            if !of_task().any(|(_, run)| run.overall_result == Some(OverallResult::Failed)) {
                continue;
            }
            let is_equal = |run: &&RunOfProject| run.1.plan_digest == proof.plan_digest && has_equal_environment(&run.1, proof);
            for run in of_task().filter(is_equal) {
                for check in self.checks_with_tests(run)?.iter().flatten() {
                    let is_asked_for = policy.checks.is_empty() || policy.checks.contains(&check.name);
                    // A green by rules that nobody approved is none of the greens in a row.
                    let counts = |end: &EndOfCheck| is_asked_for && (!end.is_green || !run.1.is_by_changed_rules());
                    let end = end_of((&run.1.run_id, self.is_of_gate(&run.0)?), check).filter(counts);
                    let ends = found.entry((task.clone(), check.name.clone())).or_default();
                    ends.extend(end.filter(|_| ends.len() < MOST_ENDS));
                }
            }
        }
        found.values_mut().for_each(|ends| ends.reverse());
        Ok(found)
    }

    /// Returns how a check ended in the runs on a tree that `proctor gate --run` made by a plan which runs some of the check's tests alone, in an
    /// environment that is equal to one of a deciding run.
    ///
    /// # Errors
    /// As [`Self::check_ends`].
    pub fn ends_alone(
        &mut self,
        root: &Path,
        tree: TreeDigest,
        (alone, deciding): (&Plan, &[&RunId]),
        check: &str,
    ) -> Result<Vec<EndOfCheck>, ProjectError> {
        let (runs, digest) = (self.runs_here(root, tree)?, plan_digest(alone));
        let is_decided = |run: &RunRecord| {
            let mut proofs = runs.iter().filter(|(_, other)| deciding.contains(&&other.run_id));
            proofs.any(|(_, proof)| has_equal_environment(run, proof))
        };
        let counts = |run: &&RunOfProject| {
            run.1.task == alone.task && run.1.plan_digest == Some(digest) && !run.1.is_by_changed_rules() && is_decided(&run.1)
        };
        let mut ends = Vec::new();
        for run in runs.iter().filter(counts).take(MOST_ENDS) {
            if self.is_of_gate(&run.0)? {
                let checks = self.checks_with_tests(run)?.unwrap_or_default();
                let own = checks.iter().filter(|one| one.name == check);
                let ended = own.filter_map(|one| end_of((&run.1.run_id, true), one));
                ends.extend(ended.map(|end| EndOfCheck { is_alone: true, ..end }));
            }
        }
        Ok(ends)
    }

    /// Returns whether a project is a checkout that `proctor gate --run` made.
    fn is_of_gate(&self, project: &ProjectId) -> Result<bool, ProjectError> {
        let known = self.index.project(project).map_err(ProjectError::Index)?;
        let checkouts = checkouts_directory(self.store.root());
        Ok(known.is_some_and(|known| Path::new(&known.root.path).starts_with(&checkouts)))
    }

    /// Returns the sealed runs on a tree of this directory, in any working tree of the repository, newest first.
    fn runs_here(&mut self, root: &Path, tree: TreeDigest) -> Result<Vec<RunOfProject>, ProjectError> {
        let (own, directory) = (self.find_project(root)?, directory_in_repository(root));
        let others = self.projects_with_content(root, tree)?;
        let mut found = Vec::new();
        for project in own.iter().chain(others.iter().filter(|other| Some(*other) != own.as_ref())) {
            let is_own = Some(project) == own.as_ref();
            let is_here = |run: &RunRecord| {
                is_own || directory.is_some() && run.conditions.as_ref().is_some_and(|found| found.directory == directory)
            };
            let (runs, _) = self.runs_on_tree(project, tree)?;
            found.extend(runs.into_iter().filter(is_here).map(|run| (project.clone(), run)));
        }
        found.sort_by_key(|(_, run)| Reverse(run.ended));
        Ok(found)
    }

    /// Returns the tests of the last attempt of each check of a run. Those of a reused result are read from the run that carried the check out.
    fn tests_of(
        &self,
        run: &RunOfProject,
        runs: &[RunOfProject],
        is_asked_for: &dyn Fn(&str) -> bool,
    ) -> Result<Option<RecordedTests>, ProjectError> {
        let Some(checks) = self.checks_with_tests(run)? else { return Ok(None) };
        let mut all = RecordedTests { tests: Vec::new(), is_complete: true };
        for check in checks.iter().filter(|check| is_asked_for(&check.name)) {
            let source = check.reused.as_ref().and_then(|id| runs.iter().find(|(_, other)| other.run_id == *id));
            let read = source.map(|source| self.checks_with_tests(source)).transpose()?;
            // What a run reused from another tree, or from a run whose evidence is gone, cannot be told.
            let Some(carried_out) = read.unwrap_or_else(|| check.reused.is_none().then(|| vec![check.clone()])) else {
                all.is_complete = false;
                continue;
            };
            for tests in carried_out.iter().filter(|other| other.name == check.name).filter_map(|other| other.tests.as_ref()) {
                all.is_complete &= tests.is_complete;
                all.tests.extend(recorded(&check.name, tests));
            }
        }
        Ok(Some(all))
    }

    /// Returns the last attempt of each check of a run.
    fn checks_with_tests(&self, (project, run): &RunOfProject) -> Result<Option<Vec<SealedCheck>>, ProjectError> {
        // Nothing here asks for the place in the ledger.
        let sealed = read_sealed_tests(&self.store, project, Sequence(0), run)?;
        Ok(sealed.map(|sealed| {
            let last = |check: &&SealedCheck| {
                !sealed.checks.iter().any(|other| other.name == check.name && other.attempt > check.attempt)
            };
            sealed.checks.iter().filter(last).cloned().collect()
        }))
    }
}

/// Returns how a check ended; `None` if it was not carried out, or could not be, or took too long: that says nothing of the content.
fn end_of((run, is_of_gate): (&RunId, bool), check: &SealedCheck) -> Option<EndOfCheck> {
    let is_green = match check.status {
        ResultType::Success => true,
        ResultType::TestFailure | ResultType::ValidationFailure if check.blocks => false,
        // A command that ended with another exit code than it should has said something of the content; one that is missing has not.
        ResultType::ExecutionError if check.category == Some(CategoryCode::UnexpectedExit) => false,
        ResultType::TestFailure
        | ResultType::ValidationFailure
        | ResultType::Timeout
        | ResultType::ExecutionError
        | ResultType::PrerequisiteFailure
        | ResultType::SpecificationError => return None,
    };
    let tests = || check.tests.iter().flat_map(|tests| &tests.tests);
    let failed = tests().filter(|test| test.outcome.is_failure()).map(|test| (test.id.clone(), test.message.clone()));
    let passed = tests().filter(|test| test.outcome == TestOutcome::Passed).map(|test| test.id.clone());
    let (passed, failed) = (passed.collect(), failed.collect());
    let end = EndOfCheck { run: run.clone(), is_green, is_of_gate, is_alone: false, passed, failed };
    check.reused.is_none().then_some(end)
}

/// Returns whether what failed in a run failed because of the content: tests, findings, or a command that ended with another exit code
/// than it should. A run in which a check took too long, or could not be carried out, says nothing of the content.
///
/// # Errors
/// When no evidence can be read at this moment.
pub(crate) fn failed_for_its_content(store: &Store, project: &ProjectId, run: &RunRecord) -> Result<bool, ProjectError> {
    let Some(sealed) = read_sealed_tests(store, project, Sequence(0), run)? else { return Ok(false) };
    let mut blocking = sealed.checks.iter().filter(|check| check.blocks).peekable();
    Ok(blocking.peek().is_some() && blocking.all(|check| end_of((&run.run_id, false), check).is_some_and(|end| !end.is_green)))
}

/// Returns whether two runs had the same beside the tree, as far as both name it.
pub(crate) fn has_equal_environment(one: &RunRecord, other: &RunRecord) -> bool {
    let (Some(one), Some(other)) = (one.conditions.as_ref(), other.conditions.as_ref()) else { return true };
    let is_other = |toolchain: &ToolchainRecord| {
        let same = other.toolchains.iter().find(|known| known.path == toolchain.path);
        same.is_some_and(|known| toolchain.content.is_some() && known.content.is_some() && known.content != toolchain.content)
    };
    one.platform == other.platform && one.other_programs == other.other_programs && !one.toolchains.iter().any(is_other)
}

fn recorded<'a>(check: &'a str, listed: &'a ListedTests) -> impl Iterator<Item = RecordedTest> + 'a {
    listed.tests.iter().map(move |test| {
        let of_id = test.id.split_once("::").map_or(check, |(file, _)| file);
        let file = if test.identity.file.is_empty() { of_id } else { &test.identity.file };
        RecordedTest {
            id: test.id.clone(),
            file: file.to_owned(),
            body: test.identity.body,
            has_run: test.outcome != TestOutcome::Skipped,
        }
    })
}
