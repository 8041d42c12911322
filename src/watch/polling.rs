//! Looking every so often at what cannot be watched: the same hints come of it as of events, only later.

use std::mem::{Discriminant, discriminant};
use std::path::PathBuf;
use std::time::Duration;

use crate::model::{PollReason, TreePath, WatchHint, WatchProblem};
use crate::watch::inbox::Message;
use crate::watch::interpret::RawHint;
use crate::watch::places::{Ears, Placed};
use crate::watch::stamps::{Change, Snapshot, compare, read_snapshot};
use crate::watch::ticker::Ticker;
use crate::watch::worker::Worker;

/// A round is made so rarely that each entry may take this long without polling costing more than a twentieth of the time.
const PATIENCE_PER_ENTRY: Duration = Duration::from_micros(40);

/// The state of polling.
#[derive(Debug, Default)]
pub(super) struct Polling {
    ticker: Option<Ticker>,
    /// The rounds that are left out before the next one.
    to_skip: u32,
    /// The reasons that were told.
    kinds: Vec<Discriminant<PollReason>>,
}

impl Worker {
    /// Says that something is polled, once for each reason.
    pub(super) fn tell_polling(&mut self, reason: PollReason) {
        let kind = discriminant(&reason);
        if !self.polling.kinds.contains(&kind) {
            self.polling.kinds.push(kind);
            self.tell(WatchHint::Polling(reason));
        }
    }

    /// Polls a directory from what is seen of it now.
    pub(super) fn start_polling(&mut self, directory: &TreePath) {
        let seen = self.snapshot(directory).unwrap_or_default();
        self.places.poll(directory, seen);
    }

    /// Starts ticking if something is polled, and ends it if nothing is.
    pub(super) fn poll_from_here(&mut self) {
        if self.places.polled.is_empty() {
            self.polling.ticker = None;
        } else if self.polling.ticker.is_none() {
            match Ticker::start(self.pace.poll, self.inbox.clone(), Message::Poll) {
                Ok(ticker) => self.polling.ticker = Some(ticker),
                Err(error) => self.tell(WatchHint::LookAgain(WatchProblem::Backend(format!("nothing can be polled: {error}")))),
            }
        }
    }

    /// Makes a round, unless the last one was so large that this one is left out.
    pub(super) fn poll_or_skip(&mut self) {
        if self.polling.to_skip > 0 {
            self.polling.to_skip -= 1;
            return;
        }
        self.poll_round();
        let entries = self.places.polled.values().map(|(_, seen)| seen.len() + 1).sum();
        self.polling.to_skip = rounds_to_skip(entries, self.pace.poll);
    }

    /// Compares every directory that is polled with what was seen last, and hints at what changed.
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
        // One that is gone is hinted at by the round of its parent.
        let Some(after) = self.snapshot(directory) else { return };
        let Some((_, before)) = self.places.polled.get_mut(directory.as_bytes()) else { return };
        let changes = compare(before, &after);
        *before = after;
        for (name, change) in changes {
            let path = self.root.join(directory.join(&name).as_path());
            self.follow(to_hint(path, change));
        }
    }

    /// Watches come free, and limits are raised: what is polled only because of them is watched as soon as that can be had.
    fn watch_what_can_be(&mut self) {
        if self.is_deaf() {
            return;
        }
        for directory in self.places.polled.keys().cloned().collect::<Vec<_>>() {
            let Ok(directory) = TreePath::try_from(directory.as_slice()) else { continue };
            if self.places.has_watch(&directory) {
                continue;
            }
            match self.places.place(&directory) {
                Ok(Placed::New | Placed::Already) => {
                    self.poll_directory(&directory);
                    if self.places.ears(&directory) == Ears::Events {
                        self.places.polled.remove(directory.as_bytes());
                    }
                }
                Ok(Placed::NotThere) => {}
                Ok(Placed::LimitReached) | Err(_) => return,
            }
        }
    }

    fn snapshot(&self, directory: &TreePath) -> Option<Snapshot> {
        let scope = self.matcher.scope(directory)?;
        let path = self.root.join(directory.as_path());
        read_snapshot(&path, |name, is_directory| {
            let standing = self.matcher.standing(&scope, &directory.join(name), is_directory);
            standing.belongs() || (is_directory && standing.is_walked())
        })
    }
}

/// Returns the event that would have told of a change.
fn to_hint(path: PathBuf, change: Change) -> RawHint {
    match change {
        // Whether it is still open is not to be seen.
        Change::Came => RawHint::Appeared(path),
        Change::Changed => RawHint::Saved(path),
        Change::Went => RawHint::Vanished(path),
    }
}

/// Returns how many rounds are left out after one over so many entries.
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
