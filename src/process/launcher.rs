//! The launcher: one single-threaded process that starts every child, sees its end, and kills what is left of it.
//!
//! It is started before its supervisor has threads, knows nothing but numbers, groups and descriptors, and judges nothing. A
//! leader that has ended stays a zombie until the supervisor releases the action, so its group id is never a stranger's (P2).
//! When the supervisor is gone, by whatever way, everything is killed.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::{set_child_subreaper, set_dumpable, set_pdeathsig};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, chdir, getppid, read, setsid};
use signal_hook::consts::signal;
use signal_hook::{flag, low_level::pipe};

use crate::model::{CommandExit, StopStage};
use crate::process::channel::{Arrival, Channel, ChannelError};
use crate::process::child::spawn_child;
use crate::process::group::Group;
use crate::process::process_table::{read_members, read_own_children};
use crate::process::protocol::{ActionNumber, Event, Request, Start};
use crate::process::system_calls::{Reaping, mark_close_on_exec_from, wait_child};

/// How often a group is looked at whose leader has ended and whose members have not, in milliseconds. Their ends are not always
/// ours to see: a member may be another member's child.
const LINGERING_MS: u16 = 25;

/// Signals that do nothing to the launcher. They are caught rather than ignored, because what is caught is at its default again
/// after `execve(2)` and what is ignored stays ignored: a child must feel SIGINT although proctor was started with `nohup` or `&`.
const CAUGHT: [i32; 20] = [
    signal::SIGHUP,
    signal::SIGINT,
    signal::SIGQUIT,
    signal::SIGTRAP,
    signal::SIGUSR1,
    signal::SIGUSR2,
    signal::SIGPIPE,
    signal::SIGALRM,
    signal::SIGTERM,
    signal::SIGCONT,
    signal::SIGTSTP,
    signal::SIGTTIN,
    signal::SIGTTOU,
    signal::SIGURG,
    signal::SIGXCPU,
    signal::SIGXFSZ,
    signal::SIGVTALRM,
    signal::SIGPROF,
    signal::SIGWINCH,
    signal::SIGIO,
];

/// The signals that wake the launcher: a child has ended, or its supervisor has.
const WAKING: [i32; 2] = [signal::SIGCHLD, signal::SIGTERM];

/// Where an open action stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// Its leader runs.
    Running,
    /// Its leader has ended, others of its group have not.
    Lingering,
    /// Nobody of its group is alive.
    Empty,
}

/// An action that was started and not yet released.
#[derive(Debug)]
struct OpenAction {
    group: Group,
    stand: Stand,
}

/// The launcher's whole state.
#[derive(Debug)]
struct Launcher {
    channel: Channel,
    wake: OwnedFd,
    supervisor: Pid,
    open: BTreeMap<ActionNumber, OpenAction>,
    /// Leaders that were released before they had ended; they are reaped when they have.
    released: Vec<Pid>,
}

