//! For whom a use case works: the variables and paths of the process, and how the person or program hears from it. Whoever starts the
//! process reads them (G6); nothing here asks the system for a variable.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::caller::Caller;
use crate::error::CommandError;
#[cfg(feature = "test-fakes")]
use proctor_evidence::FailureInjection;
use proctor_evidence::report::OutgoingRedactor;
use proctor_evidence::{agents_directory, read_boot_id};
use proctor_model::{Asker, CommandExit, IsolationLevel};
use proctor_plan::config::SHORTEST_SECRET;
use proctor_project::StepObserver;
use proctor_sandbox::process::{find_agent_above, variables_of_listener};
use proctor_sandbox::real_path;

/// The lock file beside the control socket, which names the service's process. The running service holds its lock; the kernel releases it
/// when that process ends in any way.
pub const SERVICE_LOCK: &str = "daemon.lock";

/// The variables and paths with which the process was started.
#[derive(Clone)]
pub struct Environment {
    variables: Arc<BTreeMap<OsString, OsString>>,
    working_directory: PathBuf,
    state_root: PathBuf,
    executable: PathBuf,
    /// The values that the command line gives to placeholders of test specifications (`--set`).
    values: Vec<(String, String)>,
    caller: Caller,
}

/// Returns the number of CPUs that this process may use, by its affinity and its control groups. The kernel is asked
/// only once, because asking takes a dozen system calls, and `proctor watch` needs the number between each save and its run.
pub fn processors() -> u32 {
    static PROCESSORS: OnceLock<u32> = OnceLock::new();
    // If the number is unknown, one action at a time is always safe.
    let ask = || std::thread::available_parallelism().map_or(1, |number| u32::try_from(number.get()).unwrap_or(u32::MAX));
    *PROCESSORS.get_or_init(ask)
}

/// Returns how many actions go on at the same time if no setting says it: one more than there are CPUs. While an action starts or
/// waits for a file, another one has work for its CPU; ninja starts one more for the same reason. With one CPU it is one.
pub fn default_turns() -> u32 {
    turns_for(processors())
}

fn turns_for(processors: u32) -> u32 {
    if processors > 1 { processors.saturating_add(1) } else { 1 }
}

// Variables may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { working_directory, state_root, .. } = self;
        formatter.debug_struct("Environment").field("in", working_directory).field("store", state_root).finish_non_exhaustive()
    }
}

impl Environment {
    /// Takes the variables and the working directory of the process. It is an error if the working directory could not be read, or if no
    /// directory for the store is known.
    pub fn new(
        variables: BTreeMap<OsString, OsString>,
        working_directory: io::Result<PathBuf>,
        caller: Caller,
    ) -> Result<Self, CommandError> {
        let working_directory = working_directory.map_err(|error| {
            CommandError::caused(CommandExit::Usage, "the working directory cannot be read", &error)
                .hint("change to a directory that exists and run the command again")
        })?;
        let state_root = state_root(&variables).ok_or_else(|| {
            CommandError::new(CommandExit::Usage, "there is no place for the evidence store")
                .hint("set HOME, or XDG_STATE_HOME to an absolute path")
        })?;
        // The isolation and the mounts of a snapshot know the store by its real path. If a directory on the given path is a link,
        // such as `~/.local/state` to another disk, the given path differs from the real one.
        let state_root = real_path(&state_root);
        let executable = PathBuf::from("/proc/self/exe");
        let variables = Arc::new(variables);
        let environment = Self { variables, working_directory, state_root, executable, values: Vec::new(), caller };
        #[cfg(feature = "test-fakes")]
        environment.install_failure_injection();
        Ok(environment)
    }

    /// Returns the same environment for another caller.
    #[must_use]
    pub fn with_caller(&self, caller: Caller) -> Self {
        Self { caller, ..self.clone() }
    }

    /// Returns the environment with the store of the running service, and tells the caller if that is another one: whoever starts a hook
    /// chooses its variables, and the service has those of the session of the person.
    #[must_use]
    pub fn with_store_of_service(&self) -> Self {
        let theirs = self.control_socket().and_then(|path| {
            let socket = UnixStream::connect(&path).ok()?;
            let lock = std::fs::read_to_string(path.with_file_name(SERVICE_LOCK));
            variables_of_listener(socket.as_fd(), lock.ok().and_then(|pid| pid.trim().parse().ok()), "proctor")
        });
        let named = theirs.and_then(|variables| Some((real_path(&state_root(&variables)?), variables)));
        let Some((root, variables)) = named.filter(|(root, _)| *root != self.state_root) else { return self.clone() };
        let (own, theirs) = (self.state_root.display(), root.display());
        self.note(&format!("XDG_STATE_HOME or HOME name the store `{own}` here: the service's own, `{theirs}`, is asked"));
        let mut environment = Self { state_root: root.clone(), ..self.clone() };
        for name in ["XDG_STATE_HOME", "HOME"].map(OsString::from) {
            match variables.get(&name) {
                Some(value) => Arc::make_mut(&mut environment.variables).insert(name, value.clone()),
                None => Arc::make_mut(&mut environment.variables).remove(&name),
            };
        }
        environment
    }

