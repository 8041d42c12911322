//! Finds out which isolation levels are available, by starting an action at each level as a run would. No evidence is
//! sealed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::ProjectError;
use proctor_evidence::Store;
use proctor_model::{
    Action, ActionEnd, ActionLimits, EndedAction, IsolationLevel, Place, ReachedIsolation, SandboxSettings, SpawnFailure,
    StopStage, VisibleDirectory,
};
use proctor_sandbox::isolation;
use proctor_sandbox::process::{
    ALL_REASONS, Control, Isolation, LaunchRequest, LaunchedChild, LauncherHandle, Sinks, SuperviseError, supervise,
};
use proctor_sandbox::{ChildEnvironment, EnvironmentAdditions};
use proctor_sandbox::{KnownReferences, MissingDirectories, SandboxRequest, SystemPlaces, prepare_sandbox};

/// The isolation levels that may be unavailable. A process group is always available.
const TRIED: [IsolationLevel; 3] = [IsolationLevel::Namespace, IsolationLevel::Cgroup, IsolationLevel::Landlock];

/// What is needed to find out which isolation levels are available (`proctor doctor`).
pub struct ExaminationRequest<'a> {
    /// The path of the evidence store, which need not exist yet.
    pub state_root: &'a Path,
    pub project_root: &'a Path,
    /// The action that is tried. It should end at once and print nothing important.
    pub action: &'a Action,
    /// The absolute path of the action's program.
    pub program: &'a Path,
    /// The `[sandbox]` settings; the mode is ignored.
    pub settings: &'a SandboxSettings,
    /// What the settings add to the environment of the action.
    pub additions: &'a EnvironmentAdditions,
    /// The environment variables of proctor.
    pub ambient: &'a BTreeMap<OsString, OsString>,
    /// The control by which a person can stop the examination.
    pub control: &'a Control,
}

/// The result of finding out which isolation levels are available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    /// The level at which a run would start an action; `None` if no action can be started. The first entry of `levels`
    /// then says why.
    pub level: Option<IsolationLevel>,
    /// The result for every level that may be unavailable, strongest first.
    pub levels: Vec<LevelFound>,
    /// The paths to which an action has other access than only reading: writable paths, private copies and hidden
    /// paths.
    pub places: Vec<Place>,
    /// What an action sees outside of the project that users can write.
    pub visible: Vec<VisibleDirectory>,
    /// The evidence store, which is always hidden from actions.
    pub store: PathBuf,
}

/// The result for one isolation level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelFound {
    pub level: IsolationLevel,
    /// Why the level is not available; `None` if it is available.
    pub obstacle: Option<String>,
}

/// Tries to start an action at every isolation level that may be unavailable, and reports which levels work. Nothing
/// is written to the evidence.
///
/// # Errors
///
/// When the store or a path in the settings cannot be opened, or when the action cannot be supervised.
pub fn examine(launcher: &mut LauncherHandle, request: &ExaminationRequest<'_>) -> Result<Examination, ProjectError> {
    let store = Store::open(request.state_root)?;
    let scratch = Scratch(store.root().join(format!("examination-{}", std::process::id())));
    let launch = trial_launch(&store, &scratch.0, request)?;
    let sandbox = launch(IsolationLevel::Namespace).child.isolation.sandbox.expect("a trial has a sandbox");
    let mut tried = Vec::new();
    for level in TRIED {
        tried.push((level, start(launcher, &launch(level), request)?));
    }
    let (level, levels) = conclude(&tried);
    Ok(Examination { level, levels, places: sandbox.places, visible: sandbox.visible, store: sandbox.store })
}

/// Returns a function that makes the request for a trial at a level of isolation.
pub(crate) fn trial_launch<'r>(
    store: &Store,
    scratch: &Path,
    request: &'r ExaminationRequest<'_>,
) -> Result<impl Fn(IsolationLevel) -> LaunchRequest + use<'r>, ProjectError> {
    let environment = ChildEnvironment::build(request.ambient, request.additions, request.action, scratch);
    let sandbox = prepare_sandbox(&SandboxRequest {
        project_root: request.project_root,
        home: isolation::home(request.ambient),
        store: store.root(),
        scratch,
        action: request.action,
        directory: request.project_root,
        program: request.program,
        environment: &environment.variables,
        ambient: request.ambient,
        settings: request.settings,
        system: &SystemPlaces::look(),
        own_caches: None,
        guarded: &[],
        inputs: &[],
        manifests: &BTreeSet::new(),
        references: &KnownReferences::default(),
        missing: MissingDirectories::Leave,
    })?;
    Ok(move |strongest| LaunchRequest {
        child: LaunchedChild {
            program: request.program.to_owned(),
            argv: request.action.command.argv.iter().map(OsString::from).collect(),
            environment: environment.variables.clone().into_iter().collect(),
            another_follows: false,
            early: None,
            directory: request.project_root.to_owned(),
            isolation: Isolation {
                strongest,
                weakest: IsolationLevel::ProcessGroup,
                sandbox: Some(sandbox.clone()),
                ..Isolation::weakest()
            },
        },
        network: None,
        input: None,
    })
}

/// Starts the action, and returns how it was isolated, or why it was not started.
fn start(
    launcher: &mut LauncherHandle,
    launch: &LaunchRequest,
    request: &ExaminationRequest<'_>,
) -> Result<Result<ReachedIsolation, SpawnFailure>, ProjectError> {
    Ok(reached_isolation(run_trial(launcher, launch, request)?))
}

