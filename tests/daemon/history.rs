//! Tests the routes about past runs and tests, and that a client that connects again gets the events that it missed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;

use serde_json::Value;

use super::{LATE, ask, project_id, socket, start_serving};
use crate::common::Project;
use crate::history::{self, End};

/// Sends a request with one more header, and returns the answer's head and body.
fn ask_with(project: &Project, path: &str, header: &str) -> (String, Vec<u8>) {
    let mut stream = UnixStream::connect(socket(project)).expect("the service listens");
    stream.set_read_timeout(Some(LATE)).expect("a bound");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{header}\r\n\r\n").expect("written");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer in time");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    (String::from_utf8_lossy(&answer[..end]).into_owned(), answer[end + 4..].to_vec())
}

fn with_two_runs() -> Project {
    let project = history::project();
    history::run(&project, &[("one", "0.001", End::Passes), ("two", "", End::Passes)]);
    history::run(&project, &[("one", "0.001", End::Fails), ("two", "", End::Passes)]);
    project
}

#[test]
fn past_runs_and_tests_are_answered_as_the_commands_print_them() {
    let project = with_two_runs();
    let daemon = start_serving(&project);
    let id = project_id(&project);
    let get = |path: &str| -> Value {
        let (code, answer) = ask(&project, &format!("GET /v1/projects/{id}/{path}"), "");
        assert_eq!(code, 200, "{path}: {answer}");
        answer
    };
    let printed = |arguments: &[&str]| project.proctor(arguments).success().json();
    assert_eq!(get("runs?limit=20"), printed(&["log", "--json"]));
    assert_eq!(get("runs?failed=yes")["runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(get("compare?from=1&to=2"), printed(&["history", "diff", "1", "2", "--json"]));
    let tests = get("tests");
    assert_eq!(tests["tests"].as_array().map(Vec::len), Some(2), "{tests}");
    let key = tests["tests"][0]["key"].as_str().expect("a key").to_owned();
    assert_eq!(get(&format!("tests/{key}")), printed(&["history", &key, "--json"]));
    assert_eq!(get(&format!("runs?test={key}&failed=yes"))["runs"].as_array().map(Vec::len), Some(1));
    let details = get("runs/2");
    assert_eq!(details["run"]["failedTests"].as_array().map(Vec::len), Some(1), "{details}");
    let files: Vec<&str> = details["files"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(files.contains(&"execution-report.json") && files.contains(&"STEP.1-test-results.json"), "{files:?}");
    let report = get("runs/2/files/execution-report.json");
    assert_eq!(report, project.proctor(["show", "2", "--json"]).success().json());

    let path = format!("/v1/projects/{id}/runs/2/files/execution-report.json");
    let (head, whole) = ask_with(&project, &path, "x: y");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let (head, part) = ask_with(&project, &path, "range: bytes=2-11");
    assert!(head.starts_with("HTTP/1.1 206"), "{head}");
    assert!(head.to_lowercase().contains(&format!("content-range: bytes 2-11/{}", whole.len())), "{head}");
    assert_eq!(part, whole[2..12]);
    let (head, tail) = ask_with(&project, &path, "range: bytes=-5");
    assert_eq!((head.contains(" 206 "), tail.as_slice()), (true, &whole[whole.len() - 5..]));
    let (head, _) = ask_with(&project, &path, &format!("range: bytes={}-", whole.len()));
    assert!(head.starts_with("HTTP/1.1 416"), "{head}");

    // A test that is not there is not another one, whose name has the word.
    let name = tests["tests"][0]["id"].as_str().expect("an id");
    let tests_by_a_part = format!("tests/{}", &name[1..]);
    let wrong = [
        ("runs/99", 404, "notFound"),
        ("runs/../../x", 404, "notFound"),
        ("runs/2/files/run.json%2F..%2F..%2Fx", 404, "notFound"),
        ("runs/2/files/..", 404, "notFound"),
        ("runs/2/files/%zz", 404, "notFound"),
        ("tests/0000000000000000", 404, "notFound"),
        (&tests_by_a_part, 404, "notFound"),
        (&format!("runs?task=T9&test={key}"), 404, "notFound"),
        ("tests/%ff", 400, "badRequest"),
        ("runs?limit=20000", 400, "badRequest"),
        ("runs?limit=-1", 400, "badRequest"),
        ("runs?failed=maybe", 400, "badRequest"),
        ("runs?since=today", 400, "badRequest"),
        ("compare?from=1", 400, "badRequest"),
        ("compare?from=1&to=2&x=1", 400, "badRequest"),
    ];
    for (path, code, kind) in wrong {
        let (found, answer) = ask(&project, &format!("GET /v1/projects/{id}/{path}"), "");
        assert_eq!((found, answer["error"]["kind"].as_str()), (code, Some(kind)), "{path}: {answer}");
    }
    assert_eq!(ask(&project, "GET /v1/projects/nobody-00000000/runs", "").0, 404);
    daemon.interrupt();
}

#[test]
fn a_client_that_connects_again_is_sent_what_it_missed() {
    let project = with_two_runs();
    let daemon = start_serving(&project);
    let listen = |header: &str| {
        let mut stream = UnixStream::connect(socket(&project)).expect("the service listens");
        stream.set_read_timeout(Some(LATE)).expect("a bound");
        write!(stream, "GET /v1/events HTTP/1.1\r\nhost: x\r\n{header}\r\n").expect("written");
        BufReader::new(stream).lines().map(|line| line.expect("a line in time"))
    };
    let mut first = listen("");
    assert!(first.by_ref().any(|line| line.is_empty()), "the head ends");
    project.save("a.txt", "two\n");
    let started = first
        .by_ref()
        .skip_while(|line| !line.starts_with("event: runStarted"))
        .find_map(|line| line.strip_prefix("id: ").map(str::to_owned));
    let started = started.expect("the event has an id");
    assert!(first.by_ref().any(|line| line == "event: runFinished"));
    drop(first);
    let mut again = listen(&format!("last-event-id: {started}\r\n"));
    let next = again.by_ref().find(|line| line.starts_with("event: ")).expect("an event");
    assert_eq!(next, "event: actionStarted", "what came after the named event comes at once");
    assert!(again.by_ref().any(|line| line == "event: runFinished"));
    let mut foreign = listen("last-event-id: 1-1\r\n");
    assert_eq!(foreign.find(|line| line.starts_with("event: ")).as_deref(), Some("event: missed"));
    daemon.interrupt();
}
