//! Tests of reviews: the rows of seed 003's decision table, the two attempts, and properties that hold for every text.

mod gate;
mod properties;
mod table;

use crate::review::{ParsedReview, ReviewerFault, ReviewerOutput, SplitEmphasis, parse_review};

/// Parses the output of a reviewer that ended with exit code 0.
fn read(text: &str) -> ParsedReview {
    read_bytes(text.as_bytes(), None)
}

fn read_bytes(bytes: &[u8], fault: Option<ReviewerFault>) -> ParsedReview {
    parse_review(ReviewerOutput { bytes, total: bytes.len() as u64, fault }, SplitEmphasis::Accepted)
}
