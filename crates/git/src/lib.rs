//! Reads git's own files: where a project's repository is, which paths its index names, and what its commits contain.
//!
//! The git program is never run, because a repository's own configuration can make it run any program. This module writes
//! nothing. It does not decide what belongs to a tree.
//!
//! # What it owns
//!
//! * `repository`, `reading`, `index_file`, `bitmap`, `tracked_paths`: the index. Parsing it is pure ([`parse_index`]). A damaged
//!   index is a value with a reason ([`GitIndexProblem`]), and never an error that ends a command: without an index, the rules
//!   files alone decide.
//! * `directory`: opens files of a repository without following a symbolic link, because the tested code may have put one there.
//! * `new_index`: makes the index of a checkout that proctor writes itself.
//! * `object`, `delta`: parse objects (pure). `pack`, `database`: read them. An object is accepted only if its content has the
//!   hash that is its name. Sizes, lengths of chains and numbers of files are limited, so that a repository that was made to
//!   harm ends in an error value.
//! * `reference`, `config_file`, `revision`: find the commit that a name stands for.
//! * `storage`: all of these for one repository ([`GitStorage`]). `submodule` finds the repositories of its submodules.

mod bitmap;
mod config_file;
mod database;
mod delta;
mod directory;
mod error;
mod index_file;
mod location;
mod merge_base;
mod object;
mod pack;
mod reading;
mod reference;
mod revision;
mod storage;
mod submodule;
mod tracked_paths;

pub use database::ObjectDatabase;
pub use directory::GitDirectory;
pub use error::{GitReadError, ObjectProblem};
pub use index_file::{GitIndexProblem, IndexContent, index_of_files, parse_index};
pub use location::{
    GitLocation, Repository, directory_in_main_work_tree, find_git_directories, find_git_location, git_common_directory,
    git_directory,
};
pub use object::{GitEntryKind, GitObject, GitTreeEntry, ObjectId, ObjectKind};
pub use reading::{GitIndex, read_git_index};
pub use reference::{ReferenceName, read_reference};
pub use revision::RevisionError;
pub use storage::GitStorage;
pub use submodule::SubmoduleNames;
pub use tracked_paths::TrackedPaths;
