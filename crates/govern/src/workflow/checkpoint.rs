//! A workflow's checkpoint, which is stored after every transition: the state, and the files of the audit trail that
//! may not be on disk yet.

use serde::{Deserialize, Serialize};

use crate::governance::{TrailFile, WorkflowState};

const SCHEMA: &str = "proctor-checkpoint-v1";

/// The JSON form of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WorkflowCheckpoint {
    schema: String,
    pub(super) state: WorkflowState,
    /// Files of the audit trail that may not be on disk yet. A resumed workflow writes them before it does anything
    /// else.
    pub(super) unwritten: Vec<TrailFile>,
}

impl WorkflowCheckpoint {
    pub(super) fn new(state: &WorkflowState, unwritten: Vec<TrailFile>) -> Self {
        Self { schema: SCHEMA.to_owned(), state: state.clone(), unwritten }
    }

    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a checkpoint has string keys only")
    }

    pub(super) fn parse(text: &str) -> serde_json::Result<Self> {
        let checkpoint: Self = serde_json::from_str(text)?;
        if checkpoint.schema == SCHEMA {
            return Ok(checkpoint);
        }
        let why = format!("its schema is `{}`, not `{SCHEMA}`", checkpoint.schema);
        Err(<serde_json::Error as serde::de::Error>::custom(why))
    }
}
