//! An anchor in the project's git repository: a note on the checked-out commit, in a reference of its own for each project,
//! `refs/notes/proctor/<project-id>`. `git push` takes it to a place where nobody on this machine can change it.
//!
//! # What it owns
//!
//! Reading and writing as much of git's files as a note needs: `object` the content of objects (pure), `delta` the deltas in a
//! pack (pure), `pack` and `database` reading objects and writing new ones, `reference` the names of commits, `repository`
//! where these files are. `notes` writes checkpoints and reads them back.
//!
//! # What it may not do
//!
//! Run git: the configuration and the hooks of a repository can make it run anything, and the code under test may have written
//! them. For the same reason an object is accepted only if it has the hash that is its name. Notes that another program wrote
//! are read and never rewritten.

mod database;
mod delta;
mod error;
mod notes;
mod object;
mod pack;
mod reference;
mod repository;

pub use error::GitAnchorError;
pub use notes::{AnchoredNote, notes_reference, read_git_anchors, write_git_anchor};
