//! The digests of the files of environments, so that an unchanged file is not read again, and their saved form for the
//! next start.
//!
//! A file counts as unchanged if its stamp is: device, inode, size, mtime and ctime. Saved digests only make reading
//! faster. If the saved file is old, damaged or missing, the files are read again.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::stat::{FileStat, SFlag, stat};

use super::{file_digest, is_pytest_plugin};
use proctor_evidence::{Store, open_regular_file};
use proctor_index as store;
use proctor_model::{Digest, ProjectId, Timestamp, TreePath};
use proctor_tree::{EntryStamp, Trust};

/// The first bytes of a saved file. They change when its format changes.
const FORMAT: &[u8] = b"proctor-environment-files-v1\n";

/// The most bytes of a list of entry points that are read. What follows them is neither hashed nor searched for
/// plugins.
const ENTRY_POINTS_CAP: u64 = 16 * 1024 * 1024;

/// The digests of the files of all projects' environments.
#[derive(Default)]
pub(crate) struct KnownEnvironments {
    projects: BTreeMap<ProjectId, Arc<KnownFiles>>,
}

/// The digests of the files of one project's environments, by absolute path. A survey in the background uses them while
/// the main thread keeps them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KnownFiles {
    files: HashMap<OsString, KnownFile>,
    is_saved: bool,
}

/// Where the digests of one project's files are found.
pub(crate) struct KnownFilesSource {
    /// The digests in memory; `None` if this process has not surveyed the project yet.
    known: Option<Arc<KnownFiles>>,
    saved: PathBuf,
}

/// A survey of files that uses and extends the known digests.
pub(super) struct FileSurvey {
    known: Arc<KnownFiles>,
    /// The files that the survey has met. Files that it does not meet are forgotten.
    met: HashMap<OsString, KnownFile>,
    has_read: bool,
    /// The latest change of a file that the survey met, in nanoseconds since 1970.
    newest_change: i64,
    /// A time before the survey.
    begun: Timestamp,
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

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Content(FileContent),
    /// No regular file.
    Nothing,
    /// A file that is not known, and for which there was no room.
    NoRoom,
}

/// How many bytes of files a look may read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadingRoom {
    left: u64,
    may_be_exceeded: bool,
}

impl KnownEnvironments {
    pub(crate) fn source(&self, store: &Store, project: &ProjectId) -> KnownFilesSource {
        KnownFilesSource { known: self.projects.get(project).cloned(), saved: store.environment_index_path(project) }
    }

    pub(crate) fn remember(&mut self, project: &ProjectId, files: Arc<KnownFiles>) {
        self.projects.insert(project.clone(), files);
    }

    /// Saves the digests that are not saved yet. Saving takes a moment, so it is not done between a save and its verdict.
    pub(crate) fn save(&mut self, store: &Store) {
        for (project, known) in self.projects.iter_mut().filter(|(_, known)| !known.is_saved) {
            let path = store.environment_index_path(project);
            if let Err(error) = store::write_tree_index(&path, &known.to_bytes()) {
                tracing::warn!("the digests of the environments' files were not saved: {error}");
            }
            // If saving fails, the next start reads the files instead. Saving is not tried again for every run.
            Arc::make_mut(known).is_saved = true;
        }
    }
}

impl KnownFilesSource {
    /// Returns the digests in memory, or else the saved ones.
    pub(super) fn load(&self) -> Arc<KnownFiles> {
        self.known.clone().unwrap_or_else(|| Arc::new(self.load_saved()))
    }

    pub(super) fn load_saved(&self) -> KnownFiles {
        KnownFiles::load(&self.saved)
    }

    /// Saves digests now. If that fails, what a process that dies leaves is not named.
    pub(super) fn save(&self, files: &KnownFiles) {
        if let Some(bytes) = files.unsaved_bytes()
            && let Err(error) = store::write_tree_index(&self.saved, &bytes)
        {
            tracing::warn!("the digests of the environments' files were not saved: {error}");
        }
    }
}

impl FileSurvey {
    pub(super) fn new(known: Arc<KnownFiles>, begun: Timestamp) -> Self {
        Self { known, met: HashMap::new(), has_read: false, newest_change: i64::MIN, begun }
    }

    /// Returns the latest change of a file that the survey met, in nanoseconds since 1970. Of a file that other projects may
    /// have links to (uv, pnpm) it is that of the content: each link that comes or goes changes the other time.
    pub(super) fn newest_change(&self) -> i64 {
        self.newest_change
    }

    /// Returns the digests that the next survey begins with.
    pub(super) fn finish(self) -> Arc<KnownFiles> {
        if !self.has_read && self.met.len() == self.known.files.len() {
            return self.known;
        }
        Arc::new(KnownFiles { files: self.met, is_saved: false })
    }

    /// Returns the digests that the next survey begins with, also of the files that this one did not look for.
    pub(super) fn finish_with_others(mut self) -> Arc<KnownFiles> {
        if !self.has_read {
            return self.known;
        }
        for (path, known) in &self.known.files {
            self.met.entry(path.clone()).or_insert(*known);
        }
        Arc::new(KnownFiles { files: self.met, is_saved: false })
    }

