//! A file that is made only to be heard of: events keep their order, so whoever hears of it has heard of all that was before.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::libc;

use crate::model::SyncId;

/// What the name of every such file begins with; the table of what is always out has it too.
pub(super) const COOKIE_PREFIX: &str = ".proctor-cookie-";

/// Counts the files of this process: several watchers may watch the same root.
static MADE: AtomicU64 = AtomicU64::new(0);

/// What a file was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To see whether anything is heard of here at all.
    Probe,
    /// To answer this request.
    Sync(SyncId),
}

/// The files that were made and not heard of yet.
#[derive(Debug, Default)]
pub(super) struct Cookies {
    waiting: Vec<(String, Purpose)>,
}

impl Cookies {
    /// Makes a file in the root and removes it at once.
    pub(super) fn bake(&mut self, root: &Path, purpose: Purpose) -> io::Result<()> {
        let name = format!("{COOKIE_PREFIX}{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = root.join(&name);
        let file =
            OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(&path)?;
        drop(file);
        self.waiting.push((name, purpose));
        fs::remove_file(&path)
    }

    /// Returns what a file was made for that is heard of now, and forgets it.
    pub(super) fn heard(&mut self, name: &[u8]) -> Option<Purpose> {
        let place = self.waiting.iter().position(|(made, _)| made.as_bytes() == name)?;
        Some(self.waiting.swap_remove(place).1)
    }

    /// Gives up waiting.
    pub(super) fn forget_all(&mut self) -> Vec<Purpose> {
        self.waiting.drain(..).map(|(_, purpose)| purpose).collect()
    }

    /// Returns whether one is waited for.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// Removes what a process left that was killed between making a file and removing it. One that another watcher is just making may
/// go with it; that it was made has been heard of by then.
pub(super) fn sweep_up(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_bytes().starts_with(COOKIE_PREFIX.as_bytes()) {
            // Whoever else removes it is as welcome.
            let _gone = fs::remove_file(entry.path());
        }
    }
}
