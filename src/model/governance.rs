//! The ledger's record of a governance workflow: the files of its trail, and their digests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Digest;

/// Files that a workflow stored in its trail; they hold its decisions. A record may appear twice: if a process dies after writing it, the
/// next process writes it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GovernanceRecord {
    pub workflow: String,
    pub slug: String,
    /// The state in which the workflow continues: `N0` to `N6`.
    pub node: String,
    /// The digest of each file by its name in the trail.
    pub files: BTreeMap<String, Digest>,
    /// The number of the issue, once it is filed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<u64>,
}
