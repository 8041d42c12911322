//! The supervisor's side of the launcher: starts it, asks it, hears of it, and cleans up when it is gone.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stdin, dup2_stdout, getpid};

use crate::model::{CommandExit, StopStage, Survivor};
use crate::process::channel::{Arrival, Channel, ChannelError};
use crate::process::clock;
use crate::process::group::{Group, kill_child};
use crate::process::launcher::run_launcher;
use crate::process::process_table::{LiveProcess, NAMED_CAP, read_live_processes, read_survivor};
use crate::process::protocol::{ActionNumber, DescriptorRole, Event, Isolation, Request, Start};
use crate::process::system_calls::{Forked, end_forked, fork_if_single_threaded};

/// The hidden argument that makes an executable of ours the launcher.
pub const LAUNCHER_ARGUMENT: &str = "__launcher";

/// How long the launcher gets to end when its handle is dropped, in milliseconds.
const FAREWELL_MS: u16 = 1000;

/// How often that wait is begun again because a signal interrupted it.
const FAREWELLS: usize = 5;

/// How long the keepers of a lost launcher get to kill what they keep; it takes a few milliseconds.
const KEEPERS_GRACE: Duration = Duration::from_secs(2);

/// How often a lost launcher's session is searched after that; processes that fork meanwhile are found the next time.
const SWEEPS: usize = 3;

/// A child as it is to be started.
#[derive(Clone, PartialEq, Eq)]
pub struct LaunchRequest {
    /// The absolute path of the program; [`crate::process::resolve_program`] finds it.
    pub program: PathBuf,
    /// The argument vector, its own name first.
    pub argv: Vec<OsString>,
    /// The whole environment: nothing else is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// The absolute path of the working directory.
    pub directory: PathBuf,
    /// How it is kept apart.
    pub isolation: Isolation,
    /// Whether another that is kept apart in the same way will probably be asked for next: what that needs is made ready while this one
    /// runs.
    pub another_follows: bool,
    /// What it reads on its standard input, before an end; none: the end at once.
    pub input: Option<Vec<u8>>,
}

impl fmt::Debug for LaunchRequest {
    /// Without the environment: its values may be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = formatter.debug_struct("LaunchRequest");
        printed.field("program", &self.program).field("argv", &self.argv).field("directory", &self.directory);
        printed.finish_non_exhaustive()
    }
}

/// The launcher of this process. When it is dropped the launcher ends, and everything it still runs is killed.
#[derive(Debug)]
pub struct LauncherHandle {
    process: Pid,
    channel: Channel,
    next_number: u64,
    state: LauncherState,
}

/// Whether the launcher can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LauncherState {
    Up,
    /// It was told to end and has not been waited for yet.
    Dismissed,
    Lost,
}

/// Whether the launcher ended when it was told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Farewell {
    Taken,
    Missed,
}

/// What the supervisor hears.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It has seen these.
    Events(Vec<Event>),
    /// It is gone. Whatever it ran has been killed and is named.
    Lost { why: String, survivors: Vec<Survivor> },
}

