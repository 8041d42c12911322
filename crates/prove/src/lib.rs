//! Says whether the tests of a change fail without the change.
//!
//! Two contents are compared. AFTER is the content of a commit or of the working tree; BEFORE is the same with the *source* of the change
//! taken back to the base, and its *tests* left in place. The touched tests run on both, and each gets one word (`words`).

mod answer;
mod base;
mod beside;
mod braced_tests;
mod braces;
mod change;
mod commands;
mod contents;
pub mod failure;
mod hunks;
mod known;
mod parts;
mod prove;
pub mod python;
pub mod roles;
mod runs;
mod rust;
mod sides;
mod stubs;
pub mod touched;
mod trial;
pub mod words;

pub use answer::{ChangeProof, ProvedFile, ProvedTest};
pub use base::{BaseWord, FailureBeside, FailuresBeside, compare_failures};
pub use hunks::{PartWord, TriedPart};
pub use prove::prove;
