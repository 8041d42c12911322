//! What is recorded between the events of an agent's session, in a private file of the store.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hook::Claim;
use crate::model::{OverallResult, Timestamp, TreeDigest};

/// What is known about one session of an agent: a state for each project that it worked in, by the project's root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionState {
    pub projects: BTreeMap<String, TurnState>,
}

/// What is known about an agent's present turn in one project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnState {
    /// How the project stood when the turn began; `None` if no event told of the beginning.
    pub start: Option<TurnStart>,
    /// How often the agent was kept from stopping since the last green verdict or prompt.
    pub blocks: u32,
    /// The same for the ends of sub-agents and tasks, which must not use up those of the turn.
    pub side_blocks: u32,
    /// The last verdict that the agent was told of.
    pub last_result: Option<OverallResult>,
    /// The first line of the last text that kept the agent from stopping. Some agents send that text back as a prompt.
    pub last_block: Option<String>,
    /// A claim in the agent's last message, for agents whose end of a turn has no message.
    pub reply: Option<Claim>,
    pub told: ToldState,
}

/// What was said already, so that it is said once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToldState {
    /// The tree of which it was said that it is not tested yet.
    pub pending: Option<String>,
    /// The failures of which it was said that they are older than the turn.
    pub old_failures: Vec<String>,
    /// Whether the person was told that the agent was blocked as often as it may be.
    pub limit: bool,
    /// The reason for which only a person can go on.
    pub person: Option<String>,
}

/// How a project stood when a turn began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStart {
    pub at: Timestamp,
    /// The digest of the tree; `None` if a run was under way, so that the tree was not read.
    pub tree: Option<TreeDigest>,
    /// Whether the tree had a verdict. Without one it is not known what failed before the turn.
    pub judged: bool,
    /// Whether a run could have judged the tree.
    pub judgeable: bool,
    /// The keys of what failed.
    pub failing: Vec<String>,
    /// How many failed, in `failing` or not.
    pub failing_total: u64,
}
