//! The use cases of proctor: what the command line, the service, agents' hooks and the Model Context Protocol ask for.
//!
//! A use case is a function that answers in values and in types of `proctor-api`. It prints nothing and reads no variable of the process:
//! its [`Environment`] has them, and says where a line goes that belongs to no answer, and what ends the work early.

pub mod answers;
pub mod approve;
pub mod attest;
mod caller;
pub mod check;
pub mod client;
pub mod doctor;
pub mod editor;
mod environment;
mod error;
pub mod export;
mod fetched_notes;
pub mod gate;
pub mod health;
pub mod history;
pub mod hook;
pub mod keys;
pub mod known;
pub mod logging;
pub mod places;
pub mod plan;
pub mod project;
pub mod prune;
pub mod refusals;
pub mod remove;
pub mod request;
pub mod run;
pub mod serving;
pub mod share;
pub mod status;
pub mod turn;
pub mod verify;
pub mod wait;
pub mod why;
mod work_trees;

pub use caller::{Caller, RunControl, Stop};
pub use environment::{Environment, SERVICE_LOCK, default_turns, processors};
pub use error::{CommandError, from_prune_reason, indented};
pub use fetched_notes::fetch_notes;
pub use work_trees::register_linked_work_tree;
