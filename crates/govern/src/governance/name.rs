//! The two names of a workflow: the slug that people use, and the id that marks its issue in the tracker.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The limit for the number of characters of a slug. Slugs are parts of directory names, so they must stay short.
const LONGEST_SLUG: usize = 80;

/// The name of a workflow: lower-case letters, digits, `-` and `_`, beginning with a letter or a digit. The workflow's
/// checkpoint and lock are found by this name (B6).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

/// Sixteen hexadecimal digits that mark a workflow's issue: they are written into the text. Before an issue is
/// filed, the tracker is searched for these digits, so that there is never a second issue.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkflowId(String);

/// Why a text is not a valid slug or workflow id. Each variant holds the wrong text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error(
        "`{0}` is no slug: use at most {LONGEST_SLUG} lower-case letters, digits, `-` and `_`, and begin with a letter or a digit"
    )]
    Slug(String),
    #[error("`{0}` is no workflow id: an id has sixteen hexadecimal digits")]
    Id(String),
}

impl Slug {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl WorkflowId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the line that is added to the text, so that a search finds the issue. The line is an HTML
    /// comment, so readers of the issue do not see it.
    pub fn marker(&self) -> String {
        format!("<!-- proctor-workflow: {} -->", self.0)
    }
}

/// Returns the slug that a brief's file gives its workflow: the file name without the extension, in lower case, with
/// `-` in place of each sequence of characters that a slug cannot have (N0 step 2). A long name is cut, and `-` and `_`
/// at both ends are removed.
///
/// # Errors
/// When the name has no letter or digit that can be part of a slug.
pub fn slug_from_file_name(file_name: &str) -> Result<Slug, NameError> {
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
