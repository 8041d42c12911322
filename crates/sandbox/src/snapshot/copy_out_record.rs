//! The record of the file that is being copied to the project. If the process dies in the middle of this, the next run reads
//! the record and removes what was left in the project.
//!
//! ```text
//! temporary name NUL  path NUL  number of directories that were missing NUL    before anything is made
//! stamp NUL  digest of the file to be replaced, or empty NUL                   when the new file is whole
//! ```
//!
//! The record lies in the store. It is written anew for each file and removed at the end. Nothing is synced to the disk,
//! because the page cache survives the end of a process.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{FileStat, Mode};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::snapshot::copy_out::{READ, digest_of};
use crate::snapshot::entries::{NameTaken, rename_with, stat_of, there};
use proctor_model::{Digest, TreePath};
use proctor_tree::{open_below, open_root};

/// How many fields the first part of a record has, and how many the second.
const FIELDS: [usize; 2] = [3, 2];

/// The most copies of a project's file that get a name of their own because another program saved the file meanwhile.
const MOST_SAVED: u32 = 1_000;

/// The record of the file that is being copied. Dropping this value removes the record.
#[derive(Debug)]
pub(super) struct CopyOutRecord {
    path: PathBuf,
}

/// A file whose copying had begun when the process died.
struct BegunCopy {
    temporary: CString,
    path: TreePath,
    /// How many of the path's directories were missing, counted from the innermost.
    missing: usize,
    /// `None` if the new file was not whole yet.
    whole: Option<WholeCopy>,
}

/// The new file, once it is whole, and what it was about to replace.
struct WholeCopy {
    /// The device, inode, size and modification time of the new file, as text.
    stamp: String,
    /// The digest of the project's file; `None` if there was none.
    replaced: Option<Digest>,
}

impl CopyOutRecord {
    /// Returns a record at a path of the store. Nothing is written yet.
    ///
    /// # Errors
    /// When the directory of the record cannot be made, or the record of an earlier process is still there.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        if there(fs::symlink_metadata(path))?.is_some() {
            return Err(io::Error::other("what an earlier run left in the project could not be removed"));
        }
        Ok(Self { path: path.to_owned() })
    }

    /// Records which file is about to be made. `missing` is the number of directories that have to be made for it.
    pub(super) fn begin(&self, temporary: &CString, path: &TreePath, missing: usize) -> io::Result<()> {
        let mut file = File::create(&self.path)?;
        file.write_all(&fields([temporary.to_bytes(), path.as_bytes(), missing.to_string().as_bytes()]))
    }

    /// Records that the new file is whole. `replaced` is the digest of the project's file.
    pub(super) fn note_whole(&self, new: &FileStat, replaced: Option<Digest>) -> io::Result<()> {
        let replaced = replaced.map(|digest| digest.hex()).unwrap_or_default();
        let mut file = File::options().append(true).open(&self.path)?;
        file.write_all(&fields([stamp_of(new).as_bytes(), replaced.as_bytes()]))
    }
}

impl Drop for CopyOutRecord {
    fn drop(&mut self) {
        // If the record stays, the next run finds nothing of its file in the project, and removes the record.
        let _left = fs::remove_file(&self.path);
    }
}

/// Removes what a process that died while it copied a file to the project left there. `record` is the path of its record.
/// Returns the paths of the project that have changed.
///
/// A temporary file is removed only if it has the content that this process gave it, or the content of the file that it
/// replaced. Otherwise another program saved the project's file in that moment. The saved file gets its name back, or a name
/// that ends in `.saved` if the project's file was saved once more.
///
/// # Errors
/// When the record cannot be read, or the project cannot be changed.
pub fn clean_up_copy_out(project: &Path, record: &Path) -> io::Result<Vec<TreePath>> {
    let Some(bytes) = there(fs::read(record))? else { return Ok(Vec::new()) };
    let mut changed = Vec::new();
    if let Some(begun) = BegunCopy::parse(&bytes) {
        begun.clean_up(&open_root(project)?, &mut changed)?;
    }
    fs::remove_file(record)?;
    Ok(changed)
}

