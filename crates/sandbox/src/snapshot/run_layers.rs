//! The layers of one run: the directories into which overlayfs puts the files that the checks of a run write.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fs, io};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, renameat};
use nix::libc;
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmod, fchmodat, fstat, mknod};

use crate::snapshot::SnapshotError;
use crate::snapshot::entries::{OWNER, empty_directory, format, mode_of, stat_of, there};
use crate::snapshot::generation::make_memory_directory;
use proctor_model::{ActionId, TreePath, WrittenLayer};
use proctor_tree::{open_below, open_root};

const LAYERS: &str = "layers";
/// The directory with layers that were made before the run that needs them.
const READY: &str = "ready-layers";
/// How many layers are made in advance: for the first check's tree, and for one environment.
const READY_LAYERS: u32 = 2;

/// The layers of one run of a project. The caller must hold the project's lock. Dropping this value removes all layers.
#[derive(Debug)]
pub struct RunLayers {
    directory: PathBuf,
    /// The directory with the layers that are ready.
    ready: PathBuf,
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
        let ready = snapshot.join(READY);
        let Some(memory) = make_memory_directory(snapshot) else {
            return Ok(Self { directory, ready, is_in_memory: false, made: 0, kept: Vec::new() });
        };
        empty_directory(&memory).map_err(|source| SnapshotError::Copy { path: memory.clone(), source })?;
        Ok(Self { directory: memory, ready, is_in_memory: true, made: 0, kept: Vec::new() })
    }

    /// Makes layers for the next run of a project, in idle time: a new directory can take half a millisecond, and its renaming takes a
    /// hundredth of that. The caller must hold the project's lock. Does nothing if the project has no snapshot, or its layers are
    /// ready.
    ///
    /// # Errors
    /// When a directory cannot be made. The next run then makes its layers itself.
    pub fn prepare(snapshot: &Path) -> io::Result<()> {
        if !snapshot.join(LAYERS).is_dir() {
            return Ok(());
        }
        for number in 0..READY_LAYERS {
            let layer = snapshot.join(READY).join(number.to_string());
            if !layer.is_dir() {
                directories_of(&layer).iter().try_for_each(fs::create_dir_all)?;
            }
        }
        Ok(())
    }

    /// Moves a layer that is ready to `layer`. Returns whether there was one, and it is empty.
    fn take_ready(&self, layer: &Path) -> bool {
        let move_here = |number: u32| renameat(AT_FDCWD, &self.ready.join(number.to_string()), AT_FDCWD, layer);
        let is_taken = (0..READY_LAYERS).any(|number| move_here(number).is_ok());
        if !is_taken {
            return false;
        }
        let is_empty = |path: &PathBuf| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        if directories_of(layer).iter().all(is_empty) {
            return true;
        }
        // Whoever wrote into it, a check shall not see it.
        let _left = empty_directory(layer).and_then(|()| fs::remove_dir(layer));
        false
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
        let [upper, work] = directories_of(&layer);
        if self.is_in_memory || !self.take_ready(&layer) {
            for path in [&layer, &upper, &work] {
                fs::create_dir(path).map_err(|source| SnapshotError::Copy { path: path.clone(), source })?;
            }
        }
        Ok(WrittenLayer { upper, work })
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

    /// Makes a layer that hides the paths `names` in a directory over which the layer is mounted.
    ///
    /// # Errors
    /// When the layer cannot be made, for example because the file system has no devices.
    pub fn hide(&mut self, names: &[String]) -> io::Result<PathBuf> {
        self.made += 1;
        let layer = self.directory.join(self.made.to_string());
        for hidden in names.iter().map(|name| layer.join(name)) {
            fs::create_dir_all(hidden.parent().unwrap_or(&layer))?;
            // overlayfs takes this device for a removed entry.
            mknod(&hidden, SFlag::S_IFCHR, Mode::S_IRUSR, 0)?;
        }
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

/// Returns the two directories of a layer: what is written to it, and where overlayfs works.
fn directories_of(layer: &Path) -> [PathBuf; 2] {
    [layer.join("upper"), layer.join("work")]
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays somebody who writes into a layer")]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).map(|entries| entries.flatten().map(|entry| entry.file_name().into_string().unwrap()));
        let mut names: Vec<String> = entries.map(Iterator::collect).unwrap_or_default();
        names.sort();
        names
    }

    #[test]
    fn a_layer_that_is_ready_is_used_once_and_one_with_content_never() {
        let snapshot = TempDir::new().unwrap();
        RunLayers::prepare(snapshot.path()).unwrap();
        assert_eq!(names(snapshot.path()), Vec::<String>::new(), "a project without a snapshot has no layers");
        drop(RunLayers::begin(snapshot.path()).unwrap());
        RunLayers::prepare(snapshot.path()).unwrap();
        let ready = snapshot.path().join(READY);
        assert_eq!(names(&ready), ["0", "1"]);
        fs::write(ready.join("1/upper/planted"), "").unwrap();
        let mut layers = RunLayers::begin(snapshot.path()).unwrap();
        for left in [&["1"][..], &[], &[]] {
            let layer = layers.add().unwrap();
            assert_eq!((names(&layer.upper), names(&layer.work)), (Vec::new(), Vec::new()));
            assert!(layer.upper.starts_with(snapshot.path().join(LAYERS)));
            assert_eq!(names(&ready), left);
        }
        drop(layers);
        RunLayers::prepare(snapshot.path()).unwrap();
        assert_eq!((names(&ready), names(&snapshot.path().join(LAYERS))), (vec!["0".to_owned(), "1".to_owned()], Vec::new()));
    }
}
