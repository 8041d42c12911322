//! Polls the directories that cannot be watched. A poll gives the same hints as events would give, only later.

use std::mem::{Discriminant, discriminant};
use std::path::PathBuf;
use std::time::Duration;

use crate::watch::interpret::RawHint;
use crate::watch::places::{EventSource, WatchPlacement};
use crate::watch::stamps::{NameChange, Snapshot, compare, read_snapshot};
use crate::watch::ticker::TickKind;
use crate::watch::worker::Worker;
use proctor_model::{PollReason, TreePath, WatchHint};

/// The next round of polling is delayed by this time for each polled entry. That keeps polling below a twentieth of one
/// processor's time.
const PATIENCE_PER_ENTRY: Duration = Duration::from_micros(40);

#[derive(Debug, Default)]
pub(super) struct Polling {
    /// Whether the hub sends ticks for polling.
    is_ticking: bool,
    /// How many ticks still have to pass without a round of polling.
    to_skip: u32,
    /// The kinds of reasons for polling that have been reported.
    kinds: Vec<Discriminant<PollReason>>,
}

impl Worker {
    /// Reports that directories are polled, once for each kind of reason.
    pub(super) fn tell_polling(&mut self, reason: PollReason) {
        let kind = discriminant(&reason);
        if !self.polling.kinds.contains(&kind) {
            self.polling.kinds.push(kind);
            self.send_hint(WatchHint::Polling(reason));
        }
    }

    /// Begins to poll a directory, starting from its present content.
    pub(super) fn start_polling(&mut self, directory: &TreePath) {
        let seen = self.snapshot(directory).unwrap_or_default();
        self.places.poll(directory, seen);
    }

    /// Starts the ticks for polling if any directory is polled, and stops them otherwise.
    pub(super) fn poll_from_here(&mut self) {
        let is_due = !self.places.polled.is_empty();
        if is_due && !self.polling.is_ticking {
            self.places.hub().start_ticks(self.pace.poll, TickKind::Poll);
        } else if !is_due && self.polling.is_ticking {
            self.places.hub().stop_ticks(TickKind::Poll);
        }
        self.polling.is_ticking = is_due;
    }

    /// Polls once, or skips this round because the last round had many entries.
    pub(super) fn poll_or_skip(&mut self) {
        if self.polling.to_skip > 0 {
            self.polling.to_skip -= 1;
            return;
        }
        self.poll_round();
        let entries = self.places.polled.values().map(|(_, seen)| seen.len() + 1).sum();
        self.polling.to_skip = rounds_to_skip(entries, self.pace.poll);
    }

    /// Compares each polled directory with its last known content and sends hints for the differences.
    pub(super) fn poll_round(&mut self) {
        if !self.places.is_root_in_place() {
            return self.check_root();
        }
        self.watch_what_can_be();
        for directory in self.places.polled.keys().cloned().collect::<Vec<_>>() {
            if let Ok(directory) = TreePath::try_from(directory.as_slice()) {
                self.poll_directory(&directory);
            }
        }
        self.poll_from_here();
    }

    fn poll_directory(&mut self, directory: &TreePath) {
        // If the directory is gone, polling its parent directory reports the removal.
        let Some(after) = self.snapshot(directory) else { return };
        let Some((_, before)) = self.places.polled.get_mut(directory.as_bytes()) else { return };
        let changes = compare(before, &after);
        *before = after;
        for (name, change) in changes {
            let path = self.root.join(directory.join(&name).as_path());
            self.follow(to_hint(path, change));
        }
    }

    /// Places watches on directories that were polled only because of a kernel limit, as soon as the limit allows it.
    fn watch_what_can_be(&mut self) {
        if self.has_no_events() {
            return;
        }
        for directory in self.places.polled.keys().cloned().collect::<Vec<_>>() {
            let Ok(directory) = TreePath::try_from(directory.as_slice()) else { continue };
            if self.places.has_watch(&directory) {
                continue;
            }
            match self.places.place(&directory) {
                Ok(WatchPlacement::New | WatchPlacement::Already) => {
                    self.poll_directory(&directory);
                    if self.places.event_source(&directory) == EventSource::Events {
                        self.places.polled.remove(directory.as_bytes());
                    }
                }
                Ok(WatchPlacement::NotThere) => {}
                Ok(WatchPlacement::LimitReached) | Err(_) => return,
            }
        }
    }

    fn snapshot(&self, directory: &TreePath) -> Option<Snapshot> {
        let scope = self.matcher.scope(directory)?;
        let path = self.root.join(directory.as_path());
        read_snapshot(&path, |name, is_directory| {
            let membership = self.matcher.membership(&scope, &directory.join(name), is_directory);
            membership.belongs() || (is_directory && membership.is_walked())
        })
    }
}

/// Returns the raw hint that an event for this change would have given.
fn to_hint(path: PathBuf, change: NameChange) -> RawHint {
    match change {
        // A writer may still have the new file open, which polling cannot tell, so the file is not reported as saved.
        NameChange::Came => RawHint::Appeared(path),
        NameChange::Changed => RawHint::Saved(path),
        NameChange::Went => RawHint::Vanished(path),
    }
}

/// Returns how many rounds to skip after a round over this number of entries.
fn rounds_to_skip(entries: usize, every: Duration) -> u32 {
    let patience = PATIENCE_PER_ENTRY.saturating_mul(u32::try_from(entries).unwrap_or(u32::MAX));
    u32::try_from(patience.as_nanos() / every.as_nanos().max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_trees_are_looked_at_more_rarely() {
        let every = Duration::from_millis(500);
        assert_eq!(rounds_to_skip(1_000, every), 0);
        assert_eq!(rounds_to_skip(100_000, every), 8);
    }
}
