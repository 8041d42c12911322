//! The snapshot of one run: what its checks see in place of the project, and what they write there.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{CachesMode, ProtectionMode};
use crate::evidence::{ScratchDirectory, read_boot_id};
use crate::model::{
    Action, ActionEnd, ActionId, ActionLimits, ActionPhase, ByteSize, EndedAction, EnvironmentMount, IsolationLevel, ProjectId,
    Sandbox, SnapshotMount, SpawnFailure, StopReason, StopStage, Timestamp, TreePath,
};
use crate::process::{
    ALL_REASONS, Control, LaunchRequest, LaunchedChild, Layers, Sinks, WrittenChange, supervise, written_entries,
};
use crate::project::{
    CopiesOutcome, ModulesToCompile, ProjectError, ProjectSettings, RunRequest, SnapshotBase, Workspace, is_by_product,
    obstacle_of_settings,
};
use crate::report::{CachesV2, SnapshotV2, TestedPlace, WrittenV2};
use crate::run::bytecode::RunBytecode;
use crate::run::check_caches::{CacheOfAttempt, CheckCaches, stamp_environments};
use crate::run::kept_files::{KeptFiles, KeptOutcome};
use crate::run::prerequisite;
use crate::run::seen_layers::SeenLayers;
use crate::sandbox::{ChildEnvironment, SandboxRequest, isolation};
use crate::snapshot::{CacheConditions, KeptCaches, RunLayers, SnapshotError};
use crate::tree::{TreeHints, TreeIndex};

/// The reason, shown in the report, for running the checks in the project itself after the project changed again and
/// again while it was copied.
const MOVED: &str = "the project changed again and again while it was copied";

/// How often the tree is read again because it changed while it was copied.
const TRIES: usize = 10;

/// The most attempts of actions that a run with a snapshot may have. Each attempt can add a layer, and the options of one
/// mount have room for about 200 layers.
const MAX_ATTEMPTS: usize = 150;

/// How many of the written entries a report lists.
const LISTED: usize = 20;

/// The limit for the kept caches of a project is `max_snapshot_bytes` divided by this number.
const CACHES_OF_SNAPSHOT: u64 = 2;

/// The time limit for trying whether the snapshot can be mounted. If it passes, the checks run in place.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(30);

/// Where the checks of a run work.
#[derive(Debug)]
pub(crate) enum CheckPlace {
    /// In the project, because the settings ask for no snapshot.
    Project,
    /// In the project although the settings ask for a snapshot, for this reason.
    InPlace(String),
    Snapshot(Box<RunSnapshot>),
}

/// The snapshot of one run.
#[derive(Debug)]
pub(crate) struct RunSnapshot {
    root: PathBuf,
    base: SnapshotBase,
    layers: RunLayers,
    caches: CheckCaches,
    bytecode: RunBytecode,
    seen: SeenLayers,
    users: SnapshotUsers,
    /// What each action wrote, in the order in which the actions ended; at most `LISTED` entries of each attempt.
    written: Vec<WrittenV2>,
    written_count: u64,
    kept: KeptFiles,
}

/// Which actions work on the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SnapshotUsers {
    /// Checks and clean-up. Services do not, because a prerequisite that needs them may follow and change the project.
    Checks,
    /// Checks, clean-up and services. All prerequisites that change the project have ended.
    Everybody,
}

/// A place from which a file is read: a directory, and a path below it.
pub(crate) type PlaceOfFile = (PathBuf, PathBuf);

impl Workspace {
    /// Reads the tree, and prepares a snapshot of it if the settings ask for one. Returns the tree that the snapshot holds.
    /// `hints` says where the tree may have changed since it was last read.
    pub(crate) fn look_and_copy(
        &mut self,
        request: &RunRequest<'_>,
        hints: &TreeHints,
    ) -> Result<(TreeIndex, CopiesOutcome), ProjectError> {
        let mut index = self.trees.scan(&self.store, request.settings, request.scope, hints)?;
        let of_settings = obstacle_of_settings(request.settings, &request.scope.root, self.store.root());
        if let Some(reason) = of_settings.or_else(|| obstacle_of_run(request)) {
            return Ok((index, CopiesOutcome::InPlace(reason)));
        }
        let outputs = prerequisite::outputs(request.plan);
        for _ in 0..TRIES {
            match self.copies.update(&self.store, request.settings, request.scope, (&index, outputs.clone()))? {
                CopiesOutcome::Moved(paths) => {
                    let hints = TreeHints::Only(paths);
                    index = self.trees.scan(&self.store, request.settings, request.scope, &hints)?;
                }
                outcome @ (CopiesOutcome::Current(_) | CopiesOutcome::InPlace(_)) => return Ok((index, outcome)),
            }
        }
        Ok((index, CopiesOutcome::InPlace(MOVED.to_owned())))
    }

