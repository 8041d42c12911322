//! The input is an object of a git repository, an attributes file, a `.gitmodules`, or an index.

#![no_main]

#[path = "../properties/git.rs"]
mod git;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| git::hold(bytes));
