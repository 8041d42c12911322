//! Whether the service can judge a project: it decides when to try again after a failure, and knows
//! which tasks are still owed a run. Pure.
//!
//! A failure of proctor itself leaves the tasks of the failed runs owed: their last saves were not judged. They stay
//! owed until a run of the task is sealed, or a status check finds that the task needs no run. Only then is the problem
//! over, so that nothing that was saved meanwhile is forgotten.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::engine::Moment;
use proctor_model::{ServiceTrouble, TaskId};

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
    /// How long is waited after the next attempt, if it fails too. The next attempt itself is made at `again`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_app::health::health;
    use proctor_model::{HealthProblem, Timestamp};

    const START: Moment = Moment(0);

    fn task(name: &str) -> TaskId {
        TaskId::try_from(name).unwrap()
    }

    fn found(problem: HealthProblem) -> ServiceTrouble {
        health(problem, "cause".to_owned(), None, Timestamp::from_millis(5))
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
}
