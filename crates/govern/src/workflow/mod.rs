//! Runs the governance workflow, which turns a brief into an issue: performs the workflow's effects with files, git,
//! the tracker, models and a person, and stores its checkpoints.
//!
//! This folder decides nothing: [`crate::governance::handle`] returns the effects, and each effect is performed in one
//! place here. A transition is stored before its effect is performed: first the checkpoint, then the files of the audit
//! trail, then the ledger line. So a workflow whose process dies at any point can be resumed from its checkpoint, and
//! no file of the trail is written twice.
//!
//! This folder starts no program itself: a [`WorkflowHost`] does that. The answer at a gate (a question that only a
//! person may answer) comes only from a [`Person`] at the terminal.
//!
//! Where to look: `runner` has the loop, the stored form of a workflow, and the list of those that are not over, and `perform` performs one effect. `consult` asks a model, `repository` makes
//! the models' copy of the project and commits the trail, and `tracker` creates labels and issues.

mod consult;
mod error;
mod interfaces;
mod perform;
mod repository;
mod runner;
mod settings;
mod tracker;

pub use error::WorkflowError;
pub use interfaces::{Consultation, EditorFailure, ModelRole, Person, ToolEnd, ToolRequest, WorkflowHost};
pub use runner::{PointObserver, WaitingWorkflow, WorkflowBeginning, WorkflowRunner, list_waiting_workflows};
pub use settings::{ModelCommand, WorkflowModels, WorkflowProject, WorkflowSettings};

#[cfg(test)]
mod tests;
