//! Lint rules for reviews: only some actions can be reviews, and no setting may make a reviewer be asked more than
//! twice.

use crate::spec::specification::lint::subject::{Action, Subject};
use proctor_model::{ActionPhase, ActionType, JudgedBy, Problem};

/// Reports reviews that are not steps with a command.
pub(super) fn misplaced(subject: &Subject<'_>) -> Vec<Problem> {
    let wrong = reviews(subject)
        .filter(|action| action.phase != ActionPhase::Step || action.raw.parameters.action_type() != ActionType::TerminalCommand);
    let findings = wrong.map(|action| {
        action
            .finding("/proctor/review", "only a step of type TERMINAL_COMMAND can be a review")
            .hint("make it such a step, whose command asks the reviewer")
    });
    findings.collect()
}

/// Reports retries, expected exit codes and tools of reviews, which only other actions can have.
pub(super) fn unusable(subject: &Subject<'_>) -> Vec<Problem> {
    let findings = reviews(subject).flat_map(|action| {
        let codes = action.raw.parameters.command().and_then(|command| command.expected_exit_codes.as_deref());
        let has_codes = codes.is_some_and(|codes| codes != [0]);
        let is_other =
            action.raw.proctor.as_ref().and_then(|added| added.tool).is_some_and(|tool| tool.judged_by() != JudgedBy::Grammar);
        let fields = [
            ("/retryAttempts", action.raw.retry_attempts.is_some_and(|times| times > 0), "a review is asked once more at most"),
            ("/parameters/expectedExitCodes", has_codes, "a reviewer that ends with another code than 0 has given no verdict"),
            ("/proctor/tool", is_other, "a review is read by no other tool"),
        ];
        let said = fields.into_iter().filter(|(_, is_said, _)| *is_said);
        said.map(|(place, _, message)| action.finding(place, message).hint("remove it")).collect::<Vec<_>>()
    });
    findings.collect()
}

fn reviews<'s>(subject: &Subject<'s>) -> impl Iterator<Item = Action<'s>> {
    subject.actions().filter(|action| action.raw.proctor.as_ref().is_some_and(|added| added.review.is_some()))
}
