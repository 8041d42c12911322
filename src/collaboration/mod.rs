//! What people, agents and models are asked, and what they answer, outside a run.
//!
//! `agent` says when a task is complete and grants a retest; `proposal` compares a proposed specification with the present one;
//! `consultation` starts a model's or a person's own command for `workflow/`. Nothing here judges code: verdicts come from `run/`.

mod agent;
mod consultation;
mod proposal;

pub use agent::GrantedRetest;
pub use consultation::{ModelRequest, OwnToolRequest};
pub use proposal::{Proposal, ReviewedSpecification, review_specification};
