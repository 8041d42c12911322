//! The watcher of a project, as others hold it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

use crate::ignore::Matcher;
use crate::model::WatchHint;
use crate::watch::error::WatchError;
use crate::watch::inbox::{InboxHandle, Message, open_inbox};
use crate::watch::worker::Worker;

/// Watches a project until it is dropped. Dropping it gives all watches back and ends its threads.
#[derive(Debug)]
pub struct Watcher {
    /// Taken away when the watcher is dropped: the worker ends when nobody can send.
    inbox: Option<InboxHandle>,
    count: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Places the watches of a project and begins to send hints from a thread of its own.
    ///
    /// `root` is absolute and has no link as its last component. The matcher learns the project's rules files here; one that
    /// was made of the settings will do. What is changed after this call has returned is hinted at; `send` must not block.
    ///
    /// # Errors
    ///
    /// When the root cannot be watched, or a limit of the kernel is reached. A directory that may not be read is no error.
    pub fn start(root: &Path, matcher: Matcher, send: impl Fn(WatchHint) + Send + 'static) -> Result<Self, WatchError> {
        let count = Arc::new(AtomicUsize::new(0));
        let (handle, inbox) = open_inbox();
        let worker = Worker::start(root, matcher, handle.clone(), Arc::clone(&count), Box::new(send))?;
        let thread = Builder::new().name("proctor-watch".to_owned()).spawn(move || worker.work(&inbox));
        let thread = thread.map_err(|source| WatchError::Thread { source })?;
        Ok(Self { inbox: Some(handle), count, thread: Some(thread) })
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
        if let Some(inbox) = &self.inbox {
            inbox.push(message);
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.push(Message::Stop);
        self.inbox = None;
        if let Some(thread) = self.thread.take() {
            // A worker that panicked has said so on its own; there is nothing left to end.
            let _panicked = thread.join();
        }
    }
}
