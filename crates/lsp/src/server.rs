//! Messages and state. One thread reads messages, one asks for verdicts (`watcher`), and this one handles what both send.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, thread};

use serde_json::{Value, json};

use crate::diagnostics::diagnostics;
use crate::frame::{path_of, read_message, uri_of, write_message};
use crate::lenses::{RUN, RUN_ALONE, SHOW_LOG, VerdictAge, WHY, lenses};
use crate::watcher::{EditorVerdict, VerdictHint, VerdictWatcher};
use proctor_api::StateV1;
use proctor_app::editor::{log_place, now, run_in_service};
use proctor_app::places::MarkedPlace;
use proctor_app::project::setup;
use proctor_app::why::why;
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, Timestamp};

/// A larger file is not marked, in bytes.
const LARGEST_FILE: u64 = 8 << 20;
/// The file that a check without a place of its own is marked in.
const CONFIGURATION_FILE: &str = "proctor.toml";

/// Error codes of JSON-RPC and of the protocol.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const NOT_INITIALIZED: i32 = -32002;

/// `MessageType` of the protocol.
const SHOWN_ERROR: u8 = 1;
const SHOWN_INFO: u8 = 3;

/// What the server's threads tell the one that handles it.
enum ServerEvent {
    Message(Value),
    /// A message was no JSON.
    Malformed(String),
    InputEnded,
    Verdict(Result<EditorVerdict, CommandError>),
    /// A command has ended.
    Tell(u8, String),
}

/// How far the client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientPhase {
    /// `initialize` was not sent yet.
    New,
    Serving,
    /// The client sent `shutdown`, so that only `exit` may follow.
    ShutDown,
}

/// Serves one client until it says `exit`, or closes its end. `directory` is the project where the client names none.
///
/// # Errors
/// When messages cannot be written.
pub fn serve(
    environment: &Environment,
    directory: &Path,
    mut input: impl BufRead + Send + 'static,
    output: impl Write,
) -> Result<CommandExit, std::io::Error> {
    let (sender, events) = channel();
    let of_input = sender.clone();
    let read = move || {
        loop {
            let event = match read_message(&mut input) {
                Ok(Some(Ok(message))) => ServerEvent::Message(message),
                Ok(Some(Err(error))) => ServerEvent::Malformed(error.to_string()),
                Ok(None) | Err(_) => ServerEvent::InputEnded,
            };
            let ended = matches!(event, ServerEvent::InputEnded);
            if of_input.send(event).is_err() || ended {
                return;
            }
        }
    };
    thread::Builder::new().name("lsp-input".to_owned()).spawn(read)?;
    let mut server = LanguageServer::new(environment, directory, sender, output);
    server.handle_all(&events)
}

struct LanguageServer<W> {
    environment: Environment,
    root: PathBuf,
    events: Sender<ServerEvent>,
    /// Where the watcher listens; `None` before `initialized`.
    hints: Option<Sender<VerdictHint>>,
    output: W,
    phase: ClientPhase,
    /// Whether the client asks for code lenses again when it is told to, and shows files when it is told to.
    refreshes_lenses: bool,
    shows_files: bool,
    /// The number of the last request to the client.
    requests: u64,
    /// The texts of open files, by address.
    open: BTreeMap<String, String>,
    verdict: Option<EditorVerdict>,
    /// The texts that the run of the verdict tested, by path; only what could be known.
    tested: BTreeMap<String, String>,
    /// The addresses of files that have diagnostics.
    marked: BTreeSet<String>,
}

impl<W: Write> LanguageServer<W> {
    fn new(environment: &Environment, directory: &Path, events: Sender<ServerEvent>, output: W) -> Self {
        Self {
            environment: environment.clone(),
            root: directory.to_owned(),
            events,
            hints: None,
            output,
            phase: ClientPhase::New,
            refreshes_lenses: false,
            shows_files: false,
            requests: 0,
            open: BTreeMap::new(),
            verdict: None,
            tested: BTreeMap::new(),
            marked: BTreeSet::new(),
        }
    }

