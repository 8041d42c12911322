//! The input is a report of pytest. The report is interpreted once for each exit code that pytest may have.

#![no_main]

#[path = "../properties/interpretation.rs"]
mod interpretation;
#[path = "../properties/junit.rs"]
mod junit;
#[path = "../properties/project.rs"]
mod project;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| junit::hold(bytes));
