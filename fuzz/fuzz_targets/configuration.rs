//! The input is the text of a `proctor.toml`, and the project's files by which checks are found.

#![no_main]

#[path = "../properties/configuration.rs"]
mod configuration;
#[path = "../properties/project.rs"]
mod project;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| configuration::hold(bytes));
