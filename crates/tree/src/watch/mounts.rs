//! The file systems that are mounted inside a project. The kernel reports no event when one comes or goes, and the watches
//! of the directories below it are those of the hidden directories, so the watcher compares the list from time to time.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// The list of this thread's mounts (`proc_pid_mountinfo(5)`). Threads of one process may have different mount namespaces.
const MOUNTS: &str = "/proc/thread-self/mountinfo";

/// A mount: its id, which is another one after the file system was unmounted and mounted again, and its mount point.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mount {
    id: u64,
    point: PathBuf,
}

/// Returns the mounts at or below a directory. Returns none if the list cannot be read.
pub(super) fn read_mounts_below(root: &Path) -> Vec<Mount> {
    fs::read(MOUNTS).map(|text| parse_mounts_below(&text, root)).unwrap_or_default()
}

fn parse_mounts_below(text: &[u8], root: &Path) -> Vec<Mount> {
    let mount = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let point = PathBuf::from(unescape(fields.nth(3)?));
        point.starts_with(root).then_some(Mount { id, point })
    };
    let mut mounts: Vec<Mount> = text.split(|byte| *byte == b'\n').filter_map(mount).collect();
    mounts.sort();
    mounts
}

/// Replaces the escapes of spaces, tabs, line ends and backslashes: a backslash and three octal digits.
fn unescape(field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..3).filter(|digits| *first == b'\\' && digits.iter().all(|digit| (b'0'..=b'7').contains(digit)));
        match digits {
            Some(digits) => {
                let value = digits.iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                bytes.push(u8::try_from(value).unwrap_or(b'?'));
                rest = &others[3..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    const LIST: &[u8] = b"22 1 0:21 / / rw - ext4 /dev/a rw\n\
        31 22 0:30 / /home/a/shop/data rw,relatime shared:2 - tmpfs tmpfs rw\n\
        30 22 0:30 / /home/a/shop/with\\040space\\134 rw - tmpfs tmpfs rw\n\
        33 22 0:31 / /home/a/shopping rw - tmpfs tmpfs rw\n\
        a line that is none\n";

    #[test]
    fn only_mounts_at_or_below_the_directory_are_found_and_escapes_are_replaced() {
        let points: Vec<_> = parse_mounts_below(LIST, Path::new("/home/a/shop")).into_iter().map(|mount| mount.point).collect();
        assert_eq!(points, [PathBuf::from("/home/a/shop/with space\\"), PathBuf::from("/home/a/shop/data")]);
        assert_eq!(parse_mounts_below(LIST, Path::new("/home/a/shop/data")).len(), 1);
        assert_eq!(unescape(b"a\\9\\12"), OsString::from("a\\9\\12"), "no escape");
        assert_eq!(unescape(b"\\303\\251").as_bytes(), "é".as_bytes());
    }

    #[test]
    fn a_file_system_that_was_mounted_again_is_another_mount() {
        let again = String::from_utf8(LIST.to_vec()).unwrap().replace("31 22", "35 22");
        let root = Path::new("/home/a/shop");
        assert_ne!(parse_mounts_below(LIST, root), parse_mounts_below(again.as_bytes(), root));
    }

    #[test]
    fn the_list_of_this_thread_has_the_root() {
        assert!(!read_mounts_below(Path::new("/")).is_empty());
    }
}
