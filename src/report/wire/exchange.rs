//! The records of actions without a process: a checked file, or a request and its answer (seed 004, HTTP evidence).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{ActionId, ActionType, CategoryCode, Digest, DurationMs, RunId, SystemFault, Timestamp};

use super::observed::{HealthCheckV2, TextV2};

/// `STEP.1-file-validation.json`: the check of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileRecordV1 {
    /// Always `proctor-file-v1`.
    pub schema: String,
    pub run_id: RunId,
    pub action_id: ActionId,
    #[serde(rename = "type")]
    pub action_type: ActionType,
    pub name: String,
    /// The kind of check: `EXISTS`, `CONTENT_MATCH`, `SCHEMA_VALID`, `HASH_MATCH`, `SIZE_CHECK`.
    pub validation_type: String,
    /// What was found.
    pub result: FileResultV1,
    /// The meaning of the result.
    pub judgement: JudgementV1,
    /// When the check was made, and how long it took.
    #[serde(rename = "execution")]
    pub timing: LookV1,
    /// The origin of the record.
    pub authenticity: SeenByV1,
}

/// What was found at the path of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileResultV1 {
    /// Whether it exists as a regular file that is not a link; absent if the check ended before that was known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file_exists: Option<bool>,
    /// The path, relative to the project.
    pub file_path: String,
    /// The size in bytes; absent if the file does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
    /// The time of the last change; absent if the file does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<Timestamp>,
    /// The SHA-256 of the content; absent if it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// The beginning and the end of the content, if `evidenceCapture.fileContents` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<TextV2>,
}

/// `STEP.9-http-request.json`, `STEP.9-http-error.json`: a request with its answer, or with the reason why there was none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExchangeRecordV1 {
    /// Always `proctor-http-v1`.
    pub schema: String,
    pub run_id: RunId,
    pub action_id: ActionId,
    #[serde(rename = "type")]
    pub action_type: ActionType,
    pub name: String,
    pub request: RequestV1,
    /// The answer.
    pub response: ResponseV1,
    /// What was examined because no answer came; null if there was an answer.
    pub diagnostics: Option<ExchangeDiagnosticsV1>,
    /// The meaning of the answer.
    pub judgement: JudgementV1,
    /// The origin of the record.
    pub authenticity: SeenByV1,
}

/// A request. Values that look like secrets are replaced by `[hidden]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestV1 {
    pub url: String,
    pub method: String,
    /// The headers, as written in the plan.
    pub headers: BTreeMap<String, String>,
    /// The beginning and the end of the body that was sent; null if there was no body.
    #[serde(rename = "body")]
    pub body_excerpt: Option<TextV2>,
    /// The time of the request.
    pub timestamp: Timestamp,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponseV1 {
    /// Whether there was an answer. Whether it was correct is in `judgement`.
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// The headers, with secrets replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyV1>,
    /// The final address, if a redirect was followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirected_to: Option<String>,
    /// Why there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<SystemFault>,
    pub duration: DurationMs,
}

/// The body of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BodyV1 {
    /// The file with the bytes; absent if the body was empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The number of bytes that were read.
    pub bytes: u64,
    /// Whether the whole body was read.
    pub complete: bool,
    /// The SHA-256 of the bytes that were read.
    pub sha256: Digest,
    /// The beginning and the end of the body.
    pub excerpt: TextV2,
}

/// What was examined because a server did not answer, with the keys of seed 004's evidence standard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExchangeDiagnosticsV1 {
    /// The health check of the service that is expected at the port; absent if the plan has no such service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_health_check: Option<HealthCheckV2>,
    /// Whether a process listens on the port; absent if the address is not on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_in_use: Option<bool>,
    /// The addresses of the host name, or the lookup error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_resolution: Option<String>,
}

/// The judgement of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JudgementV1 {
    pub code: CategoryCode,
    pub reason: String,
}

/// The time at which a check was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LookV1 {
    /// The time when it began.
    pub start_time: Timestamp,
    /// The time when it was over.
    pub end_time: Timestamp,
    pub duration: DurationMs,
}

/// The origin of a record that does not come from a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SeenByV1 {
    /// The program that made the observation.
    pub captured_by: String,
    /// The time when the check was over.
    pub timestamp: Timestamp,
}
