//! A command that runs in a project. A test prepares it, runs it, and states the exit status that it expects.

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

/// How long a command may take unless its test says otherwise. Normal runs take far less.
const COMMAND_BOUND: Duration = Duration::from_secs(120);

/// A command that is ready to be run, with its environment, its directory and the longest time that it may take.
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

    pub(crate) fn arguments(mut self, arguments: impl IntoIterator<Item: AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable for this command alone.
    pub(crate) fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Lets the command run in `directory`, relative to the project's directory.
    pub(crate) fn directory(mut self, directory: &str) -> Self {
        self.command.current_dir(self.project.path().join(directory));
        self
    }

    /// Lets the command start in a new process group, as an interactive shell starts a job.
    pub(crate) fn own_group(mut self) -> Self {
        self.command.process_group(0);
        self
    }

    /// Lets the command run alone in a cgroup that the user's service manager delegates to it. This needs a [`super::Machine`].
    ///
    /// The command is executed by the program that asks for the cgroup, with the same process id.
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

    /// Changes how long the command may take.
    pub(crate) fn bound(mut self, bound: Duration) -> Self {
        self.bound = bound;
        self
    }

    /// Runs the command and expects exit code 0.
    #[track_caller]
    pub(crate) fn success(self) -> Output {
        self.status(0)
    }

    /// Runs the command and expects exit code 1: the code needs work.
    #[track_caller]
    pub(crate) fn failure(self) -> Output {
        self.status(1)
    }

    /// Runs the command and expects `status`: the exit code, or 128 plus the number of the signal that ended it.
    #[track_caller]
    pub(crate) fn status(self, status: i32) -> Output {
        let shown = format!("{:?}", self.command);
        let output = self.run();
        assert_eq!(output.status, status, "{shown} ended otherwise:\n{}", output.snapshot());
        output
    }

    /// Runs the command without an expectation: the caller checks the status.
    #[track_caller]
    pub(crate) fn any_status(self) -> Output {
        self.run()
    }

    /// Starts a command that runs until it is told to end.
    #[track_caller]
    pub(crate) fn watch(mut self) -> Watch<'project> {
        Watch::start(self.project, &mut self.command)
    }

    /// Starts the command at a pseudo-terminal.
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
