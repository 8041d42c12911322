//! Tests of a project with a file that something writes all the time, and of waits that outlive the service or meet one that hangs.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::{LATE, project, settings, start, start_serving};
use crate::common::{Project, WRITES_TO_SHARED, poll};

/// How often the log of the project is written.
const PERIOD: Duration = Duration::from_millis(50);

/// Appends to a file of the project again and again until `is_over`.
fn write_all_the_time(project: &Project, name: &str, is_over: &AtomicBool) {
    let path = project.path().join(name);
    while !is_over.load(Ordering::Relaxed) {
        let mut file = OpenOptions::new().append(true).create(true).open(&path).expect("the project is ours");
        file.write_all(b"line\n").expect("the project is ours");
        drop(file);
        // The writer is what is tested; nothing waits for this pause.
        thread::sleep(PERIOD);
    }
}

#[test]
#[ignore = "long tier"]
fn a_file_that_is_always_written_is_named_and_runs_come_at_growing_distances() {
    let project = project("sleep 0.2; grep -q one a.txt");
    let mut daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| write_all_the_time(&project, "dev.log", &is_over));
        let named = poll(LATE, "the file to be named", || {
            let status = project.proctor(["status"]).any_status();
            if status.stdout.contains("dev.log changes all the time") { Ok(status) } else { Err(status.snapshot()) }
        });
        assert!(named.stdout.contains("ignore = [\"/dev.log\"]"), "{}", named.snapshot());
        let waited = project.proctor(["wait", "--fresh", "--timeout", "2s"]).status(5);
        assert!(waited.stdout.contains("dev.log changes all the time"), "{}", waited.snapshot());
        let before = project.store().committed_runs().len();
        assert!(before <= 30, "{before}");
        // A save of another file is judged at once: the pause is at least a second long by now, and grows.
        project.save("a.txt", "two\n");
        poll(LATE, "the verdict on the save", || {
            let runs = project.store().committed_runs();
            if runs.iter().any(|run| run["overallResult"] == "FAILED") { Ok(()) } else { Err(format!("{runs:#?}")) }
        });
        is_over.store(true, Ordering::Relaxed);
    });
    project.proctor(["wait", "--fresh"]).failure();
    poll(LATE, "the file to be named no more", || {
        let status = project.proctor(["status"]).any_status();
        if status.stdout.contains("dev.log") { Err(status.snapshot()) } else { Ok(()) }
    });
    let log = daemon.text();
    assert_eq!(log.matches("dev.log changes all the time").count(), 1, "{log}");
    daemon.interrupt();
}

#[test]
fn a_wait_outlives_the_service_that_it_asked() {
    let gate = "until test -e ../shared/gate; do sleep 0.05; done";
    let project = Project::new().toml(&(WRITES_TO_SHARED.to_owned() + &settings(gate))).file("a.txt", "one\n");
    let running = || {
        let status = project.proctor(["status", "--json"]).any_status().json();
        if status["projects"][0]["tasks"][0]["state"] == "running" { Ok(()) } else { Err(status) }
    };
    let daemon = start_serving(&project);
    poll(LATE, "the run", running);
    let waiting = project.proctor(["wait", "--fresh", "--timeout", "60s"]).watch();
    let second_wait = project.proctor(["wait", "--fresh", "--timeout", "60s"]).watch();
    poll(LATE, "both to be connected", || {
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
        let path = super::socket(&project).display().to_string();
        let connected = sockets.lines().filter(|line| line.ends_with(&path)).count();
        if connected >= 3 { Ok(()) } else { Err(sockets) }
    });
    daemon.interrupt();
    let mut daemon = start(&project);
    poll(LATE, "the run of the next service", running);
    daemon.signal(Signal::SIGKILL);
    drop(daemon);
    let daemon = start(&project);
    std::fs::write(project.shared("gate"), "").expect("the directory is ours");
    for wait in [waiting, second_wait] {
        let ended = wait.ended();
        assert_eq!(ended.status, 0, "{}", ended.snapshot());
        assert!(!ended.stderr.contains("doing it here instead"), "{}", ended.snapshot());
    }
    daemon.interrupt();
}

#[test]
fn a_wait_for_a_service_that_hangs_ends_in_its_own_time_and_says_how_to_end_it() {
    let project = project("true");
    let mut daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    daemon.signal(Signal::SIGSTOP);
    let begun = Instant::now();
    let waited = project.proctor(["wait", "--fresh", "--timeout", "1s"]).any_status();
    let took = begun.elapsed();
    daemon.signal(Signal::SIGCONT);
    assert!(waited.stderr.contains(&format!("kill -CONT {}", daemon.id())), "{}", waited.snapshot());
    assert!(waited.stderr.contains(", which last did something "), "{}", waited.snapshot());
    // The rest of the time is that of the machine: without the bound it is ten seconds and more.
    assert!(took < Duration::from_secs(8), "{took:?}");
    daemon.interrupt();
}
