//! The queue of a watcher's worker, and the thread that works only while something is in it.
//!
//! Adding to the queue never blocks, and the number of queued events is limited. A project that waits has no thread of
//! its own: the message that ends the waiting starts one, and it ends soon after the last message.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use crate::watch::interpret::{PathEvent, RawHint};
use crate::watch::ticker::TickerTicket;
use crate::watch::worker::Worker;
use proctor_model::{Post, SyncId, TreePath};

/// The most events that wait for the worker. An event that comes while so many are waiting is dropped, and the loss is
/// reported as an overflow. The kernel's own queue, which comes before this one, holds another 16,384.
const MAX_QUEUED: usize = 65_536;

/// A message to the worker, which handles messages one at a time, in the order in which they were sent.
#[derive(Debug)]
pub(super) enum Message {
    /// An event of the kernel, or that events were lost.
    Event(RawHint),
    /// Place all watches again.
    Rearm,
    /// Look for approvals in this ledger, in the lines that begin at this length or later.
    Ledger(PathBuf, u64),
    /// Report as soon as hints have been sent for every change before this message.
    Sync(SyncId),
    /// Poll the directories that cannot be watched.
    Poll(TickerTicket),
    /// Ask for a scan of the whole tree.
    Sweep(TickerTicket),
    /// Reply with the last event of a path.
    Explain(TreePath, Sender<Option<PathEvent>>),
    Stop,
}

/// The queue of messages to a worker. Clones share it: the hub, the watcher's handles and the worker have one each.
#[derive(Debug, Clone)]
pub(super) struct InboxHandle(Arc<Inbox>);

#[derive(Debug)]
struct Inbox {
    queue: Mutex<Queue>,
    /// Wakes the worker's thread, and whoever waits for its end.
    changed: Condvar,
}

#[derive(Debug)]
struct Queue {
    messages: VecDeque<Message>,
    has_lost: bool,
    post: Post<Worker>,
}

/// What [`InboxHandle::receive`] returns after it has waited for a message.
#[derive(Debug)]
pub(super) enum Received {
    Message(Message),
    /// Events were dropped because too many were waiting. This is returned once, before the next message.
    Lost,
    /// The time limit passed.
    Nothing,
}

impl InboxHandle {
    /// Opens a queue without a worker. Messages wait until [`Self::employ`] is called.
    pub(super) fn open() -> Self {
        let queue = Queue { messages: VecDeque::new(), has_lost: false, post: Post::Vacant };
        Self(Arc::new(Inbox { queue: Mutex::new(queue), changed: Condvar::new() }))
    }

    /// Lets a worker handle the messages from now on.
    pub(super) fn start_worker(&self, worker: Worker) {
        let mut queue = self.lock();
        queue.post = Post::Resting(Box::new(worker));
        self.wake_worker(&mut queue);
    }

    /// Adds an event, unless too many events wait already. The hub's thread calls this.
    pub(super) fn push_event(&self, event: RawHint) {
        let mut queue = self.lock();
        if queue.messages.len() >= MAX_QUEUED {
            queue.has_lost = true;
        } else {
            self.add(&mut queue, Message::Event(event));
        }
    }

    /// Adds a message that is not an event.
    pub(super) fn push(&self, message: Message) {
        self.add(&mut self.lock(), message);
    }

    /// Tries again to start a thread for messages that wait because the system refused one. Returns whether they still wait.
    pub(super) fn retry(&self) -> bool {
        let mut queue = self.lock();
        let waits = |queue: &Queue| matches!(queue.post, Post::Resting(_)) && (!queue.messages.is_empty() || queue.has_lost);
        if waits(&queue) {
            self.wake_worker(&mut queue);
        }
        waits(&queue)
    }

    fn add(&self, queue: &mut Queue, message: Message) {
        if matches!(queue.post, Post::Ended) {
            return;
        }
        queue.messages.push_back(message);
        self.wake_worker(queue);
    }

