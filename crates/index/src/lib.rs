//! The SQLite index of the ledgers: projects, their runs, TDD states and prerequisites. Also the index of tests in the same
//! file, and, in files of their own, the saved tree indexes and the checkpoints of governance workflows.
//!
//! # What it owns
//!
//! `state.db`. Every row of a project follows from ledger lines, which the caller passes in order
//! ([`StoreIndex::apply`]), but for the index of tests, which follows from sealed evidence. Deleting the file loses only a
//! cache of file digests and what the index of tests knew about pruned runs, and a rebuilt index equals one that was updated
//! line by line. The index remembers the last applied line of each project, so that only new lines are
//! read.
//!
//! The file of checkpoints ([`Checkpoints`]), which no ledger can replace, and the files of saved tree indexes, which
//! are a cache.
//!
//! # What it may not do
//!
//! Read a ledger, a run directory, a clock or the environment. The index may not be the only place that stores a fact,
//! except for cached digests and the tests of pruned runs.
//!
//! # Where to look
//!
//! * `schema`: the tables and their versions
//! * `tables`: opening the file, and moving a damaged one aside
//! * `index`: what the rest of proctor uses; repairs a damaged index, and knows without reading rows that nothing was written since a
//!   process last checked them
//! * `apply`: turns ledger lines into rows
//! * `query`: turns rows into values
//! * `seal`: the signature over a project's rows, by which rows that another program changed are found
//! * `approvals`: the approved plan of each task
//! * `compare`: verifies the rows against the ledger lines
//! * `test_history`: how the tests of each run ended
//! * `project_match`: which project a directory is
//! * `checkpoints`: a file of its own, with the state of governance workflows
//! * `tree_index`: the saved index of a project's tree

mod apply;
mod approvals;
mod checkpoints;
mod checks;
mod compare;
mod error;
mod index;
mod project_match;
mod query;
mod schema;
mod seal;
mod tables;
mod test_history;
mod words;

#[cfg(test)]
mod testing;

pub use approvals::ApprovalJudge;
pub use checkpoints::{CheckpointError, Checkpoints, KeptCheckpoint};
pub use compare::{IndexDifference, IndexReader, RowDifference};
pub use error::IndexError;
pub use index::{AllLedgerLines, CheckedState, IndexRepair, OpenedStoreIndex, StoreIndex};
pub use project_match::{IndexedProject, ProjectDifference, ProjectMatch, ProjectMismatch};
pub use query::{IndexedRun, RunsJudgedBy, SealedHashes};
pub use seal::{AppliedLine, IndexSealing, SealCheck, line_mark};
pub use test_history::*;
pub use words::{read_tree_index, remove_tree_index, write_tree_index};
