//! Archives: an export of a run in a single file `RUN.tar.zst`, which `tar` can unpack anywhere. A store of an earlier version may keep
//! runs in such files too: they are read, and none are made.
//!
//! # What it owns
//!
//! * `write` and `read`: the format. An archive has one directory named like the run. The directory contains files sorted by
//!   name, without owner and time, with mode 0600. All of this is one zstd frame with a checksum.
//!   `read` also lists archives, and reads a run's file from the run's directory or archive.
//!
//! # What it may not do
//!
//! Trust an archive, which may come from anywhere. It is read as a stream, within limits, and never unpacked to paths that it
//! names.

mod read;
mod write;

pub(crate) use read::{
    ArchiveBounds, ArchiveFolder, ArchiveMember, archive_beside, for_each_stored_file, hash_stored_file, list_archives,
    read_archive, read_stored_file, stream_stored_file,
};
pub use read::{ArchiveProblem, is_archived};
pub(crate) use write::{ArchiveWriter, copy_into};

#[cfg(test)]
mod tests;
