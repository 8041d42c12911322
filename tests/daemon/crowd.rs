//! Tests many connections at once: connections that send nothing are closed and delay nobody, and every waiting client
//! is answered.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::Value;

use super::{LATE, ask, project, project_id, settings, socket, start, start_serving};
use crate::common::{Project, WRITES_TO_SHARED, poll};

/// How many connections of each kind are opened that send no whole request.
const EACH: usize = 96;
/// How many clients wait at the same time.
const WAITING: usize = 1000;

fn begun(project: &Project, text: &str) -> UnixStream {
    let mut stream = UnixStream::connect(socket(project)).expect("the service listens");
    stream.write_all(text.as_bytes()).expect("it is written");
    stream.set_read_timeout(Some(LATE)).expect("a bound");
    stream
}

/// Returns what the service sends until it closes the connection.
#[track_caller]
fn rest_of(mut stream: UnixStream) -> String {
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("it was not closed: {error}"),
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
#[ignore = "long tier"]
fn connections_without_a_request_delay_nobody_and_are_closed() {
    let project = project("true");
    let daemon = start(&project);
    let kinds = [
        "",
        "GET /v1/status HTTP/1.1\r\nhost:",
        "POST /v1/projects HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{",
        "GET /v1/projects HTTP/1.1\r\nhost: x\r\n\r\n",
    ];
    let open: Vec<(usize, UnixStream)> =
        (0..EACH).flat_map(|_| (0..kinds.len()).map(|kind| (kind, begun(&project, kinds[kind])))).collect();
    assert!(open.len() > 256);
    // All these connections are still open. A complete request must be answered nevertheless.
    assert_eq!(ask(&project, "GET /v1/projects", "").0, 200);
    for (kind, stream) in open {
        let answer = rest_of(stream);
        match kind {
            2 => assert!(answer.contains("408") && answer.contains("tooSlow"), "{answer}"),
            3 => assert!(answer.starts_with("HTTP/1.1 200"), "{answer}"),
            _ => assert!(!answer.contains(" 200 "), "{kind}: {answer}"),
        }
    }
    daemon.interrupt();
}

#[test]
fn a_thousand_waiting_clients_are_answered_and_cost_no_threads() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("our limit");
    let needed = u64::try_from(WAITING).expect("a small number") * 2 + 512;
    assert!(hard >= needed, "the hard limit on open files is {hard}");
    let gate = "ulimit -Sn >../shared/limit; until test -e ../shared/gate; do sleep 0.05; done";
    let project = Project::new().toml(&(WRITES_TO_SHARED.to_owned() + &settings(gate))).file("a.txt", "one\n");
    let daemon = start_serving(&project);
    let id = project_id(&project);
    let limit = || fs::read_to_string(project.shared("limit")).ok().filter(|text| text.ends_with('\n'));
    let limit = poll(LATE, "the check to run", limit);
    // Only this test's own limit on open files is raised, after the service was started with the usual limit.
    setrlimit(Resource::RLIMIT_NOFILE, needed.max(soft), hard).expect("it may be raised");
    let threads = || fs::read_dir(format!("/proc/{}/task", daemon.id())).expect("it lives").count();
    let before = threads();
    let request =
        format!("GET /v1/projects/{id}/verdict?wait=fresh&timeout=10m HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let waiting: Vec<UnixStream> = (0..WAITING).map(|_| begun(&project, &request)).collect();
    assert_eq!(ask(&project, "GET /v1/projects", "").0, 200, "a new client is answered beside them");
    assert!(threads() <= before + 2, "{before} threads became {}", threads());
    fs::write(project.shared("gate"), "").expect("the directory is ours");
    for stream in waiting {
        let answer = rest_of(stream);
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        let answered: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
        let state = (answered["inTime"].as_str(), answered["project"]["tasks"][0]["state"].as_str());
        assert_eq!(state, (Some("answered"), Some("fresh")), "{answered}");
    }
    assert_eq!(limit.trim(), soft.to_string(), "checks keep the limit that proctor was started with");
    daemon.interrupt();
}
