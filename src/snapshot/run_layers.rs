//! The layers of one run: the directories into which overlayfs puts the files that the checks of a run write.

use std::fs;
use std::path::{Path, PathBuf};

use crate::model::WrittenLayer;
use crate::snapshot::SnapshotError;
use crate::snapshot::entries::empty_directory;

const LAYERS: &str = "layers";

/// The layers of one run of a project. The caller must hold the project's lock. Dropping this value removes all layers.
#[derive(Debug)]
pub struct RunLayers {
    directory: PathBuf,
    made: u32,
    /// The layers that later actions of the run see, the oldest first.
    kept: Vec<PathBuf>,
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

    /// Lets later actions of the run see what an action wrote to its layer. The action must have ended.
    pub fn keep(&mut self, layer: &WrittenLayer) {
        self.kept.push(layer.upper.clone());
    }

    /// Removes a layer that no later action of the run sees. The action must have ended.
    pub fn remove(&mut self, layer: &WrittenLayer) {
        for path in [&layer.upper, &layer.work] {
            // What cannot be removed now is removed at the end of the run.
            let _left = empty_directory(path).and_then(|()| fs::remove_dir(path));
        }
        let _left = layer.upper.parent().map(fs::remove_dir);
    }

    /// Returns the directories of the kept layers, the newest first.
    pub fn kept(&self) -> impl Iterator<Item = &PathBuf> {
        self.kept.iter().rev()
    }
}

impl Drop for RunLayers {
    fn drop(&mut self) {
        // The next run removes what cannot be removed now.
        let _left = empty_directory(&self.directory);
    }
}
