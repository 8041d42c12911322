//! The sentences about a review for people. Where the requirements of reviews (seed 003) give a sentence, its words are
//! used.

use crate::review::gate::{DecidingAttempt, IndeterminateReason, OutputComparison, ReviewDecision};
use crate::review::parsing::{Malformation, Rejection};

/// The hint for a person after two attempts without a verdict.
pub const NO_VERDICT_HINT: &str = "Review agent may not be following template - check code-reviewer skill";

/// Returns the warning for people that the reviewer is asked a second time, with the reason.
pub fn retry_warning(why: Malformation) -> String {
    match why {
        Malformation::MissingField => "Code review output missing 'Ready to merge?' field - retrying once".to_owned(),
        Malformation::NoOutput => "No output - retrying once".to_owned(),
        Malformation::Transport(_)
        | Malformation::TooLong
        | Malformation::NotText
        | Malformation::UnknownValue
        | Malformation::Quoted
        | Malformation::SeveralVerdicts
        | Malformation::MentionedElsewhere
        | Malformation::InHtml
        | Malformation::SaysNotToMerge => format!("Code review {} - retrying once", why.describe()),
    }
}

/// Returns the sentence that tells people what a review decided, such as `Code review APPROVED`.
pub fn announcement(decision: &ReviewDecision) -> String {
    match decision {
        ReviewDecision::Proceed(attempt) => format!("Code review APPROVED{}", attempt_suffix(*attempt)),
        ReviewDecision::Fix(Rejection::No, attempt) => format!("Review explicitly rejected{}", rejected_by(*attempt)),
        ReviewDecision::Fix(Rejection::WithFixes, attempt) => {
            format!("Review requires fixes before proceeding{}", rejected_by(*attempt))
        }
        ReviewDecision::AskPerson(why) => indeterminate(why),
    }
}

fn attempt_suffix(attempt: DecidingAttempt) -> &'static str {
    match attempt {
        DecidingAttempt::First => "",
        DecidingAttempt::Retry => " (retry succeeded)",
    }
}

/// A retry that rejects has decided, and has not succeeded.
fn rejected_by(attempt: DecidingAttempt) -> &'static str {
    match attempt {
        DecidingAttempt::First => "",
        DecidingAttempt::Retry => " (decided by the retry)",
    }
}

fn indeterminate(why: &IndeterminateReason) -> String {
    match why {
        IndeterminateReason::MalformedTwice { first, second, outputs } => {
            let note = match outputs {
                OutputComparison::Different => "",
                OutputComparison::Identical => " (identical output)",
            };
            if (*first, *second) == (Malformation::NoOutput, Malformation::NoOutput) {
                return format!("Both attempts returned no output{note}");
            }
            let (first, second) = (first.describe(), second.describe());
            format!("Code review failed twice with malformed output{note}: the first attempt {first}; the retry {second}")
        }
        IndeterminateReason::RejectedBefore { first } => format!(
            "Code review is contradictory: the first attempt {}, and a rejection is in it; the retry approves",
            first.describe()
        ),
    }
}
