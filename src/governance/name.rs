//! The names of a workflow: the slug that people see and the id that the tracker carries.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest slug: it is the name of a directory, beside an issue's number.
const LONGEST_SLUG: usize = 80;

/// A workflow's name: lower-case letters, digits, `-` and `_`, the first a letter or a digit. The key of its state and of its lock (B6).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

/// What the tracker is asked for before an issue is filed a second time: sixteen hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkflowId(String);

/// Says what a text is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is no slug.
    #[error("`{0}` is no slug: lower-case letters, digits, `-` and `_` are, at most {LONGEST_SLUG}, a letter or a digit first")]
    Slug(String),
    /// It is no workflow's id.
    #[error("`{0}` is no workflow's id: sixteen hexadecimal digits are")]
    Id(String),
}

impl Slug {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl WorkflowId {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the line that is added to an issue's text, by which the issue is found again. Readers of the issue do not see it.
    pub fn marker(&self) -> String {
        format!("<!-- proctor-workflow: {} -->", self.0)
    }
}

/// Returns the slug of a brief: its file's name without the ending, in lower case, with `-` for everything a slug has not (N0 step 2).
///
/// # Errors
/// When nothing of the name is left.
pub fn slug_of(file_name: &str) -> Result<Slug, NameError> {
    let stem = file_name.rsplit_once('.').map_or(file_name, |(stem, _)| if stem.is_empty() { file_name } else { stem });
    let mut slug = String::new();
    for one in stem.to_lowercase().chars() {
        match one {
            'a'..='z' | '0'..='9' | '_' => slug.push(one),
            _ if slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    let slug: String = slug.trim_matches(['-', '_']).chars().take(LONGEST_SLUG).collect();
    Slug::try_from(slug.trim_end_matches(['-', '_']).to_owned()).map_err(|_| NameError::Slug(file_name.to_owned()))
}

impl TryFrom<String> for Slug {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let begins = text.bytes().next().is_some_and(is_plain);
        let is_slug =
            begins && text.len() <= LONGEST_SLUG && text.bytes().all(|byte| is_plain(byte) || matches!(byte, b'-' | b'_'));
        if is_slug { Ok(Self(text)) } else { Err(NameError::Slug(text)) }
    }
}

impl TryFrom<String> for WorkflowId {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 16 && text.bytes().all(is_digit) { Ok(Self(text)) } else { Err(NameError::Id(text)) }
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> Self {
        slug.0
    }
}

impl From<WorkflowId> for String {
    fn from(id: WorkflowId) -> Self {
        id.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for WorkflowId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
