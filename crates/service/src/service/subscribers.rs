//! The clients that receive events (the readers). Each has a queue of its own, which is bounded in bytes, and in the time in which the
//! reader takes nothing from it. A reader that is too slow is disconnected; its last event says why.
//!
//! Every event has an id. A client whose connection broke names the last one that it got, and is sent those that came after it.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use proctor_api::{EndReasonV1, EventV1};
use proctor_model::ProjectId;
use proctor_sandbox::process::clock;

/// The most bytes of events that wait for one reader. A reader whose queue would become longer is disconnected. A count of events would
/// disconnect readers that keep up: when many projects are saved together, hundreds of events come before any reader has its turn.
const MOST_BYTES: usize = 1024 * 1024;
/// A reader that takes none of the events that wait for it is disconnected after so long, in microseconds.
const PATIENCE: u64 = 10_000_000;
/// How many of the last events are kept for clients that connect again.
const KEPT: usize = 128;
/// The most clients that may receive events at the same time. Further clients are refused.
const MOST_READERS: usize = 32;

/// All clients that receive events, and the last events.
#[derive(Debug)]
pub(crate) struct Subscribers {
    readers: Vec<Reader>,
    kept: VecDeque<NumberedEvent>,
    /// What the ids of this service begin with, so that those of an earlier service are told apart.
    service: String,
    /// How many events there were.
    count: u64,
}

#[derive(Debug)]
struct Reader {
    send: UnboundedSender<(usize, NumberedEvent)>,
    waiting: Arc<WaitingEvents>,
    end: Arc<OnceLock<EndReasonV1>>,
}

/// The events that a reader has not taken yet.
#[derive(Debug, Default)]
struct WaitingEvents {
    bytes: AtomicUsize,
    /// When the reader last took an event, or had none to take, in microseconds of the monotonic clock.
    progress: AtomicU64,
}

impl Reader {
    /// Gives the reader an event, which is `bytes` long. Returns whether the reader is fast enough.
    fn give(&self, now: u64, bytes: usize, event: NumberedEvent) -> bool {
        let waiting = self.waiting.bytes.load(Ordering::Relaxed);
        if waiting == 0 {
            self.waiting.progress.store(now, Ordering::Relaxed);
        }
        let stands_still = now.saturating_sub(self.waiting.progress.load(Ordering::Relaxed)) > PATIENCE;
        let is_fast = !stands_still && waiting.saturating_add(bytes) <= MOST_BYTES;
        if is_fast {
            self.waiting.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        is_fast && self.send.send((bytes, event)).is_ok()
    }
}

/// An event with its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NumberedEvent {
    /// `None` for an event that is about the connection only, or is told again to a new reader.
    pub(crate) id: Option<String>,
    pub(crate) event: EventV1,
}

/// The events for one reader, followed by the reason why they end.
#[derive(Debug)]
pub(crate) struct Subscription {
    events: UnboundedReceiver<(usize, NumberedEvent)>,
    waiting: Arc<WaitingEvents>,
    end: Option<Arc<OnceLock<EndReasonV1>>>,
}

impl Default for Subscribers {
    fn default() -> Self {
        let service = format!("{:x}", clock::now().as_millis());
        Self { readers: Vec::new(), kept: VecDeque::new(), service, count: 0 }
    }
}

impl Subscribers {
    /// Adds a reader. Returns `None` if there are [`MOST_READERS`] already.
    ///
    /// `after` is the id of the last event that the client got. The events since then are sent first. If they are not kept any more,
    /// or the id is none of this service, the first event says that some were missed. Then, and without an id, the events of the runs
    /// under way come next, as far as they are kept.
    pub(crate) fn add(&mut self, after: Option<&str>) -> Option<Subscription> {
        self.readers.retain(|reader| !reader.send.is_closed());
        if self.readers.len() >= MOST_READERS {
            return None;
        }
        let (send, events) = unbounded_channel();
        let (end, waiting) = (Arc::new(OnceLock::new()), Arc::new(WaitingEvents::default()));
        let reader = Reader { send, waiting: Arc::clone(&waiting), end: Arc::clone(&end) };
        let mut kept = after.map_or_else(|| self.under_way(), |after| self.since(after)).into_iter();
        // Who missed more than fits is told so, and comes again: nobody gets events with a gap.
        if kept.all(|event| reader.give(clock::monotonic_microseconds(), length_of(&event.event), event)) {
            self.readers.push(reader);
        } else {
            let _said = reader.end.set(EndReasonV1::SlowReader);
        }
        Some(Subscription { events, waiting, end: Some(end) })
    }

    /// Returns whether anybody receives events.
    pub(super) fn are_there(&self) -> bool {
        self.readers.iter().any(|reader| !reader.send.is_closed())
    }

