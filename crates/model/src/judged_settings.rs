//! The settings of a project that decide how it is judged and what its actions may reach, as an approval records them
//! (S7).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quote::quoted_text;

/// The value of a setting, in a form that can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SettingValue {
    Number(u64),
    /// A word or a text. A limit that is not set is the word `off`.
    Text(String),
    List(Vec<String>),
}

/// Values of settings by their key, such as `sandbox.mode`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct JudgedSettings {
    pub values: BTreeMap<String, SettingValue>,
}

impl fmt::Display for SettingValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::Text(text) => formatter.write_str(&quoted_text(text)),
            Self::List(entries) => {
                let quoted: Vec<String> = entries.iter().map(|entry| quoted_text(entry)).collect();
                write!(formatter, "[{}]", quoted.join(", "))
            }
        }
    }
}
