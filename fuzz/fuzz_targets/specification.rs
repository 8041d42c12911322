//! The input is the text of a test specification. The target reads the text and makes the plans of its tasks.

#![no_main]

#[path = "../properties/project.rs"]
mod project;
#[path = "../properties/specification.rs"]
mod specification;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| specification::hold(bytes));
