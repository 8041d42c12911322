//! What an action does, apart from when and how it is judged: one variant for each type that is carried out (E8).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::{ActionType, Digest, Review};

/// What an action does. For commands, scripts and reviews it is `Action::command` that is started; the others start nothing, and their
/// `command` has a display text and no words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ActionKind {
    /// A command.
    #[default]
    #[serde(rename = "terminalCommand")]
    Command,
    /// A script, run by a named interpreter: `Action::command` is made of these.
    CustomScript(Script),
    /// A look at a file.
    FileValidation(FileValidation),
    /// A request to a server.
    HttpRequest(Box<HttpRequest>),
    /// A reviewer that is asked for a verdict; carried out once more where its output has none.
    Review(Review),
}

/// A script and what runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Script {
    /// The program that reads it: `python3`, `node`.
    pub interpreter: String,
    /// Its path, as the specification has it.
    pub script: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// A file and what it must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileValidation {
    /// Its path, relative to the project, without `.` and `..`.
    pub path: String,
    /// What is asked of it.
    pub check: FileCheck,
}

/// What is asked of a file. A file that is not there satisfies none of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FileCheck {
    /// That it is there: one regular file, not behind a link.
    Exists,
    /// That its content has everything that is named; at least one of both is.
    ContentMatch {
        /// This text.
        text: Option<String>,
        /// A match of this regular expression (syntax of the `regex` crate, time linear in the file).
        regex: Option<String>,
    },
    /// That it is a JSON document that satisfies a JSON Schema.
    SchemaValid {
        /// The schema.
        schema: Value,
    },
    /// That its bytes have this SHA-256.
    HashMatch {
        /// The digest.
        sha256: Digest,
    },
    /// That it has so many bytes.
    SizeCheck {
        /// At least; none: no such bound.
        minimum: Option<u64>,
        /// At most; none: no such bound.
        maximum: Option<u64>,
    },
}

/// The methods of specification 2.0.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// GET.
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
    /// HEAD.
    Head,
    /// OPTIONS.
    Options,
}

/// A request and what is asked of its answer. `Action::timeout` bounds all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpRequest {
    /// Where to: `http://` or, in a build with TLS, `https://`.
    pub url: String,
    /// How.
    pub method: HttpMethod,
    /// What is said beside it.
    pub headers: BTreeMap<String, String>,
    /// What is sent.
    pub body: Option<HttpBody>,
    /// The statuses that are right; none: any from 200 to 299.
    #[serde(rename = "expectedStatus")]
    pub expected_statuses: Vec<u16>,
    /// What is asked of the answer's body.
    pub validate: ResponseChecks,
    /// Whether a redirect is followed instead of being the answer.
    pub follow_redirects: bool,
    /// Whether a certificate must be valid.
    pub validate_ssl: bool,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum HttpBody {
    /// This text.
    Text(String),
    /// This document, sent as `application/json` where no header says otherwise.
    Json(Value),
}

/// What an answer's body must be.
// All that is named must hold. The descriptions are those of the published schema.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "RawValidateResponse"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponseChecks {
    /// The JSON Schema it must satisfy.
    pub json_schema: Option<Map<String, Value>>,
    /// A text it must contain.
    pub contains_text: Option<String>,
    /// A regular expression it must match.
    pub matches_regex: Option<String>,
}

/// What the report's entry of an action shows (`evidenceCapture`).
///
/// It is about the report alone: logs, frames and records are evidence and always whole. The exit code and the duration are
/// not here, because the verdict rests on them and nobody can check it without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceCapture {
    /// The excerpt of standard output.
    pub stdout: bool,
    /// The excerpt of standard error.
    pub stderr: bool,
    /// An excerpt of the answer to a request.
    pub request_response: bool,
    /// An excerpt of the file that was looked at, in the report and in the record, which otherwise has its size and digest alone.
    pub file_contents: bool,
}

impl ActionKind {
    /// Returns the action's type.
    pub fn action_type(&self) -> ActionType {
        match self {
            Self::Command => ActionType::TerminalCommand,
            Self::CustomScript(_) => ActionType::CustomScript,
            Self::FileValidation(_) => ActionType::FileValidation,
            Self::HttpRequest(_) => ActionType::HttpRequest,
            Self::Review(_) => ActionType::Review,
        }
    }

    /// Returns whether a process is started for it.
    pub fn starts_a_process(&self) -> bool {
        match self {
            Self::Command | Self::CustomScript(_) | Self::Review(_) => true,
            Self::FileValidation(_) | Self::HttpRequest(_) => false,
        }
    }

    /// Returns whether it is a plain command, as all are that name no kind.
    pub fn is_terminal_command(&self) -> bool {
        *self == Self::Command
    }
}

impl FileCheck {
    /// Returns the check's word in a specification.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Exists => "EXISTS",
            Self::ContentMatch { .. } => "CONTENT_MATCH",
            Self::SchemaValid { .. } => "SCHEMA_VALID",
            Self::HashMatch { .. } => "HASH_MATCH",
            Self::SizeCheck { .. } => "SIZE_CHECK",
        }
    }
}

impl HttpMethod {
    /// All methods.
    pub const ALL: [Self; 7] = [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Head, Self::Options];

    /// Returns the method's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
        }
    }
}

impl HttpRequest {
    /// Returns a GET without anything special: redirects are followed, certificates must be valid, any 2xx is right.
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            method: HttpMethod::Get,
            headers: BTreeMap::new(),
            body: None,
            expected_statuses: Vec::new(),
            validate: ResponseChecks::default(),
            follow_redirects: true,
            validate_ssl: true,
        }
    }
}

impl HttpRequest {
    /// Returns method and URL for people, without what may be a secret: user, password, query and fragment.
    pub fn shown(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
        format!("{} {scheme}{host}{path}", self.method.word())
    }

    /// Returns method and path alone: what an endpoint is called.
    pub fn endpoint(&self) -> String {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let path = rest.find('/').map_or("/", |at| &rest[at..]);
        format!("{} {path}", self.method.word())
    }
}

impl EvidenceCapture {
    /// Returns whether nothing else was said than what is so by itself.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for EvidenceCapture {
    fn default() -> Self {
        Self { stdout: true, stderr: true, request_response: false, file_contents: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_request_has_no_place_for_a_secret() {
        for (url, shown, endpoint) in [
            ("http://localhost:3000/api?token=x", "GET http://localhost:3000/api", "GET /api"),
            ("https://me:pw@example.com", "GET https://example.com", "GET /"),
            ("http://a@b@example.com/x/@y#z", "GET http://example.com/x/@y", "GET /x/@y"),
            ("nonsense", "GET nonsense", "GET /"),
        ] {
            let request = HttpRequest::get(url);
            assert_eq!((request.shown().as_str(), request.endpoint().as_str()), (shown, endpoint), "{url}");
        }
    }

    #[test]
    fn a_kind_says_its_type_and_whether_it_starts_a_process() {
        let file = ActionKind::FileValidation(FileValidation { path: "a".to_owned(), check: FileCheck::Exists });
        let http = ActionKind::HttpRequest(Box::new(HttpRequest::get("http://localhost/")));
        assert_eq!((file.action_type(), file.starts_a_process()), (ActionType::FileValidation, false));
        assert_eq!((http.action_type(), http.starts_a_process()), (ActionType::HttpRequest, false));
        assert!(ActionKind::default().starts_a_process() && ActionKind::default().is_terminal_command());
        for method in HttpMethod::ALL {
            assert_eq!(serde_json::to_value(method).expect("a word"), method.word());
        }
    }
}
