//! A review: what a reviewer is asked, and what became of it.

use serde::{Deserialize, Serialize};

use crate::model::{Digest, DurationMs};

/// A review that is to be made: `Action::command` is the reviewer's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// What the reviewer gets on its standard input.
    pub prompt: Prompt,
    /// Whether `**Ready to merge?** Yes`, emphasis around the label alone, approves.
    pub accept_split_emphasis: bool,
}

/// What a reviewer gets on its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Prompt {
    /// Nothing: its arguments say it all.
    Nothing,
    /// A file of the project, relative to its root.
    File(String),
    /// These bytes; a plan shows their digest.
    Given {
        /// The bytes.
        #[serde(skip)]
        bytes: Vec<u8>,
        /// Their digest.
        sha256: Digest,
    },
}

/// What a review decides (C3: a rejection can be mended, what is indeterminate needs a person).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReviewVerdict {
    /// An explicit Yes.
    Approved,
    /// An explicit No or With fixes.
    Rejected,
    /// Neither; a person must look.
    Indeterminate,
}

/// A review that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewSeen {
    /// What it decides.
    pub verdict: ReviewVerdict,
    /// Why, in words.
    pub reason: String,
    /// How often in a row it has rejected, this time included; an approval begins anew.
    pub rejections: u32,
    /// Every attempt, in their order: at most two.
    pub attempts: Vec<ReviewAttempt>,
}

/// One attempt of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewAttempt {
    /// Its number, from 1.
    pub attempt: u32,
    /// What its output amounts to: `APPROVED`, `REJECTED`, or why it has no verdict (`MISSING_FIELD`, `TRANSPORT`, …).
    pub reading: String,
    /// The same in words.
    pub reason: String,
    /// The exit code, where the reviewer ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it took.
    #[serde(rename = "durationMs")]
    pub duration: DurationMs,
    /// The digest of the argument vector, each word ended by NUL.
    pub argv_sha256: Digest,
    /// The digest of what it got on its standard input.
    pub prompt_sha256: Digest,
    /// How much it printed on standard output, in bytes.
    pub output_bytes: u64,
    /// The digest of that; absent where it is longer than what is kept in memory. The log's is in the evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_sha256: Option<Digest>,
    /// First and last of it, as plain text (E11).
    pub excerpt: String,
    /// The log with all of it: a file name in the run's directory.
    pub evidence: String,
}

impl Prompt {
    /// The most bytes a prompt may have.
    pub const CAP: u64 = 16 * 1024 * 1024;

    /// Returns a prompt of these bytes.
    pub fn given(bytes: Vec<u8>) -> Self {
        let sha256 = Digest::of(&bytes);
        Self::Given { bytes, sha256 }
    }
}

impl ReviewVerdict {
    /// Returns the verdict's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::Rejected => "REJECTED",
            Self::Indeterminate => "INDETERMINATE",
        }
    }
}
