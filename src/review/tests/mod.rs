//! The decision table of the grammar under its numbers, the gate, and the properties nothing may break.

mod gate;
mod properties;
mod table;

use crate::review::{Fault, Output, Reading, SplitEmphasis, read_review};

/// Reads an output of a reviewer that ended with exit code 0.
fn read(text: &str) -> Reading {
    read_bytes(text.as_bytes(), None)
}

fn read_bytes(bytes: &[u8], fault: Option<Fault>) -> Reading {
    read_review(Output { bytes, total: bytes.len() as u64, fault }, SplitEmphasis::Accepted)
}
