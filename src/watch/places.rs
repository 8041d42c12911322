//! The watches of a project: one per directory that a walk of the tree comes to.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use notify::{Config, ErrorKind, INotifyWatcher, RecursiveMode, Watcher as _};

use crate::model::TreePath;
use crate::watch::error::WatchError;
use crate::watch::inbox::InboxHandle;

/// Device and inode: what a watch is really about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity(u64, u64);

/// What placing a watch came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    /// There is one now that was not there before.
    New,
    /// There was one already.
    Already,
    /// The directory is not there, is none, or may not be read: the event of its parent will tell when that changes.
    NotThere,
}

/// The watches, as far as we know them.
pub(super) struct Places {
    root: PathBuf,
    backend: INotifyWatcher,
    watched: BTreeMap<Vec<u8>, Identity>,
    /// The path under which the backend knows a directory: it keeps one path for each.
    paths: HashMap<Identity, Vec<u8>>,
    count: Arc<AtomicUsize>,
}

impl Places {
    /// Starts the backend; events go to the inbox from the first watch on.
    pub(super) fn start(root: &Path, inbox: InboxHandle, count: Arc<AtomicUsize>) -> Result<Self, WatchError> {
        let config = Config::default().with_follow_symlinks(false);
        let backend = INotifyWatcher::new(move |event| inbox.push_event(event), config).map_err(WatchError::starting)?;
        count.store(0, Ordering::Relaxed);
        Ok(Self { root: root.to_owned(), backend, watched: BTreeMap::new(), paths: HashMap::new(), count })
    }

    /// Watches a directory.
    pub(super) fn place(&mut self, directory: &TreePath) -> Result<Placed, WatchError> {
        let path = self.root.join(directory.as_path());
        let Some(identity) = read_identity(&path) else { return Ok(Placed::NotThere) };
        let is_known = self.watched.get(directory.as_bytes()) == Some(&identity);
        if is_known && self.paths.get(&identity).is_some_and(|known| known == directory.as_bytes()) {
            return Ok(Placed::Already);
        }
        match self.backend.watch(&path, RecursiveMode::NonRecursive) {
            Ok(()) => {}
            Err(source) => return to_outcome(source, path),
        }
        // inotify follows a link that took the directory's place between the look and the watch.
        if read_identity(&path) != Some(identity) {
            let _gone = self.backend.unwatch(&path);
            return Ok(Placed::NotThere);
        }
        if let Some(replaced) = self.watched.insert(directory.as_bytes().to_vec(), identity) {
            self.paths.remove(&replaced);
        }
        self.paths.insert(identity, directory.as_bytes().to_vec());
        self.publish_count();
        Ok(Placed::New)
    }

    /// Forgets the watches of a directory and of everything below it, which the backend has dropped by itself. Returns other
    /// paths of the same directories: their watches were the same, and are gone with them.
    pub(super) fn forget(&mut self, directory: &TreePath) -> Vec<TreePath> {
        let mut orphans = Vec::new();
        for path in self.paths_at_or_below(directory) {
            let Some(identity) = self.watched.remove(&path) else { continue };
            match self.paths.get(&identity) {
                Some(known) if *known != path => orphans.extend(TreePath::try_from(known.as_slice())),
                Some(_) | None => {}
            }
            self.paths.remove(&identity);
        }
        self.watched.retain(|path, _| orphans.iter().all(|orphan: &TreePath| orphan.as_bytes() != path.as_slice()));
        self.publish_count();
        orphans
    }

    /// Gives a watch back.
    pub(super) fn withdraw(&mut self, directory: &TreePath) {
        if let Some(identity) = self.watched.remove(directory.as_bytes()) {
            self.paths.remove(&identity);
            // It may be gone with its directory, which is as good.
            let _gone = self.backend.unwatch(&self.root.join(directory.as_path()));
            self.publish_count();
        }
    }

    /// Returns the watched directories at or below one.
    pub(super) fn at_or_below(&self, directory: &TreePath) -> Vec<TreePath> {
        let paths = self.paths_at_or_below(directory);
        paths.iter().filter_map(|path| TreePath::try_from(path.as_slice()).ok()).collect()
    }

    /// Returns whether a directory is watched.
    pub(super) fn is_watched(&self, directory: &TreePath) -> bool {
        self.watched.contains_key(directory.as_bytes())
    }

    /// Returns what stands at the root compared with what is watched there.
    pub(super) fn is_root_in_place(&self) -> bool {
        let watched = self.watched.get(&b""[..]);
        watched.is_some() && read_identity(&self.root).as_ref() == watched
    }

    fn paths_at_or_below(&self, directory: &TreePath) -> Vec<Vec<u8>> {
        if directory.is_root() {
            return self.watched.keys().cloned().collect();
        }
        // In the order of bytes, `a/…` lies between `a/` and `a0`; `a-b` lies elsewhere.
        let (mut first, mut end) = (directory.as_bytes().to_vec(), directory.as_bytes().to_vec());
        first.push(b'/');
        end.push(b'/' + 1);
        let below = self.watched.range(first..end).map(|(path, _)| path.clone());
        self.watched.get_key_value(directory.as_bytes()).map(|(path, _)| path.clone()).into_iter().chain(below).collect()
    }

    fn publish_count(&self) {
        self.count.store(self.watched.len(), Ordering::Relaxed);
    }
}

/// Returns which directory stands at a path; none for a link, a file or nothing.
fn read_identity(path: &Path) -> Option<Identity> {
    let metadata = fs::symlink_metadata(path).ok().filter(Metadata::is_dir)?;
    Some(Identity(metadata.dev(), metadata.ino()))
}

fn to_outcome(source: notify::Error, path: PathBuf) -> Result<Placed, WatchError> {
    match &source.kind {
        ErrorKind::PathNotFound => Ok(Placed::NotThere),
        ErrorKind::Io(error) if is_absence(error.kind()) => Ok(Placed::NotThere),
        ErrorKind::MaxFilesWatch => Err(WatchError::TooManyWatches { path }),
        ErrorKind::Io(_) | ErrorKind::Generic(_) | ErrorKind::WatchNotFound | ErrorKind::InvalidConfig(_) => {
            Err(WatchError::Watch { path, source })
        }
    }
}

fn is_absence(kind: io::ErrorKind) -> bool {
    [io::ErrorKind::NotADirectory, io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied].contains(&kind)
}
