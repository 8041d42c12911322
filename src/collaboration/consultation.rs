//! Asks a model: a command that is kept apart as a check is, and from more. And a person's own tools that ask nobody: git, the tracker.
//!
//! A model sees the project's copy it is given, which nobody else has written to, and nothing of what was said to another model: caches,
//! which checks share, are read-only to it. What opens the tracker is hidden, whatever the settings show.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{HomeAccess, SandboxMode, SandboxSettings};
use crate::evidence::mint_nonce;
use crate::model::{Access, Action, ActionLimits, Ended, GovernanceRecord, LedgerBody, Place, StopStage};
use crate::process::{
    ALL_REASONS, Control, Isolation, LaunchRequest, LaunchedChild, Sinks, SuperviseError, resolve_program, supervise,
};
use crate::project::Progress;
use crate::project::RunError;
use crate::project::Workspace;
use crate::project::{Scope, Settings};
use crate::run::not_started;
use crate::sandbox::SandboxRequest;
use crate::sandbox::isolation;
use crate::sandbox::{ChildEnvironment, EnvironmentAdditions};

/// Trackers' command lines that are hidden from models wherever the search path has them.
const TRACKERS: &[&str] = &["gh", "hub", "glab", "tea", "jira"];

/// What runs other programs: hiding one would take it from a model that is written in its language.
const INTERPRETERS: &[&str] = &["sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "env"];

/// Variables that would lead git to another repository than the project's.
const GIT_VARIABLES: &[&str] =
    &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"];

/// The most bytes a tool or a model may print: more is stopped.
const OUTPUT_CAP: u64 = 4 << 20;

/// How long a run of the project is waited for before something is written into its ledger.
const LEDGER_WAIT: Duration = Duration::from_secs(3600);

/// How long stopping a tool may take.
const TOOL_GRACE: Duration = Duration::from_secs(5);

/// A model that is to be asked.
pub struct ModelRequest<'a> {
    /// The command, with its time and its grace.
    pub action: &'a Action,
    /// What it reads on its standard input.
    pub prompt: &'a [u8],
    /// Its copy of the project, the top of it.
    pub copy: &'a Path,
    /// Where in it the command runs.
    pub directory: &'a Path,
    /// What it must not see, beside what no action sees.
    pub hidden: &'a [PathBuf],
    /// The tracker's program, by its name.
    pub tracker: &'a str,
    /// Names of variables that are passed on.
    pub pass_environment: &'a [String],
    /// Credentials that stay visible.
    pub visible: &'a [String],
    /// What it may write to beside its copy.
    pub writable: &'a [String],
    /// The project's settings: isolation and its limits.
    pub settings: &'a Settings,
    /// By which it is stopped.
    pub control: &'a Control,
}

/// A tool of the person's own.
pub struct OwnToolRequest<'a> {
    /// Program and arguments.
    pub argv: &'a [String],
    /// Where it runs.
    pub directory: &'a Path,
    /// Variables that are set beside the person's.
    pub environment: &'a [(&'a str, &'a str)],
    /// How long it may take.
    pub timeout: Duration,
    /// By which it is stopped.
    pub control: &'a Control,
}

impl Workspace {
    /// Asks a model. That it cannot be started, fails or hangs is a value.
    ///
    /// # Errors
    /// When its sandbox cannot be settled, or supervising fails.
    pub fn consult(&mut self, request: &ModelRequest<'_>) -> Result<Ended, RunError> {
        let scratch = Scratch::make(self.store.root())?;
        let environment = self.model_environment(request, &scratch);
        let argv = &request.action.command.argv;
        let name = argv.first().map(String::as_str).unwrap_or_default();
        let program = match resolve_program(name, request.directory, &environment.search_path()) {
            Ok(program) => program,
            Err(failure) => return Ok(not_started(failure)),
        };
        let isolation = self.model_isolation(request, &scratch, &environment, &program)?;
        let launch = LaunchRequest {
            child: LaunchedChild {
                program,
                argv: argv.iter().map(OsString::from).collect(),
                environment: environment.variables.into_iter().collect(),
                directory: request.directory.to_owned(),
                isolation,
                another_follows: false,
            },
            input: Some(request.prompt.to_vec()),
        };
        let limits = limits(request.action.timeout, request.action.grace);
        self.supervise_alone(&launch, &limits, (&request.action.name, request.control), &scratch)
    }

