//! The failures of proctor itself. A tool that fails is a result of a run and never one of these errors (house style
//! S6).

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use nix::libc;

use crate::refused_requests::RetestRefusal;
use proctor_evidence::{EvidenceError, LineProblem, LockError};
use proctor_index::IndexError;
use proctor_model::{CommandExit, HelperDeath, PruneReason, RunId, StopReason, TaskId, TreePath, approve_command};
use proctor_sandbox::SandboxError;
use proctor_sandbox::process::{ControlError, LauncherError, SuperviseError};
use proctor_sandbox::snapshot::{InPlaceReason, SnapshotError};
use proctor_tree::TreeError;

/// An operation that proctor could not do.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The project's evidence could not be locked, for example because another process held the lock for too long.
    #[error("failed to lock the project's evidence")]
    Lock(#[from] LockError),
    /// The user or a signal stopped proctor while it waited for another run of the project.
    #[error("stopped while waiting for another run of this project; nothing was run")]
    StoppedWaiting(StopReason),
    /// No slot of the machine-wide queue became free in time.
    #[error("gave up after {} s of waiting for other runs' actions (still under way: {under_way})", wait.as_secs())]
    Queue { under_way: usize, wait: Duration },
    /// Evidence could not be written, or the store could not be read.
    #[error("failed to keep the evidence")]
    Evidence(#[from] EvidenceError),
    /// Files of a sealed run could not be read.
    #[error("the evidence of run {run_id} {}", if *is_gone { "is gone" } else { "cannot be read" })]
    RunEvidence {
        run_id: RunId,
        /// Whether another program removed the run's directory.
        is_gone: bool,
        #[source]
        source: EvidenceError,
    },
    /// The index over the ledgers could not be used.
    #[error("failed to use the index")]
    Index(#[from] IndexError),
    /// The tree could not be read.
    #[error("failed to read the project's tree")]
    Tree(#[from] TreeError),
    /// The patterns of `watch.ignore` or `watch.include` are wrong.
    #[error("the configuration is wrong: {0}")]
    Patterns(String),
    /// The report that a check names is part of the tree, so each run would begin with an old one.
    #[error("the `report` of `{action}` is part of the tree: `{path}`; nothing was run")]
    ReportInTree { action: String, path: TreePath },
    /// The launcher, the helper process that starts actions, could not be started.
    #[error("failed to start the launcher")]
    Launcher(#[from] LauncherError),
    /// The thread that carries out a project's requests could not be started.
    #[error("failed to start the project's thread")]
    WorkerThread {
        #[source]
        source: io::Error,
    },
    /// The pipe by which a run can be stopped could not be made.
    #[error("failed to prepare a run")]
    Control(#[from] ControlError),
    /// It could not be determined which files an action sees.
    #[error("failed to settle what an action sees of the file system")]
    Sandbox(#[from] SandboxError),
    /// The project could not be read while it was copied for a snapshot.
    #[error("failed to make a snapshot of the project")]
    Snapshot(#[from] SnapshotError),
    /// The files that an action wrote in its snapshot could not be listed.
    #[error("failed to read what `{action}` wrote in its snapshot")]
    WrittenLayer {
        action: String,
        #[source]
        source: io::Error,
    },
    /// An action failed while the disk was full to which it writes beside the project, so its failure says nothing about the code.
    #[error("`{action}` failed on a full disk, so there is no verdict: what it writes lies beside the evidence in `{}`", store.display())]
    NoRoom {
        action: String,
        store: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The settings require a snapshot, and none can be made.
    #[error("no snapshot can be made: {reason}; nothing was run, because of `snapshot = \"require\"`")]
    SnapshotRequired { reason: String },
    /// A file of the tree or an ignored file keeps it from being copied, and nobody approved that checks work in the project itself.
    #[error("no snapshot can be made: {reason}; nothing was run, because nobody approved that checks work in the project itself")]
    TreeNotCopied { reason: String, remedy: String },
    /// A command could not be supervised. The command itself is never the reason.
    #[error("failed to supervise `{action}`")]
    Supervise {
        action: String,
        #[source]
        source: SuperviseError,
    },
    /// A helper process of proctor (the launcher, or the keeper of one action) died before the run began.
    #[error("proctor's own fault, so nothing was run: while `{action}` was made ready, {why}")]
    HelperDied { action: String, why: String },
    /// A service process did not end after it was told to stop, for an unknown reason.
    #[error("gave up waiting for the end of the service `{action}`")]
    ServiceStuck { action: String },
    /// The thread that supervises a service process could not be started.
    #[error("failed to supervise the service `{action}`")]
    ServiceThread {
        action: String,
        #[source]
        source: io::Error,
    },
    /// The thread that supervises an action in parallel with others could not be started.
    #[error("failed to supervise `{action}` beside other actions")]
    LaneThread {
        action: String,
        #[source]
        source: io::Error,
    },
    /// A file descriptor for an action's files could not be created.
    #[error("failed to open the files of `{action}`")]
    Descriptor {
        action: String,
        #[source]
        source: io::Error,
    },
    /// The project's directory could not be read.
    #[error("failed to look at `{path}`")]
    Project {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The report file of an earlier run could not be moved away before a tool writes its new report.
    #[error("failed to put the old report `{path}` aside")]
    OldReport {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A stored report file cannot be read, or differs from the report that was sealed.
    #[error("the report of run {run_id} cannot be read: {problem}")]
    Report { run_id: RunId, problem: String },
    /// The files of the run are gone, because a limit on kept evidence was exceeded.
    #[error("run {run_id} was pruned: its files are gone")]
    Pruned { run_id: RunId, why: PruneReason },
    /// The specification of a task cannot be found, or a proposed specification cannot be read.
    #[error("{problem}")]
    Specification { problem: String },
    /// An agent's request for a retest is refused.
    #[error(transparent)]
    Retest(RetestRefusal),
    /// Only a person may decide where a task continues.
    #[error("task `{task}` waits for a person: only one can go on with it")]
    PersonNeeded { task: TaskId },
    /// More files are protected than an approval can list.
    #[error("`protect` names {count} files, and at most {most} can be protected")]
    ProtectedTooMany {
        /// The number of protected files.
        count: usize,
        /// The largest allowed number.
        most: usize,
    },
    /// The plan can be approved only by a signature.
    #[error("task `{task}` asks for less than was approved: only a signature of a listed key can approve that")]
    ApprovalNeedsSignature { task: TaskId },
    /// The given signature does not approve the plan.
    #[error(
        "that is no signature, by a key that may approve, of what is to be approved of task `{task}` now: nothing was approved"
    )]
    ApprovalSignature { task: TaskId },
    /// The plan, or what was approved of it, changed after the plan was shown to the person.
    #[error("the plan of task `{task}` or what was approved of it changed meanwhile: nothing was approved")]
    ApprovedMeanwhile { task: TaskId },
    /// The change of the TDD cycle is not possible in its current state.
    #[error(transparent)]
    Cycle(proctor_plan::routing::TransitionError),
}

/// Returns the first error number of the system (`errno(3)`) among an error and its causes; `None` if the system is not the
/// reason.
pub fn system_error_behind(error: &(dyn Error + 'static)) -> Option<i32> {
    let mut next = Some(error);
    while let Some(error) = next {
        let number = system_error(error);
        if number.is_some() {
            return number;
        }
        next = error.source();
    }
    None
}

fn system_error(error: &(dyn Error + 'static)) -> Option<i32> {
    if let Some(error) = error.downcast_ref::<IndexError>() {
        return error.system_error();
    }
    let error = error.downcast_ref::<io::Error>()?;
    let by_kind = || KINDS.iter().find(|(kind, _)| *kind == error.kind()).map(|(_, number)| *number);
    error.raw_os_error().or_else(by_kind)
}

/// Kinds of errors that may come without a number, with the numbers that they stand for.
const KINDS: [(io::ErrorKind, i32); 3] = [
    (io::ErrorKind::StorageFull, libc::ENOSPC),
    (io::ErrorKind::QuotaExceeded, libc::EDQUOT),
    (io::ErrorKind::OutOfMemory, libc::ENOMEM),
];

/// What to do about a full disk. The message before it names the file that could not be written.
const DISK_FULL: &str = "the disk with this file, or your quota on it, is full: free some space there and run the command again; \
                         `proctor prune` removes old evidence";

impl ProjectError {
    /// Returns the error for a tree, or ignored files, that no copy can be made of.
    pub fn not_copied(reason: &InPlaceReason) -> Self {
        Self::TreeNotCopied { reason: reason.to_string(), remedy: reason.remedy() }
    }

    /// Returns whether the disk, or the user's quota on it, is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(system_error_behind(self), Some(libc::ENOSPC | libc::EDQUOT))
    }

    /// Returns whether this user may not write the store, or a file in it: it is another user's, a file lies in its way, or the file
    /// system is read-only.
    fn is_refused_by_owner(&self) -> bool {
        let is_of_store = matches!(self, Self::Lock(_) | Self::Index(_))
            || matches!(self, Self::Evidence(error) | Self::RunEvidence { source: error, .. } if !error.is_changed_evidence());
        is_of_store && matches!(system_error_behind(self), Some(libc::EACCES | libc::EPERM | libc::EROFS | libc::ENOTDIR))
    }

    /// Returns the exit code of a command that fails with this error (G5).
    pub fn exit(&self) -> CommandExit {
        if self.is_disk_full() {
            return CommandExit::NoFreshVerdict;
        }
        if self.is_refused_by_owner() {
            return CommandExit::Usage;
        }
        match self {
            Self::TreeNotCopied { .. } => CommandExit::PersonNeeded,
            Self::Lock(LockError::Busy { .. }) | Self::Queue { .. } | Self::SnapshotRequired { .. } => {
                CommandExit::NoFreshVerdict
            }
            Self::StoppedWaiting(StopReason::Terminated) => CommandExit::Terminated,
            Self::StoppedWaiting(
                StopReason::Interrupted
                | StopReason::Superseded
                | StopReason::HelperDied
                | StopReason::ServiceEnded
                | StopReason::ChecksOver,
            ) => CommandExit::Interrupted,
            Self::Cycle(_) | Self::Specification { .. } | Self::Pruned { .. } => CommandExit::Usage,
            // A newer proctor wrote the store: this program is the wrong one, and nothing has failed.
            Self::Index(IndexError::Newer { .. })
            | Self::Evidence(EvidenceError::LedgerLine { problem: LineProblem::UnknownSchema(_), .. }) => CommandExit::Usage,
            Self::Retest(refusal) => refusal.exit(),
            Self::PersonNeeded { .. }
            | Self::ApprovalNeedsSignature { .. }
            | Self::ApprovalSignature { .. }
            | Self::ApprovedMeanwhile { .. } => CommandExit::PersonNeeded,
            Self::Patterns(_) | Self::ReportInTree { .. } | Self::ProtectedTooMany { .. } => CommandExit::SpecificationWrong,
            Self::Report { .. } => CommandExit::EvidenceWrong,
            Self::Evidence(error) | Self::RunEvidence { source: error, .. } if error.is_changed_evidence() => {
                CommandExit::EvidenceWrong
            }
            Self::Sandbox(error) if error.is_of_settings() => CommandExit::SpecificationWrong,
            Self::Lock(_)
            | Self::Evidence(_)
            | Self::RunEvidence { .. }
            | Self::Index(_)
            | Self::Tree(_)
            | Self::Snapshot(_)
            | Self::WrittenLayer { .. }
            | Self::NoRoom { .. }
            | Self::Launcher(_)
            | Self::WorkerThread { .. }
            | Self::Control(_)
            | Self::Sandbox(_)
            | Self::Supervise { .. }
            | Self::HelperDied { .. }
            | Self::ServiceStuck { .. }
            | Self::ServiceThread { .. }
            | Self::LaneThread { .. }
            | Self::Descriptor { .. }
            | Self::Project { .. }
            | Self::OldReport { .. } => CommandExit::OwnFault,
        }
    }

    /// Returns advice on what to do next.
    pub fn hint(&self) -> Option<String> {
        if self.is_disk_full() {
            return Some(DISK_FULL.to_owned());
        }
        let hint = match self {
            Self::Lock(error) => error.hint(),
            Self::StoppedWaiting(_) => "run the command again; `lock_wait` in `[evidence]` bounds the wait",
            Self::Queue { .. } => "run the command again when they are done, or raise `max_parallel` or `wait` in `[queue]`",
            Self::RunEvidence { run_id, is_gone: true, .. } => {
                return Some(format!(
                    "put its directory back from a backup or an export; `proctor verify {run_id}` says what else is missing"
                ));
            }
            Self::Evidence(EvidenceError::NotAsSealed { run_id, .. })
            | Self::RunEvidence { source: EvidenceError::NotAsSealed { run_id, .. }, .. } => {
                return Some(format!(
                    "`proctor verify {run_id}` says what else was changed; put the file back from a backup or an export"
                ));
            }
            Self::Evidence(error) | Self::RunEvidence { source: error, .. } => error.hint(),
            Self::Index(error) => error.hint(),
            Self::Tree(error) => return Some(error.hint()),
            Self::Sandbox(error) => error.hint(),
            Self::Snapshot(_) | Self::WrittenLayer { .. } | Self::NoRoom { .. } => {
                "see whether the project can be read and the disk has space, then run the command again"
            }
            Self::TreeNotCopied { remedy, .. } => {
                return Some(format!("{remedy}; or write `snapshot = \"off\"` below `[sandbox]`, which a person approves"));
            }
            Self::SnapshotRequired { .. } => {
                "remove the cause, or set `snapshot = \"auto\"` in `[sandbox]` to run in the project then"
            }
            Self::Supervise { .. } => "see whether the disk is full, then run the command again",
            Self::HelperDied { .. } => HelperDeath::HINT,
            Self::ServiceStuck { .. } => "see whether its processes hang in the kernel (`ps -eo pid,stat,args`, state D)",
            Self::ServiceThread { .. } | Self::LaneThread { .. } | Self::WorkerThread { .. } | Self::Control(_) => {
                "check the limits on processes and open files (`ulimit -u -n`)"
            }
            Self::Descriptor { .. } => "check the limit on open files (`ulimit -n`), then run the command again",
            Self::Project { .. } => "check that the directory exists and that you may read it",
            Self::ProtectedTooMany { .. } => "name fewer in `protect` of `[approval]`: the tests, and what runs beside them",
            Self::ReportInTree { .. } => {
                "let git ignore it and remove it, or let the command write it to the directory of `PROCTOR_OUT`"
            }
            Self::Patterns(_) => "patterns are written as in .gitignore",
            Self::OldReport { .. } => "remove the file, or let the command write its report elsewhere",
            Self::Report { .. } => "the store was changed from outside: compare it with a backup",
            Self::Pruned { why, .. } => {
                return Some(format!("its files are gone because {}; `proctor log` lists what is there", why.because()));
            }
            Self::Launcher(_) => "check the limit on processes (`ulimit -u`) and that proctor's program file still exists",
            Self::Specification { .. } => "`proctor check` names the specifications of the project and what is wrong with them",
            Self::Retest(refusal) => refusal.hint(),
            Self::PersonNeeded { .. } => "run the command yourself on a terminal",
            Self::ApprovalNeedsSignature { task } | Self::ApprovalSignature { task } => {
                let approve = approve_command(task);
                return Some(format!(
                    "sign what `{approve} --print` prints now (`ssh-keygen -Y sign -n proctor-approval -f KEY FILE`), then \
                     `{approve} --signature FILE.sig`"
                ));
            }
            Self::ApprovedMeanwhile { task } => return Some(format!("run `{}` again", approve_command(task))),
            Self::Cycle(_) => "`proctor tdd show` tells where the cycle stands",
        };
        Some(hint.to_owned())
    }
}
