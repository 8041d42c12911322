//! Whether the service can judge a project: it names the problem behind a failure, decides when to try again, and knows
//! which tasks are still owed a run. Pure.
//!
//! A failure of proctor itself leaves the tasks of the failed runs owed: their last saves were not judged. They stay
//! owed until a run of the task is sealed, or a status check finds that the task needs no run. Only then is the problem
//! over, so that nothing that was saved meanwhile is forgotten.

use std::collections::BTreeSet;
use std::error::Error;
use std::time::Duration;

use nix::libc;

use crate::engine::Moment;
use crate::service::opening::chain;
use proctor_evidence::{EvidenceError, LockError};
use proctor_model::{CommandExit, HealthProblem, ServiceTrouble, TaskId, Timestamp};
use proctor_run::project::{ProjectError, system_error_behind};
use proctor_sandbox::process::SuperviseError;
use proctor_tree::watch::WatchError;

/// The pause before the first attempt after a failure. Every further pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The health of one project.
#[derive(Debug, Default)]
pub(super) struct ProjectHealth {
    trouble: Option<Trouble>,
}

/// A problem that is not over.
#[derive(Debug)]
struct Trouble {
    health: ServiceTrouble,
    /// The pause before the attempt after the next one.
    pause: Duration,
    again: Moment,
    owed: BTreeSet<TaskId>,
}

/// Whether a failure tells people anything new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HealthNews {
    /// The problem is new, or another one than before.
    New,
    /// The same problem goes on.
    Known,
}

impl ProjectHealth {
    /// Returns the problem, if there is one.
    pub(super) fn problem(&self) -> Option<&ServiceTrouble> {
        self.trouble.as_ref().map(|trouble| &trouble.health)
    }

    /// Notes a failure, and the task whose run has failed if it was a run. The next attempt comes after a pause that grows
    /// with every failure.
    pub(super) fn failed(&mut self, now: Moment, health: ServiceTrouble, task: Option<&TaskId>) -> HealthNews {
        let before = self.trouble.take();
        let longest = health.problem.longest_pause();
        let pause = before.as_ref().map_or(FIRST_PAUSE, |before| before.pause).min(longest);
        let news = match &before {
            Some(before) if before.health.problem == health.problem => HealthNews::Known,
            Some(_) | None => HealthNews::New,
        };
        let (since, mut owed) = match before {
            Some(before) if news == HealthNews::Known => (before.health.since, before.owed),
            Some(before) => (health.since, before.owed),
            None => (health.since, BTreeSet::new()),
        };
        owed.extend(task.cloned());
        let health = ServiceTrouble { since, ..health };
        self.trouble = Some(Trouble { health, pause: pause.saturating_mul(2), again: now.plus(pause), owed });
        news
    }

    /// Notes that a run of the task was sealed. Returns the problem if it is over by that.
    pub(super) fn sealed(&mut self, task: &TaskId) -> Option<ServiceTrouble> {
        let trouble = self.trouble.as_mut()?;
        let was_owed = trouble.owed.remove(task);
        // Without an owed task, a status check has failed. The next status check ends such a problem.
        self.trouble.take_if(|trouble| was_owed && trouble.owed.is_empty()).map(|trouble| trouble.health)
    }

    /// Notes that a status check of the whole tree has succeeded, after which only the tasks `to_run` need a run. Returns
    /// the problem if it is over by that.
    pub(super) fn looked(&mut self, to_run: &[TaskId]) -> Option<ServiceTrouble> {
        let trouble = self.trouble.as_mut()?;
        trouble.owed = to_run.iter().cloned().collect();
        self.trouble.take_if(|trouble| trouble.owed.is_empty()).map(|trouble| trouble.health)
    }

    /// Forgets the problem, because the project is opened anew: its first status check finds whatever is owed.
    pub(super) fn opened(&mut self) -> Option<ServiceTrouble> {
        self.trouble.take().map(|trouble| trouble.health)
    }

