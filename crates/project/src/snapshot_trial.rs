//! Decides whether a project can have a snapshot, by its settings, its tree and a trial of the mount. No run is needed
//! for this.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::error::ProjectError;
use crate::examination::{ExaminationRequest, Scratch, reached_isolation, run_trial, trial_launch};
use crate::made_for_plan::MadeForPlan;
use crate::project_copies::obstacle_of_inputs;
use crate::request::ProjectSettings;
use proctor_evidence::Store;
use proctor_model::{ActionEnd, IsolationLevel, ProtectionMode, SnapshotMount, SpawnFailure};
use proctor_sandbox::process::LauncherHandle;
use proctor_sandbox::snapshot::{RunLayers, obstacle};
use proctor_tree::TreeIndex;

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
    let store = Store::open(request.state_root).map_err(ProjectError::Evidence)?;
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
