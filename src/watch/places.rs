//! The watches of a project, one for each directory of the tree, and the directories that are polled instead.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use notify::{Config, ErrorKind, INotifyWatcher, RecursiveMode, Watcher as _};

use crate::model::TreePath;
use crate::watch::error::WatchError;
use crate::watch::filesystem::read_eventless;
use crate::watch::inbox::InboxHandle;
use crate::watch::stamps::Snapshot;

/// The time limit on the wait for the backend's thread to end after its watches were removed.
const LAST_WORD: Duration = Duration::from_secs(5);

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

/// The watches that this module has placed. The backend may have dropped some of them.
pub(super) struct Places {
    root: PathBuf,
    /// `None` if the limit on inotify instances is reached; then all directories are polled.
    backend: Option<Backend>,
    watched: BTreeMap<Vec<u8>, DirectoryIdentity>,
    /// The path under which the backend knows each directory. The backend keeps only one path for each inode.
    paths: HashMap<DirectoryIdentity, Vec<u8>>,
    /// For each polled directory: its identity and its content at the last poll.
    pub(super) polled: BTreeMap<Vec<u8>, (DirectoryIdentity, Snapshot)>,
    /// How reliably events report changes, by the device number of the file system.
    event_source: HashMap<u64, EventSource>,
    count: Arc<AtomicUsize>,
}

struct Backend {
    watcher: INotifyWatcher,
    /// This channel is closed when the backend's thread has ended.
    ended: Receiver<()>,
}

impl Backend {
    fn start(inbox: InboxHandle) -> Result<Self, WatchError> {
        let config = Config::default().with_follow_symlinks(false);
        let (alive, ended): (Sender<()>, _) = channel();
        let push = move |event| {
            let _alive = &alive;
            inbox.push_event(event);
        };
        let watcher = INotifyWatcher::new(push, config).map_err(WatchError::starting)?;
        Ok(Self { watcher, ended })
    }
}

impl Places {
    /// Starts the backend, which puts its events into `inbox`. If the kernel's limit on inotify instances is reached,
    /// there is no backend and all directories must be polled.
    pub(super) fn start(root: &Path, inbox: InboxHandle, count: Arc<AtomicUsize>) -> Result<Self, WatchError> {
        let backend = match Backend::start(inbox) {
            Ok(backend) => Some(backend),
            Err(WatchError::TooManyInstances) => None,
            Err(error) => return Err(error),
        };
        count.store(0, Ordering::Relaxed);
        let (watched, paths, polled, event_source) = Default::default();
        Ok(Self { root: root.to_owned(), backend, watched, paths, polled, event_source, count })
    }

    pub(super) fn has_backend(&self) -> bool {
        self.backend.is_some()
    }

    /// Places a watch on a directory. Does nothing if the backend already watches the directory under this path.
    pub(super) fn place(&mut self, directory: &TreePath) -> Result<WatchPlacement, WatchError> {
        let path = self.root.join(directory.as_path());
        let Some(identity) = read_identity(&path) else { return Ok(WatchPlacement::NotThere) };
        let is_known = self.watched.get(directory.as_bytes()) == Some(&identity);
        if is_known && self.paths.get(&identity).is_some_and(|known| known == directory.as_bytes()) {
            return Ok(WatchPlacement::Already);
        }
        let Some(backend) = &mut self.backend else { return Ok(WatchPlacement::LimitReached) };
        match backend.watcher.watch(&path, RecursiveMode::NonRecursive) {
            Ok(()) => {}
            Err(source) => return to_outcome(source, path),
        }
        // The directory may have been replaced by a link just before the watch was placed, and inotify follows links.
        if read_identity(&path) != Some(identity) {
            let _gone = backend.watcher.unwatch(&path);
            return Ok(WatchPlacement::NotThere);
        }
        if let Some(replaced) = self.watched.insert(directory.as_bytes().to_vec(), identity) {
            self.paths.remove(&replaced);
        }
        self.paths.insert(identity, directory.as_bytes().to_vec());
        self.publish_count();
        Ok(WatchPlacement::New)
    }

    /// Watches a directory that is not part of the tree, such as git's. If that is not possible, nobody is told.
    pub(super) fn watch_besides(&mut self, directory: &Path) {
        if let Some(backend) = &mut self.backend {
            let _unwatched = backend.watcher.watch(directory, RecursiveMode::NonRecursive);
        }
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

    /// Forgets the watches of a directory and of everything below it, because the backend has dropped them. A dropped
    /// watch may have served another path of the same directory too. Such paths are returned, because they must be
    /// watched again.
    pub(super) fn forget(&mut self, directory: &TreePath) -> Vec<TreePath> {
        let mut orphans = Vec::new();
        for path in at_or_below(&self.watched, directory) {
            let Some(identity) = self.watched.remove(&path) else { continue };
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
            // Removing the watch fails if the directory was deleted; the kernel has then removed the watch itself.
            let path = self.root.join(directory.as_path());
            let _gone = self.backend.as_mut().map(|backend| backend.watcher.unwatch(&path));
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

    /// Removes all watches and waits until the backend's thread has ended, at most [`LAST_WORD`].
    pub(super) fn end(self) {
        if let Some(Backend { watcher, ended }) = self.backend {
            drop(watcher);
            let _hung_up = ended.recv_timeout(LAST_WORD);
        }
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

fn to_outcome(source: notify::Error, path: PathBuf) -> Result<WatchPlacement, WatchError> {
    match &source.kind {
        ErrorKind::PathNotFound => Ok(WatchPlacement::NotThere),
        ErrorKind::Io(error) if is_absence(error.kind()) => Ok(WatchPlacement::NotThere),
        ErrorKind::MaxFilesWatch => Ok(WatchPlacement::LimitReached),
        ErrorKind::Io(_) | ErrorKind::Generic(_) | ErrorKind::WatchNotFound | ErrorKind::InvalidConfig(_) => {
            Err(WatchError::Watch { path, source })
        }
    }
}

fn is_absence(kind: io::ErrorKind) -> bool {
    [io::ErrorKind::NotADirectory, io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied].contains(&kind)
}
