//! The supervisor, its launcher and real processes: everything here runs `fake-tool`, waits with a bound and leaves nothing.
#![expect(clippy::disallowed_methods, reason = "these tests signal, start and time processes from outside")]

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;
use proctor::model::{
    ActionEnd, ActionLimits, Digest, Ended, IsolationLevel, LimitKind, SpawnFailure, StopReason, StopStage, StreamExcerpt,
};
use proctor::process::{
    ALL_REASONS, CaptureError, Control, ControlHandle, Isolation, LaunchRequest, LauncherHandle, Sinks, SuperviseError, supervise,
};
use tempfile::TempDir;

const FAKE_TOOL: &str = env!("CARGO_BIN_EXE_fake-tool");

/// Far more than anything here needs; reached only when something is wrong.
const BOUND: Duration = Duration::from_secs(30);

/// One launcher, one directory, and limits that a test changes where they matter.
#[must_use]
struct Bench {
    root: TempDir,
    launcher: LauncherHandle,
    limits: ActionLimits,
    environment: Vec<(OsString, OsString)>,
    strongest: IsolationLevel,
    control: Control,
    handle: ControlHandle,
    actions: u32,
}

impl Bench {
    fn new() -> Self {
        let (control, handle) = Control::new().expect("pipes");
        Self {
            root: tempfile::tempdir().expect("a directory"),
            launcher: LauncherHandle::start(Path::new(FAKE_TOOL)).expect("a launcher"),
            limits: ActionLimits {
                timeout: BOUND,
                idle: None,
                output: None,
                grace: Duration::from_secs(10),
                ladder: vec![StopStage::Sigterm],
            },
            environment: Vec::new(),
            strongest: IsolationLevel::Namespace,
            control,
            handle,
            actions: 0,
        }
    }

    fn timing_out(mut self, timeout_ms: u64, grace_ms: u64, ladder: &[StopStage]) -> Self {
        self.limits = ActionLimits {
            timeout: Duration::from_millis(timeout_ms),
            idle: None,
            output: None,
            grace: Duration::from_millis(grace_ms),
            ladder: ladder.to_vec(),
        };
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("a temporary path is text").to_owned()
    }

    #[track_caller]
    fn run(&mut self, arguments: &[&str]) -> Ended {
        self.run_program(Path::new(FAKE_TOOL), arguments)
    }

    #[track_caller]
    fn run_program(&mut self, program: &Path, arguments: &[&str]) -> Ended {
        self.try_run(program, arguments).expect("supervised")
    }

    fn try_run(&mut self, program: &Path, arguments: &[&str]) -> Result<Ended, SuperviseError> {
        self.actions += 1;
        let create = |kind: &str| File::create_new(self.path(&format!("{}.{kind}", self.actions))).expect("created");
        let sinks = Sinks { log: create("log"), frames: create("frames") };
        let request = self.request(program, arguments);
        supervise(&mut self.launcher, &request, &self.limits, sinks, &self.control, ALL_REASONS)
    }

    fn request(&self, program: &Path, arguments: &[&str]) -> LaunchRequest {
        let mut argv = vec![program.as_os_str().to_owned()];
        argv.extend(arguments.iter().map(OsString::from));
        LaunchRequest {
            program: program.to_owned(),
            argv,
            environment: self.environment.clone(),
            directory: self.root.path().to_owned(),
            isolation: Isolation { strongest: self.strongest, ..Isolation::weakest() },
        }
    }

    fn log(&self) -> Vec<u8> {
        fs::read(self.path(&format!("{}.log", self.actions))).expect("a log")
    }

    /// Asks for stops from another thread, each as soon as its file exists.
    fn stop_when(&self, requests: &[(&str, StopReason)]) -> thread::JoinHandle<()> {
        let handle = self.handle.clone();
        let requests: Vec<(PathBuf, StopReason)> = requests.iter().map(|(name, reason)| (self.path(name), *reason)).collect();
        thread::spawn(move || {
            for (path, reason) in requests {
                until("the file that says the tool is ready", || path.exists());
                handle.stop(reason);
            }
        })
    }
}

/// Polls until something holds.
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < BOUND, "{what}: not within {BOUND:?}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Who is alive and was started with this word among its arguments, whatever namespace it is in.
fn alive_with(word: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").expect("a list").flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // A zombie has no arguments any more.
    let has_word = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| text.split(|byte| *byte == 0).any(|one| one == word.as_bytes()))
    };
    pids.filter(has_word).collect()
}

