//! The layers of one run: the directories into which overlayfs puts the files that the checks of a run write.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::renameat;
use nix::libc;
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmod, fchmodat, fstat, mknod};

use crate::model::{ActionId, TreePath, WrittenLayer};
use crate::snapshot::SnapshotError;
use crate::snapshot::entries::{OWNER, empty_directory, format, mode_of, stat_of, there};
use crate::snapshot::memory_layers::make_memory_directory;
use crate::tree::{open_below, open_root};

const LAYERS: &str = "layers";

/// The layers of one run of a project. The caller must hold the project's lock. Dropping this value removes all layers.
#[derive(Debug)]
pub struct RunLayers {
    directory: PathBuf,
    /// Whether the layers lie in memory, because the store's file system cannot hold them.
    is_in_memory: bool,
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
        let Some(memory) = make_memory_directory(snapshot) else {
            return Ok(Self { directory, is_in_memory: false, made: 0, kept: Vec::new() });
        };
        empty_directory(&memory).map_err(|source| SnapshotError::Copy { path: memory.clone(), source })?;
        Ok(Self { directory: memory, is_in_memory: true, made: 0, kept: Vec::new() })
    }

    /// Returns the directory below `/dev/shm` in which the layers lie; `None` if they lie in the store.
    pub fn memory(&self) -> Option<&Path> {
        self.is_in_memory.then_some(&self.directory)
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

    /// Takes entries out of a layer, so that no later action of the run sees them. The action must have ended. Returns the layer
    /// that holds these entries only; `None` if there are none.
    ///
    /// # Errors
    /// When an entry cannot be moved away.
    pub fn discard<'p>(
        &mut self,
        layer: &WrittenLayer,
        paths: impl Iterator<Item = &'p TreePath>,
    ) -> io::Result<Option<PathBuf>> {
        let mut paths = paths.peekable();
        if paths.peek().is_none() {
            return Ok(None);
        }
        self.made += 1;
        let discarded = self.directory.join(self.made.to_string());
        fs::create_dir(&discarded)?;
        let upper = open_root(&layer.upper)?;
        for path in paths {
            let around = discarded.join(path.parent().unwrap_or_default().as_path());
            fs::create_dir_all(&around)?;
            move_away(&upper, path, &open_root(&around)?)?;
        }
        Ok(Some(discarded))
    }

    /// Makes a layer that hides the entries `names` of a directory over which the layer is mounted.
    ///
    /// # Errors
    /// When the layer cannot be made, for example because the file system has no devices.
    pub fn hide(&mut self, names: &[&str]) -> io::Result<PathBuf> {
        self.made += 1;
        let layer = self.directory.join(self.made.to_string());
        fs::create_dir(&layer)?;
        // overlayfs takes this device for a removed entry.
        names.iter().try_for_each(|name| mknod(&layer.join(name), SFlag::S_IFCHR, Mode::S_IRUSR, 0))?;
        Ok(layer)
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

/// Moves an entry of a layer to another directory. Renaming is faster than removing; the end of the run removes all layers.
fn move_away(upper: &OwnedFd, path: &TreePath, to: &OwnedFd) -> io::Result<()> {
    let parent = open_below(upper.as_fd(), path.parent().unwrap_or_default().as_bytes())?;
    let name = CString::new(path.name())?;
    let Some(stat) = there(stat_of(&parent, &name))? else { return Ok(()) };
    if format(&stat) == libc::S_IFDIR {
        fchmodat(&parent, name.as_c_str(), OWNER, FchmodatFlags::FollowSymlink)?;
    }
    match renameat(&parent, name.as_c_str(), to, name.as_c_str()) {
        // The check made the parent directory of this entry read-only.
        Err(Errno::EACCES) => {
            let mode = mode_of(&fstat(&parent)?);
            fchmod(&parent, OWNER)?;
            let moved = renameat(&parent, name.as_c_str(), to, name.as_c_str());
            fchmod(&parent, mode)?;
            Ok(moved?)
        }
        moved => Ok(moved?),
    }
}

impl Drop for RunLayers {
    fn drop(&mut self) {
        // The next run removes what cannot be removed now.
        let _left = empty_directory(&self.directory);
        if self.is_in_memory {
            let _left = fs::remove_dir(&self.directory);
        }
    }
}
