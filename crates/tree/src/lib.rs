//! Computes the digest of a working tree, keeps an incremental index of it, and says whether the tree moved (S5, S6).
//!
//! Owns the format `proctor-tree-v2` ([`compute_directory_digest`]), the [`TreeIndex`] of a tree, and [`compare()`]. Only the
//! matcher ([`crate::ignore`]) decides what belongs to the tree.
//!
//! This module may not write, follow links, or read a clock: `now` is an argument. A link is digested by its target's name,
//! whatever is there.
//!
//! # The format `proctor-tree-v2`
//!
//! The digest of a tree is the digest of its root directory. The digest of a directory is the SHA-256 over
//!
//! ```text
//! "proctor-tree-v2\n"
//! for each entry that belongs to the tree, in ascending order of the name's bytes:
//!     letter  " "  64 hexadecimal digits  " "  the name's bytes  NUL
//! ```
//!
//! | letter | entry | digits |
//! |---|---|---|
//! | `f` | regular file | SHA-256 of its content, lower case |
//! | `x` | regular file its owner may execute (mode bit 0100) | the same |
//! | `l` | symbolic link | SHA-256 of the bytes of its target |
//! | `d` | directory | its digest |
//! | `u` | file, link or directory that could not be read; a directory with more than 256 above it | 64 zeros |
//!
//! A directory in which nothing belongs to the tree is left out, as git does: a tool's cache that ignores itself by its own
//! `.gitignore` leaves no trace. The root alone may be empty. Sockets, pipes and devices contribute nothing; they and what could
//! not be read are named in [`TreeIndex::issues`]. Owners, times, other mode bits and extended attributes do not count.
//!
//! A tree with inputs (files and directories beside it that checks may read) has a digest of the format `proctor-tree-v3`, which
//! names this digest and those of the inputs ([`InputPlace`]).
//!
//! The same digest is computed for the content of a commit, from git's objects ([`committed_tree`]).
//!
//! docs/reference/tree-digest.md has an independent implementation in Python, which the tests run against this one.
//!
//! # What a rescan trusts
//!
//! A file whose device, inode, size, mtime and ctime are unchanged is assumed to have the same content. The exception is a *racy*
//! file, as in git's index: it was changed so shortly before it was read that another write could have the same times, so it is
//! read again. A write to a shared memory mapping is missed until the kernel updates the file's times.

mod apply;
mod changes;
mod checkout;
mod committed;
mod committed_leaves;
mod compare;
mod content;
mod digest;
mod error;
pub mod ignore;
mod index;
mod inputs;
mod listing;
mod named;
mod node;
mod read;
mod refusal;
mod saved;
mod stamp;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the trees they look at, and say what time it is")]
mod tests;
mod walk;
pub mod watch;

pub use apply::TreeHints;
pub use changes::{ContentChange, content_changes, is_unchanged_on_disk, possible_mode_changes};
pub use checkout::{CheckoutError, check_out};
pub use committed::{CommittedTree, committed_tree, committed_tree_within, is_clean, with_other_inputs};
pub use compare::{changed_paths, compare};
pub use content::MAX_RULES_BYTES;
pub use digest::{DigestedEntry, compute_directory_digest};
pub use error::TreeError;
pub use ignore::InputPlace;
pub use index::{TreeEntry, TreeIndex};
pub use listing::{open_below, open_root};
pub use named::{NameSearch, NameTopic};
pub use refusal::CommitRefusal;
pub use stamp::{EntryStamp, Trust};