    fn handle_all(&mut self, events: &Receiver<ServerEvent>) -> Result<CommandExit, std::io::Error> {
        // The server itself has a sender, so events never end by themselves.
        for event in events {
            match event {
                ServerEvent::Message(message) => {
                    if message["method"] == "exit" {
                        let is_orderly = self.phase == ClientPhase::ShutDown;
                        return Ok(if is_orderly { CommandExit::Proceed } else { CommandExit::CodeNeedsWork });
                    }
                    self.handle(&message)?;
                }
                ServerEvent::Malformed(problem) => self.refuse(&Value::Null, PARSE_ERROR, &problem)?,
                ServerEvent::InputEnded => return Ok(CommandExit::Proceed),
                ServerEvent::Verdict(Ok(verdict)) => self.take(verdict)?,
                ServerEvent::Verdict(Err(error)) => self.log(&error.lines().join("\n"))?,
                ServerEvent::Tell(kind, text) => self.show(kind, &text)?,
            }
        }
        Ok(CommandExit::Proceed)
    }

    /// Handles a request or a notification. What is neither, such as the client's answer to a request, needs nothing.
    fn handle(&mut self, message: &Value) -> std::io::Result<()> {
        let Some(method) = message["method"].as_str() else { return Ok(()) };
        let (id, parameters) = (&message["id"], &message["params"]);
        if id.is_null() {
            return if self.phase == ClientPhase::Serving { self.handle_notification(method, parameters) } else { Ok(()) };
        }
        match (self.phase, method) {
            (ClientPhase::New, "initialize") => {
                let answer = self.initialize(parameters);
                self.answer(id, answer)
            }
            (ClientPhase::New, _) => self.refuse(id, NOT_INITIALIZED, "`initialize` comes first"),
            (ClientPhase::ShutDown, _) => self.refuse(id, INVALID_REQUEST, "the server was shut down"),
            (ClientPhase::Serving, "shutdown") => {
                self.phase = ClientPhase::ShutDown;
                self.hints = None;
                self.answer(id, Value::Null)
            }
            (ClientPhase::Serving, "textDocument/codeLens") => {
                let lenses = self.lenses(parameters["textDocument"]["uri"].as_str().unwrap_or_default());
                self.answer(id, json!(lenses))
            }
            (ClientPhase::Serving, "workspace/executeCommand") => self.execute(id, parameters),
            (ClientPhase::Serving, "initialize") => self.refuse(id, INVALID_REQUEST, "`initialize` was sent already"),
            (ClientPhase::Serving, _) => self.refuse(id, METHOD_NOT_FOUND, &format!("proctor has no `{method}`")),
        }
    }

    fn initialize(&mut self, parameters: &Value) -> Value {
        let folder = parameters["workspaceFolders"][0]["uri"].as_str().or_else(|| parameters["rootUri"].as_str());
        if let Some(folder) = folder.and_then(path_of) {
            self.root = folder;
        }
        let workspace = &parameters["capabilities"]["workspace"];
        self.refreshes_lenses = workspace["codeLens"]["refreshSupport"] == true;
        self.shows_files = parameters["capabilities"]["window"]["showDocument"]["support"] == true;
        self.phase = ClientPhase::Serving;
        json!({
            "serverInfo": { "name": "proctor", "version": env!("CARGO_PKG_VERSION") },
            "capabilities": {
                // Each change has the whole text.
                "textDocumentSync": { "openClose": true, "change": 1, "save": true },
                "codeLensProvider": { "resolveProvider": false },
                "executeCommandProvider": { "commands": [RUN, SHOW_LOG, RUN_ALONE, WHY] },
            },
        })
    }

