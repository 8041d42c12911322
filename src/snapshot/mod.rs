//! Keeps proctor's own copy of what was digested, so that what is tested is exactly what the digest names.
//!
//! A check that runs in the live project can meet bytes that were saved after the look that made the digest. So each project has a copy
//! of its tree ([`ProjectCopy`]). Before a run the copy is brought up to an index of the tree; every file that is copied is hashed on its
//! way, and a file whose bytes are not those of the index is never taken. The copy is the lowest layer of what a check sees; nothing
//! writes to it but this module, and only while no run of the project is under way.
//!
//! Owns the files below a project's snapshot directory. May not decide what belongs to a tree (`ignore/` does), mount anything
//! (`process/` does), or know where an index came from.
//!
//! # Files
//!
//! ```text
//! base/       the copy
//! incoming/   files that are being written, renamed into the copy when they are whole
//! index       what the copy held when this was saved (the format of a saved tree index)
//! journal     paths that were changed in the copy since, each ended by NUL
//! boot        the kernel's id of the boot in which all this was written
//! ```
//!
//! A path is in the journal before the copy is touched at that path. A process that dies at any point therefore leaves a journal that
//! names every path where copy and saved index may differ; these are copied anew. Nothing is synced to the disk: the page cache outlives
//! every process, and after a new boot the whole copy is made anew.

mod entries;
mod error;
mod journal;
mod obstacle;
mod project_copy;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the projects that are copied, and say what time it is")]
mod tests;

pub use error::SnapshotError;
pub use obstacle::{InPlaceReason, obstacle};
pub use project_copy::{CopyOutcome, ProjectCopy};
