//! Runs one action: starts it, captures its output, stops it when necessary, and says how it ended.
//!
//! This module is thin: [`crate::process::progress`] decides, [`crate::process::capture`] keeps the output, and the
//! launcher (a helper process) starts and signals the action. One blocking loop polls the pipes, the launcher's socket
//! and the control until the nearest deadline.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::process::capture::{Capture, CaptureError, ChildEnds, PIPEFUL, ReadStatus, Sinks};
use crate::process::channel::ChannelError;
use crate::process::clock::{self, Monotonic};
use crate::process::control::Control;
use crate::process::frames::Stream;
use crate::process::handle::{LaunchRequest, LauncherHandle, LauncherUpdate};
use crate::process::progress::{ActionProgress, ProgressStep};
use crate::process::protocol::{ActionNumber, DescriptorRole, LauncherEvent};
use crate::process::run_network::RunNetwork;
use proctor_model::{ActionEnd, ActionLimits, CapturedOutput, DurationMs, EndedAction, LimitKind, StopReason};

/// Why an action could not be supervised: always proctor's fault or the machine's. All processes of the action have
/// been killed when this error is returned. The failure of a command is never an error but an [`EndedAction`].
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The request could not be sent although the launcher is alive, for example because it is too long.
    #[error("cannot hand a command to the launcher")]
    Launcher(#[source] ChannelError),
    /// The launcher (the process that starts actions) was gone before anything was started. The caller can start a new
    /// launcher and try again.
    #[error("the launcher is gone")]
    LauncherGone,
    /// The command's standard input could not be prepared.
    #[error("cannot make the standard input of a command")]
    Input(#[source] io::Error),
    #[error("cannot wait for a command")]
    Wait(#[source] io::Error),
}

/// The sources that a supervised action is polled for: launcher events, output, and stop requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Launcher,
    Output(Stream),
    Control,
}

/// One action while it is supervised.
struct Supervision<'a> {
    launcher: &'a mut LauncherHandle,
    control: &'a Control,
    stop_reasons: &'static [StopReason],
    progress: ActionProgress<'a>,
    capture: Capture,
    number: Option<ActionNumber>,
    begun: Monotonic,
    fault: Option<SuperviseError>,
    network: Option<Arc<RunNetwork>>,
}

/// Starts a command, keeps its output, and stops the command at its limits or when `control` asks for it. Returns how
/// the command ended.
///
/// Blocks until no process of the command's group is alive and its pipes are closed or given up. A request that is
/// already in force in `control` stops the command at once. Requests for reasons that are not in `stop_reasons` stay in
/// force and have no effect here: a newer save stops checks, but not the prerequisites they depend on.
pub fn supervise(
    launcher: &mut LauncherHandle,
    request: &LaunchRequest,
    limits: &ActionLimits,
    sinks: Sinks,
    control: &Control,
    stop_reasons: &'static [StopReason],
) -> Result<EndedAction, SuperviseError> {
    let (started, begun) = (clock::now(), clock::monotonic());
    let (capture, ends) = Capture::open(sinks, limits.output)?;
    let mut progress = ActionProgress::begin(begun, limits);
    // Requests are read before the start. A request that comes after the start is then counted as a further request,
    // which can send SIGKILL at once.
    if let Some(reason) = control.requested().filter(|reason| stop_reasons.contains(reason)) {
        progress.note_request(begun, reason);
    }
    let network = request.network.clone();
    let mut supervision =
        Supervision { launcher, control, stop_reasons, progress, capture, number: None, begun, fault: None, network };
    supervision.ask_start(request, ends)?;
    let outcome = supervision.follow();
    supervision.release();
    let (ended, duration) = (clock::now(), DurationMs::from(clock::monotonic().since(begun)));
    if let Some(fault) = outcome.err().or(supervision.fault.take()) {
        return Err(fault);
    }
    let progress = supervision.progress;
    let end = progress.end();
    let captured = to_captured(supervision.capture, &end)?;
    let (survivors, usage, kept) = (progress.survivors().to_vec(), progress.usage(), progress.kept());
    Ok(EndedAction { end, started, ended, duration, captured, survivors, usage, kept, used_git: progress.used_git() })
}

