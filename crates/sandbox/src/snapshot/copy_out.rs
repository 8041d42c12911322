//! Copies files that checks wrote on a snapshot to the project. A file is copied whole or not at all, no link is followed, and
//! no file is replaced that changed in the project since the snapshot was made.
//!
//! The new content is written to a second file in the same directory, which is exchanged with the project's file in one step
//! (renameat2(2)). The old file is then looked at once more, and exchanged back if another program saved in between. One case is
//! not detected: a program that opened the file before the exchange and writes to it after the second look.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, fchmod, fstat, fstatat, mkdirat};
use nix::sys::time::{TimeSpec, TimeValLike as _};
use nix::unistd::{UnlinkatFlags, linkat, unlinkat};
use sha2::{Digest as _, Sha256};

use crate::snapshot::copy_out_record::{CopyOutRecord, keep_saved};
use crate::snapshot::entries::{BUFFER_BYTES, NameTaken, copy_and_digest, format, mode_of, rename_with, stat_of};
use crate::snapshot::error::with_hint;
use proctor_model::{Digest, Timestamp, TreePath};
use proctor_tree::{open_below, open_root};

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// The flags for opening a file that another program may have replaced: opening a link fails, and opening a pipe does not
/// block.
pub(super) const READ: OFlag =
    OFlag::O_RDONLY.union(OFlag::O_NOFOLLOW).union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);

/// Where files are copied to, and since when a file counts as saved by somebody else.
#[derive(Debug)]
pub struct ProjectWriter {
    project: OwnedFd,
    begun: Timestamp,
    record: CopyOutRecord,
    next: AtomicU64,
}

/// How a file came to the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopiedOut {
    /// The project's file was made or replaced.
    Written,
    /// The project's file has this content and mode already, so it was not touched.
    Equal,
}

/// Why a file was not copied to the project. The project is as it was.
#[derive(Debug, thiserror::Error)]
pub enum NotCopiedOut {
    #[error("it is no regular file")]
    NoRegularFile,
    #[error("the project has a link, or no regular file, at this path")]
    Obstructed,
    #[error("the project's file changed during the run")]
    SavedMeanwhile,
    #[error("it cannot be written: {}", with_hint(.0))]
    Failed(io::Error),
}

/// What belongs to the tree of a regular file: its content, and whether its owner may execute it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectFileState {
    pub digest: Digest,
    pub is_executable: bool,
}

/// The project's present file at a path, and a stamp that shows later whether the file has changed.
struct LiveFile {
    state: ProjectFileState,
    stamp: Stamp,
}

/// The device, inode, size and modification time of a file. At least one of them differs after a write. The ctime is
/// left out, because a rename changes it too.
#[derive(PartialEq, Eq)]
struct Stamp((libc::dev_t, libc::ino_t), libc::off_t, TimeSpec);

impl ProjectWriter {
    /// Opens a project. `begun` is the time of the file system's clock before the tree of the run was read. `record` is the
    /// path in the store of the record by which the next run cleans up, should this process die
    /// ([`crate::snapshot::clean_up_copy_out`]).
    ///
    /// # Errors
    /// When the project's directory cannot be opened, or the record of an earlier process is still there.
    pub fn open(project: &Path, begun: Timestamp, record: &Path) -> io::Result<Self> {
        let record = CopyOutRecord::new(record)?;
        Ok(Self { project: open_root(project)?, begun, record, next: AtomicU64::new(0) })
    }

