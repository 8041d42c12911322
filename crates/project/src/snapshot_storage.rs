//! The disk space of snapshots and of the projects' own caches (`own_caches`): how much each project uses, and how it is freed.
//!
//! Everything in these directories can be made again. So it may be removed whenever no run of its project is under way.
//! A run holds the project's lock, so whoever gets the lock may remove these directories.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use crate::error::ProjectError;
use crate::evidence::lock_within;
use crate::examination::{ExaminationRequest, Scratch, reached_isolation, run_trial, trial_launch};
use crate::made_for_plan::MadeForPlan;
use crate::project_copies::obstacle_of_inputs;
use crate::request::ProjectSettings;
use crate::workspace::Workspace;
use proctor_evidence::{LockError, ProjectLock, Store, WaitDecision};
use proctor_model::{ActionEnd, IsolationLevel, ProjectId, ProtectionMode, SnapshotMount, SpawnFailure};
use proctor_sandbox::process::LauncherHandle;
use proctor_sandbox::snapshot;
use proctor_sandbox::snapshot::{RunLayers, obstacle};
use proctor_tree::TreeIndex;

/// In a project's snapshot directory: the names of the directories with the copies of the project, and the name of the
/// directory with the layers of its runs. Everything else in the snapshot directory is a cache.
const COPIES: &[&str] = &["tree", "inputs"];
const LAYERS: &str = "layers";

/// `st_blocks` counts in units of this size, whatever the file system's own blocks are (`stat(2)`).
const BLOCK: u64 = 512;

/// The bytes on disk that the snapshots and the own caches of one project use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SnapshotUsage {
    /// The copies of the tree and of the ignored inputs.
    pub copies: u64,
    /// What the checks of a run wrote. Zero unless a run is under way or was killed.
    pub layers: u64,
    /// The tools' caches that are kept between runs.
    pub caches: u64,
    /// The caches outside of the snapshots: what pip, npm and other tools wrote to the project's own cache directory.
    pub own_caches: u64,
}

impl SnapshotUsage {
    /// Returns the sum of all bytes.
    pub fn total(&self) -> u64 {
        self.copies + self.layers + self.caches + self.own_caches
    }
}

/// Which snapshots are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotsToRemove {
    /// The snapshots and own caches of projects that are not registered, and the layers that killed runs left.
    Unused,
    /// All snapshots and own caches. A registered project gets new ones by its next run.
    All,
}

/// The result of removing snapshots, or of planning to remove them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemovedSnapshots {
    /// The projects whose snapshots were removed in whole or in part, with the freed bytes.
    pub removed: Vec<(ProjectId, u64)>,
    /// The projects that another process has locked. Nothing of their snapshots was removed.
    pub busy: Vec<ProjectId>,
}

/// Returns the bytes that each project's snapshots and own caches use. A project that has neither is left out. A
/// directory that cannot be read counts as empty.
pub fn snapshot_usage(state_root: &Path) -> BTreeMap<ProjectId, SnapshotUsage> {
    let Ok(store) = Store::open(state_root) else { return BTreeMap::new() };
    projects_with_directories(&store).into_iter().map(|project| (project.clone(), usage_of(&store, &project))).collect()
}

/// Returns the bytes that all evidence and the ledgers use on disk. What cannot be read counts as empty.
pub fn evidence_bytes(state_root: &Path) -> u64 {
    let Ok(store) = Store::open(state_root) else { return 0 };
    disk_bytes_below(&store.evidence_directory()) + disk_bytes_below(&store.ledger_directory())
}

/// Removes the snapshots and own caches that `wanted` selects, except those of projects that another process has
/// locked. With `is_trial`, only says what would be removed.
///
/// # Errors
/// When the store, a lock or a directory of a snapshot cannot be used.
pub fn remove_snapshots(
    state_root: &Path,
    registered: &BTreeSet<ProjectId>,
    wanted: SnapshotsToRemove,
    is_trial: bool,
) -> Result<RemovedSnapshots, ProjectError> {
    let store = Store::open(state_root)?;
    let mut outcome = RemovedSnapshots::default();
    for project in projects_with_directories(&store) {
        let lock = match store.lock(&project, &mut || WaitDecision::GiveUp) {
            Ok(lock) => lock,
            Err(LockError::Busy { .. }) => {
                outcome.busy.push(project);
                continue;
            }
            Err(LockError::Evidence(error)) => return Err(ProjectError::Evidence(error)),
        };
        let usage = usage_of(&store, &project);
        let is_whole = wanted == SnapshotsToRemove::All || !registered.contains(&project);
        let directory = store.snapshot_directory(&project);
        if !is_trial {
            snapshot::remove_memory_layers(&directory);
        }
        let (part, bytes) = if is_whole { (directory, usage.total()) } else { (directory.join(LAYERS), usage.layers) };
        if !is_whole && is_empty(&part) {
            continue;
        }
        if !is_trial {
            snapshot::remove_directory(&part)?;
            if is_whole {
                remove_own_caches(&store, &project)?;
            }
        }
        outcome.removed.push((project, bytes));
        drop(lock);
    }
    Ok(outcome)
}

