//! The ledger as a transparency log (C2SP: signed-note, tlog-checkpoint, tlog-proof; RFC 6962). The log's head is
//! small enough to be kept elsewhere, and a person who keeps it can detect that the whole store was rewritten.
//!
//! # What it owns
//!
//! * `merkle`: the Merkle tree with its roots and proofs.
//! * `note`: a text with signatures below it.
//! * `checkpoint`: the head of a log as a signed note.
//! * `proof`: the proof that a line is in a log, which every export has.
//! * `ledger_log`: reads a ledger as a log.
//!
//! `ledger_log` reads files; the other modules are pure.
//!
//! # What it may not do
//!
//! Slow down a run: nothing here is called when a run is sealed. Nothing is stored either: the log is computed from the ledger
//! whenever it is needed.
//!
//! # The log
//!
//! The log has one entry for each whole line of the ledger, in order. The entry is the SHA-256 of the line without its newline
//! as 64 hexadecimal digits, which is also what the next line has as `previous`. The line of sequence 1 has index 0.

mod checkpoint;
mod ledger_log;
mod merkle;
mod note;
mod proof;

pub(super) use checkpoint::LONGEST_CHECKPOINT;
pub use checkpoint::{LogCheckpoint, LogCheckpointError, SignedCheckpoint, verifier_key};
pub use ledger_log::{LedgerLog, read_log};
pub use proof::{InclusionProof, ProofError};
