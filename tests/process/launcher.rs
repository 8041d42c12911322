//! When a launcher or a supervisor is killed, its commands die as well.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use proctor_model::{Access, ActionEnd, Place, Sandbox};
use proctor_sandbox::process::SuperviseError;

use super::{Bench, FAKE_TOOL, alive_with, read_pid, until};

#[test]
fn a_killed_launcher_is_a_lost_action_whose_processes_are_killed() {
    let mut bench = Bench::new();
    let (pid_file, ready) = (bench.text("pid"), bench.path("ready"));
    let launcher = bench.launcher.process_id().as_raw();
    let killer = thread::spawn({
        let ready = ready.clone();
        move || {
            until("the ready file", || ready.exists());
            kill(Pid::from_raw(launcher), Signal::SIGKILL).expect("killed");
        }
    });
    let ready = bench.text("ready");
    let ended = bench.run(&["--ignore-term", "--pid-file", &pid_file, "--touch", &ready, "--sleep", "60000"]);
    killer.join().expect("no panic");
    let ActionEnd::Lost { why } = &ended.end else { panic!("{ended:?}") };
    assert!(why.contains("signal: 9"), "{why}");
    until("the death of the tool", || alive_with(&pid_file).is_empty());
    assert!(bench.launcher.is_lost());
    let again = bench.try_run(Path::new(FAKE_TOOL), &["--exit", "0"]);
    assert!(matches!(again, Err(SuperviseError::LauncherGone)), "{again:?}");
}

#[test]
fn when_the_supervisor_is_killed_its_commands_die() {
    let bench = Bench::new();
    let (leader_file, grandchild_file) = (bench.text("leader"), bench.text("grandchild"));
    let mut supervisor = Command::new(FAKE_TOOL)
        .args(["__supervise", FAKE_TOOL, "--ignore-term", "--ignore-int", "--pid-file", &leader_file])
        .args(["--fork", "--ignore-term", "--ignore-int", "--pid-file", &grandchild_file, "--sleep", "60000", "--end"])
        .args(["--sleep", "60000"])
        .stdout(Stdio::null())
        .spawn()
        .expect("spawned");
    read_pid(Path::new(&leader_file));
    read_pid(Path::new(&grandchild_file));
    supervisor.kill().expect("killed");
    supervisor.wait().expect("reaped");
    until("the death of the leader", || alive_with(&leader_file).is_empty());
    until("the death of the grandchild", || alive_with(&grandchild_file).is_empty());
}

#[test]
fn a_directory_that_was_replaced_before_the_start_is_a_lost_action_and_no_failure() {
    let mut bench = Bench::new();
    let replaced = Place { path: bench.root.path().to_owned(), access: Access::Writable, identity: (0, 0) };
    bench.sandbox = Some(Sandbox { places: vec![replaced], ..Sandbox::default() });
    let ended = bench.run(&["--exit", "0"]);
    let ActionEnd::Lost { why } = &ended.end else { panic!("{ended:?}") };
    assert!(why.contains("a directory was replaced"), "{why}");
}

#[test]
fn dropping_the_launcher_ends_it() {
    let bench = Bench::new();
    let launcher = bench.launcher.process_id().as_raw();
    drop(bench);
    assert!(!Path::new(&format!("/proc/{launcher}")).exists());
}
