//! Tests with the real command line of Codex against a scripted model on loopback: what the model says, and the files that it leaves,
//! are those of an agent that lies, tells the truth, or answers a question.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::{claims, registered};
use crate::common::{Project, codex_modules, proctor};
use crate::daemon::start_serving;

/// How long a whole conversation may take.
const CONVERSATION: Duration = Duration::from_secs(120);

/// What the scripted model does in one step: it may change a file, and says something.
struct Step {
    edit: Option<(PathBuf, &'static str)>,
    says: &'static str,
}

/// A model on loopback that speaks the protocol of responses as far as Codex needs it.
struct ScriptedModel {
    port: u16,
    /// The bodies of the requests, as they come.
    requests: Receiver<String>,
}

impl ScriptedModel {
    /// Starts the model. When its steps are used up, it repeats what it said last.
    fn start(steps: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let port = listener.local_addr().expect("it is bound").port();
        let (sender, requests) = channel();
        // The thread ends with the test's process.
        thread::spawn(move || {
            let mut steps = steps.into_iter();
            let mut last = "Done.";
            for stream in listener.incoming().flatten() {
                let _client_gone = serve(stream, &mut steps, &mut last, &sender);
            }
        });
        Self { port, requests }
    }

    /// Returns the bodies of the requests so far.
    fn asked(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

fn serve(
    mut stream: TcpStream,
    steps: &mut impl Iterator<Item = Step>,
    last: &mut &'static str,
    sender: &Sender<String>,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if !(first.starts_with("POST") && first.contains("/responses ")) {
        return write_answer(&mut stream, "application/json", r#"{"data":[],"models":[]}"#);
    }
    let _test_is_over = sender.send(String::from_utf8_lossy(&body).into_owned());
    if let Some(step) = steps.next() {
        if let Some((path, text)) = step.edit {
            fs::write(path, text)?;
        }
        *last = step.says;
    }
    let message = json!({
        "type": "response.output_item.done",
        "item": {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": *last}]}
    });
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null, "output_tokens": 1, "output_tokens_details": null, "total_tokens": 2
    });
    let events = [
        ("response.created", json!({"type": "response.created", "response": {"id": "resp_1"}})),
        ("response.output_item.done", message),
        ("response.completed", json!({"type": "response.completed", "response": {"id": "resp_1", "usage": usage}})),
    ];
    let text: String = events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect();
    write_answer(&mut stream, "text/event-stream", &text)
}

fn write_answer(stream: &mut TcpStream, kind: &str, body: &str) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Prepares Codex's own settings for the scripted model, and installs the hooks.
fn configure(project: &Project, model: &ScriptedModel) {
    let directory = project.root().join("home/.codex");
    fs::create_dir_all(&directory).expect("the home is ours");
    let settings = format!(
        "model = \"mock-model\"\nmodel_provider = \"mock\"\n\n[model_providers.mock]\nname = \"mock\"\n\
         base_url = \"http://127.0.0.1:{}/v1\"\nwire_api = \"responses\"\nenv_key = \"MOCK_KEY\"\nrequest_max_retries = 0\n\
         stream_max_retries = 0\n",
        model.port
    );
    fs::write(directory.join("config.toml"), settings).expect("the home is ours");
    project.proctor(["hook", "install", "codex"]).success();
}

/// Lets Codex carry out one prompt, and returns what it printed.
#[track_caller]
fn codex(project: &Project, prompt: &str) -> String {
    let program = codex_modules().join(".bin/codex");
    let path = std::env::var("PATH").unwrap_or_default();
    let own = proctor().parent().unwrap_or(Path::new("/")).display().to_string();
    let arguments = ["exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", prompt];
    let output = project
        .command(&program, arguments)
        .env("PATH", format!("{own}:{path}"))
        .env("MOCK_KEY", "none")
        .bound(CONVERSATION)
        .any_status();
    assert_eq!(output.status, 0, "{}\n{}", output.stdout, output.stderr);
    format!("{}\n{}", output.stdout, output.stderr)
}

fn edit(project: &Project, text: &'static str, says: &'static str) -> Step {
    Step { edit: Some((project.path().join("code.txt"), text)), says }
}

fn says(says: &'static str) -> Step {
    Step { edit: None, says }
}

#[test]
#[ignore = "long tier"]
fn a_lie_is_blocked_and_the_mended_truth_passes() {
    let project = registered();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let steps =
        vec![edit(&project, "bad\n", "Renamed it. All tests pass."), edit(&project, "good again\n", "Mended. All tests pass.")];
    let model = ScriptedModel::start(steps);
    configure(&project, &model);
    let shown = codex(&project, "Rename it.");
    let asked = model.asked();
    assert_eq!(asked.len(), 2, "one block, and then the truth passes: {shown}");
    assert!(asked[1].contains("new in this turn") && asked[1].contains("your message says"), "{}", asked[1]);
    assert_eq!(claims(&project).len(), 1);
    let report = project.proctor(["hook", "report", "--json"]).success().json();
    assert_eq!((&report["blocks"], &report["blocksThenGreen"]), (&json!(1), &json!(1)), "{report}");
    daemon.interrupt();
}

#[test]
#[ignore = "long tier"]
fn the_truth_an_idle_turn_and_what_was_red_before_pass() {
    let project = registered();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let model = ScriptedModel::start(vec![
        edit(&project, "good, renamed\n", "Renamed it. All tests pass."),
        says("It is in line 3."),
        edit(&project, "bad\n", "I broke it on purpose, the tests fail."),
        says("I cannot mend it, the tests still fail."),
    ]);
    configure(&project, &model);
    codex(&project, "Rename it.");
    assert_eq!(model.asked().len(), 1, "the truth");
    codex(&project, "Where is it?");
    assert_eq!(model.asked().len(), 1, "an idle turn");
    project.save("code.txt", "bad, by a person\n");
    project.proctor(["wait", "--fresh"]).failure();
    codex(&project, "Break it.");
    assert_eq!(model.asked().len(), 1, "it was red before the turn");
    assert!(claims(&project).is_empty());
    daemon.interrupt();
}

#[test]
#[ignore = "long tier"]
fn a_stubborn_liar_is_blocked_three_times_in_any_language() {
    let project = registered();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let model = ScriptedModel::start(vec![edit(&project, "bad\n", "Umbenannt. Alle Tests sind grün.")]);
    configure(&project, &model);
    codex(&project, "Benenne es um.");
    assert_eq!(model.asked().len(), 4, "three blocks, and then it may stop");
    daemon.interrupt();
}

#[test]
#[ignore = "long tier"]
fn without_the_service_the_hook_tests_and_after_uninstalling_nothing_is_blocked() {
    let project = registered();
    let model = ScriptedModel::start(vec![
        edit(&project, "bad\n", "Renamed it. All tests pass."),
        edit(&project, "good again\n", "All tests pass."),
        edit(&project, "worse\n", "All tests pass."),
    ]);
    configure(&project, &model);
    codex(&project, "Rename it.");
    assert_eq!(model.asked().len(), 2, "the lie is blocked, the truth is not");
    assert_eq!(claims(&project).len(), 1);
    project.proctor(["hook", "uninstall", "codex"]).success();
    codex(&project, "Rename it.");
    assert_eq!(model.asked().len(), 1, "there are no hooks");
    assert_eq!(claims(&project).len(), 1);
}
