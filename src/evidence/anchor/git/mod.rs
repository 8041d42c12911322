//! An anchor in the repository that a project is in: a git note on the commit that is checked out, in a reference of the project's own,
//! `refs/notes/proctor/<project-id>`. `git push` carries it to where nobody here can change it.
//!
//! # What it owns
//!
//! As much of git's files as a note needs: `object` what objects are made of (pure), `delta` how a pack shortens them (pure), `pack` and
//! `database` reading them and writing new ones, `reference` names for commits, `repository` where all of that lies. `notes` puts
//! checkpoints in and reads them back.
//!
//! # What it may not do
//!
//! Run git: the configuration and the hooks of a repository can make it run anything, and whoever is graded can write both. So nothing of
//! a repository is believed but what it is needed for, and an object is the one of its name or none. A note of another program is read as
//! it is, not rewritten.

mod database;
mod delta;
mod error;
mod notes;
mod object;
mod pack;
mod reference;
mod repository;

pub use error::GitAnchorError;
pub use notes::{GitAnchored, notes_reference, read_git_anchors, write_git_anchor};
