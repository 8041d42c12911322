//! The digests of the files of environments, so that an unchanged file is not read again, and their saved form for the
//! next start.
//!
//! A file counts as unchanged if its stamp is: device, inode, size, mtime and ctime. Saved digests only make reading
//! faster. If the saved file is old, damaged or missing, the files are read again.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::sys::stat::{FileStat, SFlag, stat};

use super::{file_digest, is_pytest_plugin};
use crate::evidence::Store;
use crate::model::{Digest, ProjectId, Timestamp};
use crate::store;
use crate::tree::{EntryStamp, Trust};

/// The first bytes of a saved file. They change when its format changes.
const FORMAT: &[u8] = b"proctor-environment-files-v1\n";

/// The largest file with entry points that is searched for plugins.
const ENTRY_POINTS_CAP: u64 = 16 * 1024 * 1024;

/// The digests of the files of all projects' environments. The main thread and the background thread share them.
#[derive(Clone, Default)]
pub(crate) struct KnownEnvironments(Arc<Mutex<BTreeMap<ProjectId, EnvironmentMemory>>>);

/// The digests of the files of one project's environments, by absolute path.
#[derive(Default)]
pub(super) struct EnvironmentMemory {
    known: HashMap<OsString, KnownFile>,
    /// The files that the present survey has met. They replace `known` when it ends, so files that are gone are forgotten.
    met: HashMap<OsString, KnownFile>,
    is_unsaved: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KnownFile {
    stamp: EntryStamp,
    content: FileContent,
}

/// What is known about the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileContent {
    pub(super) digest: Digest,
    /// Whether the file is the list of a package's entry points and names a plugin that pytest loads automatically.
    pub(super) is_pytest_plugin: bool,
}

/// The result of looking at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundFile {
    /// There is no regular file at the path.
    Missing,
    /// The file exists and cannot be read.
    Unreadable,
    Read(FileContent),
}

impl KnownEnvironments {
    /// Lets `survey` use and extend the digests of a project's files. They are loaded from the store the first time.
    pub(super) fn survey<T>(&self, project: &ProjectId, saved: &Path, survey: impl FnOnce(&mut EnvironmentMemory) -> T) -> T {
        let mut projects = self.lock();
        let memory = projects.entry(project.clone()).or_insert_with(|| EnvironmentMemory::load(saved));
        let found = survey(memory);
        memory.forget_what_is_gone();
        found
    }