impl Supervision<'_> {
    /// Requests the start and then drops this process's copies of the pipes' writing ends. The pipes then end as soon
    /// as the action's processes have closed their copies.
    fn ask_start(&mut self, request: &LaunchRequest, ends: ChildEnds) -> Result<(), SuperviseError> {
        let input = request.input.as_deref().map(sealed_input).transpose().map_err(SuperviseError::Input)?;
        let mut descriptors = vec![(DescriptorRole::Stdout, ends.stdout.as_fd()), (DescriptorRole::Stderr, ends.stderr.as_fd())];
        descriptors.extend(input.as_ref().map(|input| (DescriptorRole::Stdin, input.as_fd())));
        if let Some(network) = &request.network {
            descriptors.extend([
                (DescriptorRole::NetworkOwner, network.user.as_fd()),
                (DescriptorRole::Network, network.network.as_fd()),
            ]);
        }
        match self.launcher.ask_start(request, &descriptors) {
            Ok(number) => self.number = Some(number),
            Err(ChannelError::Closed) => {
                let _given_up = self.launcher.abandon(&ChannelError::Closed);
                return Err(SuperviseError::LauncherGone);
            }
            // Nothing of the request was sent, so this launcher can still be used.
            Err(error @ (ChannelError::TooLong(_) | ChannelError::Malformed(_))) => return Err(SuperviseError::Launcher(error)),
            // A part of the request may have been sent, so this launcher cannot be used any more.
            Err(error @ (ChannelError::Send(_) | ChannelError::Receive(_) | ChannelError::DescriptorsMissing)) => {
                let _given_up = self.launcher.abandon(&error);
                return Err(SuperviseError::Launcher(error));
            }
        }
        Ok(())
    }

    fn follow(&mut self) -> Result<(), SuperviseError> {
        loop {
            let now = clock::monotonic();
            match self.progress.next_step(now, self.capture.is_open()) {
                ProgressStep::Signal(stage) => {
                    if let Some(number) = self.number
                        && self.launcher.ask_signal(number, stage).is_err()
                    {
                        self.lose_launcher();
                    }
                }
                ProgressStep::Finish => return Ok(()),
                ProgressStep::Wait(until) => {
                    for source in self.wait(until.map(|until| until.since(now))).map_err(SuperviseError::Wait)? {
                        self.handle_source(source);
                    }
                }
            }
        }
    }

    /// Waits until a source is ready or the time is up. Output is handled before the launcher's events, so that a
    /// command's last output is read before its end is recorded.
    fn wait(&self, timeout: Option<Duration>) -> io::Result<Vec<Source>> {
        let output = [Stream::Stdout, Stream::Stderr]
            .into_iter()
            .filter_map(|stream| Some((Source::Output(stream), self.capture.descriptor(stream)?)));
        let launcher = self.launcher.descriptor().map(|descriptor| (Source::Launcher, descriptor));
        let control = self.control.descriptors().map(|descriptor| (Source::Control, descriptor));
        let (sources, descriptors): (Vec<Source>, Vec<BorrowedFd<'_>>) = output.chain(launcher).chain(control).unzip();
        let mut watched: Vec<PollFd<'_>> =
            descriptors.into_iter().map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN)).collect();
        match poll(&mut watched, to_poll_timeout(timeout)) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Vec::new()),
            Err(errno) => return Err(errno.into()),
        }
        let is_ready = |watched: &PollFd<'_>| watched.any().unwrap_or(true);
        Ok(watched.iter().zip(sources).filter(|(watched, _)| is_ready(watched)).map(|(_, source)| source).collect())
    }

    fn handle_source(&mut self, source: Source) {
        match source {
            Source::Output(stream) => {
                let _more = self.read_output(stream);
            }
            Source::Launcher => {
                // Output that was printed before the end is read first. If it exceeds the limit on output, the action
                // ended because of that limit, not by exiting.
                let was_stopping = self.progress.is_stopping();
                self.read_what_is_there();
                if self.progress.is_stopping() == was_stopping {
                    self.receive_launcher_events();
                }
            }
            Source::Control => {
                let now = clock::monotonic();
                for reason in self.control.take_requests().into_iter().filter(|reason| self.stop_reasons.contains(reason)) {
                    self.progress.note_request(now, reason);
                }
            }
        }
    }

    /// Reads the present content of the pipes, but from each pipe at most as much as a full pipe holds. A process that
    /// prints without end therefore cannot block the supervisor.
    fn read_what_is_there(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            for _ in 0..PIPEFUL {
                if self.read_output(stream) == ReadStatus::Nothing {
                    break;
                }
            }
        }
    }

    fn read_output(&mut self, stream: Stream) -> ReadStatus {
        let now = clock::monotonic();
        let elapsed = DurationMs::from(now.since(self.begun)).0;
        match self.capture.read_once(stream, clock::now, elapsed) {
            Ok(ReadStatus::Bytes) => {
                // Writing the log may have taken longer than the limit on silence. So the command's silence is counted
                // from now, not from the read.
                self.progress.note_output(clock::monotonic(), self.capture.printed());
                ReadStatus::Bytes
            }
            Ok(ReadStatus::Nothing) => ReadStatus::Nothing,
            Err(fault) => {
                self.fault.get_or_insert(fault.into());
                self.capture.close();
                self.progress.note_own_fault(now);
                ReadStatus::Nothing
            }
        }
    }

    fn receive_launcher_events(&mut self) {
        let Some(number) = self.number else {
            return;
        };
        let news = self.launcher.receive_events(number);
        self.note(news);
    }

    fn lose_launcher(&mut self) {
        let news = self.launcher.abandon(&ChannelError::Closed);
        self.note(news);
    }

    fn note(&mut self, news: LauncherUpdate) {
        let now = clock::monotonic();
        match news {
            LauncherUpdate::Events(events) => {
                for event in events {
                    if let (LauncherEvent::Started { level, .. }, Some(network)) = (&event, &self.network) {
                        network.note_level(*level);
                    }
                    self.progress.note_event(now, event);
                }
            }
            LauncherUpdate::Lost { why, survivors } => self.progress.note_lost(now, why, survivors),
        }
    }

    fn release(&mut self) {
        if let Some(number) = self.number
            && !self.launcher.is_lost()
            && self.launcher.ask_release(number).is_err()
        {
            // The action is over, but the launcher could not be told to release it, so the launcher is killed.
            let _given_up = self.launcher.abandon(&ChannelError::Closed);
        }
    }
}

