//! Carries the governance workflow out: files, git, the tracker, checkpoints, and the order in which all that becomes durable.
//!
//! Decides nothing: [`crate::governance::handle`] says what is to be done, and each effect has one place here that does it. A transition is
//! durable before what it asks for is done: checkpoint, files of the trail, ledger line; then the drafter, the editor, the person or the
//! tracker. Whoever dies in between is carried on from the checkpoint, and what was kept already is kept once.
//!
//! Models and a person's tools are started by others ([`Hands`]), and only a [`Person`] has the terminal: what answers a gate is typed there.
//!
//! Where to look: `drive` the loop · `perform` one effect · `consult` a model's answer · `repository` the models' copies and the one commit ·
//! `tracker` labels and issues · `checkpoint` what is written down · `waiting` what is not over.

mod checkpoint;
mod consult;
mod drive;
mod error;
mod hands;
mod perform;
mod repository;
mod settings;
mod tracker;
mod waiting;

pub use drive::{Beginning, PointObserver, Workflow};
pub use error::WorkflowError;
pub use hands::{Consultation, Hands, Person, Refusal, Role, ToolEnd, ToolRequest};
pub use settings::{ModelSettings, Place, WorkflowSettings};
pub use waiting::{Waiting, list_waiting};

#[cfg(test)]
mod tests;
