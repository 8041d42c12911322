//! Decides a review by the reviewer's output. The first output decides; if it has no verdict, the output of one retry
//! does. The types do not allow a third attempt.
//!
//! The sentences about a review for people. Where the requirements of reviews (seed 003) give a sentence, its words are
//! used.

use crate::review::parsing::{Malformation, ParsedReview, Rejection};
use proctor_model::Digest;

/// A review that waits for the reviewer's next output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReviewGate {
    /// The review waits for the reviewer's first output.
    #[default]
    First,
    /// The review waits for the output of the retry, because the first output had no verdict.
    Retry(MalformedAttempt),
}

/// Facts about a first output that had no verdict. They are kept until the retry's output is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedAttempt {
    kind: Malformation,
    holds_rejection: bool,
    digest: Digest,
}

/// The next step after one output of the reviewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewStep {
    /// Ask the reviewer once more, with the same arguments and the same prompt.
    Retry {
        /// Why the first output has no verdict.
        why: Malformation,
        /// The gate that judges the retry's output.
        gate: ReviewGate,
    },
    /// The review is decided. The reviewer is not asked again.
    Decided(ReviewDecision),
}

/// The consequence of a review for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewDecision {
    /// The review approves. Only with this decision do the actions after the review start.
    Proceed(DecidingAttempt),
    /// The code must be fixed first. The reviewer is not asked again in this run; asking again needs a new run.
    Fix(Rejection, DecidingAttempt),
    /// A person must read the review, because it has no clear verdict. No fixes are made because of it.
    AskPerson(IndeterminateReason),
}

/// Which of the reviewer's two possible attempts decided a review. People see it in the announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidingAttempt {
    First,
    Retry,
}

/// Why a review has no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndeterminateReason {
    /// Neither the first output nor the retry's output has a verdict.
    MalformedTwice { first: Malformation, second: Malformation, outputs: OutputComparison },
    /// The retry approves, but the first output, which had no verdict because of `first`, contains a rejection line.
    RejectedBefore { first: Malformation },
}

/// Whether the outputs of two attempts without a verdict differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputComparison {
    Different,
    /// Both outputs are the same bytes. Perhaps the reviewer answers from a cache, so asking again would not help.
    Identical,
}

impl ReviewGate {
    /// Decides the review by an output, or asks for the retry. `digest` is the digest of the output: if both outputs
    /// have the same digest, they are the same bytes.
    pub fn next_step(self, reading: ParsedReview, digest: Digest) -> ReviewStep {
        let attempt = match self {
            Self::First => DecidingAttempt::First,
            Self::Retry(_) => DecidingAttempt::Retry,
        };
        match (reading, self) {
            (ParsedReview::Approved, Self::Retry(MalformedAttempt { kind, holds_rejection: true, .. })) => {
                ReviewStep::Decided(ReviewDecision::AskPerson(IndeterminateReason::RejectedBefore { first: kind }))
            }
            (ParsedReview::Approved, Self::First | Self::Retry(_)) => ReviewStep::Decided(ReviewDecision::Proceed(attempt)),
            (ParsedReview::Rejected(rejection), _) => ReviewStep::Decided(ReviewDecision::Fix(rejection, attempt)),
            (ParsedReview::Malformed { kind, holds_rejection }, Self::First) => {
                ReviewStep::Retry { why: kind, gate: Self::Retry(MalformedAttempt { kind, holds_rejection, digest }) }
            }
            (ParsedReview::Malformed { kind, .. }, Self::Retry(first)) => {
                let outputs = if first.digest == digest { OutputComparison::Identical } else { OutputComparison::Different };
                let why = IndeterminateReason::MalformedTwice { first: first.kind, second: kind, outputs };
                ReviewStep::Decided(ReviewDecision::AskPerson(why))
            }
        }
    }
}

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
