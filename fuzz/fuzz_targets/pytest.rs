//! The input is the output and the report of pytest.

#![no_main]

#[path = "../properties/interpretation.rs"]
mod interpretation;
#[path = "../properties/project.rs"]
mod project;

use proctor_model::Tool;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| interpretation::hold(Some(Tool::Pytest), bytes));