    /// Returns the content of the regular file at a path, following links; `None` if there is no such file. The file is
    /// not read if its digest is known and its stamp has not changed.
    ///
    /// # Errors
    ///
    /// When something is at the path and cannot be read.
    pub(super) fn look(&mut self, path: PathBuf) -> io::Result<Option<FileContent>> {
        Ok(match self.look_within(path, &mut ReadingRoom::unlimited())? {
            Found::Content(content) => Some(content),
            Found::Nothing | Found::NoRoom => None,
        })
    }

    /// Looks as [`Self::look`] does, but reads a file only if there is room for that.
    pub(super) fn look_within(&mut self, path: PathBuf, room: &mut ReadingRoom) -> io::Result<Found> {
        let stat = match stat(&path) {
            Ok(stat) => stat,
            Err(Errno::ENOENT | Errno::ENOTDIR) => return Ok(Found::Nothing),
            Err(error) => return Err(error.into()),
        };
        if !is_regular(&stat) {
            return Ok(Found::Nothing);
        }
        let stamp = EntryStamp::of(&stat);
        self.newest_change = self.newest_change.max(if stat.st_nlink > 1 { stamp.modified } else { stamp.changed });
        let path = path.into_os_string();
        let known = self.met.get(&path).or_else(|| self.known.files.get(&path));
        if let Some(known) = known.copied().filter(|known| known.stamp == stamp) {
            self.met.insert(path, known);
            return Ok(Found::Content(known.content));
        }
        if !room.take(stamp.size) {
            return Ok(Found::NoRoom);
        }
        let content = read(Path::new(&path))?;
        // If the file is written during the reading, it gets another stamp, unless the stamp is racy.
        if stamp.trust(self.begun) == Trust::Settled {
            self.met.insert(path, KnownFile { stamp, content });
            self.has_read = true;
        }
        Ok(Found::Content(content))
    }
}

impl ReadingRoom {
    /// Room for files of `bytes` together, and no more.
    pub(super) fn of(bytes: u64) -> Self {
        Self { left: bytes, may_be_exceeded: false }
    }

    /// Room for files until they have `bytes` together. The last one may be larger than what is left.
    pub(super) fn until(bytes: u64) -> Self {
        Self { left: bytes, may_be_exceeded: true }
    }

    pub(super) fn unlimited() -> Self {
        Self::of(u64::MAX)
    }

    fn take(&mut self, bytes: u64) -> bool {
        let has_room = bytes <= self.left || (self.may_be_exceeded && self.left > 0);
        if has_room && self.left < u64::MAX {
            self.left = self.left.saturating_sub(bytes);
        }
        has_room
    }
}

impl KnownFiles {
    /// Returns the files below `root` that are not what they were, or are gone; none if nothing was known.
    pub(super) fn changed_since(&self, earlier: &Self, root: &Path) -> Vec<TreePath> {
        if earlier.files.is_empty() {
            return Vec::new();
        }
        let is_other = |(path, file): &(&OsString, &KnownFile)| earlier.files.get(*path) != Some(*file);
        let gone = earlier.files.keys().filter(|path| !self.files.contains_key(*path));
        let changed = self.files.iter().filter(is_other).map(|(path, _)| path).chain(gone);
        let inside = changed.filter_map(|path| Path::new(path).strip_prefix(root).ok());
        let mut inside: Vec<TreePath> = inside.filter_map(|path| TreePath::try_from(path.as_os_str().as_bytes()).ok()).collect();
        inside.sort();
        inside
    }

    /// Returns the form in which the digests are saved; `None` if they are saved already.
    pub(super) fn unsaved_bytes(&self) -> Option<Vec<u8>> {
        (!self.is_saved).then(|| self.to_bytes())
    }

