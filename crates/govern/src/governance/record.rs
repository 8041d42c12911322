//! The JSON files of the trail. The trail is committed to the repository, so these files hold names, numbers and
//! digests, but no path of this machine.

use std::collections::BTreeMap;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};

use crate::governance::gate::{GateChoice, WorkflowGate};
use crate::governance::name::{Slug, WorkflowId};
use crate::governance::verdict::IssueVerdict;
use proctor_model::{Digest, DurationMs, IsolationLevel, Timestamp, words};

/// `gate.json`: a person's decision at a gate.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GateV1<'a> {
    pub(super) schema: &'static str,
    pub(super) workflow: &'a WorkflowId,
    pub(super) node: &'static str,
    pub(super) gate: WorkflowGate,
    pub(super) choice: GateChoice,
    pub(super) at: Timestamp,
    pub(super) user: u32,
    pub(super) iteration: u32,
    /// The digests of the files that the person decided about, by their names in the trail.
    pub(super) inputs: BTreeMap<String, Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verdict: Option<IssueVerdict>,
    /// Whether the person has edited the draft after the reviewer was given it; `None` if there is no review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) draft_changed_since_review: Option<bool>,
    #[serde(rename = "override")]
    pub(super) overrides: bool,
}

pub(super) const GATE_SCHEMA: &str = "proctor-gate-v1";

/// `consultation.json`: the command that asked a model, and how it ended.
#[wire]
pub struct ConsultationRecord {
    /// Which of the two models was asked: `drafter` or `reviewer`.
    pub role: String,
    /// The model's command as configured: the program and its arguments.
    pub command: Vec<String>,
    /// How the command ended, as a sentence for people.
    pub end: String,
    /// The exit code; `None` if the command did not end by itself.
    pub exit_code: Option<i32>,
    /// The level of isolation under which the command ran; `None` if the command was not started.
    pub isolation: Option<IsolationLevel>,
    /// Why stronger levels of isolation could not be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obstacles: Vec<String>,
    /// How many processes of the command were still running when the command had ended. These processes were killed.
    pub survivors: u32,
    pub prompt_sha256: Digest,
    /// The digest of the pinned text in the prompt: the issue template or the review prompt.
    pub pinned_sha256: Digest,
    /// The digest of the command's standard output.
    pub output_sha256: Digest,
    pub output_bytes: u64,
    /// The digest of the command's standard error. The text itself is not kept: it may contain paths of this machine, and the
    /// trail is committed.
    pub complaint_sha256: Digest,
    pub complaint_bytes: u64,
    pub started: Timestamp,
    #[serde(rename = "durationMs")]
    pub duration: DurationMs,
}

/// An issue that the tracker has accepted.
#[wire]
pub struct FiledIssue {
    /// The issue's number, which is never 0.
    pub number: u64,
    pub url: String,
}

/// `filed.json`: the issue that was filed, and how many drafts and reviews led to it.
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
    /// Whether an earlier attempt had already filed the issue. If so, the issue has the text of that earlier attempt.
    pub(super) already_there: bool,
    #[serde(rename = "override")]
    pub(super) overrides: bool,
}

pub(super) const FILED_SCHEMA: &str = "proctor-filed-v1";

/// Returns the content of a record's file in the trail: indented JSON with a final newline.
pub(super) fn to_text(record: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(record).expect("our own records have a JSON form");
    text.push('\n');
    text
}

// The audit trail (the files that a workflow keeps): their kinds and names. Every name begins with a number that shows
// the order of events.
//
// The number comes from the workflow's own count, and never from the names in a directory (B12). So no slug such as
// `fix-123-now` is mistaken for a number, and the thousandth file simply gets four digits.

/// The kinds of files in a trail. The kind of a file decides how its name ends.
#[wire(Copy, Hash, kebab)]
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

words! {
    /// Returns the part of the file's name after the number and the dash.
    pub fn TrailKind::ending: Brief "brief.md", Consultation "consultation.json", Draft "draft.md",
        DraftHuman "draft-human.md", Verdict "verdict.md", VerdictHuman "verdict-human.md", Gate "gate.json",
        Feedback "feedback.txt", Issue "issue.md", Filed "filed.json"
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
