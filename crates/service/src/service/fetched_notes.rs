//! Starts git from time to time to fetch what others attested, for the projects that the service watches. Nothing that a save starts waits for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::engine::Moment;
use proctor_app::{Environment, fetch_notes};

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
    pub(super) fn fetch<'a>(&mut self, now: Moment, roots: impl Iterator<Item = &'a PathBuf> + Clone, environment: &Environment) {
        let is_time = self.next.is_some_and(|next| next <= now) || !roots.clone().eq(&self.seen);
        if !is_time || self.is_busy.load(Ordering::Relaxed) {
            return;
        }
        self.seen = roots.cloned().collect();
        self.next = (!self.seen.is_empty()).then(|| now.plus(EVERY));
        if self.seen.is_empty() {
            return;
        }
        self.is_busy.store(true, Ordering::Relaxed);
        let (is_busy, environment, roots) = (Arc::clone(&self.is_busy), environment.clone(), self.seen.clone());
        let fetch = move || {
            for root in &roots {
                let why = fetch_notes(&environment, root).unwrap_or_else(|error| Err(error.sentence()));
                if let Err(why) = why {
                    tracing::warn!("what others attested was not fetched for `{}`: {why}", root.display());
                }
            }
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
