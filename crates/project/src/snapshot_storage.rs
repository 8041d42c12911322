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
use crate::workspace::Workspace;
use proctor_evidence::{LockError, ProjectLock, Store, WaitDecision};
use proctor_model::ProjectId;
use proctor_sandbox::snapshot;

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
    let store = Store::open(state_root).map_err(ProjectError::Evidence)?;
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
            snapshot::remove_directory(&part).map_err(ProjectError::Snapshot)?;
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
    snapshot::remove_directory(&directory).map_err(ProjectError::Snapshot)?;
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
    let store = Store::open(state_root).map_err(ProjectError::Evidence)?;
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
