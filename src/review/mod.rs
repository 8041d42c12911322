//! The verdict of a review that comes as free text: its grammar, and the gate that allows one retry (seed 003). Pure.
//!
//! Nothing is inferred: praise is no approval, a named problem is no rejection. `text` and `quoting` say what a line is, `grammar`
//! what a verdict line is, `reading` what one output amounts to, `gate` what one or two of them do, `wording` says it to people.
//! Who starts a reviewer and keeps what it printed is `run/`.

mod gate;
mod grammar;
mod quoting;
mod reading;
mod text;
mod wording;

pub use gate::{Attempt, Decision, Gate, Indeterminate, Malformed, Outputs, Step};
pub use grammar::SplitEmphasis;
pub use reading::{Fault, Malformation, Output, Reading, Rejection, read_review};
pub use text::OUTPUT_CAP;
pub use wording::{NO_VERDICT_HINT, announcement, retry_warning};

#[cfg(test)]
mod tests;
