//! Asks a model, by a command that is isolated more strictly than a check. Also runs the person's own tools: git and
//! the command line of the issue tracker.
//!
//! A model sees a fresh copy of the project that nobody else has written to. It sees nothing that another model was
//! told or has answered. The caches that checks share are read-only to it. Access to the tracker is hidden, whatever
//! the settings make visible.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ended_not_started;
use proctor_evidence::{Store, mint_nonce};
use proctor_model::{
    Access, Action, ActionLimits, CachesMode, EndedAction, GovernanceRecord, HomeAccess, LedgerBody, NetworkAccess,
    PackageCredentials, Place, ProtectionMode, SandboxSettings, StopStage, World,
};
use proctor_project::{Progress, ProjectError, ProjectScope, ProjectSettings, Runner, Workspace};
use proctor_sandbox::process::{
    ALL_REASONS, Control, Isolation, LaunchRequest, LaunchedChild, Sinks, SuperviseError, resolve_program, supervise,
};
use proctor_sandbox::{
    ChildEnvironment, EnvironmentAdditions, KnownReferences, MissingDirectories, SandboxError, SandboxRequest, SystemPlaces,
    isolation, second_paths_of,
};

/// The command-line programs of trackers. They are hidden from models in every directory of the search path.
const TRACKERS: &[&str] = &["gh", "hub", "glab", "tea", "jira"];

/// Interpreters. They are never hidden as a tracker's program, because a model's own command may need them.
const INTERPRETERS: &[&str] = &["sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "env"];

/// Variables that would make git use another repository than the project's.
const GIT_VARIABLES: &[&str] =
    &["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"];

/// The limit for the output, in bytes. A tool or model that prints more is stopped.
const OUTPUT_CAP: u64 = 4 << 20;

/// The longest time that the writer of a ledger line waits for the end of a run of the project. The run holds the
/// project's lock.
const LEDGER_WAIT: Duration = Duration::from_secs(3600);

/// How long a tool of the person may take to stop after SIGTERM, before it is killed.
const TOOL_GRACE: Duration = Duration::from_secs(5);

/// A request to a model: its command, what it may read and write, and how to stop it.
pub struct ModelRequest<'a> {
    /// The model's command with its time limits.
    pub action: &'a Action,
    /// The standard input of the model.
    pub prompt: &'a [u8],
    /// The root of the model's copy of the project.
    pub copy: &'a Path,
    /// The working directory of the model, inside of its copy of the project.
    pub directory: &'a Path,
    /// Paths that the model must not see, in addition to those that are hidden from every action.
    pub hidden: &'a [PathBuf],
    /// The tracker's program, which is hidden from the model.
    pub tracker: &'a str,
    /// The names of environment variables that the model gets from proctor's own environment.
    pub pass_environment: &'a [String],
    /// Paths of credentials that the model can read, although credentials are hidden otherwise.
    pub visible: &'a [String],
    /// Paths that the model may write to, in addition to its copy.
    pub writable: &'a [String],
    /// The project's settings for isolation and limits.
    pub settings: &'a ProjectSettings,
    /// Requests to stop the model arrive through this control.
    pub control: &'a Control,
}

/// A request to run one of the person's own tools, such as git or the tracker's command line.
pub struct OwnToolRequest<'a> {
    /// The tool's program and arguments.
    pub argv: &'a [String],
    pub directory: &'a Path,
    /// Environment variables that the tool gets in addition to the person's own.
    pub environment: &'a [(&'a str, &'a str)],
    pub timeout: Duration,
    /// Requests to stop the tool arrive through this control.
    pub control: &'a Control,
}

/// Asks a model. If the model cannot be started, fails or hangs, this is no error: the returned value says so.
///
/// # Errors
///
/// When the model's isolation or temporary directory cannot be prepared, or its process cannot be supervised.
pub fn consult(workspace: &mut Workspace, request: &ModelRequest<'_>) -> Result<EndedAction, ProjectError> {
    let scratch = Scratch::make(workspace.evidence.store.root())?;
    let environment = model_environment(&workspace.runner.ambient, request, &scratch);
    let argv = &request.action.command.argv;
    let name = argv.first().map(String::as_str).unwrap_or_default();
    let program = match resolve_program(name, request.directory, &environment.search_path()) {
        Ok(program) => program,
        Err(failure) => return Ok(ended_not_started(failure)),
    };
    let isolation =
        model_isolation(&workspace.evidence.store, &workspace.runner.ambient, request, &scratch, &environment, &program)?;
    let launch = LaunchRequest {
        child: LaunchedChild {
            program,
            argv: argv.iter().map(OsString::from).collect(),
            environment: environment.variables.into_iter().collect(),
            directory: request.directory.to_owned(),
            isolation,
            another_follows: false,
            early: None,
        },
        network: None,
        input: Some(request.prompt.to_vec()),
    };
    let limits = limits(request.action.timeout, request.action.grace);
    supervise_alone(&mut workspace.runner, &launch, &limits, &request.action.name, request.control, &scratch)
}

