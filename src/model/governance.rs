//! What the ledger holds of a governance workflow: which files its trail has, and their digests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Digest;

/// Files that were kept. What was decided stands in them; a line that is there twice was written by a process that died meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GovernanceRecord {
    /// The workflow's id.
    pub workflow: String,
    /// Its name.
    pub slug: String,
    /// Where it goes on from here: `N0` to `N6`.
    pub node: String,
    /// The files, by their names in the trail.
    pub files: BTreeMap<String, Digest>,
    /// The issue, once it is filed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<u64>,
}
