//! Tests services: prerequisites that keep running during the checks, are ready before the checks start, and end with
//! the run.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Project, free_port, poll, processes_of};
use crate::run::{check, cleanup, exists, prerequisite, result};

const LATE: Duration = Duration::from_secs(60);
const LONG: &str = "600000";

/// Settings that let actions make files in the project's directory `marks`. They must be the first lines of
/// `proctor.toml`.
const WRITES_MARKS: &str = "[sandbox]\nwritable = [\"marks\"]\n";

/// A project whose commands make files in the directory `marks`, which is ignored by the tree.
fn project(toml: &str) -> Project {
    let project = crate::run::project(toml).file(".gitignore", "/marks\n");
    fs::create_dir(project.path().join("marks")).expect("the project is ours");
    project
}

fn mark(project: &Project, name: &str) -> String {
    project.path().join("marks").join(name).to_string_lossy().into_owned()
}

/// A service that runs `fake-tool`. `ready` is the content of its `ready` setting.
fn service(name: &str, arguments: &[&str], ready: &str) -> String {
    prerequisite(name, arguments) + &format!("service = true\nready = {{ {ready} }}\n")
}

/// A service that listens on a port until it is stopped.
fn serving(port: &str) -> String {
    service("server", &["--serve", port, "--sleep", LONG], &format!("port = {port}"))
}

fn log(project: &Project, id: &str) -> String {
    let file = project.store().run_directory("default").join(format!("{id}-terminal-output.log"));
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("`{}`: {error}", file.display()))
}

#[track_caller]
fn code(report: &Value, id: &str) -> String {
    result(report, id)["classification"]["code"].as_str().expect("it was carried out").to_owned()
}

