//! The states of verdicts: the answers of `GET /v1/status` and `GET /v1/projects/{id}/verdict`. `proctor status --json`
//! and `proctor wait --json` print the same documents.

use proctor_wire::wire;

use crate::failure::FailuresV1;
use proctor_model::{
    CheckStanding, CommandExit, Digest, FewerTests, Freshness, IsolationLevel, KnownFrom, LastVerdict, OverallResult,
    OverallStatus, PersonAsked, Phase, ProjectId, ProjectStatus, RouteEntry, RunId, ServiceTrouble, Serving, StaleReason, TaskId,
    TddState, TestedPlace, Timestamp, TreeDigest, VerdictStatus,
};

/// The answer of `GET /v1/status`.
#[wire(schema)]
pub struct StatusV1 {
    /// The service that answers; `None` if the command line read the state itself, and where `proctor open` serves the page without the service.
    pub service: Option<ServiceV1>,
    /// The projects that the request asks for.
    pub projects: Vec<ProjectStatusV1>,
}

/// The running service: its process id, its version and its start.
#[wire(schema)]
pub struct ServiceV1 {
    pub pid: u32,
    pub version: String,
    /// When the service was started.
    pub since: Timestamp,
}

/// The answer of `GET /v1/projects/{id}/verdict`.
#[wire]
pub struct AnswerV1 {
    /// Whether the answer came before the time limit.
    pub in_time: InTimeV1,
    /// The exit code for a command that shows this answer: that of the task that the request names. Where a project without
    /// checks of its own is asked about `default`, it is that of all its tasks: 1 if any of them is red.
    pub exit_code: u8,
    pub project: ProjectStatusV1,
}

/// Whether the answer came before the time limit.
#[wire(Copy, Hash)]
pub enum InTimeV1 {
    Answered,
    /// The time limit passed before there was an answer; the project is shown as it was at that moment.
    TimedOut,
}

/// A project and the states of its tasks' verdicts.
#[wire(schema)]
pub struct ProjectStatusV1 {
    /// The project's id; `None` if the directory is not registered.
    pub id: Option<ProjectId>,
    /// The absolute path of the project's root.
    pub root: String,
    pub serving: Serving,
    /// The id of the process of a `proctor watch` that runs the checks at each save. Only `proctor status` looks for one; the key is absent
    /// if none runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched_by: Option<u32>,
    /// The first task is the one that the request names, or else the task that the configuration names. The other tasks
    /// that have a verdict follow.
    pub tasks: Vec<TaskStatusV1>,
    /// Problems with the configuration, with watching, and with changes that were made to the task list by hand.
    pub problems: Vec<String>,
    /// What keeps the service from judging the project, such as a full disk. The key is absent if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ServiceTrouble>,
    /// The memory, in bytes, of the command that was started early for the next run and waits. The key is absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_early: Option<u64>,
}

/// A task and the state of its verdict.
#[wire(schema, sparse)]
pub struct TaskStatusV1 {
    pub task: TaskId,
    pub state: StateV1,
    /// PASSED or FAILED; only for a fresh verdict.
    #[kept]
    pub result: Option<OverallResult>,
    /// The exit code for a command that shows this task. Without a fresh verdict it is 3 if a person is needed, 4 if
    /// the configuration or the specification is wrong, and otherwise 5.
    pub exit_code: u8,
    /// The digest of the present tree; `None` if the tree was not read because a run is under way.
    #[kept]
    pub tree: Option<TreeDigest>,
    /// The digest of the present plan; `None` if the configuration has no plan for the task.
    #[kept]
    pub plan: Option<Digest>,
    /// Why a stale verdict is stale, for example because the tree has changed. `None` for any other state.
    #[kept]
    pub outdated: Option<StaleReason>,
    /// The paths that changed during the run; empty unless the state is `Moved` or `Unstable`.
    #[kept]
    pub paths: Vec<String>,
    /// The last verdict, fresh or not.
    #[kept]
    pub verdict: Option<VerdictV1>,
    /// Where the verdict comes from, if not from a run of this project's last state: another checkout's run, or an earlier one, judged
    /// just the present files. Nothing was run then. The key is absent for the last run's own verdict.
    pub known: Option<KnownFrom>,
    /// The checks of the present plan, and which of them have a result for the present tree. The key is absent if plan or
    /// tree are not known, or if the checks never ran.
    pub checks: Vec<CheckStanding>,
    /// Errors of the task's specification, and for what its plan asks that a person must approve first. The key is absent if there are
    /// none.
    pub problems: Vec<String>,
    /// Which rules of the present plan are not the approved ones, such as `pytest: command, timeout`: a verdict by them proves nothing
    /// until a person approves them. The key is absent if all are approved.
    pub rules_changed: Vec<String>,
    /// What a person is asked about the task: why, since when, by which run, and the whole command. The key is absent if
    /// nobody is asked.
    pub person: Option<PersonAsked>,
    /// What the router counted for the task. The key is absent if it has counted nothing yet.
    pub tdd: Option<CountedV1>,
    /// The project's own test command that no check of the fresh verdict's run ran, such as `"test" of package.json (mocha)`: the verdict
    /// holds for what was run, and proves no commit. The key is absent if one ran it, and without a fresh verdict.
    pub tests_not_run: Option<String>,
    /// How many tests the fresh verdict's run had less than the last whole run of an ancestor of its tree. The key is absent if there are
    /// not fewer.
    pub fewer_tests: Option<FewerTests>,
    /// What failed in the run of the last verdict, fresh or not. The key is absent if nothing failed, and in the answer of
    /// `GET /v1/status`, which reads no report.
    pub failures: Option<FailuresV1>,
}

