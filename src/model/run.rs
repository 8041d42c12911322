//! Why a run was started.

use serde::{Deserialize, Serialize};

/// What started a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// The kind.
    pub kind: TriggerKind,
    /// The first paths that led to it, for people; at most [`Trigger::SHOWN_PATHS`].
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub paths: Vec<String>,
}

/// The kinds of trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TriggerKind {
    /// A person or a script asked: `proctor run`, Enter in `proctor watch`.
    Request,
    /// `proctor watch` has just begun.
    Start,
    /// A save.
    Save,
    /// The tree moved during the last run (S6).
    Moved,
    /// Somebody waits for a verdict on the tree as it is: `proctor wait --fresh`.
    Wait,
}

impl Trigger {
    /// How many paths a trigger names at most.
    pub const SHOWN_PATHS: usize = 20;
}
