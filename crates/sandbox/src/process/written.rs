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
/// How many entries of directories are read at once, which takes some milliseconds: whoever reads them has to see the action end too.
const PART: usize = 2_000;

/// The directories that an action writes to, with the limit on what they hold together.
#[derive(Debug)]
pub(super) struct WrittenPlaces {
    most: u64,
    /// Directories that lie on a disk or in the machine's shared memory, opened before the action could write there.
    directories: Vec<OwnedFd>,
    /// File systems in memory of the action's own.
    memory: Vec<OwnedFd>,
    /// What the directories held when they were first summed, in bytes: actions of one run have one `/tmp`.
    before: Option<u64>,
    /// The sum that is being made.
    sum: Option<Sum>,
    next: Monotonic,
    /// What the action was last found to have added, in bytes.
    last: u64,
}

/// A sum of what lies in directories, made in parts.
#[derive(Debug)]
struct Sum {
    bytes: u64,
    unread: Vec<PathBuf>,
    opened: Option<fs::ReadDir>,
}

impl WrittenPlaces {
    pub(super) fn new(most: u64, directories: Vec<OwnedFd>, memory: Vec<OwnedFd>) -> Self {
        let mut places = Self { most, directories, memory, before: None, sum: None, next: monotonic(), last: 0 };
        places.sum_on();
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
        let is_whole = self.sum_on();
        let now = monotonic();
        let least = if is_whole { SUM_EACH } else { 1 };
        self.next = later(now, Duration::from_millis(least.into()).max(now.since(begun) * REST));
        // What was moved while the parts were read may count twice.
        if self.last >= self.most {
            self.last = self.added();
        }
        self.last >= self.most
    }

    /// Returns whether the limit is reached when the action has ended. Directories that were less than half full a moment before are not
    /// read again, so that most ends cost no time.
    pub(super) fn is_full_at_end(&self) -> bool {
        let last = if self.last >= self.most / 2 { self.added() } else { self.in_memory() };
        last >= self.most
    }

    /// Reads the next part. Returns whether it was the last one of a sum.
    fn sum_on(&mut self) -> bool {
        let mut sum = self.sum.take().unwrap_or_else(|| self.begin_sum());
        if !sum.read(PART) {
            self.sum = Some(sum);
            return false;
        }
        let bytes = sum.bytes.saturating_add(self.in_memory());
        self.last = bytes.saturating_sub(*self.before.get_or_insert(bytes));
        true
    }

    fn added(&self) -> u64 {
        let mut sum = self.begin_sum();
        while !sum.read(usize::MAX) {}
        sum.bytes.saturating_add(self.in_memory()).saturating_sub(self.before.unwrap_or(0))
    }

    fn begin_sum(&self) -> Sum {
        let opened = self.directories.iter().map(|directory| format!("/proc/self/fd/{}", directory.as_raw_fd()).into());
        Sum { bytes: 0, unread: opened.collect(), opened: None }
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

impl Sum {
    /// Reads at most `most` more entries. Returns whether all were read. A file with several names counts once. Not counted are what lies
    /// in a directory that the action has closed to everybody, what has no name any more, and what has a longer path than the kernel takes.
    fn read(&mut self, most: usize) -> bool {
        for _ in 0..most {
            let Some(entry) = self.opened.as_mut().and_then(Iterator::next) else {
                let Some(directory) = self.unread.pop() else { return true };
                self.opened = fs::read_dir(directory).ok();
                continue;
            };
            let Some((entry, found)) = entry.ok().and_then(|entry| Some((entry.path(), entry.metadata().ok()?))) else {
                continue;
            };
            let names = if found.is_dir() { 1 } else { found.nlink().max(1) };
            self.bytes = self.bytes.saturating_add(found.blocks().saturating_mul(512) / names);
            if found.is_dir() {
                self.unread.push(entry);
            }
        }
        false
    }
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

    /// Whoever sums sees the action end in between.
    #[test]
    fn many_files_are_summed_in_parts() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let file = |name: &str| fs::write(root.path().join(name), vec![1; 5_000]).expect("a file");
        (0..PART).for_each(|number| file(&number.to_string()));
        let mut places = WrittenPlaces::new(1 << 14, vec![open_directory(root.path()).expect("it is there")], Vec::new());
        assert!(places.sum.is_some() && places.before.is_none(), "there is more to read");
        places.next = monotonic();
        assert!(!places.is_full() && places.sum.is_none() && places.before.is_some_and(|before| before > 1 << 20));
        (0..3).for_each(|number| file(&format!("more {number}")));
        for expected in [false, true] {
            places.next = monotonic();
            assert_eq!(places.is_full(), expected);
        }
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
