//! Cookie files: a file is created only so that its event arrives. The kernel keeps events in order, so all earlier events have arrived by
//! then.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::libc;

use crate::model::SyncId;

/// The first part of the file's name. The table of paths that never belong to the tree has the same prefix.
pub(super) const COOKIE_PREFIX: &str = ".proctor-cookie-";

/// Makes the names unique in this process: several watchers may watch the same root.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Why a cookie file was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CookiePurpose {
    /// To find out whether events arrive at all.
    Probe,
    /// To answer this request.
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

    /// Called for the event of a cookie file: returns its purpose and forgets it.
    pub(super) fn heard(&mut self, name: &[u8]) -> Option<CookiePurpose> {
        let place = self.waiting.iter().position(|(made, _)| made.as_bytes() == name)?;
        Some(self.waiting.swap_remove(place).1)
    }

    /// Forgets all cookies and returns their purposes.
    pub(super) fn forget_all(&mut self) -> Vec<CookiePurpose> {
        self.waiting.drain(..).map(|(_, purpose)| purpose).collect()
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// Removes cookie files of a process that was killed before it could remove them. It may also remove a file that another watcher
/// has just made. That does no harm, because the event of its creation is queued already.
pub(super) fn sweep_up(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_bytes().starts_with(COOKIE_PREFIX.as_bytes()) {
            // Another watcher may have removed the file first.
            let _gone = fs::remove_file(entry.path());
        }
    }
}
