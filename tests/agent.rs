//! Tests what an agent may do and what it may not do, by the lists of seed 004, and the task list that proctor writes.

mod everyday_edits;
mod restrictions;
mod specification_fixes;
mod task_list;

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Project, Watch};

/// The time limit of every wait. A wait normally takes far less.
const LATE: Duration = Duration::from_secs(60);

/// A project with a task list. Its check passes while `a.txt` contains `good`.
fn project() -> Project {
    let check = "[[check]]\nname = \"check\"\nshell = true\ncommand = '''grep -q good a.txt'''\n";
    let tasks = "\n[tasks]\nfile = \"tasks.md\"\n";
    Project::new().toml(&format!("{check}{tasks}")).file("a.txt", "good\n").file("tasks.md", "# Plan\n\nMy own words.\n")
}

fn list(project: &Project) -> String {
    std::fs::read_to_string(project.path().join("tasks.md")).expect("the list is there")
}

/// Replaces a text in the task list. Panics if the text is not there.
#[track_caller]
fn edit(project: &Project, from: &str, to: &str) {
    let text = list(project);
    assert!(text.contains(from), "{from:?} is not in {text}");
    // The file is replaced in one step, as most editors do: a reader could see a file that is written in place while it
    // is still empty.
    let beside = project.root().join("tasks.md.new");
    fs::write(&beside, text.replace(from, to))
        .and_then(|()| fs::rename(&beside, project.path().join("tasks.md")))
        .expect("it is ours");
}

/// Returns the violations of the task list that the ledger records: kind and subject of each.
fn violations(project: &Project) -> Vec<(String, String)> {
    let lines = project.store().ledger();
    let bodies = lines.iter().map(|line| &line["body"]).filter(|body| body["kind"] == "violation");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    bodies.map(|body| (text(&body["violation"]), text(&body["subject"]))).collect()
}

/// Starts the service with the project added, and returns the project's id.
#[track_caller]
fn serve(project: &Project) -> (Watch<'_>, String) {
    let mut daemon = project.proctor(["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
    project.proctor(["service", "add"]).success();
    let (code, projects) = ask(project, "GET /v1/projects", "");
    assert_eq!(code, 200);
    (daemon, projects["projects"][0]["id"].as_str().expect("an id").to_owned())
}

/// Sends a request to the service as any HTTP client would, and returns the status code and the body of the answer.
#[track_caller]
fn ask(project: &Project, request: &str, body: &str) -> (u16, Value) {
    let socket = project.root().join("runtime/proctor/control.sock");
    let mut stream = UnixStream::connect(socket).expect("the service listens");
    stream.set_read_timeout(Some(LATE)).expect("a bound");
    let head = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).expect("the request is written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer is read");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
    let code = head.get(9..12).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no status: {head}"));
    (code, serde_json::from_str(body).unwrap_or(Value::Null))
}
