//! Records at which paths the copy may differ from the saved index, so that the next process knows these paths even
//! after a crash.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use proctor_model::TreePath;
use proctor_tree::TreeIndex;

const JOURNAL: &str = "journal";
const INDEX: &str = "index";
const BOOT: &str = "boot";
const NEWEST: &str = "newest";
const NEW: &str = "index.new";

/// The record of the saved index, and of the paths that changed in the copy after it was saved.
#[derive(Debug)]
pub(super) struct Journal {
    directory: PathBuf,
    /// `None` after [`Self::close_file`], until the journal is written again.
    file: Option<File>,
    /// How many paths were recorded since the index was saved.
    pub(super) noted: usize,
    /// What the journal and the saved index were like when this process last wrote them.
    left: LeftFiles,
}

/// Tells whether another process has changed the copy: every such process first changes the journal or the saved index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LeftFiles {
    journal: FileIdentity,
    index: Option<FileIdentity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    file: (u64, u64),
    bytes: u64,
    /// When the file was last changed, in seconds and nanoseconds; `None` for the journal, because every write to the
    /// journal changes its length.
    changed: Option<(i64, i64)>,
}

/// What an earlier process left: a copy of the project, and what is known about its content.
#[derive(Debug)]
pub(super) struct LeftCopy {
    /// The content of the copy; it may be wrong only at the doubtful paths.
    pub(super) index: TreeIndex,
    /// Paths at which the content of the copy is unknown.
    pub(super) doubtful: BTreeSet<TreePath>,
}

impl Journal {
    /// Opens the journal in `directory` and reads what an earlier process wrote there. Returns `None` if the copy must
    /// be made from scratch: there is no copy, it is from another boot, or its saved index or its journal is damaged.
    pub(super) fn open(directory: &Path, root: &Path, boot: &str) -> io::Result<(Self, Option<LeftCopy>)> {
        let left = read_left(directory, root, boot);
        let file = Some(OpenOptions::new().append(true).create(true).open(directory.join(JOURNAL))?);
        let noted = left.as_ref().map_or(0, |left| left.doubtful.len());
        let files = LeftFiles::read(directory)?;
        Ok((Self { directory: directory.to_owned(), file, noted, left: files }, left))
    }

    /// Returns whether no other process has changed the copy since this process last did. The service and `proctor run`
    /// use the same copy in turn.
    pub(super) fn is_as_left(&self) -> bool {
        LeftFiles::read(&self.directory).is_ok_and(|files| files == self.left)
    }

    /// Closes the file until the journal is written again. A copy that is not used for a long time thus holds no descriptor.
    pub(super) fn close_file(&mut self) {
        self.file = None;
    }

    fn file(&mut self) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => OpenOptions::new().append(true).open(self.directory.join(JOURNAL))?,
        };
        Ok(self.file.insert(file))
    }

    /// Starts an empty journal. Until an index is saved, the content of the copy counts as unknown.
    pub(super) fn begin(&mut self, boot: &str) -> io::Result<()> {
        remove_if_there(&self.directory.join(INDEX))?;
        remove_if_there(&self.directory.join(NEWEST))?;
        self.file()?.set_len(0)?;
        self.noted = 0;
        let mut file = File::create(self.directory.join(BOOT))?;
        file.write_all(boot.as_bytes())?;
        self.remember()
    }

    fn remember(&mut self) -> io::Result<()> {
        self.left = LeftFiles::read(&self.directory)?;
        Ok(())
    }

    /// Returns the recorded latest time of a file of the copy, in nanoseconds since 1970.
    pub(super) fn newest(&self) -> Option<i64> {
        fs::read_to_string(self.directory.join(NEWEST)).ok()?.parse().ok()
    }

    /// Records the latest time of a file of the copy. A process that knows a later time has recorded the paths of the files that
    /// it copies, so these files get new times if it dies while it writes.
    pub(super) fn note_newest(&self, newest: i64) -> io::Result<()> {
        File::create(self.directory.join(NEWEST))?.write_all(newest.to_string().as_bytes())
    }

    /// Records paths before they are changed in the copy.
    pub(super) fn note<'p>(&mut self, paths: impl Iterator<Item = &'p TreePath>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for path in paths {
            bytes.extend_from_slice(path.as_bytes());
            bytes.push(0);
            self.noted += 1;
        }
        self.file()?.write_all(&bytes)?;
        self.remember()
    }

    /// Saves the index of the copy's present content, and clears the recorded paths.
    pub(super) fn save(&mut self, index: &TreeIndex) -> io::Result<()> {
        let new = self.directory.join(NEW);
        remove_if_there(&new)?;
        File::create_new(&new)?.write_all(&index.to_bytes())?;
        nix::fcntl::renameat(nix::fcntl::AT_FDCWD, &new, nix::fcntl::AT_FDCWD, &self.directory.join(INDEX))?;
        // If the process dies between the renaming and the emptying, the journal lists paths that are already correct.
        // They are then copied again, which is harmless.
        self.file()?.set_len(0)?;
        self.noted = 0;
        self.remember()
    }
}

impl LeftFiles {
    fn read(directory: &Path) -> io::Result<Self> {
        let identity = |metadata: &Metadata| FileIdentity {
            file: (metadata.dev(), metadata.ino()),
            bytes: metadata.len(),
            changed: Some((metadata.ctime(), metadata.ctime_nsec())),
        };
        let index = match fs::metadata(directory.join(INDEX)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(identity(&found?)),
        };
        let journal = FileIdentity { changed: None, ..identity(&fs::metadata(directory.join(JOURNAL))?) };
        Ok(Self { journal, index })
    }
}

fn read_left(directory: &Path, root: &Path, boot: &str) -> Option<LeftCopy> {
    if fs::read(directory.join(BOOT)).ok()? != boot.as_bytes() {
        return None;
    }
    let index = TreeIndex::from_bytes(root, &fs::read(directory.join(INDEX)).ok()?)?;
    let journal = fs::read(directory.join(JOURNAL)).ok()?;
    // A truncated last path is ignored, because the change at that path had not begun.
    let paths: Result<BTreeSet<TreePath>, _> = whole_paths(&journal).split(|byte| *byte == 0).map(TreePath::try_from).collect();
    let doubtful = paths.ok()?.into_iter().filter(|path| !path.is_root()).collect();
    Some(LeftCopy { index, doubtful })
}

/// Returns the journal up to its last NUL, without this NUL. What follows is a path that was not written whole.
fn whole_paths(journal: &[u8]) -> &[u8] {
    journal.iter().rposition(|byte| *byte == 0).map_or(&[], |end| &journal[..end])
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