#[track_caller]
fn assert_nobody(word: &str) {
    let alive = alive_with(word);
    assert!(alive.is_empty(), "{alive:?} are alive");
}

fn read_pid(path: &Path) -> i32 {
    until("the pid file", || path.exists());
    fs::read_to_string(path).expect("a pid file").parse().expect("a number")
}

fn stdout_text(ended: &Ended) -> String {
    String::from_utf8(ended.captured.stdout.head.clone()).expect("text")
}

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
    request.directory = gone;
    let null = || File::options().write(true).open("/dev/null").expect("the null device");
    let sinks = Sinks { log: null(), frames: null() };
    let end =
        supervise(&mut bench.launcher, &request, &bench.limits, sinks, &bench.control, ALL_REASONS).expect("supervised").end;
    assert!(matches!(end, ActionEnd::NotStarted(SpawnFailure::DirectoryNotFound { .. })), "{end:?}");

    assert_eq!(bench.run(&["--exit", "0"]).end, ActionEnd::Exited { code: 0 });
}

#[test]
fn a_time_out_that_sigterm_ends_says_so() {
    let mut bench = Bench::new().timing_out(200, 10_000, &[StopStage::Sigterm]);
    let ended = bench.run(&["--stdout", "before", "--sleep", "60000"]);
    let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigterm, code: None, signal: Some(15) };
    assert_eq!(ended.end, end);
    assert_eq!(bench.log(), b"before");
    assert!(ended.duration.0 >= 200);
}

#[test]
fn c17_a_time_out_that_ignores_sigterm_is_killed_at_the_end_of_the_grace() {
    let mut bench = Bench::new().timing_out(500, 300, &[StopStage::Sigterm]);
    let ended = bench.run(&["--ignore-term", "--sleep", "60000"]);
    let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigkill, code: None, signal: None };
    assert_eq!(ended.end, end);
    assert!((800..20_000).contains(&ended.duration.0), "{:?}", ended.duration);
}

#[test]
fn the_ladder_of_pytest_begins_with_sigint_and_exit_0_after_it_is_still_a_time_out() {
    let mut bench = Bench::new().timing_out(500, 10_000, &[StopStage::Sigint, StopStage::Sigterm]);
    let ended = bench.run(&["--handle-int-exit", "0", "--sleep", "60000"]);
    let end = ActionEnd::TimedOut { limit: LimitKind::Wall, stage: StopStage::Sigint, code: Some(0), signal: None };
    assert_eq!(ended.end, end);
}

#[test]
fn output_is_still_read_while_the_ladder_is_climbed() {
    let mut bench = Bench::new().timing_out(500, 20_000, &[StopStage::Sigint, StopStage::Sigterm]);
    let ended = bench.run(&["--ignore-int", "--sleep", "700", "--stdout-bytes", "3000000", "--exit", "0"]);
    assert!(matches!(ended.end, ActionEnd::TimedOut { stage: StopStage::Sigint, code: Some(0), .. }), "{:?}", ended.end);
    assert_eq!(bench.log().len(), 3_000_000);
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
    // The next action is not disturbed by it.
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

#[test]
fn a_stop_request_ends_the_action_and_stays_in_force_until_acknowledged() {
    let mut bench = Bench::new();
    let ready = bench.text("ready");
    let asker = bench.stop_when(&[("ready", StopReason::Superseded)]);
    let ended = bench.run(&["--touch", &ready, "--sleep", "60000"]);
    asker.join().expect("no panic");
    assert_eq!(ended.end, ActionEnd::Stopped { reason: StopReason::Superseded, stage: StopStage::Sigterm });
    assert_eq!(bench.control.requested(), Some(StopReason::Superseded));
    let ended = bench.run(&["--sleep", "60000"]);
    assert_eq!(ended.end, ActionEnd::Stopped { reason: StopReason::Superseded, stage: StopStage::Sigterm });
    bench.control.acknowledge();
    assert_eq!(bench.run(&["--exit", "0"]).end, ActionEnd::Exited { code: 0 });
}

#[test]
fn a_second_stop_request_kills_at_once() {
    let mut bench = Bench::new().timing_out(60_000, 60_000, &[StopStage::Sigint, StopStage::Sigterm]);
    let ready = bench.text("ready");
    let asker = bench.stop_when(&[("ready", StopReason::Interrupted), ("ready", StopReason::Terminated)]);
    let ended = bench.run(&["--ignore-int", "--ignore-term", "--touch", &ready, "--sleep", "50000"]);
    asker.join().expect("no panic");
    assert_eq!(ended.end, ActionEnd::Stopped { reason: StopReason::Terminated, stage: StopStage::Sigkill });
    assert!(ended.duration.0 < 20_000, "{:?}", ended.duration);
}

#[test]
fn a_byte_from_a_signal_handlers_pipe_is_a_stop_request() {
    let mut bench = Bench::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGUSR1, writer).expect("registered");
    bench.control = Control::new().expect("pipes").0.with_source(reader.into(), StopReason::Terminated).expect("a source");
    let ready = bench.path("ready");
    let asker = thread::spawn(move || {
        until("the ready file", || ready.exists());
        kill(Pid::this(), Signal::SIGUSR1).expect("signalled");
    });
    let ready = bench.text("ready");
    let ended = bench.run(&["--touch", &ready, "--sleep", "60000"]);
    asker.join().expect("no panic");
    assert_eq!(ended.end, ActionEnd::Stopped { reason: StopReason::Terminated, stage: StopStage::Sigterm });
}