    /// Returns the events after the one with this id.
    fn since(&self, after: &str) -> Vec<NumberedEvent> {
        let missed = || {
            let mut events = vec![NumberedEvent { id: None, event: EventV1::Missed }];
            events.extend(self.under_way());
            events
        };
        let number = after.split_once('-').filter(|(service, _)| *service == self.service);
        let Some(number) = number.and_then(|(_, number)| number.parse::<u64>().ok()) else { return missed() };
        let Some(later) = self.count.checked_sub(number) else { return missed() };
        match usize::try_from(later) {
            Ok(later) if later <= self.kept.len() => self.kept.iter().skip(self.kept.len() - later).cloned().collect(),
            Ok(_) | Err(_) => missed(),
        }
    }

    /// Returns the kept events of the runs under way, each run from its start on. They have no id: a reader that names the last id that
    /// it got must not be sent what came before them again.
    fn under_way(&self) -> Vec<NumberedEvent> {
        let mut runs: BTreeMap<&ProjectId, Vec<&EventV1>> = BTreeMap::new();
        for NumberedEvent { event, .. } in &self.kept {
            match event {
                EventV1::RunStarted { project, .. } => {
                    runs.insert(project, vec![event]);
                }
                EventV1::ActionStarted { project, .. } | EventV1::ActionEnded { project, .. } => {
                    if let Some(events) = runs.get_mut(project) {
                        events.push(event);
                    }
                }
                EventV1::RunFinished { project, .. } | EventV1::Removed { project } => {
                    runs.remove(project);
                }
                EventV1::ActionProgress { .. }
                | EventV1::Changed { .. }
                | EventV1::Health { .. }
                | EventV1::Added { .. }
                | EventV1::Missed
                | EventV1::End { .. } => {}
            }
        }
        runs.into_values().flatten().map(|event| NumberedEvent { id: None, event: event.clone() }).collect()
    }

    /// Sends an event to all readers. A reader that is too slow is disconnected.
    pub(crate) fn tell(&mut self, event: &EventV1) {
        self.tell_at(clock::monotonic_microseconds(), event);
    }

    fn tell_at(&mut self, now: u64, event: &EventV1) {
        self.count += 1;
        let numbered = NumberedEvent { id: Some(format!("{}-{}", self.service, self.count)), event: event.clone() };
        let bytes = length_of(event);
        self.readers.retain(|reader| {
            let is_told = reader.give(now, bytes, numbered.clone());
            if !is_told {
                let _said = reader.end.set(EndReasonV1::SlowReader);
            }
            is_told
        });
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(numbered);
    }

    /// Sends an event that the next one of its kind makes worthless. It has no id and is not kept, and a reader whose queue is half full
    /// does not get it.
    pub(super) fn tell_in_passing(&mut self, event: &EventV1) {
        let passing = NumberedEvent { id: None, event: event.clone() };
        let is_free = |reader: &&Reader| reader.waiting.bytes.load(Ordering::Relaxed) <= MOST_BYTES / 2;
        for reader in self.readers.iter().filter(is_free) {
            let _gone_or_full = reader.give(clock::monotonic_microseconds(), length_of(event), passing.clone());
        }
    }

    /// Disconnects all readers, because the service is stopping.
    pub(crate) fn end(&mut self) {
        for reader in self.readers.drain(..) {
            let _said = reader.end.set(EndReasonV1::Stopping);
        }
    }
}

