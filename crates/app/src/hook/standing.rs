//! The verdict of a project as a decision about an agent's turn needs it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::hook::{FailureIdentity, FailurePlace, FailuresBefore, VerdictBefore};
use proctor_api::{FailureKindV1, FailureV1, ProjectStatusV1, StateV1, TaskStatusV1};
use proctor_model::{CommandExit, OverallResult, RunId, Serving, StaleReason, TaskId, Timestamp, Tool, ToolClass, TreeDigest};

/// Reads the verdict of the project that a hook is about: from the service, or without it.
pub trait HookVerdictReader {
    /// Returns how the project stands now. Nothing is run. `None` if that cannot be read, or the project is not registered.
    fn read_now(&mut self) -> Option<ProjectStatusV1>;
    /// Waits for a verdict for the present tree for at most this time, and returns how the project stands then. Where nothing tests
    /// the project, the checks are run. `None` if that cannot be read.
    fn wait_for_verdict(&mut self, within: Duration) -> Option<ProjectStatusV1>;
    /// Returns the tests that ran in the earlier of two runs, and are not there or skipped in the later one. Each run is on this tree, unless
    /// it is one of an earlier tree of this project. Empty if that is not known.
    fn read_missing_tests(&mut self, runs: [(RunId, TreeDigest); 2]) -> Vec<String>;
    /// Returns how many of the added tests pass without the change, and how many were added, by the last answer of `proctor prove` about this
    /// tree. Nothing is run. `None` if there is no answer, or no such test.
    fn read_passing_without(&mut self, tree: TreeDigest) -> Option<(usize, usize)>;
    /// Computes the digest of the project's tree as it is now, also while a run is under way. `None` if the tree cannot be read.
    fn read_tree(&mut self) -> Option<TreeDigest>;
}

/// What is known about the project's tree as it is now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum HookJudgement {
    Passed,
    Failed,
    /// A failure for which the task goes on: in the phase RED of test-driven development a new test has to fail.
    FailedAsWanted,
    /// The tree was not tested yet.
    #[default]
    Pending,
    /// No run can judge the tree until somebody changes something. The text says why.
    CannotJudge(String),
    /// Only a person can go on. The text says why.
    PersonNeeded(String),
    /// The project's directory is not there any more.
    RootGone,
}

/// Something that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingItem {
    pub identity: FailureIdentity,
    /// Whether a test fails, or an action that was to run tests.
    pub is_test: bool,
    pub file: Option<String>,
    pub line: Option<u64>,
    pub message: String,
    pub rerun: Option<String>,
    /// When the run began that first contradicted an earlier one on an equal tree; `None` if it is not flaky.
    pub flaky_since: Option<Timestamp>,
    /// When the first run of the unbroken row of runs began in which it fails; `None` if that is not known.
    pub failing_since: Option<Timestamp>,
}

/// How a project stands, for one decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookStanding {
    pub judgement: HookJudgement,
    /// The digest of the present tree. While a run is under way no status has it; [`Self::now`] then has it computed.
    pub tree: Option<TreeDigest>,
    /// The task and the run of the verdict; `None` if there is none for the present tree, or if it is a run of another checkout.
    pub verdict: Option<(TaskId, RunId)>,
    /// Where the verdict is known from, in words for people; `None` if it is the last run's own.
    pub known: Option<String>,
    /// What fails in that run, at most as many as the service lists.
    pub failing: Vec<FailingItem>,
    /// How many fail, listed or not.
    pub failing_total: u64,
    /// What fails by the last verdict, for a turn that begins now; `None` if there is none that can be compared with.
    pub last: Option<FailuresBefore>,
    /// The last run that has a result, for whatever tree, also if it is one of another checkout.
    pub last_run: Option<RunId>,
    /// The tests that ran before the turn, and are gone or skipped now. Read only for a turn that ends green.
    pub missing: Vec<String>,
    /// How many of the added tests pass without the change, and how many were added; `None` if none does, or that is not known. Read only for
    /// a turn that ends green.
    pub passing_without: Option<(usize, usize)>,
    /// The rules by which it was judged and that nobody approved, in short; empty if all are approved.
    pub rules_changed: String,
    /// What a green verdict lacks of the project's tests, in words for people; empty if it lacks nothing.
    pub lacks_tests: String,
}

impl HookStanding {
    /// Returns where the verdict comes from, for the end of a sentence: ` (run exec-…)`; empty if there is none.
    pub(super) fn source(&self) -> String {
        let run = || Some(format!("run {}", self.verdict.as_ref()?.1.as_str()));
        self.known.clone().or_else(run).map(|source| format!(" ({source})")).unwrap_or_default()
    }

