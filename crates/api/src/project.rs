//! Requests that list, add and remove projects, and their answers.

use std::path::Path;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::status::{VerdictV1, clock_problem};
use proctor_model::{PersonAsked, ProjectId, ProjectStatus, ServiceTrouble, Serving, TaskId, TddState, Timestamp, VerdictStatus};

/// The answer of `GET /v1/projects`.
#[wire]
pub struct ProjectsV1 {
    /// Every registered project, sorted by id.
    pub projects: Vec<ProjectV1>,
    /// The editor in which the page opens files, by the user's own configuration. The key is absent if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor: Option<String>,
}

/// A registered project, and whether the service watches it (`serving`).
#[wire]
pub struct ProjectV1 {
    pub id: ProjectId,
    /// The absolute path of the project's root.
    pub root: String,
    pub serving: Serving,
    /// What is known about the project without reading its tree. `None` except in answers that list projects.
    #[serde(default)]
    pub standing: Option<ListedV1>,
}

/// What is known about a project without reading its tree. Only `GET /v1/status` says whether the verdict is for the present tree.
#[wire(sparse)]
pub struct ListedV1 {
    /// How the service notices changes.
    pub watching: WatchingV1,
    /// The id of the process of a `proctor watch` that runs the checks at each save. The key is absent if none runs.
    pub watched_by: Option<u32>,
    pub doing: DoingV1,
    /// The last verdict in the ledger for the first task of `tasks`.
    #[kept]
    pub verdict: Option<VerdictV1>,
    /// The tasks: first that of the project's own checks, then those that the service runs after a save, then the others
    /// that have a verdict. The key is absent if only the project's own checks are known.
    pub tasks: Vec<ListedTaskV1>,
    /// What a person is asked about the first task of `tasks` that asks something. The key is absent if nobody is asked.
    pub person: Option<PersonAsked>,
    #[kept]
    pub problems: Vec<String>,
    /// What keeps the service from judging the project, such as a full disk. The key is absent if nothing does.
    pub health: Option<ServiceTrouble>,
}

/// A task in a list of projects.
#[wire]
pub struct ListedTaskV1 {
    pub task: TaskId,
    /// The last verdict in the ledger for the task; `None` if it has none.
    pub verdict: Option<VerdictV1>,
}

/// How the service notices changes in a project.
#[wire(Copy, Hash)]
pub enum WatchingV1 {
    /// The kernel reports each change with an event.
    Events,
    /// At least a part of the tree is scanned at intervals, because the kernel reports no events for it; `problems`
    /// says why.
    Polling,
    NotWatched,
}

/// What the service is doing for a project.
#[wire(Copy, Hash)]
pub enum DoingV1 {
    Idle,
    /// A run is under way.
    Running,
    /// A run waits for its turn.
    Queued,
    /// The project is being opened or closed.
    Changing,
    /// The project could not be opened; the service tries again. `problems` says why.
    Closed,
    /// Only the service knows what it is doing, and this answer was computed without the service.
    Unknown,
}

impl ProjectV1 {
    /// Returns a project as it is registered, without the state of its runs and verdicts.
    pub fn new(id: ProjectId, root: &Path, serving: Serving) -> Self {
        Self { id, root: root.display().to_string(), serving, standing: None }
    }
}

impl ListedV1 {
    /// Returns what a list says about a project. `now` is compared with the times of the last verdicts, to find a clock that is
    /// far off.
    pub fn new(standing: &ProjectStatus, watching: WatchingV1, doing: DoingV1, now: Timestamp) -> Self {
        let verdict = standing.tasks.first().and_then(|task| task.verdict.as_ref()).map(VerdictV1::from);
        let is_known = standing.tasks.iter().any(|task| task.task != TaskId::default_task());
        let listed =
            |task: &VerdictStatus| ListedTaskV1 { task: task.task.clone(), verdict: task.verdict.as_ref().map(VerdictV1::from) };
        let tasks = standing.tasks.iter().filter(|_| is_known).map(listed).collect();
        let health = clock_problem(standing, now);
        let person = standing.tasks.iter().find_map(|task| task.person.clone());
        Self { watching, watched_by: None, doing, verdict, tasks, person, problems: standing.problems.clone(), health }
    }

    /// Says that the project's directory is not there. Nothing is watched then.
    pub fn with_missing_root(mut self) -> Self {
        self.watching = WatchingV1::NotWatched;
        self.problems.insert(0, "root missing: the project's directory is not there".to_owned());
        self
    }

    /// Names what keeps the service from judging the project, if anything does.
    pub fn with_health(self, health: Option<&ServiceTrouble>) -> Self {
        Self { health: health.cloned().or(self.health), ..self }
    }
}

/// The body of `POST /v1/projects`.
#[wire]
pub struct AddRequestV1 {
    /// The absolute path of the project's root.
    pub root: String,
}

/// The answer of `POST /v1/projects`.
#[wire]
pub struct AddedV1 {
    pub project: ProjectV1,
    /// Notes for people about opening and registering the project; empty if the service watched the project already.
    pub notes: Vec<String>,
}

// Requests that read or change the red, green, refactor cycle of a task.

/// The answer of `GET` and `POST /v1/projects/{id}/phase`.
#[wire]
pub struct CycleV1 {
    pub task: TaskId,
    /// The same state as `proctor tdd show --json` prints.
    pub state: TddState,
}

// The last file event that the service received for a path. It shows why a save did or did not start a run.

/// The answer of `GET /v1/projects/{id}/heard`.
#[wire]
pub struct PathHistoryV1 {
    /// The path. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The last event for the path. `None` if the path had no event since the service began to watch, or if the service
    /// has forgotten the event because too many other paths had events later.
    pub last: Option<PathEventV1>,
}

/// A file event, and whether the path belonged to the tree.
#[wire]
pub struct PathEventV1 {
    /// What happened, in words for people.
    pub event: String,
    /// Whether the path belonged to the tree when the event came. The event of a path outside of the tree has no
    /// effect.
    pub belonged: bool,
    /// The ignore pattern that decided `belonged`, and the place where the pattern is written; `None` if no pattern
    /// matches the path.
    pub rule: Option<String>,
}

// Opening the page in a browser: `POST /v1/page`.

/// The body of `POST /v1/page`.
#[wire(Default, sparse)]
pub struct PageRequestV1 {
    /// Where in the page it opens, such as `/projects/shop-1a2b/runs/5`; at its start if it is absent.
    pub to: Option<String>,
}

/// The answer of `POST /v1/page`: where the page is, and what lets a browser in once, within a minute.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PageTicketV1 {
    /// The address on which this machine's browsers reach the page, such as `127.0.0.1:43211`.
    pub address: String,
    pub ticket: String,
    /// The file that sends a browser there with the ticket. Only its user can read it, and it goes when the ticket was used or is too old.
    pub file: String,
}

/// The ticket never gets into a log.
impl std::fmt::Debug for PageTicketV1 {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PageTicketV1").field("address", &self.address).field("file", &self.file).finish_non_exhaustive()
    }
}