    pub(super) fn load(path: &Path) -> Self {
        let Some(bytes) = store::read_tree_index(path) else { return Self::default() };
        Self::from_bytes(&bytes).unwrap_or_else(|| {
            tracing::warn!("`{}` is damaged or of another version: the environments' files are read", path.display());
            Self::default()
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = FORMAT.to_vec();
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(path, _)| *path);
        for (path, KnownFile { stamp, content }) in files {
            bytes.extend_from_slice(&(path.len() as u64).to_le_bytes());
            bytes.extend_from_slice(path.as_bytes());
            put_stamp(&mut bytes, stamp);
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
        let mut files = HashMap::new();
        while !rest.is_empty() {
            let path = take_text(&mut rest)?;
            let stamp = take_stamp(&mut rest)?;
            let [plugin] = take(&mut rest)?;
            let content = FileContent { digest: Digest::from_bytes(take(&mut rest)?), is_pytest_plugin: plugin != 0 };
            files.insert(path, KnownFile { stamp, content });
        }
        Some(Self { files, is_saved: true })
    }
}

/// Writes a stamp as [`take_stamp`] reads it.
pub(super) fn put_stamp(bytes: &mut Vec<u8>, stamp: &EntryStamp) {
    [stamp.device, stamp.inode, stamp.size].iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    [stamp.modified, stamp.changed].iter().for_each(|time| bytes.extend_from_slice(&time.to_le_bytes()));
}

pub(super) fn take_stamp(rest: &mut &[u8]) -> Option<EntryStamp> {
    let mut number = || Some(u64::from_le_bytes(take(rest)?));
    let (device, inode, size) = (number()?, number()?, number()?);
    let mut time = || Some(i64::from_le_bytes(take(rest)?));
    Some(EntryStamp { device, inode, size, modified: time()?, changed: time()? })
}

/// Takes a text that follows its length.
pub(super) fn take_text(rest: &mut &[u8]) -> Option<OsString> {
    let length = usize::try_from(u64::from_le_bytes(take(rest)?)).ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(OsString::from_vec(text.to_vec()))
}

pub(super) fn take<const LENGTH: usize>(rest: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (taken, after) = rest.split_first_chunk::<LENGTH>()?;
    *rest = after;
    Some(*taken)
}

fn is_regular(stat: &FileStat) -> bool {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG
}

fn read(path: &Path) -> io::Result<FileContent> {
    if path.file_name() != Some(OsStr::new("entry_points.txt")) {
        return Ok(FileContent { digest: file_digest(path)?, is_pytest_plugin: false });
    }
    let mut bytes = Vec::new();
    open_regular_file(path)?.take(ENTRY_POINTS_CAP).read_to_end(&mut bytes)?;
    Ok(FileContent { digest: Digest::of(&bytes), is_pytest_plugin: is_pytest_plugin(&bytes) })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the files they look at")]
mod tests {
    use std::fs;

    use super::*;

    /// What may not be read is told from what cannot be read by the kind of the error.
    #[test]
    fn an_error_of_reading_keeps_its_kind() {
        let directory = tempfile::tempdir().expect("a directory");
        let kind = |path: &Path| read(path).map(|_| ()).expect_err("nothing is there").kind();
        assert_eq!(kind(&directory.path().join("none")), io::ErrorKind::NotFound);
        assert_eq!(kind(&directory.path().join("entry_points.txt")), io::ErrorKind::NotFound);
    }

    /// Looks at one file. All stamps are older than the beginning of the survey.
    fn look(known: Arc<KnownFiles>, path: &Path) -> (Option<FileContent>, Arc<KnownFiles>) {
        let mut survey = FileSurvey::new(known, Timestamp::from_millis(4_000_000_000_000));
        let content = survey.look(path.to_owned()).expect("it can be read");
        (content, survey.finish())
    }

    fn content(text: &str) -> Option<FileContent> {
        Some(FileContent { digest: Digest::of(text.as_bytes()), is_pytest_plugin: false })
    }

    #[test]
    fn an_unchanged_file_is_not_read_again_and_a_changed_one_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.pth");
        fs::write(&path, "one").expect("it is ours");
        let (first, known) = look(Arc::default(), &path);
        assert_eq!(first, content("one"));
        let (_, again) = look(Arc::clone(&known), &path);
        assert!(Arc::ptr_eq(&known, &again), "nothing is new");
        // A false digest in memory shows that the file is not read: the look returns the false digest.
        let mut known = KnownFiles::clone(&known);
        known.files.values_mut().for_each(|known| known.content.digest = Digest::of(b"false"));
        let known = Arc::new(known);
        assert_eq!(look(Arc::clone(&known), &path).0, content("false"));
        fs::write(&path, "another").expect("it is ours");
        let (changed, known) = look(known, &path);
        assert_eq!(changed, content("another"));
        fs::remove_file(&path).expect("it is there");
        let (gone, known) = look(known, &path);
        assert_eq!((gone, known.files.len()), (None, 0));
    }

    #[test]
    fn a_file_that_was_written_a_moment_ago_is_read_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.pth");
        fs::write(&path, "one").expect("it is ours");
        let mut survey = FileSurvey::new(Arc::default(), Timestamp::from_millis(0));
        survey.look(path).expect("it can be read");
        assert!(survey.finish().files.is_empty());
    }

    #[test]
    fn what_was_saved_is_loaded_and_what_was_damaged_is_not() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("entry_points.txt");
        fs::write(&path, "[pytest11]\nx = y\n").expect("it is ours");
        let (_, known) = look(Arc::default(), &path);
        let bytes = known.to_bytes();
        let loaded = KnownFiles::from_bytes(&bytes).expect("it is whole");
        assert_eq!(loaded.files, known.files);
        assert!(loaded.is_saved && loaded.files.values().all(|known| known.content.is_pytest_plugin));
        for place in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert_eq!(KnownFiles::from_bytes(&damaged), None, "{place}");
        }
        assert_eq!(KnownFiles::from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(KnownFiles::from_bytes(b""), None);
    }
}
