//! The watches of a project, one for each directory of the tree, and the directories that are polled instead.
//!
//! The file systems on which changes can happen without an inotify event. The table is data; only `read_eventless`
//! asks the kernel for a directory's file system.
//!
//! Why a project cannot be watched.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::errno::Errno;
use nix::sys::statfs::statfs;

use crate::watch::hub::HubMember;
use crate::watch::stamps::Snapshot;
use proctor_model::TreePath;

/// The device and inode of a directory. The kernel attaches a watch to the inode, whatever the directory's path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct DirectoryIdentity(u64, u64);

/// The result of placing a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchPlacement {
    New,
    Already,
    /// The path does not exist, is not a directory, or may not be read. When this changes, an event of the parent
    /// directory reports it.
    NotThere,
    /// The kernel's limit on watches is reached.
    LimitReached,
}

/// How reliably events report the changes in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventSource {
    /// Events report every change.
    Events,
    /// Events report only some changes, because the directory is on the file system with this name.
    Some(&'static str),
}

/// The watches that this module has placed. The kernel may have dropped some of them.
pub(super) struct Places {
    root: PathBuf,
    /// The project's place in the hub that owns the kernel's watches.
    hub: HubMember,
    watched: BTreeMap<Vec<u8>, DirectoryIdentity>,
    /// The path under which the hub knows each directory. It keeps only one path for each inode.
    paths: HashMap<DirectoryIdentity, Vec<u8>>,
    /// For each polled directory: its identity and its content at the last poll.
    pub(super) polled: BTreeMap<Vec<u8>, (DirectoryIdentity, Snapshot)>,
    /// How reliably events report changes, by the device number of the file system.
    event_source: HashMap<u64, EventSource>,
    count: Arc<AtomicUsize>,
}

impl Places {
    pub(super) fn new(root: &Path, hub: HubMember, count: Arc<AtomicUsize>) -> Self {
        count.store(0, Ordering::Relaxed);
        let (watched, paths, polled, event_source) = Default::default();
        Self { root: root.to_owned(), hub, watched, paths, polled, event_source, count }
    }

    /// Forgets every place, so that all watches are placed again. Those in force stay until [`Self::end_placing_anew`]. If the
    /// kernel's limit on inotify instances is reached, all directories must be polled.
    pub(super) fn place_anew(&mut self) -> Result<(), WatchError> {
        (self.watched, self.paths, self.polled, self.event_source) = Default::default();
        self.publish_count();
        self.hub.place_anew();
        self.hub.open_instance().map(|_| ())
    }

    /// Removes the watches that were not placed again.
    pub(super) fn end_placing_anew(&self) {
        self.hub.remove_outdated();
    }

    /// Returns the project's place in the hub, for its ticks.
    pub(super) fn hub(&self) -> &HubMember {
        &self.hub
    }

    /// Returns whether directories can be watched. At the kernel's limit on inotify instances they cannot.
    pub(super) fn has_backend(&self) -> bool {
        self.hub.has_instance()
    }

    /// Places a watch on a directory. Does nothing if the hub already watches the directory under this path.
    pub(super) fn place(&mut self, directory: &TreePath) -> Result<WatchPlacement, WatchError> {
        let path = self.root.join(directory.as_path());
        let Some(identity) = read_identity(&path) else { return Ok(WatchPlacement::NotThere) };
        let is_known = self.watched.get(directory.as_bytes()) == Some(&identity);
        if is_known && self.paths.get(&identity).is_some_and(|known| known == directory.as_bytes()) {
            return Ok(WatchPlacement::Already);
        }
        match self.hub.watch(&path) {
            Ok(()) => {}
            Err(errno) => return to_outcome(errno, path),
        }
        // Another directory may have been put there just before the watch was placed.
        if read_identity(&path) != Some(identity) {
            self.hub.unwatch(&path);
            return Ok(WatchPlacement::NotThere);
        }
        if let Some(replaced) = self.watched.insert(directory.as_bytes().to_vec(), identity) {
            self.paths.remove(&replaced);
        }
        self.paths.insert(identity, directory.as_bytes().to_vec());
        self.publish_count();
        Ok(WatchPlacement::New)
    }

    /// Watches a directory that is not part of the tree, such as git's. If that is not possible, no error is reported.
    pub(super) fn watch_besides(&self, directory: &Path) {
        let _unwatched = self.hub.watch(directory);
    }

