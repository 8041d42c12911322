//! The JSON files of the trail. Names, numbers and digests; no path of a machine, since they are committed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::governance::gate::{Choice, Gate};
use crate::governance::name::WorkflowId;
use crate::governance::verdict::ReviewWord;
use crate::model::{Digest, DurationMs, IsolationLevel, Timestamp};

/// `gate.json`: a person's decision.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GateV1<'a> {
    pub(super) schema: &'static str,
    pub(super) workflow: &'a WorkflowId,
    pub(super) node: &'static str,
    pub(super) gate: Gate,
    pub(super) choice: Choice,
    pub(super) at: Timestamp,
    pub(super) user: u32,
    pub(super) iteration: u32,
    /// What was seen, by its name in the trail.
    pub(super) inputs: BTreeMap<String, Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verdict: Option<ReviewWord>,
    /// Whether the draft is another than the one that was reviewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) draft_changed_since_review: Option<bool>,
    #[serde(rename = "override")]
    pub(super) overrides: bool,
}

pub(super) const GATE_SCHEMA: &str = "proctor-gate-v1";

/// `consultation.json`: how a model was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Consulted {
    /// `drafter` or `reviewer`.
    pub role: String,
    /// The argument vector, as it is configured.
    pub command: Vec<String>,
    /// How the command ended, in words.
    pub end: String,
    /// Its exit code, where it ended by itself.
    pub exit_code: Option<i32>,
    /// How it was kept apart; none: it was not started.
    pub isolation: Option<IsolationLevel>,
    /// Why it was not kept apart better.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obstacles: Vec<String>,
    /// How many processes it left behind; they are ended.
    pub survivors: u32,
    /// What it was given.
    pub prompt_sha256: Digest,
    /// The pinned text in that.
    pub pinned_sha256: Digest,
    /// What it printed.
    pub output_sha256: Digest,
    /// How much.
    pub output_bytes: u64,
    /// What it complained: a digest alone, since the trail is committed and complaints name paths of a machine.
    pub complaint_sha256: Digest,
    /// How much.
    pub complaint_bytes: u64,
    /// When it was asked.
    pub started: Timestamp,
    /// How long it took.
    #[serde(rename = "durationMs")]
    pub duration: DurationMs,
}

/// An issue of the tracker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FiledIssue {
    /// Its number; never 0.
    pub number: u64,
    /// Where it can be read.
    pub url: String,
}

/// `filed.json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FiledV1<'a> {
    pub(super) schema: &'static str,
    pub(super) workflow: &'a WorkflowId,
    pub(super) issue_number: u64,
    pub(super) issue_url: &'a str,
    pub(super) title: &'a str,
    pub(super) labels: &'a [String],
    pub(super) body_file: &'a str,
    pub(super) filed_at: Timestamp,
    pub(super) brief_file: &'a str,
    pub(super) total_iterations: u32,
    pub(super) draft_count: u32,
    pub(super) verdict_count: u32,
    /// Whether an earlier attempt had filed it, with the text of that attempt.
    pub(super) already_there: bool,
    #[serde(rename = "override")]
    pub(super) overrides: bool,
}

pub(super) const FILED_SCHEMA: &str = "proctor-filed-v1";

/// Returns a record as the text of a file.
pub(super) fn to_text(record: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(record).expect("our own records have a JSON form");
    text.push('\n');
    text
}