    /// Copies the file at a path of `layer` to the same path of the project. `seen` is the file that the
    /// check saw at this path before it wrote; `None` if the check saw no file there. A check does not see ignored
    /// outputs. So with `None`, a file that the project has at this path may still be replaced if it is older than the
    /// run.
    ///
    /// # Errors
    /// When the file was not copied. Nothing has changed in the project then.
    pub fn copy(&self, layer: &Path, path: &TreePath, seen: Option<ProjectFileState>) -> Result<CopiedOut, NotCopiedOut> {
        let name = CString::new(path.name()).map_err(|error| NotCopiedOut::Failed(error.into()))?;
        let mut file = open_written(layer, path, &name)?;
        let state = ProjectFileState::of(&mut file).map_err(NotCopiedOut::Failed)?;
        let new = CString::new(format!(".proctor-{}-{}~", std::process::id(), self.next.fetch_add(1, Ordering::Relaxed)))
            .map_err(|error| NotCopiedOut::Failed(error.into()))?;
        self.record.begin(&new, path, self.missing_directories(path)).map_err(NotCopiedOut::Failed)?;
        let (parent, made) = self.make_parent(path)?;
        let outcome = self.place(&mut file, state, &parent, &new, &name, seen);
        if outcome.is_err() {
            drop(parent);
            // A directory in which somebody made something meanwhile is not empty, and stays.
            for (parent, name) in made.iter().rev() {
                let _stays = unlinkat(parent, name.as_c_str(), UnlinkatFlags::RemoveDir);
            }
        }
        outcome
    }

    fn place(
        &self,
        file: &mut File,
        state: ProjectFileState,
        parent: &OwnedFd,
        new: &CString,
        name: &CString,
        seen: Option<ProjectFileState>,
    ) -> Result<CopiedOut, NotCopiedOut> {
        let live = self.look(parent, name)?;
        // If the check left the mode as it was, a mode that somebody changed meanwhile stays.
        let keeps_mode = seen.is_some_and(|seen| seen.is_executable == state.is_executable);
        let is_equal = |live: &LiveFile| live.state == state || (keeps_mode && live.state.digest == state.digest);
        if live.as_ref().is_some_and(is_equal) {
            return Ok(CopiedOut::Equal);
        }
        let is_as_seen = match (&live, seen) {
            (None, None) => true,
            (Some(live), Some(seen)) => live.state == seen,
            (Some(_), None) => is_older(&stat_of(parent, name).map_err(NotCopiedOut::Failed)?, self.begun),
            (None, Some(_)) => false,
        };
        if !is_as_seen {
            return Err(NotCopiedOut::SavedMeanwhile);
        }
        let written = write_new(file, state.digest, parent, new).and_then(|stat| {
            self.record.note_whole(&stat, live.as_ref().map(|live| live.state.digest))?;
            Ok(Stamp::of(&stat))
        });
        let put = written.map_err(NotCopiedOut::Failed).and_then(|stamp| match &live {
            None => link_if_free(parent, new, name),
            Some(live) => self.exchange(parent, new, name, live, &stamp),
        });
        let _gone = unlinkat(parent, new.as_c_str(), UnlinkatFlags::NoRemoveDir);
        put.map(|()| CopiedOut::Written)
    }

