//! The watcher of a project: the public interface of this module.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::ignore::Matcher;
use crate::watch::approvals::length_of;
use crate::watch::hub::WatchHub;
use crate::watch::inbox::{InboxHandle, Message};
use crate::watch::interpret::PathEvent;
use crate::watch::places::WatchError;
use crate::watch::worker::Worker;
use proctor_model::{SyncId, TreePath, WatchHint};

/// The time limit for waiting for an answer from the worker.
const ANSWER: Duration = Duration::from_secs(2);

/// Watches a project. Dropping it removes all its watches. It shares the thread and the descriptors of its hub, and has a
/// thread of its own only while it has something to do.
#[derive(Debug)]
pub struct Watcher {
    inbox: InboxHandle,
    count: Arc<AtomicUsize>,
    hub: WatchHub,
}

/// How often the watcher polls and asks for scans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// The interval for polling directories that cannot be watched.
    pub poll: Duration,
    /// The interval for asking for a scan of the whole tree; `None` for no scans.
    pub sweep: Option<Duration>,
}

/// Sends requests to a watcher from any thread. If the watcher has been dropped, no answer comes, so callers must limit
/// their waiting.
#[derive(Debug, Clone)]
pub struct WatcherHandle {
    inbox: InboxHandle,
}

impl WatcherHandle {
    /// Asks the watcher to send [`WatchHint::Synced`] with this number, after the hints for all saves that happened
    /// before this call.
    ///
    /// For this, the watcher makes a file in the root that never belongs to the tree, and removes it again. If the file
    /// cannot be made or its event does not arrive, the watcher asks for a scan of the whole tree before it answers;
    /// the scan finds the same changes. The answer takes at most about two seconds.
    pub fn sync(&self, id: SyncId) {
        self.inbox.push(Message::Sync(id));
    }

    /// Returns the last event of a path and the ignore rule that decided about the path; `None` if there was no event,
    /// if it has been forgotten, or if the watcher does not answer in time.
    pub fn explain(&self, path: &TreePath) -> Option<PathEvent> {
        let (reply, answer) = channel();
        self.inbox.push(Message::Explain(path.clone(), reply));
        answer.recv_timeout(ANSWER).ok()?
    }
}

impl Watcher {
    /// Watches a project by a hub of its own. See [`Self::start_in`].
    ///
    /// # Errors
    ///
    /// As for [`Self::start_in`], and when the hub cannot be started.
    pub fn start(
        root: &Path,
        matcher: Matcher,
        pace: &Pace,
        send: impl Fn(WatchHint) + Send + 'static,
    ) -> Result<Self, WatchError> {
        Self::start_in(&WatchHub::start()?, root, matcher, pace, send)
    }

    /// Places the watches of a project in a hub, which many projects may share, and sends hints from now on.
    ///
    /// `root` must be absolute, and its last component must not be a link. The matcher needs only the settings; the project's
    /// rules files are read here. Every change after this call has returned gives a hint. `send` must not block.
    ///
    /// # Errors
    ///
    /// When the root cannot be watched. A directory below the root that may not be read is not an error. After a limit
    /// of the kernel is reached, the remaining directories are polled ([`WatchHint::Polling`]).
    pub fn start_in(
        hub: &WatchHub,
        root: &Path,
        matcher: Matcher,
        pace: &Pace,
        send: impl Fn(WatchHint) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let count = Arc::new(AtomicUsize::new(0));
        let inbox = InboxHandle::open();
        let member = hub.join(inbox.clone())?;
        let worker = Worker::start(root, matcher, pace, member, Arc::clone(&count), Box::new(send))?;
        inbox.start_worker(worker);
        Ok(Self { inbox, count, hub: hub.clone() })
    }

    /// Starts another watcher in the hub of this one, for example one with other rules that is to replace this one.
    ///
    /// # Errors
    ///
    /// As for [`Self::start_in`].
    pub fn start_beside(
        &self,
        root: &Path,
        matcher: Matcher,
        pace: &Pace,
        send: impl Fn(WatchHint) + Send + 'static,
    ) -> Result<Self, WatchError> {
        Self::start_in(&self.hub, root, matcher, pace, send)
    }

    /// Returns a handle that can be used from other threads.
    pub fn handle(&self) -> WatcherHandle {
        WatcherHandle { inbox: self.inbox.clone() }
    }

    /// Returns the number of watched directories. Polled directories are not counted.
    pub fn watches(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Also watches a project's ledger, and sends [`WatchHint::Approved`] after every line with a person's approval that is
    /// written after this call.
    pub fn follow_ledger(&self, ledger: &Path) {
        self.push(Message::Ledger(ledger.to_owned(), length_of(ledger)));
    }

    /// Places all watches again as after an overflow, and sends the hint of an overflow.
    pub fn rearm(&self) {
        self.push(Message::Rearm);
    }

    pub(super) fn push(&self, message: Message) {
        self.inbox.push(message);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.inbox.end();
    }
}