/// Why the launcher could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LauncherError {
    /// The socket to it.
    #[error("cannot make the launcher's socket")]
    Socket(#[source] io::Error),
    /// The process.
    #[error("cannot start the launcher `{executable}`")]
    Spawn {
        /// The executable.
        executable: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl LauncherHandle {
    /// Starts the launcher and returns without waiting for it: the first request waits in the socket.
    ///
    /// While this process has one thread, the launcher is forked off it and is up at once; what it holds of this process's memory nobody
    /// can read, since it is not dumpable. To be called before anything is opened: a lock would be held by both. Where there are threads,
    /// it is [`LauncherHandle::execute`].
    pub fn start(executable: &Path) -> Result<Self, LauncherError> {
        let (ours, theirs) = UnixStream::pair().map_err(LauncherError::Socket)?;
        let refused = |source| LauncherError::Spawn { executable: executable.to_owned(), source };
        let supervisor = getpid();
        let process = match fork_if_single_threaded().map_err(refused)? {
            Some(Forked::Parent(launcher)) => launcher,
            Some(Forked::Child) => {
                drop(ours);
                let code = let_go_of_streams().map_or(CommandExit::OwnFault.code(), |()| run_launcher(supervisor, theirs.into()));
                end_forked(code)
            }
            None => spawn_launcher(executable, theirs).map_err(refused)?,
        };
        Ok(Self::new(process, ours))
    }

    /// Starts the launcher as `executable __launcher`, with the socket as its standard input: in the place of one that died.
    pub fn execute(executable: &Path) -> Result<Self, LauncherError> {
        let (ours, theirs) = UnixStream::pair().map_err(LauncherError::Socket)?;
        let refused = |source| LauncherError::Spawn { executable: executable.to_owned(), source };
        Ok(Self::new(spawn_launcher(executable, theirs).map_err(refused)?, ours))
    }

    fn new(process: Pid, socket: UnixStream) -> Self {
        Self { process, channel: Channel::new(socket), next_number: 1, state: LauncherState::Up }
    }

    /// Returns the launcher's process id, which is also the session id of everything it starts.
    pub fn process_id(&self) -> Pid {
        self.process
    }

    /// Returns whether the launcher is gone; a new one must then be started. It is only noticed while something is supervised.
    pub fn is_lost(&self) -> bool {
        match self.state {
            LauncherState::Up => false,
            LauncherState::Dismissed | LauncherState::Lost => true,
        }
    }

    /// Tells the launcher to end, which takes it about a millisecond; whoever drops the handle waits for it.
    pub fn dismiss(&mut self) {
        if self.state == LauncherState::Up {
            self.state = LauncherState::Dismissed;
            let _gone = self.channel.shutdown(Shutdown::Write);
        }
    }

    /// Asks for a child and returns the number of its action.
    pub(super) fn ask_start(
        &mut self,
        request: &LaunchRequest,
        descriptors: &[(DescriptorRole, BorrowedFd<'_>)],
    ) -> Result<ActionNumber, ChannelError> {
        let number = ActionNumber(self.next_number);
        self.next_number += 1;
        let start = Start {
            number,
            program: request.program.clone().into_os_string(),
            argv: request.argv.clone(),
            environment: request.environment.clone(),
            directory: request.directory.clone().into_os_string(),
            isolation: request.isolation.clone(),
            another_follows: request.another_follows,
            descriptors: descriptors.iter().map(|(role, _)| *role).collect(),
        };
        let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(|(_, descriptor)| *descriptor).collect();
        self.channel.send(&Request::Start(Box::new(start)), &borrowed)?;
        Ok(number)
    }

    /// Makes ready for the action that is probably started next: what it needs is then there already. It is only ever a help, so
    /// nothing is returned.
    pub fn park(&mut self, isolation: &Isolation) {
        if self.state == LauncherState::Up {
            // That the launcher is gone is noticed by whoever asks it next.
            let _gone = self.channel.send(&Request::Park { isolation: Box::new(isolation.clone()) }, &[]);
        }
    }

    /// Asks for a signal to everything of an action.
    pub(super) fn ask_signal(&self, number: ActionNumber, stage: StopStage) -> Result<(), ChannelError> {
        self.channel.send(&Request::Signal { number, stage }, &[])
    }

    /// Says that the supervisor is done with an action.
    pub(super) fn ask_release(&self, number: ActionNumber) -> Result<(), ChannelError> {
        self.channel.send(&Request::Release { number }, &[])
    }

    /// Returns what to wait for; none once the launcher is lost.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self.state {
            LauncherState::Up => Some(self.channel.as_fd()),
            LauncherState::Dismissed | LauncherState::Lost => None,
        }
    }

    /// Takes what the launcher has said so far about an action, without waiting.
    pub(super) fn hear(&mut self, number: ActionNumber) -> News {
        let mut events = Vec::new();
        loop {
            let arrival = match self.channel.receive() {
                Ok(arrival) => arrival,
                Err(error) => return self.abandon(&error),
            };
            loop {
                match self.channel.next_message::<Event>() {
                    // Events of an action that was given up are of no interest any more.
                    Ok(Some((event, _))) if event.number() == number => events.push(event),
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(error) => return self.abandon(&error),
                }
            }
            match arrival {
                Arrival::Bytes => {}
                // What was said before the end counts; the end is heard the next time.
                Arrival::Closed if events.is_empty() => return self.abandon(&ChannelError::Closed),
                Arrival::Nothing | Arrival::Closed => return News::Events(events),
            }
        }
    }

    /// Waits until the launcher has closed its side, which it does by ending.
    fn wait_for_close(&self) -> Farewell {
        for _ in 0..FAREWELLS {
            // POLLHUP is reported whatever is asked for.
            let mut watched = [PollFd::new(self.channel.as_fd(), PollFlags::empty())];
            match poll(&mut watched, PollTimeout::from(FAREWELL_MS)) {
                Ok(0) => return Farewell::Missed,
                Ok(_) => return Farewell::Taken,
                // Handles are often dropped because a signal came, and more may come.
                Err(Errno::EINTR) => {}
                Err(_) => return Farewell::Missed,
            }
        }
        Farewell::Missed
    }

    /// Kills the launcher and everything of its session, and says how it had ended.
    pub(super) fn abandon(&mut self, error: &ChannelError) -> News {
        self.state = LauncherState::Lost;
        // It may be gone already; then this does nothing. It is not reaped yet, so its session id is still its own.
        kill_child(self.process);
        let survivors = kill_session(self.process);
        let why = match (error, waitpid(self.process, None)) {
            (ChannelError::Closed, Ok(status)) => format!("the launcher has ended: {}", describe(status)),
            (_, Ok(_) | Err(_)) => format!("the launcher was given up: {error}"),
        };
        News::Lost { why, survivors }
    }
}

/// Starts the launcher as a program of its own, with a socket as its standard input.
fn spawn_launcher(executable: &Path, socket: UnixStream) -> io::Result<Pid> {
    let mut command = Command::new(executable);
    // Children get exactly what a request names; the launcher itself needs nothing.
    command.arg(LAUNCHER_ARGUMENT).env_clear().stdin(OwnedFd::from(socket)).stdout(Stdio::null());
    let child = command.spawn()?;
    Ok(Pid::from_raw(i32::try_from(child.id()).expect("the kernel's process ids are positive `int`s")))
}

/// Leaves the streams to the supervisor: a reader of its output must see an end when it ends, not when the launcher does.
fn let_go_of_streams() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    Ok(())
}

fn describe(status: WaitStatus) -> String {
    if let WaitStatus::Signaled(_, signal, _) = status {
        return format!("signal: {} ({})", signal as i32, signal.as_str());
    }
    if let WaitStatus::Exited(_, code) = status { format!("exit status: {code}") } else { format!("{status:?}") }
}

/// Kills every group of a session, and names who was there. Only descendants of its leader can be in a session, so nobody else is
/// hit, save for an id that is used again between the look and the signal.
///
/// Who is in the leader's own group is a keeper. It kills what it keeps by itself, in other sessions too, where nobody but it can
/// find them: so it is waited for, again and again told to go on in case its action has stopped it, and killed only when it takes too
/// long.
fn kill_session(session: Pid) -> Vec<Survivor> {
    let members = || read_live_processes().into_iter().filter(|one| one.session == session && one.pid != session);
    let kept: Vec<LiveProcess> = members().filter(|one| one.group != session).collect();
    let named = kept.iter().take(NAMED_CAP).map(read_survivor).collect();
    let (begun, mut sweeps) = (clock::monotonic(), 0);
    loop {
        let groups: BTreeSet<i32> = members().map(|one| one.group.as_raw()).collect();
        let is_grace = clock::monotonic().since(begun) < KEEPERS_GRACE;
        let spared = is_grace.then(|| session.as_raw());
        let killed = groups.iter().filter(|id| Some(**id) != spared).filter_map(|id| Group::try_from_id(*id).ok());
        for group in killed {
            // A process of another user (set-user-id) refuses; nothing more can be done about it from here.
            let _refused = group.signal(StopStage::Sigkill);
        }
        if is_grace && let Ok(keepers) = Group::try_from_id(session.as_raw()) {
            keepers.resume();
        }
        sweeps += usize::from(!is_grace);
        if groups.is_empty() || sweeps > SWEEPS {
            break;
        }
        let _slept = poll(&mut [], PollTimeout::from(1_u8));
    }
    named
}

impl Drop for LauncherHandle {
    fn drop(&mut self) {
        if self.state == LauncherState::Lost {
            return;
        }
        self.dismiss();
        if self.wait_for_close() == Farewell::Missed {
            let _abandoned = self.abandon(&ChannelError::Closed);
        } else {
            let _reaped = waitpid(self.process, None);
        }
    }
}
