//! The commands, each in a file of its own, and the functions that several of them share.

mod accept_changes;
pub(crate) mod add;
pub(crate) mod anchor;
mod anchored;
pub(crate) mod api;
pub(crate) mod approve;
pub(crate) mod archive;
mod at_gates;
pub(crate) mod attest;
pub(crate) mod check;
pub(crate) mod checkpoint;
pub(crate) mod completions;
pub(crate) mod daemon;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod export;
mod fix;
pub(crate) mod flaky;
mod follow_service;
pub(crate) mod gate;
mod gate_answer;
mod gate_errors;
mod gate_hook;
mod gate_notes;
mod gate_plans;
mod gate_policy;
mod gate_run;
mod github;
pub(crate) mod govern;
mod hand_over;
pub(crate) mod history;
pub(crate) mod hook;
mod hook_files;
mod hook_install;
mod hook_place;
mod hook_report;
mod hook_run;
pub(crate) mod init;
mod init_agents;
pub(crate) mod key;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod open;
pub(crate) mod opening;
pub(crate) mod plan;
pub(crate) mod prune;
mod refuse;
pub(crate) mod remove;
pub(crate) mod request;
pub(crate) mod review;
pub(crate) mod run;
mod run_all;
pub(crate) mod schema;
pub(crate) mod service;
mod share_run;
pub(crate) mod show;
pub(crate) mod slow;
pub(crate) mod status;
pub(crate) mod tasks;
pub(crate) mod tdd;
pub(crate) mod tree;
pub(crate) mod verify;
pub(crate) mod wait;
mod waiting;
mod waiting_approvals;
pub(crate) mod watch;
pub(crate) mod why;

use crate::cli::error::CommandError;
use proctor_model::{HealthProblem, PruneReason, RunId};
use proctor_run::project::ProjectError;
use proctor_sandbox::process::clock;
use proctor_service::health_of;

/// Converts an error of a run into a command error.
pub(crate) fn from_run_error(error: &ProjectError) -> CommandError {
    let trouble = health_of(error, clock::now()).filter(|trouble| trouble.problem != HealthProblem::Other);
    let command_error = CommandError::of(error.exit(), error).of_trouble(trouble);
    match error.hint() {
        Some(hint) => command_error.hint(hint),
        None => command_error,
    }
}

/// Returns the error that a run's files were pruned.
pub(crate) fn from_prune_reason(run_id: &RunId, why: PruneReason) -> CommandError {
    from_run_error(&ProjectError::Pruned { run_id: run_id.clone(), why })
}
