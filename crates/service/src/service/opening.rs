//! Opens a project on its worker's thread: the store, the registration, the watcher.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::arrivals::ArrivalSender;
use crate::engine::{EngineSettings, Moment};
use crate::project_scheduler::ProjectScheduler;
use crate::project_source::{ProjectDefinition, ProjectSource, defaults};
use crate::service::call::{ErrandCall, Reply};
use crate::service::followed_run::FollowedRun;
use crate::service::pending_changes::PendingChanges;
use crate::service::waiters::PlannedRun;
use crate::watched_directory::DirectoryOnDisk;
use crate::worker::{LookTicket, OpenFailure, OpenFailureKind, OpenedProject, watched_tasks};
use proctor_api::{ErrorV1, EventV1, RunAnswerV1};
use proctor_app::Environment;
use proctor_app::health::{chain, problem_of, problem_of_watcher};
use proctor_app::project::setup;
use proctor_model::{Activity, Asker, HealthProblem, PersonAsked, ProjectId, Serving, TaskId, TreePath, TriggerKind};
use proctor_project::{PlanlessReason, ProjectError, ProjectScope, RefusedRequests, Selection, Workspace, record_serving};
use proctor_tree::TreeHints;
use proctor_tree::ignore::Matcher;
use proctor_tree::watch::{WatchError, WatchHub, Watcher};

/// Whether a project is opened because the ledger lists it, or because a client adds it.
#[derive(Debug, Clone)]
pub(crate) enum OpeningReason {
    /// The ledger lists the project as served.
    Served(ProjectId),
    /// A command or program that is connected to the service has asked it to watch the project.
    Added(Asker),
}

/// The opening of a project, ready to be carried out on the worker's thread.
pub(crate) struct ProjectOpening {
    /// The variables and paths of the service. Checks get only the variables that the allow-list names.
    pub(super) environment: Environment,
    pub(super) root: PathBuf,
    pub(super) purpose: OpeningReason,
    /// Watches all projects of the service.
    pub(super) hub: WatchHub,
    pub(super) refused_requests: Arc<RefusedRequests>,
    pub(super) arrivals: ArrivalSender,
}

impl ProjectOpening {
    /// Opens the project: its store, its registration and its watcher.
    pub(crate) fn open(self) -> Result<(Workspace, ProjectSource, OpenedProject), OpenFailure> {
        let root = self.root.clone();
        let missing = || closed(OpenFailureKind::RootMissing, format!("`{}` is not there", root.display()));
        if !root.is_dir() {
            return Err(missing());
        }
        // The directory may go at any moment, and whatever reads it then fails.
        self.open_there().map_err(|failure| match failure.reason {
            OpenFailureKind::OwnFault(_) if !root.is_dir() => missing(),
            OpenFailureKind::OwnFault(_)
            | OpenFailureKind::RootMissing
            | OpenFailureKind::Doubtful
            | OpenFailureKind::NotRegistered
            | OpenFailureKind::Configuration => failure,
        })
    }

