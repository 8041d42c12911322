//! Reading files that a person, or a file of the project, names. Such a path may lead to a pipe that nobody writes to,
//! to a device without an end, or to a file with holes that is a million times larger than the disk.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::libc;

/// Why a file is not read, although it could be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileRefusal {
    /// A directory, a pipe, a socket or a device.
    NotRegular,
    /// The file is larger than this many bytes.
    TooLarge { cap: u64 },
}

impl fmt::Display for FileRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegular => {
                formatter.write_str("it is a directory, a pipe, a socket or a device, and only a regular file is read")
            }
            Self::TooLarge { cap } => write!(formatter, "it is larger than {cap} bytes, and no more are read"),
        }
    }
}

impl std::error::Error for FileRefusal {}

/// Opens a regular file for reading. A pipe is not waited for, and a terminal does not become the process's controlling
/// terminal. The path may be a symbolic link, because the person or file that gave the path also chose where it leads.
///
/// # Errors
/// When the file cannot be opened, or is no regular file.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).map_err(|error| {
        // The kernel's words for the error of opening a socket are "no such device or address".
        if error.raw_os_error() == Some(libc::ENXIO) { FileRefusal::NotRegular.into() } else { error }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(FileRefusal::NotRegular.into()) }
}

/// Reads a whole regular file of at most `cap` bytes.
///
/// # Errors
/// When the file cannot be read, is no regular file, or is larger.
pub fn read_regular_file(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    read_up_to(open_regular_file(path)?, cap)
}

/// Reads an open file of at most `cap` bytes.
pub(super) fn read_up_to(file: File, cap: u64) -> io::Result<Vec<u8>> {
    // The length is asked for first: `read_to_end` reserves as much memory as the file claims to be long.
    let length = file.metadata()?.len();
    if length > cap {
        return Err(FileRefusal::TooLarge { cap }.into());
    }
    // Of a part of a file, `read_to_end` does not know the length, and begins with 32 bytes.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default().saturating_add(1));
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap { Err(FileRefusal::TooLarge { cap }.into()) } else { Ok(bytes) }
}

/// Reads a whole regular file of at most `cap` bytes as text.
///
/// # Errors
/// As [`read_regular_file`], and when the file is not UTF-8.
pub fn read_regular_text(path: &Path, cap: u64) -> io::Result<String> {
    let bytes = read_regular_file(path, cap)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

impl From<FileRefusal> for io::Error {
    fn from(refusal: FileRefusal) -> Self {
        Self::new(io::ErrorKind::InvalidInput, refusal)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;

    use super::*;
    use crate::testing::put;

    #[test]
    fn only_a_regular_file_of_a_bounded_length_is_read() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        put(&at("file"), b"12345");
        nix::unistd::mkfifo(&at("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        put(&at("sparse"), b"");
        File::options().write(true).open(at("sparse")).unwrap().set_len(1 << 40).unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        assert_eq!(read_regular_file(&at("file"), 5).unwrap(), b"12345");
        assert_eq!(read_regular_text(&at("link"), 5).unwrap(), "12345");
        let said = |name: &str, cap: u64| read_regular_file(&at(name), cap).unwrap_err().to_string();
        assert_eq!(said("file", 4), "it is larger than 4 bytes, and no more are read");
        assert_eq!(said("sparse", 1 << 20), "it is larger than 1048576 bytes, and no more are read");
        for odd in ["pipe", "socket", "."] {
            assert_eq!(said(odd, 5), "it is a directory, a pipe, a socket or a device, and only a regular file is read", "{odd}");
        }
        assert!(read_regular_file(Path::new("/dev/zero"), 5).unwrap_err().to_string().contains("a device"));
        assert_eq!(read_regular_file(&at("missing"), 5).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
