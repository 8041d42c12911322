//! Attestations in the project's git repository, which are notes. `git push` takes them to a place where nobody on this machine can
//! change them.
//!
//! # What it owns
//!
//! This module writes the parts of git's files that a note needs, and reads notes. [`proctor_git`] reads objects and references.
//!
//! * `database`: finds the repository's directories, writes objects, and changes references, without following a link.
//! * `attestation_notes`: writes attestations, which are notes of tree objects in one reference, and reads them.
//!
//! # What it may not do
//!
//! Run git. The configuration and hooks of a repository can make git run any program, and the tested code may have written them.
//! For the same reason an object is accepted only if its content has the hash in its name, and no symbolic link of the
//! repository is followed. Notes of other programs are read but never changed.

mod attestation_notes;
mod database;
mod error;

pub use attestation_notes::{
    ATTESTATIONS, AttestationNote, FETCHED_ATTESTATIONS, NoteChange, add_attestations, read_attestation_notes,
};
pub use error::GitAnchorError;
