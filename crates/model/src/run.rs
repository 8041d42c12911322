//! What started a run, such as a save or a request.

use serde::{Deserialize, Serialize};

/// The event that started a run, and the changed paths that caused it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    pub kind: TriggerKind,
    /// The first changed paths that caused the run, for display: at most [`Trigger::SHOWN_PATHS`] paths.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub paths: Vec<String>,
}

/// The kinds of events that start a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TriggerKind {
    /// A person or a script asked for the run: `proctor run`, Enter in `proctor watch`.
    Request,
    /// `proctor watch` has just started.
    Start,
    /// A file was saved.
    Save,
    /// The tree changed during the last run, so the run is repeated (S6).
    Moved,
    /// A command waits for a verdict on the current tree: `proctor wait --fresh`.
    Wait,
}

impl Trigger {
    /// The most paths that a trigger stores.
    pub const SHOWN_PATHS: usize = 20;
}
