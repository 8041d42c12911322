//! The ledger's record of a governance workflow: the files with its decisions, and their digests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Digest;

/// Files that a workflow stored in its trail, the directory with its decisions. A record may appear twice: if a process
/// dies after writing it, the next process writes it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GovernanceRecord {
    pub workflow: String,
    pub slug: String,
    /// The state in which the workflow continues: `N0` to `N6`.
    pub node: String,
    /// The digest of each stored file, by the file's name in the trail.
    pub files: BTreeMap<String, Digest>,
    /// The number of the issue; `None` until the issue is filed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<u64>,
}
