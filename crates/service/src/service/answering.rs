//! Sends answers to clients, and makes the errors with which a project refuses calls.

use crate::service::call::Reply;
use crate::service::waiters::DueAnswer;
use crate::worker::{OpenFailure, OpenFailureKind};
use proctor_api::{AnswerV1, ErrorKindV1, ErrorV1, ProjectStatusV1};
use proctor_app::health::chain;
use proctor_model::{CommandExit, ProjectStatus, ServiceTrouble, Serving};
use proctor_project::{ProjectError, RetestRefusal};
use proctor_sandbox::process::clock;

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
