//! What the ledger lines of earlier versions record of the program of each action that a run started. Nothing is decided by it any more.

use serde::{Deserialize, Serialize};

use crate::Tool;

/// The program of one action in a run, and whether it did any work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramRecord {
    /// The name of the action.
    pub name: String,
    /// The first word of the action's command.
    pub program: String,
    /// The tool whose output was interpreted.
    pub tool: Tool,
    pub ending: ProgramEnding,
}

/// Whether a program did any work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum ProgramEnding {
    /// proctor found no such program, so nothing was started.
    NotFound,
    /// The tool refused its command line or its configuration, or a launcher said that what it should start is not there.
    UsageError,
    /// Anything else, also a program that was stopped.
    Ran,
}