/// Returns the captured output, cut at the limit on output. If output was dropped although the action was not stopped
/// for exceeding that limit, a process that outlived the action printed the dropped output. `pipes_left_open` is then
/// set, which says that output may be missing.
fn to_captured(capture: Capture, end: &ActionEnd) -> Result<CapturedOutput, CaptureError> {
    let hit_output = matches!(end, ActionEnd::TimedOut { limit: LimitKind::Output, .. });
    let is_cut = capture.is_cut() && !hit_output;
    let captured = capture.finish()?;
    Ok(CapturedOutput { pipes_left_open: captured.pipes_left_open || is_cut, ..captured })
}

/// Converts a duration to whole milliseconds for `poll(2)`, rounded up. Rounded down, the poll would end just before
/// the deadline and be repeated many times.
fn to_poll_timeout(timeout: Option<Duration>) -> PollTimeout {
    timeout.map_or(PollTimeout::NONE, |timeout| {
        let millis = timeout.as_nanos().div_ceil(1_000_000);
        PollTimeout::try_from(i32::try_from(millis).unwrap_or(i32::MAX)).unwrap_or(PollTimeout::MAX)
    })
}

// The standard input of a command: bytes in memory that no process can change. A file of the store is unsuitable: a process that has a
// descriptor of the file can change the file's mode, even if the file was opened only for reading, and could then write to it. A pipe is
// unsuitable too, because proctor would have to keep writing while the command does not read.

/// The name that `/proc` shows for the in-memory file.
const NAME: &CStr = c"proctor-input";

/// Returns a descriptor from which these bytes can be read (`memfd_create(2)`, sealed).
pub(super) fn sealed_input(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create(NAME, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?);
    file.write_all(bytes)?;
    file.rewind()?;
    let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_rounded_up_and_capped() {
        assert_eq!(to_poll_timeout(None), PollTimeout::NONE);
        assert_eq!(to_poll_timeout(Some(Duration::ZERO)), PollTimeout::ZERO);
        assert_eq!(to_poll_timeout(Some(Duration::from_nanos(1))), PollTimeout::from(1_u8));
        assert_eq!(to_poll_timeout(Some(Duration::MAX)), PollTimeout::MAX);
    }
}

#[cfg(test)]
mod input_tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_bytes_are_read_and_cannot_be_changed() {
        let mut file = File::from(sealed_input(b"prompt").expect("made"));
        let mut read = Vec::new();
        file.read_to_end(&mut read).expect("read");
        assert_eq!(read, b"prompt");
        assert!(file.write_all(b"more").is_err() && file.set_len(0).is_err(), "it is sealed");
    }
}
