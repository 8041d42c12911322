//! The layers of one run: the directories into which overlayfs puts the files that the checks of a run write.

use std::fs;
use std::path::{Path, PathBuf};

use crate::model::{ActionId, WrittenLayer};
use crate::snapshot::SnapshotError;
use crate::snapshot::entries::empty_directory;

const LAYERS: &str = "layers";

/// The layers of one run of a project. Its user must hold the project's lock. When it is dropped, all layers are removed.
#[derive(Debug)]
pub struct RunLayers {
    directory: PathBuf,
    made: u32,
    /// The layers that later actions of the run may see, the oldest first, each with the action that wrote it.
    kept: Vec<(ActionId, PathBuf)>,
}

impl RunLayers {
    /// Begins a run. Removes layers that an earlier process left when it was killed.
    ///
    /// # Errors
    /// When the directory of layers cannot be made or emptied.
    pub fn begin(snapshot: &Path) -> Result<Self, SnapshotError> {
        let directory = snapshot.join(LAYERS);
        let emptied = fs::create_dir_all(&directory).and_then(|()| empty_directory(&directory));
        emptied.map_err(|source| SnapshotError::Copy { path: directory.clone(), source })?;
        Ok(Self { directory, made: 0, kept: Vec::new() })
    }

    /// Makes an empty layer for one action.
    ///
    /// # Errors
    /// When the directories cannot be made, for example because the disk is full.
    pub fn add(&mut self) -> Result<WrittenLayer, SnapshotError> {
        self.made += 1;
        let layer = self.directory.join(self.made.to_string());
        let written = WrittenLayer { upper: layer.join("upper"), work: layer.join("work") };
        for path in [&layer, &written.upper, &written.work] {
            fs::create_dir(path).map_err(|source| SnapshotError::Copy { path: path.clone(), source })?;
        }
        Ok(written)
    }

    /// Lets later actions of the run see what `writer` wrote to its layer. The action must have ended.
    pub fn keep(&mut self, layer: &WrittenLayer, writer: &ActionId) {
        self.kept.push((writer.clone(), layer.upper.clone()));
    }

    /// Removes a layer that no later action of the run sees. The action must have ended.
    pub fn remove(&mut self, layer: &WrittenLayer) {
        for path in [&layer.upper, &layer.work] {
            // What cannot be removed now is removed at the end of the run.
            let _left = empty_directory(path).and_then(|()| fs::remove_dir(path));
        }
        let _left = layer.upper.parent().map(fs::remove_dir);
    }

    /// Returns the directories of the kept layers, the oldest first, each with the action that wrote it.
    pub fn kept(&self) -> impl Iterator<Item = (&ActionId, &PathBuf)> {
        self.kept.iter().map(|(writer, directory)| (writer, directory))
    }
}

impl Drop for RunLayers {
    fn drop(&mut self) {
        // The next run removes what cannot be removed now.
        let _left = empty_directory(&self.directory);
    }
}