    fn open_there(self) -> Result<(Workspace, ProjectSource, OpenedProject), OpenFailure> {
        let environment = &self.environment;
        let (state_root, executable) = (environment.state_root(), environment.executable());
        // The launcher, the process that starts the project's actions, is started by the first run that needs it.
        let opened = Workspace::open(state_root, executable, None, environment.variables().clone(), environment.observer());
        let mut workspace = opened.map_err(|error| from_run_error(&error))?;
        workspace.share_refused_requests(self.refused_requests);
        let notes = workspace.take_notes();
        let mut files = ProjectSource::new(environment, &self.root);
        let read = files.read();
        let notify = read
            .as_ref()
            .ok()
            .filter(|read| read.configuration.watch.notify)
            .map(|read| read.configuration.project_name.clone().unwrap_or_else(|| setup::directory_name(&self.root)));
        let scope = match &self.purpose {
            OpeningReason::Served(project) => find(&mut workspace, &self.root, project, &environment.asker())?,
            OpeningReason::Added(asker) => {
                let scope = add(&mut workspace, &self.root, read.as_ref(), asker, state_root)?;
                ProjectScope { asker: environment.asker(), ..scope }
            }
        };
        let defaults = defaults(environment);
        let (rules, engine, pace) = match &read {
            Ok(read) => {
                let tasks = watched_tasks(&mut workspace, &scope, read, &TreeHints::Everything)
                    .map_err(|error| from_run_error(&error))?;
                (&read.settings.matcher, EngineSettings { tasks, ..read.engine.clone() }, &read.pace)
            }
            // The project is watched with the defaults, so that a save that corrects the configuration is noticed.
            Err(_) => (&defaults.0, defaults.1.clone(), &defaults.2),
        };
        let (rules, matcher) = match Matcher::new(&rules.for_watching()) {
            Ok(matcher) => (rules, Ok(matcher)),
            Err(_) => (&defaults.0, Matcher::new(&defaults.0)),
        };
        let matcher =
            matcher.map_err(|_| closed(OpenFailureKind::OwnFault(HealthProblem::Other), "the default patterns are wrong"))?;
        let rules = (rules.clone(), pace.clone());
        let watcher = Watcher::start_in(&self.hub, &self.root, matcher, pace, self.arrivals.hints())
            .map_err(|error| from_watch_error(&error))?;
        let ledger = workspace.store().ledger_path(&scope.project);
        let directory = Box::new(DirectoryOnDisk::new(self.root, ledger, watcher, self.arrivals));
        Ok((workspace, files, OpenedProject { scope, directory, engine, rules, notes, notify }))
    }
}

fn find(workspace: &mut Workspace, root: &Path, project: &ProjectId, asker: &Asker) -> Result<ProjectScope, OpenFailure> {
    let found = workspace.find_registered(root, asker).map_err(|error| from_run_error(&error))?;
    found.filter(|scope| scope.project == *project).ok_or_else(|| {
        let line = format!("`{}` was moved, replaced or cloned anew since {project} was registered there", root.display());
        closed(OpenFailureKind::Doubtful, format!("{line}: `proctor service add --identity same` or `new` says which it is"))
    })
}

/// Returns the registered project of a directory that a client adds, and records that the service watches it.
///
/// A directory that is not registered is refused: registering approves the project's plan (S7), and a request proves
/// nothing about who asks. `proctor service add` and `proctor run` register in the evidence store themselves. No action can
/// write to the store, so a process that registers there is no action.
fn add(
    workspace: &mut Workspace,
    root: &Path,
    read: Result<&ProjectDefinition, &Vec<String>>,
    asker: &Asker,
    state_root: &Path,
) -> Result<ProjectScope, OpenFailure> {
    let read = read.map_err(|lines| OpenFailure { reason: OpenFailureKind::Configuration, lines: lines.clone() })?;
    let found = workspace.find_registered(root, asker).map_err(|error| from_run_error(&error))?;
    let scope = found.ok_or_else(|| {
        let line = format!("`{}` is not a registered project, and no request can register one", root.display());
        closed(OpenFailureKind::NotRegistered, line)
    })?;
    if let Err(missing) = &read.default_plan {
        let everything = &TreeHints::Everything;
        let specifications = workspace.read_specifications(&read.settings, &scope, everything);
        // A project without checks of its own is watched for the tasks of its test specifications.
        let has_tasks = missing.reason == PlanlessReason::WithoutChecks
            && !specifications.map_err(|error| from_run_error(&error))?.is_empty();
        if !has_tasks {
            return Err(OpenFailure { reason: OpenFailureKind::Configuration, lines: missing.lines.clone() });
        }
    }
    let recorded = record_serving(state_root, &scope, Serving::Served, read.settings.lock_wait);
    recorded.map_err(|error| from_run_error(&error))?;
    Ok(scope)
}

fn from_run_error(error: &ProjectError) -> OpenFailure {
    closed(OpenFailureKind::OwnFault(problem_of(error)), chain(error))
}

fn from_watch_error(error: &WatchError) -> OpenFailure {
    OpenFailure {
        reason: OpenFailureKind::OwnFault(problem_of_watcher(error)),
        lines: vec![chain(error), error.hint().to_owned()],
    }
}

