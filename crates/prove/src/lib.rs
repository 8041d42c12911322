//! Says whether the tests of a change fail without the change.

pub mod braces;
pub mod failure;
pub mod python;
pub mod roles;
pub mod touched;
pub mod words;