/// Removes the snapshots and own caches of a project whose lock is held.
pub(crate) fn remove_snapshots_of(lock: &ProjectLock) -> Result<(), ProjectError> {
    let directory = lock.store().snapshot_directory(lock.project());
    snapshot::remove_memory_layers(&directory);
    snapshot::remove_directory(&directory)?;
    remove_own_caches(lock.store(), lock.project())
}

/// Removes the own caches of a project whose lock is held.
fn remove_own_caches(store: &Store, project: &ProjectId) -> Result<(), ProjectError> {
    snapshot::remove_directory(&store.own_caches_directory(project)).map_err(ProjectError::Snapshot)
}

/// Removes the snapshots and own caches of a project that is not watched any more. Waits until a run of the project
/// that is under way has ended.
///
/// # Errors
/// When another process locks the project for longer than `wait`, or a directory cannot be removed.
pub fn discard_snapshots(state_root: &Path, project: &ProjectId, wait: Duration) -> Result<(), ProjectError> {
    let store = Store::open(state_root)?;
    remove_snapshots_of(&lock_within(&store, project, wait)?)
}

impl Workspace {
    /// Removes the layers that a killed run of the project left. The next run would remove them too, but a service that
    /// finds the project's verdict fresh starts no run.
    ///
    /// If another process has locked the project, nothing is done: the run of that process has removed these layers.
    pub fn remove_left_layers(&self, project: &ProjectId) {
        let directory = self.evidence.store.snapshot_directory(project);
        if !directory.exists() {
            return;
        }
        let Ok(_lock) = self.evidence.store.lock(project, &mut || WaitDecision::GiveUp) else { return };
        snapshot::remove_memory_layers(&directory);
        if let Err(error) = snapshot::remove_directory(&directory.join(LAYERS)) {
            tracing::warn!("what a killed run of {project} left was not removed: {error}");
        }
    }
}

/// Returns the projects that have a snapshot directory or a directory of own caches.
fn projects_with_directories(store: &Store) -> Vec<ProjectId> {
    let directories = [store.snapshots_directory(), store.every_own_caches_directory()].map(fs::read_dir);
    let names = directories.into_iter().flatten().flatten().flatten().map(|entry| entry.file_name());
    let mut projects: Vec<ProjectId> = names.filter_map(|name| ProjectId::try_from(name.to_str()?).ok()).collect();
    projects.sort();
    projects.dedup();
    projects
}

fn usage_of(store: &Store, project: &ProjectId) -> SnapshotUsage {
    let own_caches = disk_bytes_below(&store.own_caches_directory(project));
    let mut usage = SnapshotUsage { own_caches, ..SnapshotUsage::default() };
    for entry in fs::read_dir(store.snapshot_directory(project)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let bytes = disk_bytes_below(&entry.path());
        match name.to_str() {
            Some(LAYERS) => usage.layers += bytes,
            Some(name) if COPIES.contains(&name) => usage.copies += bytes,
            Some(_) | None => usage.caches += bytes,
        }
    }
    usage
}

/// Returns the bytes that everything in a directory uses on disk, without the directory itself.
fn disk_bytes_below(directory: &Path) -> u64 {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut bytes = 0;
    let mut waiting: Vec<_> = entries(directory).collect();
    while let Some(path) = waiting.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        bytes += metadata.blocks() * BLOCK;
        if metadata.is_dir() {
            waiting.extend(entries(&path));
        }
    }
    bytes
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none())
}

// Decides whether a project can have a snapshot, by its settings, its tree and a trial of the mount. No run is needed
// for this.

