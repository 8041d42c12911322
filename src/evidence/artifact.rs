//! Taking a file that a tool left, where whatever ran may have put anything in its place (E12).

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::libc;

use crate::model::Digest;

/// The content of a file a tool left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Their SHA-256.
    pub sha256: Digest,
}

/// Says why a file a tool left was not taken. It is a finding, not a failure of proctor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is not there.
    #[error("it does not exist")]
    NotThere,
    /// The way to it leaves the directory or leads over a link.
    #[error("the way to it leads out of the directory or over a symbolic link")]
    Escapes,
    /// It is a directory, pipe, socket or device.
    #[error("it is not a regular file")]
    NotRegular,
    /// It has other names, through which it could be changed.
    #[error("it has {links} names (hard links), one is allowed")]
    HardLinked {
        /// How many names it has.
        links: u64,
    },
    /// It is larger than what is taken.
    #[error("it has more than {cap} bytes")]
    TooBig {
        /// How much is taken at most, in bytes.
        cap: u64,
    },
    /// It could not be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// What openat2(2) and open(2) say about a way that is not taken. `ENXIO`: a socket cannot be opened.
const REFUSED_ERRNOS: [(Errno, Refused); 5] = [
    (Errno::ENOENT, Refused::NotThere),
    (Errno::ENOTDIR, Refused::NotThere),
    (Errno::ELOOP, Refused::Escapes),
    (Errno::EXDEV, Refused::Escapes),
    (Errno::ENXIO, Refused::NotRegular),
];

/// Reads the file at `relative` below `base`, if it is one regular file with one name and at most `cap` bytes.
///
/// To be called after the last process that could change it has ended. Neither links nor `..` are followed below `base`
/// (openat2(2), `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`), and a pipe is not waited for.
pub fn take_artifact(base: &Path, relative: &Path, cap: u64) -> Result<Artifact, Refused> {
    let (file, metadata) = open_artifact(base, relative)?;
    if metadata.len() > cap {
        return Err(Refused::TooBig { cap });
    }
    read_capped(file, cap)
}

/// Opens the file at `relative` below `base`, if it is one regular file with one name, likewise.
pub(super) fn open_artifact(base: &Path, relative: &Path) -> Result<(File, Metadata), Refused> {
    if !relative.components().all(|component| matches!(component, Component::Normal(_))) || relative.as_os_str().is_empty() {
        return Err(Refused::Escapes);
    }
    let directory = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
        .open(base)
        .map_err(|error| refuse_io(&error))?;
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC | OFlag::O_NOCTTY)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    let file = File::from(openat2(&directory, relative, how).map_err(refuse_errno)?);
    let metadata = file.metadata().map_err(|error| refuse_io(&error))?;
    if !metadata.is_file() {
        return Err(Refused::NotRegular);
    }
    if metadata.nlink() != 1 {
        return Err(Refused::HardLinked { links: metadata.nlink() });
    }
    Ok((file, metadata))
}

fn read_capped(file: File, cap: u64) -> Result<Artifact, Refused> {
    let mut bytes = Vec::new();
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| refuse_io(&error))?;
    if bytes.len() as u64 > cap {
        return Err(Refused::TooBig { cap });
    }
    let sha256 = Digest::of(&bytes);
    Ok(Artifact { bytes, sha256 })
}

fn refuse_errno(errno: Errno) -> Refused {
    let known = REFUSED_ERRNOS.iter().find(|(known, _)| *known == errno);
    known.map_or_else(|| refuse_io(&io::Error::from(errno)), |(_, refused)| refused.clone())
}

fn refuse_io(error: &io::Error) -> Refused {
    if error.kind() == io::ErrorKind::NotFound { Refused::NotThere } else { Refused::Unreadable(error.to_string()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;
    use crate::evidence::testing::put;

    #[test]
    fn a_plain_file_is_taken_with_its_digest() {
        let directory = tempfile::tempdir().unwrap();
        put(&directory.path().join("a/b.xml"), b"<x/>");
        let artifact = take_artifact(directory.path(), Path::new("a/b.xml"), 4).unwrap();
        assert_eq!(artifact, Artifact { bytes: b"<x/>".to_vec(), sha256: Digest::of(b"<x/>") });
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().join("out");
        put(&base.join("file"), b"12345");
        put(&base.join("twice"), b"1");
        put(&directory.path().join("secret"), b"s");
        std::fs::hard_link(base.join("twice"), base.join("again")).unwrap();
        symlink(base.join("file"), base.join("link")).unwrap();
        symlink("/", base.join("root")).unwrap();
        symlink(".", base.join("here")).unwrap();
        mkfifo(&base.join("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let _listener = UnixListener::bind(base.join("socket")).unwrap();
        std::fs::create_dir(base.join("directory")).unwrap();
        let refused = |name: &str| take_artifact(&base, Path::new(name), 4).unwrap_err();
        assert_eq!(refused("file"), Refused::TooBig { cap: 4 });
        assert_eq!(refused("again"), Refused::HardLinked { links: 2 });
        for escape in ["link", "root/etc/passwd", "here/twice", "../secret", "directory/../twice", "/etc/passwd", "", "."] {
            assert_eq!(refused(escape), Refused::Escapes, "{escape}");
        }
        for odd in ["pipe", "socket", "directory"] {
            assert_eq!(refused(odd), Refused::NotRegular, "{odd}");
        }
        assert_eq!(refused("none"), Refused::NotThere);
        assert_eq!(refused("file/x"), Refused::NotThere);
        assert_eq!(take_artifact(&directory.path().join("gone"), Path::new("x"), 4), Err(Refused::NotThere));
    }

    #[test]
    fn a_file_that_says_it_is_empty_is_still_capped() {
        assert_eq!(take_artifact(Path::new("/proc/self"), Path::new("status"), 8), Err(Refused::TooBig { cap: 8 }));
    }
}
