//! The mounts that a process sees, as the kernel lists them (`proc_pid_mountinfo(5)`), and the paths at which they show one
//! file. Pure.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// A mount: a directory or file of a file system, and the path at which it is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Another number after the file system was unmounted and mounted again.
    pub id: u64,
    /// The id of the mount in which the mount point lies.
    pub parent: u64,
    /// The major and minor number of the file system's device.
    pub device: (u64, u64),
    /// The path of the mounted directory or file in its file system.
    pub root: PathBuf,
    pub point: PathBuf,
}

/// Another path at which a mount shows a file or directory, or something in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecondPath {
    pub path: PathBuf,
    /// The first path of the entry that `path` shows: the asked file or directory itself, or something in it.
    pub shows: PathBuf,
}

/// All mounts of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountTable {
    pub mounts: Vec<Mount>,
    /// The mounts at each mount point, as places in `mounts`.
    at: HashMap<OsString, Vec<usize>>,
    /// The mounts of each file system that is mounted more than once. Only such a mount shows a file at two paths.
    repeated: Vec<usize>,
}

impl MountTable {
    /// Reads the kernel's list. Lines that do not describe a mount are left out.
    pub fn parse(list: &[u8]) -> Self {
        Self::new(list.split(|byte| *byte == b'\n').filter_map(parse_mount).collect())
    }

    fn new(mounts: Vec<Mount>) -> Self {
        let mut at: HashMap<OsString, Vec<usize>> = HashMap::new();
        let mut number_of: HashMap<(u64, u64), usize> = HashMap::new();
        for (index, mount) in mounts.iter().enumerate() {
            at.entry(mount.point.clone().into()).or_default().push(index);
            *number_of.entry(mount.device).or_default() += 1;
        }
        let repeated = (0..mounts.len()).filter(|index| number_of[&mounts[*index].device] > 1).collect();
        Self { mounts, at, repeated }
    }

    /// Returns the mount in which a path ends, when it is followed as the kernel does: at each mount point on the way, from
    /// the mount below to the one on top of it. The path must contain no links. Returns `None` where the kernel does not list the
    /// mount: that of a root which is no mount itself (`chroot(2)`).
    pub fn holder(&self, path: &Path) -> Option<&Mount> {
        let is_listed = |id: u64| self.mounts.iter().any(|mount| mount.id == id);
        let directories: Vec<&Path> = path.ancestors().collect();
        let mut holder: Option<&Mount> = None;
        for directory in directories.into_iter().rev() {
            // No more mounts lie on each other than are mounted there.
            for _ in self.mounts_at(directory) {
                let is_next = |mount: &&Mount| match holder {
                    Some(below) => mount.parent == below.id && mount.id != below.id,
                    None => mount.parent == mount.id || !is_listed(mount.parent),
                };
                holder = self.mounts_at(directory).find(is_next).or(holder);
            }
        }
        holder
    }

    fn mounts_at(&self, point: &Path) -> impl Iterator<Item = &Mount> {
        self.at.get(point.as_os_str()).into_iter().flatten().map(|index| &self.mounts[*index])
    }

    fn repeated(&self) -> impl Iterator<Item = &Mount> {
        self.repeated.iter().map(|index| &self.mounts[*index])
    }

    /// Returns the other paths at which a mount shows the file or directory at `path`, or something in it, except those below
    /// `path`. It compares paths in file systems: whether the same file is there, the caller has to look.
    pub fn second_paths(&self, path: &Path) -> Vec<SecondPath> {
        if self.repeated.is_empty() {
            return Vec::new();
        }
        let Some(holder) = self.holder(path) else { return Vec::new() };
        let Some(object) = path_below(path, &holder.point).map(|below| join(&holder.root, below)) else { return Vec::new() };
        let others = self.repeated().filter(|mount| mount.device == holder.device && mount.id != holder.id);
        let shown = others.filter_map(|mount| match (path_below(&object, &mount.root), path_below(&mount.root, &object)) {
            (Some(below), _) => Some((mount, SecondPath { path: join(&mount.point, below), shows: path.to_owned() })),
            (None, Some(below)) => Some((mount, SecondPath { path: mount.point.clone(), shows: join(path, below) })),
            (None, None) => None,
        });
        let seen = shown.filter(|(mount, second)| self.is_seen(mount, &second.path) && path_below(&second.path, path).is_none());
        seen.map(|(_, second)| second).collect()
    }

    /// Returns the mount points below a path at which something is seen that other mounts may show too.
    pub fn points_below(&self, path: &Path) -> impl Iterator<Item = &Path> {
        let below = self.repeated().filter(move |mount| mount.point != path && path_below(&mount.point, path).is_some());
        below.filter(|mount| self.is_seen(mount, &mount.point)).map(|mount| mount.point.as_path())
    }

    /// Returns whether a path shows something of this mount, and not of another one on top of it.
    fn is_seen(&self, mount: &Mount, path: &Path) -> bool {
        self.holder(path).is_some_and(|holder| holder.id == mount.id)
    }
}

fn parse_mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse::<u64>().ok();
    let (id, parent) = (number(fields.next()?)?, number(fields.next()?)?);
    let mut device = fields.next()?.split(|byte| *byte == b':');
    let device = (number(device.next()?)?, number(device.next()?)?);
    let mut path = || fields.next().map(unescape).map(PathBuf::from);
    Some(Mount { id, parent, device, root: path()?, point: path()? })
}

/// Returns what follows `directory` in a path that is `directory` or lies in it. The paths are compared as bytes, which takes a small
/// part of the time that comparing them by components takes: a run compares thousands.
fn path_below<'p>(path: &'p Path, directory: &Path) -> Option<&'p Path> {
    let after = path.as_os_str().as_bytes().strip_prefix(directory.as_os_str().as_bytes())?;
    let below = match after.strip_prefix(b"/") {
        Some(below) => below,
        None if after.is_empty() || directory == Path::new("/") => after,
        None => return None,
    };
    Some(Path::new(OsStr::from_bytes(below)))
}

/// Returns a path in a directory, or the directory itself for the empty path.
fn join(directory: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { directory.to_owned() } else { directory.join(below) }
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
mod tests;
