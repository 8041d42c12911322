//! Keeping to limits: which runs are removed, and removing them so that nobody can take it for something else.
//!
//! # What it owns
//!
//! `plan` which runs go (pure) · `survey` what there is, by the ledger and by what lies on disk · `prune` a line of the ledger first, and
//! what it names afterwards. A process that dies in between leaves directories that the ledger calls pruned; the next that prunes or
//! recovers removes them.
//!
//! # What it may not do
//!
//! Change a file inside a run, or remove one of a task's runs that others rest on: `plan` says which those are.

mod plan;
mod prune;
mod survey;

pub(in crate::evidence) use plan::needed;
pub use plan::{KeptRun, RunForm, Standing, Weight, plan_prune};
pub(super) use prune::end_pruning;
pub use prune::{Pruning, finish_pruning, prune_runs};
pub use survey::{RetentionSurvey, Sizes, survey_runs};
