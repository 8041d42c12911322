//! Archives: an export of a run in a single file `RUN.tar.zst`, which `tar` can unpack anywhere.
//!
//! # What it owns
//!
//! * `write` and `read`: the format. An archive has one directory named like the run. The directory contains files sorted by
//!   name, without owner and time, with mode 0600. All of this is one zstd frame with a checksum.
//!
//! # What it may not do
//!
//! Trust an archive, which may come from anywhere. It is read as a stream, within limits, and never unpacked to paths that it
//! names.

mod read;
mod write;

pub use read::ArchiveProblem;
pub(crate) use read::{ArchiveBounds, ArchiveFolder, ArchiveMember, read_archive};
pub(crate) use write::ArchiveWriter;

#[cfg(test)]
mod tests;
