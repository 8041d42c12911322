//! The queue between the backend's thread and the worker: it never blocks the one and has a bound for the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use notify::Event;

use crate::model::{SyncId, TreePath};
use crate::watch::account::Account;
use crate::watch::interpret::is_noise;
use crate::watch::ticker::Ticket;

/// How many events may wait for the worker. The kernel itself keeps 16,384; what is beyond both is an overflow.
const MAX_QUEUED: usize = 65_536;

/// What the worker is told.
#[derive(Debug)]
pub(super) enum Message {
    /// An event of the backend, or its error.
    Event(notify::Result<Event>),
    /// Place all watches anew.
    Rearm,
    /// Say when everything before this has been hinted at.
    Sync(SyncId),
    /// Look at what cannot be watched.
    Poll(Ticket),
    /// Ask for a look at everything.
    Sweep(Ticket),
    /// Say what was heard of a path last.
    Explain(TreePath, Sender<Option<Account>>),
    /// End.
    Stop,
}

/// The sending side, one for the backend and one for the handle.
#[derive(Debug, Clone)]
pub(super) struct InboxHandle {
    sender: Sender<Message>,
    state: Arc<State>,
}

/// The receiving side.
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

/// What waiting came to.
#[derive(Debug)]
pub(super) enum Received {
    /// A message.
    Message(Message),
    /// Events were dropped because too many waited. Said once, before the next message.
    Lost,
    /// Nothing came in time.
    Nothing,
    /// Nobody can send any more.
    Closed,
}

/// Makes a queue.
pub(super) fn open_inbox() -> (InboxHandle, Inbox) {
    let (sender, receiver) = channel();
    let state = Arc::new(State::default());
    (InboxHandle { sender, state: Arc::clone(&state) }, Inbox { receiver, state })
}

impl InboxHandle {
    /// Passes an event on, unless it says nothing or too many wait already. Called by the backend's thread.
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

    /// Passes an order on.
    pub(super) fn push(&self, message: Message) {
        self.state.queued.fetch_add(1, Ordering::Relaxed);
        // A worker that has ended needs no more messages.
        let _ended = self.sender.send(message);
    }
}

impl Inbox {
    /// Waits for the next message, for at most `timeout`.
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
