//! Attempts: an action that does not succeed is carried out again, as often as its plan says, and every attempt is kept.

use crate::model::{Action, Blocking, CategoryCode, Ended, Interpretation, Observed, SpawnFailure};
use crate::process::clock;
use crate::project::Progress;
use crate::project::ProjectError;
use crate::report::{ActionDisposition, ActionResult, AttemptV2, earlier_attempt};
use crate::run::perform::Performer;
use crate::run::perform::reviewing::ReviewUnderWay;

/// The attempts of an action that is not over.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// Those that are over. None of them succeeded.
    earlier: Vec<AttemptV2>,
    /// What was kept of them.
    before: Vec<ActionResult>,
    /// Set where the action is a review.
    review: Option<ReviewUnderWay>,
}

impl Attempts {
    /// Returns the number of the attempt under way, from 1.
    pub(crate) fn number(&self) -> u32 {
        u32::try_from(self.before.len()).unwrap_or(u32::MAX - 1) + 1
    }

    /// Returns how often the action may be carried out again as things stand: as often as its plan says, a review once where its output
    /// has no verdict.
    fn retries(&self, action: &Action) -> u32 {
        match &self.review {
            Some(review) => u32::from(review.awaits_retry()),
            None => u32::from(action.retry_attempts),
        }
    }

    /// Returns what the action reads on its standard input; none: nothing, at once.
    pub(super) fn input(&self) -> Result<Option<Vec<u8>>, SpawnFailure> {
        self.review.as_ref().map(ReviewUnderWay::input).transpose()
    }

    /// Returns what an attempt amounts to that is over, with what its tool says of it.
    pub(super) fn read(&mut self, action: &Action, ended: &Ended, said: Interpretation, log: &str) -> (Interpretation, Observed) {
        match &mut self.review {
            Some(review) => review.note(action, ended, said, log),
            None => (said, Observed::Nothing),
        }
    }

    /// Returns the attempts that are over: the one whose facts they become is the last.
    pub(super) fn take(&mut self) -> Vec<AttemptV2> {
        std::mem::take(&mut self.earlier)
    }
}

impl Performer<'_, '_> {
    /// Begins the attempts of an action, before its first one.
    pub(crate) fn begin_attempts(&self, action: &Action) -> Attempts {
        Attempts { review: ReviewUnderWay::begin(action, &self.course.request.scope.root), ..Attempts::default() }
    }

    /// Carries an action out until it succeeds or has been carried out as often as it may, and tells what became of it.
    pub(crate) fn perform(&mut self, action: &Action) -> Result<ActionResult, ProjectError> {
        let mut attempts = self.begin_attempts(action);
        loop {
            let one = self.perform_once(action, &mut attempts)?;
            if let Some(one) = self.note_attempt(action, &mut attempts, one) {
                return Ok(one);
            }
        }
    }

    /// Notes that an attempt is over. Returns what became of the action, which is told; none: it is carried out once more.
    pub(crate) fn note_attempt(
        &mut self,
        action: &Action,
        attempts: &mut Attempts,
        mut one: ActionResult,
    ) -> Option<ActionResult> {
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

    /// Returns whether an attempt may be followed by another: its result blocks, and neither it nor the run was stopped.
    fn is_worth_another(&self, action: &Action, one: &ActionResult) -> bool {
        let Some(judgement) = one.judgement() else { return false };
        let was_stopped = judgement.classification.code == CategoryCode::Stopped;
        let is_stopped = self.stop_of(action).is_some();
        judgement.blocking == Blocking::Blocks && !was_stopped && !is_stopped && !self.clock.is_over(clock::monotonic())
    }
}

/// Returns what became of an action as a whole: its last attempt's result, everybody's files, waits and notes.
fn merge(before: Vec<ActionResult>, last: ActionResult) -> ActionResult {
    before.into_iter().rev().fold(last, |last, mut one| {
        one.files.extend(last.files);
        one.environment_names.extend(last.environment_names);
        let waited =
            [one.waited, last.waited].into_iter().flatten().reduce(|one, other| crate::model::DurationMs(one.0 + other.0));
        ActionResult { files: one.files, environment_names: one.environment_names, waited, ..last }
    })
}