    /// Exchanges the new file with the project's file. Undoes the exchange if the project's file has changed since it was
    /// looked at.
    fn exchange(
        &self,
        parent: &OwnedFd,
        new: &CString,
        name: &CString,
        live: &LiveFile,
        written: &Stamp,
    ) -> Result<(), NotCopiedOut> {
        let swap = || rename_with(parent, new, name, NameTaken::Exchanged);
        let is_same = |at: &CString| {
            self.look(parent, at).is_ok_and(|now| now.is_some_and(|now| now.stamp == live.stamp && now.state == live.state))
        };
        let failed = |errno: Errno| NotCopiedOut::Failed(errno.into());
        match swap() {
            Ok(()) if is_same(new) => Ok(()),
            Ok(()) => {
                swap().map_err(failed)?;
                if !stat_of(parent, new).is_ok_and(|stat| Stamp::of(&stat) == *written) {
                    // Another program saved into the new file between the two exchanges. Its text is kept.
                    keep_saved(parent, new, name).map_err(NotCopiedOut::Failed)?;
                }
                Err(NotCopiedOut::SavedMeanwhile)
            }
            Err(Errno::ENOENT) => Err(NotCopiedOut::SavedMeanwhile),
            // This file system cannot exchange files, so a save between the comparison and the rename would be lost.
            Err(Errno::EINVAL | Errno::ENOSYS) if is_same(name) => {
                renameat(parent, new.as_c_str(), parent, name.as_c_str()).map_err(failed)
            }
            Err(Errno::EINVAL | Errno::ENOSYS) => Err(NotCopiedOut::SavedMeanwhile),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Reads the project's file; `None` if there is nothing at its path.
    fn look(&self, parent: &OwnedFd, name: &CString) -> Result<Option<LiveFile>, NotCopiedOut> {
        let mut live = match openat(parent, name.as_c_str(), READ, Mode::empty()) {
            Err(Errno::ENOENT) => return Ok(None),
            // A link (ELOOP) or a socket (ENXIO) lies at the path.
            Err(Errno::ELOOP | Errno::ENXIO) => return Err(NotCopiedOut::Obstructed),
            opened => File::from(opened.map_err(|errno| NotCopiedOut::Failed(errno.into()))?),
        };
        let read = |live: &mut File| {
            let stat = fstat(&live)?;
            if format(&stat) != libc::S_IFREG {
                return Ok(None);
            }
            Ok(Some(LiveFile { state: ProjectFileState::of(live)?, stamp: Stamp::of(&stat) }))
        };
        match read(&mut live).map_err(NotCopiedOut::Failed)? {
            Some(live) => Ok(Some(live)),
            None => Err(NotCopiedOut::Obstructed),
        }
    }

    /// Returns how many of the directories around a path are missing.
    fn missing_directories(&self, path: &TreePath) -> usize {
        let around = std::iter::successors(path.parent(), TreePath::parent);
        around.take_while(|directory| !directory.is_root() && is_missing(&self.project, directory)).count()
    }

    /// Opens the directory of a path, and makes directories that are missing. Returns each directory that was made, as its parent
    /// directory and its name.
    fn make_parent(&self, path: &TreePath) -> Result<(OwnedFd, Vec<(OwnedFd, CString)>), NotCopiedOut> {
        let obstructed = |errno: Errno| {
            let is_in_the_way = matches!(errno, Errno::ELOOP | Errno::ENOTDIR);
            if is_in_the_way { NotCopiedOut::Obstructed } else { NotCopiedOut::Failed(errno.into()) }
        };
        let failed = NotCopiedOut::Failed;
        let mut directory = self.project.try_clone().map_err(failed)?;
        let mut made = Vec::new();
        let parent = path.parent().unwrap_or_default();
        for name in parent.as_bytes().split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let name = CString::new(name).map_err(|error| failed(error.into()))?;
            let open = || openat(&directory, name.as_c_str(), DIRECTORY, Mode::empty());
            let below = match open() {
                Err(Errno::ENOENT) => {
                    match mkdirat(&directory, name.as_c_str(), Mode::S_IRWXU | Mode::S_IRWXG | Mode::S_IRWXO) {
                        Ok(()) => made.push((directory.try_clone().map_err(failed)?, name.clone())),
                        Err(Errno::EEXIST) => {}
                        Err(errno) => return Err(obstructed(errno)),
                    }
                    open().map_err(obstructed)?
                }
                opened => opened.map_err(obstructed)?,
            };
            directory = below;
        }
        Ok((directory, made))
    }
}

/// Returns whether a project has nothing at a path.
fn is_missing(project: &OwnedFd, path: &TreePath) -> bool {
    matches!(fstatat(project, path.as_path(), AtFlags::AT_SYMLINK_NOFOLLOW), Err(Errno::ENOENT))
}

fn open_written(layer: &Path, path: &TreePath, name: &CString) -> Result<File, NotCopiedOut> {
    let parent = path.parent().unwrap_or_default();
    let opened = open_root(layer).and_then(|layer| open_below(layer.as_fd(), parent.as_bytes()));
    let parent = opened.map_err(NotCopiedOut::Failed)?;
    let file = match openat(&parent, name.as_c_str(), READ, Mode::empty()) {
        Err(Errno::ELOOP | Errno::ENXIO) => return Err(NotCopiedOut::NoRegularFile),
        opened => File::from(opened.map_err(|errno| NotCopiedOut::Failed(errno.into()))?),
    };
    let stat = fstat(&file).map_err(|errno| NotCopiedOut::Failed(errno.into()))?;
    if format(&stat) == libc::S_IFREG { Ok(file) } else { Err(NotCopiedOut::NoRegularFile) }
}

/// Writes the content of a file of a layer to a new file. Set-user-id, set-group-id and sticky bits are dropped.
fn write_new(file: &mut File, expected: Digest, parent: &OwnedFd, new: &CString) -> io::Result<FileStat> {
    io::Seek::rewind(file)?;
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut copy = File::from(openat(parent, new.as_c_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR)?);
    if copy_and_digest(file, &mut copy)? != expected {
        return Err(io::Error::other("the written file changed while it was copied"));
    }
    fchmod(&copy, mode_of(&fstat(&*file)?))?;
    Ok(fstat(&copy)?)
}

/// Gives the new file the name of the project's file, unless another program took that name meanwhile.
fn link_if_free(parent: &OwnedFd, new: &CString, name: &CString) -> Result<(), NotCopiedOut> {
    let put = match rename_with(parent, new, name, NameTaken::Refused) {
        // This file system cannot refuse to replace a file in a rename. Making a hard link never replaces a file
        // either.
        Err(Errno::EINVAL | Errno::ENOSYS) => linkat(parent, new.as_c_str(), parent, name.as_c_str(), AtFlags::empty()),
        put => put,
    };
    match put {
        Err(Errno::EEXIST) => Err(NotCopiedOut::SavedMeanwhile),
        put => put.map_err(|errno| NotCopiedOut::Failed(errno.into())),
    }
}

/// Returns whether a file was last changed, renamed or made before a time. The ctime tells this, because no program can
/// set it.
fn is_older(stat: &FileStat, time: Timestamp) -> bool {
    TimeSpec::new(stat.st_ctime, stat.st_ctime_nsec) < TimeSpec::milliseconds(time.as_millis())
}

/// Returns the digest of an open file's content.
///
/// # Errors
/// When the file cannot be read.
pub fn digest_of(file: &mut File) -> io::Result<Digest> {
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; BUFFER_BYTES]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Digest::from_hasher(hasher)),
            Ok(length) => hasher.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl ProjectFileState {
    /// Reads an open file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of(file: &mut File) -> io::Result<Self> {
        let is_executable = fstat(&*file)?.st_mode & libc::S_IXUSR != 0;
        Ok(Self { digest: digest_of(file)?, is_executable })
    }
}

