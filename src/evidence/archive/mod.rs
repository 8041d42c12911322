//! A run, or an export of one, in one file: `RUN.tar.zst`, which `tar` of any machine unpacks.
//!
//! # What it owns
//!
//! `write` and `read` the format: one directory that is called by the run's id, in it files sorted by name, with no owner, no time and mode
//! 0600, in one zstd frame with a checksum · `pack` a run's directory becomes an archive: nothing is removed before what was written is read
//! back and is what the manifest says, and a line of the ledger names it · `plan` which runs that are (pure) · `finish` what a process that
//! died in between has left · `stored` which archives there are, and a run's file wherever the run is kept.
//!
//! # What it may not do
//!
//! Believe an archive: it may come from anywhere. It is read as a stream, within bounds, and never unpacked to a disk by what it says.

mod finish;
mod pack;
mod plan;
mod read;
mod stored;
mod write;

pub use finish::finish_archiving;
pub(in crate::evidence) use finish::finish_begun_archiving;
pub(in crate::evidence) use pack::plain_names;
pub use pack::{Archiving, LeftAlone, archive_runs};
pub use plan::{ArchivePlan, ArchiveWish, Stays, plan_archive};
pub use read::ArchiveProblem;
pub(in crate::evidence) use read::{Bounds, Place, Shelf, read_archive};
pub use stored::is_archived;
pub(in crate::evidence) use stored::{
    StoredArchive, archive_beside, each_of_run, hash_of_run, list_archives, read_of_run, show_of_run,
};
pub(in crate::evidence) use write::{Packer, copy_into};

#[cfg(test)]
mod tests;
