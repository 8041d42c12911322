//! Retention limits: decides which runs are removed, and removes them so that the removal cannot be mistaken for tampering.
//!
//! # What it owns
//!
//! * `plan`: decides which runs are removed (pure).
//! * `survey`: lists the runs that exist, by the ledger and on disk.
//! * `purge`: removes all runs of a project that a person removes.
//! * `prune`: writes a ledger line first, and then removes the runs that the line names. If a process dies in between,
//!   directories are left that the ledger calls pruned. The next process that prunes or recovers removes these directories.
//!
//! # What it may not do
//!
//! Change a file inside a run, or remove a run that other runs depend on: `plan` says which those are.

mod plan;
mod prune;
mod purge;
mod survey;

pub use plan::{KeptRun, KeptRunResult, RunSignificance, plan_prune};
pub(super) use prune::finish_last_pruning;
pub use prune::{PruneOutcome, prune_runs, remove_pruned_leftovers};
pub use purge::{PurgePlan, plan_purge, purge_runs};
pub use survey::{RetentionSurvey, Sizes, survey_runs};