impl Stamp {
    fn of(stat: &FileStat) -> Self {
        Self((stat.st_dev, stat.st_ino), stat.st_size, TimeSpec::new(stat.st_mtime, stat.st_mtime_nsec))
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the layers and the projects, and say what time it is")]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;

    /// A layer and a project in one temporary directory.
    struct Scene {
        root: TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let scene = Self { root: TempDir::new().expect("a directory") };
            for name in ["layer", "project", "outside"] {
                fs::create_dir(scene.path(name)).expect("a directory");
            }
            scene
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            fs::create_dir_all(self.path(name).parent().expect("a parent")).expect("a directory");
            fs::write(self.path(name), text).expect("a file");
        }

        fn text(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.path(name)).ok()
        }

        /// Copies a path of the layer. `begun` is the time since which the project's files count as saved.
        fn copy(&self, name: &str, seen: Option<&str>, begun: i64) -> String {
            let writer = ProjectWriter::open(&self.path("project"), Timestamp::from_millis(begun), &self.path("record"));
            let writer = writer.expect("a project");
            let path = TreePath::try_from(name).expect("a clean path");
            let seen = seen.map(|text| ProjectFileState { digest: Digest::of(text.as_bytes()), is_executable: false });
            match writer.copy(&self.path("layer"), &path, seen) {
                Ok(CopiedOut::Written) => "written".to_owned(),
                Ok(CopiedOut::Equal) => "equal".to_owned(),
                Err(error) => error.to_string(),
            }
        }
    }

    const PAST: i64 = 0;
    const FUTURE: i64 = 1 << 42;
    const SAVED: &str = "the project's file changed during the run";
    const OBSTRUCTED: &str = "the project has a link, or no regular file, at this path";

    #[test]
    fn a_file_is_replaced_only_while_it_is_what_the_check_saw() {
        let scene = Scene::new();
        scene.write("layer/a", "new");
        scene.write("project/a", "old");
        assert_eq!([scene.copy("a", Some("other"), FUTURE), scene.copy("a", None, PAST)], [SAVED, SAVED]);
        assert_eq!(scene.text("project/a").as_deref(), Some("old"));
        assert_eq!(scene.copy("a", Some("old"), PAST), "written");
        scene.write("project/a", "an output of an earlier run");
        assert_eq!(scene.copy("a", None, FUTURE), "written");
        assert_eq!(scene.text("project/a").as_deref(), Some("new"));
        let inode = |name: &str| fs::metadata(scene.path(name)).expect("a file").ino();
        let before = inode("project/a");
        assert_eq!(scene.copy("a", Some("whatever"), PAST), "equal");
        assert_eq!(inode("project/a"), before);
        fs::remove_file(scene.path("project/a")).expect("a file");
        assert_eq!(scene.copy("a", Some("old"), PAST), SAVED, "it was removed");
        scene.write("layer/d/e/f", "new");
        assert_eq!(scene.copy("d/e/f", None, PAST), "written");
        let left: Vec<_> =
            fs::read_dir(scene.path("project")).expect("a directory").flatten().map(|one| one.file_name()).collect();
        assert_eq!(left, ["d"], "nothing else is left behind");
    }

    #[test]
    fn a_change_of_the_mode_alone_is_copied_unless_somebody_else_changed_it() {
        let scene = Scene::new();
        let set = |name: &str, mode| fs::set_permissions(scene.path(name), fs::Permissions::from_mode(mode)).expect("ours");
        let mode = |name: &str| fs::metadata(scene.path(name)).expect("a file").mode() & 0o777;
        scene.write("layer/a", "same");
        scene.write("project/a", "same");
        set("layer/a", 0o755);
        set("project/a", 0o644);
        assert_eq!(scene.copy("a", Some("same"), PAST), "written");
        assert_eq!(mode("project/a"), 0o755);
        assert_eq!(scene.copy("a", Some("same"), PAST), "equal");
        set("layer/a", 0o644);
        assert_eq!(scene.copy("a", Some("same"), PAST), "equal", "the check did not change the mode, and somebody did");
        assert_eq!(mode("project/a"), 0o755);
        assert_eq!(scene.copy("a", Some("before"), PAST), "equal");
        scene.write("layer/a", "new");
        assert_eq!(scene.copy("a", Some("same"), PAST), SAVED, "the mode is not what the check saw");
    }

    #[test]
    fn links_are_neither_followed_nor_copied() {
        let scene = Scene::new();
        scene.write("outside/a", "theirs");
        scene.write("layer/a", "new");
        scene.write("layer/d/a", "new");
        scene.write("project/file", "");
        scene.write("layer/file/a", "new");
        symlink(scene.path("outside/a"), scene.path("project/a")).expect("a link");
        symlink(scene.path("outside"), scene.path("project/d")).expect("a link");
        symlink(scene.path("outside/a"), scene.path("layer/link")).expect("a link");
        symlink(scene.path("outside"), scene.path("layer/to")).expect("a link");
        assert_eq!(["a", "d/a", "file/a"].map(|name| scene.copy(name, None, FUTURE)), [OBSTRUCTED; 3]);
        assert_eq!(scene.copy("link", None, FUTURE), "it is no regular file");
        assert!(scene.copy("to/a", None, FUTURE).starts_with("it cannot be written"));
        assert_eq!(scene.text("outside/a").as_deref(), Some("theirs"));
        assert_eq!(fs::read_dir(scene.path("outside")).expect("a directory").count(), 1);
    }

    #[test]
    fn a_directory_that_was_made_for_a_file_is_removed_again_if_the_file_is_not_copied() {
        let scene = Scene::new();
        scene.write("layer/new/deep/a", "new");
        assert_eq!(scene.copy("new/deep/a", Some("it was there"), PAST), SAVED);
        assert!(!scene.path("project/new").exists());
    }
}
