//! Reads the verdict out of a review that is written as free text, and allows one retry if the text has no verdict.
//! "Seed 003" in these comments is the document with the requirements of reviews. All functions here are pure.
//!
//! Only an explicit verdict line counts: praise is no approval, and a problem that the text mentions is no rejection.
//! `quoting` splits a text into lines and marks quotations and HTML, `objection` finds
//! where a text says not to merge, `grammar` recognises verdict lines, `parsing` reads one
//! output of the reviewer, `gate` decides the review by one or two outputs, and `wording` has the sentences for people.
//! `run/` starts the reviewer and stores its output.

mod gate;
mod grammar;
mod parsing;
mod quoting;

pub use gate::{
    DecidingAttempt, IndeterminateReason, MalformedAttempt, NO_VERDICT_HINT, OutputComparison, ReviewDecision, ReviewGate,
    ReviewStep, announcement, retry_warning,
};
pub use grammar::SplitEmphasis;
pub use parsing::{Malformation, OUTPUT_CAP, ParsedReview, Rejection, ReviewerFault, ReviewerOutput, parse_review};

#[cfg(test)]
mod tests;