impl BegunCopy {
    /// Returns the recorded file; `None` if the record ends before the first part is whole, because nothing was made then.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().rposition(|byte| *byte == 0)?;
        let fields: Vec<&[u8]> = bytes[..end].split(|byte| *byte == 0).collect();
        let (first, rest) = fields.split_at_checked(FIELDS[0])?;
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        let whole = || {
            let [stamp, replaced] = rest.first_chunk::<{ FIELDS[1] }>()?.map(text);
            let replaced = replaced?;
            let replaced = if replaced.is_empty() { None } else { Some(Digest::try_from(replaced).ok()?) };
            Some(WholeCopy { stamp: stamp?, replaced })
        };
        Some(Self {
            temporary: CString::new(first[0]).ok()?,
            path: TreePath::try_from(first[1]).ok()?,
            missing: text(first[2])?.parse().ok()?,
            whole: whole(),
        })
    }

    fn clean_up(&self, project: &OwnedFd, changed: &mut Vec<TreePath>) -> io::Result<()> {
        let around = self.path.parent().unwrap_or_default();
        if let Some(parent) = there(open_below(project.as_fd(), around.as_bytes()))?
            && let Some(left) = there(stat_of(&parent, &self.temporary))?
        {
            self.take_away(&parent, &left)?;
            changed.extend([around.join(self.temporary.to_bytes()), self.path.clone()]);
        }
        for directory in std::iter::successors(Some(around), TreePath::parent).take(self.missing) {
            let Some(parent) = directory.parent() else { break };
            let Some(parent) = there(open_below(project.as_fd(), parent.as_bytes()))? else { continue };
            // A directory that was not made, or in which something lies, stays.
            if unlinkat(&parent, directory.name(), UnlinkatFlags::RemoveDir).is_ok() {
                changed.push(directory);
            }
        }
        Ok(())
    }

    fn take_away(&self, parent: &OwnedFd, left: &FileStat) -> io::Result<()> {
        let name = CString::new(self.path.name())?;
        if let Some(whole) = self.whole.as_ref().filter(|whole| !whole.is(left))
            && digest_at(parent, &self.temporary)? != whole.replaced
        {
            // The two files were exchanged, and another program had saved the project's file just before.
            let is_untouched = there(stat_of(parent, &name))?.is_some_and(|stat| whole.is(&stat));
            if !is_untouched {
                return keep_saved(parent, &self.temporary, &name);
            }
            rename_with(parent, &self.temporary, &name, NameTaken::Exchanged)?;
        }
        Ok(unlinkat(parent, self.temporary.as_c_str(), UnlinkatFlags::NoRemoveDir)?)
    }
}

impl WholeCopy {
    fn is(&self, stat: &FileStat) -> bool {
        self.stamp == stamp_of(stat)
    }
}

/// Gives a file that another program saved the name `NAME.saved`, or `NAME.saved.2` and so on if that name is taken.
pub(super) fn keep_saved(parent: &OwnedFd, temporary: &CString, name: &CString) -> io::Result<()> {
    for number in 1..=MOST_SAVED {
        let end = if number == 1 { String::new() } else { format!(".{number}") };
        let saved = CString::new([name.to_bytes(), b".saved", end.as_bytes()].concat())?;
        match rename_with(parent, temporary, &saved, NameTaken::Refused) {
            Err(Errno::EEXIST) => {}
            renamed => return Ok(renamed?),
        }
    }
    Err(io::Error::other("too many files end in `.saved`"))
}

