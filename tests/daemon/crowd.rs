//! Tests many connections at once: connections that send nothing are closed and delay nobody, and every waiting client
//! is answered.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use nix::sys::resource::{Resource, getrlimit};
use serde_json::Value;

use super::{LATE, ask, project, project_id, settings, socket, start, start_serving};
use crate::common::{Project, WRITES_TO_SHARED, poll};

/// How many connections of each kind are opened that send no whole request.
const EACH: usize = 6;
/// How many clients wait at the same time.
const WAITING: usize = 1000;
/// How many of them a process has.
const EACH_PROCESS: usize = 25;
/// The most connections of one process.
const SHARE: usize = 32;

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
fn one_process_has_no_more_than_its_share_of_the_connections() {
    let project = project("true");
    let daemon = start(&project);
    let idle: Vec<UnixStream> = (0..SHARE).map(|_| begun(&project, "")).collect();
    assert_eq!(rest_of(begun(&project, "GET /v1/projects HTTP/1.1\r\nhost: x\r\n\r\n")), "", "one more is closed at once");
    // Another process is answered beside them.
    project.proctor(["status", "--json"]).success();
    drop(idle);
    poll(LATE, "a place of this process", || begun(&project, "").write_all(b"GET").ok());
    daemon.interrupt();
}

/// Opens connections from several processes, sends a request on each, says so, and writes each answer to a file of its own.
const CROWD: &str = "
import os, socket, sys
path, request, out, processes, each = sys.argv[1], sys.argv[2].encode(), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
said, says = os.pipe()
for number in range(processes):
    if os.fork() == 0:
        waiting = []
        for _ in range(each):
            one = socket.socket(socket.AF_UNIX)
            one.connect(path)
            one.sendall(request)
            waiting.append(one)
        os.write(says, b'.')
        for place, one in enumerate(waiting):
            answer = b''
            while piece := one.recv(65536):
                answer += piece
            with open(f'{out}/{number}-{place}', 'wb') as file:
                file.write(answer)
        os._exit(0)
for _ in range(processes):
    assert os.read(said, 1)
print('open', flush=True)
for _ in range(processes):
    assert os.wait()[1] == 0
";

#[test]
fn a_thousand_waiting_clients_are_answered_and_cost_no_threads() {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).expect("our limit");
    let gate = "ulimit -Sn >../shared/limit; until test -e ../shared/gate; do sleep 0.05; done";
    let project = Project::new().toml(&(WRITES_TO_SHARED.to_owned() + &settings(gate))).file("a.txt", "one\n");
    let daemon = start_serving(&project);
    let id = project_id(&project);
    let limit = || fs::read_to_string(project.shared("limit")).ok().filter(|text| text.ends_with('\n'));
    let limit = poll(LATE, "the check to run", limit);
    let threads = || fs::read_dir(format!("/proc/{}/task", daemon.id())).expect("it lives").count();
    let before = threads();
    let request =
        format!("GET /v1/projects/{id}/verdict?wait=fresh&timeout=10m HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let answers = project.root().join("answers");
    fs::create_dir(&answers).expect("the root is ours");
    let text = |path: &std::path::Path| path.to_str().expect("a temporary path is text").to_owned();
    let mut crowd = Command::new("python3")
        .args(["-c", CROWD, &text(&socket(&project)), &request, &text(&answers)])
        .args([(WAITING / EACH_PROCESS).to_string(), EACH_PROCESS.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python is there");
    let mut said = String::new();
    BufReader::new(crowd.stdout.take().expect("it is piped")).read_line(&mut said).expect("it is text");
    assert_eq!(said, "open\n");
    assert_eq!(ask(&project, "GET /v1/projects", "").0, 200, "a new client is answered beside them");
    assert!(threads() <= before + 2, "{before} threads became {}", threads());
    fs::write(project.shared("gate"), "").expect("the directory is ours");
    assert!(crowd.wait().expect("it is ours").success());
    let mut answered = 0;
    for file in fs::read_dir(&answers).expect("it is ours").flatten() {
        let answer = fs::read_to_string(file.path()).expect("it is text");
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        let said: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
        let state = (said["inTime"].as_str(), said["project"]["tasks"][0]["state"].as_str());
        assert_eq!(state, (Some("answered"), Some("fresh")), "{said}");
        answered += 1;
    }
    assert_eq!(answered, WAITING);
    assert_eq!(limit.trim(), soft.to_string(), "checks keep the limit that proctor was started with");
    daemon.interrupt();
}