    /// Decides where the checks of a run work. Until it works once, each run of a project tries whether its snapshot can be mounted.
    pub(crate) fn place_of_checks(
        &mut self,
        request: &RunRequest<'_>,
        copies: CopiesOutcome,
    ) -> Result<CheckPlace, ProjectError> {
        if request.settings.sandbox.snapshot == ProtectionMode::Off {
            return Ok(CheckPlace::Project);
        }
        let place = match copies {
            CopiesOutcome::Current(base) => self.try_snapshot(request, *base)?,
            CopiesOutcome::InPlace(reason) => CheckPlace::InPlace(reason),
            CopiesOutcome::Moved(_) => CheckPlace::InPlace(MOVED.to_owned()),
        };
        refuse_in_place_if_required(request, place)
    }

    /// Updates the place of the checks to what prerequisites left in the project. Returns the tree that they left, if the
    /// checks run on a snapshot of it.
    pub(crate) fn refresh_place(
        &mut self,
        request: &RunRequest<'_>,
        place: &mut CheckPlace,
    ) -> Result<Option<TreeIndex>, ProjectError> {
        let CheckPlace::Snapshot(snapshot) = place else { return Ok(None) };
        let (index, copies) = self.look_and_copy(request, &TreeHints::Everything)?;
        let reason = match copies {
            CopiesOutcome::Current(base) => {
                snapshot.caches.set_conditions(conditions_of(&base));
                snapshot.base = *base;
                snapshot.bytecode.begin_again();
                return Ok(Some(index));
            }
            CopiesOutcome::InPlace(reason) => reason,
            CopiesOutcome::Moved(_) => MOVED.to_owned(),
        };
        *place = refuse_in_place_if_required(request, CheckPlace::InPlace(reason))?;
        Ok(None)
    }

    fn try_snapshot(&mut self, request: &RunRequest<'_>, base: SnapshotBase) -> Result<CheckPlace, ProjectError> {
        let layers = match RunLayers::begin(&base.directory) {
            Ok(layers) => layers,
            Err(error) => return Ok(CheckPlace::InPlace(cause_of(&error))),
        };
        let root = request.scope.root.clone();
        let users = if request.plan.prerequisites.is_empty() { SnapshotUsers::Everybody } else { SnapshotUsers::Checks };
        let settings = &request.settings.sandbox;
        let limit = ByteSize(settings.max_snapshot_bytes.0 / CACHES_OF_SNAPSHOT);
        let kept = KeptCaches::new(&base.directory, &read_boot_id(), limit);
        let caches = CheckCaches::new(settings.caches, kept, conditions_of(&base));
        let (bytecode, seen) = (RunBytecode::default(), SeenLayers::default());
        let (written, kept) = (Vec::new(), KeptFiles::default());
        let mut snapshot = RunSnapshot { root, base, layers, caches, bytecode, seen, users, written, written_count: 0, kept };
        let project = &request.scope.project;
        if !self.mountable.contains(project) {
            // A refusal is not remembered: a full disk or a busy machine may be the reason, and the next run tries again.
            if let Some(reason) = self.try_mount(request, &mut snapshot)? {
                return Ok(CheckPlace::InPlace(reason));
            }
            self.mountable.insert(project.clone());
        }
        Ok(CheckPlace::Snapshot(Box::new(snapshot)))
    }

