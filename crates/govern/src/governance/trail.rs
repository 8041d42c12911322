//! The audit trail (the files that a workflow keeps): their kinds and names. Every name begins with a number that shows
//! the order of events.
//!
//! The number comes from the workflow's own count, and never from the names in a directory (B12). So no slug such as
//! `fix-123-now` is mistaken for a number, and the thousandth file simply gets four digits.

use serde::{Deserialize, Serialize};

use crate::governance::name::Slug;
use proctor_model::Digest;

/// The kinds of files in a trail. The kind of a file decides how its name ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrailKind {
    /// The brief, as it was when the workflow began.
    Brief,
    /// How a model was asked: command, isolation, exit code, and digests of prompt and answer.
    Consultation,
    /// The drafter's answer, unchanged.
    Draft,
    /// The draft as a person left it in the editor.
    DraftHuman,
    /// The reviewer's answer, unchanged.
    Verdict,
    /// The review as a person left it in the editor.
    VerdictHuman,
    /// A person's decision, with the digests of the files that the person decided about.
    Gate,
    /// A person's feedback to the drafter.
    Feedback,
    /// The issue's text, exactly as it is sent to the tracker.
    Issue,
    /// The issue that was filed, and how many drafts and reviews led to it.
    Filed,
}

/// A file to be written to the trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailFile {
    /// The file's name, without a directory.
    pub name: String,
    pub text: String,
}

/// A file that is in the trail, by its name and digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrailEntry {
    /// The file's name, without a directory.
    pub name: String,
    /// The digest of the file's content.
    pub sha256: Digest,
}

impl TrailKind {
    /// Returns the part of the file's name after the number and the dash.
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
    /// Returns the file's name and digest, for the list of the trail's files in the workflow's state.
    pub fn entry(&self) -> TrailEntry {
        TrailEntry { name: self.name.clone(), sha256: Digest::of(self.text.as_bytes()) }
    }
}

/// Returns the name of a file in the trail, such as `007-draft.md`.
pub fn file_name(number: u32, kind: TrailKind) -> String {
    format!("{number:03}-{}", kind.ending())
}

/// Returns the name of a finished workflow's directory in `done/`, such as `62-governance-notes`.
pub fn done_directory(issue: u64, slug: &Slug) -> String {
    format!("{issue}-{slug}")
}
