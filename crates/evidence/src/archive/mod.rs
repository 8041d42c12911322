//! Archives: a run, or an export of one, in a single file `RUN.tar.zst`, which `tar` can unpack anywhere.
//!
//! # What it owns
//!
//! * `write` and `read`: the format. An archive has one directory named like the run. The directory contains files sorted by
//!   name, without owner and time, with mode 0600. All of this is one zstd frame with a checksum.
//! * `pack`: turns a run's directory into an archive. The directory is removed only after the archive was read back, agrees
//!   with the run's manifest, and is named by a ledger line.
//! * `plan`: decides which runs are archived (pure).
//! * `finish`: completes or undoes the work of a process that died.
//! * `stored`: lists archives, and reads a run's file from the run's directory or archive.
//!
//! # What it may not do
//!
//! Trust an archive, which may come from anywhere. It is read as a stream, within limits, and never unpacked to paths that it
//! names.

mod finish;
mod pack;
mod plan;
mod read;
mod stored;
mod write;

pub use finish::finish_archiving;
pub(crate) use finish::finish_interrupted_archiving;
pub(crate) use pack::archivable_names;
pub use pack::{ArchiveOutcome, ArchiveRefusal, archive_runs};
pub use plan::{ArchiveExemption, ArchivePlan, ArchiveRequest, plan_archive};
pub use read::ArchiveProblem;
pub(crate) use read::{ArchiveBounds, ArchiveFolder, ArchiveMember, read_archive};
pub use stored::is_archived;
pub(crate) use stored::{
    StoredArchive, archive_beside, for_each_stored_file, hash_stored_file, list_archives, read_stored_file, stream_stored_file,
};
pub(crate) use write::{ArchiveWriter, copy_into};

#[cfg(test)]
mod tests;
