//! Tests a watch during many saves at once, after lost events, and while git changes the tree.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use crate::watch_cli::{
    LATE, lines_of, project, report_of, status_of, steps, wait_for_verdict_on_the_tree, wait_until_it_watches,
};

#[test]
fn a_thousand_files_at_once_give_one_or_two_runs_and_the_last_is_after_the_last_write() {
    // On a busy machine there may be long pauses between two writes, so the quiet time is long too.
    let project = project("[watch]\nquiet = \"300ms\"\nlongest_burst = \"30s\"\n");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    fs::create_dir(project.path().join("d")).expect("the directory is ours");
    for number in 0..1_000 {
        project.save(&format!("d/f{number}"), "x");
    }
    wait_for_verdict_on_the_tree(&project, &mut watch);
    let (begun, superseded) = (steps(&project).len() - 1, lines_of(&project, "superseded").len());
    assert!((1..=2).contains(&begun) && superseded <= 1, "{begun} runs, {superseded} superseded\n{}", watch.text());
    watch.interrupt();
}

#[test]
fn saves_of_an_editor_that_writes_beside_and_renames_lead_to_one_run_each() {
    let project = project("");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    for round in 0..5 {
        project.save("state.txt.tmp.1234", &format!("ok {round}\n"));
        fs::rename(project.path().join("state.txt.tmp.1234"), project.path().join("state.txt")).expect("it is ours");
        assert_eq!(status_of(&wait_for_verdict_on_the_tree(&project, &mut watch)), "SUCCESS");
        wait_until_it_watches(&mut watch);
    }
    let superseded = lines_of(&project, "superseded").len();
    assert_eq!(project.store().committed_runs().len(), 6, "{superseded} superseded\n{}", watch.text());
    watch.interrupt();
}

#[test]
#[ignore = "long tier"]
fn events_that_the_kernel_lost_are_made_up_for_and_the_next_report_says_so() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap_or_default();
    // A file that is made, written and closed causes four events.
    let files = match limit.trim().parse::<usize>() {
        Ok(limit) if limit <= 65_536 => limit / 4 + 500,
        Ok(_) | Err(_) => return,
    };
    let project = project("");
    fs::create_dir(project.path().join("d")).expect("the directory is ours");
    project.save("d/first", "x");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    watch.signal(Signal::SIGSTOP);
    for number in 0..files {
        project.save(&format!("d/f{number}"), "");
        fs::write(project.path().join(format!("d/f{number}")), "x").expect("the directory is ours");
    }
    watch.signal(Signal::SIGCONT);
    watch.wait_for_line("the notice", LATE, |line| line.starts_with("file events were lost"));
    let verdict = wait_for_verdict_on_the_tree(&project, &mut watch);
    let said = report_of(&project, &verdict)["lostEvents"].clone();
    assert!(said.as_array().is_some_and(|reasons| !reasons.is_empty()), "{said}");
    wait_until_it_watches(&mut watch);
    project.save("state.txt", "ok again\n");
    let verdict = wait_for_verdict_on_the_tree(&project, &mut watch);
    let said = report_of(&project, &verdict)["lostEvents"].clone();
    assert!(said.as_array().is_none_or(Vec::is_empty), "said once: {said}");
    watch.interrupt();
}

#[test]
fn a_rebase_of_many_commits_is_waited_out() {
    let project = project("[watch]\ngit_wait = \"60s\"\n");
    if !git(&project.path(), &["init", "-q", "-b", "main"]) {
        return;
    }
    let commit = |name: &str, text: &str| {
        project.save(name, text);
        git(&project.path(), &["add", "-A"]) && git(&project.path(), &["commit", "-q", "-m", name])
    };
    assert!(commit("base", "1"));
    assert!(git(&project.path(), &["checkout", "-q", "-b", "topic"]));
    assert!((0..50).all(|number| commit(&format!("t{number}"), "x")));
    assert!(git(&project.path(), &["checkout", "-q", "main"]));
    assert!(commit("more", "1"));
    assert!(git(&project.path(), &["checkout", "-q", "topic"]));
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    let before = steps(&project).len();
    assert!(git(&project.path(), &["rebase", "-q", "main"]));
    wait_for_verdict_on_the_tree(&project, &mut watch);
    // The watch may look at the tree between two git commands, before the first lock or after the last one.
    let begun = steps(&project).len() - before;
    assert!((1..=3).contains(&begun), "{begun} runs\n{}", watch.text());
    watch.interrupt();
}

#[test]
fn a_conflict_that_stays_is_tested_when_the_wait_is_over() {
    let project = project("[watch]\ngit_wait = \"200ms\"\n");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    fs::create_dir(project.path().join(".git")).expect("the directory is ours");
    fs::write(project.path().join(".git/MERGE_HEAD"), "").expect("the directory is ours");
    project.save("state.txt", "ok, half merged\n");
    watch.wait_for_line("the notice", LATE, |line| line.starts_with("a merge has been going on"));
    wait_for_verdict_on_the_tree(&project, &mut watch);
    watch.interrupt();
}

#[test]
fn a_lock_that_is_held_for_a_moment_is_waited_for() {
    let project = project("[watch]\ngit_wait = \"60s\"\n");
    fs::create_dir(project.path().join(".git")).expect("the directory is ours");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    let lock = project.path().join(".git/index.lock");
    fs::write(&lock, "").expect("the directory is ours");
    project.save("state.txt", "ok, later\n");
    crate::watch_cli::expect_no_further_run(&project);
    fs::remove_file(&lock).expect("it is ours");
    wait_for_verdict_on_the_tree(&project, &mut watch);
    watch.interrupt();
}

#[test]
fn what_was_saved_without_an_event_is_found_by_the_sweep() {
    let project = project("[watch]\nsweep = \"200ms\"\n").file("d/mapped", "1234");
    let mut watch = project.watch(["."]);
    wait_until_it_watches(&mut watch);
    let runs = project.store().committed_runs().len();
    // A write through a memory mapping causes no event before the mapping is closed.
    let script = "import mmap, os, sys\nf = os.open(sys.argv[1], os.O_RDWR)\nm = mmap.mmap(f, 0)\nm[0:4] = b'abcd'\n\
                  m.flush()\nsys.stdout.write('stored'); sys.stdout.flush()\nsys.stdin.read()\n";
    let mut mapping = Command::new("python3");
    mapping.args(["-c", script]).arg(project.path().join("d/mapped")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = mapping.spawn().expect("Python is there");
    let mut said = [0; 6];
    holder.stdout.take().expect("a pipe").read_exact(&mut said).expect("it says when it has stored");
    wait_for_verdict_on_the_tree(&project, &mut watch);
    assert!(project.store().committed_runs().len() > runs);
    drop(holder.stdin.take());
    assert!(holder.wait().is_ok_and(|status| status.success()));
    watch.interrupt();
}

fn git(directory: &Path, arguments: &[&str]) -> bool {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
    let output = Command::new("git").current_dir(directory).args(identity).args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}
