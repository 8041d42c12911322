//! Decides from an action's type what the action does: it starts a command, or proctor itself checks a file or sends a
//! request.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::spec::specification::{
    RawCustomScriptParameters, RawFileValidationParameters, RawHttpRequestConfig, RawHttpRequestParameters, RawInterpreter,
    RawShell, RawTerminalCommandParameters, RawValidationType, checked_kind,
};
use proctor_model::{ActionKind, CommandLine, Digest, FileCheck, FileValidation, HttpBody, HttpRequest, Script, split_words};
use proctor_tools::command_text;

/// What an action does, and its command. An action that starts no process has a command with an empty `argv`; its
/// `display` is a text for people.
pub(super) struct ResolvedAction {
    pub(super) kind: ActionKind,
    pub(super) command: CommandLine,
}

/// Splits a command that needs no shell into words.
pub(super) fn split(text: &str) -> Vec<String> {
    split_words(text).expect("the lint refuses a quote that is not closed")
}

/// Returns the command of a TERMINAL_COMMAND, for callers that only examine it.
pub(in crate::spec) fn plain_command(raw: &RawTerminalCommandParameters, argv: Option<Vec<String>>) -> CommandLine {
    terminal_command(raw, argv).command
}

/// Returns a command: the given `argv`, or a script if the command names a shell (E9), or the text split into words.
pub(super) fn terminal_command(raw: &RawTerminalCommandParameters, argv: Option<Vec<String>>) -> ResolvedAction {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let script = raw.command.as_str();
    let argv = match (argv, raw.shell) {
        (Some(argv), _) => argv,
        (None, None) => split(script),
        (None, Some(RawShell::Bash)) => words(&["bash", "-o", "pipefail", "-c", script]),
        // Not every `sh` has the option `pipefail`, but bash in POSIX mode has it.
        (None, Some(RawShell::Sh)) => words(&["bash", "--posix", "-o", "pipefail", "-c", script]),
        (None, Some(RawShell::Powershell | RawShell::Cmd)) => unreachable!("the lint refuses shells of other systems"),
    };
    let command = CommandLine { argv, display: script.trim().to_owned(), shell: raw.shell.is_some() };
    ResolvedAction { kind: ActionKind::Command, command }
}

/// Returns the call of a script by its interpreter. `path` must be inside the project.
pub(super) fn custom_script(raw: &RawCustomScriptParameters, path: String, arguments: Vec<String>) -> ResolvedAction {
    let interpreter = match raw.interpreter {
        RawInterpreter::Node => "node",
        RawInterpreter::Python => "python",
        RawInterpreter::Python3 => "python3",
        RawInterpreter::Bash => "bash",
        RawInterpreter::Sh => "sh",
        RawInterpreter::Powershell => "powershell",
        RawInterpreter::Ruby => "ruby",
        RawInterpreter::Perl => "perl",
    };
    // An interpreter would take a file name with a leading dash for an option.
    let path = if path.starts_with('-') { format!("./{path}") } else { path };
    let argv: Vec<String> = [interpreter.to_owned(), path].into_iter().chain(arguments.iter().cloned()).collect();
    let command = CommandLine { display: command_text(&argv), argv, shell: false };
    let script = Script { interpreter: interpreter.to_owned(), script: raw.script_path.clone(), arguments };
    ResolvedAction { kind: ActionKind::CustomScript(script), command }
}

/// Makes a FILE_VALIDATION, a check that proctor itself does on a file. `path` must be inside the project.
pub(super) fn file_validation(raw: &RawFileValidationParameters, path: String) -> ResolvedAction {
    const LINTED: &str = "the lint refuses a look without what it compares with";
    let check = match checked_kind(raw) {
        RawValidationType::Exists => FileCheck::Exists,
        RawValidationType::ContentMatch => {
            FileCheck::ContentMatch { text: raw.expected_content.clone(), regex: raw.content_regex.clone() }
        }
        RawValidationType::SchemaValid => FileCheck::SchemaValid { schema: Value::Object(raw.schema.clone().expect(LINTED)) },
        RawValidationType::HashMatch => {
            let hash = raw.expected_hash.as_ref().expect(LINTED).to_ascii_lowercase();
            FileCheck::HashMatch { sha256: Digest::try_from(hash).expect("the lint refuses what is no SHA-256") }
        }
        RawValidationType::SizeCheck => FileCheck::SizeCheck { minimum: raw.min_size, maximum: raw.max_size },
    };
    let display = format!("looks at {path} ({})", check.word());
    ResolvedAction { kind: ActionKind::FileValidation(FileValidation { path, check }), command: without_words(display) }
}

/// Returns an HTTP request. `settings` are the specification's settings for all requests.
pub(super) fn http_request(raw: &RawHttpRequestParameters, settings: Option<&RawHttpRequestConfig>) -> ResolvedAction {
    let request = HttpRequest {
        url: raw.url.clone(),
        method: raw.method,
        headers: raw.headers.clone(),
        body: raw.body.clone().map(body),
        expected_statuses: raw.expected_status.into_iter().collect(),
        validate: raw.validate_response.clone().unwrap_or_default(),
        follow_redirects: settings.and_then(|settings| settings.follow_redirects) != Some(false),
        validate_ssl: settings.and_then(|settings| settings.validate_ssl) != Some(false),
    };
    let command = without_words(request.shown());
    ResolvedAction { kind: ActionKind::HttpRequest(Box::new(request)), command }
}

/// Combines the environment variables for all actions with those of one action. If both set a variable, the value of the
/// one action counts.
pub(super) fn merged(global: &BTreeMap<String, String>, own: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut merged = global.clone();
    merged.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    merged
}

fn without_words(display: String) -> CommandLine {
    CommandLine { argv: Vec::new(), display, shell: false }
}

fn body(raw: Value) -> HttpBody {
    match raw {
        Value::String(text) => HttpBody::Text(text),
        document @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            HttpBody::Json(document)
        }
    }
}
