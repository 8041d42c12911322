//! Opening a project on its worker's thread: store, registration, watches.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::daemon::arrivals::ArrivalSender;
use crate::daemon::engine::EngineSettings;
use crate::daemon::worker::{OpenFailure, OpenFailureKind, OpenedProject, ProjectDefinition, ReloadProject, watched_tasks};
use crate::ignore::{Matcher, MatcherSettings};
use crate::model::{Asker, ProjectId, Serving};
use crate::process::LauncherHandle;
use crate::project::{ProjectError, ProjectScope, Registration, ResemblingProject, StepObserver, Workspace, record_serving};
use crate::tree::TreeHints;
use crate::watch::{Pace, WatchError, Watcher};

/// Reads plan and settings of a project; lines for people when they are wrong.
pub type ReadProject = Arc<dyn Fn(&Path) -> Result<ProjectDefinition, Vec<String>> + Send + Sync>;

/// How a project's files are read, and what holds while they cannot be.
#[derive(Clone)]
pub struct ProjectReader {
    /// Reads them.
    pub read: ReadProject,
    /// What belongs to the tree, when runs are begun, and how often what is not told is looked at, where nothing is configured.
    pub defaults: (MatcherSettings, EngineSettings, Pace),
    /// How long another writer of a project's evidence is waited for, where nothing is configured.
    pub lock_wait: Duration,
}

/// What every project is opened with.
#[derive(Clone)]
pub struct OpeningSettings {
    /// Where evidence, ledgers and the index lie.
    pub state_root: PathBuf,
    /// The program that is a launcher when it is told to be one.
    pub executable: PathBuf,
    /// The environment of what is run, before the allow-list.
    pub ambient: BTreeMap<OsString, OsString>,
    /// Is told of durable steps.
    pub observer: StepObserver,
    /// How projects' files are read.
    pub files: ProjectReader,
    /// The service itself, which asks for the runs that saves lead to.
    pub asker: Asker,
}

/// Why a project is opened.
#[derive(Debug, Clone)]
pub(super) enum OpeningReason {
    /// The ledger says that it is served.
    Served(ProjectId),
    /// Somebody adds it.
    Added(Asker),
}

/// An opening that is yet to be carried out.
pub(super) struct ProjectOpening {
    pub(super) shared: OpeningSettings,
    pub(super) root: PathBuf,
    pub(super) purpose: OpeningReason,
    pub(super) launcher: LauncherHandle,
    pub(super) arrivals: ArrivalSender,
}

impl ProjectOpening {
    /// Opens the project.
    pub(super) fn open(self) -> Result<(Workspace, ReloadProject, OpenedProject), OpenFailure> {
        if !self.root.is_dir() {
            return Err(closed(OpenFailureKind::RootMissing, format!("`{}` is not there", self.root.display())));
        }
        let shared = &self.shared;
        let (state_root, executable) = (&shared.state_root, &shared.executable);
        let observer = Arc::clone(&shared.observer);
        let opened = Workspace::open(state_root, executable, self.launcher, shared.ambient.clone(), observer);
        let mut workspace = opened.map_err(|error| from_run_error(&error))?;
        let mut notes = workspace.take_notes();
        let read = (shared.files.read)(&self.root);
        let scope = match &self.purpose {
            OpeningReason::Served(project) => find(&mut workspace, &self.root, project, &shared.asker)?,
            OpeningReason::Added(asker) => {
                let (scope, said) = add(&mut workspace, &self.root, read.as_ref(), asker, shared)?;
                notes.extend(said);
                ProjectScope { asker: shared.asker.clone(), ..scope }
            }
        };
        let defaults = &shared.files.defaults;
        let (rules, engine, pace) = match &read {
            Ok(read) => {
                let tasks = watched_tasks(&mut workspace, &scope, read, &TreeHints::Everything)
                    .map_err(|error| from_run_error(&error))?;
                (&read.settings.matcher, EngineSettings { tasks, ..read.engine.clone() }, &read.pace)
            }
            // Saving a right configuration is then seen, and read.
            Err(_) => (&defaults.0, defaults.1.clone(), &defaults.2),
        };
        let (rules, matcher) = match Matcher::new(&rules.for_watching()) {
            Ok(matcher) => (rules, Ok(matcher)),
            Err(_) => (&defaults.0, Matcher::new(&defaults.0)),
        };
        let matcher = matcher.map_err(|_| closed(OpenFailureKind::OwnFault, "the default patterns are wrong"))?;
        let rules = (rules.clone(), pace.clone());
        let watcher =
            Watcher::start(&self.root, matcher, pace, self.arrivals.hints()).map_err(|error| from_watch_error(&error))?;
        let (files, root) = (shared.files.clone(), self.root.clone());
        let reload: ReloadProject = Box::new(move || (files.read)(&root));
        Ok((workspace, reload, OpenedProject { scope, watcher, engine, rules, notes }))
    }
}

fn find(workspace: &mut Workspace, root: &Path, project: &ProjectId, asker: &Asker) -> Result<ProjectScope, OpenFailure> {
    let found = workspace.find_registered(root, asker).map_err(|error| from_run_error(&error))?;
    found.filter(|scope| scope.project == *project).ok_or_else(|| {
        let line = format!("`{}` was moved, replaced or cloned anew since {project} was registered there", root.display());
        closed(OpenFailureKind::Doubtful, format!("{line}: `proctor add --identity same` or `new` says which it is"))
    })
}

fn add(
    workspace: &mut Workspace,
    root: &Path,
    read: Result<&ProjectDefinition, &Vec<String>>,
    asker: &Asker,
    shared: &OpeningSettings,
) -> Result<(ProjectScope, Vec<String>), OpenFailure> {
    let read = read.map_err(|lines| OpenFailure { reason: OpenFailureKind::Configuration, lines: lines.clone() })?;
    let plan = read
        .default_plan
        .as_ref()
        .map_err(|lines| OpenFailure { reason: OpenFailureKind::Configuration, lines: lines.clone() })?;
    let registered = workspace.register(root, plan, &read.settings, asker, None).map_err(|error| from_run_error(&error))?;
    let (scope, notes) = match registered {
        Registration::Known(scope) => (scope, Vec::new()),
        Registration::New { scope, notes } => (scope, notes),
        Registration::Doubtful(doubt) => return Err(doubtful(&doubt)),
    };
    let recorded = record_serving(&shared.state_root, &scope, Serving::Served, read.settings.lock_wait);
    recorded.map_err(|error| from_run_error(&error))?;
    Ok((scope, notes))
}

fn doubtful(doubt: &ResemblingProject) -> OpenFailure {
    let line = format!("`{}` resembles project {} of `{}`", doubt.path.display(), doubt.project, doubt.registered_path);
    closed(OpenFailureKind::Doubtful, format!("{line}: `proctor add --identity same` or `new` says which it is"))
}

fn from_run_error(error: &ProjectError) -> OpenFailure {
    closed(OpenFailureKind::OwnFault, chain(error))
}

fn from_watch_error(error: &WatchError) -> OpenFailure {
    OpenFailure { reason: OpenFailureKind::OwnFault, lines: vec![chain(error), error.hint().to_owned()] }
}

fn closed(reason: OpenFailureKind, line: impl Into<String>) -> OpenFailure {
    OpenFailure { reason, lines: vec![line.into()] }
}

/// Returns an error with its causes on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