/// Why the launcher cannot go on. Nobody reads it: the supervisor sees the socket close.
#[derive(Debug, thiserror::Error)]
enum ServeError {
    #[error("cannot make the launcher's process what it must be")]
    Prepare(#[source] io::Error),
    #[error("cannot talk to the supervisor")]
    Channel(#[from] ChannelError),
    #[error("cannot wait for something to happen")]
    Wait(#[source] io::Error),
}

/// Runs the launcher on the socket that is this process's standard input, until the supervisor is gone.
///
/// `main` calls this, and nothing else, when the first argument is [`crate::process::LAUNCHER_ARGUMENT`]. The exit code is 0
/// after an orderly end and 70 (`CommandExit::OwnFault`) otherwise; nobody but a debugger reads it.
pub fn launcher_main() -> ExitCode {
    let socket = io::stdin().as_fd().try_clone_to_owned().map_err(ServeError::Prepare);
    ExitCode::from(socket.map_or(CommandExit::OwnFault.code(), |socket| run_launcher(getppid(), socket)))
}

/// Runs the launcher on a socket, and returns its exit code.
pub(super) fn run_launcher(supervisor: Pid, socket: OwnedFd) -> u8 {
    let outcome = Launcher::prepare(supervisor, socket).and_then(|mut launcher| {
        let outcome = launcher.serve();
        launcher.kill_everything();
        outcome
    });
    outcome.map_or(CommandExit::OwnFault.code(), |()| 0)
}

impl Launcher {
    /// Makes this process what a launcher must be, before anything is started.
    fn prepare(supervisor: Pid, socket: OwnedFd) -> Result<Self, ServeError> {
        let (wake, waker) = io::pipe().map_err(ServeError::Prepare)?;
        for number in WAKING {
            let waker = waker.try_clone().map_err(ServeError::Prepare)?;
            pipe::register(number, waker).map_err(ServeError::Prepare)?;
        }
        let nothing = Arc::new(AtomicBool::new(false));
        for number in CAUGHT {
            flag::register(number, Arc::clone(&nothing)).map_err(ServeError::Prepare)?;
        }
        settle(supervisor).map_err(ServeError::Prepare)?;
        let channel = Channel::new(UnixStream::from(socket));
        Ok(Self { channel, wake: wake.into(), supervisor, open: BTreeMap::new(), released: Vec::new() })
    }

    fn serve(&mut self) -> Result<(), ServeError> {
        loop {
            let is_lingering = self.open.values().any(|action| action.stand == Stand::Lingering);
            let timeout = if is_lingering { PollTimeout::from(LINGERING_MS) } else { PollTimeout::NONE };
            let mut watched =
                [PollFd::new(self.channel.as_fd(), PollFlags::POLLIN), PollFd::new(self.wake.as_fd(), PollFlags::POLLIN)];
            match poll(&mut watched, timeout) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(ServeError::Wait(errno.into())),
            }
            let has_requests = watched[0].any().unwrap_or(true);
            if watched[1].any().unwrap_or(true) {
                self.drain_wake();
                if getppid() != self.supervisor {
                    return Ok(());
                }
            }
            if has_requests && self.take_requests()? == Arrival::Closed {
                return Ok(());
            }
            self.look_at_children()?;
        }
    }

    fn drain_wake(&self) {
        let mut bytes = [0; 64];
        // One read suffices: whatever is left wakes us again, and every look is at all children.
        let _woken = read(&self.wake, &mut bytes);
    }

    fn take_requests(&mut self) -> Result<Arrival, ServeError> {
        let arrival = self.channel.receive()?;
        while let Some((request, descriptors)) = self.channel.next_message::<Request>()? {
            match request {
                Request::Start(start) => self.start(&start, descriptors)?,
                Request::Signal { number, stage } => self.signal(number, stage),
                Request::Release { number } => self.release(number),
            }
        }
        Ok(arrival)
    }

    fn start(&mut self, start: &Start, descriptors: Vec<OwnedFd>) -> Result<(), ServeError> {
        let number = start.number;
        let event = match spawn_child(start, descriptors) {
            Ok(group) => {
                self.open.insert(number, OpenAction { group, stand: Stand::Running });
                Event::Started { number, pid: group.id().as_raw() }
            }
            Err(failure) => Event::NotStarted { number, failure },
        };
        Ok(self.channel.send(&event, &[])?)
    }

    fn signal(&self, number: ActionNumber, stage: StopStage) {
        if let Some(action) = self.open.get(&number) {
            // A member of another user (set-user-id) refuses while the others are signalled; who is left is seen later.
            let _refused = action.group.signal(stage);
        }
    }

    fn release(&mut self, number: ActionNumber) {
        let Some(action) = self.open.remove(&number) else {
            return;
        };
        // Always, even if nobody was seen: `/proc` is not read in one moment, and this is the last moment the id is surely ours.
        let _refused = action.group.signal(StopStage::Sigkill);
        self.released.push(action.group.id());
        self.reap_released();
    }

    /// Looks whether a leader has ended or a group has emptied, and reaps what nobody asks about any more.
    fn look_at_children(&mut self) -> Result<(), ServeError> {
        self.reap_released();
        let strangers = self.reap_orphans();
        let mut events = Vec::new();
        for (&number, action) in &mut self.open {
            match action.stand {
                Stand::Running => {
                    let Ok(Some(ended)) = wait_child(action.group.id(), Reaping::Keep) else {
                        continue;
                    };
                    let survivors = if strangers == Orphans::None { Vec::new() } else { read_members(action.group.id()) };
                    action.stand = if survivors.is_empty() { Stand::Empty } else { Stand::Lingering };
                    events.push(Event::Ended { number, status: ended.status, usage: ended.usage, survivors });
                }
                Stand::Lingering if strangers == Orphans::None || read_members(action.group.id()).is_empty() => {
                    action.stand = Stand::Empty;
                    events.push(Event::Emptied { number });
                }
                Stand::Lingering | Stand::Empty => {}
            }
        }
        events.iter().try_for_each(|event| self.channel.send(event, &[])).map_err(ServeError::Channel)
    }

    fn reap_released(&mut self) {
        self.released.retain(|leader| matches!(wait_child(*leader, Reaping::Reap), Ok(None)));
    }

    /// Reaps dead orphans of actions, which come to us as their subreaper, and says whether there may be living ones.
    ///
    /// This is what makes the end of a well-behaved action cheap: a leader that has ended leaves its living descendants to us, so
    /// as long as we have no child but leaders, no group without a leader has a member, and `/proc` need not be searched.
    fn reap_orphans(&self) -> Orphans {
        let Some(children) = read_own_children() else {
            return Orphans::Possible;
        };
        let is_leader =
            |child: &Pid| self.released.contains(child) || self.open.values().any(|action| action.group.id() == *child);
        let mut orphans = Orphans::None;
        for child in children.iter().filter(|child| !is_leader(child)) {
            match wait_child(*child, Reaping::Reap) {
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => orphans = Orphans::Possible,
            }
        }
        orphans
    }

    fn kill_everything(&self) {
        for action in self.open.values() {
            let _refused = action.group.signal(StopStage::Sigkill);
        }
    }
}

/// Whether processes of actions live on as children of the launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Orphans {
    None,
    Possible,
}

/// Cuts the process off from what it was started from.
fn settle(supervisor: Pid) -> io::Result<()> {
    // A session of its own: neither ^C at a terminal nor a hangup reaches it, and its children cannot reach the terminal.
    setsid()?;
    set_dumpable(false)?;
    set_child_subreaper(true)?;
    // The second line beside the socket's end. It is a signal we catch, not SIGKILL: killed, we could not kill the groups any
    // more. It also comes when only the supervisor's thread ends, so the parent is looked at before it is believed.
    set_pdeathsig(Signal::SIGTERM)?;
    if getppid() != supervisor {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe));
    }
    mark_close_on_exec_from(3)?;
    // std's Command leaves the mask as it is, so what is blocked here would be blocked in every child.
    SigSet::empty().thread_set_mask()?;
    // A working directory would keep a file system from being unmounted.
    chdir("/")?;
    Ok(())
}
