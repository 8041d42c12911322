//! Verification: everything is hashed again and compared with what was sealed, and every fault is reported.
//!
//! # What it owns
//!
//! `inspect` gathers facts from the disk. `check_*` judge them (pure: facts in, [`EvidenceFault`]s out). The
//! kinds of faults are the rows of one table, [`FaultKind`]. Remains of a dead proctor process are [`UnfinishedWork`] and not a
//! fault. `verify_store` combines all of this for a store, `verify_archive` for an archived run in it, and `verify_copy` for a
//! run that was copied elsewhere.
//!
//! # What it may not do
//!
//! Change anything, take a lock, repair a fault, or stop at the first fault.

mod check_anchor;
mod check_keys;
mod check_ledger;
mod check_pruned;
mod check_report;
mod check_run;
mod check_store;
mod fault;
mod inspect;
mod steadily;
mod verify_copy;
mod verify_store;

pub use check_anchor::check_anchor;
pub use check_store::{check_store_entries, name_links};
pub use fault::{EvidenceFault, FaultKind, UnfinishedKind, UnfinishedWork, sort_by_cause};
pub use steadily::{is_ahead, ledger_file, line_from_the_future, verify_steadily};
pub use verify_copy::{names_a_key, verify_copy};
pub use verify_store::{VerificationResult, VerificationScope, VerifiedKeys, verify_keys, verify_project};
