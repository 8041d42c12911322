//! Texts of conditions with what became of the actions they ask.

#![no_main]

#[path = "../properties/condition.rs"]
mod condition;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| condition::hold(bytes));
