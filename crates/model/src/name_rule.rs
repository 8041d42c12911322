//! Patterns for the names of files and directories.

use NameRule::{Begins, Between, Ends, Is};

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
