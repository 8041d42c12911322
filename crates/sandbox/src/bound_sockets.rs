//! Which sockets in the file system belong to a process now, as the kernel lists them.
//!
//! Daemons put their sockets anywhere. A read-only file system does not keep anybody from connecting to one, so each socket that an
//! action would see is hidden from it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// The kernel's list of the Unix sockets of this network namespace.
const LIST: &str = "/proc/net/unix";
/// How many words stand before the path in a line of the list.
const WORDS_BEFORE: usize = 7;

/// Returns the absolute paths at which a process of this network namespace has bound a socket that is still there. Sockets that are
/// bound later, or by a relative path, are not among them.
pub(super) fn bound_sockets() -> BTreeSet<PathBuf> {
    let list = fs::read(LIST).unwrap_or_default();
    let is_socket = |path: &PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
    paths(&list).map(Path::to_owned).filter(is_socket).collect()
}

/// Returns the absolute paths in the kernel's list. Abstract sockets have an `@` in front, and most sockets have no name.
fn paths(list: &[u8]) -> impl Iterator<Item = &Path> {
    let path = |line: &[u8]| -> Option<usize> {
        let mut words = 0;
        let mut was_space = true;
        line.iter().position(|byte| {
            let is_space = *byte == b' ';
            words += usize::from(was_space && !is_space);
            was_space = is_space;
            words > WORDS_BEFORE
        })
    };
    let lines = list.split(|byte| *byte == b'\n').skip(1);
    let named = lines.filter_map(move |line| Some(Path::new(OsStr::from_bytes(line.get(path(line)?..)?))));
    named.filter(|path| path.is_absolute())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test plays somebody who replaces the socket")]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn paths_are_read_with_their_spaces_and_only_absolute_ones() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01    21 /run/a b.sock\n\
                    0000000000000000: 00000002 00000000 00000000 0002 01 12345\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 12346 @/abstract\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 12347 relative\n\
                    0000000000000000: 00000003 00000000 00000000 0002 01 12348 /home/me/agent\n";
        assert_eq!(paths(list.as_bytes()).collect::<Vec<_>>(), [Path::new("/run/a b.sock"), Path::new("/home/me/agent")]);
        assert_eq!(paths(b"").count() + paths(b"header\n\n  \n").count(), 0);
    }

    #[test]
    fn a_socket_is_found_while_it_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a socket");
        let _listener = UnixListener::bind(&path).unwrap();
        assert!(bound_sockets().contains(&path));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        assert!(!bound_sockets().contains(&path));
    }
}
