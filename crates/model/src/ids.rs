//! Identifiers as types of their own. Each is checked when it is made, because it becomes part of a path or a reference
//! (house style N5, V3).
//!
//! Patterns for the names of files and directories.

use std::fmt;

use NameRule::{Begins, Between, Ends, Is};
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The error for a text that is not a valid identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind}: {expected}")]
pub struct IdError {
    /// The kind of identifier that was expected, for example "task id".
    pub kind: &'static str,
    /// The invalid text.
    pub text: String,
    /// The form that an identifier of this kind has, in words.
    pub expected: &'static str,
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $expected:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                let check: fn(&str) -> bool = $check;
                if check(&text) {
                    Ok(Self(text))
                } else {
                    Err(IdError { kind: $kind, text, expected: $expected })
                }
            }
        }

        impl TryFrom<&str> for $name {
            type Error = IdError;
            fn try_from(text: &str) -> Result<Self, IdError> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

identifier!(
    /// A project's identity in the store: `<slug>-<8 hex>`, created with random digits at registration (architecture,
    /// Files on disk).
    ProjectId,
    "project id",
    "a slug of lower-case letters, digits and dashes, a dash, and 8 hexadecimal digits",
    is_project_id
);
identifier!(
    /// A task: `default` for checks from `proctor.toml` or from discovery, otherwise the id of a task in a
    /// specification.
    TaskId,
    "task id",
    "1 to 64 letters, digits, `_`, `-` or `.`, the first of them a letter or digit",
    is_task_id
);
identifier!(
    /// An action's id within a run, in the form of specification 2.0.0: `PREREQ.1`, `STEP.3`, `CLEANUP.1`.
    ActionId,
    "action id",
    "upper-case letters, digits and `_`, a dot, and a number",
    is_action_id
);
identifier!(
    /// A run's id: `exec-<UTC yyyymmddThhmmss.mmmZ>-<number of the run in its project, 6 digits>` (S2).
    RunId,
    "run id",
    "`exec-<yyyymmddThhmmss.mmmZ>-<6 digits or more>`",
    is_run_id
);
identifier!(
    /// A debt item's id, in the form of the design document seed 004: `DEBT-T030-001`.
    DebtId,
    "debt id",
    "`DEBT-`, a task's id, a dash, and 3 digits or more",
    is_debt_id
);

/// The number of a line in a project's ledger; the first line has 1, and no number is left out (S3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct Sequence(pub u64);

impl TaskId {
    /// Returns the task that stands for the checks from `proctor.toml` or from discovery.
    pub fn default_task() -> Self {
        Self("default".to_owned())
    }

    /// Returns the task of every review that is started on the command line.
    pub fn review_task() -> Self {
        Self("review".to_owned())
    }
}

impl ActionId {
    /// Returns the id `PREFIX.number`, for example `STEP.3`.
    pub fn numbered(prefix: &'static str, number: usize) -> Self {
        Self(format!("{prefix}.{number}"))
    }
}

impl RunId {
    /// Returns the id of a run with this start time. `number` counts the project's runs.
    pub fn new(start: Timestamp, number: u64) -> Self {
        Self(format!("exec-{}-{number:06}", start.compact()))
    }

    pub fn number(&self) -> u64 {
        self.0.rsplit('-').next().and_then(|digits| digits.parse().ok()).expect("the constructor checked the digits")
    }
}

impl DebtId {
    /// Returns the id of a task's debt item. `number` counts the task's items.
    pub fn new(task: &TaskId, number: u32) -> Self {
        Self(format!("DEBT-{task}-{number:03}"))
    }

    pub fn number(&self) -> u32 {
        self.0.rsplit('-').next().and_then(|digits| digits.parse().ok()).expect("the constructor checked the digits")
    }
}

impl ProjectId {
    /// Returns a new project id, made from the directory's name and 32 random bits.
    pub fn mint(directory_name: &str, random: u32) -> Self {
        let mut slug = String::new();
        for character in directory_name.chars().flat_map(char::to_lowercase) {
            if character.is_ascii_alphanumeric() {
                slug.push(character);
            } else if !slug.ends_with('-') && !slug.is_empty() {
                slug.push('-');
            }
        }
        slug.truncate(40);
        let slug = slug.trim_matches('-');
        let slug = if slug.is_empty() { "project" } else { slug };
        Self(format!("{slug}-{random:08x}"))
    }
}

fn is_project_id(text: &str) -> bool {
    let Some((slug, hex)) = text.rsplit_once('-') else { return false };
    let slug_is_right = !slug.is_empty()
        && slug.len() <= 64
        && slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    slug_is_right && hex.len() == 8 && hex.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn is_task_id(text: &str) -> bool {
    let starts_right = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    starts_right && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

fn is_action_id(text: &str) -> bool {
    let Some((prefix, number)) = text.rsplit_once('.') else { return false };
    let starts_right = prefix.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
    let prefix_is_right = prefix.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    starts_right && prefix_is_right && !number.is_empty() && number.len() <= 9 && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_debt_id(text: &str) -> bool {
    let parts = text.strip_prefix("DEBT-").and_then(|rest| rest.rsplit_once('-'));
    parts.is_some_and(|(task, digits)| {
        is_task_id(task) && digits.len() >= 3 && digits.bytes().all(|it| it.is_ascii_digit()) && digits.parse::<u32>().is_ok()
    })
}

fn is_run_id(text: &str) -> bool {
    let Some((stamp, number)) = text.strip_prefix("exec-").and_then(|rest| rest.rsplit_once('-')) else { return false };
    let shape = b"dddddddd\x54dddddd.ddd\x5a";
    let stamp_is_right = stamp.len() == shape.len()
        && stamp.bytes().zip(shape).all(|(byte, want)| if *want == b'd' { byte.is_ascii_digit() } else { byte == *want });
    stamp_is_right && (6..=18).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// A pattern for file and directory names; it is matched against the name only, not against the whole path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// The name is exactly this.
    Is(&'static str),
    Begins(&'static str),
    /// The name ends with this text and is longer than it, so `.tsbuildinfo` alone does not match
    /// `Ends(".tsbuildinfo")`.
    Ends(&'static str),
    /// The name begins with the first text, ends with the second and is longer than both together.
    Between(&'static str, &'static str),
}

impl NameRule {
    /// Returns whether a file name fits the pattern.
    pub fn matches(self, name: &[u8]) -> bool {
        match self {
            Is(whole) => name == whole.as_bytes(),
            Begins(start) => name.starts_with(start.as_bytes()),
            Ends(end) => name.len() > end.len() && name.ends_with(end.as_bytes()),
            Between(start, end) => {
                name.len() > start.len() + end.len() && name.starts_with(start.as_bytes()) && name.ends_with(end.as_bytes())
            }
        }
    }

    /// Returns the pattern as a glob, for messages to people.
    pub fn glob(self) -> String {
        match self {
            Is(whole) => whole.to_owned(),
            Begins(start) => format!("{start}*"),
            Ends(end) => format!("*{end}"),
            Between(start, end) => format!("{start}*{end}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minted_project_id_is_a_project_id() {
        for name in ["quotes", "My Project!", "", "---", "Ünïcode", "a".repeat(300).as_str(), "x-1.2"] {
            let id = ProjectId::mint(name, 0xdead_beef);
            assert_eq!(ProjectId::try_from(id.as_str()), Ok(id.clone()), "{name}");
        }
        assert_eq!(ProjectId::mint("My Project!", 0x1f).as_str(), "my-project-0000001f");
    }

    #[test]
    fn a_run_id_carries_its_number_and_cannot_leave_its_directory() {
        let id = RunId::new(Timestamp::from_millis(1_772_616_600_120), 42);
        assert_eq!(id.as_str(), "exec-20260304T093000.120Z-000042");
        assert_eq!(id.number(), 42);
        assert_eq!(RunId::try_from(id.as_str()), Ok(id));
        for bad in ["", "exec-", "../x", "exec-20260304T093000.120Z-42", "exec-20260304T093000.120Z-00004/", "latest"] {
            assert!(RunId::try_from(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn task_and_action_ids_are_safe_file_names() {
        for bad in ["", ".", "..", "a/b", "-x", "a b"] {
            assert!(TaskId::try_from(bad).is_err(), "{bad}");
        }
        for bad in ["", "STEP", "STEP.", "step.1", "STEP.1.x", "STEP/.1", "STEP.-1"] {
            assert!(ActionId::try_from(bad).is_err(), "{bad}");
        }
        assert_eq!(ActionId::numbered("STEP", 3).as_str(), "STEP.3");
    }
}