#[test]
fn the_checks_of_a_run_reach_a_service_that_is_ready_and_its_log_is_evidence() {
    let port = free_port();
    let looks = [
        format!("url = \"http://localhost:{port}/healthz\""),
        format!("port = {port}"),
        format!("command = [\"fake-tool\", \"--get\", \"{port}\", \"/by-command\"]"),
    ];
    for ready in looks {
        let server = ["--stdout", "starting\n", "--sleep", "100", "--serve", port.as_str(), "--sleep", LONG];
        let toml = service("server", &server, &ready) + &check("asks", &["--get", &port, "/a"]);
        let project = project(&toml);
        let output = project.proctor(["run"]).success();
        assert_eq!(processes_of(project.root()), [], "nothing is left of it");
        assert!(!output.stdout.contains("note:"), "{}", output.snapshot());
        let report = output.report();
        let server = result(&report, "PREREQ.1");
        assert_eq!((&server["status"], code(&report, "PREREQ.1").as_str()), (&"SUCCESS".into(), "SERVED"));
        assert!(server["result"]["readyAfter"].as_u64().is_some_and(|after| after >= 100), "{server:#}");
        assert_eq!(server["evidence"], "PREREQ.1-terminal-output.log");
        let log = log(&project, "PREREQ.1");
        assert!(log.starts_with("starting\n") && log.ends_with("GET /a\n"), "{log}");
        assert!(server["result"]["stdout"].as_str().is_some_and(|said| said.contains("GET /a")), "{server:#}");
        if ready.starts_with("port") {
            insta::assert_snapshot!(output.snapshot(), @r#"
        exit status: 0
        --- stdout
        proctor 0.1.0 · project · tree <digest>
          ✓ server               ready <time>
          ✓ asks                 done <time>
        PASSED · evidence/default/execution-report.json
        --- stderr
        registered `<project>` as <project-id>; its rules count as approved
        evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
        "#);
        }
    }
}

#[test]
fn a_real_server_is_waited_for() {
    let port = free_port();
    let toml = format!(
        "[[prerequisite]]\nname = \"files\"\ncommand = [\"python3\", \"-m\", \"http.server\", \"--bind\", \"127.0.0.1\", \"{port}\"]\n\
         service = true\nready.url = \"http://127.0.0.1:{port}/hello.txt\"\n"
    );
    let project = project(&(toml + &check("asks", &["--get", &port, "/hello.txt"]))).file("hello.txt", "hello from a file\n");
    project.proctor(["run"]).success();
    assert!(log(&project, "STEP.1").ends_with("hello from a file\n"), "{}", log(&project, "STEP.1"));
    assert!(log(&project, "PREREQ.1").contains("GET /hello.txt HTTP/1.1\" 200"), "{}", log(&project, "PREREQ.1"));
}

#[test]
#[ignore = "long tier"]
fn one_that_is_never_ready_fails_the_run_and_says_what_was_seen_last() {
    let port = free_port();
    for (ready, seen) in [
        (format!("port = {port}"), format!("127.0.0.1:{port}: nobody listens")),
        (format!("url = \"http://127.0.0.1:{port}/missing\""), "answered with status 404".to_owned()),
        (
            "command = [\"fake-tool\", \"--stderr\", \"not yet\\n\", \"--exit\", \"4\"]".to_owned(),
            "exit status 4: not yet".to_owned(),
        ),
        (
            format!("command = [\"fake-tool\", \"--sleep\", \"{LONG}\"], attempt_timeout = \"50ms\""),
            "hit the limit of one look".to_owned(),
        ),
    ] {
        let serves = if ready.starts_with("url") { vec!["--serve", port.as_str()] } else { Vec::new() };
        let server = [&serves[..], &["--sleep", LONG]].concat();
        let toml = service("server", &server, &format!("{ready}, timeout = \"400ms\"")) + &check("never", &[]);
        let project = project(&toml);
        let output = project.proctor(["run"]).failure();
        assert_eq!(processes_of(project.root()), []);
        let report = output.report();
        assert_eq!(result(&report, "PREREQ.1")["status"], "PREREQUISITE_FAILURE");
        assert_eq!(code(&report, "PREREQ.1"), "SERVICE_NOT_READY");
        let reason = result(&report, "PREREQ.1")["classification"]["reason"].as_str().unwrap();
        assert!(reason.contains("not ready after 0.4 s") && reason.contains(&seen), "{reason}");
        assert_eq!(result(&report, "STEP.1")["skipReason"], "prerequisite-failed");
        assert_eq!(report["executionSummary"]["overallStatus"], "FAILED");
    }
}

#[test]
fn one_that_ends_before_it_is_ready_fails_the_run_whatever_its_exit_code() {
    for exit in ["0", "3"] {
        let server = ["--stderr", "no database\n", "--exit", exit];
        let toml = service("server", &server, &format!("port = {}", free_port())) + &check("never", &[]);
        let project = project(&toml);
        let output = project.proctor(["run"]).failure();
        let report = output.report();
        assert_eq!(result(&report, "PREREQ.1")["status"], "PREREQUISITE_FAILURE");
        assert_eq!(
            result(&report, "PREREQ.1")["classification"]["reason"],
            format!("The service ended by itself before it was ready: exit status {exit}; the last it said: no database")
        );
        assert_eq!(result(&report, "STEP.1")["skipReason"], "prerequisite-failed");
        if exit == "3" {
            insta::assert_snapshot!(output.snapshot(), @r#"
        exit status: 1
        --- stdout
        proctor 0.1.0 · project · tree <digest>
          ✗ server               ended with exit 3 <time>
               The service ended by itself before it was ready: exit status 3; the last it said: no database
               │ no database
               all of its output: `proctor show --log server`
          - never                skipped: a prerequisite failed
        FAILED · server failed · evidence/default/execution-report.json
        --- stderr
        registered `<project>` as <project-id>; its rules count as approved
        evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
        "#);
        }
    }
}

#[test]
fn one_that_dies_while_a_check_runs_ends_the_run_and_the_clean_up_is_done() {
    let port = free_port();
    let project = project("");
    let cleaned = mark(&project, "cleaned");
    let toml = WRITES_MARKS.to_owned()
        + &serving(&port)
        + &check("crashes it", &["--get", &port, "/crash", "--sleep", LONG])
        + &check("next", &[])
        + &cleanup("tidy up", &["--touch", &cleaned]);
    project.save("proctor.toml", &toml);
    let output = project.proctor(["run"]).failure();
    assert_eq!(processes_of(project.root()), []);
    assert!(exists(&cleaned), "clean-up always runs");
    insta::assert_snapshot!(output.snapshot(), @r#"
        exit status: 1
        --- stdout
        proctor 0.1.0 · project · tree <digest>
          ✓ server               ready <time>
          - crashes it           stopped <time>
          - next                 skipped: a prerequisite failed
          ✗ server               ended with exit 3 <time>
               The service ended by itself while it was needed: exit status 3; the last it said: out of memory
               │ out of memory
               all of its output: `proctor show --log server`
          ✓ tidy up              done <time>
        FAILED · server and crashes it failed · evidence/default/execution-report.json
        --- stderr
        registered `<project>` as <project-id>; its rules count as approved
        evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
        "#);
    let report = output.report();
    assert_eq!(result(&report, "PREREQ.1")["status"], "PREREQUISITE_FAILURE");
    assert_eq!(
        result(&report, "PREREQ.1")["classification"]["reason"],
        "The service ended by itself while it was needed: exit status 3; the last it said: out of memory"
    );
    assert_eq!(code(&report, "STEP.1"), "STOPPED");
    assert_eq!(result(&report, "STEP.2")["skipReason"], "prerequisite-failed");
    assert_eq!(result(&report, "PREREQ.1")["impact"]["subsequentStepsSkipped"], 1);
    assert_eq!(report["executionSummary"]["overallStatus"], "FAILED");
    assert!(report["route"].is_null());
}

#[test]
fn a_check_that_passes_while_its_service_dies_is_no_verdict_in_its_favour() {
    let port = free_port();
    let project = project(&(serving(&port) + &check("crashes it", &["--get", &port, "/crash"])));
    for _ in 0..5 {
        let report = project.proctor(["run"]).failure().report();
        assert_eq!(code(&report, "PREREQ.1"), "SERVICE_ENDED");
        assert_eq!(result(&report, "PREREQ.1")["status"], "PREREQUISITE_FAILURE");
    }
}

#[test]
fn a_port_that_somebody_holds_is_no_ready_service_and_the_holder_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let own = format!("(pid {}, user ", std::process::id());
    for ready in [format!("port = {port}"), format!("url = \"http://localhost:{port}/\"")] {
        let project = project("");
        let started = mark(&project, "started");
        let server = ["--touch", started.as_str(), "--sleep", LONG];
        project.save("proctor.toml", &(WRITES_MARKS.to_owned() + &service("server", &server, &ready) + &check("never", &[])));
        let report = project.proctor(["run"]).failure().report();
        assert_eq!(result(&report, "PREREQ.1")["status"], "PREREQUISITE_FAILURE");
        assert_eq!(code(&report, "PREREQ.1"), "PORT_HELD");
        let reason = result(&report, "PREREQ.1")["classification"]["reason"].as_str().unwrap();
        assert!(reason.starts_with(&format!("Port {port} is held by `")) && reason.contains(&own), "{reason}");
        assert_eq!(result(&report, "STEP.1")["skipReason"], "prerequisite-failed");
        assert!(!exists(&started), "it was not even started");
    }
    let ready = "command = [\"fake-tool\", \"--exit\", \"1\"]";
    let server = ["--serve", port.as_str(), "--sleep", LONG];
    let project = project(&(service("server", &server, ready) + &check("never", &[])));
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(code(&report, "PREREQ.1"), "SERVICE_ENDED");
    let reason = result(&report, "PREREQ.1")["classification"]["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("port {port} is held by `")) && reason.contains(&own), "the log says which port: {reason}");
}

#[test]
fn what_a_service_writes_to_the_temporary_directory_the_checks_see() {
    let (port, name) = (free_port(), format!("/tmp/proctor-test-service-{}", std::process::id()));
    let server = ["--write", name.as_str(), "from the service\n", "--serve", &port, "--sleep", LONG];
    let project = project(&(service("server", &server, &format!("port = {port}")) + &check("reads", &["--cat", &name])));
    let output = project.proctor(["run"]).success();
    assert_eq!(log(&project, "STEP.1"), "from the service\n");
    let is_private = output.report()["isolation"]["level"] == "namespace";
    // Without a namespace the actions use the machine's `/tmp`, and the file that the service wrote stays there.
    assert!(!is_private || !exists(&name));
    let _shared_then = fs::remove_file(&name);
}

#[test]
fn one_slot_is_enough_for_services_and_checks() {
    let (first, second) = (free_port(), free_port());
    let by_command = format!("command = [\"fake-tool\", \"--get\", \"{second}\", \"/\"]");
    let toml = serving(&first)
        + &service("second", &["--get", &first, "/", "--serve", &second, "--sleep", LONG], &by_command)
        + &prerequisite("fills it", &["--get", &second, "/fill"])
        + &check("asks", &["--get", &second, "/"])
        + "[queue]\nmax_parallel = 1\nwait = \"0s\"\n";
    let project = project(&toml);
    let report = project.proctor(["run"]).success().report();
    let ids: Vec<_> = report["prerequisiteExecution"]["results"].as_array().unwrap().iter().map(|one| &one["actionId"]).collect();
    assert_eq!(ids, ["PREREQ.1", "PREREQ.2", "PREREQ.3"], "each stands where it was written");
    let again = project.proctor(["run"]).success().report();
    assert_eq!(code(&again, "PREREQ.1"), "SERVED", "it is started for every run");
    assert_eq!(result(&again, "PREREQ.3")["skipReason"], "unchanged");
}

#[test]
fn one_that_does_not_end_when_it_is_asked_is_killed_and_that_is_noted() {
    let port = free_port();
    let server = ["--ignore-term", "--serve", &port, "--fork-sleep", LONG, "--sleep", LONG];
    let toml = service("server", &server, &format!("port = {port}")) + "grace = \"200ms\"\n" + &check("a", &[]);
    let project = project(&toml);
    let report = project.proctor(["run"]).success().report();
    assert_eq!(processes_of(project.root()), []);
    let server = result(&report, "PREREQ.1");
    assert_eq!((&server["status"], &server["result"]["signal"]), (&"SUCCESS".into(), &"SIGKILL".into()));
    assert_eq!(server["result"]["warnings"][0], "it did not end within its `grace` (0.2 s) and was killed");
}

#[test]
fn nothing_of_a_service_is_left_when_the_run_is_interrupted_or_killed() {
    let ends = [
        (Signal::SIGINT, 130, "auto"),
        (Signal::SIGTERM, 143, "auto"),
        (Signal::SIGKILL, 137, "auto"),
        (Signal::SIGKILL, 137, "off"),
    ];
    for (signal, status, mode) in ends {
        let port = free_port();
        let toml = format!("{WRITES_MARKS}mode = \"{mode}\"\n") + &serving(&port);
        let project = project("");
        let running = mark(&project, "running");
        project.save("proctor.toml", &(toml + &check("slow", &["--touch", &running, "--sleep", LONG])));
        let mut run = project.proctor(["run"]).watch();
        run.wait_for_file("the check to run", LATE, &running);
        run.signal(signal);
        let output = run.ended();
        assert_eq!(output.status, status, "{}", output.snapshot());
        let left = || processes_of(project.root());
        poll(LATE, "the end of the service", || if left().is_empty() { Ok(()) } else { Err(format!("{:?}", left())) });
        // After a process is gone from `/proc`, the kernel may still need a moment to close its listening socket.
        poll(LATE, "its port to be free again", || TcpListener::bind(format!("127.0.0.1:{port}")));
        if signal != Signal::SIGKILL {
            let last = project.store().committed_runs().pop().unwrap();
            assert_eq!(last["overallStatus"], "INTERRUPTED");
        }
    }
}

#[test]
fn an_interruption_while_it_starts_is_heeded_at_once() {
    let project = project("");
    let started = mark(&project, "started");
    let server = ["--touch", started.as_str(), "--sleep", LONG];
    let ready = format!("port = {}, timeout = \"10m\", interval = \"1m\"", free_port());
    project.save("proctor.toml", &(WRITES_MARKS.to_owned() + &service("server", &server, &ready) + &check("never", &[])));
    let mut run = project.proctor(["run"]).watch();
    run.wait_for_file("the service to start", LATE, &started);
    run.signal(Signal::SIGINT);
    let output = run.ended();
    assert_eq!(output.status, 130, "{}", output.snapshot());
    assert_eq!(processes_of(project.root()), []);
}

#[test]
fn a_save_stops_the_checks_and_the_service_and_starts_both_anew() {
    let port = free_port();
    let project = project("");
    let hold = mark(&project, "hold");
    let script = format!("#!/bin/sh\nfake-tool --get {port} / || exit 1\necho asked\nwhile [ -e {hold} ]; do sleep 0.01; done\n");
    fs::write(&hold, "").unwrap();
    let project = project.executable("asks", &script);
    project.save(
        "proctor.toml",
        &(WRITES_MARKS.to_owned() + &serving(&port) + "[[check]]\nname = \"asks\"\ncommand = [\"./asks\"]\n"),
    );
    let mut watch = project.watch(["."; 0]);
    watch.wait_for_line("the service", LATE, |line| line.contains("✓ ") && line.contains("ready"));
    project.save("new.txt", "");
    watch.wait_for_line("the notice", LATE, |line| line.starts_with("new.txt was saved: stopping the checks"));
    watch.wait_for_line("the service again", LATE, |line| line.contains("✓ ") && line.contains("ready"));
    fs::remove_file(&hold).unwrap();
    watch.wait_for_line("the verdict", LATE, |line| line.starts_with("PASSED"));
    watch.interrupt();
    assert_eq!(processes_of(project.root()), []);
}
