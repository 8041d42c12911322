//! Input: the text of a test specification. It is read, and the plans of its tasks are made.

#![no_main]

#[path = "../properties/project.rs"]
mod project;
#[path = "../properties/specification.rs"]
mod specification;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| specification::hold(bytes));
