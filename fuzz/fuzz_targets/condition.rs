//! The input is the text of a condition, and the results of the actions that it asks about.

#![no_main]

#[path = "../properties/condition.rs"]
mod condition;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| condition::hold(bytes));
