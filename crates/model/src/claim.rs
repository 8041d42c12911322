//! The record of an agent's claim that the verdict contradicts.

use proctor_wire::wire;

use crate::{Digest, RunId, TaskId, TreeDigest};

/// An agent said that the tests pass, and the verdict for the same tree says that they fail. Of the agent's message only the words of the
/// claim are kept.
#[wire(schema)]
pub struct ClaimRecord {
    /// The agent's word on the command line, such as `codex`.
    pub agent: String,
    /// The words of the claim, at most 120 characters.
    pub phrase: String,
    /// SHA-256 of the whole message.
    pub message: Digest,
    pub task: TaskId,
    /// The run whose verdict contradicts the claim.
    pub run_id: RunId,
    /// The digest of the tree that the run tested and that the agent left.
    pub tree_digest: TreeDigest,
}
