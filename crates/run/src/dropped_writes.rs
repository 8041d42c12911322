//! The layers that take what checks write to package caches, and in the project itself to installed packages. They are dropped when the
//! check has ended: only prerequisites change what later checks and prerequisites use.

use std::fs;
use std::path::{Path, PathBuf};

use proctor_model::{Action, ActionPhase, DroppedPlace, DroppedWrites, PlanNote};
use proctor_sandbox::process::LaunchRequest;
use proctor_sandbox::snapshot::{RunLayers, SnapshotError};

/// The most directories of installed packages that a note names.
const NAMED: usize = 3;

/// What checks need that work in the project itself, found when the first of them starts.
#[derive(Debug, Default)]
pub(crate) struct InPlaceLayers {
    /// The directories of installed packages in the project.
    pub(crate) environments: Option<Vec<PathBuf>>,
    /// The layers of a run without a snapshot.
    layers: Option<RunLayers>,
}

impl InPlaceLayers {
    /// Returns the layers of a run without a snapshot. `directory` is the project's directory of snapshots.
    pub(crate) fn layers(&mut self, directory: &Path) -> Result<&mut RunLayers, SnapshotError> {
        let layers = match self.layers.take() {
            Some(layers) => layers,
            None => RunLayers::begin(directory)?,
        };
        Ok(self.layers.insert(layers))
    }

    /// Returns the layers, if there are some.
    pub(crate) fn begun(&mut self) -> Option<&mut RunLayers> {
        self.layers.as_mut()
    }
}

/// Adds a layer over each package cache and each of these directories of installed packages to the request of an action. A prerequisite
/// gets none: it is what fills them. `directory` contains the layers.
pub(crate) fn add_layers(
    (layers, directory): (&mut RunLayers, &Path),
    environments: &[PathBuf],
    action: &Action,
    request: &mut LaunchRequest,
) -> Result<(), SnapshotError> {
    let Some(sandbox) = request.child.isolation.sandbox.as_ref().filter(|_| action.phase != ActionPhase::Prerequisite) else {
        return Ok(());
    };
    let paths = sandbox.caches.iter().chain(environments);
    let place = |path: &PathBuf| Ok(DroppedPlace { path: path.clone(), written: layers.add()? });
    let places = paths.map(place).collect::<Result<Vec<_>, SnapshotError>>()?;
    if !places.is_empty() {
        let memory = layers.memory().map(Path::to_owned);
        request.child.isolation.dropped = Some(DroppedWrites { directory: directory.to_owned(), memory, places });
    }
    Ok(())
}

/// Removes the layers of an action that has ended. Returns a note if it wrote to one of these directories of installed packages.
pub(crate) fn drop_layers(
    layers: &mut RunLayers,
    environments: &[PathBuf],
    action: &Action,
    dropped: &DroppedWrites,
) -> Option<PlanNote> {
    let is_written = |place: &&DroppedPlace| {
        environments.contains(&place.path) && fs::read_dir(&place.written.upper).is_ok_and(|mut entries| entries.next().is_some())
    };
    let written = dropped.places.iter().filter(is_written).take(NAMED);
    let names: Vec<String> = written.map(|place| format!("`{}`", place.path.display())).collect();
    dropped.places.iter().for_each(|place| layers.remove(&place.written));
    let names = Some(names).filter(|names| !names.is_empty())?.join(", ");
    let message = format!("what it wrote to {names} is dropped: a check does not change installed packages, a prerequisite does");
    Some(PlanNote { subject: action.name.clone(), message })
}