/// Starts the action, and returns how it ended.
///
/// # Errors
/// When the action cannot be supervised, or when the launcher (the process that starts it) was gone.
pub(crate) fn run_trial(
    launcher: &mut LauncherHandle,
    launch: &LaunchRequest,
    request: &ExaminationRequest<'_>,
) -> Result<EndedAction, ProjectError> {
    let action = request.action;
    let nothing = || {
        let opened = File::options().write(true).open("/dev/null");
        opened.map_err(|source| ProjectError::Descriptor { action: action.name.clone(), source })
    };
    let sinks = Sinks { log: nothing()?, frames: nothing()?, masked: Vec::new() };
    let limits = ActionLimits {
        timeout: action.timeout,
        idle: None,
        output: None,
        grace: Duration::ZERO,
        ladder: vec![StopStage::Sigkill],
    };
    supervise(launcher, launch, &limits, sinks, request.control, ALL_REASONS).map_err(|source| match source {
        SuperviseError::LauncherGone => ProjectError::HelperDied { action: action.name.clone(), why: source.to_string() },
        SuperviseError::Capture(_) | SuperviseError::Launcher(_) | SuperviseError::Input(_) | SuperviseError::Wait(_) => {
            ProjectError::Supervise { action: action.name.clone(), source }
        }
    })
}

/// Returns how an action that has ended was isolated, or why it was not started.
pub(crate) fn reached_isolation(ended: EndedAction) -> Result<ReachedIsolation, SpawnFailure> {
    match (ended.end, ended.kept) {
        (ActionEnd::NotStarted(failure), _) => Err(failure),
        (_, Some(kept)) => Ok(kept),
        (ActionEnd::TimedOut { .. } | ActionEnd::Lost { .. }, None) => {
            Err(SpawnFailure::NotIsolated { why: "the trial did not end".to_owned() })
        }
        (_, None) => Err(SpawnFailure::NotIsolated { why: "the launcher did not say by what".to_owned() }),
    }
}

/// Returns the level at which a run would start an action, and for each tried level why it is not available.
fn conclude(tried: &[(IsolationLevel, Result<ReachedIsolation, SpawnFailure>)]) -> (Option<IsolationLevel>, Vec<LevelFound>) {
    // The launcher reports the obstacles of all levels that are stronger than the reached one, strongest first.
    let mut obstacles: Vec<&String> = Vec::new();
    for obstacle in tried.iter().filter_map(|(_, kept)| kept.as_ref().ok()).flat_map(|kept| &kept.reached.obstacles) {
        if !obstacles.contains(&obstacle) {
            obstacles.push(obstacle);
        }
    }
    let mut obstacles = obstacles.into_iter().cloned();
    let found = |(level, kept): &(IsolationLevel, Result<ReachedIsolation, SpawnFailure>)| LevelFound {
        level: *level,
        obstacle: match kept {
            Ok(kept) if kept.reached.level == *level => None,
            Ok(_) => Some(obstacles.next().unwrap_or_else(|| "the launcher did not say why".to_owned())),
            Err(SpawnFailure::NotIsolated { why }) => Some(why.clone()),
            Err(failure) => Some(format!("the command could not be started: {failure}")),
        },
    };
    let levels = tried.iter().map(found).collect();
    let level = tried.first().and_then(|(_, kept)| kept.as_ref().ok()).map(|kept| kept.reached.level);
    (level, levels)
}

/// A temporary directory that is removed after the examination.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // The directory contains only private files of the tried action. If it cannot be removed, it does no harm.
        let _left = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use IsolationLevel::{Cgroup, Landlock, Namespace, ProcessGroup};
    use proctor_model::ReachedLevel;

    fn kept(level: IsolationLevel, obstacles: &[&str]) -> Result<ReachedIsolation, SpawnFailure> {
        let obstacles = obstacles.iter().map(|&text| text.to_owned()).collect();
        Ok(ReachedIsolation {
            reached: ReachedLevel { level, obstacles, unenforced: Vec::new(), early: proctor_model::EarlyUse::NotTried },
            killed_by: None,
        })
    }

    fn obstacles(levels: &[LevelFound]) -> Vec<Option<&str>> {
        levels.iter().map(|found| found.obstacle.as_deref()).collect()
    }

    #[test]
    fn every_obstacle_stands_beside_its_own_level() {
        let (level, levels) = conclude(&[
            (Namespace, kept(Landlock, &["no namespaces", "no cgroup"])),
            (Cgroup, kept(Landlock, &["no namespaces", "no cgroup"])),
            (Landlock, kept(Landlock, &["no namespaces", "no cgroup"])),
        ]);
        assert_eq!((level, obstacles(&levels)), (Some(Landlock), vec![Some("no namespaces"), Some("no cgroup"), None]));
        let (level, levels) = conclude(&[
            (Namespace, kept(Namespace, &[])),
            (Cgroup, kept(ProcessGroup, &["no cgroup", "no Landlock"])),
            (Landlock, kept(ProcessGroup, &["no cgroup", "no Landlock"])),
        ]);
        assert_eq!((level, obstacles(&levels)), (Some(Namespace), vec![None, Some("no cgroup"), Some("no Landlock")]));
    }

    #[test]
    fn an_action_that_cannot_be_started_has_no_level() {
        let failure = || Err(SpawnFailure::NotIsolated { why: "no place".to_owned() });
        let (level, levels) = conclude(&[(Namespace, failure()), (Cgroup, failure()), (Landlock, kept(Landlock, &[]))]);
        assert_eq!(level, None);
        assert!(levels[0].obstacle.as_deref().is_some_and(|text| text.contains("no place")));
        assert_eq!(levels[2].obstacle, None);
    }
}
