//! Texts of `proctor.toml` with the files that checks are found from.

#![no_main]

#[path = "../properties/configuration.rs"]
mod configuration;
#[path = "../properties/project.rs"]
mod project;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| configuration::hold(bytes));
