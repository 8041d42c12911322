//! Calls: what clients ask of the service's loop. Each call carries the sender for its answer.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::errand::{Errand, ErrandDone};
use crate::service::pending_changes::LookCare;
use crate::service::program::TrialOutcome;
use crate::service::subscribers::Subscription;
use crate::service::waiters::DueAnswer;
use crate::worker::{OpenFailure, OpenFailureKind};
use proctor_api::{
    AddedV1, AnswerV1, CycleV1, ErrorKindV1, ErrorV1, PathHistoryV1, ProjectStatusV1, ProjectV1, ProjectsV1, RunAnswerV1,
    RunRequestV1,
};
use proctor_app::health::chain;
use proctor_model::{Asker, CommandExit, ProjectId, ProjectStatus, ServiceTrouble, Serving, TaskId, TreePath};
use proctor_project::{ProjectError, RetestRefusal};
use proctor_sandbox::process::{PeerProcess, clock};

/// Sends the answer to the client. If the client has closed its connection, the answer is dropped.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, ErrorV1>>;

/// A client's question or request.
#[derive(Debug)]
pub(crate) enum Call {
    /// Sent by the watch of the service's own program file: it may have been replaced.
    OwnProgramChanged,
    /// Sent at the end of the trial of the program that replaced the service's own. It names the program, or says why it does not run.
    ProgramTried(TrialOutcome),
    /// Sent by the watch of the ledgers where no service runs: another process may have written a run.
    LedgersChanged,
    /// Which projects are registered? With a root, only the watched project there is read.
    Projects {
        root: Option<PathBuf>,
        reply: Reply<ProjectsV1>,
    },
    /// Which projects, or which one at a root, does the service watch? In the order of their ids.
    Watched {
        root: Option<PathBuf>,
        reply: Reply<Vec<ProjectId>>,
    },
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

// Sends answers to clients, and makes the errors with which a project refuses calls.

/// Sends a client the state of the project, and what keeps the service from judging it. The task that the client asked about
/// comes first.
pub(super) fn answer(due: DueAnswer<Reply<AnswerV1>>, standing: &ProjectStatus, health: Option<&ServiceTrouble>) {
    let standing = standing.clone().with_first(&due.task);
    let project = ProjectStatusV1::new(&standing, Serving::Served, clock::now()).with_health(health);
    let _gone = due.reply.send(Ok(AnswerV1 { in_time: due.in_time, exit_code: project.exit_code_of(&due.task), project }));
}

/// Answers a call with an error. If the client has disconnected, the error is dropped.
pub(super) fn refuse<T>(reply: Reply<T>, error: ErrorV1) {
    let _gone = reply.send(Err(error));
}

/// Returns the error for a call that exceeds a limit.
pub(super) fn too_many(what: &str) -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::TooMany, format!("as many as may already {what}"), "ask again when some of them have their answer")
}

/// Returns the error for a request that failed. The kind of the error usually follows from the exit code that the same
/// failure gives on the command line.
pub(crate) fn from_run_error(error: &ProjectError) -> ErrorV1 {
    let kind = match (error, error.exit()) {
        (ProjectError::Retest(RetestRefusal::BudgetSpent { .. }), _) => ErrorKindV1::BudgetSpent,
        (ProjectError::Retest(RetestRefusal::Unchanged { passed: false, .. }), _) => ErrorKindV1::Unchanged,
        (ProjectError::Retest(RetestRefusal::Unchanged { passed: true, .. }), _) => ErrorKindV1::Passed,
        (ProjectError::Retest(RetestRefusal::Waiting), _) => ErrorKindV1::TooMany,
        (_, CommandExit::PersonNeeded) => ErrorKindV1::PersonNeeded,
        (_, CommandExit::Usage) => ErrorKindV1::NotNow,
        (_, CommandExit::SpecificationWrong) => ErrorKindV1::ConfigurationWrong,
        (_, CommandExit::NoFreshVerdict) => ErrorKindV1::TooMany,
        (_, CommandExit::EvidenceWrong) => ErrorKindV1::EvidenceWrong,
        (
            _,
            CommandExit::Proceed
            | CommandExit::CodeNeedsWork
            | CommandExit::OwnFault
            | CommandExit::Interrupted
            | CommandExit::Terminated,
        ) => ErrorKindV1::OwnFault,
    };
    ErrorV1::new(kind, chain(error), error.hint().unwrap_or_default())
}

pub(super) fn from_open_failure(why: &OpenFailure) -> ErrorV1 {
    let (kind, hint) = match why.reason {
        OpenFailureKind::RootMissing => (ErrorKindV1::NotFound, "name a directory that is there"),
        OpenFailureKind::Doubtful => {
            (ErrorKindV1::PersonNeeded, "say which it is: `proctor service add --identity same` or `new`")
        }
        OpenFailureKind::NotRegistered => {
            (ErrorKindV1::PersonNeeded, "`proctor service add DIRECTORY` registers it, which approves its plan")
        }
        OpenFailureKind::Configuration => (ErrorKindV1::ConfigurationWrong, "mend proctor.toml and add the project again"),
        OpenFailureKind::OwnFault(problem) => (ErrorKindV1::OwnFault, problem.mend().unwrap_or("see the service's log")),
    };
    ErrorV1::new(kind, why.lines.join("; "), hint)
}