/// Returns the digest of a file; `None` if it is a link or a socket.
fn digest_at(parent: &OwnedFd, name: &CString) -> io::Result<Option<Digest>> {
    match openat(parent, name.as_c_str(), READ | OFlag::O_CLOEXEC, Mode::empty()) {
        Ok(file) => digest_of(&mut File::from(file)).map(Some),
        Err(Errno::ELOOP | Errno::ENXIO) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns what tells a file apart from every other file, and from the same file after a write.
fn stamp_of(stat: &FileStat) -> String {
    format!("{}:{}:{}:{}:{}", stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec)
}

fn fields<const COUNT: usize>(fields: [&[u8]; COUNT]) -> Vec<u8> {
    fields.iter().flat_map(|field| field.iter().copied().chain([0])).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write what a process leaves that dies")]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use tempfile::TempDir;

    use super::*;

    const TEMPORARY: &str = "d/e/.proctor-1-0~";

    /// A project in which a process died while it copied the file `d/e/f`.
    struct Scene {
        root: TempDir,
    }

    impl Scene {
        /// Makes the project with these files. `missing` is the number of directories that the process had to make.
        fn new(files: &[(&str, &str)], missing: usize) -> Self {
            let scene = Self { root: TempDir::new().expect("a directory") };
            fs::create_dir_all(scene.path("d/e")).expect("a directory");
            files.iter().for_each(|(name, text)| fs::write(scene.path(name), text).expect("a file"));
            let record = CopyOutRecord::new(&scene.record()).expect("a record");
            let path = TreePath::try_from("d/e/f").expect("a clean path");
            record.begin(&CString::new(".proctor-1-0~").expect("no NUL"), &path, missing).expect("written");
            std::mem::forget(record);
            scene
        }

        /// Adds to the record that the new file was whole. `new` is the path that the new file has now.
        fn whole(self, new: &str, replaced: Option<&str>) -> Self {
            let stat = nix::sys::stat::stat(&self.path(new)).expect("a file");
            let record = CopyOutRecord { path: self.record() };
            record.note_whole(&stat, replaced.map(|text| Digest::of(text.as_bytes()))).expect("written");
            std::mem::forget(record);
            self
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join("project").join(name)
        }

        fn record(&self) -> PathBuf {
            self.root.path().join("store/copying/p")
        }

        /// Cleans up, and returns the files that are left with their content, and how many paths have changed.
        fn cleaned(&self) -> (Vec<(String, String)>, usize) {
            let changed = clean_up_copy_out(&self.path(""), &self.record()).expect("cleaned up");
            assert!(!self.record().exists());
            let listed = fs::read_dir(self.path("d/e")).into_iter().flatten().map(|entry| entry.expect("an entry").path());
            let name = |path: &Path| path.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
            let mut files: Vec<_> = listed.map(|path| (name(&path), fs::read_to_string(&path).expect("a file"))).collect();
            files.sort();
            (files, changed.len())
        }
    }

    fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn half_a_file_goes_and_so_do_the_directories_that_were_made_for_it() {
        let scene = Scene::new(&[(TEMPORARY, "ha"), ("d/e/f", "old")], 0);
        assert_eq!(scene.cleaned(), (files(&[("f", "old")]), 2));
        let scene = Scene::new(&[(TEMPORARY, "ha")], 1);
        assert_eq!((scene.cleaned(), scene.path("d").exists()), ((Vec::new(), 3), true));
        assert!(!scene.path("d/e").exists());
        // The process died before it made anything, or somebody else used the directory.
        let scene = Scene::new(&[("d/g", "other")], 2);
        assert_eq!((scene.cleaned().1, scene.path("d/g").exists()), (1, true));
        assert_eq!(clean_up_copy_out(&scene.path(""), &scene.record()).expect("nothing to do"), []);
    }

    #[test]
    fn a_whole_file_goes_before_and_after_the_exchange() {
        let scene = Scene::new(&[(TEMPORARY, "new"), ("d/e/f", "old")], 0).whole(TEMPORARY, Some("old"));
        assert_eq!(scene.cleaned(), (files(&[("f", "old")]), 2));
        let scene = Scene::new(&[(TEMPORARY, "old"), ("d/e/f", "new")], 0).whole("d/e/f", Some("old"));
        assert_eq!(scene.cleaned(), (files(&[("f", "new")]), 2));
        // The directories stay if the new file has its name already.
        let scene = Scene::new(&[("d/e/f", "new")], 2).whole("d/e/f", None);
        assert_eq!(scene.cleaned(), (files(&[("f", "new")]), 0));
    }

    #[test]
    fn what_another_program_saved_just_before_the_exchange_is_not_lost() {
        let scene = Scene::new(&[(TEMPORARY, "saved"), ("d/e/f", "new")], 0).whole("d/e/f", Some("old"));
        let inode = fs::metadata(scene.path(TEMPORARY)).expect("a file").ino();
        assert_eq!(scene.cleaned(), (files(&[("f", "saved")]), 2));
        assert_eq!(fs::metadata(scene.path("d/e/f")).expect("a file").ino(), inode);
        let scene = Scene::new(&[(TEMPORARY, "saved"), ("d/e/f", "new"), ("d/e/f.saved", "x")], 0).whole("d/e/f", Some("old"));
        fs::write(scene.path("d/e/f"), "again").expect("a file");
        let left = scene.cleaned().0;
        assert_eq!(left, files(&[("f", "again"), ("f.saved", "x"), ("f.saved.2", "saved")]));
    }

    #[test]
    fn a_record_that_was_cut_names_only_what_was_begun() {
        for cut in (1..200).step_by(9) {
            let scene = Scene::new(&[(TEMPORARY, "new"), ("d/e/f", "old")], 0).whole(TEMPORARY, Some("old"));
            let bytes = fs::read(scene.record()).expect("a record");
            if cut > bytes.len() {
                break;
            }
            fs::write(scene.record(), &bytes[..bytes.len() - cut]).expect("a file");
            assert!(scene.cleaned().0.contains(&("f".to_owned(), "old".to_owned())), "{cut}");
        }
    }

    #[test]
    fn nothing_is_copied_as_long_as_the_record_of_a_dead_process_is_there() {
        let scene = Scene::new(&[], 0);
        let error = CopyOutRecord::new(&scene.record()).expect_err("it is there");
        assert_eq!(error.to_string(), "what an earlier run left in the project could not be removed");
    }
}
