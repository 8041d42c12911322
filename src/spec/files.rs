//! Read-only access to a project's files, as far as making a plan needs it.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nix::fcntl::OFlag;

/// A project's files. Paths are relative to its root and use `/`; the empty path is the root.
pub trait ProjectFiles {
    /// Returns the content of a regular file; `None` if there is no such file or it is too large for a configuration.
    fn read(&self, path: &str) -> Option<Vec<u8>>;
    /// Returns whether a path exists. Links are followed.
    fn exists(&self, path: &str) -> bool;
    /// Returns whether a path is a directory. Links are followed.
    fn is_directory(&self, path: &str) -> bool;
    /// Returns the sorted names in a directory; empty if the path is not a directory.
    fn names(&self, directory: &str) -> Vec<String>;
}

/// The files below a directory on disk. Reading is limited in size and never blocks; nothing is written or executed.
#[derive(Debug, Clone)]
pub struct DiskFiles {
    root: PathBuf,
}

/// The largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;

/// The most names that are listed of one directory.
const MOST_NAMES: usize = 4096;

impl DiskFiles {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }
}

impl ProjectFiles for DiskFiles {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        // Without this flag, opening a FIFO waits for a writer, possibly forever.
        let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(self.root.join(path)).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > LARGEST_FILE {
            return None;
        }
        let mut content = Vec::new();
        file.take(LARGEST_FILE).read_to_end(&mut content).ok()?;
        Some(content)
    }

    fn exists(&self, path: &str) -> bool {
        fs::metadata(self.root.join(path)).is_ok()
    }

    fn is_directory(&self, path: &str) -> bool {
        self.root.join(path).is_dir()
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.join(directory)) else { return Vec::new() };
        let names = entries.take(MOST_NAMES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

/// Returns the path of `name` in `directory`.
pub(super) fn within(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

#[cfg(test)]
pub(super) mod fake {
    //! A project in memory, for tests.

    use std::collections::{BTreeMap, BTreeSet};

    use super::ProjectFiles;

    /// The paths and contents of the files.
    #[derive(Debug, Clone, Default)]
    pub(in crate::spec) struct FakeFiles(BTreeMap<String, String>);

    impl FakeFiles {
        pub(in crate::spec) fn of(files: &[(&str, &str)]) -> Self {
            Self(files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect())
        }

        pub(in crate::spec) fn and(mut self, path: &str, content: &str) -> Self {
            self.0.insert(path.to_owned(), content.to_owned());
            self
        }
    }

    impl ProjectFiles for FakeFiles {
        fn read(&self, path: &str) -> Option<Vec<u8>> {
            self.0.get(path).map(|content| content.clone().into_bytes())
        }

        fn exists(&self, path: &str) -> bool {
            path.is_empty() || self.0.contains_key(path) || self.0.keys().any(|known| known.starts_with(&format!("{path}/")))
        }

        fn is_directory(&self, path: &str) -> bool {
            self.exists(path) && !self.0.contains_key(path)
        }

        fn names(&self, directory: &str) -> Vec<String> {
            let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
            let below = self.0.keys().filter_map(|path| path.strip_prefix(&prefix));
            let names: BTreeSet<&str> = below.map(|rest| rest.split('/').next().unwrap_or_default()).collect();
            names.into_iter().map(str::to_owned).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_projects_files_are_read_listed_and_bounded() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        fs::create_dir(root.join("web")).expect("a directory");
        for (name, size) in [("web/b", 3), ("web/a", 0), ("largest", 1 << 20), ("large", (1 << 20) + 1)] {
            fs::File::create(root.join(name)).and_then(|file| file.set_len(size)).expect("a file");
        }
        symlink("web/b", root.join("link")).expect("a link");
        symlink("nowhere", root.join("dangling")).expect("a link");
        nix::unistd::mkfifo(&root.join("fifo"), nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
        let files = DiskFiles::new(root);
        assert_eq!(files.names("web"), ["a", "b"]);
        assert_eq!(files.names("web/a"), Vec::<String>::new());
        assert_eq!(files.read("web/b").map(|content| content.len()), Some(3));
        assert_eq!(files.read("link").map(|content| content.len()), Some(3));
        assert_eq!(files.read("largest").map(|content| content.len()), Some(1 << 20));
        assert_eq!((files.read("large"), files.read("web"), files.read("fifo"), files.read("none")), (None, None, None, None));
        assert!(files.is_directory("web") && !files.is_directory("web/a") && !files.is_directory("none"));
        assert!(files.exists("web") && files.exists("link") && !files.exists("dangling"));
    }
}
