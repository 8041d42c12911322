//! Calls: what clients ask of the service's loop. Each call carries the sender for its answer.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::errand::{Errand, ErrandDone};
use crate::service::pending_changes::LookCare;
use crate::service::subscribers::Subscription;
use proctor_api::{AddedV1, AnswerV1, CycleV1, ErrorV1, PathHistoryV1, ProjectV1, ProjectsV1, RunAnswerV1, RunRequestV1};
use proctor_model::{Asker, ProjectId, TaskId, TreePath};
use proctor_project::ProjectError;
use proctor_sandbox::process::PeerProcess;

/// Sends the answer to the client. If the client has closed its connection, the answer is dropped.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, ErrorV1>>;

/// A client's question or request.
#[derive(Debug)]
pub(crate) enum Call {
    /// Sent by the watch of the service's own program file: it may have been replaced.
    OwnProgramChanged,
    /// Sent at the end of the trial of the program that replaced the service's own. The error says why the new program does not run.
    ProgramTried(Result<(), String>),
    /// Sent by the watch of the ledgers where no service runs: another process may have written a run.
    LedgersChanged,
    Projects(Reply<ProjectsV1>),
    /// Which projects does the service watch? In the order of their ids.
    Watched(Reply<Vec<ProjectId>>),
    /// Watch a registered project from now on.
    Add {
        root: String,
        asker: Asker,
        reply: Reply<AddedV1>,
    },
    /// Stop watching a project.
    Remove {
        project: ProjectId,
        asker: Asker,
        reply: Reply<ProjectV1>,
    },
    /// Sent by the thread that recorded a project's removal in the ledger. `recorded` says whether the recording
    /// succeeded.
    RemovalRecorded {
        project: Box<ProjectV1>,
        /// The project's directory, so that it can be watched again.
        root: PathBuf,
        recorded: Result<(), ProjectError>,
        reply: Reply<ProjectV1>,
    },
    Run {
        project: ProjectId,
        request: RunRequestV1,
        reply: Reply<RunAnswerV1>,
    },
    /// What is the state of a project, beginning with this task?
    Verdict {
        project: ProjectId,
        task: TaskId,
        question: Question,
        timeout: Duration,
        reply: Reply<AnswerV1>,
    },
    /// Carry out an errand between runs, for example change a task's cycle.
    Errand {
        project: ProjectId,
        call: ErrandCall,
    },
    /// What is the state of a task's cycle?
    Cycle {
        project: ProjectId,
        task: TaskId,
        reply: Reply<CycleV1>,
    },
    /// Which file event did the watcher last receive about a path?
    Heard {
        project: ProjectId,
        path: TreePath,
        reply: Reply<PathHistoryV1>,
    },
    /// Record that a process was refused that may ask nothing.
    Refused {
        peer: PeerProcess,
        reply: Reply<()>,
    },
    /// Send events from now on. `after` is the id of the last event that the client got from an earlier connection.
    Subscribe {
        after: Option<String>,
        reply: Reply<Subscription>,
    },
}

/// A client's request for an errand.
#[derive(Debug)]
pub(crate) struct ErrandCall {
    pub(crate) errand: Errand,
    /// The description of the errand for the log, such as `REQUEST_RETEST`. For `REQUEST_STATUS_UPDATE`, it includes
    /// the status that the agent claims.
    pub(crate) what: String,
    pub(crate) reply: Reply<ErrandDone>,
}

/// A client's question about the state of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) wait: Wait,
    pub(crate) care: LookCare,
}

/// Whether a client wants its answer at once or only when there is a fresh verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Wait {
    /// The client wants an answer at once: the present state of the project.
    Now,
    /// The client waits for a fresh verdict, or for a state that waiting cannot change.
    Fresh,
}

/// The process and the user at the other end of a connection (`SO_PEERCRED`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer {
    /// The client's process id, if the system reports it.
    pub(crate) pid: Option<i32>,
    pub(crate) uid: u32,
}

impl Peer {
    /// Returns the description of the client that the ledger records (S3).
    pub(crate) fn asker(self) -> Asker {
        let link = |name: &str| std::fs::read_link(format!("/proc/{}/{name}", self.pid?)).ok();
        let terminal = link("fd/0").filter(|path| path.starts_with("/dev/pts") || path.starts_with("/dev/tty"));
        Asker {
            pid: self.pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default(),
            uid: self.uid,
            executable: link("exe").map(|path| path.display().to_string()),
            terminal: terminal.map(|path| path.display().to_string()),
        }
    }
}
