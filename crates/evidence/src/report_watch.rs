//! Observes the file of a tool's report while the action runs: how often it is written, and when it was last changed.
//!
//! inotify(7) counts on the file itself, so it sees the writes of every process of the action, also of one in a sandbox. It does not
//! say which process wrote. Whatever cannot be observed is unknown and never a reason to refuse a report.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use proctor_model::{ReportFileHistory, Timestamp};

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
                // A file that is there without any event lies on a file system that tells nothing.
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
