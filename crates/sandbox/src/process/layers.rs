//! Reads the layers of an overlayfs directory without mounting them: the files that a check saw, and the files that it
//! wrote.
//!
//! An upper layer can hide entries of lower layers. A character device with the number 0:0 (a whiteout) hides one
//! entry. The attribute `user.overlay.opaque` on a directory hides everything in the lower directory. Source:
//! Documentation/filesystems/overlayfs.rst, with the mount option `userxattr`.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, readlinkat};
use nix::libc;
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, fchmodat, fstatat};

use crate::process::system_calls::read_attribute;
use proctor_model::TreePath;

const OPAQUE: &CStr = c"user.overlay.opaque";

/// The permissions that the owner needs to list a directory and to look at its entries.
const WALKED: Mode = Mode::S_IRUSR.union(Mode::S_IXUSR);

/// The layers of an overlayfs directory, the topmost first.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    directories: Vec<PathBuf>,
}

/// The state of a path in one layer.
enum AtLayer {
    /// The layer has no such entry, but a lower layer may have one.
    Nothing,
    /// The layer hides the path in every lower layer, so no lower layer is searched.
    Hidden,
    Entry(OwnedFd, CString, FileStat),
}

impl Layers {
    /// Combines the directories of layers, the topmost first. An earlier directory hides entries of the later ones.
    pub fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories }
    }

    /// Returns what kind of entry a check sees at a path, if the layers lie on top of each other. Links are not
    /// followed.
    ///
    /// # Errors
    /// When a layer cannot be read.
    pub fn entry(&self, path: &TreePath) -> io::Result<SeenEntry> {
        if path.is_root() {
            return Ok(SeenEntry::Directory);
        }
        for directory in &self.directories {
            match look(open_root(directory)?, path)? {
                AtLayer::Nothing => {}
                AtLayer::Hidden => return Ok(SeenEntry::Nothing),
                AtLayer::Entry(_, _, stat) if file_type_bits(&stat) == libc::S_IFDIR => return Ok(SeenEntry::Directory),
                AtLayer::Entry(..) => return Ok(SeenEntry::Other),
            }
        }
        Ok(SeenEntry::Nothing)
    }

    /// Opens the regular file at a path. Returns the number of the layer that has the file (0 is the topmost), and the
    /// open file. Returns `None` if there is no regular file at the path. Links are not followed.
    ///
    /// # Errors
    /// When a layer cannot be read.
    pub fn open_file(&self, path: &TreePath) -> io::Result<Option<(usize, File)>> {
        for (number, directory) in self.directories.iter().enumerate() {
            match look(open_root(directory)?, path)? {
                AtLayer::Nothing => {}
                AtLayer::Hidden => return Ok(None),
                AtLayer::Entry(parent, name, stat) if file_type_bits(&stat) == libc::S_IFREG => {
                    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
                    return Ok(Some((number, File::from(openat(&parent, name.as_c_str(), flags, Mode::empty())?))));
                }
                AtLayer::Entry(..) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Returns where the symbolic link at a path leads, as the link says it; `None` if there is no link at the path. Links in
    /// the path itself are not followed.
    ///
    /// # Errors
    /// When a layer cannot be read.
    pub fn link(&self, path: &TreePath) -> io::Result<Option<PathBuf>> {
        for directory in &self.directories {
            match look(open_root(directory)?, path)? {
                AtLayer::Nothing => {}
                AtLayer::Entry(parent, name, stat) if file_type_bits(&stat) == libc::S_IFLNK => {
                    return Ok(Some(PathBuf::from(readlinkat(&parent, name.as_c_str())?)));
                }
                AtLayer::Hidden | AtLayer::Entry(..) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Returns the directory of the topmost layer that has an entry at a path, of whatever kind; `None` if a check sees
    /// nothing there. Links are not followed.
    ///
    /// # Errors
    /// When a layer cannot be read.
    pub fn directory_of(&self, path: &TreePath) -> io::Result<Option<&Path>> {
        for directory in &self.directories {
            match look(open_root(directory)?, path)? {
                AtLayer::Nothing => {}
                AtLayer::Hidden => return Ok(None),
                AtLayer::Entry(..) => return Ok(Some(directory)),
            }
        }
        Ok(None)
    }
}

/// What kind of entry a check sees at a path of the overlayfs directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenEntry {
    Nothing,
    Directory,
    /// A file, a link or a special file.
    Other,
}

/// A file, directory or other entry that a check created, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenEntry {
    /// The entry's path below the root of the layer.
    pub path: TreePath,
    pub change: WrittenChange,
}

/// The kinds of changes that a check can make to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenChange {
    WroteFile {
        bytes: u64,
    },
    /// The check made a link, a pipe or a socket.
    MadeOther,
    /// The check removed a directory and made it again. The contents in lower layers are hidden.
    ReplacedDirectory,
    /// The check removed the entry.
    Removed,
}

/// Returns the changes of a check, sorted by path. `layer` is the upper layer, into which overlayfs wrote them. A
/// directory that exists only because of changed entries below it is not listed. `skipped` has the mount points that
/// proctor made for the check; they are not listed.
///
/// # Errors
///
/// When the layer cannot be read.
pub fn written_entries(layer: &Path, skipped: &[TreePath]) -> io::Result<Vec<WrittenEntry>> {
    let mut closed = ClosedDirectories::default();
    let mut written = Vec::new();
    let mut waiting = vec![(TreePath::root(), open_root(layer)?)];
    while let Some((parent, directory)) = waiting.pop() {
        for name in names_in(&directory)? {
            let path = parent.join(name.to_bytes());
            if skipped.contains(&path) {
                continue;
            }
            let stat = stat_of(&directory, &name)?;
            let change = match file_type_bits(&stat) {
                libc::S_IFREG => WrittenChange::WroteFile { bytes: stat.st_size.cast_unsigned() },
                libc::S_IFCHR if stat.st_rdev == 0 => WrittenChange::Removed,
                libc::S_IFDIR => {
                    let below = closed.open(&directory, &name, &stat)?;
                    let is_new = is_opaque(below.as_fd())?;
                    waiting.push((path.clone(), below));
                    if !is_new {
                        continue;
                    }
                    WrittenChange::ReplacedDirectory
                }
                _ => WrittenChange::MadeOther,
            };
            written.push(WrittenEntry { path, change });
        }
    }
    written.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(written)
}

/// Directories of a layer that proctor may not enter, because a check took the owner's permissions away. The
/// permissions are added for the time of a walk through the layer. When this value is dropped, each directory gets
/// its earlier permissions back, because later checks see the layer.
#[derive(Default)]
struct ClosedDirectories {
    opened: Vec<(OwnedFd, CString, Mode)>,
}

impl ClosedDirectories {
    /// Opens a directory, with more permissions if it needs them.
    fn open(&mut self, parent: &OwnedFd, name: &CString, stat: &FileStat) -> io::Result<OwnedFd> {
        let mode = Mode::from_bits_truncate(stat.st_mode);
        if !mode.contains(WALKED) {
            fchmodat(parent, name.as_c_str(), mode | WALKED, FchmodatFlags::FollowSymlink)?;
            self.opened.push((parent.try_clone()?, name.clone(), mode));
        }
        open_directory(parent, name)
    }
}

impl Drop for ClosedDirectories {
    fn drop(&mut self) {
        // The innermost directory is restored first, because a directory can only be reached as long as the
        // directories around it are open.
        for (parent, name, mode) in self.opened.drain(..).rev() {
            // If this fails, later checks can enter the directory. That is no reason to lose the run.
            let _more_open = fchmodat(&parent, name.as_c_str(), mode, FchmodatFlags::FollowSymlink);
        }
    }
}

fn look(mut directory: OwnedFd, path: &TreePath) -> io::Result<AtLayer> {
    let mut hides_lower = false;
    let mut names = path.as_bytes().split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        let name = CString::new(name)?;
        let missing = if hides_lower { AtLayer::Hidden } else { AtLayer::Nothing };
        let stat = match stat_of(&directory, &name) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(missing),
            stat => stat?,
        };
        let is_whiteout = file_type_bits(&stat) == libc::S_IFCHR && stat.st_rdev == 0;
        if is_whiteout {
            return Ok(AtLayer::Hidden);
        }
        if names.peek().is_none() {
            return Ok(AtLayer::Entry(directory, name, stat));
        }
        if file_type_bits(&stat) != libc::S_IFDIR {
            return Ok(AtLayer::Hidden);
        }
        directory = open_directory(&directory, &name)?;
        hides_lower = hides_lower || is_opaque(directory.as_fd())?;
    }
    Ok(AtLayer::Nothing)
}