/// Runs one of the person's own tools with the person's full access. If it is missing or fails, the result says so.
///
/// # Errors
///
/// When the tool's temporary directory cannot be made, or its process cannot be supervised.
pub fn run_own_tool(workspace: &mut Workspace, request: &OwnToolRequest<'_>) -> Result<EndedAction, ProjectError> {
    let scratch = Scratch::make(workspace.evidence.store.root())?;
    let name = request.argv.first().map(String::as_str).unwrap_or_default();
    let program = match resolve_program(name, request.directory, &workspace.runner.path_variable()) {
        Ok(program) => program,
        Err(failure) => return Ok(ended_not_started(failure)),
    };
    let mut environment = workspace.runner.ambient.clone();
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
            early: None,
        },
        network: None,
        input: None,
    };
    supervise_alone(&mut workspace.runner, &launch, &limits(request.timeout, TOOL_GRACE), name, request.control, &scratch)
}

/// Records in the ledger which files a governance workflow has stored.
///
/// # Errors
///
/// When the ledger cannot be written, or when the wait for another run takes too long or is interrupted by a stop
/// request.
pub fn record_governance(
    workspace: &mut Workspace,
    scope: &ProjectScope,
    record: GovernanceRecord,
    control: &Control,
    show: &mut dyn FnMut(Progress),
) -> Result<(), ProjectError> {
    // Writing a file of the workflow's trail counts as a save, which starts a run if the project is watched. That
    // run must end before the ledger can be written.
    let lock = workspace.evidence.lock(scope, LEDGER_WAIT, &|| control.requested(), show)?;
    let mut ledger = workspace.evidence.recovered_ledger(&lock, scope, &mut |_| {})?;
    workspace.evidence.catch_up(&scope.project)?;
    workspace.evidence.append(&mut ledger, scope, LedgerBody::Governance(Box::new(record)))
}

fn model_environment(ambient: &BTreeMap<OsString, OsString>, request: &ModelRequest<'_>, scratch: &Scratch) -> ChildEnvironment {
    let settings = EnvironmentAdditions { pass: request.pass_environment.to_vec(), ..EnvironmentAdditions::default() };
    let mut environment = ChildEnvironment::build(ambient, &settings, request.action, &scratch.output());
    // `GH_CONFIG_DIR` names an empty directory, so the tracker's command line finds no account even where files
    // cannot be hidden.
    let empty = scratch.output().join("no-tracker");
    environment.add_for_the_tool(&[("GH_CONFIG_DIR".to_owned(), empty.to_string_lossy().into_owned())]);
    environment
}

fn model_isolation(
    store: &Store,
    ambient: &BTreeMap<OsString, OsString>,
    request: &ModelRequest<'_>,
    scratch: &Scratch,
    environment: &ChildEnvironment,
    program: &Path,
) -> Result<Isolation, ProjectError> {
    let home = isolation::home(ambient);
    let settings = SandboxSettings {
        // A person has read the checks of a project, so the project may run them without isolation. Nobody knows in
        // advance what a model will do, so for a model `off` counts as `auto`.
        mode: match request.settings.sandbox.mode {
            ProtectionMode::Off | ProtectionMode::Auto => ProtectionMode::Auto,
            ProtectionMode::Require => ProtectionMode::Require,
        },
        writable: request.writable.to_vec(),
        sockets: Vec::new(),
        visible: request.visible.to_vec(),
        home: HomeAccess::ReadOnly,
        // A model judges nothing, and its program needs the user's own settings.
        world: World::Open,
        network: NetworkAccess::Open,
        memory: request.settings.sandbox.memory,
        processes: request.settings.sandbox.processes,
        max_written: request.settings.sandbox.max_written,
        limits: request.settings.sandbox.limits,
        system_call_filter: request.settings.sandbox.system_call_filter,
        package_credentials: PackageCredentials::Hidden,
        // A model already works on a copy of the project, so it needs no snapshot.
        snapshot: ProtectionMode::Off,
        max_snapshot_bytes: request.settings.sandbox.max_snapshot_bytes,
        caches: CachesMode::Fresh,
    };
    let sandbox = SandboxRequest {
        project_root: request.copy,
        home,
        store: store.root(),
        scratch: &scratch.0,
        action: request.action,
        directory: request.directory,
        program,
        environment: &environment.variables,
        ambient,
        settings: &settings,
        system: &SystemPlaces::look(),
        own_caches: None,
        guarded: &[],
        inputs: &[],
        manifests: &BTreeSet::new(),
        references: &KnownReferences::default(),
        missing: MissingDirectories::Create,
    };
    let mut isolation = isolation::isolation(&sandbox, &scratch.output(), request.settings.strongest_isolation)?;
    if let Some(sandbox) = &mut isolation.sandbox {
        let writable = writable_places(request, home);
        sandbox.places.retain(|place| place.access != Access::Writable || writable.contains(&place.path));
        for path in hidden_places(ambient, request, environment, home) {
            let Ok(path) = path.canonicalize() else { continue };
            let second = second_paths_of(&path)
                .map_err(|source| ProjectError::Sandbox(SandboxError::Look { path: path.clone(), source }))?;
            for path in [path].into_iter().chain(second) {
                hide(&mut sandbox.places, path);
            }
        }
    }
    Ok(isolation)
}

