//! What an action does: one variant for each kind of action. Other files decide when an action runs and how it is
//! judged (E8).

use std::collections::BTreeMap;

use proctor_wire::wire;
use serde_json::{Map, Value};

use crate::{ActionType, ClientCall, Digest, Review};

/// What an action does.
///
/// For commands, scripts and reviews, proctor starts `Action::command`, and for a client command the client that it names. The other kinds start no process: their
/// `command` has only the text that is displayed, and an empty argument vector.
#[wire(Default, written, schema)]
pub enum ActionKind {
    #[default]
    #[serde(rename = "terminalCommand")]
    Command,
    /// A script that a named interpreter runs. `Action::command` is made from the interpreter, the script and its
    /// arguments.
    CustomScript(Script),
    /// A check of one file: that it exists, or its content, hash or size.
    FileValidation(FileValidation),
    /// A request to a server, and the requirements on the answer.
    HttpRequest(Box<HttpRequest>),
    /// A query, a container command or a session of a browser, which a client program carries out. `Action::command` names the
    /// client; its arguments are made when the action is started.
    ClientCommand(Box<ClientCall>),
    /// A request to a reviewer, whose answer is a verdict. If the answer has no verdict, the reviewer is asked once more.
    Review(Review),
}

/// A script and the interpreter that runs it.
#[wire(open, written, schema)]
pub struct Script {
    /// The program that runs the script, such as `python3` or `node`.
    pub interpreter: String,
    /// The script's path, as written in the specification.
    pub script: String,
    pub arguments: Vec<String>,
}

/// A file and the requirement that it must meet.
#[wire(open, written, schema)]
pub struct FileValidation {
    /// The file's path, relative to the project, without `.` and `..`.
    pub path: String,
    pub check: FileCheck,
}

/// The requirement on a file. A missing file meets none of these requirements.
#[wire(written, schema)]
pub enum FileCheck {
    /// The file exists as a regular file. Links in its path may lead to other places of the project and its environment.
    Exists,
    /// The file's content contains `text` and matches `regex`. At least one of the two is given.
    ContentMatch {
        /// A text that the content must contain.
        text: Option<String>,
        /// A regular expression that the content must match (syntax of the `regex` crate, which searches in linear
        /// time).
        regex: Option<String>,
    },
    /// The file is a JSON document that satisfies a JSON Schema.
    SchemaValid { schema: Value },
    /// The file's bytes have this SHA-256.
    HashMatch { sha256: Digest },
    /// The file's size lies within bounds.
    SizeCheck {
        /// The smallest allowed size in bytes; `None` means no lower bound.
        minimum: Option<u64>,
        /// The largest allowed size in bytes; `None` means no upper bound.
        maximum: Option<u64>,
    },
}

/// The HTTP methods that specification 2.0.0 allows.
#[wire(Copy, Hash, upper, named)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema), schemars(inline))]
pub enum HttpMethod {
    Get,
    Post,
    Put,
    Patch,
    Delete,
    Head,
    Options,
}

/// An HTTP request and the requirements on its answer. `Action::timeout` limits the time for the request and its answer
/// together, all redirects included.
#[wire(open, written, schema)]
pub struct HttpRequest {
    /// The request's URL: `http://` or, in a build with TLS, `https://`.
    pub url: String,
    pub method: HttpMethod,
    pub headers: BTreeMap<String, String>,
    pub body: Option<HttpBody>,
    /// The statuses that the answer may have. If the list is empty, any status from 200 to 299 is accepted.
    #[serde(rename = "expectedStatus")]
    pub expected_statuses: Vec<u16>,
    /// The requirements on the answer's body.
    pub validate: ResponseChecks,
    /// Whether a redirect is followed. If not, the redirect itself is checked as the answer.
    pub follow_redirects: bool,
    /// Whether the server's certificate must be valid.
    pub validate_ssl: bool,
}

/// The body of a request, as text or as JSON.
#[wire(written, schema)]
pub enum HttpBody {
    /// A text that is sent unchanged.
    Text(String),
    /// A JSON document, sent as `application/json` unless a header says otherwise.
    Json(Value),
}

/// What an answer's body must be.
// All requirements that are set must be met. The comments on this type and its fields are also the descriptions in the
// published schema.
#[wire(Default)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema), schemars(rename = "RawValidateResponse"))]
pub struct ResponseChecks {
    /// The body must be a JSON document that satisfies this schema.
    pub json_schema: Option<Map<String, Value>>,
    /// The body must contain this text.
    pub contains_text: Option<String>,
    /// The body must match this regular expression.
    pub matches_regex: Option<String>,
}

/// Which excerpts the report shows for an action (`evidenceCapture` in a specification).
///
/// The settings concern excerpts only: logs are evidence and are always kept whole. The exit code and the duration cannot be
/// switched off, because the verdict rests on them and nobody could check it without them.
#[wire(Copy, open, written, schema)]
pub struct EvidenceCapture {
    /// Whether the report has an excerpt of standard output.
    pub stdout: bool,
    /// Whether the report has an excerpt of standard error.
    pub stderr: bool,
    /// Whether the report has an excerpt of the answer to a request.
    pub request_response: bool,
    /// Whether the report and the record have an excerpt of the checked file. Without it the record has only size and
    /// digest.
    pub file_contents: bool,
}

impl ActionKind {
    pub fn action_type(&self) -> ActionType {
        match self {
            Self::Command => ActionType::TerminalCommand,
            Self::CustomScript(_) => ActionType::CustomScript,
            Self::FileValidation(_) => ActionType::FileValidation,
            Self::HttpRequest(_) => ActionType::HttpRequest,
            Self::ClientCommand(call) => call.action_type(),
            Self::Review(_) => ActionType::Review,
        }
    }

    /// Returns whether proctor starts a process for the action.
    pub fn starts_a_process(&self) -> bool {
        match self {
            Self::Command | Self::CustomScript(_) | Self::ClientCommand(_) | Self::Review(_) => true,
            Self::FileValidation(_) | Self::HttpRequest(_) => false,
        }
    }

    /// Returns whether the action is a plain command, which is the default kind.
    pub fn is_terminal_command(&self) -> bool {
        *self == Self::Command
    }
}

words! {
    /// Returns the name of the requirement in a specification.
    pub fn FileCheck::word(&self): Exists "EXISTS", ContentMatch "CONTENT_MATCH", SchemaValid "SCHEMA_VALID",
        HashMatch "HASH_MATCH", SizeCheck "SIZE_CHECK"
}

impl HttpRequest {
    /// Returns a GET request with the defaults: redirects are followed, certificates must be valid, any 2xx status is
    /// correct.
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
    /// Returns the method and the URL for messages. User, password, query and fragment are left out because they may be
    /// secret.
    pub fn shown(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
        format!("{} {scheme}{host}{path}", self.method.word())
    }

    /// Returns the method and the path, by which reports name an endpoint.
    pub fn endpoint(&self) -> String {
        let rest = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let path = rest.find('/').map_or("/", |at| &rest[at..]);
        format!("{} {path}", self.method.word())
    }
}

impl EvidenceCapture {
    /// Returns whether every setting has its default value. If so, the stored plan leaves the settings out.
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
