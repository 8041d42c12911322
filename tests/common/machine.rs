//! A container with its own service manager, for tests that need delegated cgroups or a real bus. Such a test runs
//! itself again inside the container.
//!
//! The container is started by a tool that boots a service manager in namespaces: the program that
//! `PROCTOR_WITH_SYSTEMD` names, else `../shared/tools/with-systemd` beside the repository. Without that tool, or
//! without root, a test prints that it was left out and passes. Inside the container the same test binary runs a single
//! test; two environment variables tell the test where it is.
#![expect(clippy::print_stdout, reason = "a test that is left out prints why, and a repeated test prints its output")]

use std::env;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::unistd::geteuid;
use proctor_model::IsolationLevel;
use tempfile::TempDir;

use crate::common::{copy_program, fake_tool, proctor, repository};

/// The variable with the names of the isolation levels that a test inside the machine is run for, separated by commas.
const INSIDE: &str = "PROCTOR_TEST_INSIDE";
/// The variable with the directory of the programs under test inside the machine. They are copies: other users may have no access to the
/// build directory.
const TOOLS: &str = "PROCTOR_TEST_TOOLS";
/// The name of the test binary's copy in the directory that [`TOOLS`] names.
const TESTS: &str = "tests";

/// The user that a command inside the machine runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Root, who runs the tests outside as well.
    Root,
    /// An unprivileged user in a login session. [`super::User::Unprivileged`] is another user, with the same service manager.
    Person,
}

/// A machine that can be booted, and copies of the programs under test for it.
#[must_use]
pub(crate) struct Machine {
    program: PathBuf,
    tools: TempDir,
}

impl Machine {
    /// Returns the machine. None: it cannot be booted, which is printed, or this test is running inside it already.
    #[track_caller]
    pub(crate) fn find() -> Option<Self> {
        if inside().is_some() {
            return None;
        }
        let named = env::var_os("PROCTOR_WITH_SYSTEMD").map(PathBuf::from);
        let program = named.unwrap_or_else(|| repository().join("../shared/tools/with-systemd"));
        if !program.exists() || !geteuid().is_root() {
            println!("left out: `{}` is not there, or we are not root", program.display());
            return None;
        }
        let tools = tempfile::Builder::new().prefix("proctor-test-").tempdir_in("/var/tmp").expect("a directory");
        fs::set_permissions(tools.path(), Permissions::from_mode(0o755)).expect("it is ours");
        for program in [proctor(), fake_tool()] {
            copy_program(program, &tools.path().join(program.file_name().expect("a program has a name")));
        }
        Some(Self { program, tools })
    }

    /// Returns the directory of `proctor` and `fake-tool`. Its path is the same outside and inside.
    pub(crate) fn tools(&self) -> &Path {
        self.tools.path()
    }

    /// Boots the machine, runs a command in it, and shuts it down with every process that is left in it.
    #[track_caller]
    pub(crate) fn run(&self, owner: Owner, variables: &[(&str, &str)], command: &[&OsStr]) -> Output {
        let mut machine = Command::new(&self.program);
        machine.args(["--no-bind-cwd", "--bind"]).arg(self.tools()).args((owner == Owner::Root).then_some("--root"));
        for (name, value) in variables {
            machine.arg("-e").arg(format!("{name}={value}"));
        }
        machine.arg("--").args(command).current_dir("/").stdin(Stdio::null());
        machine.output().expect("the machine can be started")
    }

    /// Repeats tests of this binary inside the machine, for these levels, and prints their output. Fails unless exactly `count` tests pass.
    #[track_caller]
    pub(crate) fn repeat(&self, owner: Owner, name: &str, count: usize, levels: &[IsolationLevel], more: &[(&str, &str)]) {
        let tests = self.tools().join(TESTS);
        copy_program(&env::current_exe().expect("a test is a program"), &tests);
        let levels: Vec<String> = levels.iter().map(|level| name_of(*level)).collect();
        let tools = self.tools().to_str().expect("a temporary path is text");
        let levels = levels.join(",");
        let variables: Vec<(&str, &str)> = [(INSIDE, levels.as_str()), (TOOLS, tools)].iter().chain(more).copied().collect();
        // One test at a time: they share the machine's sockets and cgroups.
        let arguments = [name, "--nocapture", "--test-threads=1", "--include-ignored"].map(OsStr::new);
        let command: Vec<&OsStr> = [tests.as_os_str()].into_iter().chain(arguments).collect();
        let output = self.run(owner, &variables, &command);
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        println!("{stdout}");
        assert!(output.status.success(), "`{name}` inside: {}\n{stderr}", output.status);
        let passed = format!("test result: ok. {count} passed");
        assert!(stdout.contains(&passed), "not {count} tests are called `{name}`");
    }
}

/// Returns the levels that a test inside the machine is run for. None: this test is not inside a machine.
pub(crate) fn inside() -> Option<Vec<IsolationLevel>> {
    let named = env::var(INSIDE).ok()?;
    let level = |name: &str| serde_json::from_value(name.into()).expect("our own variable names levels");
    Some(named.split(',').map(level).collect())
}

/// Returns the path of a program under test inside the machine. None: this test is not inside a machine.
pub(super) fn tool_inside(name: &str) -> Option<PathBuf> {
    env::var_os(TOOLS).map(|directory| Path::new(&directory).join(name))
}

/// Returns a level's name, as settings and reports have it.
pub(crate) fn name_of(level: IsolationLevel) -> String {
    let value = serde_json::to_value(level).expect("a level is JSON");
    value.as_str().expect("its name").to_owned()
}

/// Returns the arguments to put before a command so that it runs alone in a cgroup that a service manager delegates to
/// it.
///
/// The program that these arguments start executes the command, and the process id stays the same.
pub(crate) fn delegating(is_root: bool) -> impl Iterator<Item = &'static str> {
    let of_user = (!is_root).then_some("--user");
    ["systemd-run"].into_iter().chain(of_user).chain(["--scope", "--quiet", "--collect", "-p", "Delegate=yes", "--"])
}