    /// Returns who asks.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Tells the caller a line that belongs to no answer.
    pub fn note(&self, line: &str) {
        self.caller.note(line);
    }

    /// Makes a file operation or the clock fail as a test asks. For the clock, the test gives `READING:MILLISECONDS`.
    #[cfg(feature = "test-fakes")]
    fn install_failure_injection(&self) {
        let text = |name: &str| self.variable(name).and_then(OsStr::to_str);
        let (fail_at, die_at) = (text("PROCTOR_TEST_FAIL_AT"), text("PROCTOR_TEST_DIE_AT"));
        let passed = self.variable("PROCTOR_TEST_PASSED").map(Path::new);
        if let Some(injection) = FailureInjection::parse(fail_at, die_at, passed, proctor_sandbox::process::kill_self) {
            injection.install();
        }
        let set_back = text("PROCTOR_TEST_CLOCK_BACK").and_then(|text| text.split_once(':'));
        if let Some((reading, millis)) = set_back
            && let (Ok(reading), Ok(millis)) = (reading.parse(), millis.parse())
        {
            proctor_sandbox::process::clock::stepped::set_back(reading, millis);
        }
    }

    /// Returns the environment with the values that the command line gives to placeholders.
    #[must_use]
    pub fn with_values(&self, values: &[(String, String)]) -> Self {
        Self { values: values.to_vec(), ..self.clone() }
    }

    /// Returns the environment without the programs in a directory, such as those of a virtual environment of a project.
    #[must_use]
    pub fn without_directories_below(&self, directory: &Path) -> Self {
        let mut environment = self.clone();
        if let Some(path) = self.variables.get(OsStr::new("PATH")) {
            let left = std::env::split_paths(path).filter(|entry| !real_path(entry).starts_with(directory));
            if let Ok(left) = std::env::join_paths(left) {
                Arc::make_mut(&mut environment.variables).insert(OsString::from("PATH"), left);
            }
        }
        if environment.variables.get(OsStr::new("VIRTUAL_ENV")).is_some_and(|place| Path::new(place).starts_with(directory)) {
            Arc::make_mut(&mut environment.variables).remove(OsStr::new("VIRTUAL_ENV"));
        }
        environment
    }

    /// Returns the values that the command line gives to placeholders of test specifications.
    pub fn values(&self) -> &[(String, String)] {
        &self.values
    }

    /// Returns all environment variables of this process. Actions do not get all of them, but only those on a list
    /// (E12).
    pub fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    /// Returns the directory of the evidence store: `$XDG_STATE_HOME/proctor`, or the default below HOME.
    pub fn state_root(&self) -> &Path {
        &self.state_root
    }

    /// Returns the directory in which the running coding agents are registered that use proctor's hooks or its MCP server.
    pub fn agents_directory(&self) -> PathBuf {
        agents_directory(&self.state_root)
    }

    /// Returns the running coding agent that uses proctor and has started this process, if one has.
    pub fn agent_above(&self) -> Option<i32> {
        find_agent_above(&self.agents_directory(), &read_boot_id(), i32::try_from(std::process::id()).ok()?)
    }

    /// Returns the path of the service's control socket; `None` if `XDG_RUNTIME_DIR` is not an absolute path.
    pub fn control_socket(&self) -> Option<PathBuf> {
        let named = self.variables.get(OsStr::new("XDG_RUNTIME_DIR")).map(PathBuf::from).filter(|path| path.is_absolute());
        Some(named?.join("proctor").join("control.sock"))
    }

    /// Returns whether systemd has passed exactly one listening socket to this process (`sd_listen_fds(3)`).
    pub fn passed_sockets(&self) -> bool {
        let number = |name: &str| self.variable(name).and_then(|text| text.to_str()?.parse::<u32>().ok());
        number("LISTEN_PID") == Some(std::process::id()) && number("LISTEN_FDS") == Some(1)
    }

    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Returns the path from which this program was started: the absolute path that it was called by, which may be a link to one of several
    /// versions, or else the path of the program's file.
    pub fn program_file(&self) -> PathBuf {
        let called = std::env::args_os().next().map(PathBuf::from).filter(|path| path.is_absolute() && path.is_file());
        called
            .or_else(|| std::fs::read_link(&self.executable).ok().map(without_deleted))
            .unwrap_or_else(|| self.executable.clone())
    }

