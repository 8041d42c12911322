//! Ticks: messages that a watcher gets at fixed intervals, all of them from the one timer of its hub.

use std::sync::Arc;
use std::time::Duration;

use nix::sys::time::{TimeSpec, TimeValLike as _};
use nix::sys::timerfd::{Expiration, TimerFd, TimerSetTimeFlags};

use crate::watch::hub::MemberId;
use crate::watch::inbox::Message;

/// Within one interval of `watch.sweep`, sweeping may take about this much processor time, in microseconds: a thousandth
/// of the default interval of 60 s.
const SWEEPING_MICROS: u64 = 60_000;
/// The processor time in microseconds that one sweep takes, however small the tree is.
const PROJECT_MICROS: u64 = 3_000;
/// The processor time in microseconds that a sweep takes for each file.
const FILE_MICROS: u64 = 5;

/// What a watcher does at a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TickKind {
    /// The watcher polls the directories that cannot be watched.
    Poll,
    /// The watcher asks for a scan of the whole tree. With many projects or files this happens more rarely.
    Sweep,
}

/// A ticket that is sent with each tick. While the receiver holds a ticket, no further tick is sent, so ticks do not pile
/// up before a slow worker.
#[derive(Debug, Clone)]
pub(super) struct TickerTicket {
    _held: Arc<()>,
}

/// The ticks of all watchers of a hub.
#[derive(Debug, Default)]
pub(super) struct Timers {
    tickers: Vec<Ticker>,
    /// The interval for which the timer was set last. What the timer says is left of it tells how much time has passed: the
    /// clock itself is read nowhere in this module.
    armed: Duration,
}

#[derive(Debug)]
struct Ticker {
    member: MemberId,
    kind: TickKind,
    every: Duration,
    left: Duration,
    /// The intervals that have passed since the last tick that was sent.
    passed: u64,
    ticket: TickerTicket,
}

impl Timers {
    pub(super) fn start(&mut self, member: MemberId, every: Duration, kind: TickKind, timer: &TimerFd) {
        self.advance(timer);
        self.stop(member, kind);
        let ticket = TickerTicket { _held: Arc::new(()) };
        self.tickers.push(Ticker { member, kind, every, left: every, passed: 0, ticket });
    }

    pub(super) fn stop(&mut self, member: MemberId, kind: TickKind) {
        self.tickers.retain(|ticker| (ticker.member, ticker.kind) != (member, kind));
    }

    pub(super) fn stop_all(&mut self, member: MemberId) {
        self.tickers.retain(|ticker| ticker.member != member);
    }

    /// Returns the ticks that are due, and sets the timer to the next ones. `projects` and `files` are the numbers of all
    /// watched projects and of the files in their trees.
    pub(super) fn due(&mut self, timer: &TimerFd, projects: usize, files: usize) -> Vec<(MemberId, Message)> {
        self.advance(timer);
        let due = self.take_due(sweep_intervals(projects, files));
        self.arm(timer);
        due
    }

    fn take_due(&mut self, intervals: u64) -> Vec<(MemberId, Message)> {
        let mut due = Vec::new();
        for ticker in self.tickers.iter_mut().filter(|ticker| ticker.left.is_zero()) {
            ticker.left = ticker.every;
            ticker.passed += 1;
            let awaited = if ticker.kind == TickKind::Sweep { intervals } else { 1 };
            if ticker.passed >= awaited && Arc::strong_count(&ticker.ticket._held) == 1 {
                ticker.passed = 0;
                let ticket = ticker.ticket.clone();
                due.push((
                    ticker.member,
                    match ticker.kind {
                        TickKind::Poll => Message::Poll(ticket),
                        TickKind::Sweep => Message::Sweep(ticket),
                    },
                ));
            }
        }
        due
    }

    /// Subtracts the time that has passed since the last call.
    fn advance(&mut self, timer: &TimerFd) {
        let left = match timer.get() {
            Ok(Some(Expiration::OneShot(left))) => Duration::from(left),
            // The timer has expired, or was set to wake the thread at once.
            Ok(_) | Err(_) => Duration::ZERO,
        };
        let passed = self.armed.saturating_sub(left);
        self.armed = left;
        self.tickers.iter_mut().for_each(|ticker| ticker.left = ticker.left.saturating_sub(passed));
    }

    fn arm(&mut self, timer: &TimerFd) {
        // Expirations are counted until they are read.
        let _none = timer.wait();
        let Some(next) = self.tickers.iter().map(|ticker| ticker.left).min() else {
            self.armed = Duration::ZERO;
            let _refused = timer.unset();
            return;
        };
        self.armed = next.max(Duration::from_micros(1));
        let _refused = timer.set(Expiration::OneShot(TimeSpec::from(self.armed)), TimerSetTimeFlags::empty());
    }

    /// Makes the timer expire at once.
    pub(super) fn wake(&mut self, timer: &TimerFd) {
        self.advance(timer);
        self.armed = Duration::ZERO;
        let _refused = timer.set(Expiration::OneShot(TimeSpec::nanoseconds(1)), TimerSetTimeFlags::empty());
    }
}

/// Returns how many intervals of `watch.sweep` lie between two sweeps of a project, so that all sweeps together take about a
/// thousandth of one processor's time.
fn sweep_intervals(projects: usize, files: usize) -> u64 {
    let micros = |count: usize, each: u64| u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(each);
    let all = micros(projects, PROJECT_MICROS).saturating_add(micros(files, FILE_MICROS));
    all.div_ceil(SWEEPING_MICROS).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::hub::WatchHub;
    use crate::watch::inbox::{InboxHandle, Received};

    #[test]
    fn a_tick_comes_again_only_when_the_last_one_was_taken() {
        let hub = WatchHub::start().expect("a hub");
        let inbox = InboxHandle::open();
        let member = hub.join(inbox.clone()).expect("a member");
        member.start_ticks(Duration::from_millis(1), TickKind::Poll);
        let first = inbox.receive(Duration::from_secs(10));
        assert!(matches!(first, Received::Message(Message::Poll(_))), "{first:?}");
        assert!(matches!(inbox.receive(Duration::from_millis(30)), Received::Nothing));
        drop(first);
        assert!(matches!(inbox.receive(Duration::from_secs(10)), Received::Message(Message::Poll(_))));
        drop(member);
        while matches!(inbox.receive(Duration::ZERO), Received::Message(_)) {}
        assert!(matches!(inbox.receive(Duration::from_millis(30)), Received::Nothing));
    }

    #[test]
    fn another_ticker_makes_no_tick_come_early_or_late() {
        let hub = WatchHub::start().expect("a hub");
        let inboxes = [InboxHandle::open(), InboxHandle::open()];
        let members = inboxes.clone().map(|inbox| hub.join(inbox).expect("a member"));
        members[0].start_ticks(Duration::from_secs(3600), TickKind::Poll);
        for _ in 0..50 {
            members[1].start_ticks(Duration::from_millis(1), TickKind::Poll);
            assert!(matches!(inboxes[1].receive(Duration::from_secs(10)), Received::Message(Message::Poll(_))));
        }
        assert!(matches!(inboxes[0].receive(Duration::ZERO), Received::Nothing));
    }

    #[test]
    fn many_projects_and_files_are_swept_more_rarely() {
        assert_eq!(sweep_intervals(0, 0), 1);
        assert_eq!(sweep_intervals(5, 8_000), 1);
        assert_eq!(sweep_intervals(1, 100_000), 9);
        assert_eq!(sweep_intervals(500, 100_000), 34);
    }
}