    /// Returns the moment of the next attempt.
    pub(super) fn next_moment(&self) -> Option<Moment> {
        self.trouble.as_ref().map(|trouble| trouble.again)
    }

    /// Returns whether it is time for an attempt, and plans the one after it.
    pub(super) fn take_due(&mut self, now: Moment) -> bool {
        let Some(trouble) = self.trouble.as_mut().filter(|trouble| trouble.again <= now) else { return false };
        // The attempt may end without a word, for example because a save stops it. Then the next one still comes.
        trouble.again = now.plus(trouble.pause.min(trouble.health.problem.longest_pause()));
        true
    }
}

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
pub(super) fn health(problem: HealthProblem, cause: String, hint: Option<String>, since: Timestamp) -> ServiceTrouble {
    let mend = problem.mend().map(str::to_owned).or(hint);
    ServiceTrouble { problem, cause, mend: mend.unwrap_or_else(|| "see the service's log".to_owned()), since }
}

/// Returns the problem behind an error of the project.
pub(super) fn problem_of(error: &ProjectError) -> HealthProblem {
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
pub(super) fn problem_of_watcher(error: &WatchError) -> HealthProblem {
    match error {
        WatchError::Relative { .. }
        | WatchError::Root { .. }
        | WatchError::Backend { .. }
        | WatchError::Watch { .. }
        | WatchError::Thread { .. } => problem_behind(error),
    }
}

/// Returns the problem behind any other error.
pub(super) fn problem_behind(error: &(dyn Error + 'static)) -> HealthProblem {
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use proctor_evidence::{EvidenceError, FileOperation};

    const START: Moment = Moment(0);

    fn task(name: &str) -> TaskId {
        TaskId::try_from(name).unwrap()
    }

    fn found(problem: HealthProblem) -> ServiceTrouble {
        health(problem, "cause".to_owned(), None, Timestamp::from_millis(5))
    }

    fn evidence(number: i32) -> ProjectError {
        let source = io::Error::from_raw_os_error(number);
        ProjectError::Evidence(EvidenceError::File { operation: FileOperation::Write, path: "/store/x".into(), source })
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_the_same_problem_is_told_once() {
        let mut project = ProjectHealth::default();
        let mut now = START;
        let mut pauses = Vec::new();
        for attempt in 0..9 {
            let news = project.failed(now, found(HealthProblem::DiskFull), None);
            assert_eq!(news, if attempt == 0 { HealthNews::New } else { HealthNews::Known });
            let again = project.next_moment().unwrap();
            pauses.push((again.0 - now.0) / 1000);
            assert!(!project.take_due(Moment(again.0 - 1)));
            assert!(project.take_due(again));
            assert!(project.next_moment().unwrap() > again, "an attempt without an end is followed by another");
            now = again;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(project.failed(now, found(HealthProblem::Memory), None), HealthNews::New, "another problem");
    }

    #[test]
    fn a_problem_is_over_when_every_owed_task_is_sealed_or_needs_no_run() {
        let (one, other) = (task("T1"), task("T2"));
        let mut project = ProjectHealth::default();
        assert_eq!(project.sealed(&one), None, "a project that is well stays well");
        project.failed(START, found(HealthProblem::DiskFull), Some(&one));
        project.failed(START, found(HealthProblem::DiskFull), Some(&other));
        assert_eq!(project.sealed(&one), None, "the other task is still owed");
        assert_eq!(project.looked(std::slice::from_ref(&other)), None);
        assert_eq!(project.sealed(&other).map(|health| health.problem), Some(HealthProblem::DiskFull));
        assert_eq!(project.problem(), None);
        project.failed(START, found(HealthProblem::Descriptors), Some(&one));
        assert!(project.looked(&[]).is_some(), "nothing is to be run");
        project.failed(START, found(HealthProblem::Descriptors), None);
        assert_eq!(project.sealed(&one), None, "a status check has failed, and a run proves nothing about the next one");
        assert!(project.looked(&[]).is_some());
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
