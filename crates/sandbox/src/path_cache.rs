//! Finds out with few system calls which paths exist. The rules name some two hundred paths, most of which do not
//! exist, and they are looked up between a save and its run. So the names in a directory are read only once, and the
//! links in a directory's path are resolved only once.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::read_dir;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The most names of a directory that are read. In larger directories it is cheaper to look up each path.
const MOST_NAMES: usize = 1_000;

/// A path without links, with the device and inode of the file there.
pub(super) type Found = (PathBuf, (u64, u64));

/// The paths that were found so far while one action's view is computed. Missing paths are not remembered, because a
/// directory may be created in the meantime.
#[derive(Debug, Default)]
pub(super) struct PathCache {
    // The keys are paths as bytes, because hashing a path component by component is slower than a second lookup when a
    // path is spelled in two ways.
    names: HashMap<OsString, Names>,
    found: HashMap<OsString, Found>,
}

/// What the cache knows about the names in a directory.
#[derive(Debug)]
enum Names {
    /// All names in the directory; empty if it does not exist. A directory that is created later is still found,
    /// because its own path is not looked up in this list.
    Known(HashSet<OsString>),
    /// The directory has too many names or cannot be read, so each path in it is looked up.
    Unknown,
}

impl PathCache {
    /// Returns the path without links, and the device and inode of its file; `None` if there is no file.
    pub(super) fn found(&mut self, path: &Path) -> Option<Found> {
        if let Some(known) = self.found.get(path.as_os_str()) {
            return Some(known.clone());
        }
        let found = self.look(path)?;
        self.found.insert(path.into(), found.clone());
        Some(found)
    }

    /// Returns the path without links; `None` if there is no file.
    pub(super) fn real(&mut self, path: &Path) -> Option<PathBuf> {
        self.found(path).map(|(path, _identity)| path)
    }

    /// Returns those of the relative paths that exist below `directory`. Usually the directory's list of names already
    /// shows that none of them exists.
    pub(super) fn found_below<'p>(&mut self, directory: &Path, paths: impl IntoIterator<Item = &'p str>) -> Vec<Found> {
        let names = self.names.entry(directory.into()).or_insert_with(|| Names::read(directory));
        let likely: Vec<&str> = paths.into_iter().filter(|path| names.may_hold(path)).collect();
        likely.into_iter().filter_map(|path| self.found(&directory.join(path))).collect()
    }

    /// Looks up a path that the cache does not have. The path's parent directory is looked up through the cache.
    fn look(&mut self, path: &Path) -> Option<Found> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return whole(path) };
        let real = self.real(parent)?.join(name);
        let metadata = real.symlink_metadata().ok()?;
        match (metadata.is_symlink(), real == path) {
            (false, _) => Some((real, (metadata.dev(), metadata.ino()))),
            (true, true) => whole(path),
            (true, false) => self.found(&real),
        }
    }
}

impl Names {
    fn read(directory: &Path) -> Self {
        let entries = match read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::Known(HashSet::new()),
            Err(_) => return Self::Unknown,
        };
        let mut names = HashSet::new();
        for entry in entries {
            let Ok(entry) = entry else { return Self::Unknown };
            if names.len() == MOST_NAMES {
                return Self::Unknown;
            }
            names.insert(entry.file_name());
        }
        Self::Known(names)
    }

    /// Returns whether a relative path may exist in the directory; if not, no system call is needed.
    fn may_hold(&self, path: &str) -> bool {
        match self {
            Self::Known(names) => path.split('/').next().is_some_and(|first| names.contains(OsStr::new(first))),
            Self::Unknown => true,
        }
    }
}

fn whole(path: &Path) -> Option<Found> {
    let metadata = path.metadata().ok()?;
    Some((path.canonicalize().ok()?, (metadata.dev(), metadata.ino())))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    /// Looks up a path without the cache, as the result to compare with.
    fn plainly(path: &Path) -> Option<Found> {
        whole(path)
    }

    #[test]
    fn it_sees_what_asking_for_each_path_on_its_own_shows() {
        let home = TempDir::new().expect("a temporary directory");
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("d/e")).expect("a writable directory");
        fs::File::create(at("d/e/file")).expect("a writable directory");
        symlink("d/e", at("link")).expect("a writable directory");
        symlink("nowhere", at("dangling")).expect("a writable directory");
        symlink(at("link/file"), at("d/to-file")).expect("a writable directory");
        let mut path_cache = PathCache::default();
        let names =
            ["d", "d/e", "d/e/file", "link", "link/file", "link/../e", "dangling", "d/to-file", "d/none", "none/file", "d/e/.."];
        for name in names {
            assert_eq!(path_cache.found(&at(name)), plainly(&at(name)), "{name}");
            assert_eq!(path_cache.found_below(home.path(), [name]), plainly(&at(name)).into_iter().collect::<Vec<_>>(), "{name}");
        }
        assert_eq!(path_cache.found(Path::new("/")), plainly(Path::new("/")));
    }

    #[test]
    fn what_is_made_between_two_looks_is_found_by_its_path() {
        let home = TempDir::new().expect("a temporary directory");
        let path = home.path().join("a/b/file");
        let mut path_cache = PathCache::default();
        assert_eq!((path_cache.found(&path), path_cache.found_below(&home.path().join("a"), ["b"])), (None, Vec::new()));
        fs::create_dir_all(home.path().join("a/b")).expect("a writable directory");
        fs::File::create(&path).expect("a writable directory");
        assert_eq!(path_cache.found(&path), plainly(&path));
    }

    #[test]
    fn a_directory_with_many_names_and_one_that_is_not_there_are_asked_for_each() {
        let home = TempDir::new().expect("a temporary directory");
        for number in 0..=MOST_NAMES {
            fs::File::create(home.path().join(number.to_string())).expect("a writable directory");
        }
        let mut path_cache = PathCache::default();
        assert_eq!(path_cache.found_below(home.path(), ["none", "7"]), [plainly(&home.path().join("7")).expect("it was made")]);
        assert_eq!(path_cache.found_below(&home.path().join("none"), ["7"]), []);
    }
}
