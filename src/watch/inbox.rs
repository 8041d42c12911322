//! The queue between the thread of the backend (`notify`) and the worker. Adding to the queue never blocks, and the
//! number of queued events is limited.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use notify::Event;

use crate::model::{SyncId, TreePath};
use crate::watch::interpret::is_noise;
use crate::watch::path_event::PathEvent;
use crate::watch::ticker::TickerTicket;

/// The most events that wait for the worker. An event that comes while so many are waiting is dropped, and the loss is
/// reported as an overflow. The kernel's own queue, which comes before this one, holds another 16,384.
const MAX_QUEUED: usize = 65_536;

/// A message to the worker, which handles messages one at a time, in the order in which they were sent.
#[derive(Debug)]
pub(super) enum Message {
    /// An event or an error of the backend.
    Event(notify::Result<Event>),
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

/// The sending side of the queue of messages. The backend and the watcher's handle each have one.
#[derive(Debug, Clone)]
pub(super) struct InboxHandle {
    sender: Sender<Message>,
    state: Arc<State>,
}

/// The receiving side of the queue of messages; the worker has it.
#[derive(Debug)]
pub(super) struct Inbox {
    receiver: Receiver<Message>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    queued: AtomicUsize,
    has_lost: AtomicBool,
}

/// What [`Inbox::receive`] returns after it has waited for a message.
#[derive(Debug)]
pub(super) enum Received {
    Message(Message),
    /// Events were dropped because too many were waiting. This is returned once, before the next message.
    Lost,
    /// The time limit passed.
    Nothing,
    /// All senders are gone.
    Closed,
}

/// Creates a queue and returns its two sides: the sending side, which can be cloned, and the receiving side.
pub(super) fn open_inbox() -> (InboxHandle, Inbox) {
    let (sender, receiver) = channel();
    let state = Arc::new(State::default());
    (InboxHandle { sender, state: Arc::clone(&state) }, Inbox { receiver, state })
}

impl InboxHandle {
    /// Adds an event, unless it is only about reading or too many events wait already. The backend's thread calls this.
    pub(super) fn push_event(&self, event: notify::Result<Event>) {
        if event.as_ref().is_ok_and(is_noise) {
            return;
        }
        if self.state.queued.load(Ordering::Relaxed) >= MAX_QUEUED {
            self.state.has_lost.store(true, Ordering::Release);
            return;
        }
        self.push(Message::Event(event));
    }

    /// Adds a message that is not an event.
    pub(super) fn push(&self, message: Message) {
        self.state.queued.fetch_add(1, Ordering::Relaxed);
        // Sending fails only if the worker has ended.
        let _ended = self.sender.send(message);
    }
}

impl Inbox {
    /// Waits at most `timeout` for the next message.
    pub(super) fn receive(&self, timeout: Duration) -> Received {
        if self.state.has_lost.swap(false, Ordering::Acquire) {
            return Received::Lost;
        }
        match self.receiver.recv_timeout(timeout) {
            Ok(message) => {
                self.state.queued.fetch_sub(1, Ordering::Relaxed);
                Received::Message(message)
            }
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::Closed,
        }
    }
}

#[cfg(test)]
mod tests {
    use notify::EventKind;
    use notify::event::{AccessKind, AccessMode};

    use super::*;

    #[test]
    fn reading_is_not_queued_and_too_much_is_an_overflow() {
        let (handle, inbox) = open_inbox();
        handle.push_event(Ok(Event::new(EventKind::Access(AccessKind::Open(AccessMode::Any)))));
        assert!(matches!(inbox.receive(Duration::ZERO), Received::Nothing));
        for _ in 0..=MAX_QUEUED {
            handle.push_event(Ok(Event::new(EventKind::Any)));
        }
        assert!(matches!(inbox.receive(Duration::ZERO), Received::Lost));
        let kept = std::iter::repeat_with(|| inbox.receive(Duration::ZERO)).take_while(|got| matches!(got, Received::Message(_)));
        assert_eq!(kept.count(), MAX_QUEUED);
        handle.push_event(Ok(Event::new(EventKind::Any)));
        assert!(matches!(inbox.receive(Duration::ZERO), Received::Message(_)));
        drop(handle);
        assert!(matches!(inbox.receive(Duration::ZERO), Received::Closed));
    }
}
