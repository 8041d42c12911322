//! What an action runs, part by part, so that the approval of a plan can say exactly what differs (S7).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Digest, Tool};

/// The parts of an action that decide what is run. Unlike the digest of all of them, they show where two actions differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionWords {
    /// The program and its arguments; empty for an action that runs no command.
    pub command: Vec<String>,
    /// The tool whose output is interpreted.
    pub tool: Tool,
    /// The digest of everything about the action except its command.
    pub rest: Digest,
    /// The parts of `rest` by name. A variable or a header of a request has the digest of its value in place of the value,
    /// because the value may be a secret.
    pub parts: BTreeMap<String, String>,
}
