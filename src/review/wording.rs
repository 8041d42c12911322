//! What is said of a review to people: seed 003's sentences, word for word where it has them.

use crate::review::gate::{Attempt, Decision, Indeterminate, Outputs};
use crate::review::reading::{Malformation, Rejection};

/// What a person can do where both attempts had no verdict.
pub const NO_VERDICT_HINT: &str = "Review agent may not be following template - check code-reviewer skill";

/// Returns the warning before the one retry.
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
        | Malformation::MentionedElsewhere => format!("Code review {} - retrying once", why.describe()),
    }
}

/// Returns the sentence that says what was decided.
pub fn announcement(decision: &Decision) -> String {
    match decision {
        Decision::Approved(attempt) => format!("Code review APPROVED{}", of_attempt(*attempt)),
        Decision::Rejected(Rejection::No, attempt) => format!("Review explicitly rejected{}", of_attempt(*attempt)),
        Decision::Rejected(Rejection::WithFixes, attempt) => {
            format!("Review requires fixes before proceeding{}", of_attempt(*attempt))
        }
        Decision::Indeterminate(why) => indeterminate(why),
    }
}

fn of_attempt(attempt: Attempt) -> &'static str {
    match attempt {
        Attempt::First => "",
        Attempt::Retry => " (retry succeeded)",
    }
}

fn indeterminate(why: &Indeterminate) -> String {
    match why {
        Indeterminate::MalformedTwice { first, second, outputs } => {
            let note = match outputs {
                Outputs::Different => "",
                Outputs::Identical => " (identical output)",
            };
            if (*first, *second) == (Malformation::NoOutput, Malformation::NoOutput) {
                return format!("Both attempts returned no output{note}");
            }
            let (first, second) = (first.describe(), second.describe());
            format!("Code review failed twice with malformed output{note}: the first attempt {first}; the retry {second}")
        }
        Indeterminate::RejectedBefore { first } => format!(
            "Code review is contradictory: the first attempt {}, and a rejection is in it; the retry approves",
            first.describe()
        ),
    }
}