    /// Tries to mount the snapshot by starting a program that does not exist. Returns why the snapshot cannot be mounted;
    /// `None` if it can be.
    fn try_mount(&mut self, request: &RunRequest<'_>, snapshot: &mut RunSnapshot) -> Result<Option<String>, ProjectError> {
        let Some(action) = request.plan.steps.first() else { return Ok(None) };
        let mount = match snapshot.add_mount(None, None) {
            Ok(mount) => mount,
            Err(error) => return Ok(Some(cause_of(&error))),
        };
        let nowhere = Path::new("/proctor-tries-a-mount");
        let environment = ChildEnvironment::build(self.ambient(), &request.settings.environment, action, nowhere);
        let sandbox = SandboxRequest {
            project_root: &request.scope.root,
            home: isolation::home(self.ambient()),
            store: self.store.root(),
            scratch: self.run_preparation.scratch().map_or(nowhere, ScratchDirectory::path),
            action,
            directory: &request.scope.root,
            program: nowhere,
            environment: &environment.variables,
            ambient: self.ambient(),
            settings: &request.settings.sandbox,
            guarded: &[],
        };
        let mut isolation =
            isolation::isolation(&sandbox, nowhere, request.settings.strongest_isolation).map_err(ProjectError::Sandbox)?;
        isolation.output = None;
        isolation.weakest = IsolationLevel::Namespace;
        isolation.snapshot = Some(mount);
        let launch = LaunchRequest {
            child: LaunchedChild {
                program: nowhere.to_owned(),
                argv: vec![nowhere.as_os_str().to_owned()],
                environment: Vec::new(),
                another_follows: false,
                directory: request.scope.root.clone(),
                isolation,
            },
            input: None,
        };
        let failed = |source| ProjectError::Descriptor { action: action.name.clone(), source };
        let nothing = || File::options().write(true).open("/dev/null").map_err(failed);
        let sinks = Sinks { log: nothing()?, frames: nothing()? };
        let limits = ActionLimits {
            timeout: TRIAL_TIMEOUT,
            idle: None,
            output: None,
            grace: Duration::ZERO,
            ladder: vec![StopStage::Sigkill],
        };
        let (control, _handle) = Control::new().map_err(|source| failed(std::io::Error::other(source)))?;
        let ended = supervise(self.launcher()?, &launch, &limits, sinks, &control, ALL_REASONS);
        let ended = ended.map_err(|source| ProjectError::Supervise { action: action.name.clone(), source })?;
        Ok(match ended.end {
            ActionEnd::NotStarted(SpawnFailure::NotIsolated { why }) => Some(why),
            ActionEnd::TimedOut { .. } | ActionEnd::Lost { .. } => Some("the trial of a mount did not end".to_owned()),
            // The mount succeeded: only the program could not be started, because it does not exist.
            ActionEnd::NotStarted(_) | ActionEnd::Exited { .. } | ActionEnd::Signalled { .. } | ActionEnd::Stopped { .. } => None,
        })
    }
}

/// Returns what kept caches depend on, as of now; `None` if that is unknown.
fn conditions_of(base: &SnapshotBase) -> Option<CacheConditions> {
    Some(CacheConditions { copies: base.generations?, environments: stamp_environments(&base.environments) })
}

