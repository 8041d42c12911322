//! The audit trail: which file is kept under which name, in the order of what happened.
//!
//! The number comes from the workflow's own count, never from what lies in a directory (B12): a slug such as `fix-123-now` cannot mislead
//! it, and the thousandth file has four digits.

use serde::{Deserialize, Serialize};

use crate::governance::name::Slug;
use crate::model::Digest;

/// What a file of the trail is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The brief, as it was when the workflow began.
    Brief,
    /// How a model was asked and how that ended: command, isolation, exit, digests.
    Consultation,
    /// A model's draft, as it came.
    Draft,
    /// The draft after a person had it in the editor.
    DraftHuman,
    /// A model's review, as it came.
    Verdict,
    /// The review after a person had it in the editor.
    VerdictHuman,
    /// A person's decision, with the digests of what was seen.
    Gate,
    /// A person's words to the drafter.
    Feedback,
    /// The text of the issue exactly as the tracker is given it.
    Issue,
    /// What was filed, where, and how it came to that.
    Filed,
}

/// A file that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailFile {
    /// Its name, without a directory.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// A file that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailEntry {
    /// Its name, without a directory.
    pub name: String,
    /// What is in it.
    pub sha256: Digest,
}

impl Kind {
    /// Returns what stands behind the number.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Brief => "brief.md",
            Self::Consultation => "consultation.json",
            Self::Draft => "draft.md",
            Self::DraftHuman => "draft-human.md",
            Self::Verdict => "verdict.md",
            Self::VerdictHuman => "verdict-human.md",
            Self::Gate => "gate.json",
            Self::Feedback => "feedback.txt",
            Self::Issue => "issue.md",
            Self::Filed => "filed.json",
        }
    }
}

impl TrailFile {
    /// Returns the entry of it.
    pub fn entry(&self) -> TrailEntry {
        TrailEntry { name: self.name.clone(), sha256: Digest::of(self.text.as_bytes()) }
    }
}

/// Returns a file's name: `007-draft.md`.
pub fn file_name(number: u32, kind: Kind) -> String {
    format!("{number:03}-{}", kind.ending())
}

/// Returns the name of a workflow's directory among those that are done: `62-governance-notes`.
pub fn done_directory(issue: u64, slug: &Slug) -> String {
    format!("{issue}-{slug}")
}
