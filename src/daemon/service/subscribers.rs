//! The clients that receive events (the readers). Each has a bounded queue of its own. A reader that is too slow is
//! disconnected; its last event says why.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::api::{EndReasonV1, EventV1};

/// The most events that wait for one reader. A reader whose queue would become longer is disconnected.
const QUEUE: usize = 256;
/// The most clients that may receive events at the same time. Further clients are refused.
const MOST_READERS: usize = 32;

/// All clients that receive events.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    readers: Vec<Reader>,
}

#[derive(Debug)]
struct Reader {
    send: Sender<EventV1>,
    end: Arc<OnceLock<EndReasonV1>>,
}

/// The events for one reader, followed by the reason why they end.
#[derive(Debug)]
pub(crate) struct Subscription {
    events: Receiver<EventV1>,
    end: Option<Arc<OnceLock<EndReasonV1>>>,
}

impl Subscribers {
    /// Adds a reader. Returns `None` if there are [`MOST_READERS`] already.
    pub(super) fn add(&mut self) -> Option<Subscription> {
        self.readers.retain(|reader| !reader.send.is_closed());
        if self.readers.len() >= MOST_READERS {
            return None;
        }
        let (send, events) = channel(QUEUE);
        let end = Arc::new(OnceLock::new());
        self.readers.push(Reader { send, end: Arc::clone(&end) });
        Some(Subscription { events, end: Some(end) })
    }

    /// Sends an event to all readers. A reader whose queue is full is disconnected.
    pub(super) fn tell(&mut self, event: &EventV1) {
        self.readers.retain(|reader| {
            let told = reader.send.try_send(event.clone());
            if told.is_err() {
                let _said = reader.end.set(EndReasonV1::SlowReader);
            }
            told.is_ok()
        });
    }

    /// Disconnects all readers, because the service is stopping.
    pub(super) fn end(&mut self) {
        for reader in self.readers.drain(..) {
            let _said = reader.end.set(EndReasonV1::Stopping);
        }
    }
}

impl Stream for Subscription {
    type Item = EventV1;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<EventV1>> {
        match self.events.poll_recv(context) {
            Poll::Ready(None) => {
                let end = self.end.take();
                Poll::Ready(end.and_then(|end| end.get().copied()).map(|reason| EventV1::End { reason }))
            }
            event @ (Poll::Ready(Some(_)) | Poll::Pending) => event,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ProjectId;

    fn read(subscription: &mut Subscription) -> Vec<Option<EventV1>> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut read = Vec::new();
        while let Poll::Ready(event) = Pin::new(&mut *subscription).poll_next(&mut context) {
            let is_end = event.is_none();
            read.push(event);
            if is_end {
                break;
            }
        }
        read
    }

    #[test]
    fn a_slow_reader_gets_what_it_had_room_for_and_a_note_and_others_go_on() {
        let mut subscribers = Subscribers::default();
        let (mut slow, mut fast) = (subscribers.add().unwrap(), subscribers.add().unwrap());
        let event = EventV1::Changed { project: ProjectId::mint("shop", 1) };
        for _ in 0..=QUEUE {
            subscribers.tell(&event);
            assert_eq!(read(&mut fast), [Some(event.clone())]);
        }
        let all = read(&mut slow);
        assert_eq!(all.len(), QUEUE + 2);
        assert_eq!(all[QUEUE], Some(EventV1::End { reason: EndReasonV1::SlowReader }));
        subscribers.end();
        assert_eq!(read(&mut fast), [Some(EventV1::End { reason: EndReasonV1::Stopping }), None]);
    }

    #[test]
    fn there_are_so_many_readers_and_no_more_until_one_goes() {
        let mut subscribers = Subscribers::default();
        let mut held: Vec<_> = (0..MOST_READERS).filter_map(|_| subscribers.add()).collect();
        assert!(subscribers.add().is_none());
        held.pop();
        assert!(subscribers.add().is_some());
    }
}