#[test]
fn odd_bytes_and_a_ten_megabyte_line_are_kept_byte_for_byte() {
    let mut bench = Bench::new();
    let ended = bench.run(&["--raw-bytes", "00ff80c3280a00", "--stdout-bytes", "10000000", "--exit", "0"]);
    let log = bench.log();
    let mut expected = vec![0x00, 0xff, 0x80, 0xc3, 0x28, 0x0a, 0x00];
    expected.extend((0..=250_u8).cycle().take(10_000_000));
    assert!(log == expected, "{} bytes", log.len());
    assert_eq!((ended.captured.log_bytes, ended.captured.log_digest), (log.len() as u64, Digest::of(&log)));
    let frames = fs::read(bench.path("1.frames")).expect("frames");
    assert_eq!((ended.captured.frames_bytes, ended.captured.frames_digest), (frames.len() as u64, Digest::of(&frames)));
    assert_eq!(ended.captured.stdout.total, log.len() as u64);
    assert!(!ended.captured.stdout.is_complete());
    assert_eq!(ended.captured.stdout.head, log[..StreamExcerpt::HEAD_CAP]);
    assert_eq!(ended.captured.stdout.tail, log[log.len() - StreamExcerpt::TAIL_CAP..]);
}

#[test]
fn a_child_gets_a_null_input_its_exact_environment_and_no_descriptor_of_ours() {
    let mut bench = Bench::new();
    bench.environment = vec![("ONE".into(), "1".into()), ("TWO".into(), "a b\nc".into())];
    let text = stdout_text(&bench.run(&["--environment"]));
    assert_eq!(text, "ONE=1\nTWO=a b\nc\n");
    let text = stdout_text(&bench.run(&["--descriptors"]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[0], "/proc/self/fd/0 /dev/null");
    assert!(lines[1].starts_with("/proc/self/fd/1 pipe:") && lines[2].starts_with("/proc/self/fd/2 pipe:"), "{text}");
}

/// Runs a supervisor of its own through a shell that prepares what it inherits, and returns its JSON line.
fn supervised_from_shell(preparation: &str, arguments: &[&str]) -> serde_json::Value {
    let script = format!("{preparation} exec \"$0\" __supervise \"$@\"");
    let output = Command::new("/bin/sh").arg("-c").arg(script).arg(FAKE_TOOL).args(arguments).output().expect("run");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("a JSON line")
}

#[test]
fn what_the_supervisor_inherited_is_not_passed_on() {
    let line = supervised_from_shell("trap '' INT QUIT TERM HUP USR1; exec 9</dev/null;", &["/bin/cat", "/proc/self/status"]);
    let status = line["stdout"].as_str().expect("text");
    for field in ["SigIgn:", "SigBlk:"] {
        let value = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field").trim();
        // glibc's posix_spawn ignores its own signals 32 and 33 in every child.
        let own = 0b11 << 31;
        assert_eq!(u64::from_str_radix(value, 16).map(|set| set & !own), Ok(0), "{field} {value}");
    }
    let line = supervised_from_shell("exec 9</dev/null;", &[FAKE_TOOL, "--descriptors"]);
    assert_eq!(line["stdout"].as_str().expect("text").lines().count(), 3, "{line}");
}

#[test]
fn a_signal_that_is_blocked_here_is_not_blocked_in_the_child() {
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGUSR2);
    blocked.thread_block().expect("blocked");
    let mut bench = Bench::new();
    blocked.thread_unblock().expect("unblocked");
    let text = stdout_text(&bench.run_program(Path::new("/bin/cat"), &["/proc/self/status"]));
    let value = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("a field").trim();
    assert_eq!(u64::from_str_radix(value, 16), Ok(0));
}

