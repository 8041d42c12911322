//! How much an action has written to what is kept for it alone: the layer over its project, its private `/tmp`, its own `/dev/shm`.

use std::fs;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::statvfs::fstatvfs;

use crate::process::clock::{Monotonic, monotonic};

/// How often it is summed, in milliseconds. Where a sum takes long, because there are many files, it is made less often: it takes at most
/// one twentieth of a processor.
const SUM_EACH: u32 = 200;
const REST: u32 = 19;

/// The directories that an action writes to, with the limit on what they hold together.
#[derive(Debug)]
pub(super) struct WrittenPlaces {
    most: u64,
    /// Directories that lie on a disk or in the machine's shared memory, opened before the action could write there.
    directories: Vec<OwnedFd>,
    /// File systems in memory of the action's own.
    memory: Vec<OwnedFd>,
    /// What the directories held before the action began, in bytes: actions of one run have one `/tmp`.
    before: u64,
    next: Monotonic,
    /// What the action was last found to have added, in bytes.
    last: u64,
}

impl WrittenPlaces {
    pub(super) fn new(most: u64, directories: Vec<OwnedFd>, memory: Vec<OwnedFd>) -> Self {
        let mut places = Self { most, directories, memory, before: 0, next: monotonic(), last: 0 };
        places.before = places.sum();
        places.next = later(monotonic(), Duration::from_millis(SUM_EACH.into()));
        places
    }

    /// Returns how many milliseconds are left until the next sum.
    pub(super) fn patience(&self) -> u16 {
        u16::try_from(self.next.since(monotonic()).as_millis() + 1).unwrap_or(u16::MAX)
    }

    /// Returns whether the limit is reached. Sums if it is time.
    pub(super) fn is_full(&mut self) -> bool {
        let begun = monotonic();
        if begun < self.next {
            return false;
        }
        self.last = self.added();
        let now = monotonic();
        self.next = later(now, Duration::from_millis(SUM_EACH.into()).max(now.since(begun) * REST));
        self.last >= self.most
    }

    /// Returns whether the limit is reached when the action has ended. Directories that were less than half full a moment before are not
    /// read again, so that most ends cost no time.
    pub(super) fn is_full_at_end(&self) -> bool {
        let last = if self.last >= self.most / 2 { self.added() } else { self.in_memory() };
        last >= self.most
    }

    fn added(&self) -> u64 {
        self.sum().saturating_sub(self.before)
    }

    fn sum(&self) -> u64 {
        let on_disk = self.directories.iter().map(|directory| bytes_below(&format!("/proc/self/fd/{}", directory.as_raw_fd())));
        on_disk.fold(self.in_memory(), u64::saturating_add)
    }

    fn in_memory(&self) -> u64 {
        let used = |place: &OwnedFd| {
            let found = fstatvfs(place.as_fd()).ok()?;
            Some(found.blocks().saturating_sub(found.blocks_free()).saturating_mul(found.fragment_size()))
        };
        self.memory.iter().filter_map(used).fold(0, u64::saturating_add)
    }
}

fn later(now: Monotonic, by: Duration) -> Monotonic {
    now.plus(by).unwrap_or(now)
}

/// Returns how many bytes of a disk the files below a directory take. A file with several names counts once. Not counted are what lies in a
/// directory that the action has closed to everybody, what has no name any more, and what has a longer path than the kernel takes.
fn bytes_below(directory: &str) -> u64 {
    let (mut sum, mut unread) = (0_u64, vec![PathBuf::from(directory)]);
    while let Some(directory) = unread.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                unread.push(entry.path());
            }
            let names = if found.is_dir() { 1 } else { found.nlink().max(1) };
            sum = sum.saturating_add(found.blocks().saturating_mul(512) / names);
        }
    }
    sum
}

/// Returns the directory `path` of the file system whose directory `top` was opened at `at`; `None` if it is not there.
pub(super) fn open_below(top: &OwnedFd, at: &Path, path: &Path) -> Option<OwnedFd> {
    let below = path.strip_prefix(at).ok()?;
    let opened = Path::new("/proc/self/fd").join(top.as_raw_fd().to_string()).join(below);
    crate::process::snapshot_mount::open_directory(&opened).ok()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests play an action that writes")]
mod tests {
    use super::*;
    use crate::process::snapshot_mount::open_directory;

    #[test]
    fn what_is_written_is_summed_below_all_places_with_each_file_once() {
        let root = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(root.path().join("a/b")).expect("directories");
        let mut places = WrittenPlaces::new(3 << 20, vec![open_directory(root.path()).expect("it is there")], Vec::new());
        assert!(!places.is_full() && places.last == 0 && places.patience() > 0, "it is not time yet");
        fs::write(root.path().join("a/b/file"), vec![1; 2 << 20]).expect("a file");
        fs::hard_link(root.path().join("a/b/file"), root.path().join("second")).expect("a second name");
        let first = places.added();
        assert!((2 << 20..3 << 20).contains(&first), "{first}");
        places.next = monotonic();
        assert!(!places.is_full() && places.last == first && !places.is_full_at_end());
        fs::write(root.path().join("third"), vec![1; 1 << 20]).expect("a file");
        assert!(places.is_full_at_end(), "it was more than half full");
        places.next = monotonic();
        assert!(places.is_full());
    }

    #[test]
    fn a_directory_is_opened_below_another_that_a_mount_may_cover() {
        let root = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(root.path().join("layer")).expect("a directory");
        let top = open_directory(root.path()).expect("it is there");
        assert!(open_below(&top, Path::new("/store"), Path::new("/store/layer")).is_some());
        assert!(open_below(&top, Path::new("/store"), Path::new("/store/none")).is_none());
        assert!(open_below(&top, Path::new("/store"), Path::new("/elsewhere/layer")).is_none());
    }
}
