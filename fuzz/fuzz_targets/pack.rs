//! The input is a pack of a git repository with its index: the length of the index in four bytes, the index, the pack.

#![no_main]

#[path = "../properties/pack.rs"]
mod pack;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pack::hold(bytes));
