//! A supervisor in a process of its own, of this user or of an unprivileged one, and finding what it left by a cookie.
#![expect(clippy::print_stdout, reason = "whoever reads the log of the tests sees the whole matrix")]

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use proctor::model::{IsolationLevel, Sandbox};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{delegating, fake_tool, inside, poll};

/// The user and group that a run of root's is repeated as: nobody has this number.
const UNPRIVILEGED: u32 = 4711;
/// How long a supervisor may take beyond its own limits before it is killed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whom a supervisor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum User {
    /// Whoever runs the tests.
    Own,
    /// A user without any privilege, where root runs the tests.
    Unprivileged,
}

/// What a supervisor is to run. The field names are those of `fake-tool __supervise-job`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Job {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) directory: PathBuf,
    pub(crate) timeout_ms: u64,
    pub(crate) grace_ms: u64,
    pub(crate) isolation: IsolationLevel,
    pub(crate) sandbox: Option<Sandbox>,
    pub(crate) output: Option<PathBuf>,
}

/// How a job ended, as its supervisor prints it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ended {
    pub(crate) end: Value,
    pub(crate) duration_ms: u64,
    pub(crate) survivors: Vec<Value>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A directory, a copy of `fake-tool` in it, and whoever they belong to.
#[must_use]
pub(crate) struct Supervised {
    user: User,
    root: TempDir,
    tool: PathBuf,
    jobs: AtomicU32,
}

/// A supervisor whose job has ended and which has not ended itself: what is alive now is what supervising left.
#[must_use = "dropping it ends the supervisor"]
pub(crate) struct Returned {
    pub(crate) ended: Ended,
    process: Child,
    stdin: Option<ChildStdin>,
}

/// A process that was found alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Living {
    pub(crate) pid: i32,
    pub(crate) command: String,
}

impl User {
    /// Returns everybody the tests can be run as here.
    pub(crate) fn all() -> Vec<Self> {
        if geteuid().is_root() { vec![Self::Own, Self::Unprivileged] } else { vec![Self::Own] }
    }

    /// Returns whether this user is root.
    pub(crate) fn is_root(self) -> bool {
        self == Self::Own && geteuid().is_root()
    }

    /// Returns the user's number.
    pub(crate) fn number(self) -> u32 {
        if self == Self::Own { geteuid().as_raw() } else { UNPRIVILEGED }
    }

    /// Returns a command that is run as this user, with an empty environment.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = match self {
            Self::Own => Command::new(program),
            Self::Unprivileged => {
                let mut command = Command::new("setpriv");
                let number = UNPRIVILEGED.to_string();
                command.args(["--reuid", &number, "--regid", &number, "--clear-groups", "--"]).arg(program);
                command
            }
        };
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
    }

    /// Returns the same command in a cgroup that this user's service manager delegates to it; it is the only one there.
    fn delegated_command(self, program: &Path) -> Command {
        let mut arguments = delegating(self.is_root());
        let mut command = self.command(Path::new(arguments.next().expect("a program's name")));
        command.args(arguments).arg(program).env("XDG_RUNTIME_DIR", format!("/run/user/{}", self.number()));
        command
    }

    /// Returns whether this user may make a user namespace here.
    #[track_caller]
    pub(crate) fn has_user_namespaces(self) -> bool {
        let mut command = self.command(Path::new("unshare"));
        let quiet = command.args(["--user", "--pid", "--mount", "--fork", "true"]).stderr(Stdio::null());
        quiet.status().expect("`unshare` and `setpriv` of util-linux are there").success()
    }

    /// Gives everything below a directory to this user.
    pub(crate) fn own(self, path: &Path) {
        if self == Self::Own {
            return;
        }
        std::os::unix::fs::lchown(path, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).expect("root may give files away");
        if path.is_dir() && !path.is_symlink() {
            for entry in fs::read_dir(path).expect("a directory of ours").flatten() {
                self.own(&entry.path());
            }
        }
    }
}

impl Display for User {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "uid {}", self.number())
    }
}

impl Supervised {
    /// Makes the directory. It is not below `/tmp`, which an action may have one of its own of, and nobody else may look into it.
    #[track_caller]
    pub(crate) fn new(user: User) -> Self {
        let root = tempfile::Builder::new().prefix("proctor-").tempdir_in("/var/tmp").expect("`/var/tmp` is for everybody");
        let tool = root.path().join("fake-tool");
        // A copy: the build directory may lie where the other user may not go.
        fs::copy(fake_tool(), &tool).expect("a copy of the tool");
        user.own(root.path());
        Self { user, root, tool, jobs: AtomicU32::new(0) }
    }

    /// Returns a path in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Creates an empty file that belongs to the user.
    pub(crate) fn create(&self, path: &Path) {
        File::create_new(path).expect("our own directory");
        self.user.own(path);
    }

    /// Returns the copy of the tool.
    pub(crate) fn tool(&self) -> &Path {
        &self.tool
    }

