//! Which problem of the machine is behind a failure of proctor itself. Pure.

use std::error::Error;

use nix::libc;

use proctor_evidence::{EvidenceError, LockError};
use proctor_model::{CommandExit, HealthProblem, ServiceTrouble, Timestamp};
use proctor_project::{ProjectError, system_error_behind};
use proctor_sandbox::process::SuperviseError;
use proctor_tree::watch::WatchError;

/// Returns the problem behind a failure of proctor itself; `None` if the project, its configuration or a person is the
/// reason, or evidence was changed. `since` is the time of the failure. A problem that no row of the table names is
/// [`HealthProblem::Other`].
pub fn health_of(error: &ProjectError, since: Timestamp) -> Option<ServiceTrouble> {
    // A store that is gone as a whole is put back or made anew by a person; nobody has changed evidence.
    if let ProjectError::Evidence(EvidenceError::LedgerGone { .. }) = error {
        return Some(health(HealthProblem::StoreNotWritable, chain(error), None, since));
    }
    match error.exit() {
        CommandExit::OwnFault | CommandExit::NoFreshVerdict => {}
        CommandExit::Proceed
        | CommandExit::CodeNeedsWork
        | CommandExit::Usage
        | CommandExit::PersonNeeded
        | CommandExit::SpecificationWrong
        | CommandExit::EvidenceWrong
        | CommandExit::Interrupted
        | CommandExit::Terminated => return None,
    }
    Some(health(problem_of(error), chain(error), error.hint(), since))
}

/// Returns the problem of the machine behind any other failure of proctor itself; `None` if no row of the table names it.
pub fn health_behind(error: &(dyn Error + 'static), since: Timestamp) -> Option<ServiceTrouble> {
    let problem = problem_behind(error);
    (problem != HealthProblem::Other).then(|| health(problem, chain(error), None, since))
}

/// Returns the problem with its mend. If the table of problems has no mend, the error's own `hint` is the mend.
pub fn health(problem: HealthProblem, cause: String, hint: Option<String>, since: Timestamp) -> ServiceTrouble {
    let mend = problem.mend().map(str::to_owned).or(hint);
    let message = problem.message(&cause);
    ServiceTrouble { problem, message, mend: mend.unwrap_or_else(|| "see the service's log".to_owned()), since }
}

/// Returns the problem behind an error of the project.
pub fn problem_of(error: &ProjectError) -> HealthProblem {
    let number = system_error_behind(error);
    if let Some(problem) = number.and_then(of_number) {
        return problem;
    }
    match (error, number) {
        (
            ProjectError::Launcher(_)
            | ProjectError::WorkerThread { .. }
            | ProjectError::ServiceThread { .. }
            | ProjectError::LaneThread { .. },
            Some(libc::EAGAIN),
        ) => HealthProblem::Processes,
        (
            ProjectError::Launcher(_)
            | ProjectError::HelperDied { .. }
            | ProjectError::Supervise { source: SuperviseError::LauncherGone, .. },
            _,
        ) => HealthProblem::LauncherGone,
        (
            ProjectError::Evidence(_)
            | ProjectError::RunEvidence { .. }
            | ProjectError::Index(_)
            | ProjectError::Lock(LockError::Evidence(_)),
            Some(libc::EACCES | libc::EPERM | libc::EROFS | libc::ENOENT | libc::ENOTDIR),
        ) => HealthProblem::StoreNotWritable,
        _ => HealthProblem::Other,
    }
}

/// Returns the problem behind an error of the watcher.
pub fn problem_of_watcher(error: &WatchError) -> HealthProblem {
    match error {
        WatchError::Relative { .. }
        | WatchError::Root { .. }
        | WatchError::Backend { .. }
        | WatchError::Watch { .. }
        | WatchError::Thread { .. } => problem_behind(error),
    }
}

/// Returns the problem behind any other error.
pub fn problem_behind(error: &(dyn Error + 'static)) -> HealthProblem {
    match system_error_behind(error) {
        Some(libc::EAGAIN) => HealthProblem::Processes,
        number => number.and_then(of_number).unwrap_or(HealthProblem::Other),
    }
}

/// Returns the problem that an error number of the system means wherever it occurs.
fn of_number(number: i32) -> Option<HealthProblem> {
    match number {
        libc::EMFILE | libc::ENFILE => Some(HealthProblem::Descriptors),
        libc::ENOMEM => Some(HealthProblem::Memory),
        libc::ENOSPC | libc::EDQUOT => Some(HealthProblem::DiskFull),
        _ => None,
    }
}

/// Returns an error and its causes on one line.
pub fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (**cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use proctor_evidence::{EvidenceError, FileOperation};
    use proctor_model::TaskId;

    fn task(name: &str) -> TaskId {
        TaskId::try_from(name).unwrap()
    }

    fn evidence(number: i32) -> ProjectError {
        let source = io::Error::from_raw_os_error(number);
        ProjectError::Evidence(EvidenceError::File { operation: FileOperation::Write, path: "/store/x".into(), source })
    }

    #[test]
    fn the_same_error_number_has_one_name_and_a_store_that_is_gone_or_closed_is_named() {
        for (number, problem) in [
            (libc::EMFILE, HealthProblem::Descriptors),
            (libc::ENFILE, HealthProblem::Descriptors),
            (libc::ENOMEM, HealthProblem::Memory),
            (libc::ENOSPC, HealthProblem::DiskFull),
            (libc::EDQUOT, HealthProblem::DiskFull),
            (libc::EROFS, HealthProblem::StoreNotWritable),
            (libc::EACCES, HealthProblem::StoreNotWritable),
            (libc::ENOENT, HealthProblem::StoreNotWritable),
            (libc::EIO, HealthProblem::Other),
        ] {
            assert_eq!(problem_of(&evidence(number)), problem, "{number}");
        }
        let project = |number| ProjectError::Project { path: "/p".into(), source: io::Error::from_raw_os_error(number) };
        assert_eq!(problem_of(&project(libc::ENOENT)), HealthProblem::Other, "the store is not concerned");
        assert_eq!(problem_of(&project(libc::EMFILE)), HealthProblem::Descriptors);
        let died = ProjectError::HelperDied { action: "a".to_owned(), why: "killed".to_owned() };
        assert_eq!(problem_of(&died), HealthProblem::LauncherGone);
    }

    #[test]
    fn what_only_a_person_can_change_is_no_problem_of_the_machine() {
        let now = Timestamp::from_millis(0);
        assert_eq!(health_of(&ProjectError::PersonNeeded { task: task("T1") }, now), None);
        assert_eq!(health_of(&ProjectError::Patterns("x".to_owned()), now), None);
        let full = health_of(&evidence(libc::ENOSPC), now).unwrap();
        assert!(full.mend.contains("proctor prune"), "{}", full.mend);
        let unknown = health_of(&evidence(libc::EIO), now).unwrap();
        assert!(!unknown.mend.is_empty(), "the error's own hint");
    }
}
