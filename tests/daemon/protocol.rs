//! Tests the control socket as any program sees it, and the messages that the service sends to the service manager.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{LATE, ask, project, project_id, socket, start, start_serving};
use crate::common::poll;

#[test]
fn what_is_not_understood_is_an_error_with_a_kind_and_a_way_out() {
    let project = project("true");
    let daemon = start_serving(&project);
    let id = project_id(&project);
    let long = format!("{{\"root\": \"{}\"}}", "x".repeat(70 * 1024));
    let rows: &[(&str, &str, u16, &str)] = &[
        ("GET /v1/nothing", "", 404, "notFound"),
        ("GET /v2/status", "", 404, "notFound"),
        ("DELETE /v1/status", "", 405, "methodNotAllowed"),
        ("GET /v1/status?all=1", "", 400, "badRequest"),
        ("GET /v1/status", "{}", 400, "badRequest"),
        ("POST /v1/projects", "", 400, "badRequest"),
        ("POST /v1/projects", r#"{"root": "/", "rot": 1}"#, 400, "badRequest"),
        ("POST /v1/projects", r#"{"root": "relative"}"#, 400, "badRequest"),
        ("POST /v1/projects", &long, 413, "tooLarge"),
        ("GET /v1/projects/nobody/verdict", "", 404, "notFound"),
        ("GET /v1/projects/nobody-00000000/verdict", "", 404, "notFound"),
        ("DELETE /v1/projects/nobody-00000000", "", 404, "notFound"),
        (&format!("GET /v1/projects/{id}/verdict?wait=later"), "", 400, "badRequest"),
        (&format!("GET /v1/projects/{id}/verdict?timeout=2h"), "", 400, "badRequest"),
        (&format!("POST /v1/projects/{id}/runs"), r#"{"check": ["check"]}"#, 400, "badRequest"),
        (&format!("GET /v1/projects/{id}/phase?task=../x"), "", 400, "badRequest"),
        ("GET /v1/projects/nobody-00000000/phase", "", 404, "notFound"),
        (&format!("POST /v1/projects/{id}/phase"), r#"{"verb": "start", "task": "default"}"#, 400, "badRequest"),
        (&format!("POST /v1/projects/{id}/phase"), r#"{"verb": "reset", "task": "T2"}"#, 404, "notFound"),
        (&format!("POST /v1/projects/{id}/phase"), r#"{"verb": "phase", "task": "default", "phase": "RED"}"#, 409, "notNow"),
        (&format!("GET /v1/projects/{id}/heard"), "", 400, "badRequest"),
        (&format!("GET /v1/projects/{id}/heard?path=../a"), "", 400, "badRequest"),
        (&format!("GET /v1/projects/{id}/heard?path=a%2"), "", 400, "badRequest"),
        ("GET /v1/projects/nobody-00000000/heard?path=a", "", 404, "notFound"),
        (&format!("POST /v1/projects/{id}/requests"), r#"{"verb": "COMPLETE", "taskId": "default"}"#, 400, "badRequest"),
        (&format!("POST /v1/projects/{id}/runs"), r#"{"environment": []}"#, 409, "environmentDiffers"),
    ];
    for (request, body, code, kind) in rows {
        let (found, answer) = ask(&project, request, body);
        let error = &answer["error"];
        assert_eq!((found, error["kind"].as_str()), (*code, Some(*kind)), "{request}: {answer}");
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{request}: {answer}");
        assert!(error["hint"].as_str().is_some_and(|text| !text.is_empty()), "{request}: {answer}");
    }
    daemon.interrupt();
}

#[test]
fn the_socket_is_private_and_a_second_service_is_refused() {
    let project = project("true");
    let daemon = start(&project);
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o7777;
    assert_eq!((mode(&socket(&project)), mode(socket(&project).parent().expect("a directory"))), (0o600, 0o700));
    let second = project.proctor(["service", "daemon"]).status(2);
    assert!(second.stderr.contains(&format!("running already (process {})", daemon.id())), "{}", second.stderr);
    assert_eq!(ask(&project, "GET /v1/projects", "").0, 200, "the first one goes on");
    daemon.interrupt();
}

#[test]
fn events_tell_what_happens_as_it_happens_and_end_with_a_reason() {
    let project = project("true");
    let mut daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let mut stream = UnixStream::connect(socket(&project)).expect("the service listens");
    stream.set_read_timeout(Some(LATE)).expect("a bound");
    stream.write_all(b"GET /v1/events HTTP/1.1\r\nhost: x\r\n\r\n").expect("written");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line in time"));
    assert!(lines.by_ref().take_while(|line| !line.is_empty()).any(|line| line == "content-type: text/event-stream"));
    project.save("a.txt", "two\n");
    for name in ["changed", "runStarted", "actionStarted", "actionEnded", "runFinished"] {
        let wanted = format!("event: {name}");
        assert!(lines.by_ref().any(|line| line == wanted), "no {wanted}");
    }
    daemon.signal(Signal::SIGTERM);
    assert!(lines.by_ref().any(|line| line == "event: end"));
    assert!(lines.by_ref().any(|line| line.contains("\"reason\":\"stopping\"")));
    assert_eq!(daemon.ended().status, 0);
}

#[test]
fn events_tell_how_far_a_running_check_is_and_which_tests_have_ended() {
    let project = project(
        "echo 1..3; echo ok 1 - adds; echo not ok 2 - token=ghp_0123456789abcdefghijABCDEFGHIJ012345; test ! -e go-on || sleep 600",
    );
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let mut stream = UnixStream::connect(socket(&project)).expect("the service listens");
    stream.set_read_timeout(Some(LATE)).expect("a bound");
    stream.write_all(b"GET /v1/events HTTP/1.1\r\nhost: x\r\n\r\n").expect("written");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line in time"));
    assert!(lines.by_ref().any(|line| line.is_empty()), "the head ends");
    project.save("go-on", "yes\n");
    let mut data = |event: &str| {
        let data = lines
            .by_ref()
            .skip_while(|line| *line != format!("event: {event}"))
            .find_map(|line| line.strip_prefix("data: ").map(|data| serde_json::from_str::<Value>(data).expect("JSON")));
        data.unwrap_or_else(|| panic!("no {event}"))
    };
    let (started, progress) = (data("actionStarted"), data("actionProgress"));
    for key in ["project", "runId", "actionId", "name"] {
        assert_eq!(started[key], progress[key], "{key}");
    }
    assert_eq!(progress["progress"], json!({"expected": 3, "ended": 2, "files": 0, "percent": null}));
    assert_eq!(progress["ended"][0], json!({"name": "adds", "outcome": "passed"}));
    assert_eq!(progress["ended"][1]["outcome"], "failed");
    assert!(!progress["ended"].to_string().contains("ghp_0123"), "{progress}");
    daemon.interrupt();
}

#[test]
fn the_service_manager_is_told_what_goes_on() {
    let project = project("true");
    let path = project.root().join("notify");
    let listener = UnixDatagram::bind(&path).expect("a socket");
    listener.set_nonblocking(true).expect("it is ours");
    let mut said = Vec::new();
    let mut hear = |wanted: &str| {
        poll(LATE, wanted, || {
            let mut buffer = [0; 512];
            while let Ok(count) = listener.recv(&mut buffer) {
                said.push(String::from_utf8_lossy(&buffer[..count]).into_owned());
            }
            let heard = said.iter().position(|line| line.starts_with(wanted));
            heard.map(|position| said.drain(..=position).count()).ok_or_else(|| format!("{said:?}"))
        })
    };
    let mut daemon = project.proctor(["service", "daemon"]).env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "200000").watch();
    hear("READY=1");
    hear("STATUS=0 projects, 0 running");
    hear("WATCHDOG=1");
    hear("WATCHDOG=1");
    daemon.signal(Signal::SIGHUP);
    hear("RELOADING=1\nMONOTONIC_USEC=");
    hear("READY=1");
    // The process is stopped and continued, as after a hang. The service must still end in order.
    daemon.signal(Signal::SIGSTOP);
    daemon.signal(Signal::SIGCONT);
    daemon.signal(Signal::SIGTERM);
    hear("STOPPING=1");
    assert_eq!(daemon.ended().status, 0);
}

/// Runs the examples of docs/reference/control-socket.md against a running service.
#[test]
fn the_examples_of_the_page_are_answered() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: curl is not installed");
        return;
    }
    let commands = crate::docs::marked("curl").text;
    let project = project("true");
    let daemon = start_serving(&project);
    let shell = project.command(Path::new("/bin/sh"), ["-euc", commands.as_str()]).success();
    assert!(shell.stdout.contains("\"projects\":[") && shell.stdout.contains("\"inTime\":\"answered\""), "{}", shell.snapshot());
    assert!(shell.stdout.contains("\"outcome\":\"judged\""), "{}", shell.snapshot());
    assert!(!shell.stdout.contains("\"error\""), "{}", shell.snapshot());
    daemon.interrupt();
}
