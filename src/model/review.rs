//! Reviews: the request to a reviewer, and the reviewer's answers.

use serde::{Deserialize, Serialize};

use crate::model::{Digest, DurationMs};

/// A review to be carried out. `Action::command` starts the reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// The reviewer's standard input.
    pub prompt: Prompt,
    /// Whether `**Ready to merge?** Yes`, with only the label emphasised, counts as an approval.
    pub accept_split_emphasis: bool,
}

/// The standard input of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Prompt {
    /// Empty, because the arguments contain everything.
    Nothing,
    /// A file of the project, relative to its root.
    File(String),
    /// The given bytes. A plan shows only their digest.
    Given {
        #[serde(skip)]
        bytes: Vec<u8>,
        sha256: Digest,
    },
}

/// The decision of a review (C3: a rejection can be fixed, an indeterminate review needs a person).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReviewVerdict {
    /// An explicit Yes.
    Approved,
    /// An explicit No or With fixes.
    Rejected,
    /// Neither of the two; a person must decide.
    Indeterminate,
}

/// A review that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewObservation {
    pub verdict: ReviewVerdict,
    /// The explanation in words.
    pub reason: String,
    /// How many reviews in a row rejected, including this one. An approval resets the count.
    pub rejections: u32,
    /// All attempts in order, at most two.
    pub attempts: Vec<ReviewAttempt>,
}

/// One attempt of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewAttempt {
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// What the output means: `APPROVED`, `REJECTED`, or why it has no verdict (`MISSING_FIELD`, `TRANSPORT`, …).
    pub reading: String,
    /// The explanation in words.
    pub reason: String,
    /// The exit code, if the reviewer exited by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(rename = "durationMs")]
    pub duration: DurationMs,
    /// The digest of the argument vector, with a NUL after each word.
    pub argv_sha256: Digest,
    /// The digest of the reviewer's standard input.
    pub prompt_sha256: Digest,
    /// The number of bytes on standard output.
    pub output_bytes: u64,
    /// The digest of standard output; absent if it is larger than what is kept in memory. The evidence has the digest of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_sha256: Option<Digest>,
    /// The beginning and the end of the output as plain text (E11).
    pub excerpt: String,
    /// The log with the whole output: a file name in the run's directory.
    pub evidence: String,
}

impl Prompt {
    /// The largest size of a prompt in bytes.
    pub const CAP: u64 = 16 * 1024 * 1024;

    /// Returns a prompt with these bytes.
    pub fn given(bytes: Vec<u8>) -> Self {
        let sha256 = Digest::of(&bytes);
        Self::Given { bytes, sha256 }
    }
}

impl ReviewVerdict {
    /// Returns the verdict's word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::Rejected => "REJECTED",
            Self::Indeterminate => "INDETERMINATE",
        }
    }
}