    /// Runs a tool of the person's own, with all the person has. That it is not there or fails is a value.
    ///
    /// # Errors
    /// When supervising fails.
    pub fn run_own_tool(&mut self, request: &OwnToolRequest<'_>) -> Result<Ended, RunError> {
        let scratch = Scratch::make(self.store.root())?;
        let name = request.argv.first().map(String::as_str).unwrap_or_default();
        let program = match resolve_program(name, request.directory, &self.path_variable()) {
            Ok(program) => program,
            Err(failure) => return Ok(not_started(failure)),
        };
        let mut environment = self.ambient().clone();
        environment.retain(|name, _| !GIT_VARIABLES.iter().any(|variable| OsStr::new(variable) == name));
        environment.extend(request.environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        let launch = LaunchRequest {
            child: LaunchedChild {
                program,
                argv: request.argv.iter().map(OsString::from).collect(),
                environment: environment.into_iter().collect(),
                directory: request.directory.to_owned(),
                isolation: Isolation::weakest(),
                another_follows: false,
            },
            input: None,
        };
        self.supervise_alone(&launch, &limits(request.timeout, TOOL_GRACE), (name, request.control), &scratch)
    }

    /// Writes down what a governance workflow has kept.
    ///
    /// # Errors
    /// When the ledger cannot be written, or a stop was asked for while another run had it.
    pub fn record_governance(
        &mut self,
        scope: &Scope,
        record: GovernanceRecord,
        control: &Control,
        show: &mut dyn FnMut(Progress),
    ) -> Result<(), RunError> {
        // Keeping a file of the trail is a save, and a save starts a run where the project is watched: that is waited for.
        let lock = self.lock(scope, LEDGER_WAIT, &|| control.requested(), show)?;
        let mut ledger = self.recovered_ledger(&lock, scope, &mut |_| {})?;
        self.catch_up(&scope.project)?;
        self.append(&mut ledger, scope, LedgerBody::Governance(Box::new(record)))
    }

    fn model_environment(&self, request: &ModelRequest<'_>, scratch: &Scratch) -> ChildEnvironment {
        let settings = EnvironmentAdditions { pass: request.pass_environment.to_vec(), from_file: Vec::new() };
        let mut environment = ChildEnvironment::build(self.ambient(), &settings, request.action, &scratch.output());
        // An empty directory: where files are not hidden, the tracker's command line at least does not find its own.
        let empty = scratch.output().join("no-tracker");
        environment.add_for_the_tool(&[("GH_CONFIG_DIR".to_owned(), empty.to_string_lossy().into_owned())]);
        environment
    }

    fn model_isolation(
        &self,
        request: &ModelRequest<'_>,
        scratch: &Scratch,
        environment: &ChildEnvironment,
        program: &Path,
    ) -> Result<Isolation, RunError> {
        let home = isolation::home(self.ambient());
        let settings = SandboxSettings {
            // Whoever runs checks without isolation has read them; what a model does nobody has read.
            mode: match request.settings.sandbox.mode {
                SandboxMode::Off | SandboxMode::Auto => SandboxMode::Auto,
                SandboxMode::Require => SandboxMode::Require,
            },
            writable: request.writable.to_vec(),
            sockets: Vec::new(),
            visible: request.visible.to_vec(),
            home: HomeAccess::ReadOnly,
            memory: request.settings.sandbox.memory,
            processes: request.settings.sandbox.processes,
        };
        let sandbox = SandboxRequest {
            project_root: request.copy,
            home,
            store: self.store.root(),
            scratch: &scratch.0,
            action: request.action,
            directory: request.directory,
            program,
            environment: &environment.variables,
            ambient: self.ambient(),
            settings: &settings,
        };
        let mut isolation =
            isolation::isolation(&sandbox, &scratch.output(), request.settings.strongest_isolation).map_err(RunError::Sandbox)?;
        if let Some(sandbox) = &mut isolation.sandbox {
            let writable = writable_places(request, home);
            sandbox.places.retain(|place| place.access != Access::Writable || writable.contains(&place.path));
            for path in self.hidden_places(request, environment, home) {
                hide(&mut sandbox.places, &path);
            }
        }
        Ok(isolation)
    }

    /// Returns what no model sees: what it was not to see, the tracker's programs, and what they know of the person.
    fn hidden_places(&self, request: &ModelRequest<'_>, environment: &ChildEnvironment, home: Option<&Path>) -> Vec<PathBuf> {
        let mut paths = request.hidden.to_vec();
        let own = Path::new(request.tracker).file_name().and_then(OsStr::to_str);
        let names = TRACKERS.iter().copied().chain(own.filter(|name| !INTERPRETERS.contains(name)));
        let names: Vec<&str> = names.collect();
        for directory in std::env::split_paths(&environment.search_path()) {
            paths.extend(names.iter().map(|name| directory.join(name)));
        }
        if request.tracker.contains('/') {
            paths.push(request.directory.join(request.tracker));
        }
        let named = |name: &str| self.ambient().get(OsStr::new(name)).map(PathBuf::from);
        paths.extend(named("GH_CONFIG_DIR"));
        paths.extend(named("XDG_CONFIG_HOME").map(|config| config.join("gh")));
        paths.extend(home.map(|home| home.join(".config/gh")));
        paths
    }

    fn supervise_alone(
        &mut self,
        launch: &LaunchRequest,
        limits: &ActionLimits,
        (name, control): (&str, &Control),
        scratch: &Scratch,
    ) -> Result<Ended, RunError> {
        let failed = |source| RunError::Supervise { action: name.to_owned(), source };
        match supervise(self.launcher()?, launch, limits, scratch.sinks(1)?, control, ALL_REASONS) {
            // It may have died since it was asked last; nothing was started.
            Err(SuperviseError::LauncherGone) => {
                supervise(self.launcher()?, launch, limits, scratch.sinks(2)?, control, ALL_REASONS).map_err(failed)
            }
            outcome => outcome.map_err(failed),
        }
    }
}

fn limits(timeout: Duration, grace: Duration) -> ActionLimits {
    ActionLimits { timeout, idle: None, output: Some(OUTPUT_CAP), grace, ladder: vec![StopStage::Sigterm] }
}

/// Returns what a model may write to, without links.
fn writable_places(request: &ModelRequest<'_>, home: Option<&Path>) -> Vec<PathBuf> {
    let expand = |written: &String| match (written.strip_prefix('~'), home) {
        (Some(below), Some(home)) => home.join(below.trim_start_matches('/')),
        (Some(_) | None, _) => request.copy.join(written),
    };
    let named = request.writable.iter().map(expand).chain([request.copy.to_owned()]);
    named.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Hides a path, where it is there and nothing hides it already.
fn hide(places: &mut Vec<Place>, path: &Path) {
    let Ok(path) = path.canonicalize() else { return };
    let Ok(metadata) = path.metadata() else { return };
    let nearest = places.iter().rposition(|place| path.starts_with(&place.path));
    if let Some(place) = nearest.map(|index| &mut places[index]) {
        if place.path == path {
            place.access = Access::Hidden;
            return;
        }
        if matches!(place.access, Access::Hidden | Access::Private { .. } | Access::Memory) {
            return;
        }
    }
    places.push(Place { path, access: Access::Hidden, identity: (metadata.dev(), metadata.ino()) });
    // Paths compare by component, so what a place lies in comes before it.
    places.sort_by(|one, other| one.path.cmp(&other.path));
}

/// A directory that goes with what was asked: private places, output, what was captured.
struct Scratch(PathBuf);

impl Scratch {
    fn make(store: &Path) -> Result<Self, RunError> {
        let path = store.join(format!("consultation-{}", mint_nonce().map_err(RunError::Evidence)?));
        let scratch = Self(path);
        fs::create_dir_all(scratch.output().join("no-tracker")).map_err(|source| scratch.failed(source))?;
        Ok(scratch)
    }

    fn output(&self) -> PathBuf {
        self.0.join("out")
    }

    fn sinks(&self, attempt: u32) -> Result<Sinks, RunError> {
        let open = |name: &str| File::create_new(self.0.join(format!("{name}-{attempt}"))).map_err(|source| self.failed(source));
        Ok(Sinks { log: open("log")?, frames: open("frames")? })
    }

    fn failed(&self, source: io::Error) -> RunError {
        RunError::Descriptor { action: self.0.display().to_string(), source }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is needed of it was read; what cannot be removed takes no harm.
        let _left = fs::remove_dir_all(&self.0);
    }
}