    /// Wakes the worker's thread, or starts one if there is something to do. If the system refuses a thread, the next
    /// message and the hub try again; nothing that is queued is lost.
    fn wake_worker(&self, queue: &mut Queue) {
        let is_idle = queue.messages.is_empty() && !queue.has_lost;
        queue.post = match std::mem::replace(&mut queue.post, Post::Vacant) {
            Post::Resting(worker) if !is_idle => {
                let inbox = self.clone();
                match Builder::new().name("proctor-project".to_owned()).spawn(move || inbox.work()) {
                    Ok(_) => Post::Starting(worker),
                    Err(_refused) => Post::Resting(worker),
                }
            }
            other @ (Post::Vacant | Post::Resting(_) | Post::Starting(_) | Post::Working | Post::Ended) => other,
        };
        self.0.changed.notify_all();
    }

    fn work(self) {
        let mut queue = self.lock();
        let worker = match std::mem::replace(&mut queue.post, Post::Working) {
            Post::Starting(worker) => worker,
            other @ (Post::Vacant | Post::Resting(_) | Post::Working | Post::Ended) => {
                queue.post = other;
                return;
            }
        };
        drop(queue);
        let post = WorkingPost { inbox: &self };
        if let Some(worker) = worker.work(&self) {
            post.keep_worker(worker);
        }
    }

    /// Ends the worker: at once if it rests, else after the message that it handles now. Waits for its end.
    pub(super) fn end(&self) {
        let mut queue = self.lock();
        match std::mem::replace(&mut queue.post, Post::Ended) {
            Post::Resting(worker) | Post::Starting(worker) => {
                queue.messages.clear();
                drop(queue);
                drop(worker);
            }
            Post::Working => {
                queue.post = Post::Working;
                queue.messages.push_front(Message::Stop);
                self.0.changed.notify_all();
                let is_working = |queue: &mut Queue| !matches!(queue.post, Post::Ended);
                let _ended = self.0.changed.wait_while(queue, is_working).unwrap_or_else(PoisonError::into_inner);
            }
            Post::Vacant | Post::Ended => {}
        }
    }

    /// Waits at most `timeout` for the next message.
    pub(super) fn receive(&self, timeout: Duration) -> Received {
        let is_empty = |queue: &mut Queue| queue.messages.is_empty() && !queue.has_lost;
        let waited = self.0.changed.wait_timeout_while(self.lock(), timeout, is_empty);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        if std::mem::take(&mut queue.has_lost) {
            return Received::Lost;
        }
        queue.messages.pop_front().map_or(Received::Nothing, Received::Message)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by the worker's thread while it works. Dropping it notes the end of the worker, also of one that panicked, so that
/// nobody waits for it for ever.
struct WorkingPost<'a> {
    inbox: &'a InboxHandle,
}

impl WorkingPost<'_> {
    /// Ends the thread and keeps the worker for the next one.
    fn keep_worker(self, worker: Box<Worker>) {
        let mut queue = self.inbox.lock();
        queue.post = Post::Resting(worker);
        // A message may have come after the worker had looked for one.
        self.inbox.wake_worker(&mut queue);
        // Dropping the guard would end the worker that the next thread takes.
        std::mem::forget(self);
    }
}

impl Drop for WorkingPost<'_> {
    fn drop(&mut self) {
        let mut queue = self.inbox.lock();
        queue.post = Post::Ended;
        queue.messages.clear();
        self.inbox.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn too_much_is_an_overflow() {
        let inbox = InboxHandle::open();
        let event = || RawHint::Saved(PathBuf::from("/a"));
        assert!(matches!(inbox.receive(Duration::ZERO), Received::Nothing));
        for _ in 0..=MAX_QUEUED {
            inbox.push_event(event());
        }
        assert!(matches!(inbox.receive(Duration::ZERO), Received::Lost));
        let kept = std::iter::repeat_with(|| inbox.receive(Duration::ZERO)).take_while(|got| matches!(got, Received::Message(_)));
        assert_eq!(kept.count(), MAX_QUEUED);
        inbox.push_event(event());
        assert!(matches!(inbox.receive(Duration::ZERO), Received::Message(_)));
        inbox.end();
    }
}
