//! Which runs carry a check out.

use serde::{Deserialize, Serialize};

/// Which runs carry a check out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CheckStart {
    /// Every run, also those that a save starts.
    #[default]
    Save,
    /// Only runs for which somebody asked for every check, or for this one by its name.
    Ask,
}

impl CheckStart {
    /// Returns whether every run carries the check out.
    pub fn is_save(&self) -> bool {
        *self == Self::Save
    }
}
