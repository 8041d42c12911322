//! The ledger as a transparency log (C2SP: signed-note, tlog-checkpoint, tlog-tiles, tlog-proof; RFC 6962): what its head was, small
//! enough to be kept elsewhere, so that a later rewrite of the whole store shows.
//!
//! # What it owns
//!
//! `merkle` the tree: roots, proofs, and whether they hold · `note` text with signatures under it · `checkpoint` the head of a log as such
//! a note · `proof` that a line is in a log, and that one head goes on from another · `tiles` the log as files that any web server can
//! hand out. All of these are pure. `ledger_log` reads a ledger as a log, and `log_directory` writes one out.
//!
//! # What it may not do
//!
//! Lie on the way of a save: nothing here is called when a run is sealed. Nothing is kept in the store either: a log follows from the
//! ledger, and is made again whenever somebody asks.
//!
//! # The log
//!
//! A log has an entry for every whole line of the ledger, in order: the 64 hexadecimal digits of the line's SHA-256 without its newline,
//! which are what the next line has as `previous`. Index 0 is the line of sequence 1.

mod checkpoint;
mod ledger_log;
mod log_directory;
mod merkle;
mod note;
mod proof;
mod tiles;

pub(super) use checkpoint::LONGEST_CHECKPOINT;
pub use checkpoint::{Checkpoint, CheckpointError, SignedCheckpoint, verifier_key};
pub use ledger_log::{LedgerLog, read_log};
pub use log_directory::{LogDirectoryError, write_log_directory};
pub use proof::{LogProof, Progress, ProofError};
