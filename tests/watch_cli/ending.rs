//! Tests how a watch ends, how much time and memory it uses while nothing happens, and two watches at the same time.

use std::fs;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use proctor_model::Digest;

use crate::common::{Project, expect_all_to_be_gone, family_of, own_memory_kib, poll, processes_of, stat_fields};
use crate::watch_cli::{LATE, hold, project, release, status_of, steps, tree_digest, wait_for_steps, wait_until_it_watches};

#[test]
fn signals_end_an_idle_watch_with_their_codes_and_leave_no_process() {
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let project = project("");
        let mut watch = project.watch(["."]);
        wait_until_it_watches(&mut watch);
        let family = family_of(watch.id());
        assert!(family.len() > 1, "the launcher is a child of the watch: {family:?}");
        watch.signal(signal);
        assert_eq!(watch.ended().status, status, "{signal}");
        expect_all_to_be_gone(&family);
    }
}

#[test]
fn signals_during_a_run_stop_it_seal_it_and_leave_no_process() {
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let project = project("");
        hold(&project);
        let mut watch = project.watch(["."]);
        wait_for_steps(&project, 1);
        let family = family_of(watch.id());
        assert!(family.len() > 2, "watch, launcher and check: {family:?}");
        watch.signal(signal);
        let ended = watch.ended();
        assert_eq!(ended.status, status, "{signal}: {}", ended.snapshot());
        assert!(ended.stdout.contains("INTERRUPTED · no verdict · "), "{}", ended.stdout);
        assert_eq!(project.store().committed_runs().iter().map(status_of).collect::<Vec<_>>(), ["INTERRUPTED"]);
        expect_all_to_be_gone(&family);
        release(&project);
        assert_eq!(project.proctor(["run"]).success().stderr, "", "there is nothing to recover");
    }
}

#[test]
fn a_second_signal_kills_what_does_not_want_to_end() {
    let script = "trap '' INT TERM\necho check >> \"../shared/steps\"\nwhile :; do sleep 0.05; done\n";
    let project = project("[defaults]\ngrace = \"10m\"\n").file("check.sh", script);
    let mut watch = project.watch(["."]);
    wait_for_steps(&project, 1);
    watch.signal(Signal::SIGINT);
    // Two signals that arrive at the same time count as one, so the second is sent until the watch has ended.
    let id = watch.id();
    let directory = std::path::PathBuf::from(format!("/proc/{id}"));
    let sender = thread::spawn(move || {
        while directory.exists() {
            thread::sleep(Duration::from_millis(100));
            let _gone = nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), Signal::SIGINT);
            if fs::read_to_string(directory.join("stat")).is_ok_and(|stat| stat.contains(") Z ")) {
                return;
            }
        }
    });
    assert_eq!(watch.ended().status, 130);
    sender.join().expect("it only sends");
    assert_eq!(processes_of(project.root()), []);
}

#[test]
fn a_command_can_be_watched_instead_of_the_projects_checks() {
    let project = project("");
    let directory = project.path();
    let mut watch = project
        .proctor(["watch"])
        .arguments([directory.as_os_str()])
        .arguments(["--", "/bin/sh", "other.sh"])
        .directory("../tmp");
    let mut watch = {
        project.save("other.sh", "echo other >> \"../shared/steps\"\ntest -e wanted\n");
        watch = watch.env("NO_COLOR", "1");
        watch.watch()
    };
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("FAILED · "));
    project.save("wanted", "");
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
    assert_eq!(steps(&project), ["other", "other"]);
    let shown = project.proctor(["show", "--json"]).success().json();
    assert_eq!(shown["stepExecution"]["results"].as_array().map(Vec::len), Some(1));
    watch.interrupt();
}

#[test]
fn two_watches_of_one_project_take_turns() {
    let project = project("");
    let mut one = project.watch(["."]);
    let mut other = project.watch(["."]);
    wait_until_it_watches(&mut one);
    wait_until_it_watches(&mut other);
    for round in 0..3 {
        project.save("state.txt", &format!("ok {round}\n"));
        let digest = tree_digest(&project);
        poll(LATE, "both verdicts", || {
            let runs = project.store().committed_runs();
            let count =
                runs.iter().filter(|run| run["treeDigest"] == digest.as_str() && run["overallResult"] == "PASSED").count();
            if count == 2 { Ok(()) } else { Err(format!("{count} verdicts\n{}\n{}", one.text(), other.text())) }
        });
    }
    assert_eq!((one.interrupt().status, other.interrupt().status), (130, 130));
    expect_a_whole_chain(&project);
    project.proctor(["run"]).success();
}

/// Checks sequence numbers and hashes of all lines of the ledger.
#[track_caller]
fn expect_a_whole_chain(project: &Project) {
    let id = project.store().project_ids().pop().expect("the project is registered");
    let path = project.root().join(format!("state/proctor/ledger/{id}.jsonl"));
    let text = fs::read_to_string(path).expect("the ledger is text");
    let mut previous = Digest::of(b"").to_string();
    for (number, line) in (1..).zip(text.lines()) {
        let parsed: serde_json::Value = serde_json::from_str(line).expect("each line is JSON");
        assert_eq!((&parsed["sequence"], &parsed["previous"]), (&number.into(), &previous.as_str().into()), "{line}");
        previous = Digest::of(line.as_bytes()).to_string();
    }
}

#[test]
#[ignore = "long tier"]
fn an_idle_watch_costs_nothing() {
    let project = project("");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    project.save("state.txt", "ok, better\n");
    watch.wait_for_line("a verdict", LATE, |line| line.starts_with("PASSED"));
    wait_until_it_watches(&mut watch);
    let ids = poll(LATE, "watch, launcher and the keeper that is parked for the next save", || {
        let ids = family_of(watch.id());
        if ids.len() == 3 { Ok(ids) } else { Err(format!("{ids:?}")) }
    });
    let all = |count: fn(i32) -> u64| ids.iter().map(|id| count(*id)).sum::<u64>();
    // The watch prints that it waits for changes a moment before its last thread sleeps, and threads without work end a moment
    // later. So the measurement begins only when no thread has run or ended for a second.
    let (ticks_before, wakes_before) = poll(LATE, "every thread to sleep", || {
        let before = (all(ticks), all(wakes));
        thread::sleep(Duration::from_secs(1));
        if before == (all(ticks), all(wakes)) { Ok(before) } else { Err("not yet asleep") }
    });
    thread::sleep(Duration::from_secs(3));
    let (spent, woken) = (all(ticks).abs_diff(ticks_before), all(wakes).abs_diff(wakes_before));
    let memory: Vec<_> = ids.iter().map(|id| own_memory_kib(*id)).collect();
    println!("idle for 3 s: {spent} ticks, {memory:?} KiB of their own (watch, launcher, parked keeper)");
    assert!(spent <= 1, "an idle watch used {spent} ticks in 3 s");
    assert_eq!(woken, 0, "nothing wakes up by itself");
    assert!(memory.iter().sum::<u64>() < 4 * 1024, "{memory:?}");
    watch.interrupt();
}

/// Returns the processor time a process has used, in ticks of a hundredth of a second.
fn ticks(id: i32) -> u64 {
    let fields = stat_fields(id).expect("it lives");
    fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime")
}

/// Returns how often the threads of a process have gone to sleep.
fn wakes(id: i32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{id}/task")).expect("it lives").flatten();
    let count = |thread: fs::DirEntry| {
        let status = fs::read_to_string(thread.path().join("status")).expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:").map(str::to_owned));
        line.and_then(|number| number.trim().parse::<u64>().ok()).expect("the kernel counts them")
    };
    threads.map(count).sum()
}
