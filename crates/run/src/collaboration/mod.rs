//! Questions and answers outside of a run, with people, agents and models.
//!
//! `agent` says whether a task is complete, and grants retests. `proposal` compares a proposed specification with the
//! current specification. `consultation` starts a model or a person's own command for `workflow/`. Nothing here judges
//! code: verdicts come from `run/`.

mod agent;
mod consultation;
mod proposal;

pub use agent::{GrantedRetest, completion, completion_now, grant_retest};
pub use consultation::{ModelRequest, OwnToolRequest, consult, record_governance, run_own_tool};
pub use proposal::{Proposal, review_specification};