    /// Returns the path of this program. The launcher is started from the same path.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// Returns the absolute form of a path from the command line.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.working_directory.join(path)
    }

    /// Returns whether output has no colours: the person asked for none, or the terminal prints control sequences
    /// instead of obeying them.
    pub fn refuses_colours(&self) -> bool {
        self.has("NO_COLOR") || self.has_dumb_terminal()
    }

    /// Returns whether the terminal prints control sequences instead of obeying them.
    pub fn has_dumb_terminal(&self) -> bool {
        self.variable("TERM").is_some_and(|terminal| terminal == "dumb")
    }

    /// Returns whether a variable is set and not empty.
    pub fn has(&self, name: &str) -> bool {
        self.variables.get(OsStr::new(name)).is_some_and(|value| !value.is_empty())
    }

    /// Returns the function that is called after every durable step of a run. Outside of tests it does nothing.
    #[cfg(not(feature = "test-fakes"))]
    pub fn observer(&self) -> StepObserver {
        Arc::new(|_| {})
    }

    /// Returns the function that is called after every durable step of a run. A test can kill the process after one of
    /// the steps.
    #[cfg(feature = "test-fakes")]
    pub fn observer(&self) -> StepObserver {
        let fatal = self.variables.get(OsStr::new("PROCTOR_TEST_DIE_AFTER")).map(|value| value.to_string_lossy().into_owned());
        Arc::new(move |step| {
            FailureInjection::log_step(step);
            if fatal.as_deref() == Some(step.name()) {
                proctor_sandbox::process::kill_self();
            }
        })
    }

    /// Returns the redactor for texts that leave the store: it knows this machine's name, its user and the home directory.
    pub fn outgoing_redactor(&self) -> OutgoingRedactor {
        proctor_project::outgoing_redactor(&self.variables)
    }

    /// Returns the strongest level of isolation that proctor tries to use.
    #[cfg(not(feature = "test-fakes"))]
    pub fn strongest_isolation(&self) -> IsolationLevel {
        IsolationLevel::Namespace
    }

    /// Returns the strongest level of isolation that proctor tries to use. Tests can choose a weaker level.
    #[cfg(feature = "test-fakes")]
    pub fn strongest_isolation(&self) -> IsolationLevel {
        match self.variable("PROCTOR_TEST_ISOLATION").and_then(OsStr::to_str) {
            Some("cgroup") => IsolationLevel::Cgroup,
            Some("landlock") => IsolationLevel::Landlock,
            Some("process-group") => IsolationLevel::ProcessGroup,
            Some(_) | None => IsolationLevel::Namespace,
        }
    }

    /// Returns the path of the user's own configuration: `$XDG_CONFIG_HOME/proctor/config.toml`, or the default below HOME;
    /// `None` if neither variable is an absolute path. The second value is HOME, on the same condition.
    pub fn user_configuration(&self) -> (Option<PathBuf>, Option<PathBuf>) {
        let home = absolute(&self.variables, "HOME");
        let base = absolute(&self.variables, "XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        (base.map(|base| base.join("proctor").join("config.toml")), home)
    }

    /// Returns the path of the user's own configuration as messages show it: with `~` for HOME.
    pub fn shown_user_configuration(&self) -> String {
        let (path, home) = self.user_configuration();
        let Some(path) = path else { return "~/.config/proctor/config.toml".to_owned() };
        match home.and_then(|home| Some(path.strip_prefix(home).ok()?.to_owned())) {
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }

    /// Returns those of the named variables that cannot fill a placeholder, each with the reason.
    pub fn unusable_secrets(&self, names: &[String]) -> BTreeMap<String, &'static str> {
        let why = |name: &String| match self.variable(name) {
            None => Some("the variable is not set"),
            Some(value) if value.to_str().is_none() => Some("the variable is not UTF-8"),
            Some(value) if value.len() < SHORTEST_SECRET => Some("the variable is too short to be kept out of what is printed"),
            Some(_) => None,
        };
        names.iter().filter_map(|name| Some((name.clone(), why(name)?))).collect()
    }

    /// Returns the user and process that made the request, for the ledger (S3).
    pub fn asker(&self) -> Asker {
        Asker {
            pid: std::process::id(),
            uid: nix::unistd::getuid().as_raw(),
            executable: std::fs::read_link(&self.executable).ok().map(|path| path.display().to_string()),
            terminal: nix::unistd::ttyname(std::io::stdin()).ok().map(|path| path.display().to_string()),
        }
    }
}

fn absolute(variables: &BTreeMap<OsString, OsString>, name: &str) -> Option<PathBuf> {
    variables.get(OsStr::new(name)).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the path that a program had before another file took its name, or before it was removed.
fn without_deleted(path: PathBuf) -> PathBuf {
    let former = path.as_os_str().as_bytes().strip_suffix(b" (deleted)").map(|former| PathBuf::from(OsStr::from_bytes(former)));
    former.unwrap_or(path)
}

fn state_root(variables: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let base = absolute(variables, "XDG_STATE_HOME").or_else(|| Some(absolute(variables, "HOME")?.join(".local/state")))?;
    Some(base.join("proctor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_action_than_cpus_goes_on_at_a_time_but_one_with_one_cpu() {
        assert_eq!([0, 1, 2, 8].map(turns_for), [1, 1, 3, 9]);
        assert_eq!(turns_for(u32::MAX), u32::MAX);
    }

    #[test]
    fn a_relative_state_home_is_ignored() {
        let variables = |pairs: &[(&str, &str)]| pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let root = |pairs: &[(&str, &str)]| state_root(&variables(pairs));
        assert_eq!(root(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")]), Some("/s/proctor".into()));
        assert_eq!(root(&[("XDG_STATE_HOME", "s"), ("HOME", "/h")]), Some("/h/.local/state/proctor".into()));
        assert_eq!(root(&[("HOME", "")]), None);
    }
}
