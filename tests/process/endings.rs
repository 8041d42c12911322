//! Tests commands that end by themselves, and commands that cannot be started.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use proctor_model::{ActionEnd, SpawnFailure, StopReason, StopStage};
use proctor_sandbox::process::{ALL_REASONS, Sinks, supervise};

use super::{Bench, FAKE_TOOL, assert_nobody, read_pid, stdout_text};

#[test]
fn the_exit_code_comes_back_and_nothing_else_is_reported() {
    let mut bench = Bench::new();
    for code in [0, 1, 3, 255] {
        let ended = bench.run(&["--stdout", "out", "--stderr", "err", "--exit", &code.to_string()]);
        assert_eq!(ended.end, ActionEnd::Exited { code });
        assert_eq!((stdout_text(&ended).as_str(), ended.captured.stderr.head.as_slice()), ("out", b"err".as_slice()));
        assert_eq!((ended.survivors, ended.captured.pipes_left_open), (Vec::new(), false));
        assert!(ended.ended >= ended.started);
        assert!(ended.usage.expect("it ran").peak_memory_kib > 0);
    }
}

#[test]
fn a_signal_the_tool_sends_itself_is_a_signal() {
    let mut bench = Bench::new();
    assert_eq!(bench.run(&["--kill-self", "9"]).end, ActionEnd::Signalled { signal: 9 });
    assert_eq!(bench.run(&["--kill-self", "15"]).end, ActionEnd::Signalled { signal: 15 });
}

#[test]
fn what_cannot_be_started_is_told_apart() {
    let mut bench = Bench::new();
    let gone = bench.path("gone");
    let end = bench.run_program(&gone, &[]).end;
    assert!(matches!(end, ActionEnd::NotStarted(SpawnFailure::ProgramNotFound { .. })), "{end:?}");

    let plain = bench.path("plain");
    fs::write(&plain, "no program").expect("written");
    let end = bench.run_program(&plain, &[]).end;
    assert!(matches!(end, ActionEnd::NotStarted(SpawnFailure::NotExecutable { .. })), "{end:?}");

    let script = bench.path("script");
    fs::write(&script, "#!/gone/python3\n").expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("set");
    let end = bench.run_program(&script, &[]).end;
    let ActionEnd::NotStarted(SpawnFailure::InterpreterNotFound { interpreter, .. }) = &end else { panic!("{end:?}") };
    assert_eq!(interpreter, "/gone/python3");

    let mut request = bench.request(Path::new(FAKE_TOOL), &[]);
    request.child.directory = gone;
    let null = || File::options().write(true).open("/dev/null").expect("the null device");
    let sinks = Sinks { log: null(), frames: null(), masked: Vec::new() };
    let end =
        supervise(&mut bench.launcher, &request, &bench.limits, sinks, &bench.control, ALL_REASONS).expect("supervised").end;
    assert!(matches!(end, ActionEnd::NotStarted(SpawnFailure::DirectoryNotFound { .. })), "{end:?}");

    assert_eq!(bench.run(&["--exit", "0"]).end, ActionEnd::Exited { code: 0 });
}

#[test]
fn a_grandchild_left_behind_is_named_and_killed() {
    let mut bench = Bench::new();
    let (pid_file, ready) = (bench.text("pid"), bench.text("ready"));
    let ended = bench.run(&[
        "--fork",
        "--pid-file",
        &pid_file,
        "--touch",
        &ready,
        "--sleep",
        "60000",
        "--end",
        "--wait-for",
        &ready,
        "--exit",
        "0",
    ]);
    let grandchild = read_pid(Path::new(&pid_file));
    assert_eq!(ended.end, ActionEnd::Exited { code: 0 });
    assert_eq!(ended.survivors.iter().map(|survivor| survivor.pid).collect::<Vec<_>>(), [grandchild]);
    assert_eq!(ended.survivors[0].argv.last().map(String::as_str), Some("60000"));
    assert!(ended.survivors[0].age.is_some_and(|age| age.0 < 20_000), "{:?}", ended.survivors);
    assert_nobody(&pid_file);
    assert!(!ended.captured.pipes_left_open);
    assert!(ended.duration.0 < 20_000, "{:?}", ended.duration);
}

#[test]
fn whoever_leaves_the_group_is_named_and_killed_all_the_same() {
    let mut bench = Bench::new();
    let pid_file = bench.text("pid");
    let escape = ["--escape", "--pid-file", &pid_file, "--sleep", "20000", "--end"];
    let ended = bench.run(&[&escape[..], &["--stdout", "x", "--wait-for", &pid_file, "--exit", "0"]].concat());
    assert_eq!(ended.end, ActionEnd::Exited { code: 0 });
    assert_eq!(ended.survivors.iter().map(|survivor| survivor.pid).collect::<Vec<_>>(), [read_pid(Path::new(&pid_file))]);
    assert_nobody(&pid_file);
    assert!(!ended.captured.pipes_left_open);
    assert!(ended.duration.0 < 10_000, "{:?}", ended.duration);
    assert_eq!(bench.log(), b"x");
    // The survivor belongs to the action that is over. The next action of the same launcher must name no survivor.
    let next = bench.run(&["--exit", "0"]);
    assert_eq!((next.end, next.survivors), (ActionEnd::Exited { code: 0 }, Vec::new()));
}

#[test]
fn a_grandchild_that_ignores_sigterm_outlives_its_leader_only_until_sigkill() {
    let mut bench = Bench::new().timing_out(30_000, 300, &[StopStage::Sigterm]);
    let (pid_file, ready) = (bench.text("pid"), bench.text("ready"));
    let asker = bench.stop_when(&[("ready", StopReason::Interrupted)]);
    let ended = bench.run(&[
        "--fork",
        "--ignore-term",
        "--pid-file",
        &pid_file,
        "--touch",
        &ready,
        "--sleep",
        "60000",
        "--end",
        "--sleep",
        "60000",
    ]);
    asker.join().expect("no panic");
    let grandchild = read_pid(Path::new(&pid_file));
    assert_eq!(ended.end, ActionEnd::Stopped { reason: StopReason::Interrupted, stage: StopStage::Sigkill });
    assert_eq!(ended.survivors.iter().map(|survivor| survivor.pid).collect::<Vec<_>>(), [grandchild]);
    assert_nobody(&pid_file);
}
