//! The SQLite index over what the ledgers say: which projects there are, their runs, TDD states and prerequisites; and beside it
//! the saved tree indexes.
//!
//! # What it owns
//!
//! `state.db`. Every row in it follows from ledger lines, which the caller hands over in order ([`StoreIndex::apply`]): deleting
//! the file loses nothing, and a rebuilt index equals one that was kept up to date line by line. It remembers how far it has
//! come per project, so that only new lines are read.
//!
//! # What it may not do
//!
//! Read a ledger, a run directory, a clock or the environment; be the only place anything is kept.
//!
//! # Where to look
//!
//! `schema` the tables and their versions · `tables` opening the file, and setting a damaged one aside · `index` what everybody uses, which mends itself · `apply` lines to rows ·
//! `query` rows to values · `approvals` the plan that is approved · `compare` rows with lines · `project_match` whose directory this is · `checkpoints` a file of its own: where governance workflows stand · `tree_index` the saved index of a project's tree.

mod apply;
mod approvals;
mod checkpoints;
mod compare;
mod error;
mod file_digests;
mod index;
mod project_match;
mod query;
mod schema;
mod tables;
mod tree_index;
mod words;

#[cfg(test)]
mod testing;

pub use approvals::ApprovalJudge;
pub use checkpoints::{CheckpointError, Checkpoints, KeptCheckpoint};
pub use compare::{IndexDifference, IndexLook, RowDifference};
pub use error::IndexError;
pub use index::{EveryLine, Mending, Opened, StoreIndex};
pub use project_match::{IndexedProject, ProjectDifference, ProjectMatch, ProjectMismatch};
pub use query::IndexedRun;
pub use tree_index::{read_tree_index, write_tree_index};