    /// Reads how a project stands, with the digest of its present tree also where a run is under way.
    pub fn now(project: &ProjectStatusV1, reader: &mut dyn HookVerdictReader) -> Self {
        let standing = Self::of(project);
        Self { tree: standing.tree.or_else(|| reader.read_tree()), ..standing }
    }

    /// How a project stands whose directory is not there any more.
    pub fn gone() -> Self {
        Self { judgement: HookJudgement::RootGone, ..Self::default() }
    }

    /// Reads how a project stands. Where the project has checks of its own, they are what counts; where it has none, all its tasks
    /// count together.
    pub fn of(project: &ProjectStatusV1) -> Self {
        let own = project.tasks.iter().find(|task| task.task == TaskId::default_task());
        let tasks: Vec<&TaskStatusV1> = own.map_or_else(|| project.tasks.iter().collect(), |own| vec![own]);
        let judged: Vec<(HookJudgement, &TaskStatusV1)> = tasks.iter().map(|task| (judgement_of(task), *task)).collect();
        let worst = judged.iter().max_by_key(|(judgement, _)| rank(judgement));
        let judgement = worst.map_or(HookJudgement::Pending, |(judgement, _)| judgement.clone());
        let mut failing = Vec::new();
        let mut failing_total = 0;
        for (_, task) in judged.iter().filter(|(judgement, _)| judgement.is_failed()) {
            let Some(failures) = &task.failures else { continue };
            failing_total += failures.total;
            // A run of before that is known to hold does not say that it failed all the time since.
            let since =
                |item: FailingItem| FailingItem { failing_since: item.failing_since.filter(|_| task.known.is_none()), ..item };
            failing.extend(failures.failures.iter().map(FailingItem::of).map(since));
        }
        let is_judged = judgement == HookJudgement::Passed || judgement.is_failed();
        let is_elsewhere = |task: &TaskStatusV1| task.known.as_ref().is_some_and(|known| known.root.is_some());
        let of_verdict = |task: &TaskStatusV1| {
            let run = task.verdict.as_ref().filter(|_| !is_elsewhere(task))?.run_id.clone();
            Some((task.task.clone(), run))
        };
        Self {
            verdict: worst.filter(|_| is_judged).and_then(|(_, task)| of_verdict(task)),
            known: worst.and_then(|(_, task)| Some(task.known.as_ref()?.words(&project.root))),
            tree: tasks.iter().find_map(|task| task.tree),
            last: failures_before(&judged, &judgement, project.serving),
            last_run: worst.and_then(|(_, task)| Some(task.verdict.as_ref()?.run_id.clone())),
            missing: Vec::new(),
            passing_without: None,
            judgement,
            failing,
            failing_total,
            rules_changed: tasks.iter().flat_map(|task| task.rules_changed.clone()).collect::<Vec<_>>().join("; "),
            lacks_tests: tasks.iter().flat_map(|task| lacks_tests(task)).collect::<Vec<_>>().join("; "),
        }
    }
}

fn lacks_tests(task: &TaskStatusV1) -> impl Iterator<Item = String> {
    let not_run = task.tests_not_run.as_ref().map(|tests| format!("no check runs the project's tests: {tests}"));
    not_run.into_iter().chain(task.fewer_tests.as_ref().map(ToString::to_string))
}

