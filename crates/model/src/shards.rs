//! The division of a check's tests among several processes.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use proctor_wire::wire;

/// Into how many parts the tests of a check are divided. Each part (a shard) is run by a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub enum Shards {
    Number(NonZeroU32),
    /// As many parts as the machine has processors.
    Cores,
}

/// One of the parts into which the tests of a check are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// The number of the part, counted from 1.
    pub number: u32,
    /// The number of parts.
    pub of: u32,
}

impl Shards {
    /// The most parts that a check can have.
    pub const MOST: u32 = 32;

    /// The word for [`Shards::Cores`].
    pub const CORES: &str = "cores";

    /// Returns the number of parts on a machine with this number of processors.
    pub fn count(self, processors: NonZeroU32) -> u32 {
        match self {
            Self::Number(number) => number.get(),
            Self::Cores => processors.get().min(Self::MOST),
        }
    }

    /// Returns the largest number of parts on any machine.
    pub fn at_most(self) -> u32 {
        match self {
            Self::Number(number) => number.get(),
            Self::Cores => Self::MOST,
        }
    }
}

impl From<Shards> for String {
    fn from(shards: Shards) -> Self {
        match shards {
            Shards::Number(number) => number.to_string(),
            Shards::Cores => Shards::CORES.to_owned(),
        }
    }
}

impl TryFrom<String> for Shards {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.parse() {
            Ok(number) => Ok(Self::Number(number)),
            Err(_) if text == Self::CORES => Ok(Self::Cores),
            Err(_) => Err(format!("`{text}` is no number of shards")),
        }
    }
}

// Which runs carry a check out.

/// Which runs carry a check out.
#[wire(Copy, Default, kebab, schema)]
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
