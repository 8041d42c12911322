//! Answers and refusals as they leave a project.

use crate::api::{AnswerV1, ErrorKindV1, ErrorV1, ProjectStatusV1};
use crate::daemon::service::call::Reply;
use crate::daemon::service::opening::chain;
use crate::daemon::service::waiters::Due;
use crate::daemon::worker::{Closed, ClosedReason};
use crate::model::{CommandExit, ProjectStanding, Serving};
use crate::project::{ProjectError, RetestRefusal};

/// Answers how a project stands: what was asked about comes first.
pub(super) fn answer(due: Due<Reply<AnswerV1>>, standing: &ProjectStanding) {
    let standing = standing.clone().with_first(&due.task);
    let project = ProjectStatusV1::new(&standing, Serving::Served);
    let _gone = due.reply.send(Ok(AnswerV1 { in_time: due.in_time, exit_code: project.exit_code(), project }));
}

/// Refuses a call.
pub(super) fn refuse<T>(reply: Reply<T>, error: ErrorV1) {
    let _gone = reply.send(Err(error));
}

/// Returns the error of one more than may.
pub(super) fn too_many(what: &str) -> ErrorV1 {
    ErrorV1::new(ErrorKindV1::TooMany, format!("as many as may already {what}"), "ask again when some of them have their answer")
}

/// Returns the error of something that could not be done: its kind follows from the exit code that a command would end with.
pub(super) fn of_run(error: &ProjectError) -> ErrorV1 {
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

/// Returns the error of a project that is not open.
pub(super) fn of_closed(why: &Closed) -> ErrorV1 {
    let (kind, hint) = match why.reason {
        ClosedReason::RootMissing => (ErrorKindV1::NotFound, "name a directory that is there"),
        ClosedReason::Doubtful => (ErrorKindV1::PersonNeeded, "say which it is: `proctor add --identity same` or `new`"),
        ClosedReason::Configuration => (ErrorKindV1::ConfigurationWrong, "mend proctor.toml and add the project again"),
        ClosedReason::OwnFault => (ErrorKindV1::OwnFault, "see the service's log"),
    };
    ErrorV1::new(kind, why.lines.join("; "), hint)
}
