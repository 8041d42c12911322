//! Writes into a directory that tested code may change at any moment.
//!
//! The tested code may have put a link in place of a directory, through which proctor would write to a place that the
//! tested code chose. So every directory is opened relative to the one above it, and no link is followed.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, SFlag, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
const NEW_FILE: OFlag = OFlag::O_WRONLY.union(OFlag::O_CREAT).union(OFlag::O_EXCL).union(OFlag::O_CLOEXEC);
/// The name under which a file is copied before it gets its own name.
const UNFINISHED: &str = ".proctor-unfinished";

/// An open directory in which entries can be made.
pub(super) struct WritableDirectory(OwnedFd);

impl WritableDirectory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, DIRECTORY, Mode::empty())?))
    }

    /// Opens a directory in this one, and creates it if it is missing.
    pub(super) fn directory(&self, name: &[u8]) -> io::Result<Self> {
        match mkdirat(self.0.as_fd(), name, Mode::S_IRWXU) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(Self(openat(self.0.as_fd(), name, DIRECTORY, Mode::empty())?))
    }

    pub(super) fn has(&self, name: &[u8]) -> bool {
        fstatat(self.0.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok()
    }

    /// Makes a symbolic link. An entry that is already there stays.
    pub(super) fn link(&self, name: &[u8], target: &Path) -> io::Result<()> {
        match symlinkat(target.as_os_str().as_bytes(), self.0.as_fd(), name) {
            Ok(()) | Err(Errno::EEXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Makes a symbolic link. An entry that is already there stays, unless it is a link that leads nowhere.
    pub(super) fn link_anew(&self, name: &[u8], target: &Path) -> io::Result<()> {
        self.unlink_if_dangling(name);
        self.link(name, target)
    }

    /// Returns whether there is an entry of this name, and if it is a link, whether there is something at its end.
    pub(super) fn leads_somewhere(&self, name: &[u8]) -> bool {
        fstatat(self.0.as_fd(), name, AtFlags::empty()).is_ok()
    }

    /// Removes an entry if it is a link that leads nowhere: the user's own tool removed what it led to.
    pub(super) fn unlink_if_dangling(&self, name: &[u8]) {
        if !self.leads_somewhere(name) {
            self.unlink_link(name);
        }
    }

    /// Removes an entry if it is a symbolic link.
    pub(super) fn unlink_link(&self, name: &[u8]) {
        let found = fstatat(self.0.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW);
        if found.is_ok_and(|found| SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFLNK) {
            // Tested code may have put something else there in the meantime; a directory is not removed by this call.
            let _stays = unlinkat(self.0.as_fd(), name, UnlinkatFlags::NoRemoveDir);
        }
    }

    /// Copies a file. The copy appears under its name once it is complete.
    pub(super) fn copy(&self, name: &[u8], from: &Path) -> io::Result<()> {
        let mut source = File::open(from)?;
        let _no_remains = unlinkat(self.0.as_fd(), UNFINISHED, UnlinkatFlags::NoRemoveDir);
        let mut copy = File::from(openat(self.0.as_fd(), UNFINISHED, NEW_FILE, Mode::S_IRUSR | Mode::S_IWUSR)?);
        io::copy(&mut source, &mut copy)?;
        Ok(renameat(self.0.as_fd(), UNFINISHED, self.0.as_fd(), name)?)
    }
}

// Links the packages that an npm lock file names from the home's npm cache. That cache may hold a hundred thousand files, so only the
// named ones are linked. npm finds a package by the hash in the lock file and checks what it reads.

/// The lock files of npm, in the order in which npm prefers them.
const LOCK_FILES: &[&str] = &["npm-shrinkwrap.json", "package-lock.json"];
/// The most bytes of a lock file that are read; what follows them is ignored.
const LARGEST_LOCK: u64 = 32 << 20;
const HASHES: &[&str] = &["sha512", "sha1"];

/// Links every package that the lock file in `directory` names and that is in the home's cache.
pub(super) fn link_locked_packages(own: &WritableDirectory, home_cache: &Path, directory: &Path) -> io::Result<()> {
    let Some(lock) = LOCK_FILES.iter().find_map(|name| read_lock(&directory.join(name))) else { return Ok(()) };
    let content = home_cache.join("content-v2");
    if !content.is_dir() {
        return Ok(());
    }
    let own = own.directory(b"npm")?.directory(b"_cacache")?.directory(b"content-v2")?;
    for [hash, first, second, rest] in content_paths(&lock) {
        let target: PathBuf = [content.as_path(), hash.as_ref(), first.as_ref(), second.as_ref(), rest.as_ref()].iter().collect();
        if target.is_file() {
            let below = own.directory(hash.as_bytes())?.directory(first.as_bytes())?.directory(second.as_bytes())?;
            below.link(rest.as_bytes(), &target)?;
        }
    }
    Ok(())
}

fn read_lock(path: &Path) -> Option<String> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    let mut text = String::new();
    file.take(LARGEST_LOCK).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns where npm's cache keeps each package of a lock file: the name of the hash and the hash in three parts.
fn content_paths(lock: &str) -> Vec<[String; 4]> {
    let values = lock.split("\"integrity\"").skip(1).filter_map(|rest| {
        let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        value.split('"').next()
    });
    values.flat_map(str::split_whitespace).filter_map(content_path).collect()
}

fn content_path(integrity: &str) -> Option<[String; 4]> {
    let (hash, encoded) = integrity.split_once('-')?;
    let bytes = STANDARD.decode(encoded).ok().filter(|bytes| bytes.len() > 2)?;
    let mut hexadecimal = String::new();
    for byte in bytes {
        write!(hexadecimal, "{byte:02x}").ok()?;
    }
    let (first, second, rest) = (&hexadecimal[..2], &hexadecimal[2..4], &hexadecimal[4..]);
    HASHES.contains(&hash).then(|| [hash, first, second, rest].map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_looked_for_where_npm_keeps_it() {
        let lock = "{\"packages\": {\"node_modules/a\": {\"integrity\": \"sha1-AAECAwQ= sha512-/wD/\"},\n\
            \"node_modules/b\": {\"integrity\" : \"md5-AAECAwQ=\"}, \"node_modules/c\": {\"integrity\": \"sha512-../../x\"}}}";
        let paths: Vec<String> = content_paths(lock).iter().map(|path| path.join("/")).collect();
        assert_eq!(paths, ["sha1/00/01/020304", "sha512/ff/00/ff"]);
    }
}