    /// Saves the digests that are not saved yet. Saving takes a moment, so it is not done between a save and its verdict.
    pub(crate) fn save(&self, store: &Store) {
        for (project, memory) in self.lock().iter_mut().filter(|(_, memory)| memory.is_unsaved) {
            // If saving fails, the next start reads the files instead. It is not tried again for every run.
            memory.is_unsaved = false;
            if let Err(error) = store::write_tree_index(&store.environment_index_path(project), &memory.to_bytes()) {
                tracing::warn!("the digests of the environments' files were not saved: {error}");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ProjectId, EnvironmentMemory>> {
        // A survey that panicked has left complete entries.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EnvironmentMemory {
    fn load(path: &Path) -> Self {
        let Some(bytes) = store::read_tree_index(path) else { return Self::default() };
        Self::from_bytes(&bytes).unwrap_or_else(|| {
            tracing::warn!("`{}` is damaged or of another version: the environments' files are read", path.display());
            Self::default()
        })
    }

    /// Returns the content of the file at a path, following links. The file is only read if its stamp is another one than
    /// before. `now` is a time before this call.
    pub(super) fn look(&mut self, path: PathBuf, now: Timestamp) -> FoundFile {
        let stat = match stat(&path) {
            Ok(stat) => stat,
            Err(Errno::ENOENT | Errno::ENOTDIR) => return FoundFile::Missing,
            Err(_) => return FoundFile::Unreadable,
        };
        if !is_regular(&stat) {
            return FoundFile::Missing;
        }
        let stamp = EntryStamp::of(&stat);
        let path = path.into_os_string();
        if let Some(known) = self.met.get(&path).or_else(|| self.known.get(&path)).copied().filter(|known| known.stamp == stamp) {
            self.met.insert(path, known);
            return FoundFile::Read(known.content);
        }
        let Some(content) = read(Path::new(&path)) else { return FoundFile::Unreadable };
        // If the file is written during the reading, it gets another stamp, unless the stamp is racy.
        if stamp.trust(now) == Trust::Settled {
            self.met.insert(path, KnownFile { stamp, content });
            self.is_unsaved = true;
        }
        FoundFile::Read(content)
    }

    pub(super) fn forget_what_is_gone(&mut self) {
        self.is_unsaved |= self.met.len() != self.known.len();
        self.known = std::mem::take(&mut self.met);
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = FORMAT.to_vec();
        let mut files: Vec<_> = self.known.iter().collect();
        files.sort_by_key(|(path, _)| *path);
        for (path, KnownFile { stamp, content }) in files {
            bytes.extend_from_slice(&(path.len() as u64).to_le_bytes());
            bytes.extend_from_slice(path.as_bytes());
            [stamp.device, stamp.inode, stamp.size].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            [stamp.modified, stamp.changed].iter().for_each(|time| bytes.extend_from_slice(&time.to_le_bytes()));
            bytes.push(u8::from(content.is_pytest_plugin));
            bytes.extend_from_slice(content.digest.as_bytes());
        }
        let seal = Digest::of(&bytes);
        bytes.extend_from_slice(seal.as_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (sealed, seal) = bytes.split_last_chunk::<32>()?;
        if Digest::of(sealed).as_bytes() != seal {
            return None;
        }
        let mut rest = sealed.strip_prefix(FORMAT)?;
        let mut known = HashMap::new();
        while !rest.is_empty() {
            let length = usize::try_from(u64::from_le_bytes(take(&mut rest)?)).ok()?;
            let (path, after) = rest.split_at_checked(length)?;
            rest = after;
            let mut number = || Some(u64::from_le_bytes(take(&mut rest)?));
            let (device, inode, size) = (number()?, number()?, number()?);
            let mut time = || Some(i64::from_le_bytes(take(&mut rest)?));
            let (modified, changed) = (time()?, time()?);
            let [plugin] = take(&mut rest)?;
            let content = FileContent { digest: Digest::from_bytes(take(&mut rest)?), is_pytest_plugin: plugin != 0 };
            let stamp = EntryStamp { device, inode, size, modified, changed };
            known.insert(OsString::from_vec(path.to_vec()), KnownFile { stamp, content });
        }
        Some(Self { known, met: HashMap::new(), is_unsaved: false })
    }
}

fn take<const LENGTH: usize>(rest: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (taken, after) = rest.split_first_chunk::<LENGTH>()?;
    *rest = after;
    Some(*taken)
}

fn is_regular(stat: &FileStat) -> bool {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG
}

fn read(path: &Path) -> Option<FileContent> {
    if path.file_name() != Some(OsStr::new("entry_points.txt")) {
        return Some(FileContent { digest: file_digest(path)?, is_pytest_plugin: false });
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(ENTRY_POINTS_CAP).read_to_end(&mut bytes).ok()?;
    Some(FileContent { digest: Digest::of(&bytes), is_pytest_plugin: is_pytest_plugin(&bytes) })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the files they look at")]
mod tests {
    use std::fs;

    use super::*;

    /// A time that is later than the stamp of every file.
    fn later() -> Timestamp {
        Timestamp::from_millis(4_000_000_000_000)
    }

    #[test]
    fn an_unchanged_file_is_not_read_again_and_a_changed_one_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.pth");
        fs::write(&path, "one").expect("it is ours");
        let mut memory = EnvironmentMemory::default();
        let first = memory.look(path.clone(), later());
        assert_eq!(first, FoundFile::Read(FileContent { digest: Digest::of(b"one"), is_pytest_plugin: false }));
        memory.forget_what_is_gone();
        // A false digest in the memory shows that the file is not read.
        let false_content = FileContent { digest: Digest::of(b"false"), is_pytest_plugin: true };
        memory.known.values_mut().for_each(|known| known.content = false_content);
        assert_eq!(memory.look(path.clone(), later()), FoundFile::Read(false_content));
        memory.forget_what_is_gone();
        fs::write(&path, "another").expect("it is ours");
        assert_eq!(
            memory.look(path.clone(), later()),
            FoundFile::Read(FileContent { digest: Digest::of(b"another"), is_pytest_plugin: false })
        );
        fs::remove_file(&path).expect("it is there");
        assert_eq!(memory.look(path, later()), FoundFile::Missing);
    }

    #[test]
    fn a_file_that_was_written_a_moment_ago_is_read_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.pth");
        fs::write(&path, "one").expect("it is ours");
        let mut memory = EnvironmentMemory::default();
        // A time before the file was written is never later than its stamp.
        memory.look(path, Timestamp::from_millis(0));
        assert!(memory.met.is_empty());
    }

    #[test]
    fn what_was_saved_is_loaded_and_what_was_damaged_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("entry_points.txt");
        fs::write(&path, "[pytest11]\nx = y\n").expect("it is ours");
        let mut memory = EnvironmentMemory::default();
        memory.look(path, later());
        memory.forget_what_is_gone();
        let bytes = memory.to_bytes();
        let loaded = EnvironmentMemory::from_bytes(&bytes).expect("it is whole");
        assert_eq!(loaded.known, memory.known);
        assert!(loaded.known.values().all(|known| known.content.is_pytest_plugin));
        for place in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(EnvironmentMemory::from_bytes(&damaged).is_none(), "{place}");
        }
        assert!(EnvironmentMemory::from_bytes(&bytes[..bytes.len() - 1]).is_none());
        assert!(EnvironmentMemory::from_bytes(b"").is_none());
    }
}
