//! The verdict of a project as a decision about an agent's turn needs it.

use std::time::Duration;

use crate::api::{FailureKindV1, FailureV1, ProjectStatusV1, StateV1, TaskStatusV1};
use crate::model::{OverallResult, RunId, TaskId, Timestamp, TreeDigest};

/// Reads the verdict of the project that a hook is about: from the service, or without it.
pub trait HookVerdictReader {
    /// Returns how the project stands now. Nothing is run. `None` if that cannot be read, or the project is not registered.
    fn read_now(&mut self) -> Option<ProjectStatusV1>;
    /// Waits for a verdict for the present tree for at most this time, and returns how the project stands then. Where nothing tests
    /// the project, the checks are run. `None` if that cannot be read.
    fn wait_for_verdict(&mut self, within: Duration) -> Option<ProjectStatusV1>;
}

/// What is known about the project's tree as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookJudgement {
    Passed,
    Failed,
    /// The tree was not tested yet.
    Pending,
    /// No run can judge the tree until somebody changes something. The text says why.
    CannotJudge(String),
    /// Only a person can go on. The text says why.
    PersonNeeded(String),
}

/// Something that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingItem {
    /// Equal for the same test, finding or action in two runs. Line numbers are not in it, because an edit above moves them.
    pub key: String,
    /// Whether a test fails, or an action that was to run tests.
    pub is_test: bool,
    pub check: String,
    /// The test's id; `None` if it is no single test.
    pub test: Option<String>,
    pub file: Option<String>,
    pub line: Option<u64>,
    pub message: String,
    pub rerun: Option<String>,
    /// Whether it passed and failed on equal trees.
    pub is_flaky: bool,
    /// When the first run of the unbroken row of runs began in which it fails; `None` if that is not known.
    pub failing_since: Option<Timestamp>,
}

/// How a project stands, for one decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookStanding {
    pub judgement: HookJudgement,
    /// The digest of the present tree; `None` while a run is under way.
    pub tree: Option<TreeDigest>,
    /// The task and the run of the verdict; `None` if there is none for the present tree.
    pub verdict: Option<(TaskId, RunId)>,
    /// What fails in that run, at most as many as the service lists.
    pub failing: Vec<FailingItem>,
    /// How many fail, listed or not.
    pub failing_total: u64,
}

impl HookStanding {
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
        for (_, task) in judged.iter().filter(|(judgement, _)| *judgement == HookJudgement::Failed) {
            let Some(failures) = &task.failures else { continue };
            failing_total += failures.total;
            failing.extend(failures.failures.iter().map(FailingItem::of));
        }
        let is_judged = matches!(judgement, HookJudgement::Passed | HookJudgement::Failed);
        let of_verdict = |task: &TaskStatusV1| Some((task.task.clone(), task.verdict.as_ref()?.run_id.clone()));
        Self {
            verdict: worst.filter(|_| is_judged).and_then(|(_, task)| of_verdict(task)),
            tree: tasks.iter().find_map(|task| task.tree),
            judgement,
            failing,
            failing_total,
        }
    }
}

impl FailingItem {
    fn of(failure: &FailureV1) -> Self {
        let place = match failure.kind {
            FailureKindV1::Test => failure.test.clone().unwrap_or_else(|| failure.message.clone()),
            FailureKindV1::Finding => {
                let part = |text: &Option<String>| text.clone().unwrap_or_default();
                [part(&failure.file), part(&failure.rule), failure.message.clone()].join("\n")
            }
            FailureKindV1::Action => String::new(),
        };
        Self {
            key: format!("{}\n{place}", failure.check),
            is_test: failure.kind == FailureKindV1::Test
                || failure.kind == FailureKindV1::Action && is_named_for_tests(&failure.check),
            check: failure.check.clone(),
            test: failure.test.clone(),
            file: failure.file.clone(),
            line: failure.line,
            message: failure.message.clone(),
            rerun: failure.rerun.clone(),
            is_flaky: failure.flaky,
            failing_since: failure.since.as_ref().map(|since| since.started),
        }
    }
}

/// Returns whether a check is named for tests: `tests`, `pytest`, `spec`. A command without a report says no more about what it is.
fn is_named_for_tests(check: &str) -> bool {
    let name = check.to_ascii_lowercase();
    name.contains("test") || name.contains("spec")
}

/// The order in which judgements of several tasks count: the greatest one is that of all together.
fn rank(judgement: &HookJudgement) -> u8 {
    match judgement {
        HookJudgement::Passed => 0,
        HookJudgement::Pending => 1,
        HookJudgement::PersonNeeded(_) => 2,
        HookJudgement::CannotJudge(_) => 3,
        HookJudgement::Failed => 4,
    }
}

fn judgement_of(task: &TaskStatusV1) -> HookJudgement {
    let why = |otherwise: &str| task.problems.first().cloned().unwrap_or_else(|| otherwise.to_owned());
    match task.state {
        StateV1::Fresh => match task.result {
            Some(OverallResult::Passed) => HookJudgement::Passed,
            Some(OverallResult::Failed) => HookJudgement::Failed,
            None => HookJudgement::Pending,
        },
        // A moved tree is tested again by itself.
        StateV1::Running | StateV1::Queued | StateV1::Stale | StateV1::Moved | StateV1::NoVerdict => HookJudgement::Pending,
        StateV1::Unstable => HookJudgement::CannotJudge(format!("files change while they are tested: {}", task.paths.join(", "))),
        StateV1::NotApproved => HookJudgement::CannotJudge(why(
            "the checks were made weaker than the approved ones; undo that, or a person approves it",
        )),
        StateV1::ConfigurationWrong => {
            HookJudgement::CannotJudge(why("the configuration is wrong: `proctor check` names the place"))
        }
        StateV1::SpecificationWrong => {
            HookJudgement::CannotJudge(why("the test specification is wrong: `proctor check` names the place"))
        }
        StateV1::NeedsHuman => match failed_here(task) {
            true => HookJudgement::Failed,
            false => HookJudgement::PersonNeeded("the task waits for a person's decision".to_owned()),
        },
        StateV1::RootMissing => HookJudgement::PersonNeeded("the project's directory does not exist".to_owned()),
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
