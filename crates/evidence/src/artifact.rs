//! Reads a file that a tool wrote. The tested code may have put a link, a pipe or anything else in its place (E12).

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::libc;
use nix::sys::stat::Mode;

use proctor_model::{Digest, LargeReport};

/// The content of a file that a tool left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub bytes: Vec<u8>,
    pub sha256: Digest,
}

/// Why a file that a tool left was not read. It is a fact about the tool, not a failure of proctor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArtifactRefusal {
    #[error("it does not exist")]
    NotThere,
    /// The path leaves the base directory or contains a symbolic link.
    #[error("its path leads out of the directory or over a symbolic link")]
    Escapes,
    /// The entry is a directory, pipe, socket or device.
    #[error("it is not a regular file")]
    NotRegular,
    /// The file has several hard links, so it could be changed through another path.
    #[error("it has {links} names (hard links), one is allowed")]
    HardLinked { links: u64 },
    #[error("it has more than {cap} bytes")]
    TooBig {
        /// The most bytes that the file may have.
        cap: u64,
    },
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// The refusal for each error of openat2(2) and open(2) that has a meaning here. `ENXIO` is the error for opening a
/// socket.
const REFUSAL_BY_ERRNO: [(Errno, ArtifactRefusal); 5] = [
    (Errno::ENOENT, ArtifactRefusal::NotThere),
    (Errno::ENOTDIR, ArtifactRefusal::NotThere),
    (Errno::ELOOP, ArtifactRefusal::Escapes),
    (Errno::EXDEV, ArtifactRefusal::Escapes),
    (Errno::ENXIO, ArtifactRefusal::NotRegular),
];

/// Reads the file at `relative` below `base`, if it is a regular file with one hard link and at most `cap` bytes.
///
/// The caller must wait until the last process that could change the file has ended. Below `base` neither symbolic
/// links nor `..` are followed (openat2(2), `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`). A pipe is not waited for.
pub fn read_artifact(base: &Path, relative: &Path, cap: u64) -> Result<Artifact, ArtifactRefusal> {
    let (file, metadata) = open_artifact(base, relative)?;
    if metadata.len() > cap {
        return Err(ArtifactRefusal::TooBig { cap });
    }
    read_capped(file, cap)
}

/// A report that a tool left: in memory, or in a file without a name.
#[derive(Debug)]
pub enum TakenReport {
    Small(Artifact),
    Large(LargeReport),
}

/// Takes a report that a tool left, under the same conditions as [`read_artifact`]. A report of more than `in_memory`
/// bytes is copied to a file without a name in the directory `beside`, so that nobody can change the copy while it is
/// read.
pub fn take_report_file(
    base: &Path,
    relative: &Path,
    cap: u64,
    in_memory: u64,
    beside: &Path,
) -> Result<TakenReport, ArtifactRefusal> {
    let (file, metadata) = open_artifact(base, relative)?;
    if metadata.len() > cap {
        return Err(ArtifactRefusal::TooBig { cap });
    }
    if metadata.len() <= in_memory {
        return read_capped(file, cap).map(TakenReport::Small);
    }
    // Where the file system has no files without a name, the report is read into memory.
    let Ok(unnamed) = create_unnamed_file(beside) else { return read_capped(file, cap).map(TakenReport::Small) };
    let copied = io::copy(&mut file.take(cap.saturating_add(1)), &mut &unnamed).map_err(|error| refuse_io(&error))?;
    if copied > cap {
        return Err(ArtifactRefusal::TooBig { cap });
    }
    Ok(TakenReport::Large(LargeReport::new(unnamed, copied)))
}

/// Makes a file without a name in a directory, so that no other process can open it. It is gone when it is closed.
///
/// # Errors
/// When the file system has no such files, or the directory cannot be written to.
pub fn create_unnamed_file(directory: &Path) -> io::Result<File> {
    let flags = OFlag::O_RDWR | OFlag::O_TMPFILE | OFlag::O_CLOEXEC;
    Ok(File::from(open(directory, flags, Mode::S_IRUSR | Mode::S_IWUSR)?))
}

