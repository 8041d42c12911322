//! Whether evidence is what it was when it was sealed: everything is hashed again, and every fault is named.
//!
//! # What it owns
//!
//! Looking (`look_at_run`, `look_at_ledger`, `look_at_keys`, `look_at_task`: thin, they only gather facts) and judging (`check_*`: pure,
//! facts in, [`Fault`]s out). The kinds of faults are the rows of one table, [`FaultKind`]. What a
//! process of ours that died can have left is [`Unfinished`], and no fault. `whole` puts them together for a store,
//! `alone` for a directory that was copied elsewhere.
//!
//! # What it may not do
//!
//! Change anything, take a lock, mend a fault, or stop at the first one.

mod alone;
mod check_anchor;
mod check_keys;
mod check_ledger;
mod check_pruned;
mod check_report;
mod check_run;
mod check_signatures;
mod check_task;
mod fault;
mod judge_archive;
mod look;
mod look_archive;
mod parallel;
mod unfinished;
mod whole;

pub use alone::{signing_key_of, verify_copy};
pub use check_anchor::{Notary, check_anchor, check_progress};
pub use fault::{Fault, FaultKind};
pub use unfinished::{Unfinished, UnfinishedKind};
pub use whole::{Checked, Subject, verify_keys, verify_project};
