//! How a proposed test specification differs from the one it is to replace (C80).

use serde::{Deserialize, Serialize};

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpecificationChange {
    /// JSON pointer to it: in the old text, or in the proposed one for what is new.
    pub pointer: String,
    /// What it means.
    pub effect: ChangeEffect,
    /// The old value as JSON, cut to [`SpecificationChange::MOST_CHARACTERS`]; null where there was none.
    pub before: Option<String>,
    /// The proposed one likewise.
    pub after: Option<String>,
}

/// What a difference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeEffect {
    /// Only words for people differ.
    Wording,
    /// It mends what the specification was refused for.
    Mends,
    /// More is demanded than before.
    Strengthens,
    /// Less is demanded than before, or something else is run.
    Weakens,
    /// Whether more or less is demanded cannot be told, and no error asks for it.
    Unexplained,
}

impl SpecificationChange {
    /// So many characters of a value are shown.
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

    /// Returns the words about it for people.
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
