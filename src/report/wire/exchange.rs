//! The records of actions that start no process: a file that was looked at, a request and its answer (seed 004, HTTP evidence).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{ActionId, ActionType, CategoryCode, Digest, DurationMs, RunId, SystemFault, Timestamp};

use super::observed::{HealthCheckV2, TextV2};

/// `STEP.1-file-validation.json`: what was seen of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileRecordV1 {
    /// `proctor-file-v1`.
    pub schema: String,
    /// The run.
    pub run_id: RunId,
    /// The action.
    pub action_id: ActionId,
    /// Its type.
    #[serde(rename = "type")]
    pub action_type: ActionType,
    /// Its name.
    pub name: String,
    /// What was asked of the file: `EXISTS`, `CONTENT_MATCH`, `SCHEMA_VALID`, `HASH_MATCH`, `SIZE_CHECK`.
    pub validation_type: String,
    /// What was seen.
    pub result: FileResultV1,
    /// What it amounts to.
    pub judgement: JudgementV1,
    /// When, and how long it took.
    #[serde(rename = "execution")]
    pub timing: LookV1,
    /// Where the record comes from.
    pub authenticity: SeenByV1,
}

/// What was seen of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileResultV1 {
    /// Whether it is there, as one regular file that is no link; absent where the look ended before that was known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file_exists: Option<bool>,
    /// Its path, relative to the project.
    pub file_path: String,
    /// Its size in bytes; absent where it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
    /// When it was last written to; absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<Timestamp>,
    /// The SHA-256 of its bytes; absent where they were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// The first and last of its content, where `evidenceCapture.fileContents` asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<TextV2>,
}

/// `STEP.9-http-request.json`, `STEP.9-http-error.json`: a request and its answer, or why there was none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExchangeRecordV1 {
    /// `proctor-http-v1`.
    pub schema: String,
    /// The run.
    pub run_id: RunId,
    /// The action.
    pub action_id: ActionId,
    /// Its type.
    #[serde(rename = "type")]
    pub action_type: ActionType,
    /// Its name.
    pub name: String,
    /// What was sent.
    pub request: RequestV1,
    /// What came back.
    pub response: ResponseV1,
    /// What was looked at because nothing came back; null where something did.
    pub diagnostics: Option<ExchangeDiagnosticsV1>,
    /// What it amounts to.
    pub judgement: JudgementV1,
    /// Where the record comes from.
    pub authenticity: SeenByV1,
}

/// A request. What looks like a secret is not in it: `[hidden]` stands for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestV1 {
    /// Where to.
    pub url: String,
    /// How.
    pub method: String,
    /// What was said beside it, as the plan has it.
    pub headers: BTreeMap<String, String>,
    /// The first and last of what was sent; null where nothing was.
    #[serde(rename = "body")]
    pub body_excerpt: Option<TextV2>,
    /// When.
    pub timestamp: Timestamp,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponseV1 {
    /// Whether there was an answer; whether it was right is `judgement`'s.
    pub success: bool,
    /// Its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// Its headers, without what looks like a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// Its body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyV1>,
    /// Where it came from in the end, where a redirect was followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirected_to: Option<String>,
    /// Why there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<SystemFault>,
    /// How long it took.
    pub duration: DurationMs,
}

/// The body of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BodyV1 {
    /// The file that has its bytes; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How many of its bytes were read.
    pub bytes: u64,
    /// Whether that is all of it.
    pub complete: bool,
    /// Their SHA-256.
    pub sha256: Digest,
    /// The first and last of it.
    pub excerpt: TextV2,
}

/// What was looked at because a server did not answer, in the keys of seed 004's evidence standard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExchangeDiagnosticsV1 {
    /// The look at the service that is expected at the port; absent where the plan has none there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_health_check: Option<HealthCheckV2>,
    /// Whether somebody listens on the port; absent where it is none of this machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_in_use: Option<bool>,
    /// The addresses of the host's name, or why it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_resolution: Option<String>,
}

/// What a look amounts to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JudgementV1 {
    /// The category.
    pub code: CategoryCode,
    /// Why.
    pub reason: String,
}

/// When something was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LookV1 {
    /// When it began.
    pub start_time: Timestamp,
    /// When it was over.
    pub end_time: Timestamp,
    /// How long it took.
    pub duration: DurationMs,
}

/// Where a record comes from that is of no process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SeenByV1 {
    /// What looked.
    pub captured_by: String,
    /// When it was over.
    pub timestamp: Timestamp,
}
