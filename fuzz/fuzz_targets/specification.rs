//! Texts of test specifications, from the scan to the plans of their tasks.

#![no_main]

#[path = "../properties/project.rs"]
mod project;
#[path = "../properties/specification.rs"]
mod specification;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| specification::hold(bytes));
