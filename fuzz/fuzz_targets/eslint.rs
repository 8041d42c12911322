//! The input is the output and the report of eslint.

#![no_main]

#[path = "../properties/interpretation.rs"]
mod interpretation;
#[path = "../properties/project.rs"]
mod project;

use proctor_model::Tool;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| interpretation::hold(Some(Tool::Eslint), bytes));
