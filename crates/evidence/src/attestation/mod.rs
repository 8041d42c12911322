//! Attestations: what a store's key says to other people of the runs on a commit's content.
//!
//! # What it owns
//!
//! * `claim`: the result of one run on the content, as an in-toto test result v0.1.
//! * `acceptance`: that a person accepts what a commit changes about how it is judged.
//! * `proof`: that the tests of a change fail without it.
//! * `summary`: that a policy accepted the content, as a SLSA verification summary v1, for tools that know this format only. Also the
//!   names of a run's tests, from the run's signed statements.
//! * `bundle`: signs them with the store's key, each in a DSSE envelope on a line of its own, and writes and reads files of them.
//! * `shared`: a directory with bundles, which several machines read and write. What is read there is no more trusted than a note.
//! * `read`: reads lines that others wrote. No line is trusted before its signature is checked by a key that the caller trusts, and
//!   what is not understood wholly does not count.
//!
//! `anchor/git` keeps the lines in git notes.
//!
//! # What it may not do
//!
//! Decide whether a claim is good enough: `verdict` judges claims by the same policy as runs of this store.

mod acceptance;
mod bundle;
mod claim;
mod proof;
mod read;
mod shared;
mod summary;
#[cfg(test)]
mod vectors;

pub use acceptance::{AcceptedChanges, AcceptedOf};
pub use bundle::{
    Attestor, BundleError, attestation_bundle, parse_attestation_bundle, remove_attestation_bundle, write_attestation_bundle,
    write_for_signing,
};
pub use claim::{ClaimedEnvironment, ClaimedFlip, CommitClaim};
pub use proof::ProvedChange;
pub use read::{AttestationReader, AttestationRefusal, ReadAttestation};
pub use shared::SharedDirectory;
pub use summary::{NamedTests, VerificationSummary, named_tests};
