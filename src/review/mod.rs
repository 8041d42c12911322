//! Reads the verdict out of a review that comes as free text, and allows one retry if there is none (seed 003). Everything here is pure.
//!
//! Only an explicit verdict line counts: praise is no approval, and a problem that the text names is no rejection. `quoting` splits a text
//! into lines and marks quotations, `grammar` recognises verdict lines, `parsing` reads one output, `gate` decides on one or two of them,
//! `wording` has the sentences for people. `run/` starts the reviewer and keeps what it printed.

mod gate;
mod grammar;
mod parsing;
mod quoting;
mod wording;

pub use gate::{
    DecidingAttempt, IndeterminateReason, MalformedAttempt, OutputComparison, ReviewDecision, ReviewGate, ReviewStep,
};
pub use grammar::SplitEmphasis;
pub use parsing::{Malformation, OUTPUT_CAP, ParsedReview, Rejection, ReviewerFault, ReviewerOutput, parse_review};
pub use wording::{NO_VERDICT_HINT, announcement, retry_warning};

#[cfg(test)]
mod tests;
