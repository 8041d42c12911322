//! A command that runs in a project: prepared, then run with the end it is expected to have.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use nix::unistd::geteuid;

use crate::common::machine::delegating;
use crate::common::output::Output;
use crate::common::process::{Running, Stream};
use crate::common::project::Project;
use crate::common::terminal::Terminal;
use crate::common::watch::Watch;

/// How long a command may take unless its test says otherwise. No test is meant to come near it.
const COMMAND_BOUND: Duration = Duration::from_secs(120);

/// A command that is ready to be run.
#[must_use = "a command runs when it is told how it is to end: `.success()`, `.failure()` or `.status(n)`"]
pub(crate) struct Invocation<'project> {
    project: &'project Project,
    command: Command,
    bound: Duration,
}

impl<'project> Invocation<'project> {
    pub(super) fn new(project: &'project Project, command: Command) -> Self {
        Self { project, command, bound: COMMAND_BOUND }
    }

    /// Adds arguments.
    pub(crate) fn arguments(mut self, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets a variable.
    pub(crate) fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it in `directory`, relative to the project's.
    pub(crate) fn directory(mut self, directory: &str) -> Self {
        self.command.current_dir(self.project.path().join(directory));
        self
    }

    /// Starts it in a process group of its own, as an interactive shell starts a job.
    pub(crate) fn own_group(mut self) -> Self {
        self.command.process_group(0);
        self
    }

    /// Makes it the only one in a cgroup that the user's service manager delegates to it, inside a machine that has one.
    ///
    /// It is started by a program that it takes the place of.
    pub(crate) fn delegated(mut self) -> Self {
        let mut arguments = delegating(geteuid().is_root());
        let mut outer = Command::new(arguments.next().expect("a program's name"));
        outer.args(arguments).arg(self.command.get_program()).args(self.command.get_args()).env_clear();
        outer.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        outer.env("DBUS_SESSION_BUS_ADDRESS", format!("unix:path=/run/user/{}/bus", geteuid()));
        if let Some(directory) = self.command.get_current_dir() {
            outer.current_dir(directory);
        }
        self.command = outer;
        self
    }

    /// Changes how long it may take.
    pub(crate) fn bound(mut self, bound: Duration) -> Self {
        self.bound = bound;
        self
    }

    /// Runs it and expects 0.
    #[track_caller]
    pub(crate) fn success(self) -> Output {
        self.status(0)
    }

    /// Runs it and expects 1: the code needs work.
    #[track_caller]
    pub(crate) fn failure(self) -> Output {
        self.status(1)
    }

    /// Runs it and expects `status`; 128 plus the number for a signal.
    #[track_caller]
    pub(crate) fn status(self, status: i32) -> Output {
        let shown = format!("{:?}", self.command);
        let output = self.run();
        assert_eq!(output.status, status, "{shown} ended otherwise:\n{}", output.snapshot());
        output
    }

    /// Runs it and expects nothing: the caller looks at the status itself.
    #[track_caller]
    pub(crate) fn any_status(self) -> Output {
        self.run()
    }

    /// Starts it as something that goes on until it is told to end.
    #[track_caller]
    pub(crate) fn watch(mut self) -> Watch<'project> {
        Watch::start(self.project, &mut self.command)
    }

    /// Starts it at a terminal of its own.
    #[track_caller]
    pub(crate) fn at_terminal(mut self) -> Terminal<'project> {
        Terminal::start(self.project, &mut self.command)
    }

    #[track_caller]
    fn run(mut self) -> Output {
        let mut running = Running::start(&mut self.command);
        let Some(status) = running.wait(self.bound) else {
            running.kill();
            panic!("{:?} did not end within {:?}; so far:\n{}", self.command, self.bound, running.text_of_both());
        };
        running.drain();
        Output {
            stdout: running.text_of(Stream::Stdout),
            stderr: running.text_of(Stream::Stderr),
            status,
            store: self.project.store(),
            redactions: self.project.redactions(),
        }
    }
}
