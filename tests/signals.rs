//! Tests ways of starting proctor, and signals: proctor is started from a pipe, by an interactive shell, or by `nohup …
//! &`, and each signal is sent to it.
//!
//! `service` tests a start by a user's service manager.

use std::fs;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::{Invocation, Output, Project, Terminal, Watch, expect_all_to_be_gone, family_of, ignored, poll, proctor};

const LATE: Duration = Duration::from_secs(60);

/// A check that saves its own process status, leaves a process in a new session, and runs until the file `hold` is
/// gone.
const CHECK: &str = "#!/bin/sh\ncat /proc/self/status >flags/status\nsetsid sleep 600 &\n\
                     echo begun >>flags/begun\nwhile [ -e flags/hold ]; do sleep 0.01; done\n";

/// How the program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By another program, with pipes as its output.
    Piped,
    /// By a shell without job control, as with `nohup proctor … &`: SIGHUP, SIGINT, SIGQUIT and some further signals
    /// are ignored.
    Nohup,
    /// By an interactive shell: the terminal is the controlling terminal.
    Interactive,
}

/// The program that was started: without a terminal, or at one.
enum Started<'p> {
    Watch(Watch<'p>),
    Terminal(Terminal<'p>),
}

const WAYS: [Way; 3] = [Way::Piped, Way::Nohup, Way::Interactive];

impl Way {
    #[track_caller]
    fn start<'p>(self, project: &'p Project, arguments: &[&str]) -> Started<'p> {
        let through = |program: &str, words: &[&str]| -> Invocation<'p> {
            project.command(Path::new(program), words).arguments([proctor()]).arguments(arguments)
        };
        match self {
            Self::Piped => Started::Watch(project.proctor(arguments).watch()),
            Self::Nohup => {
                let ignoring = "trap '' HUP INT QUIT PIPE CHLD USR1; exec \"$@\"";
                Started::Watch(through("/bin/sh", &["-c", ignoring, "sh"]).watch())
            }
            Self::Interactive => Started::Terminal(through("setsid", &["--ctty"]).env("TERM", "xterm").at_terminal()),
        }
    }
}

impl Started<'_> {
    fn id(&self) -> i32 {
        match self {
            Self::Watch(watch) => watch.id(),
            Self::Terminal(terminal) => terminal.id(),
        }
    }

    #[track_caller]
    fn signal(&mut self, signal: Signal) {
        match self {
            Self::Watch(watch) => watch.signal(signal),
            Self::Terminal(terminal) => terminal.signal(signal),
        }
    }

    #[track_caller]
    fn ended(self) -> Output {
        match self {
            Self::Watch(watch) => watch.ended(),
            Self::Terminal(terminal) => terminal.ended(),
        }
    }
}

#[test]
fn a_run_is_stopped_by_each_signal_in_each_way_of_starting() {
    for way in WAYS {
        for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)] {
            let project = project();
            hold(&project);
            let mut started = way.start(&project, &["run"]);
            await_checks(&project, 1);
            assert_eq!(ignored_by_the_check(&project), Vec::<u32>::new(), "{way:?}");
            let family = family_of(started.id());
            assert!(family.len() > 3, "{way:?}: proctor, launcher, keeper, check: {family:?}");
            started.signal(signal);
            let goes_on = way == Way::Nohup && signal == Signal::SIGHUP;
            if goes_on {
                // Under `nohup`, SIGHUP must not stop the run. If it did, the run would be INTERRUPTED before the check
                // sees that `hold` is gone.
                release(&project);
            }
            let ended = started.ended();
            let (status, result) = if goes_on { (0, "SUCCESS") } else { (status, "INTERRUPTED") };
            assert_eq!(ended.status, status, "{way:?}, {signal}: {}", ended.snapshot());
            assert_eq!(statuses(&project), [result], "{way:?}, {signal}");
            expect_all_to_be_gone(&family);
        }
    }
}

#[test]
fn a_watch_ends_by_its_signals_and_reloads_by_sighup_where_no_terminal_hangs_up() {
    for way in WAYS {
        for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 143)] {
            let project = project();
            let mut started = way.start(&project, &["watch", "."]);
            await_runs(&project, 1);
            assert_eq!(ignored_by_the_check(&project), Vec::<u32>::new(), "{way:?}");
            let reloads = signal == Signal::SIGHUP && way != Way::Interactive;
            if reloads {
                started.signal(signal);
                let last = await_runs(&project, 2).pop().expect("two runs");
                assert_eq!(last["overallStatus"], "SUCCESS", "{way:?}");
                started.signal(Signal::SIGTERM);
            } else {
                hold(&project);
                project.save("state.txt", "newer\n");
                await_checks(&project, 2);
                started.signal(signal);
            }
            let family = family_of(started.id());
            let ended = started.ended();
            assert_eq!(ended.status, status, "{way:?}, {signal}: {}", ended.snapshot());
            let expected = if reloads { "SUCCESS" } else { "INTERRUPTED" };
            assert_eq!(statuses(&project), ["SUCCESS", expected], "{way:?}, {signal}");
            expect_all_to_be_gone(&family);
        }
    }
}