    fn handle_notification(&mut self, method: &str, parameters: &Value) -> std::io::Result<()> {
        let uri = parameters["textDocument"]["uri"].as_str().unwrap_or_default();
        match method {
            "initialized" => self.begin(),
            "textDocument/didOpen" => {
                let text = parameters["textDocument"]["text"].as_str().unwrap_or_default();
                self.open.insert(uri.to_owned(), text.to_owned());
                self.mark(uri)
            }
            "textDocument/didChange" => {
                let changes = parameters["contentChanges"].as_array();
                let last = changes.and_then(|changes| changes.last()).and_then(|change| change["text"].as_str());
                if let (Some(open), Some(text)) = (self.open.get_mut(uri), last) {
                    text.clone_into(open);
                }
                self.mark(uri)
            }
            "textDocument/didClose" => {
                self.open.remove(uri);
                self.mark(uri)
            }
            "textDocument/didSave" => {
                if let Some(hints) = &self.hints {
                    let _watcher_ended = hints.send(VerdictHint::Changed);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Begins to ask for verdicts.
    fn begin(&mut self) -> std::io::Result<()> {
        match setup::project_root(&self.environment, &self.root) {
            Ok(root) => self.root = root,
            Err(error) => return self.log(&error.lines().join("\n")),
        }
        let (hints, heard) = channel();
        let watched = VerdictWatcher { environment: self.environment.clone(), root: self.root.clone() };
        let (own, events) = (hints.clone(), self.events.clone());
        let follow = move || watched.follow(&own, &heard, |verdict| events.send(ServerEvent::Verdict(verdict)).is_ok());
        thread::Builder::new().name("lsp-verdicts".to_owned()).spawn(follow)?;
        self.hints = Some(hints);
        Ok(())
    }

    /// Takes another verdict, and marks what it says.
    fn take(&mut self, verdict: EditorVerdict) -> std::io::Result<()> {
        let run_of = |verdict: &EditorVerdict| verdict.run.as_ref().map(|run| run.run_id.clone());
        if self.verdict.as_ref().and_then(run_of) != run_of(&verdict) {
            self.tested.clear();
        }
        let files = verdict.run.iter().flat_map(|run| &run.places).map(file_of).collect::<BTreeSet<_>>();
        let named = files.into_iter().map(|file| uri_of(&self.root.join(file)));
        let uris: BTreeSet<String> = named.chain(self.marked.iter().cloned()).chain(self.open.keys().cloned()).collect();
        self.verdict = Some(verdict);
        for uri in uris {
            self.mark(&uri)?;
        }
        if self.refreshes_lenses { self.request("workspace/codeLens/refresh", Value::Null) } else { Ok(()) }
    }

    /// Sends the diagnostics of a file. A file that has none, and had none, is not spoken of.
    fn mark(&mut self, uri: &str) -> std::io::Result<()> {
        let found = self.diagnostics_of(uri).unwrap_or_default();
        let is_marked = !found.is_empty();
        let was_marked = if is_marked { !self.marked.insert(uri.to_owned()) } else { self.marked.remove(uri) };
        if !is_marked && !was_marked {
            return Ok(());
        }
        self.notify("textDocument/publishDiagnostics", json!({ "uri": uri, "diagnostics": found }))
    }

    fn diagnostics_of(&mut self, uri: &str) -> Option<Vec<Value>> {
        let file = self.file_at(uri)?;
        self.learn_tested(&file);
        let run = self.verdict.as_ref()?.run.as_ref()?;
        if !run.places.iter().any(|place| file_of(place) == file) {
            return None;
        }
        let text = self.open.get(uri).cloned().or_else(|| read_file(&self.root.join(&file)).map(|(text, _)| text))?;
        // A check that has no place in a file is marked where it is configured.
        let mut places: Vec<MarkedPlace> = run.places.iter().filter(|place| file_of(place) == file).cloned().collect();
        for place in places.iter_mut().filter(|place| place.file.is_none()) {
            let named = format!("name = \"{}\"", place.check);
            let line = text.lines().position(|line| line.trim() == named).unwrap_or(0);
            (place.line, place.message) = (Some(line as u64 + 1), format!("{}: {}", place.check, place.message));
        }
        let tested = if file == CONFIGURATION_FILE { Some(text.as_str()) } else { self.tested.get(&file).map(String::as_str) };
        Some(diagnostics(places.iter(), tested, &text))
    }

    /// Keeps the text that the run of the verdict tested, where the file shows it: it was not written since the run began, or the
    /// verdict is about the files as they are.
    fn learn_tested(&mut self, file: &str) {
        let Some(EditorVerdict { look, run: Some(run) }) = &self.verdict else { return };
        if self.tested.contains_key(file) {
            return;
        }
        let Some((text, written)) = read_file(&self.root.join(file)) else { return };
        if written <= run.started || (look.state == StateV1::Fresh && written < look.asked) {
            self.tested.insert(file.to_owned(), text);
        }
    }

    fn lenses(&self, uri: &str) -> Vec<Value> {
        let (Some(file), Some(verdict), Some(text)) = (self.file_at(uri), &self.verdict, self.open.get(uri)) else {
            return Vec::new();
        };
        let age = if verdict.look.state == StateV1::Fresh { VerdictAge::Fresh } else { VerdictAge::Outdated };
        verdict.run.as_ref().map(|run| lenses(run, &file, text, age, now())).unwrap_or_default()
    }

    /// Returns the path of a file of the project, relative to it.
    fn file_at(&self, uri: &str) -> Option<String> {
        let path = path_of(uri)?;
        let inside = path.strip_prefix(&self.root).map(Path::to_owned);
        // The client may name the project by another path that leads to it.
        let inside = inside.ok().or_else(|| path.canonicalize().ok()?.strip_prefix(&self.root).ok().map(Path::to_owned))?;
        inside.to_str().map(str::to_owned)
    }

    fn execute(&mut self, id: &Value, parameters: &Value) -> std::io::Result<()> {
        let argument = parameters["arguments"][0].as_str().unwrap_or_default();
        let told = match parameters["command"].as_str().unwrap_or_default() {
            RUN => {
                self.run_in_service()?;
                Ok(None)
            }
            SHOW_LOG => self.log_shown(argument),
            RUN_ALONE => Ok(Some(format!("in {}: {argument}", self.root.display()))),
            WHY => self.why(argument).map(Some),
            other => return self.refuse(id, INVALID_PARAMS, &format!("proctor has no command `{other}`")),
        };
        match told {
            Ok(Some(text)) => self.show(SHOWN_INFO, &text)?,
            Ok(None) => {}
            Err(error) => self.show(SHOWN_ERROR, &error.lines().join("\n"))?,
        }
        self.answer(id, Value::Null)
    }

    /// Has the service run the checks, on a thread of its own: the run may take long.
    fn run_in_service(&self) -> std::io::Result<()> {
        let (environment, root, events) = (self.environment.clone(), self.root.clone(), self.events.clone());
        let run = move || {
            let told = match run_in_service(&environment, &root) {
                Ok(true) => return,
                Ok(false) => {
                    let next = "`proctor service add` has it watched, `proctor run` runs the checks once";
                    ServerEvent::Tell(SHOWN_INFO, format!("no service watches this project: {next}"))
                }
                Err(error) => ServerEvent::Tell(SHOWN_ERROR, error.lines().join("\n")),
            };
            let _server_ended = events.send(told);
        };
        thread::Builder::new().name("lsp-run".to_owned()).spawn(run).map(drop)
    }

    /// Has the client open the log of an action. Returns what to say instead, to a client that cannot.
    fn log_shown(&mut self, action: &str) -> Result<Option<String>, CommandError> {
        let Some(run) = self.verdict.as_ref().and_then(|verdict| verdict.run.as_ref()) else {
            return Ok(Some("nothing was run yet".to_owned()));
        };
        let command = format!("proctor show {} --log {action}", run.run_id.number());
        let place = if self.shows_files { log_place(&self.environment, &self.root, &run.run_id, action)? } else { None };
        let Some(place) = place else { return Ok(Some(command)) };
        let asked = self.request("window/showDocument", json!({ "uri": uri_of(&place), "external": false, "takeFocus": true }));
        Ok(asked.err().map(|_| command))
    }

    fn why(&self, uri: &str) -> Result<String, CommandError> {
        let path = path_of(uri).unwrap_or_else(|| self.root.join(uri));
        why(&self.environment, &self.root, &path)
            .map(|why| why.explanation.lines().into_iter().chain(why.heard_line()).collect::<Vec<_>>().join("\n"))
    }

    fn answer(&mut self, id: &Value, result: Value) -> std::io::Result<()> {
        write_message(&mut self.output, &json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn refuse(&mut self, id: &Value, code: i32, message: &str) -> std::io::Result<()> {
        let error = json!({ "code": code, "message": message });
        write_message(&mut self.output, &json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    fn notify(&mut self, method: &str, parameters: Value) -> std::io::Result<()> {
        write_message(&mut self.output, &json!({ "jsonrpc": "2.0", "method": method, "params": parameters }))
    }

    fn request(&mut self, method: &str, parameters: Value) -> std::io::Result<()> {
        self.requests += 1;
        let id = format!("proctor-{}", self.requests);
        let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !parameters.is_null() {
            request["params"] = parameters;
        }
        write_message(&mut self.output, &request)
    }

    fn show(&mut self, kind: u8, text: &str) -> std::io::Result<()> {
        self.notify("window/showMessage", json!({ "type": kind, "message": text }))
    }

    fn log(&mut self, text: &str) -> std::io::Result<()> {
        self.notify("window/logMessage", json!({ "type": SHOWN_INFO, "message": text }))
    }
}

fn file_of(place: &MarkedPlace) -> &str {
    place.file.as_deref().unwrap_or(CONFIGURATION_FILE)
}

/// Returns the text of a file, and when it was written.
fn read_file(path: &Path) -> Option<(String, Timestamp)> {
    let about = fs::metadata(path).ok().filter(|about| about.is_file() && about.len() <= LARGEST_FILE)?;
    let written = millis(about.modified().ok()?);
    fs::read_to_string(path).ok().map(|text| (text, written))
}

fn millis(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
