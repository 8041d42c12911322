//! The types of actions: those of specification 2.0.0, and one of proctor's own (E8).
//!
//! What an action runs, part by part, so that the approval of a plan can say exactly what differs (S7).

use std::collections::BTreeMap;
use std::fmt;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::{ActionId, ActionPhase, Digest, Tool};

/// What is known about an action of a specification before its parameters are parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionOutline {
    pub phase: ActionPhase,
    /// The action's id. If the specification gives no id, the id is made from the action's position.
    pub id: ActionId,
    pub action_type: WrittenActionType,
    /// The action's description; empty if the specification gives no description.
    pub description: String,
    /// The command, request or file that the action is about; empty if the specification does not name one.
    pub subject: String,
}

/// An action's type (E8).
#[wire(Copy, PartialOrd, Ord, Hash, screaming, schema, named)]
pub enum ActionType {
    /// Runs a command and judges it by its output or its exit code.
    TerminalCommand,
    /// Checks one file: that it exists, or its content, hash or size.
    FileValidation,
    /// Sends a request and checks the answer.
    HttpRequest,
    /// Runs a script with a named interpreter.
    CustomScript,
    /// Asks a reviewer for a verdict. This type is proctor's own, under the `proctor` key.
    Review,
    /// Carries out a command of a container engine.
    DockerCommand,
    /// Queries a database and checks the rows.
    DatabaseQuery,
    /// Lets a browser do one thing.
    McpBrowserCommand,
}

impl ActionType {
    /// The types that start a program whose output is kept.
    pub const WITH_OUTPUT: [Self; 5] =
        [Self::TerminalCommand, Self::CustomScript, Self::DockerCommand, Self::DatabaseQuery, Self::McpBrowserCommand];
}

impl fmt::Display for ActionType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// An action's type as a specification writes it, also a word that is no action type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum WrittenActionType {
    Known(ActionType),
    Unknown(#[cfg_attr(any(test, feature = "testing"), schemars(with = "String"))] UnknownActionType),
}

/// A word that stands in place of an action's type; empty if there is none, or another text. A text could be a path or a secret, and
/// a report is passed on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UnknownActionType(String);

/// A word in place of a type has at most this many bytes.
const LONGEST_WORD: usize = 32;

impl TryFrom<String> for UnknownActionType {
    type Error = &'static str;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        let is_word = word.len() <= LONGEST_WORD && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_word { Ok(Self(word)) } else { Err("an action's type is a word") }
    }
}

impl From<UnknownActionType> for String {
    fn from(word: UnknownActionType) -> Self {
        word.0
    }
}

impl WrittenActionType {
    /// Reads the type of an action of a specification.
    pub fn of(written: Option<&serde_json::Value>) -> Self {
        match written.and_then(|value| ActionType::deserialize(value).ok()) {
            Some(known) => Self::Known(known),
            None => {
                let text = written.and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
                Self::Unknown(UnknownActionType::try_from(text).unwrap_or_default())
            }
        }
    }

    pub fn word(&self) -> &str {
        match self {
            Self::Known(known) => known.word(),
            Self::Unknown(word) => &word.0,
        }
    }
}

impl From<ActionType> for WrittenActionType {
    fn from(known: ActionType) -> Self {
        Self::Known(known)
    }
}

/// The parts of an action that decide what is run. Unlike the digest of all of them, they show where two actions differ.
#[wire(schema)]
pub struct ActionWords {
    /// The program and its arguments; empty for an action that runs no command.
    pub command: Vec<String>,
    /// The tool whose output is interpreted.
    pub tool: Tool,
    /// The digest of everything about the action except its command.
    pub rest: Digest,
    /// The parts of `rest` by name. A variable or a header of a request has the digest of its value in place of the value,
    /// because the value may be a secret.
    pub parts: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_type_is_what_is_read_and_written() {
        for action_type in ActionType::ALL {
            let json = serde_json::to_string(&action_type).expect("a unit variant serialises");
            assert_eq!(json, format!("\"{action_type}\""));
            assert_eq!(serde_json::from_str::<ActionType>(&json).expect("it is read back"), action_type);
        }
    }

    #[test]
    fn only_a_word_stands_in_place_of_a_type() {
        for (written, word) in [
            (serde_json::json!("HTTP_REQUEST"), "HTTP_REQUEST"),
            (serde_json::json!("HTTP_REQEUST"), "HTTP_REQEUST"),
            (serde_json::json!("/home/me/secret"), ""),
            (serde_json::json!("A".repeat(33)), ""),
            (serde_json::json!(3), ""),
        ] {
            let read = WrittenActionType::of(Some(&written));
            assert_eq!(read.word(), word);
            let json = serde_json::to_value(&read).expect("it is a text");
            assert_eq!((json.as_str(), serde_json::from_value(json.clone()).ok()), (Some(word), Some(read)));
        }
        assert!(serde_json::from_str::<WrittenActionType>("\"/home/me\"").is_err());
    }
}