/// Returns why a project cannot have a snapshot, if the reason is in its settings, or is the owner or the location of
/// its root; otherwise `None`.
pub fn obstacle_of_settings(settings: &ProjectSettings, root: &Path, store: &Path) -> Option<String> {
    let sandbox = &settings.sandbox;
    let is_around = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(root));
    let reason = if sandbox.snapshot == ProtectionMode::Off {
        "`sandbox.snapshot` is \"off\""
    } else if sandbox.mode == ProtectionMode::Off {
        "`sandbox.mode` is \"off\""
    } else if settings.strongest_isolation != IsolationLevel::Namespace {
        "a snapshot needs namespaces"
    } else if !is_owned_by_this_user(root) {
        "the project belongs to another user"
    } else if is_around(store) {
        "proctor's own directory is inside the project"
    } else {
        return None;
    };
    Some(reason.to_owned())
}

/// Returns why a project cannot have a snapshot because of its tree, its ignored files or its environments, for example because the
/// tree is larger than `max_snapshot_bytes`; otherwise `None`.
pub(crate) fn obstacle_of_tree(settings: &ProjectSettings, index: &TreeIndex, made: MadeForPlan) -> Option<String> {
    let of_tree = obstacle(index, settings.sandbox.max_snapshot_bytes).map(|reason| reason.to_string());
    // If the ignored files cannot be listed, the next run reports why.
    of_tree.or_else(|| obstacle_of_inputs(settings, index, made).ok().flatten())
}

/// Returns whether the project's root belongs to this user, who would also own the files of a copy.
fn is_owned_by_this_user(root: &Path) -> bool {
    let user = nix::unistd::geteuid().as_raw();
    fs::metadata(root).is_ok_and(|metadata| metadata.uid() == user)
}

/// Mounts an empty directory over a project for the request's action, as a run mounts its snapshot. Returns why that
/// cannot be done.
///
/// # Errors
/// When the store or a path in the settings cannot be opened, or when the action cannot be supervised.
pub fn try_snapshot(launcher: &mut LauncherHandle, request: &ExaminationRequest<'_>) -> Result<Option<String>, ProjectError> {
    let store = Store::open(request.state_root)?;
    let scratch = Scratch(store.root().join(format!("examination-snapshot-{}", std::process::id())));
    let lower = scratch.0.join("lower");
    if let Err(error) = fs::create_dir_all(&lower) {
        return Ok(Some(format!("cannot write in the store: {error}")));
    }
    let mut layers = match RunLayers::begin(&scratch.0) {
        Ok(layers) => layers,
        Err(error) => return Ok(Some(error.reason())),
    };
    let written = match layers.add() {
        Ok(written) => written,
        Err(error) => return Ok(Some(error.reason())),
    };
    let mount = SnapshotMount {
        root: request.project_root.to_owned(),
        directory: scratch.0.clone(),
        memory: layers.memory().map(Path::to_owned),
        lower: vec![lower],
        written,
        environments: Vec::new(),
    };
    try_mount(launcher, request, &store, &scratch.0, mount)
}

/// Tries to mount a snapshot over a project for the request's action, as a run mounts it, and starts the request's program.
/// Returns why the snapshot cannot be mounted; `None` if it can be. `scratch` is the directory for temporary files.
///
/// # Errors
/// When a path in the settings cannot be opened, or when the action cannot be supervised. [`ProjectError::HelperDied`] says nothing
/// about the snapshot, so the caller can try again.
pub fn try_mount(
    launcher: &mut LauncherHandle,
    request: &ExaminationRequest<'_>,
    store: &Store,
    scratch: &Path,
    mount: SnapshotMount,
) -> Result<Option<String>, ProjectError> {
    let mut launch = trial_launch(store, scratch, request)?(IsolationLevel::Namespace);
    launch.child.isolation.weakest = IsolationLevel::Namespace;
    launch.child.isolation.snapshot = Some(mount);
    let ended = run_trial(launcher, &launch, request)?;
    if let ActionEnd::Lost { why } = ended.end {
        return Err(ProjectError::HelperDied { action: request.action.name.clone(), why });
    }
    Ok(match reached_isolation(ended) {
        Err(SpawnFailure::NotIsolated { why }) => Some(why),
        // The mount succeeded, even if the program could not be started afterwards.
        Err(_) | Ok(_) => None,
    })
}