/// Returns what fails by the last verdicts of the tasks. While a run is under way, or about to begin, the verdict of an earlier tree counts:
/// it says what is known to have failed before.
fn failures_before(
    judged: &[(HookJudgement, &TaskStatusV1)],
    together: &HookJudgement,
    serving: Serving,
) -> Option<FailuresBefore> {
    let is_being_tested = |task: &TaskStatusV1| match task.state {
        StateV1::Running | StateV1::Queued | StateV1::Moved => true,
        // The service tests a stale tree by itself, within a moment.
        StateV1::Stale => serving == Serving::Served,
        StateV1::Fresh
        | StateV1::Unstable
        | StateV1::NeedsHuman
        | StateV1::NotApproved
        | StateV1::RootMissing
        | StateV1::ConfigurationWrong
        | StateV1::SpecificationWrong
        | StateV1::NoVerdict => false,
    };
    let has_result = |task: &TaskStatusV1| task.verdict.as_ref().is_some_and(|verdict| verdict.result.is_some());
    let is_earlier = |task: &TaskStatusV1| is_being_tested(task) && has_result(task);
    let mut before = FailuresBefore {
        verdict: VerdictBefore::OfThisTree,
        checks: BTreeSet::new(),
        failing: Vec::new(),
        total: 0,
        not_run: BTreeSet::new(),
    };
    for (judgement, task) in judged {
        before.checks.extend(task.checks.iter().map(|check| check.name.clone()));
        let tree = task.verdict.as_ref().and_then(|verdict| verdict.tree);
        let not_run = task.checks.iter().filter(|check| tree.is_some() && check.tree != tree);
        before.not_run.extend(not_run.map(|check| check.name.clone()));
        let counts = match judgement {
            HookJudgement::Failed | HookJudgement::FailedAsWanted => true,
            HookJudgement::Pending if is_earlier(task) => {
                before.verdict = VerdictBefore::OfEarlierTree;
                true
            }
            // Nothing is known of one task, and no other says that the tree is red.
            HookJudgement::Pending if *together == HookJudgement::Pending => return None,
            HookJudgement::Passed
            | HookJudgement::Pending
            | HookJudgement::CannotJudge(_)
            | HookJudgement::PersonNeeded(_)
            | HookJudgement::RootGone => false,
        };
        if let Some(failures) = task.failures.as_ref().filter(|_| counts) {
            before.total += failures.total;
            before.failing.extend(failures.failures.iter().map(FailureIdentity::of));
        }
    }
    let is_known = together.is_failed() || matches!(together, HookJudgement::Passed | HookJudgement::Pending);
    is_known.then_some(before)
}

impl HookJudgement {
    /// Returns whether something fails by the verdict.
    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Failed | Self::FailedAsWanted)
    }
}

impl FailureIdentity {
    fn of(failure: &FailureV1) -> Self {
        let place = match failure.kind {
            // A test file that cannot be collected is reported as a test with the file's name.
            FailureKindV1::Test if failure.test.is_some() && failure.test == failure.file => {
                FailurePlace::File(failure.test.clone().unwrap_or_default())
            }
            FailureKindV1::Test => FailurePlace::Test(failure.test.clone().unwrap_or_else(|| failure.message.clone())),
            FailureKindV1::Finding => {
                let part = |text: &Option<String>| text.clone().unwrap_or_default();
                FailurePlace::Finding([part(&failure.file), part(&failure.rule), failure.message.clone()].join("\n"))
            }
            FailureKindV1::Action => FailurePlace::Whole,
        };
        Self { check: failure.check.clone(), command: failure.command.clone(), place }
    }
}

impl FailingItem {
    /// Returns the test's id, or the name of the check if it is no single test.
    pub fn name(&self) -> &str {
        match &self.identity.place {
            FailurePlace::Test(name) | FailurePlace::File(name) => name,
            FailurePlace::Finding(_) | FailurePlace::Whole => &self.identity.check,
        }
    }

    fn of(failure: &FailureV1) -> Self {
        Self {
            identity: FailureIdentity::of(failure),
            is_test: failure.kind == FailureKindV1::Test
                || failure.kind == FailureKindV1::Action
                    && (is_named_for_tests(&failure.check) || failure.command.as_deref().is_some_and(runs_tests)),
            file: failure.file.clone(),
            line: failure.line,
            message: failure.message.clone(),
            rerun: failure.rerun.clone(),
            flaky_since: failure.flaky_since,
            failing_since: failure.since.as_ref().map(|since| since.started),
        }
    }
}

/// Returns whether a check is named for tests: `tests`, `pytest`, `spec`.
fn is_named_for_tests(check: &str) -> bool {
    let name = check.to_ascii_lowercase();
    name.contains("test") || name.contains("spec")
}

/// Returns whether a command runs tests: it names a test tool (`pytest`, `rspec`), or has `test` behind a program that builds (`cargo test`).
/// The command `test -f FILE` of a shell runs no tests.
fn runs_tests(command: &str) -> bool {
    const BUILDERS: &[&str] = &[
        "cargo", "go", "npm", "yarn", "pnpm", "bun", "deno", "make", "mvn", "gradle", "gradlew", "dotnet", "swift", "mix",
        "rake", "rails", "zig", "bazel", "run", "nextest",
    ];
    const RUNNERS: &[&str] = &["py.test", "nextest", "rspec", "phpunit", "ctest", "mocha", "tox", "nox", "playwright", "cypress"];
    let words: Vec<&str> = command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    let is_runner = |word: &&str| {
        let mut tools = Tool::ALL.into_iter().filter(|tool| tool.class() == ToolClass::Test);
        RUNNERS.contains(word) || tools.any(|tool| tool.word() == *word)
    };
    words.iter().any(is_runner) || words.windows(2).any(|pair| BUILDERS.contains(&pair[0]) && pair[1] == "test")
}