#[test]
fn two_gibibytes_of_output_fit_into_32_mebibytes_of_supervisor() {
    let line = supervised_from_shell("", &[FAKE_TOOL, "--stdout-bytes", "2147483648", "--exit", "0"]);
    assert_eq!(line["end"], "Exited { code: 0 }");
    assert_eq!(line["logBytes"], 2_147_483_648_u64);
    let peak = line["peakKib"].as_u64().expect("a number");
    assert!(peak < 32 * 1024, "{peak} KiB");
}

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
fn dropping_the_launcher_ends_it() {
    let bench = Bench::new();
    let launcher = bench.launcher.process_id().as_raw();
    drop(bench);
    assert!(!Path::new(&format!("/proc/{launcher}")).exists());
}

#[test]
fn a_log_that_cannot_be_written_is_our_fault_and_the_command_is_killed() {
    let mut bench = Bench::new();
    let pid_file = bench.text("pid");
    let request =
        bench.request(Path::new(FAKE_TOOL), &["--ignore-term", "--pid-file", &pid_file, "--stdout", "x", "--sleep", "60000"]);
    let open = |path: &str| File::options().write(true).open(path).expect("a device");
    let sinks = Sinks { log: open("/dev/full"), frames: open("/dev/null") };
    let outcome = supervise(&mut bench.launcher, &request, &bench.limits, sinks, &bench.control, ALL_REASONS);
    assert!(matches!(outcome, Err(SuperviseError::Capture(CaptureError::Log(_)))), "{outcome:?}");
    assert_nobody(&pid_file);
    assert_eq!(bench.run(&["--exit", "0"]).end, ActionEnd::Exited { code: 0 });
}

#[test]
fn c72_frames_say_which_bytes_came_from_which_stream() {
    let mut bench = Bench::new();
    let (log, first, second) = (bench.path("1.log"), bench.path("first"), bench.path("second"));
    // Each piece is printed only when the one before it has arrived: otherwise both streams may be read in one go.
    let pacer = thread::spawn(move || {
        for (length, signpost) in [(3, first), (7, second)] {
            until("the log's growth", || fs::metadata(&log).is_ok_and(|log| log.len() >= length));
            File::create_new(signpost).expect("created");
        }
    });
    let (first, second) = (bench.text("first"), bench.text("second"));
    let tool = ["--stdout", "one", "--wait-for", &first, "--stderr", "two!", "--wait-for", &second, "--stdout", "three"];
    bench.run(&tool);
    pacer.join().expect("no panic");
    let mut text = String::new();
    File::open(bench.path("1.frames")).and_then(|mut file| file.read_to_string(&mut text)).expect("frames");
    let frames: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    let seen: Vec<(u64, u64, &str)> = frames
        .iter()
        .map(|frame| {
            let number = |key: &str| frame[key].as_u64().expect("a number");
            (number("offset"), number("length"), frame["stream"].as_str().expect("a name"))
        })
        .collect();
    assert_eq!(seen, [(0, 3, "stdout"), (3, 4, "stderr"), (7, 5, "stdout")]);
}

#[test]
fn an_environment_longer_than_the_socket_arrives() {
    let mut bench = Bench::new();
    bench.environment = (0..12).map(|index| (format!("N{index}").into(), "x".repeat(100_000).into())).collect();
    let ended = bench.run(&["--env", "N11"]);
    assert_eq!((ended.end, ended.captured.log_bytes), (ActionEnd::Exited { code: 0 }, 100_001));
}