/// Opens the file at `relative` below `base` under the same conditions as [`read_artifact`], but without a limit on its
/// size.
pub(super) fn open_artifact(base: &Path, relative: &Path) -> Result<(File, Metadata), ArtifactRefusal> {
    if relative.as_os_str().is_empty() {
        return Err(ArtifactRefusal::Escapes);
    }
    let (file, metadata) = open_regular_below(base, relative, Opening::Content)?;
    if metadata.nlink() != 1 {
        return Err(ArtifactRefusal::HardLinked { links: metadata.nlink() });
    }
    Ok((file, metadata))
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    Content,
    /// Only its size, times and kind. The file's own permissions do not matter for that.
    Metadata,
}

/// Opens the file at `relative` below `base`, if it is a regular file. No part of `relative` may be a symbolic link. The file may
/// have several hard links.
pub(super) fn open_regular_below(base: &Path, relative: &Path, opening: Opening) -> Result<(File, Metadata), ArtifactRefusal> {
    if !relative.components().all(|component| matches!(component, Component::Normal(_))) {
        return Err(ArtifactRefusal::Escapes);
    }
    if relative.as_os_str().is_empty() {
        return Err(ArtifactRefusal::NotRegular);
    }
    let flags = match opening {
        Opening::Content => OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC | OFlag::O_NOCTTY,
        Opening::Metadata => OFlag::O_PATH | OFlag::O_CLOEXEC,
    };
    let directory = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
        .open(base)
        .map_err(|error| refuse_io(&error))?;
    let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    let file = File::from(openat2(&directory, relative, how).map_err(refuse_errno)?);
    let metadata = file.metadata().map_err(|error| refuse_io(&error))?;
    if !metadata.is_file() {
        return Err(ArtifactRefusal::NotRegular);
    }
    Ok((file, metadata))
}

fn read_capped(file: File, cap: u64) -> Result<Artifact, ArtifactRefusal> {
    let mut bytes = Vec::new();
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| refuse_io(&error))?;
    if bytes.len() as u64 > cap {
        return Err(ArtifactRefusal::TooBig { cap });
    }
    let sha256 = Digest::of(&bytes);
    Ok(Artifact { bytes, sha256 })
}

fn refuse_errno(errno: Errno) -> ArtifactRefusal {
    let known = REFUSAL_BY_ERRNO.iter().find(|(known, _)| *known == errno);
    known.map_or_else(|| refuse_io(&io::Error::from(errno)), |(_, refused)| refused.clone())
}

fn refuse_io(error: &io::Error) -> ArtifactRefusal {
    if error.kind() == io::ErrorKind::NotFound {
        ArtifactRefusal::NotThere
    } else {
        ArtifactRefusal::Unreadable(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;
    use crate::testing::put;

    #[test]
    fn a_regular_file_is_read_with_its_digest() {
        let directory = tempfile::tempdir().unwrap();
        put(&directory.path().join("a/b.xml"), b"<x/>");
        let artifact = read_artifact(directory.path(), Path::new("a/b.xml"), 4).unwrap();
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
        let refused = |name: &str| read_artifact(&base, Path::new(name), 4).unwrap_err();
        assert_eq!(refused("file"), ArtifactRefusal::TooBig { cap: 4 });
        assert_eq!(refused("again"), ArtifactRefusal::HardLinked { links: 2 });
        for escape in ["link", "root/etc/passwd", "here/twice", "../secret", "directory/../twice", "/etc/passwd", "", "."] {
            assert_eq!(refused(escape), ArtifactRefusal::Escapes, "{escape}");
        }
        for odd in ["pipe", "socket", "directory"] {
            assert_eq!(refused(odd), ArtifactRefusal::NotRegular, "{odd}");
        }
        assert_eq!(refused("none"), ArtifactRefusal::NotThere);
        assert_eq!(refused("file/x"), ArtifactRefusal::NotThere);
        assert_eq!(read_artifact(&directory.path().join("gone"), Path::new("x"), 4), Err(ArtifactRefusal::NotThere));
    }

    #[test]
    fn a_file_that_says_it_is_empty_is_still_capped() {
        assert_eq!(read_artifact(Path::new("/proc/self"), Path::new("status"), 8), Err(ArtifactRefusal::TooBig { cap: 8 }));
    }
}
