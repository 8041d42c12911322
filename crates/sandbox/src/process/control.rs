//! How other threads and signal handlers request that an action is stopped. The supervisor (the code that runs one
//! action) reads the requests.
//!
//! Requests are bytes in pipes: a signal handler may write a byte, and a pipe can be polled together with the child's
//! output. A request stays in force until it is acknowledged, so a request that comes between two actions is not lost.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{read, write};

use proctor_model::StopReason;

/// How many bytes one read takes from a descriptor; the next read takes the rest.
const TAKEN_AT_ONCE: usize = 64;

/// All reasons to stop, for callers whose commands may be stopped for every reason.
pub const ALL_REASONS: &[StopReason] = &REASONS;

/// All stop reasons, from the weakest to the strongest. A request for a stronger reason replaces one for a weaker
/// reason. A reason's index is its byte in the pipe.
const REASONS: [StopReason; 6] = [
    StopReason::ServiceEnded,
    StopReason::ChecksOver,
    StopReason::HelperDied,
    StopReason::Superseded,
    StopReason::Interrupted,
    StopReason::Terminated,
];

/// The receiving side of stop requests. The supervisor, the code that runs one action, polls it.
#[derive(Debug)]
pub struct Control {
    own: OwnedFd,
    /// A handle that is never used. It keeps the pipe open when all other handles are dropped; otherwise polling the
    /// pipe would return at once.
    handle: ControlHandle,
    signals: Vec<SignalSource>,
    in_force: AtomicU8,
    /// Is told when a person has asked for a stop and no stop was in force.
    notice: Option<fn()>,
}

/// The sending side of stop requests. All clones send to the same supervisor.
#[derive(Debug, Clone)]
pub struct ControlHandle {
    pipe: Arc<OwnedFd>,
}

/// A descriptor from which stop requests are read. Every byte is a request for the same reason.
#[derive(Debug)]
struct SignalSource {
    descriptor: OwnedFd,
    reason: StopReason,
    ended: AtomicBool,
}

/// Why [`Control::wait_beside`], which waits for a stop request and for another descriptor, has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WokenBy {
    /// A stop was requested: [`Control::in_force`] returns the reason.
    Request,
    /// The other descriptor can be read or has ended, or the wait failed.
    Other,
}

