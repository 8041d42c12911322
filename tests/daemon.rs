//! `proctor service daemon`: it serves projects, answers commands and requests over the control socket, and is stopped, killed
//! and started again.

mod approvals;
mod busy;
mod callers;
mod crowd;
mod health;
mod history;
mod many;
mod protocol;
mod replaced;
mod serving;
mod specified;
mod stress;
mod tasks;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Project, Watch};

/// The time limit of every wait. A wait normally takes far less.
pub(crate) const LATE: Duration = Duration::from_secs(60);

/// Returns a project that has one file, a shell command as its only check, and no link to its evidence.
pub(crate) fn project(command: &str) -> Project {
    Project::new().toml(&settings(command)).file("a.txt", "one\n")
}

pub(crate) fn settings(command: &str) -> String {
    format!("[[check]]\nname = \"check\"\ncommand = [\"fake-tool\", \"--script\", '''{command}''']\n\n[evidence]\nlink = \"\"\n")
}

fn socket(project: &Project) -> PathBuf {
    project.root().join("runtime/proctor/control.sock")
}

/// Starts the service and waits until it listens.
#[track_caller]
fn start(project: &Project) -> Watch<'_> {
    let mut daemon = project.proctor(["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", LATE, |line| line.starts_with("listening on"));
    daemon
}

/// Starts the service with the project added.
#[track_caller]
pub(crate) fn start_serving(project: &Project) -> Watch<'_> {
    let daemon = start(project);
    project.proctor(["service", "add"]).success();
    daemon
}

/// Sends a request to the service as any HTTP client would, and returns the status code and the body of the answer.
#[track_caller]
fn ask(project: &Project, request: &str, body: &str) -> (u16, Value) {
    let mut stream = UnixStream::connect(socket(project)).expect("the service listens");
    stream.set_read_timeout(Some(LATE)).expect("a bound");
    let head = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).expect("the request is written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer is read");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
    let code = head.get(9..12).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no status: {head}"));
    (code, serde_json::from_str(body).unwrap_or_else(|error| panic!("no JSON: {error}: {answer}")))
}

#[track_caller]
fn project_id(project: &Project) -> String {
    let (code, projects) = ask(project, "GET /v1/projects", "");
    assert_eq!(code, 200);
    projects["projects"][0]["id"].as_str().expect("an id").to_owned()
}