/// What the router counted for a task. `proctor tdd show --json` prints all of it.
#[wire(schema)]
pub struct CountedV1 {
    /// Whether a cycle is started.
    pub started: bool,
    pub phase: Phase,
    /// The attempts in the phase; outside of a started cycle none are counted.
    pub attempts: u32,
    /// The exit codes of the last runs, oldest first; null for a run without an exit code.
    pub exit_code_history: Vec<Option<i32>>,
    /// The last routing decision.
    pub route: Option<RouteEntry>,
}

impl CountedV1 {
    fn of(state: &TddState) -> Option<Self> {
        let counted = Self {
            started: state.started,
            phase: state.phase,
            attempts: state.attempts,
            exit_code_history: state.exit_code_history.clone(),
            route: state.route_history.last().cloned(),
        };
        (state.started || counted.route.is_some()).then_some(counted)
    }
}

/// Whether a task's last verdict is for the present tree and the present plan, or why there is no such verdict.
#[wire(Copy, Hash, schema)]
pub enum StateV1 {
    /// The verdict is for the present tree and the present plan.
    Fresh,
    Running,
    Queued,
    /// The verdict is for another tree or plan.
    Stale,
    /// The tree changed during the run.
    Moved,
    /// The same paths changed again during the repeated run.
    Unstable,
    /// The task waits until a person decides where it goes.
    NeedsHuman,
    /// The task's plan asks for what a person must approve first, or no plan was approved yet.
    NotApproved,
    /// The project's directory does not exist.
    RootMissing,
    ConfigurationWrong,
    /// The task's specification has errors, or no specification has the task. `problems` says more.
    SpecificationWrong,
    /// The task never had a verdict.
    NoVerdict,
}

/// A run's verdict, with the tree and the plan that it is for.
#[wire(schema)]
pub struct VerdictV1 {
    pub run_id: RunId,
    pub tree: Option<TreeDigest>,
    /// Whether the checks ran on a snapshot of the tree; absent if it is not known, as for runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested: Option<TestedPlace>,
    pub plan: Option<Digest>,
    pub status: OverallStatus,
    pub result: Option<OverallResult>,
    /// How many results make the verdict FAILED.
    pub blocking: u32,
    /// When the run's last process had ended.
    pub ended: Option<Timestamp>,
    /// The isolation level of the run if it was weaker than namespaces. The key is absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationLevel>,
    pub report: String,
}

impl ProjectStatusV1 {
    /// Returns the status of a project. `now` is compared with the times of the last verdicts, to find a clock that is far off.
    pub fn new(standing: &ProjectStatus, serving: Serving, now: Timestamp) -> Self {
        let health = clock_problem(standing, now);
        Self {
            id: standing.project.clone(),
            root: standing.root.display().to_string(),
            serving,
            watched_by: None,
            tasks: standing.tasks.iter().map(TaskStatusV1::from).collect(),
            problems: standing.problems.clone(),
            health,
            started_early: standing.started_early,
        }
    }

    /// Names what keeps the service from judging the project, if anything does.
    pub fn with_health(self, health: Option<&ServiceTrouble>) -> Self {
        Self { health: health.cloned().or(self.health), ..self }
    }

    /// Returns the exit code for a command that asks about a task: the task's own. For a task that the project does not
    /// have it is that of all tasks together: a project without checks of its own has no task `default`.
    pub fn exit_code_of(&self, task: &TaskId) -> u8 {
        self.tasks.iter().find(|status| status.task == *task).map_or_else(|| self.exit_code_of_all(), |status| status.exit_code)
    }

    /// Returns the exit code for a command that asks about all tasks.
    pub fn exit_code_of_all(&self) -> u8 {
        let exits: Vec<CommandExit> = self.tasks.iter().map(|task| CommandExit::from_code(task.exit_code)).collect();
        CommandExit::of_tasks(&exits).code()
    }
}

/// Returns the problem that the clock is far behind the end of the project's last run.
pub(super) fn clock_problem(standing: &ProjectStatus, now: Timestamp) -> Option<ServiceTrouble> {
    let ended = standing.tasks.iter().filter_map(|task| task.verdict.as_ref()?.ended).max();
    ServiceTrouble::of_clock(now, ended)
}

impl From<&VerdictStatus> for TaskStatusV1 {
    fn from(standing: &VerdictStatus) -> Self {
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
            known: standing.known.clone(),
            checks: standing.checks.clone(),
            problems: standing.problems.clone(),
            rules_changed: standing.rules_changed.clone(),
            person: standing.person.clone(),
            tdd: CountedV1::of(&standing.tdd),
            tests_not_run: standing.tests_not_run.clone(),
            fewer_tests: standing.fewer_tests.clone(),
            failures: None,
        }
    }
}

impl From<&LastVerdict> for VerdictV1 {
    fn from(verdict: &LastVerdict) -> Self {
        Self {
            run_id: verdict.run_id.clone(),
            tree: verdict.tree,
            tested: verdict.tested,
            plan: verdict.plan,
            status: verdict.status,
            result: verdict.result,
            blocking: verdict.blocking,
            ended: verdict.ended,
            isolation: verdict.isolation,
            report: verdict.report.display().to_string(),
        }
    }
}
