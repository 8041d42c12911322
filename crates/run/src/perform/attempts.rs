//! Attempts: an action that does not succeed is repeated as often as its plan allows, and the files of every attempt
//! are kept.

use crate::perform::Performer;
use crate::perform::reviewing::ActiveReview;
use proctor_evidence::report::{ActionDisposition, ActionResult, AttemptV2, earlier_attempt};
use proctor_model::{
    Action, Blocking, CategoryCode, EndedAction, Interpretation, Observation, PlanNote, RemoteRun, SpawnFailure,
};
use proctor_project::Progress;
use proctor_project::ProjectError;
use proctor_sandbox::process::clock;

/// The attempts of an action that is not finished yet.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// The report's entries for the finished attempts, none of which succeeded.
    earlier: Vec<AttemptV2>,
    /// The results of the finished attempts, with their files.
    before: Vec<ActionResult>,
    /// The state of the review, if the action is a review.
    review: Option<ActiveReview>,
    /// Whether the server of the action gave no result, so that the rest of the attempts run here.
    is_here: bool,
}

impl Attempts {
    /// Returns the number of the current attempt; the first attempt is 1.
    pub(crate) fn number(&self) -> u32 {
        u32::try_from(self.before.len()).unwrap_or(u32::MAX - 1) + 1
    }

    /// Returns how often the action may be repeated in the current state: as often as the plan says, or once for a
    /// review without a verdict.
    fn retries(&self, action: &Action) -> u32 {
        let more = match &self.review {
            Some(review) => u32::from(review.awaits_retry()),
            None => u32::from(action.retry_attempts),
        };
        // The one that the server did not carry out is none of them.
        more + u32::from(self.is_here)
    }

    /// Returns the server that carries the next attempt out; `None` for this machine.
    pub(super) fn server_of<'a>(&self, action: &'a Action) -> Option<&'a RemoteRun> {
        action.remote.as_deref().filter(|_| !self.is_here)
    }

    /// Returns the standard input of the action; `None` means empty.
    pub(super) fn input(&self) -> Result<Option<Vec<u8>>, SpawnFailure> {
        self.review.as_ref().map(ActiveReview::input).transpose()
    }

    /// Returns the interpretation of a finished attempt, and for a review also what the reviewer decided. `said` is the
    /// interpretation of the tool's output, `log` the name of the file with the attempt's output.
    pub(super) fn read(
        &mut self,
        action: &Action,
        ended: &EndedAction,
        said: Interpretation,
        log: &str,
    ) -> (Interpretation, Observation) {
        match &mut self.review {
            Some(review) => review.note(action, ended, said, log),
            None => (said, Observation::Nothing),
        }
    }

    /// Removes the report's entries for the finished attempts and returns them, so that the result of the last attempt
    /// can list them.
    pub(super) fn take(&mut self) -> Vec<AttemptV2> {
        std::mem::take(&mut self.earlier)
    }
}

impl Performer<'_, '_> {
    /// Creates the record of an action's attempts, still empty. For a review, the prompt is read here.
    pub(crate) fn begin_attempts(&self, action: &Action) -> Attempts {
        let (root, snapshot) = (&self.context.request.scope.root, self.place.snapshot_for(action));
        Attempts { review: ActiveReview::begin(action, root, snapshot), ..Attempts::default() }
    }

    /// Carries out an action until it succeeds or has no attempts left, then reports the result to the screen.
    pub(crate) fn perform(&mut self, action: &Action) -> Result<ActionResult, ProjectError> {
        let mut attempts = self.begin_attempts(action);
        loop {
            let one = self.perform_once(action, &mut attempts)?;
            if let Some(one) = self.note_attempt(action, &mut attempts, one) {
                return Ok(one);
            }
        }
    }

    /// Records a finished attempt. Returns the action's result and reports it; `None` if another attempt follows.
    pub(crate) fn note_attempt(
        &mut self,
        action: &Action,
        attempts: &mut Attempts,
        mut one: ActionResult,
    ) -> Option<ActionResult> {
        if let Some(why) = self.runs_here_instead(action, attempts, &one) {
            (self.show)(Progress::Note(format!("{}: {why}", action.name)));
            attempts.is_here = true;
            one.notes.push(PlanNote { subject: action.name.clone(), message: why });
            attempts.before.push(one);
            return None;
        }
        let number = attempts.number();
        let retries = attempts.retries(action);
        let is_last = number > retries || !self.is_worth_another(action, &one);
        if !is_last && let ActionDisposition::Executed(executed) = &mut one.disposition {
            let reason = executed.judgement.classification.reason.clone();
            let note = match &attempts.review {
                Some(_) => format!("{}: {reason}", action.name),
                None => format!("{}: attempt {number} of {} did not succeed: {reason}", action.name, retries + 1),
            };
            (self.show)(Progress::Note(note));
            attempts.earlier = std::mem::take(&mut executed.earlier);
            attempts.earlier.push(earlier_attempt(number, executed, &one.files));
            attempts.before.push(one);
            return None;
        }
        let one = merge(std::mem::take(&mut attempts.before), one);
        self.tell(&one);
        Some(one)
    }

    /// Returns whether another attempt may follow: the result blocks, neither the attempt nor the run was stopped, and no helper
    /// process of proctor died. After such a death the whole run is repeated, and no attempt is counted.
    fn is_worth_another(&self, action: &Action, one: &ActionResult) -> bool {
        let Some(judgement) = one.judgement() else { return false };
        let was_stopped = judgement.classification.code == CategoryCode::Stopped;
        let is_stopped = self.requested_stop(action).is_some() || self.helper_death().is_some();
        judgement.blocking == Blocking::Blocks && !was_stopped && !is_stopped && !self.clock.is_over(clock::monotonic())
    }
}

/// Combines all attempts into one result: the last attempt's, with the files, names of environment variables and waiting
/// times of every attempt.
fn merge(before: Vec<ActionResult>, last: ActionResult) -> ActionResult {
    before.into_iter().rev().fold(last, |last, mut one| {
        one.files.extend(last.files);
        one.environment_names.extend(last.environment_names);
        one.notes.extend(last.notes);
        let waited =
            [one.waited, last.waited].into_iter().flatten().reduce(|one, other| proctor_model::DurationMs(one.0 + other.0));
        ActionResult { files: one.files, environment_names: one.environment_names, notes: one.notes, waited, ..last }
    })
}