    /// Begins to poll a directory whose present content is `seen`. Does nothing if the directory does not exist.
    /// Returns whether the directory is polled now and was not before.
    pub(super) fn poll(&mut self, directory: &TreePath, seen: Snapshot) -> bool {
        match read_identity(&self.root.join(directory.as_path())) {
            Some(identity) => self.polled.insert(directory.as_bytes().to_vec(), (identity, seen)).is_none(),
            None => false,
        }
    }

    /// Returns how reliably events report the changes in a directory. The kernel is asked only once for each device.
    pub(super) fn event_source(&mut self, directory: &TreePath) -> EventSource {
        let path = self.root.join(directory.as_path());
        let Some(DirectoryIdentity(device, _)) = read_identity(&path) else { return EventSource::Events };
        *self.event_source.entry(device).or_insert_with(|| read_eventless(&path).map_or(EventSource::Events, EventSource::Some))
    }

    /// Removes the watches of a directory and of everything below it, because their paths are others now or gone. A removed
    /// watch may have served another path of the same directory too. Such paths are returned, because they must be
    /// watched again.
    pub(super) fn forget(&mut self, directory: &TreePath) -> Vec<TreePath> {
        let mut orphans = Vec::new();
        for path in at_or_below(&self.watched, directory) {
            let Some(identity) = self.watched.remove(&path) else { continue };
            self.hub.unwatch(&self.root.join(OsStr::from_bytes(&path)));
            match self.paths.get(&identity) {
                Some(known) if *known != path => orphans.extend(TreePath::try_from(known.as_slice())),
                Some(_) | None => {}
            }
            self.paths.remove(&identity);
        }
        for path in at_or_below(&self.polled, directory) {
            self.polled.remove(&path);
        }
        self.watched.retain(|path, _| orphans.iter().all(|orphan: &TreePath| orphan.as_bytes() != path.as_slice()));
        self.publish_count();
        orphans
    }

    /// Removes the watch of a directory and stops polling it.
    pub(super) fn withdraw(&mut self, directory: &TreePath) {
        self.polled.remove(directory.as_bytes());
        if let Some(identity) = self.watched.remove(directory.as_bytes()) {
            self.paths.remove(&identity);
            self.hub.unwatch(&self.root.join(directory.as_path()));
            self.publish_count();
        }
    }

    /// Returns the watched or polled directories at or below a directory.
    pub(super) fn at_or_below(&self, directory: &TreePath) -> Vec<TreePath> {
        let (watched, polled) = (at_or_below(&self.watched, directory), at_or_below(&self.polled, directory));
        watched.iter().chain(&polled).filter_map(|path| TreePath::try_from(path.as_slice()).ok()).collect()
    }

    pub(super) fn is_watched(&self, directory: &TreePath) -> bool {
        self.has_watch(directory) || self.polled.contains_key(directory.as_bytes())
    }

    pub(super) fn has_watch(&self, directory: &TreePath) -> bool {
        self.watched.contains_key(directory.as_bytes())
    }

    /// Returns whether the directory at the root's path is still the one that is watched or polled.
    pub(super) fn is_root_in_place(&self) -> bool {
        let polled = self.polled.get(&b""[..]).map(|(identity, _)| identity);
        let known = self.watched.get(&b""[..]).or(polled);
        known.is_some() && read_identity(&self.root).as_ref() == known
    }

    fn publish_count(&self) {
        self.count.store(self.watched.len(), Ordering::Relaxed);
    }
}

fn at_or_below<T>(known: &BTreeMap<Vec<u8>, T>, directory: &TreePath) -> Vec<Vec<u8>> {
    if directory.is_root() {
        return known.keys().cloned().collect();
    }
    // In byte order, all paths `a/…` come after `a/` and before `a0`. A path such as `a-b` is not in this range.
    let (mut first, mut end) = (directory.as_bytes().to_vec(), directory.as_bytes().to_vec());
    first.push(b'/');
    end.push(b'/' + 1);
    let below = known.range(first..end).map(|(path, _)| path.clone());
    known.get_key_value(directory.as_bytes()).map(|(path, _)| path.clone()).into_iter().chain(below).collect()
}

/// Returns the identity of the directory at a path; `None` for a link, a file or a missing path.
fn read_identity(path: &Path) -> Option<DirectoryIdentity> {
    let metadata = fs::symlink_metadata(path).ok().filter(Metadata::is_dir)?;
    Some(DirectoryIdentity(metadata.dev(), metadata.ino()))
}

