//! Why a person is asked about a task, in the words of every screen, message and answer (R3, R9, S7).

use proctor_wire::wire;

use crate::{PauseRecord, RuleDifference, RunId, TaskId, TddState, Timestamp, approve_command};

/// A question to a person about a task: why, since when, and what the person does.
#[wire(schema)]
pub struct PersonAsked {
    pub asked_for: PersonAskedFor,
    /// Why the person is asked, in words such as `Scaffold retry limit (3) exceeded`.
    pub reason: String,
    /// Since when; null for an approval, because the files ask for it and no run does.
    pub since: Option<Timestamp>,
    /// The run that led to the question; null for an approval.
    pub run_id: Option<RunId>,
    /// The whole command that a person types, with the options that it needs.
    pub command: String,
}

/// The kind of answer that a person is asked for.
#[wire(Copy, Hash, schema)]
pub enum PersonAskedFor {
    /// The task waits until a person decides where it goes (R9).
    Decision,
    /// Nothing is run until a person approves what the plan asks for (S7).
    Approval,
    /// A person should look, and nothing waits: no cycle is started (R3).
    Look,
}

impl PersonAsked {
    /// Returns the question of a task that waits for a decision.
    pub fn decision(task: &TaskId, pause: &PauseRecord) -> Self {
        Self::of_record(PersonAskedFor::Decision, pause, format!("proctor tdd resolve {task} --to NODE --reason TEXT"))
    }

    /// Returns what the state of a task's cycle asks a person; `None` if it asks nothing.
    pub fn of_cycle(task: &TaskId, state: &TddState) -> Option<Self> {
        let look = |notice: &PauseRecord| Self::of_record(PersonAskedFor::Look, notice, format!("proctor tdd show {task}"));
        let decision = state.paused.as_ref().map(|pause| Self::decision(task, pause));
        decision.or_else(|| state.notice.as_ref().map(look))
    }

    /// Returns the question of a plan that asks for more than was approved; `what` names it.
    pub fn approval(task: &TaskId, what: &[String]) -> Self {
        Self {
            asked_for: PersonAskedFor::Approval,
            reason: format!("it asks for more than was approved: {}", what.join("; ")),
            since: None,
            run_id: None,
            command: approve_command(task),
        }
    }

    /// Returns the question of a plan whose rules differ from the approved ones; `None` if it opens nothing, so that it may run.
    pub fn of_difference(task: &TaskId, difference: &RuleDifference) -> Option<Self> {
        (!difference.opens.is_empty()).then(|| Self::approval(task, &difference.texts()))
    }

    fn of_record(asked_for: PersonAskedFor, record: &PauseRecord, command: String) -> Self {
        let (since, run_id) = (Some(record.since), Some(record.run_id.clone()));
        Self { asked_for, reason: record.reason.clone(), since, run_id, command }
    }

    /// Returns whether runs of the task start only after the person has answered.
    pub fn holds_runs(&self) -> bool {
        match self.asked_for {
            PersonAskedFor::Decision | PersonAskedFor::Approval => true,
            PersonAskedFor::Look => false,
        }
    }

    /// Returns reason, time, run and command as one sentence.
    pub fn sentence(&self) -> String {
        let since = self.since.map(|since| format!(" since {since}")).unwrap_or_default();
        let run = self.run_id.as_ref().map(|run| format!(" (run {})", run.number())).unwrap_or_default();
        let (needed, then) = match self.asked_for {
            PersonAskedFor::Decision => ("needs a person", "decides on a terminal how it goes on"),
            PersonAskedFor::Approval => ("needs a person", "says who may approve it; or take it back"),
            PersonAskedFor::Look => ("a person should look", "shows how it came to this"),
        };
        format!("{needed}{since}{run}: {}; `{}` {then}", self.reason, self.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_why_since_when_which_run_and_the_whole_command() {
        let task = TaskId::default_task();
        let since = Timestamp::from_millis(1_774_949_403_000);
        let record = |reason: &str| PauseRecord { reason: reason.to_owned(), since, run_id: RunId::new(since, 7) };
        let state = |paused, notice| TddState { paused, notice, ..TddState::default() };
        let of = |state: &TddState| PersonAsked::of_cycle(&task, state).map(|asked| (asked.holds_runs(), asked.sentence()));
        let limit = record("Scaffold retry limit (3) exceeded");
        let decision = format!(
            "needs a person since {since} (run 7): Scaffold retry limit (3) exceeded; `proctor tdd resolve default --to NODE --reason TEXT` \
             decides on a terminal how it goes on"
        );
        assert_eq!(of(&state(Some(limit), None)), Some((true, decision)));
        let look =
            format!("a person should look since {since} (run 7): why; `proctor tdd show default` shows how it came to this");
        assert_eq!(of(&state(None, Some(record("why")))), Some((false, look)));
        assert_eq!(of(&state(None, None)), None);
        let approval = PersonAsked::approval(&task, &["a".to_owned(), "b".to_owned()]);
        let expected = "needs a person: it asks for more than was approved: a; b; `proctor approve` says who may approve it; or take it back";
        assert_eq!((approval.holds_runs(), approval.sentence().as_str()), (true, expected));
    }
}