/// Returns why a run cannot have a snapshot, as far as its plan says so.
fn obstacle_of_run(request: &RunRequest<'_>) -> Option<String> {
    let plan = request.plan;
    let attempts: usize = plan.actions().map(|action| 2 * (1 + usize::from(action.retry_attempts))).sum();
    let reason = if request.is_typed() {
        "a typed command works for the project"
    } else if attempts > MAX_ATTEMPTS {
        "the plan has too many actions"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

fn refuse_in_place_if_required(request: &RunRequest<'_>, place: CheckPlace) -> Result<CheckPlace, ProjectError> {
    match &place {
        // A typed command works in the project by design, so requiring a snapshot does not concern it.
        CheckPlace::InPlace(reason) if request.settings.sandbox.snapshot == ProtectionMode::Require && !request.is_typed() => {
            Err(ProjectError::SnapshotRequired { reason: reason.clone() })
        }
        CheckPlace::Project | CheckPlace::InPlace(_) | CheckPlace::Snapshot(_) => Ok(place),
    }
}

fn cause_of(error: &SnapshotError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

impl CheckPlace {
    /// Returns the snapshot that an action works in; `None` if it works in the project.
    pub(crate) fn snapshot_for(&self, action: &Action) -> Option<&RunSnapshot> {
        match self {
            Self::Snapshot(snapshot) if snapshot.is_used_by(action) => Some(&**snapshot),
            Self::Snapshot(_) | Self::Project | Self::InPlace(_) => None,
        }
    }

    /// Returns the snapshot that an action works in, to add a layer to it; `None` if the action works in the project.
    pub(crate) fn snapshot_to_change(&mut self, action: &Action) -> Option<&mut RunSnapshot> {
        match self {
            Self::Snapshot(snapshot) if snapshot.is_used_by(action) => Some(&mut **snapshot),
            Self::Snapshot(_) | Self::Project | Self::InPlace(_) => None,
        }
    }

    /// Lets services use the snapshot from now on. No prerequisite that changes the project follows.
    pub(crate) fn open_for_services(&mut self) {
        if let Self::Snapshot(snapshot) = self {
            snapshot.users = SnapshotUsers::Everybody;
        }
    }

    /// Returns the Python modules that are worth compiling after the run, if the checks ran on a snapshot.
    pub(crate) fn modules_to_compile(&self, project: &ProjectId) -> Option<ModulesToCompile> {
        match self {
            Self::Snapshot(snapshot) => snapshot.bytecode.to_compile(project, &snapshot.base, &snapshot.root),
            Self::Project | Self::InPlace(_) => None,
        }
    }

    /// Sets which layers of other checks a check sees, when checks run at the same time.
    pub(crate) fn show_layers(&mut self, seen: SeenLayers) {
        if let Self::Snapshot(snapshot) = self {
            snapshot.seen = seen;
        }
    }

    /// Returns whether the checks run on a snapshot.
    pub(crate) fn is_snapshot(&self) -> bool {
        matches!(self, Self::Snapshot(_))
    }

    /// Copies the files that `writes` of the checks names to the project. Without a snapshot nothing is copied, because
    /// the checks wrote in the project itself.
    pub(crate) fn copy_out(&mut self, request: &RunRequest<'_>, begun: Timestamp, stopped: Option<StopReason>) -> KeptOutcome {
        match self {
            Self::Snapshot(snapshot) => snapshot.copy_out(request, begun, stopped),
            Self::Project | Self::InPlace(_) => KeptOutcome::default(),
        }
    }

    /// Returns the report's section about where the checks ran; `None` if the settings ask for no snapshot.
    pub(crate) fn facts(&self) -> Option<SnapshotV2> {
        match self {
            Self::Project => None,
            Self::InPlace(reason) => Some(SnapshotV2 {
                tested: TestedPlace::InPlace,
                reason: Some(reason.clone()),
                inputs: None,
                caches: None,
                written: Vec::new(),
                written_count: None,
                kept_count: None,
                writes_to_keep: Vec::new(),
            }),
            Self::Snapshot(snapshot) => Some(SnapshotV2 {
                tested: TestedPlace::Snapshot,
                reason: None,
                inputs: Some(snapshot.base.inputs),
                caches: Some(match snapshot.caches.mode() {
                    CachesMode::Kept => CachesV2::Kept,
                    CachesMode::Fresh => CachesV2::Fresh,
                }),
                written: snapshot.listed(),
                written_count: Some(snapshot.written_count),
                kept_count: snapshot.kept.count(),
                writes_to_keep: snapshot.kept.proposed(),
            }),
        }
    }
}

impl RunSnapshot {
    fn is_used_by(&self, action: &Action) -> bool {
        match action.phase {
            ActionPhase::Step => !action.in_place,
            ActionPhase::Cleanup => true,
            ActionPhase::Prerequisite => action.service.is_some() && self.users == SnapshotUsers::Everybody,
        }
    }

    /// Removes the layers of an action that has ended, without showing them to later actions.
    pub(crate) fn drop_mount(&mut self, mount: &SnapshotMount) {
        let of_environments = mount.environments.iter().map(|environment| &environment.written);
        of_environments.chain([&mount.written]).for_each(|layer| self.layers.remove(layer));
    }

    /// Returns the record of the run's compiled Python modules, and the base: the tree and the copies on which the checks
    /// run.
    pub(crate) fn bytecode(&mut self) -> (&mut RunBytecode, &SnapshotBase) {
        (&mut self.bytecode, &self.base)
    }

    /// Makes the layers for an action, and returns what is to be mounted for it. A check gets its own caches. `bytecode` is a
    /// directory of compiled modules.
    pub(crate) fn add_mount(
        &mut self,
        action: Option<&Action>,
        bytecode: Option<PathBuf>,
    ) -> Result<SnapshotMount, SnapshotError> {
        let written = self.layers.add()?;
        let kept = action.map_or_else(Vec::new, |action| self.seen.select(self.layers.kept(), &action.id));
        let mut lower: Vec<PathBuf> = kept.iter().chain(&self.base.copies).cloned().collect();
        let cache = action.map_or_else(CacheOfAttempt::default, |action| self.caches.prepare(action, &lower, &kept));
        let environments = self.base.environments.iter();
        let environments = environments
            .map(|path| {
                let caches = cache.in_environment(path, &mut self.layers);
                Ok(EnvironmentMount { path: path.clone(), caches, written: self.layers.add()? })
            })
            .collect::<Result<_, SnapshotError>>()?;
        // Compiled modules lie directly over the tree's copy, which is the lowest.
        lower.splice(lower.len() - 1..lower.len() - 1, bytecode);
        lower.splice(0..0, cache.in_project());
        Ok(SnapshotMount { root: self.root.clone(), directory: self.base.directory.clone(), lower, written, environments })
    }

    /// Notes the files that an action wrote, and lets later actions see these files, except the action's caches. No
    /// process of the action is left. Returns why the check's kept cache was dropped; `None` if it was not.
    pub(crate) fn note_written(
        &mut self,
        (action, ended): (&Action, &EndedAction),
        mount: &SnapshotMount,
        sandbox: Option<&Sandbox>,
        settings: &ProjectSettings,
    ) -> std::io::Result<Option<String>> {
        let places = sandbox.iter().flat_map(|sandbox| sandbox.places.iter().map(|place| place.path.as_path()));
        let mounted = places.chain(mount.environments.iter().map(|environment| environment.path.as_path()));
        // The directories on which something was mounted are left out, because proctor made them and not the check.
        let skipped: Vec<TreePath> = mounted.filter_map(|path| TreePath::below(&self.root, path).ok()).collect();
        let dropped = self.caches.take((action, ended), mount, &skipped, &mut self.layers)?;
        let entries = written_entries(&mount.written.upper, &skipped)?;
        self.kept.note((action, &ended.end, &mount.written.upper), &entries, settings);
        if entries.is_empty() {
            return Ok(dropped);
        }
        self.bytecode.note_written(&action.id, &self.base, &entries);
        self.layers.keep(&mount.written, &action.id);
        // A directory of the project that is called `.git` is a by-product too, but a check should not make one, so it is listed.
        let mut listed = 0;
        let is_shown = |path: &TreePath| !is_by_product(path) || path.as_bytes().starts_with(b".git/");
        let is_shown = |path: &TreePath| is_shown(path) || self.kept.is_candidate(path);
        for entry in entries.into_iter().filter(|entry| is_shown(&entry.path)) {
            let bytes = match entry.change {
                // A directory is not counted itself, only the files in it.
                WrittenChange::ReplacedDirectory => continue,
                WrittenChange::WroteFile { bytes } => Some(bytes),
                WrittenChange::MadeOther | WrittenChange::Removed => None,
            };
            self.written_count += 1;
            if listed < LISTED {
                listed += 1;
                let (action_id, path) = (action.id.clone(), entry.path.to_string());
                self.written.push(WrittenV2 { action_id, path, bytes, kept: false, not_kept: None });
            }
        }
        Ok(dropped)
    }

    /// Copies what `writes` of the checks names to the project. No process of the run is left.
    fn copy_out(&mut self, request: &RunRequest<'_>, begun: Timestamp, stopped: Option<StopReason>) -> KeptOutcome {
        let outcome = self.kept.copy_out(request, &self.base.copies, begun, stopped);
        for one in &mut self.written {
            if let Ok(path) = TreePath::try_from(one.path.as_str()) {
                (one.kept, one.not_kept) = self.kept.state(&one.action_id, &path);
            }
        }
        outcome
    }

    /// Returns where the file at a path of the project is read from, as an action sees it: from a layer, a copy or a live
    /// environment. `None` if the action sees no regular file there.
    pub(crate) fn place_of(&self, action: &ActionId, relative: &Path) -> std::io::Result<Option<PlaceOfFile>> {
        let full = self.root.join(relative);
        if self.base.environments.iter().any(|environment| full.starts_with(environment)) {
            return Ok(Some((self.root.clone(), relative.to_owned())));
        }
        let Ok(path) = TreePath::below(&self.root, &full) else { return Ok(None) };
        let taken = self.seen.select(self.caches.taken(), action);
        for directories in [self.lower(action), taken] {
            if let Some((layer, _)) = Layers::new(directories.clone()).open_file(&path)? {
                return Ok(Some((directories[layer].clone(), relative.to_owned())));
            }
        }
        Ok(None)
    }

    /// Returns the directories that an action sees over each other, the topmost first.
    fn lower(&self, action: &ActionId) -> Vec<PathBuf> {
        let layers = self.seen.select(self.layers.kept(), action);
        layers.into_iter().chain(self.base.copies.iter().cloned()).collect()
    }

    /// Returns the first written entries in the order of the report, whichever action ended first.
    fn listed(&self) -> Vec<WrittenV2> {
        let mut written = self.written.clone();
        written.sort_by_key(|one| self.seen.rank(&one.action_id));
        written.truncate(LISTED);
        written
    }
}

/// Returns where a file is read from that an action itself wrote at `path`, which is absolute. `None` if the path is outside of
/// the project, which the snapshot does not cover.
pub(crate) fn place_of_written(mount: &SnapshotMount, path: &Path) -> Option<PlaceOfFile> {
    let environment = mount.environments.iter().find(|environment| path.starts_with(&environment.path));
    let (around, layer) = match environment {
        Some(environment) => (environment.path.as_path(), &environment.written),
        None => (mount.root.as_path(), &mount.written),
    };
    path.strip_prefix(around).ok().map(|relative| (layer.upper.clone(), relative.to_owned()))
}