fn to_outcome(errno: Errno, path: PathBuf) -> Result<WatchPlacement, WatchError> {
    if [Errno::ENOENT, Errno::ENOTDIR, Errno::EACCES].contains(&errno) {
        Ok(WatchPlacement::NotThere)
    } else if [Errno::ENOSPC, Errno::EMFILE].contains(&errno) {
        // ENOSPC is the limit on watches. Without an inotify instance the hub returns EMFILE.
        Ok(WatchPlacement::LimitReached)
    } else {
        Err(WatchError::Watch { path, source: errno.into() })
    }
}

/// A file system on which changes can happen without an inotify event: a row of [`EVENTLESS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eventless {
    /// The file system's type number, as `statfs(2)` returns it.
    pub magic: i64,
    /// The file system's name, for messages.
    pub name: &'static str,
}

const fn row(magic: i64, name: &'static str) -> Eventless {
    Eventless { magic, name }
}

/// File systems that another machine, another kernel or a program can change. The kernel of this machine gives events
/// only for changes that were made through this kernel, so directories on these file systems are watched *and* polled.
/// The numbers are from `linux/magic.h` and the file systems' own headers.
pub const EVENTLESS: &[Eventless] = &[
    row(0x6969, "NFS"),
    row(0x517B, "SMB"),
    row(0xFF53_4D42, "CIFS"),
    row(0xFE53_4D42, "SMB 2"),
    row(0x0102_1997, "9p, as WSL and virtual machines use for shared folders"),
    row(0x5346_4846, "WSL's file system"),
    row(0x6573_5546, "FUSE, as sshfs and shared folders use"),
    row(0x7868_4256, "VirtualBox' shared folders"),
    row(0x786F_4256, "VirtualBox' shared folders"),
    row(0x7C7C_6673, "Parallels' shared folders"),
    row(0xBACB_ACBC, "VMware's shared folders"),
    row(0x00C3_6400, "Ceph"),
    row(0x5346_414F, "AFS"),
    row(0x6B41_4653, "AFS"),
    row(0x7375_7245, "Coda"),
    row(0x564C, "NCP"),
    row(0x0BD0_0BD0, "Lustre"),
    row(0x0116_1970, "GFS2"),
    row(0x7461_636F, "OCFS2"),
    row(0x4750_4653, "GPFS"),
    row(0x1983_0326, "BeeGFS"),
];

/// Returns the name of a file system that does not report every change; `None` for all others.
pub fn find_eventless(magic: i64) -> Option<&'static str> {
    EVENTLESS.iter().find(|row| row.magic == magic).map(|row| row.name)
}

/// Returns the name of a directory's file system if that file system does not report every change. If `statfs` fails,
/// the file system is assumed to report every change; a cookie file shows later whether events arrive.
pub(super) fn read_eventless(directory: &Path) -> Option<&'static str> {
    let kind = statfs(directory).ok()?.filesystem_type();
    // The kernel returns 32 bits, which may have been sign-extended.
    find_eventless(i64::from(kind.0 as u32))
}

/// The errors of starting a watcher or placing a watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The root's path is relative.
    #[error("`{}` is not an absolute path", path.display())]
    Relative { path: PathBuf },
    /// The root does not exist, is not a directory, or may not be read.
    #[error("cannot watch the project's directory `{}`", path.display())]
    Root { path: PathBuf, source: io::Error },
    #[error("cannot start watching")]
    Backend { source: io::Error },
    #[error("cannot watch `{}`", path.display())]
    Watch { path: PathBuf, source: io::Error },
    #[error("cannot start the watcher's thread")]
    Thread { source: io::Error },
}

impl WatchError {
    /// Returns advice for the user: what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Relative { .. } => "give the project's whole path, from `/` on",
            Self::Root { .. } => "put the directory back, or tell proctor where the project is now",
            Self::Backend { .. } => "see `proctor doctor`; checks can still be run by hand: proctor run",
            Self::Watch { .. } => "mend what is wrong with the directory, or exclude it by `watch.ignore`",
            Self::Thread { .. } => "raise the limit on processes of your user (ulimit -u), or end some",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_shadowed_and_local_file_systems_are_watched_alone() {
        for (number, row) in EVENTLESS.iter().enumerate() {
            assert_eq!(EVENTLESS.iter().position(|other| other.magic == row.magic), Some(number), "{row:?}");
        }
        for (magic, local) in [(0xEF53, "ext4"), (0x9123_683E, "btrfs"), (0x5846_5342, "xfs"), (0x0102_1994, "tmpfs")] {
            assert_eq!(find_eventless(magic), None, "{local}");
        }
        assert_eq!(find_eventless(0x6969), Some("NFS"));
        assert_eq!(find_eventless(0x0794_C7630), None, "overlayfs tells of what goes through it; the probe decides");
    }
}
