//! What is written down after every transition: the state, and the files that may not be in the trail yet.

use serde::{Deserialize, Serialize};

use crate::governance::{State, TrailFile};

const SCHEMA: &str = "proctor-checkpoint-v1";

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Checkpoint {
    schema: String,
    pub(super) state: State,
    /// Files of the state's trail that are to be kept before anything else is done.
    pub(super) unwritten: Vec<TrailFile>,
}

impl Checkpoint {
    pub(super) fn new(state: &State, unwritten: Vec<TrailFile>) -> Self {
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
