//! The records of actions without a process: a checked file, or a request and its answer ("HTTP evidence" in the design
//! document seed 004).

use std::collections::BTreeMap;

use proctor_wire::wire;

use proctor_model::{ActionId, ActionType, CategoryCode, Digest, DurationMs, RunId, SystemFault, Timestamp};

use super::observed::{HealthCheckV2, TextV2};

/// `STEP.1-file-validation.json`: the check of a file.
#[wire(inexact)]
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
    /// What was found at the file's path.
    pub result: FileResultV1,
    /// What the result means for the check: a category code and the reason.
    pub judgement: JudgementV1,
    /// When the check was made, and how long it took.
    #[serde(rename = "execution")]
    pub timing: LookV1,
    /// The version of proctor that made the observation, and the time.
    pub authenticity: SeenByV1,
}

/// What was found at the path of a file.
#[wire(sparse)]
pub struct FileResultV1 {
    /// Whether the path, or the place to which its links lead, is a regular file. Absent if the check ended before that was known, or if a
    /// link leads out of the project, so that proctor did not look.
    pub file_exists: Option<bool>,
    /// The checked path, relative to the project.
    pub file_path: String,
    /// The file's size in bytes; absent if the file does not exist.
    pub file_size: Option<u64>,
    /// The time when the file was last changed; absent if the file does not exist.
    pub last_modified: Option<Timestamp>,
    /// The SHA-256 of the file's content; absent if the content was not read.
    pub sha256: Option<Digest>,
    /// The beginning and the end of the content, if `evidenceCapture.fileContents` is set.
    pub contents: Option<TextV2>,
}

/// `STEP.9-http-request.json`, `STEP.9-http-error.json`: a request with its answer, or with the reason why no answer
/// came.
#[wire(inexact)]
pub struct ExchangeRecordV1 {
    /// Always `proctor-http-v1`.
    pub schema: String,
    pub run_id: RunId,
    pub action_id: ActionId,
    #[serde(rename = "type")]
    pub action_type: ActionType,
    pub name: String,
    pub request: RequestV1,
    /// The server's answer, or the reason why no answer came.
    pub response: ResponseV1,
    /// What was examined because no answer came; null if there was an answer.
    pub diagnostics: Option<ExchangeDiagnosticsV1>,
    /// What the answer means for the check: a category code and the reason.
    pub judgement: JudgementV1,
    /// The version of proctor that made the observation, and the time.
    pub authenticity: SeenByV1,
}

/// The request as it was sent. Values that look like secrets are replaced by `[hidden]`.
#[wire]
pub struct RequestV1 {
    pub url: String,
    pub method: String,
    /// The request's headers, as written in the plan.
    pub headers: BTreeMap<String, String>,
    /// The beginning and the end of the body that was sent; null if there was no body.
    #[serde(rename = "body")]
    pub body_excerpt: Option<TextV2>,
    /// The time when the request was sent.
    pub timestamp: Timestamp,
}

/// What came back for a request: an answer, or an error if none came.
#[wire(sparse)]
pub struct ResponseV1 {
    /// Whether an answer came. `judgement` says whether the answer was correct.
    pub success: bool,
    pub status_code: Option<u16>,
    /// The answer's headers, with secrets replaced by `[hidden]`.
    pub headers: Option<BTreeMap<String, String>>,
    pub body: Option<BodyV1>,
    /// The address that answered, if a redirect was followed.
    pub redirected_to: Option<String>,
    /// Why no answer came; absent if a server answered.
    pub error: Option<SystemFault>,
    pub duration: DurationMs,
}

/// What was read of an answer's body, and where the bytes are stored.
#[wire(sparse)]
pub struct BodyV1 {
    /// The evidence file with the body's bytes; absent if the body was empty.
    pub file: Option<String>,
    /// How many bytes of the body were read.
    pub bytes: u64,
    /// Whether the whole body was read.
    pub complete: bool,
    /// The SHA-256 of the bytes of the body that were read.
    pub sha256: Digest,
    /// The beginning and the end of the body as plain text.
    pub excerpt: TextV2,
}

/// What was examined because a server did not answer. The keys are those of the design document seed 004.
#[wire(sparse)]
pub struct ExchangeDiagnosticsV1 {
    /// The health check of the service that is expected at the port; absent if the plan has no such service.
    pub server_health_check: Option<HealthCheckV2>,
    /// Whether a process listens on the port; absent if the address is not on this machine.
    pub port_in_use: Option<bool>,
    /// The addresses that the host name resolves to, or the lookup error.
    pub dns_resolution: Option<String>,
}

/// What the result of a check means: a category code and the reason.
#[wire]
pub struct JudgementV1 {
    pub code: CategoryCode,
    pub reason: String,
}

/// When the check of a file began and ended, and how long it took.
#[wire]
pub struct LookV1 {
    /// The time when the check began.
    pub start_time: Timestamp,
    /// The time when the check was over.
    pub end_time: Timestamp,
    pub duration: DurationMs,
}

/// The origin of a record that does not come from a process.
#[wire]
pub struct SeenByV1 {
    /// The program that made the observation.
    pub captured_by: String,
    /// The time when the check was over.
    pub timestamp: Timestamp,
}