/// Returns the paths that are hidden from the model: the paths that the request names, the command-line programs of
/// trackers, and the directories in which `gh` keeps its accounts.
fn hidden_places(
    ambient: &BTreeMap<OsString, OsString>,
    request: &ModelRequest<'_>,
    environment: &ChildEnvironment,
    home: Option<&Path>,
) -> Vec<PathBuf> {
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
    let named = |name: &str| ambient.get(OsStr::new(name)).map(PathBuf::from);
    paths.extend(named("GH_CONFIG_DIR"));
    paths.extend(named("XDG_CONFIG_HOME").map(|config| config.join("gh")));
    paths.extend(home.map(|home| home.join(".config/gh")));
    paths
}

fn supervise_alone(
    runner: &mut Runner,
    launch: &LaunchRequest,
    limits: &ActionLimits,
    name: &str,
    control: &Control,
    scratch: &Scratch,
) -> Result<EndedAction, ProjectError> {
    let failed = |source| ProjectError::Supervise { action: name.to_owned(), source };
    match supervise(runner.launcher()?, launch, limits, scratch.sinks(1)?, control, ALL_REASONS) {
        // The launcher (the process that starts commands) may have died since the last request. Nothing was started
        // yet, so a second try with a new launcher is safe.
        Err(SuperviseError::LauncherGone) => {
            supervise(runner.launcher()?, launch, limits, scratch.sinks(2)?, control, ALL_REASONS).map_err(failed)
        }
        outcome => outcome.map_err(failed),
    }
}

fn limits(timeout: Duration, grace: Duration) -> ActionLimits {
    ActionLimits { timeout, idle: None, output: Some(OUTPUT_CAP), grace, ladder: vec![StopStage::Sigterm] }
}

/// Returns the paths that a model may write to, with links resolved. A path that does not exist is left out.
fn writable_places(request: &ModelRequest<'_>, home: Option<&Path>) -> Vec<PathBuf> {
    let expand = |written: &String| match (written.strip_prefix('~'), home) {
        (Some(below), Some(home)) => home.join(below.trim_start_matches('/')),
        (Some(_) | None, _) => request.copy.join(written),
    };
    let named = request.writable.iter().map(expand).chain([request.copy.to_owned()]);
    named.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Hides a path from the model, if the path exists and is not hidden already. The path must contain no links.
fn hide(places: &mut Vec<Place>, path: PathBuf) {
    let Ok(metadata) = path.metadata() else { return };
    let nearest = places.iter().rposition(|place| path.starts_with(&place.path));
    if let Some(place) = nearest.map(|index| &mut places[index]) {
        if place.path == path {
            place.access = Access::Hidden;
            return;
        }
        if matches!(place.access, Access::Hidden | Access::Private { .. } | Access::Memory | Access::Layer { .. }) {
            return;
        }
    }
    places.push(Place { path, access: Access::Hidden, identity: (metadata.dev(), metadata.ino()) });
    // Paths are sorted by component, so outer places come before the places inside of them.
    places.sort_by(|one, other| one.path.cmp(&other.path));
}

/// A temporary directory for one request, with the private directories, the output and the log of the model or tool.
/// Dropping it removes the directory.
struct Scratch(PathBuf);

impl Scratch {
    fn make(store: &Path) -> Result<Self, ProjectError> {
        let path = store.join(format!("consultation-{}", mint_nonce()?));
        let scratch = Self(path);
        fs::create_dir_all(scratch.output().join("no-tracker")).map_err(|source| scratch.failed(source))?;
        Ok(scratch)
    }

    fn output(&self) -> PathBuf {
        self.0.join("out")
    }

    fn sinks(&self, attempt: u32) -> Result<Sinks, ProjectError> {
        let open = |name: &str| File::create_new(self.0.join(format!("{name}-{attempt}"))).map_err(|source| self.failed(source));
        Ok(Sinks { log: open("log")?, frames: open("frames")?, masked: Vec::new() })
    }

    fn failed(&self, source: io::Error) -> ProjectError {
        ProjectError::Descriptor { action: self.0.display().to_string(), source }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // All results have been read from the directory. If it cannot be removed, the remaining files do no harm.
        let _left = fs::remove_dir_all(&self.0);
    }
}
