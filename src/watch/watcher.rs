//! The watcher of a project, as others hold it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::ignore::Matcher;
use crate::model::{SyncId, TreePath, WatchHint};
use crate::watch::account::Account;
use crate::watch::error::WatchError;
use crate::watch::inbox::{InboxHandle, Message, open_inbox};
use crate::watch::worker::Worker;

/// How long an answer of the worker is waited for.
const ANSWER: Duration = Duration::from_secs(2);

/// Watches a project until it is dropped. Dropping it gives all watches back and ends its threads.
#[derive(Debug)]
pub struct Watcher {
    inbox: InboxHandle,
    count: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

/// How often the watcher looks at what it is not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// How often what cannot be watched is looked at.
    pub poll: Duration,
    /// How often a look at everything is asked for, whatever the events say; none: never.
    pub sweep: Option<Duration>,
}

/// Speaks to a watcher from any thread. When the watcher is gone, nothing answers: who waits for an answer bounds that.
#[derive(Debug, Clone)]
pub struct WatcherHandle {
    inbox: InboxHandle,
}

impl WatcherHandle {
    /// Asks for [`WatchHint::Synced`] with this number as soon as every save before this call has been hinted at.
    ///
    /// A file with a name that is never part of a tree is made in the root and removed again. Where that cannot be done or heard
    /// of, a full look is asked for before the answer, which is as good. The answer takes at most about two seconds.
    pub fn sync(&self, id: SyncId) {
        self.inbox.push(Message::Sync(id));
    }

    /// Returns what was heard of a path last, and which rule kept or dropped it; nothing if that was too long ago or never.
    pub fn explain(&self, path: &TreePath) -> Option<Account> {
        let (reply, answer) = channel();
        self.inbox.push(Message::Explain(path.clone(), reply));
        answer.recv_timeout(ANSWER).ok()?
    }
}

impl Watcher {
    /// Places the watches of a project and begins to send hints from a thread of its own.
    ///
    /// `root` is absolute and has no link as its last component. The matcher learns the project's rules files here; one that
    /// was made of the settings will do. What is changed after this call has returned is hinted at; `send` must not block.
    ///
    /// # Errors
    ///
    /// When the root cannot be watched. A directory that may not be read is no error, and where a limit of the kernel is reached,
    /// the rest is polled ([`WatchHint::Polling`]).
    pub fn start(
        root: &Path,
        matcher: Matcher,
        pace: &Pace,
        send: impl Fn(WatchHint) + Send + 'static,
    ) -> Result<Self, WatchError> {
        let count = Arc::new(AtomicUsize::new(0));
        let (handle, inbox) = open_inbox();
        let worker = Worker::start(root, matcher, pace, handle.clone(), Arc::clone(&count), Box::new(send))?;
        let thread = Builder::new().name("proctor-watch".to_owned()).spawn(move || worker.work(&inbox));
        let thread = thread.map_err(|source| WatchError::Thread { source })?;
        Ok(Self { inbox: handle, count, thread: Some(thread) })
    }

    /// Returns a handle for other threads.
    pub fn handle(&self) -> WatcherHandle {
        WatcherHandle { inbox: self.inbox.clone() }
    }

    /// Returns how many directories are watched.
    pub fn watches(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Asks for all watches to be placed anew, as after an overflow; an overflow is then hinted at.
    pub fn rearm(&self) {
        self.push(Message::Rearm);
    }

    pub(super) fn push(&self, message: Message) {
        self.inbox.push(message);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.push(Message::Stop);
        if let Some(thread) = self.thread.take() {
            // A worker that panicked has said so on its own; there is nothing left to end.
            let _panicked = thread.join();
        }
    }
}
