//! Follows the running actions of a run, so that clients are told how far they are.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::Moment;
use proctor_api::EventV1;
use proctor_evidence::report::redact_text;
use proctor_model::{ActionId, EndedTest, ProjectId, RunId, TestProgress};
use proctor_run::LogFollower;

/// The pause between two looks at the logs.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// The most characters of a test's name in an event.
const LONGEST_NAME: usize = 200;

/// The run under way in the service, with its running actions.
pub(super) struct FollowedRun {
    pub(super) run_id: RunId,
    actions: Vec<FollowedAction>,
    next_look: Moment,
}

struct FollowedAction {
    action_id: ActionId,
    name: String,
    /// `None` before its process is started.
    follower: Option<LogFollower>,
    /// What clients were told last.
    told: TestProgress,
}

impl FollowedRun {
    pub(super) fn new(run_id: RunId) -> Self {
        Self { run_id, actions: Vec::new(), next_look: Moment(0) }
    }

    pub(super) fn start(&mut self, id: &ActionId, name: &str) {
        self.end(id);
        self.actions.push(FollowedAction {
            action_id: id.clone(),
            name: name.to_owned(),
            follower: None,
            told: TestProgress::default(),
        });
    }

    /// Notes the file that an action's output is written to. Another attempt of the action has another file.
    pub(super) fn note_log(&mut self, now: Moment, id: &ActionId, log: Arc<File>) {
        if let Some(action) = self.actions.iter_mut().find(|action| action.action_id == *id) {
            (action.follower, action.told) = (Some(LogFollower::new(log)), TestProgress::default());
            // Actions that start at short intervals keep no longer one from being told of.
            self.next_look = self.next_look.max(now).min(now.plus(BETWEEN_LOOKS));
        }
    }

    pub(super) fn end(&mut self, id: &ActionId) {
        self.actions.retain(|action| action.action_id != *id);
    }

    /// Returns when the logs are to be looked at next, if any is written.
    pub(super) fn next_look(&self) -> Option<Moment> {
        self.actions.iter().any(|action| action.follower.is_some()).then_some(self.next_look)
    }

    /// Looks at the logs if it is time, and returns what is news.
    pub(super) fn look(&mut self, now: Moment, project: &ProjectId) -> Vec<EventV1> {
        if self.next_look().is_none_or(|moment| moment > now) { Vec::new() } else { self.look_now(now, project) }
    }

    /// Looks at the logs, and returns what is news. Names of tests are the project's own words, so secrets are removed from them.
    pub(super) fn look_now(&mut self, now: Moment, project: &ProjectId) -> Vec<EventV1> {
        self.next_look = now.plus(BETWEEN_LOOKS);
        let run_id = &self.run_id;
        let event = |action: &mut FollowedAction| {
            let log = action.follower.as_mut()?;
            log.look();
            let (progress, ended) = (log.output.progress(), log.output.take_ended());
            if progress == action.told && ended.is_empty() {
                return None;
            }
            action.told = progress;
            let shown = |test: EndedTest| {
                let name = redact_text(&test.name);
                EndedTest { name: name.chars().take(LONGEST_NAME).collect(), outcome: test.outcome }
            };
            let (action_id, name) = (action.action_id.clone(), action.name.clone());
            let ended = ended.into_iter().map(shown).collect();
            Some(EventV1::ActionProgress { project: project.clone(), run_id: run_id.clone(), action_id, name, progress, ended })
        };
        self.actions.iter_mut().filter_map(event).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use proctor_model::{TestOutcome, Timestamp};

    #[test]
    fn news_of_a_running_action_is_told_once_and_not_more_often_than_it_may() {
        let run_id = RunId::new(Timestamp::from_millis(0), 1);
        let (mut run, id, project) =
            (FollowedRun::new(run_id.clone()), ActionId::numbered("STEP", 1), ProjectId::mint("shop", 1));
        let mut log = tempfile::tempfile().unwrap();
        run.start(&id, "tap");
        assert_eq!(run.next_look(), None);
        run.note_log(Moment(0), &id, Arc::new(log.try_clone().unwrap()));
        let first = run.next_look().unwrap();
        assert_eq!(run.look(first, &project), [], "nothing is printed yet");
        log.write_all(b"1..3\nok 1 - reads /home/me/a\nnot ok 2 - b\n").unwrap();
        let due = run.next_look().unwrap();
        assert_eq!(run.look(Moment(due.0 - 1), &project), []);
        let ended = |name: &str, outcome| EndedTest { name: name.to_owned(), outcome };
        let expected = EventV1::ActionProgress {
            project: project.clone(),
            run_id,
            action_id: id.clone(),
            name: "tap".to_owned(),
            progress: TestProgress { expected: Some(3), ended: 2, ..TestProgress::default() },
            ended: vec![ended("reads /home/me/a", TestOutcome::Passed), ended("b", TestOutcome::Failed)],
        };
        assert_eq!(run.look(due, &project), [expected]);
        let due = run.next_look().unwrap();
        assert_eq!(run.look(due, &project), []);
        run.end(&id);
        assert_eq!(run.next_look(), None);
    }
}