/// The order in which judgements of several tasks count: the greatest one is that of all together.
fn rank(judgement: &HookJudgement) -> u8 {
    match judgement {
        HookJudgement::Passed => 0,
        HookJudgement::Pending => 1,
        HookJudgement::PersonNeeded(_) => 2,
        HookJudgement::CannotJudge(_) | HookJudgement::RootGone => 3,
        HookJudgement::FailedAsWanted => 4,
        HookJudgement::Failed => 5,
    }
}

fn judgement_of(task: &TaskStatusV1) -> HookJudgement {
    let why = |otherwise: &str| task.problems.first().cloned().unwrap_or_else(|| otherwise.to_owned());
    match task.state {
        StateV1::Fresh => match task.result {
            Some(OverallResult::Passed) => HookJudgement::Passed,
            // Only a route makes the exit code of a failed verdict 0.
            Some(OverallResult::Failed) if task.exit_code == CommandExit::Proceed.code() => HookJudgement::FailedAsWanted,
            Some(OverallResult::Failed) => HookJudgement::Failed,
            None => HookJudgement::Pending,
        },
        StateV1::Stale if task.outdated == Some(StaleReason::RewroteTree) => {
            HookJudgement::CannotJudge(why("a check rewrites files of the tree while it tests them: `proctor show` names them"))
        }
        // A moved tree is tested again by itself.
        StateV1::Running | StateV1::Queued | StateV1::Stale | StateV1::Moved | StateV1::NoVerdict => HookJudgement::Pending,
        StateV1::Unstable => HookJudgement::CannotJudge(format!("files change while they are tested: {}", task.paths.join(", "))),
        StateV1::NotApproved => {
            HookJudgement::CannotJudge(why("the checks ask for more than was approved; undo that, or a person approves it"))
        }
        StateV1::ConfigurationWrong => {
            HookJudgement::CannotJudge(why("the configuration is wrong: `proctor check` names the place"))
        }
        StateV1::SpecificationWrong => {
            HookJudgement::CannotJudge(why("the test specification is wrong: `proctor check` names the place"))
        }
        StateV1::NeedsHuman => match failed_here(task) {
            true => HookJudgement::Failed,
            false => HookJudgement::PersonNeeded(match &task.person {
                Some(person) => person.sentence(),
                None => "the task waits for a person's decision".to_owned(),
            }),
        },
        StateV1::RootMissing => HookJudgement::RootGone,
    }
}

