//! The differences between a proposed test specification and the specification that it replaces (C80).

use serde::{Deserialize, Serialize};

/// One difference between two specifications.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpecificationChange {
    /// The JSON pointer to the changed value: in the old specification, or in the proposed one if the value is new.
    pub pointer: String,
    pub effect: ChangeEffect,
    /// The old value as JSON, cut to [`SpecificationChange::MOST_CHARACTERS`]; null if the value is new.
    pub before: Option<String>,
    /// The proposed value as JSON, cut to [`SpecificationChange::MOST_CHARACTERS`]; null if the value was removed.
    pub after: Option<String>,
}

/// How a change of a specification affects what the specification demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ChangeEffect {
    /// Only texts for people differ.
    Wording,
    /// The change corrects an error for which the old specification was refused.
    Mends,
    /// The specification demands more than before.
    Strengthens,
    /// The specification demands less than before, or runs something else.
    Weakens,
    /// It is unclear whether the specification demands more or less, and no error makes the change necessary.
    Unexplained,
}

impl SpecificationChange {
    /// The most characters of `before` and of `after` that are stored.
    pub const MOST_CHARACTERS: usize = 200;
}

impl ChangeEffect {
    /// Returns whether a person has to agree before the proposed specification is used (C80).
    pub fn needs_person(self) -> bool {
        match self {
            Self::Wording | Self::Mends | Self::Strengthens => false,
            Self::Weakens | Self::Unexplained => true,
        }
    }

    /// Returns a short description of the effect, for people.
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
