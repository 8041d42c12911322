//! Mounts a snapshot over the project, in the namespaces of the keeper (the process that starts and watches one
//! action), once the action is known.
//!
//! A keeper may be started before the files of the next run are copied, but the lower directories of an overlayfs mount
//! must not change. So the snapshot is mounted last, while the keeper may still mount. By then the other mounts of the
//! sandbox exist already, and the snapshot would cover the mounts below the project. So these mounts are detached
//! first, and attached again on top of the snapshot. Directories are passed as descriptors, because `mount(2)` takes at
//! most one page of options. Source: Documentation/filesystems/overlayfs.rst.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statfs::{OVERLAYFS_SUPER_MAGIC, fstatfs};

use crate::process::system_calls::{MountAttribute, MountExtent, attach_mount, clone_mount, restrict_copy};
use proctor_model::{DroppedWrites, SnapshotMount, WrittenLayer};

/// The directory of the machine's shared memory, in which the layers lie if the store cannot hold them.
pub(super) const MEMORY: &str = "/dev/shm";

/// Mounts a snapshot over the project. `store` is a descriptor of the evidence store's directory, which was opened
/// before an empty directory was mounted over the store; `store_path` is the path of this directory. `memory` is a
/// descriptor of `/dev/shm`, which was opened before an empty file system was mounted over it. `places` are the paths
/// of the sandbox.
pub(super) fn mount_snapshot<'p>(
    snapshot: &SnapshotMount,
    store: &OwnedFd,
    store_path: &'p Path,
    memory: Option<&OwnedFd>,
    places: impl Iterator<Item = &'p Path>,
) -> io::Result<()> {
    let root = &snapshot.root;
    let is_below = |path: &&Path| path.starts_with(root) && *path != root;
    let inside: Vec<&Path> = outermost(places.chain([store_path]).filter(is_below));
    // The directories of installed packages (environments) are opened first, because the snapshot will cover their
    // paths.
    let environments: Vec<_> = snapshot
        .environments
        .iter()
        // A directory outside of the project may be hidden from the action, and then needs no layer.
        .filter(|environment| environment.path.starts_with(root) || environment.path.is_dir())
        .map(|environment| Ok((environment, open_directory(&environment.path)?)))
        .collect::<io::Result<_>>()?;
    let taken_up: Vec<_> = inside
        .iter()
        .map(|path| Ok((*path, fs::metadata(path)?.is_dir(), clone_mount(None, path, MountExtent::Tree)?)))
        .collect::<io::Result<_>>()?;
    let opened = OpenedStore::attach(store, store_path, &snapshot.directory)?;
    let layers = PlaceOfLayers::attach(&snapshot.directory, snapshot.memory.as_deref(), memory)?;
    let lower: Vec<OwnedFd> = snapshot.lower.iter().map(|path| layers.open(path)).collect::<io::Result<_>>()?;
    lay(root, &lower, &layers.find(&snapshot.written))?;
    for (environment, live) in environments {
        fs::create_dir_all(&environment.path)?;
        let caches = environment.caches.iter().map(|path| layers.open(path));
        let lower: Vec<OwnedFd> = caches.chain([Ok(live)]).collect::<io::Result<_>>()?;
        lay(&environment.path, &lower, &layers.find(&environment.written))?;
    }
    opened.detach()?;
    for (path, is_directory, mount) in &taken_up {
        make_mount_point(path, *is_directory)?;
        attach_mount(mount, path)?;
    }
    Ok(())
}

/// Lays layers over directories whose changes are dropped. Where the kernel refuses that for a directory, it becomes read-only. The other
/// arguments are those of [`mount_snapshot`].
pub(super) fn mount_dropped(
    dropped: &DroppedWrites,
    store: &OwnedFd,
    store_path: &Path,
    memory: Option<&OwnedFd>,
) -> io::Result<()> {
    let live: Vec<_> = dropped.places.iter().map(|place| Ok((place, open_directory(&place.path)?))).collect::<io::Result<_>>()?;
    let opened = OpenedStore::attach(store, store_path, &dropped.directory)?;
    let layers = PlaceOfLayers::attach(&dropped.directory, dropped.memory.as_deref(), memory)?;
    for (place, live) in live {
        if lay(&place.path, &[live], &layers.find(&place.written)).is_err() {
            let copy = clone_mount(None, &place.path, MountExtent::Tree)?;
            restrict_copy(&copy, MountAttribute::ReadOnlyWithoutDevices)?;
            attach_mount(&copy, &place.path)?;
        }
    }
    opened.detach()
}

/// A directory of the evidence store. An empty directory is mounted over the store to hide it from actions, so this
/// directory is mounted at its own path for as long as it is needed here.
struct OpenedStore {
    path: PathBuf,
}

impl OpenedStore {
    fn attach(store: &OwnedFd, store_path: &Path, directory: &Path) -> io::Result<Self> {
        let below = directory.strip_prefix(store_path).map_err(io::Error::other)?;
        let copy = clone_mount(Some(store.as_fd()), below, MountExtent::Tree)?;
        restrict_copy(&copy, MountAttribute::WritableAgain)?;
        fs::create_dir_all(directory)?;
        attach_mount(&copy, directory)?;
        Ok(Self { path: directory.to_owned() })
    }