impl Stream for Subscription {
    type Item = NumberedEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<NumberedEvent>> {
        match self.events.poll_recv(context) {
            Poll::Ready(None) => {
                let end = self.end.take().and_then(|end| end.get().copied());
                Poll::Ready(end.map(|reason| NumberedEvent { id: None, event: EventV1::End { reason } }))
            }
            Poll::Ready(Some((bytes, event))) => {
                self.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
                self.waiting.progress.store(clock::monotonic_microseconds(), Ordering::Relaxed);
                Poll::Ready(Some(event))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Returns how many bytes an event takes as it is sent, without its id.
fn length_of(event: &EventV1) -> usize {
    serde_json::to_string(event).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_api::RunOutcomeV1;
    use proctor_model::{ActionId, RunId, TaskId, Timestamp, TriggerKind};

    fn read(subscription: &mut Subscription) -> Vec<Option<EventV1>> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut read = Vec::new();
        while let Poll::Ready(event) = Pin::new(&mut *subscription).poll_next(&mut context) {
            let is_end = event.is_none();
            read.push(event.map(|numbered| numbered.event));
            if is_end {
                break;
            }
        }
        read
    }

    #[test]
    fn a_slow_reader_gets_what_it_had_room_for_and_a_note_and_others_go_on() {
        let mut subscribers = Subscribers::default();
        let (mut slow, mut fast) = (subscribers.add(None).unwrap(), subscribers.add(None).unwrap());
        let event = EventV1::Changed { project: ProjectId::mint("shop", 1) };
        let room = MOST_BYTES / length_of(&event);
        for _ in 0..=room {
            subscribers.tell(&event);
            assert_eq!(read(&mut fast), [Some(event.clone())]);
        }
        let all = read(&mut slow);
        assert_eq!(all.len(), room + 2);
        assert_eq!(all[room], Some(EventV1::End { reason: EndReasonV1::SlowReader }));
        subscribers.end();
        assert_eq!(read(&mut fast), [Some(EventV1::End { reason: EndReasonV1::Stopping }), None]);
    }

    #[test]
    fn an_event_in_passing_has_no_id_and_takes_no_place_from_others() {
        let mut subscribers = Subscribers::default();
        let mut slow = subscribers.add(None).unwrap();
        let event = EventV1::Changed { project: ProjectId::mint("shop", 1) };
        let half = MOST_BYTES / 2 / length_of(&event) + 1;
        for _ in 0..half * 2 {
            subscribers.tell_in_passing(&event);
        }
        subscribers.tell(&event);
        assert_eq!(read(&mut slow).len(), half + 1);
        assert_eq!((subscribers.kept.len(), subscribers.count), (1, 1));
        assert!(subscribers.are_there());
        drop(slow);
        assert!(!subscribers.are_there());
    }

    #[test]
    fn a_reader_has_so_much_time_for_what_waits_and_a_burst_disconnects_nobody_who_reads() {
        let mut subscribers = Subscribers::default();
        let (mut hung, mut reading) = (subscribers.add(None).unwrap(), subscribers.add(None).unwrap());
        let event = EventV1::Changed { project: ProjectId::mint("shop", 1) };
        let now = clock::monotonic_microseconds();
        for _ in 0..5000 {
            subscribers.tell_at(now, &event);
        }
        assert_eq!(read(&mut reading).len(), 5000);
        subscribers.tell_at(now + PATIENCE, &event);
        assert_eq!(subscribers.readers.len(), 2, "it has had no more time than it may");
        assert_eq!(read(&mut reading).len(), 1);
        subscribers.tell_at(now + PATIENCE + 1, &event);
        assert_eq!(read(&mut hung).last(), Some(&None));
        assert_eq!((subscribers.readers.len(), read(&mut reading).len()), (1, 1));
    }

    #[test]
    fn there_are_so_many_readers_and_no_more_until_one_goes() {
        let mut subscribers = Subscribers::default();
        let mut held: Vec<_> = (0..MOST_READERS).filter_map(|_| subscribers.add(None)).collect();
        assert!(subscribers.add(None).is_none());
        held.pop();
        assert!(subscribers.add(None).is_some());
    }

    #[test]
    fn a_client_that_comes_during_a_run_is_told_of_it_from_its_start_on() {
        let mut subscribers = Subscribers::default();
        let project = |number: u32| ProjectId::mint("shop", number);
        let run_id = |number: u64| RunId::new(Timestamp::from_millis(0), number);
        let begin = |of: u32| EventV1::RunStarted {
            project: project(of),
            run_id: run_id(1),
            task: TaskId::default_task(),
            trigger: TriggerKind::Save,
        };
        let action = |of: u32| EventV1::ActionStarted {
            project: project(of),
            run_id: run_id(1),
            action_id: ActionId::numbered("STEP", 1),
            name: "check".to_owned(),
        };
        let end = EventV1::RunFinished {
            project: project(1),
            task: TaskId::default_task(),
            run_id: Some(run_id(1)),
            outcome: RunOutcomeV1::Judged,
            exit_code: 0,
        };
        for event in [action(2), begin(1), begin(2), action(1), EventV1::Changed { project: project(2) }, action(2), end] {
            subscribers.tell(&event);
        }
        assert_eq!(read(&mut subscribers.add(None).unwrap()), [Some(begin(2)), Some(action(2))]);
        let after = read(&mut subscribers.add(Some("other-1")).unwrap());
        assert_eq!(after, [Some(EventV1::Missed), Some(begin(2)), Some(action(2))]);
        let last = format!("{}-{}", subscribers.service, subscribers.count);
        assert_eq!(read(&mut subscribers.add(Some(&last)).unwrap()), [], "whoever missed nothing is told nothing again");
    }

    #[test]
    fn a_client_that_connects_again_gets_what_it_missed_or_is_told_that_it_missed_something() {
        let mut subscribers = Subscribers::default();
        let event = |number: u32| EventV1::Changed { project: ProjectId::mint("shop", number) };
        let again = |subscribers: &mut Subscribers, after: &str| read(&mut subscribers.add(Some(after)).unwrap());
        let id = |subscribers: &Subscribers, number: u64| format!("{}-{number}", subscribers.service);
        for number in 1..=3 {
            subscribers.tell(&event(number));
        }
        let first = id(&subscribers, 1);
        assert_eq!(again(&mut subscribers, &first), [Some(event(2)), Some(event(3))]);
        let last = id(&subscribers, 3);
        assert_eq!(again(&mut subscribers, &last), []);
        let unknown = id(&subscribers, 4);
        for wrong in [unknown.as_str(), "other-1", "", "-", "\u{7f}"] {
            assert_eq!(again(&mut subscribers, wrong), [Some(EventV1::Missed)], "{wrong}");
        }
        for number in (4..).take(KEPT) {
            subscribers.tell(&event(number));
        }
        assert_eq!(again(&mut subscribers, &first), [Some(EventV1::Missed)]);
        assert_eq!(again(&mut subscribers, &last).len(), KEPT);
    }
}