/// Returns whether a directory of a layer hides everything in the same directory of lower layers.
///
/// # Errors
/// When the directory's attribute cannot be read.
pub fn is_opaque(directory: BorrowedFd<'_>) -> io::Result<bool> {
    let mut value = [0; 8];
    let length = read_attribute(directory, OPAQUE, &mut value)?;
    Ok(length.is_some_and(|length| value[..length] == *b"y"))
}

fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(File::options().read(true).custom_flags(libc::O_DIRECTORY).open(path)?.into())
}

fn open_directory(parent: &OwnedFd, name: &CString) -> io::Result<OwnedFd> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(openat(parent, name.as_c_str(), flags, Mode::empty())?)
}

fn stat_of(directory: &OwnedFd, name: &CString) -> io::Result<FileStat> {
    Ok(fstatat(directory.as_fd(), name.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW)?)
}

fn names_in(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut listed = Dir::openat(directory, c".", flags, Mode::empty())?;
    let names: Result<Vec<CString>, Errno> = listed.iter().map(|entry| entry.map(|entry| entry.file_name().to_owned())).collect();
    Ok(names?.into_iter().filter(|name| name.as_c_str() != c"." && name.as_c_str() != c"..").collect())
}

fn file_type_bits(stat: &FileStat) -> libc::mode_t {
    stat.st_mode & libc::S_IFMT
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the layers they read")]
mod tests {
    use std::fs::{self, Permissions};
    use std::io::Read as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use nix::sys::stat::{SFlag, mknod};
    use tempfile::TempDir;

    use super::*;
    use crate::process::system_calls::set_attribute;

    /// The layers `top`, `middle` and `base`, as directories in one temporary directory.
    struct Stack {
        root: TempDir,
    }

    impl Stack {
        fn new(files: &[&str]) -> Self {
            let stack = Self { root: TempDir::new().expect("a directory") };
            for name in ["top", "middle", "base"] {
                fs::create_dir(stack.path(name)).expect("a directory");
            }
            for name in files {
                fs::create_dir_all(stack.path(name).parent().expect("a parent")).expect("a directory");
                fs::write(stack.path(name), name).expect("a file");
            }
            stack
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.path().join(name)
        }

        fn hide(&self, name: &str) {
            mknod(&self.path(name), SFlag::S_IFCHR, Mode::S_IRUSR, 0).expect("a whiteout");
        }

        fn make_opaque(&self, name: &str) {
            fs::create_dir_all(self.path(name)).expect("a directory");
            let directory = open_root(&self.path(name)).expect("a directory");
            set_attribute(directory.as_fd(), OPAQUE, b"y").expect("an attribute");
        }

        /// Returns the content of the visible file at a path with its layer's number; empty if no file is visible.
        fn seen(&self, path: &str) -> String {
            let layers = Layers::new(["top", "middle", "base"].map(|name| self.path(name)).into());
            let path = TreePath::try_from(path).expect("a clean path");
            let Some((number, mut file)) = layers.open_file(&path).expect("layers") else { return String::new() };
            let mut text = String::new();
            file.read_to_string(&mut text).expect("text");
            format!("{number} {text}")
        }

        fn written(&self, skipped: &[&str]) -> Vec<String> {
            let skipped: Vec<TreePath> = skipped.iter().map(|path| TreePath::try_from(*path).expect("a clean path")).collect();
            let written = written_entries(&self.path("top"), &skipped).expect("a layer");
            written.into_iter().map(|entry| format!("{} {:?}", entry.path, entry.change)).collect()
        }
    }

    #[test]
    fn the_topmost_file_is_seen_unless_something_above_hides_it() {
        let stack = Stack::new(&["base/a", "middle/a", "base/b", "base/d/x", "base/d/y", "base/e/x", "top/d/y", "base/f"]);
        assert_eq!(
            ["a", "b", "d/x", "d/y", "none"].map(|path| stack.seen(path)),
            ["1 middle/a", "2 base/b", "2 base/d/x", "0 top/d/y", ""]
        );
        stack.hide("top/b");
        stack.make_opaque("top/d");
        stack.hide("middle/e");
        fs::create_dir(stack.path("top/f")).expect("a directory");
        assert_eq!(
            ["a", "b", "d/x", "d/y", "e/x", "f"].map(|path| stack.seen(path)),
            ["1 middle/a", "", "", "0 top/d/y", "", ""]
        );
    }

    #[test]
    fn directories_that_a_check_closed_are_listed_and_stay_closed() {
        let stack = Stack::new(&["top/d/e/x", "top/open/y"]);
        let set = |name: &str, mode| fs::set_permissions(stack.path(name), Permissions::from_mode(mode)).expect("it is ours");
        set("top/d/e", 0o000);
        set("top/d", 0o600);
        assert_eq!(stack.written(&[]), ["d/e/x WroteFile { bytes: 9 }", "open/y WroteFile { bytes: 10 }"]);
        let mode = |name: &str| fs::metadata(stack.path(name)).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode("top/d"), 0o600);
        set("top/d", 0o700);
        assert_eq!(mode("top/d/e"), 0o000);
        set("top/d/e", 0o700);
    }

    #[test]
    fn a_link_is_no_file_and_leads_nowhere() {
        let stack = Stack::new(&["base/a", "base/d/x"]);
        symlink("a", stack.path("base/link")).expect("a link");
        symlink("d", stack.path("base/to-d")).expect("a link");
        assert_eq!(["link", "to-d/x"].map(|path| stack.seen(path)), ["", ""]);
        let layers = Layers::new(["top", "middle", "base"].map(|name| stack.path(name)).into());
        let link = |path: &str| layers.link(&TreePath::try_from(path).expect("a clean path")).expect("layers");
        assert_eq!(link("link"), Some(PathBuf::from("a")));
        assert_eq!(["a", "d", "none", "to-d/x"].map(link), [None, None, None, None]);
        stack.hide("top/link");
        assert_eq!(link("link"), None, "a whiteout hides the link");
        let found = |path: &str| {
            let path = TreePath::try_from(path).expect("a clean path");
            layers.directory_of(&path).expect("layers").map(Path::to_owned)
        };
        assert_eq!(
            ["a", "d", "to-d", "link"].map(found),
            [Some(stack.path("base")), Some(stack.path("base")), Some(stack.path("base")), None]
        );
    }

    #[test]
    fn what_was_written_is_named_with_what_was_removed() {
        let stack = Stack::new(&["top/a", "top/d/x", "top/.git/made", "top/new/y"]);
        stack.hide("top/gone");
        stack.make_opaque("top/new");
        symlink("a", stack.path("top/link")).expect("a link");
        let expected = [
            "a WroteFile { bytes: 5 }",
            "d/x WroteFile { bytes: 7 }",
            "gone Removed",
            "link MadeOther",
            "new ReplacedDirectory",
            "new/y WroteFile { bytes: 9 }",
        ];
        assert_eq!(stack.written(&[".git"]), expected);
    }
}
