//! Has what others attested fetched from time to time, for the projects whose settings name a remote repository (`[share]`). Nothing that a
//! save starts waits for it. The command that fetches makes sure that a person approved the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::engine::Moment;

/// The time between two fetches.
const EVERY: Duration = Duration::from_secs(600);

/// When notes are fetched next.
#[derive(Debug, Default)]
pub(super) struct FetchedNotes {
    /// `None` as long as no project is watched.
    next: Option<Moment>,
    /// The projects at the last fetch. It does not wait for its time where another one is watched now.
    seen: Vec<PathBuf>,
    /// Whether the last fetch is still under way.
    is_busy: Arc<AtomicBool>,
}

impl FetchedNotes {
    /// Fetches for the projects with these roots, if it is time for that.
    pub(super) fn fetch<'a>(&mut self, now: Moment, roots: impl Iterator<Item = &'a PathBuf> + Clone, executable: &Path) {
        let is_time = self.next.is_some_and(|next| next <= now) || !roots.clone().eq(&self.seen);
        if !is_time {
            return;
        }
        self.seen = roots.cloned().collect();
        self.next = (!self.seen.is_empty()).then(|| now.plus(EVERY));
        if self.seen.is_empty() || self.is_busy.swap(true, Ordering::Relaxed) {
            return;
        }
        let (is_busy, executable, roots) = (Arc::clone(&self.is_busy), executable.to_owned(), self.seen.clone());
        let fetch = move || {
            roots.iter().filter(|root| shares(root)).for_each(|root| fetch_for(&executable, root));
            is_busy.store(false, Ordering::Relaxed);
        };
        if thread::Builder::new().name("notes".to_owned()).spawn(fetch).is_err() {
            self.is_busy.store(false, Ordering::Relaxed);
        }
    }

    /// Returns when to fetch next; `None` if no project is watched.
    pub(super) fn next_moment(&self) -> Option<Moment> {
        self.next
    }
}

/// Returns whether a project's settings may name a remote repository. What they say is read by the command that fetches.
fn shares(root: &Path) -> bool {
    fs::read_to_string(root.join("proctor.toml")).is_ok_and(|text| text.contains("share"))
}

fn fetch_for(executable: &Path, root: &Path) {
    let mut command = Command::new(executable);
    command.args(["attest", "--fetch", "--project"]).arg(root).current_dir("/");
    // Nobody is there to answer, so git and ssh ask nobody.
    command.env("GIT_TERMINAL_PROMPT", "0").env("SSH_ASKPASS_REQUIRE", "never");
    let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match ended {
        Ok(status) if status.success() => {}
        Ok(status) => tracing::warn!("what others attested was not fetched for `{}`: {status}", root.display()),
        Err(error) => tracing::warn!("what others attested was not fetched for `{}`: {error}", root.display()),
    }
}
