//! The input is the output and the report of any tool, which is recognised by its command.

#![no_main]

#[path = "../properties/interpretation.rs"]
mod interpretation;
#[path = "../properties/project.rs"]
mod project;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| interpretation::hold(None, bytes));