#[test]
fn a_reload_during_a_run_comes_after_it_and_a_wrong_configuration_ends_nothing() {
    let project = project();
    hold(&project);
    let mut watch = project.watch(["."]);
    await_checks(&project, 1);
    watch.signal(Signal::SIGHUP);
    watch.wait_for_line("the word that it is heard", LATE, |line| line.starts_with("reloading: when this run is over"));
    release(&project);
    await_runs(&project, 2);

    let right = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project.save("proctor.toml", &right.replace("command", "comand"));
    expect_words(&mut watch, "error: the configuration", 1);
    expect_words(&mut watch, "watching; there is no verdict", 1);
    watch.signal(Signal::SIGHUP);
    expect_words(&mut watch, "error: the configuration", 2);
    expect_words(&mut watch, "watching; there is no verdict", 2);
    project.save("proctor.toml", &right);
    watch.signal(Signal::SIGHUP);
    await_runs(&project, 3);
    assert_eq!(watch.interrupt().status, 130);
}

#[test]
fn an_interrupt_typed_at_the_terminal_stops_a_run_once() {
    for arguments in [&["run"][..], &["watch", "."]] {
        let project = project();
        hold(&project);
        let Started::Terminal(mut terminal) = Way::Interactive.start(&project, arguments) else { panic!("a terminal") };
        await_checks(&project, 1);
        // The kernel sends SIGINT to everything in the terminal's foreground group.
        terminal.press("\x03");
        let ended = terminal.ended();
        assert_eq!(ended.status, 130, "{arguments:?}: {}", ended.snapshot());
        assert_eq!(statuses(&project), ["INTERRUPTED"], "{arguments:?}");
        let log = project.proctor(["log"]).success().stdout;
        assert!(log.contains("stopped before it had a result") && !log.contains("failed"), "{log}");
    }
}

#[test]
fn a_second_sigterm_kills_what_heeds_no_signal() {
    let stubborn = "trap '' INT TERM HUP\necho begun >>flags/begun\nwhile :; do sleep 0.05; done\n";
    for way in WAYS {
        for arguments in [&["run"][..], &["watch", "."]] {
            let project = project().file("check.sh", stubborn);
            let started = way.start(&project, arguments);
            await_checks(&project, 1);
            let family = family_of(started.id());
            let sender = send_until_it_ends(started.id(), Signal::SIGTERM);
            let ended = started.ended();
            assert_eq!(ended.status, 143, "{way:?}, {arguments:?}: {}", ended.snapshot());
            sender.join().expect("it only sends");
            expect_all_to_be_gone(&family);
        }
    }
}

/// Waits until the words were printed `times` times, on either stream.
#[track_caller]
fn expect_words(watch: &mut Watch<'_>, words: &str, times: usize) {
    poll(LATE, words, || {
        let text = watch.text();
        if text.matches(words).count() >= times { Ok(()) } else { Err(text) }
    });
}

/// Sends a signal again and again until the process ends. Two signals that arrive at the same time count as one, and
/// the second is what is tested.
fn send_until_it_ends(id: i32, signal: Signal) -> JoinHandle<()> {
    let stat = format!("/proc/{id}/stat");
    thread::spawn(move || {
        // A zombie keeps its process id until it is reaped, so the signal cannot reach another process.
        while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            let _gone = kill(Pid::from_raw(id), signal);
            thread::sleep(Duration::from_millis(100));
        }
    })
}

#[track_caller]
fn project() -> Project {
    // No stop may last until SIGKILL: the process in the new session gets SIGTERM as soon as the check itself has ended.
    let settings = "[[check]]\nname = \"check\"\ncommand = [\"/bin/sh\", \"check.sh\"]\n[watch]\nignore = [\"/flags\"]\n\
                    [sandbox]\nwritable = [\"flags\"]\n[defaults]\ngrace = \"10m\"\n";
    Project::new().toml(settings).file("check.sh", CHECK).file("state.txt", "ok\n").file("flags/empty", "")
}

fn hold(project: &Project) {
    fs::write(project.path().join("flags/hold"), "").expect("the directory is ours");
}

fn release(project: &Project) {
    fs::remove_file(project.path().join("flags/hold")).expect("it was held");
}

/// Waits until `count` checks have begun.
#[track_caller]
fn await_checks(project: &Project, count: usize) {
    poll(LATE, "a check to begin", || {
        let begun = fs::read_to_string(project.path().join("flags/begun")).unwrap_or_default();
        if begun.lines().count() >= count { Ok(()) } else { Err(begun) }
    });
}

/// Waits until `count` runs are committed, and returns them.
#[track_caller]
fn await_runs(project: &Project, count: usize) -> Vec<Value> {
    poll(LATE, "a committed run", || {
        let runs = project.store().committed_runs();
        if runs.len() >= count { Ok(runs) } else { Err(format!("{runs:?}")) }
    })
}

#[track_caller]
fn statuses(project: &Project) -> Vec<String> {
    let status = |run: &Value| run["overallStatus"].as_str().expect("a run has a status").to_owned();
    project.store().committed_runs().iter().map(status).collect()
}

#[track_caller]
fn ignored_by_the_check(project: &Project) -> Vec<u32> {
    ignored(&fs::read_to_string(project.path().join("flags/status")).expect("a check has begun"))
}
