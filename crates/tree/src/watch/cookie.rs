//! Cookie files. A cookie file is created only so that the kernel reports an event for it. The kernel keeps events in
//! order, so when the cookie's event arrives, all earlier events have arrived too.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::libc;

use proctor_model::SyncId;

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
    pub(super) fn heard(&mut self, name: &[u8]) -> Option<CookiePurpose> {
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
