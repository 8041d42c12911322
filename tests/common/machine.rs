//! A machine with a service manager of its own, in which a test repeats itself where it needs delegated cgroups or a real bus.
//!
//! The machine is a tool that boots a service manager in namespaces: `PROCTOR_WITH_SYSTEMD`, else `../shared/tools/with-systemd`
//! beside the repository. Without it, or without root, whoever needs it says so and passes. Inside, this very binary runs again, with
//! one test by name; what it is told stands in two variables.
#![expect(clippy::print_stdout, reason = "a test that is left out says why, and one that was repeated what it said")]

use std::env;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::unistd::geteuid;
use proctor::model::IsolationLevel;
use tempfile::TempDir;

use crate::common::{fake_tool, proctor, repository};

/// The levels a test inside a machine is to look at, by their names, with commas between them.
const INSIDE: &str = "PROCTOR_TEST_INSIDE";
/// Where a test inside a machine finds the programs: the build directory may lie where nobody else may go.
const TOOLS: &str = "PROCTOR_TEST_TOOLS";
/// How this binary is called there.
const TESTS: &str = "tests";

/// Who a command inside belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The machine's root, which is the tests' own.
    Root,
    /// An unprivileged user in a session of its own. Another one, with the same service manager, is [`super::User::Unprivileged`].
    Person,
}

/// A machine that can be booted, and the programs for it.
#[must_use]
pub(crate) struct Machine {
    program: PathBuf,
    tools: TempDir,
}

impl Machine {
    /// Returns the machine; none where there is none, which is said, or where this is a test inside one.
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
            fs::copy(program, tools.path().join(program.file_name().expect("a program has a name"))).expect("a copy");
        }
        Some(Self { program, tools })
    }

    /// Returns where its `proctor` and `fake-tool` lie, outside and inside.
    pub(crate) fn tools(&self) -> &Path {
        self.tools.path()
    }

    /// Boots it, runs a command in it, and takes it down with everything that is left in it.
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

    /// Repeats tests of this binary inside, for these levels, and prints what they say; fails when not so many have passed.
    #[track_caller]
    pub(crate) fn repeat(&self, owner: Owner, name: &str, count: usize, levels: &[IsolationLevel], more: &[(&str, &str)]) {
        let tests = self.tools().join(TESTS);
        fs::copy(env::current_exe().expect("a test is a program"), &tests).expect("a copy");
        let levels: Vec<String> = levels.iter().map(|level| name_of(*level)).collect();
        let tools = self.tools().to_str().expect("a temporary path is text");
        let levels = levels.join(",");
        let variables: Vec<(&str, &str)> = [(INSIDE, levels.as_str()), (TOOLS, tools)].iter().chain(more).copied().collect();
        // One after the other: they share the machine's few places.
        let arguments = [name, "--nocapture", "--test-threads=1"].map(OsStr::new);
        let command: Vec<&OsStr> = [tests.as_os_str()].into_iter().chain(arguments).collect();
        let output = self.run(owner, &variables, &command);
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        println!("{stdout}");
        assert!(output.status.success(), "`{name}` inside: {}\n{stderr}", output.status);
        let passed = format!("test result: ok. {count} passed");
        assert!(stdout.contains(&passed), "not {count} tests are called `{name}`");
    }
}

/// Returns the levels a test inside a machine is to look at; none outside of one.
pub(crate) fn inside() -> Option<Vec<IsolationLevel>> {
    let named = env::var(INSIDE).ok()?;
    let level = |name: &str| serde_json::from_value(name.into()).expect("our own variable names levels");
    Some(named.split(',').map(level).collect())
}

/// Returns where a test inside a machine finds this program; none outside of one.
pub(super) fn tool_inside(name: &str) -> Option<PathBuf> {
    env::var_os(TOOLS).map(|directory| Path::new(&directory).join(name))
}

/// Returns a level's name, as settings and reports have it.
pub(crate) fn name_of(level: IsolationLevel) -> String {
    let value = serde_json::to_value(level).expect("a level is JSON");
    value.as_str().expect("its name").to_owned()
}

/// Returns what makes a command the only one in a cgroup that a service manager delegates to it: the arguments before it.
///
/// The command takes the place of this program, with its process id.
pub(crate) fn delegating(is_root: bool) -> impl Iterator<Item = &'static str> {
    let of_user = (!is_root).then_some("--user");
    ["systemd-run"].into_iter().chain(of_user).chain(["--scope", "--quiet", "--collect", "-p", "Delegate=yes", "--"])
}
