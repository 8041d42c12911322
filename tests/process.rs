//! Tests the supervisor and its launcher (the process that starts actions) with real processes. Every test runs
//! `fake-tool`, waits a bounded time and leaves no process behind.
#![expect(clippy::disallowed_methods, reason = "these tests signal, start and time processes from outside")]

mod endings;
mod inherited;
mod launcher;
mod output;
mod parking;
mod snapshots;
mod stopping;

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use proctor_model::{ActionLimits, EndedAction, IsolationLevel, Sandbox, SnapshotMount, StopReason, StopStage};
use proctor_sandbox::process::{
    ALL_REASONS, Control, ControlHandle, Isolation, LaunchRequest, LaunchedChild, LauncherHandle, Sinks, SuperviseError,
    supervise,
};
use tempfile::TempDir;

use crate::common::poll;

const FAKE_TOOL: &str = env!("CARGO_BIN_EXE_fake-tool");

/// The longest wait in these tests. It is reached only when something is wrong.
const BOUND: Duration = Duration::from_secs(30);

/// A launcher (the process that starts actions), a directory, and the settings of the actions. A test changes only the
/// settings that it is about.
#[must_use]
struct Bench {
    root: TempDir,
    launcher: LauncherHandle,
    limits: ActionLimits,
    environment: Vec<(OsString, OsString)>,
    strongest: IsolationLevel,
    sandbox: Option<Sandbox>,
    snapshot: Option<SnapshotMount>,
    another_follows: bool,
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
            sandbox: None,
            snapshot: None,
            another_follows: false,
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
    fn run(&mut self, arguments: &[&str]) -> EndedAction {
        self.run_program(Path::new(FAKE_TOOL), arguments)
    }

    #[track_caller]
    fn run_program(&mut self, program: &Path, arguments: &[&str]) -> EndedAction {
        self.try_run(program, arguments).expect("supervised")
    }

    fn run_with_input(&mut self, input: &[u8], arguments: &[&str]) -> EndedAction {
        self.actions += 1;
        let create = |kind: &str| File::create_new(self.path(&format!("{}.{kind}", self.actions))).expect("created");
        let sinks = Sinks { log: create("log"), frames: create("frames"), masked: Vec::new() };
        let request = LaunchRequest { input: Some(input.to_vec()), ..self.request(Path::new("/bin/sh"), arguments) };
        supervise(&mut self.launcher, &request, &self.limits, sinks, &self.control, ALL_REASONS).expect("supervised")
    }

    fn try_run(&mut self, program: &Path, arguments: &[&str]) -> Result<EndedAction, SuperviseError> {
        self.actions += 1;
        let create = |kind: &str| File::create_new(self.path(&format!("{}.{kind}", self.actions))).expect("created");
        let sinks = Sinks { log: create("log"), frames: create("frames"), masked: Vec::new() };
        let request = self.request(program, arguments);
        supervise(&mut self.launcher, &request, &self.limits, sinks, &self.control, ALL_REASONS)
    }

    fn request(&self, program: &Path, arguments: &[&str]) -> LaunchRequest {
        let mut argv = vec![program.as_os_str().to_owned()];
        argv.extend(arguments.iter().map(OsString::from));
        let child = LaunchedChild {
            program: program.to_owned(),
            argv,
            another_follows: self.another_follows,
            early: None,
            environment: self.environment.clone(),
            directory: self.root.path().to_owned(),
            isolation: Isolation {
                strongest: self.strongest,
                sandbox: self.sandbox.clone(),
                snapshot: self.snapshot.clone(),
                dropped: None,
                ..Isolation::weakest()
            },
        };
        LaunchRequest { child, network: None, input: None }
    }

    fn log(&self) -> Vec<u8> {
        fs::read(self.path(&format!("{}.log", self.actions))).expect("a log")
    }

    /// Requests a stop from another thread for each pair of a file and a reason, as soon as the file exists.
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

/// Waits until `holds` is true. Panics with `what` if that takes longer than [`BOUND`].
#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    poll(BOUND, what, || holds().then_some(()));
}

/// Returns the processes with this word among their arguments, in any namespace.
fn alive_with(word: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").expect("a list").flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // Zombies are not found: they have no arguments any more.
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

fn stdout_text(ended: &EndedAction) -> String {
    String::from_utf8(ended.captured.stdout.head.clone()).expect("text")
}

/// Runs `fake-tool` as a supervisor from a shell, which first changes what the supervisor inherits. Returns the supervisor's JSON line.
fn supervised_from_shell(preparation: &str, arguments: &[&str]) -> serde_json::Value {
    let script = format!("{preparation} exec \"$0\" __supervise \"$@\"");
    let output = Command::new("/bin/sh").arg("-c").arg(script).arg(FAKE_TOOL).args(arguments).output().expect("run");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("a JSON line")
}
