//! The event loop of a foreground watch and of the service. It waits for the next arrival, turns it into one event, and
//! hands the event to the host. Its `select!` only builds events (house style S1). `engine.rs` decides how to react,
//! and `project_scheduler.rs` performs these decisions.

use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::Receiver;

use crate::arrivals::{Arrivals, ProjectArrival, ProjectSeat};
use crate::engine::Moment;
use crate::event::OsSignal;
use crate::os_signals::Signals;
use proctor_sandbox::process::clock;

/// An event that the loop hands to its `EventHost`, the foreground watch or the service.
#[derive(Debug)]
pub(super) enum LoopEvent<Call> {
    /// A signal that the operating system delivered to this process, such as SIGTERM or SIGHUP.
    Signal(OsSignal),
    /// A message from one of a project's threads.
    Project(ProjectSeat, ProjectArrival),
    /// A pressed key (foreground watch) or a client's request (service).
    Call(Call),
    /// The moment at which the host wanted to be woken has come.
    Woken,
}

/// Receives the events of a loop and decides when the loop ends.
pub(super) trait EventHost {
    /// Pressed keys (foreground watch) or clients' requests (service).
    type Call;
    /// The value that the loop returns when the host ends it.
    type Outcome;

    /// Does pending work before the loop waits. Returns when to wake the host if nothing else happens.
    fn before_wait(&mut self, now: Moment) -> Option<Moment>;

    /// Handles an event. Returning a break ends the loop.
    fn handle(&mut self, now: Moment, event: LoopEvent<Self::Call>) -> ControlFlow<Self::Outcome>;
}

/// The sources of events. Signals are the most urgent, then messages of projects, then calls.
pub(super) struct EventSources<Call> {
    pub(super) signals: Signals,
    pub(super) arrivals: Arrivals,
    /// Receives pressed keys or clients' requests. If all senders are dropped, no more requests come.
    pub(super) calls: Receiver<Call>,
    pub(super) clock: LoopClock,
}

/// The clock of a loop: it counts milliseconds from its own start.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopClock {
    origin: clock::Monotonic,
}

/// The most threads that wait for something outside of a loop.
const WAITING_THREADS: usize = 2;

/// Builds the async runtime of a loop. It uses only the current thread, and at most [`WAITING_THREADS`] for waiting.
pub(super) fn new_runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_io().enable_time().max_blocking_threads(WAITING_THREADS).build()
}

/// Hands the host one event after the other until the host ends the loop.
pub(super) async fn run_event_loop<Host: EventHost>(host: &mut Host, sources: &mut EventSources<Host::Call>) -> Host::Outcome {
    loop {
        let wake_at = host.before_wait(sources.clock.now());
        let event = sources.next(wake_at).await;
        if let ControlFlow::Break(outcome) = host.handle(sources.clock.now(), event) {
            return outcome;
        }
    }
}

impl<Call> EventSources<Call> {
    async fn next(&mut self, wake_at: Option<Moment>) -> LoopEvent<Call> {
        // After each batch of messages from the projects' threads one call is handled, so that a flood of hints cannot
        // delay calls until the flood ends.
        if self.arrivals.grant_turn()
            && let Ok(call) = self.calls.try_recv()
        {
            return LoopEvent::Call(call);
        }
        let pause = wake_at.map(|moment| Duration::from_millis(moment.0.saturating_sub(self.clock.now().0)));
        tokio::select! {
            biased;
            signal = self.signals.next() => LoopEvent::Signal(signal),
            (seat, arrival) = self.arrivals.next() => LoopEvent::Project(seat, arrival),
            Some(call) = self.calls.recv() => LoopEvent::Call(call),
            () = tokio::time::sleep(pause.unwrap_or_default()), if pause.is_some() => LoopEvent::Woken,
        }
    }
}

impl LoopClock {
    pub(super) fn start() -> Self {
        Self { origin: clock::monotonic() }
    }

    /// Returns the milliseconds since the clock was started.
    pub(super) fn now(self) -> Moment {
        Moment(u64::try_from(clock::monotonic().since(self.origin).as_millis()).unwrap_or(u64::MAX))
    }
}