    /// Makes the directory unreachable again. Overlay mounts keep their own references to the directories that they
    /// need.
    fn detach(self) -> io::Result<()> {
        umount2(&self.path, MntFlags::MNT_DETACH)?;
        // The parent directories were made inside the empty directory that covers the store, so they are removed. The
        // parents of the output directory are not empty and stay.
        let _not_empty = self.path.ancestors().take_while(|path| fs::remove_dir(path).is_ok()).count();
        Ok(())
    }
}

/// Where this process finds the overlay layers of the run. Layers that lie in `/dev/shm` cannot be reached there, because the action has a
/// `/dev/shm` of its own: they are mounted on the store's directory of layers, which is empty then.
struct PlaceOfLayers<'s> {
    memory: Option<&'s Path>,
    attached: PathBuf,
}

impl<'s> PlaceOfLayers<'s> {
    fn attach(directory: &Path, in_memory: Option<&'s Path>, memory: Option<&OwnedFd>) -> io::Result<Self> {
        let place = Self { memory: in_memory, attached: directory.join("layers") };
        if let Some(layers) = place.memory {
            let memory = memory.ok_or_else(|| io::Error::other("there is no /dev/shm"))?;
            let below = layers.strip_prefix(MEMORY).map_err(io::Error::other)?;
            let copy = clone_mount(Some(memory.as_fd()), below, MountExtent::Tree)?;
            restrict_copy(&copy, MountAttribute::WritableAgain)?;
            attach_mount(&copy, &place.attached)?;
        }
        Ok(place)
    }

    /// Returns where this process sees a path of the store or of the layers.
    fn resolve(&self, path: &Path) -> PathBuf {
        let below = self.memory.and_then(|memory| path.strip_prefix(memory).ok());
        below.map_or_else(|| path.to_owned(), |below| self.attached.join(below))
    }

    fn open(&self, path: &Path) -> io::Result<OwnedFd> {
        open_directory(&self.resolve(path))
    }

    fn find(&self, layer: &WrittenLayer) -> WrittenLayer {
        WrittenLayer { upper: self.resolve(&layer.upper), work: self.resolve(&layer.work) }
    }
}

/// Mounts the directories in `lower`, and the layer that receives the changes on top of them, as one overlay at a
/// path.
fn lay(at: &Path, lower: &[OwnedFd], written: &WrittenLayer) -> io::Result<()> {
    let (upper, work) = (open_directory(&written.upper)?, open_directory(&written.work)?);
    // The kernel makes the directory `work/incompat/volatile` when it mounts a layer with `volatile`, and refuses to
    // mount the same layer again.
    let was_mounted = fs::symlink_metadata(written.work.join("work/incompat/volatile")).is_ok();
    let lower: Vec<String> = lower.iter().map(by_descriptor).collect();
    let named =
        format!("lowerdir={},upperdir={},workdir={},userxattr", lower.join(":"), by_descriptor(&upper), by_descriptor(&work));
    let laid = |options: &str| mount(Some("overlay"), at, Some("overlay"), MsFlags::MS_NODEV | MsFlags::MS_NOSUID, Some(options));
    // Without `volatile`, unmounting would sync the whole disk. Kernels before Linux 5.10 do not know the option.
    let laid = match laid(&format!("{named},volatile")) {
        Err(Errno::EINVAL) => laid(&named),
        other => other,
    };
    laid.map_err(|errno| refused(at, &upper, was_mounted, errno))
}

/// Returns the error for a mount that the kernel refused, with the cause as far as it is known. The kernel itself only
/// says that an argument is invalid.
fn refused(at: &Path, upper: &OwnedFd, was_mounted: bool, errno: Errno) -> io::Error {
    let is_on_overlay = fstatfs(upper).is_ok_and(|found| found.filesystem_type() == OVERLAYFS_SUPER_MAGIC);
    if was_mounted {
        let why = "a process that had mounted this layer was killed before the command could start; run it again";
        return io::Error::other(format!("a snapshot cannot be mounted at `{}`: {why}", at.display()));
    }
    let cause = match (errno, is_on_overlay) {
        (Errno::EINVAL, true) => {
            ": proctor's own directory lies on an overlay, which cannot hold what checks write; set XDG_STATE_HOME to a directory on \
             another file system, or give the container a `/dev/shm`"
        }
        (Errno::EINVAL, false) => {
            ": perhaps another file system is mounted inside of it, or it lies on one that cannot be under an overlay"
        }
        _ => "",
    };
    io::Error::other(format!("a snapshot cannot be mounted at `{}` ({}){cause}", at.display(), errno.desc()))
}

fn by_descriptor(directory: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", directory.as_raw_fd())
}

pub(super) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(File::options().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY).open(path)?.into())
}

fn make_mount_point(path: &Path, is_directory: bool) -> io::Result<()> {
    if is_directory {
        return fs::create_dir_all(path);
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    match File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

/// Returns the paths that are not inside another of the paths. Detaching a mount also detaches every mount below it.
fn outermost<'p>(paths: impl Iterator<Item = &'p Path>) -> Vec<&'p Path> {
    let mut paths: Vec<&Path> = paths.collect();
    paths.sort_unstable();
    let mut kept: Vec<&Path> = Vec::with_capacity(paths.len());
    for path in paths {
        if kept.last().is_none_or(|last| !path.starts_with(last)) {
            kept.push(path);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_taken_up_once_with_what_lies_in_it() {
        let paths = ["/p/b/c", "/p/b", "/p/a", "/p/b-c", "/p/b/c/d"].map(Path::new);
        assert_eq!(outermost(paths.into_iter()), ["/p/a", "/p/b", "/p/b-c"].map(Path::new));
    }
}