fn closed(reason: OpenFailureKind, line: impl Into<String>) -> OpenFailure {
    OpenFailure { reason, lines: vec![line.into()] }
}

// The state that the service keeps of a project while the project is open.

/// The state of a project that is watched and whose checks are run.
pub(super) struct OpenProject {
    pub(super) scheduler: ProjectScheduler,
    pub(super) activity: Activity,
    pub(super) planned: PlannedRun,
    /// The number of the status check (a comparison of the tree with the verdicts) that is under way; `None` if no
    /// status check is under way.
    pub(super) looking: Option<LookTicket>,
    /// The first status check after opening, until it has ended. Its result decides whether a run is needed at the
    /// start.
    pub(super) first: Option<LookTicket>,
    /// Whether a run had begun when the first status check ended, so that it has to be made again.
    pub(super) owes_first_look: bool,
    pub(super) tickets: u64,
    /// The changes that the next status check has to take into account.
    pub(super) pending_changes: PendingChanges,
    /// Set while a status check waits for the watcher to confirm that it has reported every earlier change: the time
    /// limit, and the tasks to check.
    pub(super) syncing: Option<(Moment, Vec<TaskId>)>,
    pub(super) look_again: Option<Moment>,
    pub(super) current: Option<RunCall>,
    /// The run under way, once it has begun.
    pub(super) followed: Option<FollowedRun>,
    /// The errand that is being carried out.
    pub(super) errand: Option<ErrandCall>,
    /// The task of the run under way, or of the last run.
    pub(super) running: TaskId,
    /// What caused the run under way, for example a save or a request.
    pub(super) trigger: TriggerKind,
    /// Whether the last status check listed the task of the project's own checks. A project that has only test
    /// specifications has no such task.
    pub(super) lists_own_task: bool,
    /// Why part of the tree is polled, if it is.
    pub(super) polling: Option<String>,
    /// What people are told about files that the checks write anew in every run; empty if there are none.
    pub(super) differing: Vec<String>,
    /// What people are told about files that something writes all the time; empty if there are none.
    pub(super) busy: Vec<String>,
    /// The busy files that the log has named.
    pub(super) said_busy: BTreeSet<TreePath>,
    /// Why the last run brought no verdict, if it could not be carried out.
    pub(super) failure: Option<String>,
    /// What the last run that was judged or refused asks a person.
    pub(super) asked: Option<PersonAsked>,
}

impl OpenProject {
    /// Returns what people are told beside the verdicts.
    pub(super) fn problems(&self) -> Vec<String> {
        self.failure.iter().chain(&self.polling).chain(&self.differing).chain(&self.busy).cloned().collect()
    }
}

/// A run that a client asked for.
pub(super) struct RunCall {
    pub(super) task: TaskId,
    pub(super) selection: Selection,
    /// The clients that asked for this run before it began. They share it, because every one of them wants a verdict on the
    /// tree as it is when the run begins.
    pub(super) replies: Vec<Reply<RunAnswerV1>>,
    pub(super) tries: u32,
}

impl RunCall {
    /// Sends every client the answer. The answer to a client that has disconnected is dropped.
    pub(super) fn answer(self, answer: &Result<RunAnswerV1, ErrorV1>) {
        for reply in self.replies {
            let _gone = reply.send(answer.clone());
        }
    }

    /// Forgets the clients that have disconnected. Returns whether anybody still waits for the run.
    pub(super) fn is_wanted(&mut self) -> bool {
        self.replies.retain(|reply| !reply.is_closed());
        !self.replies.is_empty()
    }
}

/// What a project reports to the service's loop.
#[derive(Debug)]
pub(super) enum SessionMessage {
    Tell(EventV1),
    /// Tell subscribers an event that the next one of its kind makes worthless.
    TellInPassing(EventV1),
    /// A line for the log, and for the person who started the service.
    Say(String),
    /// A notification on the desktop: the project of this name cannot be judged.
    Notify {
        name: String,
        problem: HealthProblem,
    },
    /// A notification on the desktop: the project of this name asks a person.
    NotifyPerson {
        name: String,
        asked: PersonAsked,
    },
    /// The project is closed: none of its threads and processes runs any more.
    Left,
}
