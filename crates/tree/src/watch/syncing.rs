//! Answers the question "have all earlier events been handled?" and finds out whether events arrive at all. Both are
//! done with a cookie file in the root: events keep their order, so the cookie's event comes after all earlier ones.
//!
//! Cookie files. A cookie file is created only so that the kernel reports an event for it. The kernel keeps events in
//! order, so when the cookie's event arrives, all earlier events have arrived too.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::libc;

use crate::watch::places::EventSource;
use crate::watch::placing::Report;
use crate::watch::worker::Worker;
use proctor_model::{PollReason, SyncId, TreePath, WatchHint, WatchProblem};

/// How long the worker waits without any event while a cookie file's event is missing. After that, the watcher assumes
/// that no events arrive for this project, and polls all directories.
pub(super) const EAR_TEST: Duration = Duration::from_secs(2);

/// The cookie files, and whether their events arrive.
#[derive(Debug, Default)]
pub(super) struct Syncing {
    cookies: Cookies,
    hearing: CookieTrust,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CookieTrust {
    #[default]
    Good,
    /// The event of a cookie file did not arrive.
    Deaf,
}

impl Worker {
    /// Returns whether events are known not to arrive.
    pub(super) fn has_no_events(&self) -> bool {
        self.syncing.hearing == CookieTrust::Deaf
    }

    pub(super) fn awaits_cookie(&self) -> bool {
        self.syncing.cookies.is_waiting()
    }

    /// Makes a cookie file to find out whether events arrive. If the file cannot be made, the answer depends only on
    /// the type of the file system.
    pub(super) fn probe(&mut self) {
        if self.places.has_watch(&TreePath::root()) && !self.has_no_events() {
            let _read_only = self.syncing.cookies.create(&self.root, CookiePurpose::Probe);
        }
    }

    /// Sends [`WatchHint::Synced`] for a request as soon as hints have been sent for all earlier changes.
    pub(super) fn sync(&mut self, id: SyncId) {
        // Polled directories are polled now. For watched directories, the event of a cookie file comes after all
        // earlier events.
        if !self.places.polled.is_empty() {
            self.poll_round();
        }
        let root = TreePath::root();
        if !self.places.has_watch(&root) || self.has_no_events() {
            return self.send_hint(WatchHint::Synced(id));
        }
        if self.places.event_source(&root) == EventSource::Events
            && self.syncing.cookies.create(&self.root, CookiePurpose::Sync(id)).is_ok()
        {
            return;
        }
        // Either no cookie file can be made in the root, or the file system may report changes by other machines later
        // than the cookie's event. A scan of the whole tree finds all earlier changes, so the request can be answered
        // after asking for one.
        self.send_hint(WatchHint::LookAgain(WatchProblem::Unsynced));
        self.send_hint(WatchHint::Synced(id));
    }

    /// Handles the event of a cookie file. Returns whether the path is that of a cookie file.
    pub(super) fn note_cookie(&mut self, path: &Path) -> bool {
        let Ok(path) = TreePath::below(&self.root, path) else { return false };
        if !path.name().starts_with(COOKIE_PREFIX.as_bytes()) {
            return false;
        }
        match self.syncing.cookies.take(path.name()) {
            Some(CookiePurpose::Sync(id)) => self.send_hint(WatchHint::Synced(id)),
            Some(CookiePurpose::Probe) | None => {}
        }
        if self.has_no_events() {
            self.trust_events_again();
        }
        true
    }

    /// Switches to polling everything, because the event of a cookie file did not arrive.
    pub(super) fn distrust_events(&mut self) {
        self.syncing.hearing = CookieTrust::Deaf;
        self.tell_polling(PollReason::Deaf);
        self.place_or_tell(&TreePath::root(), Report::Nothing);
        self.answer_all(WatchProblem::Unsynced);
    }

    /// Switches back to events. The event of a cookie file arrived after all, because the machine was only busy.
    fn trust_events_again(&mut self) {
        self.syncing.hearing = CookieTrust::Good;
        self.places.polled.clear();
        self.place_or_tell(&TreePath::root(), Report::Nothing);
        self.send_hint(WatchHint::LookAgain(WatchProblem::Unsynced));
    }

    /// Asks for a scan of the whole tree, then answers all waiting requests.
    pub(super) fn answer_all(&mut self, problem: WatchProblem) {
        self.send_hint(WatchHint::LookAgain(problem));
        for purpose in self.syncing.cookies.forget_all() {
            match purpose {
                CookiePurpose::Sync(id) => self.send_hint(WatchHint::Synced(id)),
                CookiePurpose::Probe => {}
            }
        }
    }
}

/// The first part of a cookie file's name. The table of paths that never belong to the tree (`crate::ignore`) has the
/// same prefix.
pub(super) const COOKIE_PREFIX: &str = ".proctor-cookie-";

/// Counts the cookie files of this process. The number makes their names unique, because several watchers may watch the
/// same root.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Why a cookie file was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CookiePurpose {
    /// To find out whether events arrive at all.
    Probe,
    /// To answer the sync request with this number.
    Sync(SyncId),
}

/// The cookie files whose events have not arrived yet.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    waiting: Vec<(String, CookiePurpose)>,
}

impl Cookies {
    /// Creates a cookie file in the root and removes it at once.
    pub(super) fn create(&mut self, root: &Path, purpose: CookiePurpose) -> io::Result<()> {
        let name = format!("{COOKIE_PREFIX}{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = root.join(&name);
        let file =
            OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(&path)?;
        drop(file);
        self.waiting.push((name, purpose));
        fs::remove_file(&path)
    }

    /// Takes the cookie file with this name, whose event has arrived, off the list and returns its purpose; `None` if
    /// no cookie file with this name is waiting.
    pub(super) fn take(&mut self, name: &[u8]) -> Option<CookiePurpose> {
        let place = self.waiting.iter().position(|(made, _)| made.as_bytes() == name)?;
        Some(self.waiting.swap_remove(place).1)
    }

    /// Forgets all cookie files whose events have not arrived, and returns their purposes, so that waiting sync
    /// requests can be answered.
    pub(super) fn forget_all(&mut self) -> Vec<CookiePurpose> {
        self.waiting.drain(..).map(|(_, purpose)| purpose).collect()
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// Removes cookie files that a process left behind because it was killed before it could remove them. A file that
/// another watcher has just made may be removed too. That does no harm, because the event of its creation is queued
/// already.
pub(super) fn sweep_up(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_bytes().starts_with(COOKIE_PREFIX.as_bytes()) {
            // Another watcher may have removed the file first.
            let _gone = fs::remove_file(entry.path());
        }
    }
}
