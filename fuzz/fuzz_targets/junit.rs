//! Input: a report of pytest. It is read under each exit code of pytest.

#![no_main]

#[path = "../properties/interpretation.rs"]
mod interpretation;
#[path = "../properties/junit.rs"]
mod junit;
#[path = "../properties/project.rs"]
mod project;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| junit::hold(bytes));