    /// Returns a copy of the tool that is root's and set-user-id, where that can be and means something.
    pub(crate) fn set_user_id_tool(&self) -> Option<PathBuf> {
        if self.user == User::Own {
            return None;
        }
        let path = self.path("fake-tool-of-root");
        fs::copy(&self.tool, &path).expect("a copy of the tool");
        chown(&path, Some(0), Some(0)).expect("root may give files away");
        fs::set_permissions(&path, Permissions::from_mode(0o4755)).expect("root's own file");
        Some(path)
    }

    /// Runs a job under a supervisor of this user's and returns when the supervising has; an error is a supervisor that did not return.
    pub(crate) fn run(&self, job: &Job) -> Result<Returned, String> {
        let number = self.jobs.fetch_add(1, Ordering::Relaxed);
        let path = |kind: &str| self.path(&format!("job-{number}.{kind}"));
        fs::write(path("json"), serde_json::to_vec(job).expect("a job is JSON")).expect("our own directory");
        let create = |kind: &str| File::create_new(path(kind)).expect("our own directory");
        self.user.own(&path("json"));
        let mut command = match inside() {
            None => self.user.command(&self.tool),
            Some(_) => self.user.delegated_command(&self.tool),
        };
        command.arg("__supervise-job").arg(path("json"));
        command.stdin(Stdio::piped()).stdout(create("out")).stderr(create("err"));
        // While another thread forks, its child may hold the descriptor by which the tool was copied: it is then busy for a moment.
        let mut process = poll(PATIENCE, "the supervisor to start", || match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => Err(error.to_string()),
            spawned => Ok(spawned.expect("the supervisor starts")),
        });
        let stdin = process.stdin.take();
        let begun = std::time::Instant::now();
        loop {
            let said = fs::read_to_string(path("out")).unwrap_or_default();
            if said.ends_with('\n') {
                let ended = serde_json::from_str(&said).expect("one JSON document");
                return Ok(Returned { ended, process, stdin });
            }
            if let Some(status) = process.try_wait().expect("our own child") {
                return Err(format!("the supervisor ended: {status}: {}", fs::read_to_string(path("err")).unwrap_or_default()));
            }
            if begun.elapsed() > PATIENCE {
                process.kill().and_then(|()| process.wait()).expect("our own child");
                return Err(format!("the supervisor did not return within {PATIENCE:?}"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Returned {
    /// Returns the cgroups of actions that are left below the supervisor's own; none where it has none to itself.
    pub(crate) fn cgroups_left(&self) -> Vec<PathBuf> {
        if inside().is_none() {
            return Vec::new();
        }
        let membership = fs::read_to_string(format!("/proc/{}/cgroup", self.process.id())).unwrap_or_default();
        let own = membership.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let entries = fs::read_dir(Path::new("/sys/fs/cgroup").join(own)).into_iter().flatten().flatten();
        let is_of_action = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("action-"));
        entries.map(|entry| entry.path()).filter(is_of_action).collect()
    }
}

impl Drop for Returned {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let begun = std::time::Instant::now();
        while begun.elapsed() < PATIENCE {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // It may end between the look and the signal.
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// Every level, the strongest first.
pub(crate) const LEVELS: [IsolationLevel; 4] =
    [IsolationLevel::Namespace, IsolationLevel::Cgroup, IsolationLevel::Landlock, IsolationLevel::ProcessGroup];

/// Returns the levels that can be had; the others are printed with the reason.
///
/// A machine that runs the tests must have all but `Cgroup`, whose reason is a file system that is not ours to write: it is looked
/// at inside a machine with a service manager of its own.
pub(crate) fn levels() -> Vec<IsolationLevel> {
    inside().unwrap_or_else(|| {
        println!("Cgroup: no cgroup is delegated to these tests");
        LEVELS.into_iter().filter(|level| *level != IsolationLevel::Cgroup).collect()
    })
}

/// Returns a text that no other process has in its arguments or environment.
pub(crate) fn new_cookie() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("proctor-cookie-{}-{:06}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Returns every process, in whatever namespace, that has the cookie in its arguments or environment. Zombies have neither.
pub(crate) fn living_with(cookie: &str) -> Vec<Living> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let has = |bytes: &[u8]| bytes.windows(cookie.len()).any(|window| window == cookie.as_bytes());
    ids.filter_map(|pid| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let carries = has(&arguments) || has(&fs::read(format!("/proc/{pid}/environ")).unwrap_or_default());
        let command = String::from_utf8_lossy(&arguments).replace('\0', " ").trim_end().to_owned();
        carries.then_some(Living { pid, command })
    })
    .collect()
}

/// Kills every process that has the cookie, until none is left.
#[track_caller]
pub(crate) fn end_all_with(cookie: &str) {
    poll(PATIENCE, "the processes that were left to die", || {
        let living = living_with(cookie);
        for process in &living {
            // It may have gone between the scan and the signal; the next scan tells.
            let _gone = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
        }
        if living.is_empty() { Ok(()) } else { Err(format!("{living:?}")) }
    });
}
