//! How verdicts stand, as it is answered by `GET /v1/status`, by `GET /v1/projects/{id}/verdict`, and by `--json`.

use serde::{Deserialize, Serialize};

use crate::model::{
    Digest, Freshness, LastVerdict, Outdated, OverallResult, OverallStatus, ProjectId, ProjectStanding, RunId, Serving, TaskId,
    TaskStanding, Timestamp, TreeDigest,
};

/// The answer of `GET /v1/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatusV1 {
    /// The service that answers; none where the command line looked itself.
    pub service: Option<ServiceV1>,
    /// The projects that were asked for.
    pub projects: Vec<ProjectStatusV1>,
}

/// The service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceV1 {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// When it was started.
    pub since: Timestamp,
}

/// The answer of `GET /v1/projects/{id}/verdict`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerV1 {
    /// Whether there was an answer before the time was over.
    pub in_time: InTimeV1,
    /// The exit code of a command that ends with it: that of the first task.
    pub exit_code: u8,
    /// How the project stands.
    pub project: ProjectStatusV1,
}

/// Whether there was an answer before the time was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InTimeV1 {
    /// There was.
    Answered,
    /// There was not: this is how it stood then.
    TimedOut,
}

/// A project and how its tasks stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectStatusV1 {
    /// Its id; none where the directory is not registered.
    pub id: Option<ProjectId>,
    /// Its root, absolute.
    pub root: String,
    /// Whether the service watches it.
    pub serving: Serving,
    /// The task that was asked for first, else that of the configuration; then those there once were.
    pub tasks: Vec<TaskStatusV1>,
    /// What is wrong: with the configuration, with watching, or with the task list since the last run but one.
    pub problems: Vec<String>,
}

/// A task and how its verdict stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskStatusV1 {
    /// The task.
    pub task: TaskId,
    /// How it stands.
    pub state: StateV1,
    /// Whether something blocks; only of a fresh verdict.
    pub result: Option<OverallResult>,
    /// The exit code of a command that answers with it (5 where there is no fresh verdict).
    pub exit_code: u8,
    /// The tree now; none where nobody looked, because a run was under way.
    pub tree: Option<TreeDigest>,
    /// The plan now; none where the configuration has none for the task.
    pub plan: Option<Digest>,
    /// What a stale verdict is not for.
    pub outdated: Option<Outdated>,
    /// What moved while it was tested.
    pub paths: Vec<String>,
    /// The last verdict, fresh or not.
    pub verdict: Option<VerdictV1>,
    /// What is wrong with its specification, or what it weakens of what was approved; absent: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// How a verdict stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StateV1 {
    /// It is for the tree and the plan as they are now.
    Fresh,
    /// A run is under way.
    Running,
    /// A run waits for its turn.
    Queued,
    /// It is for something else.
    Stale,
    /// The tree moved while it was tested.
    Moved,
    /// The same paths moved again.
    Unstable,
    /// A person decides how the task goes on.
    NeedsHuman,
    /// Nobody approved what would be run.
    NotApproved,
    /// The project's directory is not there.
    RootMissing,
    /// The configuration is wrong.
    ConfigurationWrong,
    /// The task's specification is wrong, or no specification has the task; `problems` says more.
    SpecificationWrong,
    /// There never was one.
    NoVerdict,
}

/// A verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerdictV1 {
    /// Its run.
    pub run_id: RunId,
    /// The tree it is for.
    pub tree: Option<TreeDigest>,
    /// The plan it is for.
    pub plan: Option<Digest>,
    /// What happened.
    pub status: OverallStatus,
    /// Whether something blocks.
    pub result: Option<OverallResult>,
    /// How many results block.
    pub blocking: u32,
    /// When its last process had ended.
    pub ended: Option<Timestamp>,
    /// Where its report lies.
    pub report: String,
}

impl ProjectStatusV1 {
    /// Returns how a project stands.
    pub fn new(standing: &ProjectStanding, serving: Serving) -> Self {
        Self {
            id: standing.project.clone(),
            root: standing.root.display().to_string(),
            serving,
            tasks: standing.tasks.iter().map(TaskStatusV1::from).collect(),
            problems: standing.problems.clone(),
        }
    }

    /// Returns the exit code of a command that answers with it: that of the first task, which is the configuration's.
    pub fn exit_code(&self) -> u8 {
        let none = crate::model::CommandExit::NoFreshVerdict.code();
        self.tasks.first().map_or(none, |task| task.exit_code)
    }
}

impl From<&TaskStanding> for TaskStatusV1 {
    fn from(standing: &TaskStanding) -> Self {
        let freshness = &standing.freshness;
        let (mut result, mut outdated, mut moved) = (None, None, Vec::new());
        let state = match freshness {
            Freshness::Fresh { result: verdict, .. } => {
                result = Some(*verdict);
                StateV1::Fresh
            }
            Freshness::Stale(what) => {
                outdated = Some(*what);
                StateV1::Stale
            }
            Freshness::Moved { paths } => {
                moved.clone_from(paths);
                StateV1::Moved
            }
            Freshness::Unstable { paths } => {
                moved.clone_from(paths);
                StateV1::Unstable
            }
            Freshness::Running => StateV1::Running,
            Freshness::Queued => StateV1::Queued,
            Freshness::NeedsHuman => StateV1::NeedsHuman,
            Freshness::NotApproved => StateV1::NotApproved,
            Freshness::RootMissing => StateV1::RootMissing,
            Freshness::ConfigurationWrong => StateV1::ConfigurationWrong,
            Freshness::SpecificationWrong => StateV1::SpecificationWrong,
            Freshness::NoVerdict => StateV1::NoVerdict,
        };
        Self {
            task: standing.task.clone(),
            state,
            result,
            exit_code: freshness.exit().code(),
            tree: standing.tree,
            plan: standing.plan,
            outdated,
            paths: moved,
            verdict: standing.verdict.as_ref().map(VerdictV1::from),
            problems: standing.problems.clone(),
        }
    }
}

impl From<&LastVerdict> for VerdictV1 {
    fn from(verdict: &LastVerdict) -> Self {
        Self {
            run_id: verdict.run_id.clone(),
            tree: verdict.tree,
            plan: verdict.plan,
            status: verdict.status,
            result: verdict.result,
            blocking: verdict.blocking,
            ended: verdict.ended,
            report: verdict.report.display().to_string(),
        }
    }
}
