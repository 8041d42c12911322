//! Reads what git knows of a project from git's own files: where its repository is, and which paths its index names.
//!
//! The git program is never run, because a repository's own configuration can make it run any program. This module writes
//! nothing. It does not decide what belongs to a tree.
//!
//! Parsing an index is pure ([`parse_index`]). A damaged index is a value with a reason ([`GitIndexProblem`]), and never an error
//! that ends a command: without an index, the rules files alone decide.

mod bitmap;
mod index_file;
mod reading;
mod repository;
mod tracked_paths;

pub use index_file::{GitIndexProblem, IndexContent, parse_index};
pub use reading::{GitIndex, read_git_index};
pub use repository::{Repository, git_directory};
pub use tracked_paths::TrackedPaths;