/// Returns whether the last verdict is FAILED for the present tree and plan, although the task waits for a person.
fn failed_here(task: &TaskStatusV1) -> bool {
    task.verdict.as_ref().is_some_and(|verdict| {
        verdict.result == Some(OverallResult::Failed)
            && task.tree.is_some()
            && verdict.tree == task.tree
            && task.plan.is_some()
            && verdict.plan == task.plan
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use proctor_model::Digest;

    /// A project with one task in this state, whose last verdict has this result.
    fn project(state: &str, serving: &str, result: Option<&str>) -> ProjectStatusV1 {
        let is_red = result == Some("FAILED");
        let verdict = result.map(|result| {
            json!({
                "runId": "exec-20260304T093000.120Z-000042", "tree": digest("before"), "plan": null, "status": "FAILED",
                "result": result, "blocking": u32::from(is_red), "ended": null, "report": "/r",
            })
        });
        let failure = json!({
            "kind": "test", "check": "unit", "actionId": "STEP.1", "command": "pytest", "test": "test_old", "file": null, "line": null,
            "message": "m", "since": null, "flaky": false, "rerun": null, "excerpt": [],
        });
        let mut task = json!({
            "task": "default", "state": state, "result": result.filter(|_| state == "fresh"), "exitCode": 5,
            "tree": if state == "running" { Value::Null } else { digest("now") }, "plan": null, "outdated": null, "paths": [],
            "verdict": verdict,
        });
        if is_red {
            task["failures"] =
                json!({"runId": "exec-20260304T093000.120Z-000042", "total": 1, "failures": [failure], "next": []});
        }
        let document = json!({"id": null, "root": "/shop", "serving": serving, "tasks": [task], "problems": []});
        serde_json::from_value(document).expect("a project")
    }

    fn digest(text: &str) -> Value {
        json!(TreeDigest(Digest::of(text.as_bytes())))
    }

    #[test]
    fn what_failed_before_a_turn_is_known_while_a_run_is_under_way_or_about_to_begin() {
        use VerdictBefore::{OfEarlierTree, OfThisTree};
        for (state, serving, result, expected) in [
            ("fresh", "served", Some("FAILED"), Some((OfThisTree, 1))),
            ("fresh", "served", Some("PASSED"), Some((OfThisTree, 0))),
            ("running", "notServed", Some("FAILED"), Some((OfEarlierTree, 1))),
            ("running", "served", Some("PASSED"), Some((OfEarlierTree, 0))),
            ("queued", "served", Some("FAILED"), Some((OfEarlierTree, 1))),
            ("moved", "served", Some("FAILED"), Some((OfEarlierTree, 1))),
            ("stale", "served", Some("FAILED"), Some((OfEarlierTree, 1))),
            ("stale", "notServed", Some("FAILED"), None),
            ("running", "served", None, None),
            ("noVerdict", "served", None, None),
            ("configurationWrong", "served", Some("FAILED"), None),
        ] {
            let standing = HookStanding::of(&project(state, serving, result));
            let last = standing.last.map(|last| (last.verdict, last.failing.len()));
            assert_eq!(last, expected, "{state} {serving} {result:?}");
        }
    }

    #[test]
    fn a_failed_verdict_with_the_exit_code_of_success_is_one_that_is_wanted() {
        let mut red = project("fresh", "served", Some("FAILED"));
        assert_eq!(HookStanding::of(&red).judgement, HookJudgement::Failed);
        red.tasks[0].exit_code = 0;
        let standing = HookStanding::of(&red);
        assert_eq!((standing.judgement, standing.failing.len()), (HookJudgement::FailedAsWanted, 1));
        assert_eq!(standing.last.map(|last| last.failing.len()), Some(1));
    }

    #[test]
    fn checks_without_a_result_on_the_tree_of_the_verdict_are_known() {
        let mut red = project("fresh", "served", Some("FAILED"));
        let tree = red.tasks[0].verdict.as_ref().and_then(|verdict| verdict.tree);
        let check = |name: &str, tree| proctor_model::CheckStanding {
            name: name.to_owned(),
            state: proctor_model::CheckState::Fresh,
            result: None,
            tree,
            run_id: None,
            files_since: None,
        };
        red.tasks[0].checks = vec![check("lint", tree), check("unit", None), check("slow", Some(TreeDigest(Digest::of(b"x"))))];
        let last = HookStanding::of(&red).last.expect("it is known what failed");
        assert_eq!(last.not_run.into_iter().collect::<Vec<_>>(), ["slow", "unit"]);
    }

    #[test]
    fn a_check_that_runs_tests_is_one_of_tests_whatever_its_name_is() {
        for command in
            ["cargo test", "cargo test --locked", "python3 -m pytest -q", "npx vitest run", "npm run test", "./gradlew test"]
        {
            assert!(runs_tests(command), "{command}");
        }
        for command in ["cargo clippy", "test -f a.txt", "npm run lint", "grep -q good code.txt", "cargo build"] {
            assert!(!runs_tests(command), "{command}");
        }
    }

    #[test]
    fn the_tree_is_computed_where_no_status_has_it() {
        struct Reader(u32);
        impl HookVerdictReader for Reader {
            fn read_now(&mut self) -> Option<ProjectStatusV1> {
                None
            }
            fn wait_for_verdict(&mut self, _within: Duration) -> Option<ProjectStatusV1> {
                None
            }
            fn read_missing_tests(&mut self, _runs: [(RunId, TreeDigest); 2]) -> Vec<String> {
                Vec::new()
            }
            fn read_passing_without(&mut self, _tree: TreeDigest) -> Option<(usize, usize)> {
                None
            }
            fn read_tree(&mut self) -> Option<TreeDigest> {
                self.0 += 1;
                Some(TreeDigest(Digest::of(b"computed")))
            }
        }
        let mut reader = Reader(0);
        let fresh = HookStanding::now(&project("fresh", "served", Some("PASSED")), &mut reader);
        assert_eq!((fresh.tree, reader.0), (Some(TreeDigest(Digest::of(b"now"))), 0));
        let running = HookStanding::now(&project("running", "served", Some("PASSED")), &mut reader);
        assert_eq!((running.tree, reader.0), (Some(TreeDigest(Digest::of(b"computed"))), 1));
    }
}