/// Why a [`Control`] could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The pipe from the handles to the supervisor could not be made.
    #[error("cannot make the pipe for stop requests")]
    Pipe(#[source] io::Error),
    /// A descriptor that was passed to [`Control::with_source`] could not be made non-blocking.
    #[error("cannot read stop requests from a descriptor")]
    Source(#[source] io::Error),
}

impl Control {
    /// Returns a control (the receiving side of stop requests) and a handle that sends requests to it.
    pub fn new() -> Result<(Self, ControlHandle), ControlError> {
        let (reader, writer) = io::pipe().map_err(ControlError::Pipe)?;
        let (reader, writer) = (OwnedFd::from(reader), OwnedFd::from(writer));
        set_nonblocking(&reader).map_err(ControlError::Pipe)?;
        set_nonblocking(&writer).map_err(ControlError::Pipe)?;
        let handle = ControlHandle { pipe: Arc::new(writer) };
        let control = Self { own: reader, handle: handle.clone(), signals: Vec::new(), in_force: AtomicU8::new(0), notice: None };
        Ok((control, handle))
    }

    /// Adds a descriptor, for example the reading end of a pipe that a signal handler writes to. Every byte that is
    /// read from it is a request for `reason`. The descriptor is made non-blocking, and only this control reads from
    /// it.
    pub fn with_source(mut self, descriptor: OwnedFd, reason: StopReason) -> Result<Self, ControlError> {
        set_nonblocking(&descriptor).map_err(ControlError::Source)?;
        self.signals.push(SignalSource { descriptor, reason, ended: AtomicBool::new(false) });
        Ok(self)
    }

    /// Has `notice` called when a person asks for a stop and none is in force yet.
    #[must_use]
    pub fn with_notice(self, notice: fn()) -> Self {
        Self { notice: Some(notice), ..self }
    }

    pub fn handle(&self) -> ControlHandle {
        self.handle.clone()
    }

    /// Reads new requests and returns the strongest reason that is not yet acknowledged.
    pub fn requested(&self) -> Option<StopReason> {
        let _noted_as_in_force = self.take_requests();
        self.in_force()
    }

    /// Returns the strongest requested reason and acknowledges it in one step. A request that comes later counts as a
    /// new one.
    pub fn take(&self) -> Option<StopReason> {
        let _noted_as_in_force = self.take_requests();
        reason_at(self.in_force.swap(0, Ordering::SeqCst))
    }

    /// Forgets the requests for `reason`. If a stronger reason was requested too, that request stays in force.
    pub fn forget(&self, reason: StopReason) {
        let _noted_as_in_force = self.take_requests();
        let _another_is_in_force = self.in_force.compare_exchange(strength(reason), 0, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Returns the strongest reason that was requested and not yet acknowledged, without reading new requests.
    pub fn in_force(&self) -> Option<StopReason> {
        reason_at(self.in_force.load(Ordering::SeqCst))
    }

    /// Reads the requests that have arrived since the last call: first the requests from handles, then the requests
    /// from each source that was added with [`Control::with_source`].
    pub fn take_requests(&self) -> Vec<StopReason> {
        let mut requests = Vec::new();
        let mut bytes = [0; TAKEN_AT_ONCE];
        if let Ok(count) = read(&self.own, &mut bytes) {
            requests.extend(bytes[..count].iter().filter_map(|byte| REASONS.get(usize::from(*byte))));
        }
        for source in self.signals.iter().filter(|source| !source.ended.load(Ordering::SeqCst)) {
            match read(&source.descriptor, &mut bytes) {
                Ok(0) => source.ended.store(true, Ordering::SeqCst),
                Ok(count) => requests.extend(std::iter::repeat_n(source.reason, count)),
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(_) => source.ended.store(true, Ordering::SeqCst),
            }
        }
        let was_in_force = self.in_force();
        for reason in &requests {
            self.in_force.fetch_max(strength(*reason), Ordering::SeqCst);
        }
        if let Some(notice) = self.notice.filter(|_| was_in_force.is_none() && requests.contains(&StopReason::Interrupted)) {
            notice();
        }
        requests
    }

    /// Waits until a new request arrives or `other` can be read or has ended. If both have happened, the result is
    /// [`WokenBy::Request`].
    pub fn wait_beside(&self, other: BorrowedFd<'_>) -> WokenBy {
        loop {
            let mut awaited: Vec<PollFd<'_>> =
                std::iter::once(other).chain(self.descriptors()).map(|one| PollFd::new(one, PollFlags::POLLIN)).collect();
            let polled = poll(&mut awaited, PollTimeout::NONE);
            let has_come = awaited[0].any().unwrap_or(true);
            if !self.take_requests().is_empty() {
                return WokenBy::Request;
            }
            match polled {
                Err(Errno::EINTR) => {}
                Ok(_) if !has_come => {}
                // If waiting fails, the caller gets the error when it reads the other descriptor.
                Ok(_) | Err(_) => return WokenBy::Other,
            }
        }
    }

    /// Waits until a new stop request may have arrived, until `other` can be read, or for the time `longest`. Reads
    /// nothing; may return earlier.
    pub fn wait_at_most(&self, other: BorrowedFd<'_>, longest: Duration) {
        let mut awaited: Vec<PollFd<'_>> =
            std::iter::once(other).chain(self.descriptors()).map(|one| PollFd::new(one, PollFlags::POLLIN)).collect();
        let longest = PollTimeout::try_from(longest).unwrap_or(PollTimeout::MAX);
        // If waiting fails or is interrupted, this function returns early; the caller checks its conditions and calls
        // it again.
        let _interrupted = poll(&mut awaited, longest);
    }

    /// Returns the descriptors to poll. When a request arrives, at least one of these descriptors becomes readable.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let open = self.signals.iter().filter(|source| !source.ended.load(Ordering::SeqCst));
        std::iter::once(self.own.as_fd()).chain(open.map(|source| source.descriptor.as_fd()))
    }
}

impl ControlHandle {
    /// Requests a stop. The first request starts the stop ladder (milder signals first, SIGKILL last). A second request
    /// sends SIGKILL at once. A further request for `Superseded`, `ServiceEnded` or `HelperDied` does not hasten the stop, because
    /// these reasons may be requested many times.
    pub fn stop(&self, reason: StopReason) {
        // A full pipe holds thousands of unread requests; one more would change nothing.
        let _full = write(&self.pipe, &[strength(reason) - 1]);
    }
}

/// Returns the stop reason with this strength, counted from 1 (weakest); `None` for 0, which means no request.
fn reason_at(strength: u8) -> Option<StopReason> {
    REASONS.get(usize::from(strength.checked_sub(1)?)).copied()
}

/// Returns the stronger of two stop reasons, in the order of [`REASONS`].
pub(super) fn stronger(one: StopReason, other: StopReason) -> StopReason {
    if strength(other) > strength(one) { other } else { one }
}

fn strength(reason: StopReason) -> u8 {
    match reason {
        StopReason::ServiceEnded => 1,
        StopReason::ChecksOver => 2,
        StopReason::HelperDied => 3,
        StopReason::Superseded => 4,
        StopReason::Interrupted => 5,
        StopReason::Terminated => 6,
    }
}

fn set_nonblocking(descriptor: &OwnedFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(descriptor, FcntlArg::F_GETFL)?);
    fcntl(descriptor, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn the_place_of_a_reason_is_its_byte() {
        for (place, reason) in REASONS.iter().enumerate() {
            assert_eq!(usize::from(strength(*reason)), place + 1);
        }
    }

    #[test]
    fn a_request_stays_in_force_until_it_is_taken_and_the_stronger_wins() {
        let (control, handle) = Control::new().expect("pipes");
        assert_eq!(control.requested(), None);
        handle.stop(StopReason::Interrupted);
        handle.clone().stop(StopReason::Superseded);
        drop(handle);
        assert_eq!(control.requested(), Some(StopReason::Interrupted));
        assert_eq!(control.requested(), Some(StopReason::Interrupted));
        control.handle().stop(StopReason::Terminated);
        assert_eq!(control.requested(), Some(StopReason::Terminated));
        assert_eq!(control.take(), Some(StopReason::Terminated));
        assert_eq!(control.requested(), None);
    }

    #[test]
    fn one_reason_is_forgotten_and_a_stronger_one_is_not() {
        let (control, handle) = Control::new().expect("pipes");
        handle.stop(StopReason::ServiceEnded);
        control.forget(StopReason::ServiceEnded);
        assert_eq!(control.requested(), None);
        handle.stop(StopReason::ServiceEnded);
        handle.stop(StopReason::Superseded);
        control.forget(StopReason::ServiceEnded);
        assert_eq!(control.requested(), Some(StopReason::Superseded));
    }

    #[test]
    fn every_byte_of_a_source_is_a_request_and_its_end_is_none() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let (control, _handle) = Control::new().expect("pipes");
        let control = control.with_source(reader.into(), StopReason::Terminated).expect("a source");
        writer.write_all(b"XX").expect("written");
        assert_eq!(control.take_requests(), [StopReason::Terminated, StopReason::Terminated]);
        drop(writer);
        assert_eq!(control.descriptors().count(), 2);
        assert_eq!(control.take_requests(), []);
        assert_eq!(control.descriptors().count(), 1);
    }

    #[test]
    fn whichever_comes_is_waited_for_and_a_request_goes_first() {
        let (control, handle) = Control::new().expect("pipes");
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let asker = std::thread::spawn(move || handle.stop(StopReason::Interrupted));
        assert_eq!(control.wait_beside(reader.as_fd()), WokenBy::Request);
        asker.join().expect("it has asked");
        assert_eq!(control.in_force(), Some(StopReason::Interrupted));
        writer.write_all(b"X").expect("written");
        assert_eq!(control.wait_beside(reader.as_fd()), WokenBy::Other, "what is in force already is no news");
        control.handle().stop(StopReason::Terminated);
        assert_eq!(control.wait_beside(reader.as_fd()), WokenBy::Request);
        drop(writer);
        assert_eq!(control.wait_beside(reader.as_fd()), WokenBy::Other);
    }

    #[test]
    fn a_full_pipe_does_not_block_the_asker() {
        let (control, handle) = Control::new().expect("pipes");
        for _ in 0..100_000 {
            handle.stop(StopReason::Superseded);
        }
        assert_eq!(control.requested(), Some(StopReason::Superseded));
    }
}
