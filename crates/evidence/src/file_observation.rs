//! Observing a file of the project for a check about that file: whether it exists and, if asked for, what it contains.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use sha2::{Digest as _, Sha256};

use crate::artifact::{ArtifactRefusal, Opening, open_regular_below};
use proctor_model::{Digest, FileState, FoundFile, ReportFileHistory, Timestamp};

/// How many bytes are read between two calls of `interrupted`.
const CHUNK: usize = 256 * 1024;

/// How much of a file `observe_file` reads.
#[derive(Clone, Copy)]
pub enum ContentRequest<'a> {
    /// Reads no content, because the check only needs existence and size.
    MetadataOnly,
    /// Reads the whole file and computes its digest. The content is returned too if it has at most `keep` bytes.
    Whole {
        /// The content of a file with more bytes than this is not returned.
        keep: u64,
        /// A function that is called before each chunk is read. If it returns a state, reading ends with that state.
        interrupted: &'a dyn Fn() -> Option<FileState>,
    },
}

/// Observes the file at `relative` below `base`. It must be a regular file, reached without symbolic links (E12): the caller has
/// followed the links that may be followed. The file may have several hard links, because package managers such as uv install
/// files in that way.
pub fn observe_file(base: &Path, relative: &Path, request: ContentRequest<'_>) -> FileState {
    let opening = match request {
        ContentRequest::MetadataOnly => Opening::Metadata,
        ContentRequest::Whole { .. } => Opening::Content,
    };
    let (mut file, metadata) = match open_regular_below(base, relative, opening) {
        Ok(opened) => opened,
        Err(ArtifactRefusal::NotThere) => return FileState::Missing,
        Err(refused) => return FileState::Refused(refused.to_string()),
    };
    let modified = Timestamp::from_millis(metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000);
    let without_content = FoundFile { bytes: metadata.len(), modified, sha256: None, content: None };
    let ContentRequest::Whole { keep, interrupted } = request else { return FileState::Found(without_content) };
    let (mut hasher, mut content, mut total) = (Sha256::new(), Vec::new(), 0_u64);
    let mut chunk = vec![0; CHUNK];
    loop {
        if let Some(look) = interrupted() {
            return look;
        }
        let count = match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return FileState::Refused(ArtifactRefusal::Unreadable(error.to_string()).to_string()),
        };
        hasher.update(&chunk[..count]);
        total += count as u64;
        if total <= keep {
            content.extend_from_slice(&chunk[..count]);
        } else {
            content = Vec::new();
        }
    }
    FileState::Found(FoundFile {
        // The number of bytes that were read counts. For a file that grows, the metadata may say less.
        bytes: total,
        sha256: Some(Digest::from_hasher(hasher)),
        content: (total <= keep).then_some(content),
        ..without_content
    })
}

// Observes the file of a tool's report while the action runs: how often it is written, and when it was last changed.  inotify(7) counts
// on the file itself, so it sees the writes of every process of the action, also of one in a sandbox. It does not say which process
// wrote. Whatever cannot be observed is unknown and never a reason to refuse a report.

/// The events that complete a write of the file.
const WRITES: AddWatchFlags = AddWatchFlags::IN_CLOSE_WRITE.union(AddWatchFlags::IN_MOVED_TO);

/// An observation that goes on, from before the action's start until its last process has ended.
#[derive(Debug)]
pub struct ReportWatch {
    file: PathBuf,
    name: OsString,
    /// `None` if the kernel has no inotify instance left.
    events: Option<Inotify>,
    /// Whether the file system has the clock of this machine. A server's file system may have another one.
    has_our_clock: bool,
}

impl ReportWatch {
    /// Begins to observe the file at `path`, which does not exist yet. Its directory was just created. `now` is the present time.
    pub fn begin(path: &Path, now: Timestamp) -> Option<Self> {
        let (directory, name) = (path.parent()?, path.file_name()?);
        let events = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok().and_then(|events| {
            // Two equal events in a row become one event, so the opening between two writes is observed too.
            events.add_watch(directory, WRITES | AddWatchFlags::IN_OPEN).ok().map(|_| events)
        });
        let has_our_clock = changed(directory).is_some_and(|created| created <= now);
        Some(Self { file: path.to_owned(), name: name.to_owned(), events, has_our_clock })
    }

    /// Ends the observation. Callers call this after the action's last process has ended. `now` is the present time.
    pub fn finish(self, now: Timestamp) -> ReportFileHistory {
        let changed = changed(&self.file).filter(|changed| self.has_our_clock && *changed <= now);
        ReportFileHistory { writes: self.count(), changed }
    }

    fn count(&self) -> Option<u32> {
        let mut writes = 0;
        loop {
            match self.events.as_ref()?.read_events() {
                Ok(events) if events.iter().any(|event| event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW)) => return None,
                Ok(events) => {
                    let is_write = |mask: AddWatchFlags| mask.intersects(WRITES);
                    let of_report = events.iter().filter(|event| event.name.as_ref() == Some(&self.name));
                    writes += u32::try_from(of_report.filter(|event| is_write(event.mask)).count()).ok()?;
                }
                // If no event came, although the file was written, its file system reports no events.
                Err(Errno::EAGAIN) => return Some(writes).filter(|writes| *writes > 0),
                Err(_) => return None,
            }
        }
    }
}

