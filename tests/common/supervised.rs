//! Runs a supervisor in another process, as this user or as an unprivileged one, and finds the processes that it has left by a cookie: a
//! random text in their arguments or environment.
#![expect(clippy::print_stdout, reason = "the log of the tests shows the whole matrix")]

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
use proctor_model::{IsolationLevel, Sandbox};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{copy_program, delegating, fake_tool, inside, poll};

/// The number of the user and group as which root repeats a test. No account has this number.
const UNPRIVILEGED: u32 = 4711;
/// How much longer than its own limits a supervisor may take before it is killed.
const PATIENCE: Duration = Duration::from_secs(30);

/// The user that a supervisor runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum User {
    /// The user who runs the tests.
    Own,
    /// A user without privileges. Only root can run a test as this user.
    Unprivileged,
}

/// The command that a supervisor runs, with its settings. The field names are those of `fake-tool __supervise-job`.
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

/// The end of a job, as its supervisor prints it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndedAction {
    pub(crate) end: Value,
    pub(crate) duration_ms: u64,
    pub(crate) survivors: Vec<Value>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A directory with a copy of `fake-tool`, and the user that both belong to.
#[must_use]
pub(crate) struct Supervised {
    user: User,
    root: TempDir,
    tool: PathBuf,
    jobs: AtomicU32,
}

/// A supervisor whose job has ended, but which is still running itself. Every process of the job that is alive now was left by the
/// supervision.
#[must_use = "dropping it ends the supervisor"]
pub(crate) struct Returned {
    pub(crate) ended: EndedAction,
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
    /// Returns the users that tests can run as on this machine.
    pub(crate) fn all() -> Vec<Self> {
        if geteuid().is_root() { vec![Self::Own, Self::Unprivileged] } else { vec![Self::Own] }
    }

    pub(crate) fn is_root(self) -> bool {
        self == Self::Own && geteuid().is_root()
    }

    /// Returns the user's number (uid).
    pub(crate) fn number(self) -> u32 {
        if self == Self::Own { geteuid().as_raw() } else { UNPRIVILEGED }
    }

    /// Returns a command that runs as this user, with an empty environment.
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

    /// Returns a command that runs as this user, alone in a cgroup that the user's service manager delegates to it.
    fn delegated_command(self, program: &Path) -> Command {
        let mut arguments = delegating(self.is_root());
        let mut command = self.command(Path::new(arguments.next().expect("a program's name")));
        command.args(arguments).arg(program).env("XDG_RUNTIME_DIR", format!("/run/user/{}", self.number()));
        command
    }

    /// Returns whether this user may create user namespaces on this machine.
    #[track_caller]
    pub(crate) fn has_user_namespaces(self) -> bool {
        let mut command = self.command(Path::new("unshare"));
        let quiet = command.args(["--user", "--pid", "--mount", "--fork", "true"]).stderr(Stdio::null());
        quiet.status().expect("`unshare` and `setpriv` of util-linux are there").success()
    }

    /// Makes this user the owner of everything below a directory.
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
    /// Makes the directory. It is not below `/tmp`, since an isolated action may see a private `/tmp` instead; other users cannot read it.
    #[track_caller]
    pub(crate) fn new(user: User) -> Self {
        let root = tempfile::Builder::new().prefix("proctor-").tempdir_in("/var/tmp").expect("`/var/tmp` is for everybody");
        let tool = root.path().join("fake-tool");
        // The tool is copied, since the other user may have no access to the build directory.
        copy_program(fake_tool(), &tool);
        user.own(root.path());
        Self { user, root, tool, jobs: AtomicU32::new(0) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Creates an empty file that the user owns.
    pub(crate) fn create(&self, path: &Path) {
        File::create_new(path).expect("our own directory");
        self.user.own(path);
    }

    pub(crate) fn tool(&self) -> &Path {
        &self.tool
    }

    /// Returns a set-user-id copy of the tool that root owns. None: the supervisor runs as the user of the tests, for
    /// whom the set-user-id bit would change nothing.
    pub(crate) fn set_user_id_tool(&self) -> Option<PathBuf> {
        if self.user == User::Own {
            return None;
        }
        let path = self.path("fake-tool-of-root");
        copy_program(&self.tool, &path);
        chown(&path, Some(0), Some(0)).expect("root may give files away");
        fs::set_permissions(&path, Permissions::from_mode(0o4755)).expect("root's own file");
        Some(path)
    }

    /// Runs a job under a supervisor as this user, and returns when the supervision is over.
    ///
    /// # Errors
    /// When the supervisor did not report the end of its job.
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
        // Another thread's child may have inherited the descriptor to which the tool was copied. Until it executes its program, the kernel
        // refuses to execute the tool (`ETXTBSY`).
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
    /// Returns the cgroups of actions that are left below the supervisor's own cgroup; an empty list if no cgroup was delegated to it.
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
        // The supervisor may have ended already.
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// Every isolation level, from the strongest to the weakest.
pub(crate) const LEVELS: [IsolationLevel; 4] =
    [IsolationLevel::Namespace, IsolationLevel::Cgroup, IsolationLevel::Landlock, IsolationLevel::ProcessGroup];

/// Returns the levels that this machine supports. The others are printed with the reason.
///
/// A machine that runs the tests must support every level except `Cgroup`, for which the tests may not be allowed to write to the cgroup file
/// system. That level is tested inside a [`super::Machine`].
pub(crate) fn levels() -> Vec<IsolationLevel> {
    inside().unwrap_or_else(|| {
        println!("Cgroup: no cgroup is delegated to these tests");
        LEVELS.into_iter().filter(|level| *level != IsolationLevel::Cgroup).collect()
    })
}

/// Returns a text that is in no other process's arguments or environment.
pub(crate) fn new_cookie() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("proctor-cookie-{}-{:06}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Returns every process with the cookie in its arguments or environment, in any namespace. Zombies have neither and are not found.
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

/// Kills every process that has the cookie, and repeats that until none is left.
#[track_caller]
pub(crate) fn end_all_with(cookie: &str) {
    poll(PATIENCE, "the processes that were left to die", || {
        let living = living_with(cookie);
        for process in &living {
            // The process may have ended between the scan and the signal; the next scan shows that.
            let _gone = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
        }
        if living.is_empty() { Ok(()) } else { Err(format!("{living:?}")) }
    });
}
