//! Tests with the real command line of Codex against a scripted model on loopback: what the model says, and the files that it leaves,
//! are those of an agent that lies, tells the truth, or answers a question.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{SETTINGS, claims, registered};
use crate::common::{Project, WRITES_TO_SHARED, codex_modules, poll, proctor, python_plain};
use crate::daemon::start_serving;

/// How long a whole conversation may take.
const CONVERSATION: Duration = Duration::from_secs(120);

/// What the scripted model does in one step: it may change a file, and says something.
struct Step {
    edit: Option<(PathBuf, &'static str)>,
    says: Said,
}

/// What the model answers.
#[derive(Clone, Copy)]
enum Said {
    Message(&'static str),
    /// It has a command carried out, and is told at once that the command goes on.
    Command(&'static str),
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
            let mut last = Said::Message("Done.");
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
    last: &mut Said,
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
    let item = match *last {
        Said::Message(text) => {
            json!({"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": text}]})
        }
        Said::Command(command) => {
            let arguments = json!({"cmd": command, "yield_time_ms": 250}).to_string();
            json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec_command", "arguments": arguments})
        }
    };
    let message = json!({"type": "response.output_item.done", "item": item});
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
    codex_in(project, &project.path(), prompt)
}

/// The same in a directory.
#[track_caller]
fn codex_in(project: &Project, directory: &Path, prompt: &str) -> String {
    let program = codex_modules().join(".bin/codex");
    let path = std::env::var("PATH").unwrap_or_default();
    let own = proctor().parent().unwrap_or(Path::new("/")).display().to_string();
    let directory = directory.to_str().expect("a text");
    // The model's commands run as they are: Codex's own sandbox needs what a test machine may not have.
    let without_sandbox = "--dangerously-bypass-approvals-and-sandbox";
    let arguments =
        ["exec", "--dangerously-bypass-hook-trust", without_sandbox, "--skip-git-repo-check", "-C", directory, prompt];
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
    Step { edit: Some((project.path().join("code.txt"), text)), says: Said::Message(says) }
}

fn says(says: &'static str) -> Step {
    Step { edit: None, says: Said::Message(says) }
}

fn figures(project: &Project) -> Value {
    project.proctor(["hook", "report", "--all", "--json"]).success().json()
}

#[test]
#[ignore = "wide tier"]
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
#[ignore = "wide tier"]
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
#[ignore = "wide tier"]
fn a_stubborn_liar_is_blocked_once_for_a_failure_in_any_language() {
    let project = registered();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let model = ScriptedModel::start(vec![edit(&project, "bad\n", "Umbenannt. Alle Tests sind grün.")]);
    configure(&project, &model);
    codex(&project, "Benenne es um.");
    assert_eq!(model.asked().len(), 2, "one block, and then it may stop");
    daemon.interrupt();
}

#[test]
#[ignore = "wide tier"]
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

#[test]
#[ignore = "wide tier"]
fn work_that_goes_on_in_the_background_is_no_reason_to_go_on() {
    let project = registered();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let model = ScriptedModel::start(vec![
        Step { edit: None, says: Said::Command("sleep 600") },
        says("The job runs in the background. I will say whether the tests pass when it is over."),
    ]);
    configure(&project, &model);
    let shown = codex(&project, "Start the job.");
    let asked = model.asked();
    assert_eq!(asked.len(), 2, "the command and the message: {shown}");
    assert!(asked[1].contains("Process running"), "{}", asked[1]);
    let figures = figures(&project);
    assert_eq!((&figures["turns"], &figures["blocks"]), (&json!(1), &json!(0)), "{figures}");
    daemon.interrupt();
}

#[test]
#[ignore = "wide tier"]
fn of_two_projects_each_is_judged_by_its_own_checks() {
    let project = registered();
    let second = project.root().join("second");
    fs::create_dir(&second).expect("the root is ours");
    fs::write(second.join("proctor.toml"), SETTINGS).expect("the root is ours");
    fs::write(second.join("code.txt"), "good\n").expect("the root is ours");
    let place = second.to_str().expect("a text").to_owned();
    project.proctor(["run", "--project", &place]).success();
    let daemon = start_serving(&project);
    project.proctor(["service", "add", &place]).success();
    let break_second = || Some((second.join("code.txt"), "bad\n"));
    let model = ScriptedModel::start(vec![
        // The other project is red now, and this one is not.
        Step { edit: break_second(), says: Said::Message("All tests pass.") },
        says("All tests pass."),
        says("I see, they fail."),
    ]);
    configure(&project, &model);
    codex(&project, "Rename it.");
    assert_eq!(model.asked().len(), 1, "the truth about the project in which it works");
    project.proctor(["wait", "--fresh", "--project", &place]).failure();
    codex_in(&project, &second, "Do they pass?");
    let asked = model.asked();
    assert_eq!(asked.len(), 2, "a lie about the other one");
    assert!(asked[1].contains("your message says"), "{}", asked[1]);
    let claims_of = |place: &str| {
        let listed = project.proctor(["log", "--project", place]).success().stdout;
        listed.matches("claim refuted: ").count()
    };
    assert_eq!((claims_of(project.path().to_str().expect("a text")), claims_of(&place)), (0, 1));
    daemon.interrupt();
}

#[test]
#[ignore = "wide tier"]
fn a_task_whose_budget_is_spent_waits_for_a_person_and_lets_the_agent_stop() {
    let python = python_plain();
    let check = format!("[[check]]\nname = \"tests\"\ncommand = [{:?}, \"-m\", \"pytest\", \"-q\"]\n", python.to_string_lossy());
    let test = "def test_it():\n    assert \"good\" in open(\"code.txt\").read()\n";
    let project =
        Project::new().toml(&format!("{check}[tdd]\nmax_attempts = 2\n")).file("code.txt", "good\n").file("test_it.py", test);
    project.proctor(["run"]).success();
    project.proctor(["tdd", "start", "--phase", "GREEN"]).success();
    for (text, exit) in [("bad\n", 1), ("worse\n", 3)] {
        project.save("code.txt", text);
        project.proctor(["run"]).status(exit);
    }
    let daemon = start_serving(&project);
    let model = ScriptedModel::start(vec![says("All tests pass."), edit(&project, "good again\n", "All tests pass.")]);
    configure(&project, &model);
    let shown = codex(&project, "Mend it.");
    assert_eq!(model.asked().len(), 2, "the lie is blocked; then only a person can go on: {shown}");
    let figures = figures(&project);
    assert_eq!((&figures["blocks"], &figures["refutedClaims"]), (&json!(1), &json!(1)), "{figures}");
    let status = project.proctor(["status", "--json"]).success().json();
    assert_eq!(status["projects"][0]["tasks"][0]["state"], "needsHuman", "{status}");
    daemon.interrupt();
}

/// A check that goes on for ever while a file says so.
const ENDLESS: &str = "[[check]]\nname = \"tests\"\ncommand = [\"fake-tool\", \"--script\", '''if test -e ../shared/hang; then : > ../shared/started; exec sleep 600; fi''']\n\n[evidence]\nlink = \"\"\n";

fn endless(wait: &str) -> Project {
    let settings = format!("{WRITES_TO_SHARED}{ENDLESS}[watch]\nhook_wait = \"{wait}\"\n");
    let project = Project::new().toml(&settings).file("code.txt", "good\n");
    project.proctor(["run"]).success();
    fs::write(project.shared("hang"), "").expect("the directory is ours");
    project
}

#[test]
#[ignore = "wide tier"]
fn a_hook_whose_own_wait_is_over_lets_the_agent_stop() {
    let project = endless("1s");
    let daemon = start_serving(&project);
    let model = ScriptedModel::start(vec![edit(&project, "better\n", "All tests pass.")]);
    configure(&project, &model);
    codex(&project, "Rename it.");
    assert_eq!(model.asked().len(), 1, "what is not known blocks nothing");
    let figures = figures(&project);
    assert_eq!(
        (&figures["turns"], &figures["blocks"], &figures["refutedClaims"]),
        (&json!(1), &json!(0), &json!(0)),
        "{figures}"
    );
    daemon.interrupt();
}

#[test]
#[ignore = "wide tier"]
fn a_hook_that_the_agent_ends_leaves_no_run_behind() {
    let project = endless("40s");
    let model = ScriptedModel::start(vec![edit(&project, "better\n", "All tests pass.")]);
    configure(&project, &model);
    let hooks = project.root().join("home/.codex/hooks.json");
    let text = fs::read_to_string(&hooks).expect("it was made");
    assert!(text.contains("\"timeout\": 60"), "{text}");
    // A person may give a hook less time. No service runs, so the hook runs the checks.
    fs::write(&hooks, text.replace("\"timeout\": 60", "\"timeout\": 5")).expect("the home is ours");
    codex(&project, "Rename it.");
    assert_eq!(model.asked().len(), 1, "a hook that did not answer blocks nothing");
    assert!(project.shared("started").exists(), "the hook ran the checks");
    poll(CONVERSATION, "the end of the run", || {
        let task = project.proctor(["status", "--json"]).success().json()["projects"][0]["tasks"][0]["state"].clone();
        if task == "running" { Err(task.to_string()) } else { Ok(()) }
    });
}
