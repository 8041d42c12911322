//! The ledger's record of a governance workflow: the files with its decisions, and their digests.

use std::collections::BTreeMap;

use proctor_wire::wire;

use crate::Digest;

/// Files that a workflow stored in its trail, the directory with its decisions. A record may appear twice: if a process
/// dies after writing it, the next process writes it again.
#[wire(schema, sparse)]
pub struct GovernanceRecord {
    pub workflow: String,
    pub slug: String,
    /// The state in which the workflow continues: `N0` to `N6`.
    pub node: String,
    /// The digest of each stored file, by the file's name in the trail.
    #[kept]
    pub files: BTreeMap<String, Digest>,
    /// The number of the issue; `None` until the issue is filed.
    pub issue: Option<u64>,
}
