//! The input is a git note with attestations, a bundle of them, or the statement of one.

#![no_main]

#[path = "../properties/attestation.rs"]
mod attestation;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| attestation::hold(bytes));
