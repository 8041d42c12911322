//! Read-only access to a project's files on disk, as far as making a plan needs it.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nix::fcntl::OFlag;

use proctor_tools::ProjectFiles;

/// The files below a directory on disk. Reading is limited in size and never blocks; nothing is written or executed.
#[derive(Debug, Clone)]
pub struct DiskFiles {
    root: PathBuf,
}

/// The largest file that is read, in bytes. A larger file counts as unreadable.
const LARGEST_FILE: u64 = 1 << 20;

/// The most names that are listed of one directory; the others are ignored.
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

    fn levels_above(&self) -> usize {
        self.root.ancestors().position(|directory| directory.join(".git").exists()).unwrap_or(0)
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
        assert_eq!(files.levels_above(), 0);
        fs::create_dir(root.join(".git")).expect("a directory");
        assert_eq!([&files, &DiskFiles::new(root.join("web/inner"))].map(ProjectFiles::levels_above), [0, 2]);
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