/// Returns when a file was last changed in any way. Unlike the time of its last modification, no program can set this time.
fn changed(path: &Path) -> Option<Timestamp> {
    let metadata = path.symlink_metadata().ok()?;
    let millis = metadata.ctime().checked_mul(1000)?.checked_add(metadata.ctime_nsec() / 1_000_000)?;
    Some(Timestamp::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::put;

    fn whole(base: &Path, name: &str, keep: u64) -> FileState {
        observe_file(base, Path::new(name), ContentRequest::Whole { keep, interrupted: &|| None })
    }

    fn found(look: FileState) -> FoundFile {
        let FileState::Found(found) = look else { panic!("{look:?}") };
        found
    }

    #[test]
    fn a_file_is_read_as_far_as_it_is_asked_for() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let bytes = vec![b'x'; CHUNK + 7];
        put(&directory.path().join("a/b"), &bytes);
        let without_content = found(observe_file(directory.path(), Path::new("a/b"), ContentRequest::MetadataOnly));
        assert_eq!((without_content.bytes, without_content.sha256, without_content.content), (bytes.len() as u64, None, None));
        assert!(without_content.modified > Timestamp::from_millis(0));
        let kept = found(whole(directory.path(), "a/b", bytes.len() as u64));
        assert_eq!((kept.sha256, kept.content), (Some(Digest::of(&bytes)), Some(bytes.clone())));
        let digested = found(whole(directory.path(), "a/b", bytes.len() as u64 - 1));
        assert_eq!((digested.bytes, digested.sha256, digested.content), (bytes.len() as u64, Some(Digest::of(&bytes)), None));
    }

    #[test]
    fn a_missing_file_is_missing_and_anything_but_a_regular_file_is_refused() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        put(&directory.path().join("file"), b"1");
        symlink("file", directory.path().join("link")).expect("the directory is ours");
        assert_eq!(whole(directory.path(), "none", 9), FileState::Missing);
        for odd in ["link", ".", "../file"] {
            assert!(matches!(whole(directory.path(), odd, 9), FileState::Refused(_)), "{odd}");
        }
        std::fs::hard_link(directory.path().join("file"), directory.path().join("second")).expect("the directory is ours");
        for name in ["file", "second"] {
            assert_eq!(found(whole(directory.path(), name, 9)).content, Some(b"1".to_vec()), "two names make no difference");
            assert_eq!(found(observe_file(directory.path(), Path::new(name), ContentRequest::MetadataOnly)).bytes, 1);
        }
        let stop = || Some(FileState::OutOfTime);
        let request = ContentRequest::Whole { keep: 9, interrupted: &stop };
        assert_eq!(observe_file(directory.path(), Path::new("file"), request), FileState::OutOfTime);
    }
}

#[cfg(test)]
mod report_watch_tests {
    use std::fs::{self, File};
    use std::io::Write as _;

    use super::*;
    use crate::changes::rename;

    const NEVER: Timestamp = Timestamp::from_millis(i64::MAX);

    fn write(path: &Path) {
        File::create(path).unwrap().write_all(b"<testsuites/>").unwrap();
    }

    /// What is done with the report, and how many writes are counted.
    type Change = (&'static str, fn(&Path), Option<u32>);

    #[test]
    fn every_write_of_the_report_is_counted() {
        let changes: [Change; 6] = [
            ("nothing", |_| {}, None),
            ("written", write, Some(1)),
            (
                "read again",
                |path| {
                    write(path);
                    fs::read(path).unwrap();
                },
                Some(1),
            ),
            (
                "written twice",
                |path| {
                    write(path);
                    write(path);
                },
                Some(2),
            ),
            (
                "replaced",
                |path| {
                    write(path);
                    let other = path.with_extension("new");
                    write(&other);
                    rename(&other, path).unwrap();
                },
                Some(2),
            ),
            ("another file", |path| write(&path.with_extension("log")), None),
        ];
        for (name, change, expected) in changes {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("junit.xml");
            let watch = ReportWatch::begin(&path, NEVER).unwrap();
            change(&path);
            let history = watch.finish(NEVER);
            assert_eq!(history.writes, expected, "{name}");
            assert_eq!(history.changed.is_some(), path.exists(), "{name}");
        }
    }

    #[test]
    fn the_time_of_a_file_system_with_another_clock_is_not_known() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("junit.xml");
        let past = Timestamp::from_millis(0);
        for (at_begin, at_end) in [(past, NEVER), (NEVER, past)] {
            let watch = ReportWatch::begin(&path, at_begin).unwrap();
            write(&path);
            assert_eq!(watch.finish(at_end).changed, None);
        }
    }
}
