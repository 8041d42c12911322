//! Runs the governance workflow: performs its effects with files, git, the tracker, models and a person, and stores its checkpoints.
//!
//! Decides nothing: [`crate::governance::handle`] returns the effects, and each effect is performed in one place here. A transition is
//! stored before its effect is performed: first the checkpoint, then the trail's files, then the ledger line. So a workflow whose process
//! dies at any point can be resumed from its checkpoint, and no file is written twice.
//!
//! This folder starts no program itself: a [`WorkflowHost`] does that. Answers at a gate come only from a [`Person`], who has the terminal.
//!
//! Where to look: `runner` has the loop, and `perform` performs one effect. `consult` asks a model, `repository` makes the models' copy and
//! the commit, and `tracker` creates labels and issues. `checkpoint` has what is stored, and `waiting` lists the workflows that are not
//! over.

mod checkpoint;
mod consult;
mod error;
mod interfaces;
mod perform;
mod repository;
mod runner;
mod settings;
mod tracker;
mod waiting;

pub use error::WorkflowError;
pub use interfaces::{Consultation, EditorFailure, ModelRole, Person, ToolEnd, ToolRequest, WorkflowHost};
pub use runner::{PointObserver, WorkflowBeginning, WorkflowRunner};
pub use settings::{ModelCommand, WorkflowModels, WorkflowProject, WorkflowSettings};
pub use waiting::{WaitingWorkflow, list_waiting_workflows};

#[cfg(test)]
mod tests;
