//! Sends a message at fixed intervals from a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::watch::inbox::{InboxHandle, Message};

/// A ticket that is sent with each message. While the receiver holds a ticket, no further message is sent, so
/// messages do not pile up before a slow worker.
#[derive(Debug, Clone)]
pub(super) struct TickerTicket(Arc<()>);

/// Sends messages until this value is dropped; dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(super) fn start(every: Duration, inbox: InboxHandle, message: fn(TickerTicket) -> Message) -> io::Result<Self> {
        let (stop, stopped) = channel::<()>();
        let work = move || {
            let ticket = TickerTicket(Arc::new(()));
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                if Arc::strong_count(&ticket.0) == 1 {
                    inbox.push(message(ticket.clone()));
                }
            }
        };
        let thread = Builder::new().name("proctor-tick".to_owned()).spawn(work)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::inbox::{Received, open_inbox};

    #[test]
    fn a_tick_comes_again_only_when_the_last_one_was_taken() {
        let (handle, inbox) = open_inbox();
        let ticker = Ticker::start(Duration::from_millis(1), handle, Message::Poll).expect("a thread");
        let first = inbox.receive(Duration::from_secs(10));
        assert!(matches!(first, Received::Message(Message::Poll(_))), "{first:?}");
        assert!(matches!(inbox.receive(Duration::from_millis(30)), Received::Nothing));
        drop(first);
        assert!(matches!(inbox.receive(Duration::from_secs(10)), Received::Message(Message::Poll(_))));
        drop(ticker);
        while matches!(inbox.receive(Duration::ZERO), Received::Message(_)) {}
        assert!(matches!(inbox.receive(Duration::ZERO), Received::Closed));
    }
}
