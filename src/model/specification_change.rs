//! The differences between a proposed test specification and the one it replaces (C80).

use serde::{Deserialize, Serialize};

/// One difference between two specifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpecificationChange {
    /// The JSON pointer to the difference: in the old text, or in the proposed text if the value is new.
    pub pointer: String,
    /// The effect of the difference.
    pub effect: ChangeEffect,
    /// The old value as JSON, cut to [`SpecificationChange::MOST_CHARACTERS`]; null if there was none.
    pub before: Option<String>,
    /// The proposed value as JSON, cut to the same length; null if it was removed.
    pub after: Option<String>,
}

/// The effect of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeEffect {
    /// Only texts for people differ.
    Wording,
    /// It fixes an error for which the specification was refused.
    Mends,
    /// It demands more than before.
    Strengthens,
    /// It demands less than before, or runs something else.
    Weakens,
    /// It is unclear whether it demands more or less, and no error makes it necessary.
    Unexplained,
}

impl SpecificationChange {
    /// The most characters of a value that are shown.
    pub const MOST_CHARACTERS: usize = 200;
}

impl ChangeEffect {
    /// Returns whether a person has to agree (C80).
    pub fn needs_person(self) -> bool {
        match self {
            Self::Wording | Self::Mends | Self::Strengthens => false,
            Self::Weakens | Self::Unexplained => true,
        }
    }

    /// Returns the description for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Wording => "only words",
            Self::Mends => "mends an error",
            Self::Strengthens => "demands more",
            Self::Weakens => "weakens: a person has to agree",
            Self::Unexplained => "no error asks for it: a person has to agree",
        }
    }
}
