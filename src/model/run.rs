//! Why a run was started, and what it says of itself while it goes on.

use serde::{Deserialize, Serialize};

use crate::model::{Action, ActionId, CategoryCode, DurationMs, ResultType, RunId, TreeDigest};

/// What started a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// The kind.
    pub kind: TriggerKind,
    /// The first paths that led to it, for people; at most 20.
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
}

/// What a run says while it goes on; for screens, never for judgements.
#[derive(Debug, Clone, PartialEq)]
pub enum RunProgress {
    /// It has begun.
    Begun {
        /// Its id.
        run_id: RunId,
        /// The tree it tests.
        tree: TreeDigest,
    },
    /// An action has been started.
    ActionStarted {
        /// Which.
        action: Box<Action>,
    },
    /// A prerequisite needs not run (visibly).
    ActionUnchanged {
        /// Which.
        action: Box<Action>,
    },
    /// An action is over.
    ActionEnded {
        /// Which.
        action_id: ActionId,
        /// What it amounts to.
        status: ResultType,
        /// The row that applied.
        code: CategoryCode,
        /// How long it took.
        duration: DurationMs,
    },
}
