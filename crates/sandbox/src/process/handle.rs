//! Controls the launcher, the helper process that starts actions: starts the launcher, sends requests to it, receives
//! its events, and cleans up when the launcher is gone.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stdin, dup2_stdout, getpid};

use crate::process::channel::{Channel, ChannelError, ReceiveStatus};
use crate::process::clock;
use crate::process::group::{ProcessGroup, kill_child};
use crate::process::launcher::run_launcher;
use crate::process::process_table::{LiveProcess, NAMED_CAP, memory_of_commands, read_live_processes, read_survivor};
use crate::process::protocol::{
    ActionNumber, DescriptorRole, EarlyCommand, Isolation, LaunchedChild, LauncherEvent, LauncherRequest, StartAction,
};
use crate::process::restart::restore_open_files_limit_of;
use crate::process::run_network::RunNetwork;
use crate::process::system_calls::{Forked, end_forked, fork_if_single_threaded};
use proctor_model::{CommandExit, StopStage, Survivor};

/// The hidden argument that makes a proctor executable run as the launcher.
pub const LAUNCHER_ARGUMENT: &str = "__launcher";

/// The time limit in milliseconds for the launcher (the process that starts actions) to end when its handle is dropped.
/// After that it is killed.
const FAREWELL_MS: u16 = 1000;

/// The most waits for the launcher's end. A wait that a signal interrupts is repeated.
const FAREWELLS: usize = 5;

/// The time limit for the keepers of a lost launcher (each watches one action) to kill their actions' processes. They
/// usually take a few milliseconds; keepers that take longer are killed.
const KEEPERS_GRACE: Duration = Duration::from_secs(2);

/// After `KEEPERS_GRACE`, the session of a lost launcher is searched once, and at most this many times more. A single
/// search would miss processes that fork during the search.
const SWEEPS: usize = 3;

/// What messages call the launcher, because people do not know the word.
const LAUNCHER: &str = "the launcher (the process of proctor that starts commands)";

/// A child to be started, and its input.
#[derive(Debug, Clone)]
pub struct LaunchRequest {
    pub child: LaunchedChild,
    /// The network of the run that the child asks for; `None` for the machine's.
    pub network: Option<Arc<RunNetwork>>,
    /// The bytes of the child's standard input; `None` for an empty input.
    pub input: Option<Vec<u8>>,
}

/// The launcher, the helper process that starts actions. Dropping the handle ends the launcher and kills every action
/// that still runs.
#[derive(Debug)]
pub struct LauncherHandle {
    process: Pid,
    channel: Channel,
    next_number: u64,
    state: LauncherState,
}

/// Whether the launcher, the helper process that starts actions, can take requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LauncherState {
    Up,
    /// The launcher was asked to end and has not been reaped yet.
    Dismissed,
    Lost,
}

/// Whether the launcher ended within [`FAREWELL_MS`] after it was asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Farewell {
    Taken,
    Missed,
}

/// The result of reading from the launcher's socket.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LauncherUpdate {
    Events(Vec<LauncherEvent>),
    /// The launcher has ended or was given up. All processes that it had started were killed; `survivors` names the
    /// processes that were found.
    Lost {
        why: String,
        survivors: Vec<Survivor>,
    },
}

/// Why the launcher, the helper process that starts actions, could not be started. The fault is always proctor's or the
/// machine's, never a command's.
#[derive(Debug, thiserror::Error)]
pub enum LauncherError {
    #[error("cannot make the launcher's socket")]
    Socket(#[source] io::Error),
    #[error("cannot start the launcher `{executable}`")]
    Spawn { executable: PathBuf, source: io::Error },
}

impl LauncherHandle {
    /// Starts the launcher and returns without waiting until it is ready: a request that is sent earlier waits in the
    /// socket.
    ///
    /// While this process has one thread, it forks the launcher, which is then ready at once. No other process can read
    /// the copied memory, because the launcher is not dumpable. Call this function before opening any lock file,
    /// because otherwise both processes would hold the lock. If this process has several threads,
    /// [`LauncherHandle::execute`] is used instead.
    pub fn start(executable: &Path) -> Result<Self, LauncherError> {
        let (ours, theirs) = UnixStream::pair().map_err(LauncherError::Socket)?;
        let refused = |source| LauncherError::Spawn { executable: executable.to_owned(), source };
        let supervisor = getpid();
        let process = match fork_if_single_threaded().map_err(refused)? {
            Some(Forked::Parent(launcher)) => launcher,
            Some(Forked::Child) => {
                drop(ours);
                let code =
                    replace_standard_streams().map_or(CommandExit::OwnFault.code(), |()| run_launcher(supervisor, theirs.into()));
                end_forked(code)
            }
            None => spawn_launcher(executable, theirs).map_err(refused)?,
        };
        Ok(Self::new(process, ours))
    }

    /// Starts the launcher as `executable __launcher`, with the socket as its standard input. A launcher that died is
    /// replaced in the same way.
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

    /// Returns the memory, in bytes, of the commands that its parked keepers have started.
    pub fn memory_of_commands(&self) -> u64 {
        memory_of_commands(self.process)
    }

    /// Returns whether the launcher is gone or was asked to end, so that a new one must be started. A launcher's death
    /// is only noticed while an action is supervised.
    pub fn is_lost(&self) -> bool {
        match self.state {
            LauncherState::Up => false,
            LauncherState::Dismissed | LauncherState::Lost => true,
        }
    }

    /// Asks the launcher to end, which takes about a millisecond. Dropping the handle waits for the launcher's end.
    pub fn dismiss(&mut self) {
        if self.state == LauncherState::Up {
            self.state = LauncherState::Dismissed;
            let _gone = self.channel.shutdown(Shutdown::Write);
        }
    }

    /// Requests the start of a child and returns the number of its action.
    pub(super) fn ask_start(
        &mut self,
        request: &LaunchRequest,
        descriptors: &[(DescriptorRole, BorrowedFd<'_>)],
    ) -> Result<ActionNumber, ChannelError> {
        let number = ActionNumber(self.next_number);
        self.next_number += 1;
        let start = StartAction {
            number,
            child: request.child.clone(),
            descriptors: descriptors.iter().map(|(role, _)| *role).collect(),
        };
        let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(|(_, descriptor)| *descriptor).collect();
        self.channel.send(&LauncherRequest::Start(Box::new(start)), &borrowed)?;
        Ok(number)
    }

    /// Asks the launcher to prepare a keeper (the process that starts and watches one action) for the action that will
    /// probably start next. The launcher does not answer. If no keeper is prepared, the action only starts more slowly.
    ///
    /// `early` is a command that is started in it, and that may go on as the action.
    pub fn park(&mut self, isolation: &Isolation, early: Option<EarlyCommand>) {
        if self.state == LauncherState::Up {
            // If the launcher is gone, the next request notices it.
            let _gone = self
                .channel
                .send(&LauncherRequest::Park { isolation: Box::new(isolation.clone()), early: early.map(Box::new) }, &[]);
        }
    }

    /// Requests a signal to all processes of an action.
    pub(super) fn ask_signal(&self, number: ActionNumber, stage: StopStage) -> Result<(), ChannelError> {
        self.channel.send(&LauncherRequest::Signal { number, stage }, &[])
    }

    /// Tells the launcher to kill the remaining processes of an action and to forget the action.
    pub(super) fn ask_release(&self, number: ActionNumber) -> Result<(), ChannelError> {
        self.channel.send(&LauncherRequest::Release { number }, &[])
    }

    /// Returns the socket to the launcher, to poll it for events; `None` once the launcher is lost or was dismissed.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self.state {
            LauncherState::Up => Some(self.channel.as_fd()),
            LauncherState::Dismissed | LauncherState::Lost => None,
        }
    }

    /// Receives the launcher's events about one action, without waiting.
    pub(super) fn receive_events(&mut self, number: ActionNumber) -> LauncherUpdate {
        let mut events = Vec::new();
        loop {
            let arrival = match self.channel.receive() {
                Ok(arrival) => arrival,
                Err(error) => return self.abandon(&error),
            };
            loop {
                match self.channel.next_message::<LauncherEvent>() {
                    // Events about any other action are dropped: that action was given up.
                    Ok(Some((event, _))) if event.number() == number => events.push(event),
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(error) => return self.abandon(&error),
                }
            }
            match arrival {
                ReceiveStatus::Bytes => {}
                // Return the events that came before the end; the next call reports the end.
                ReceiveStatus::Closed if events.is_empty() => return self.abandon(&ChannelError::Closed),
                ReceiveStatus::Nothing | ReceiveStatus::Closed => return LauncherUpdate::Events(events),
            }
        }
    }

    /// Waits until the launcher has closed its side of the socket, which happens when the launcher ends. The wait is
    /// limited by [`FAREWELL_MS`].
    fn wait_for_close(&self) -> Farewell {
        for _ in 0..FAREWELLS {
            // POLLHUP is reported even when no event is asked for.
            let mut watched = [PollFd::new(self.channel.as_fd(), PollFlags::empty())];
            match poll(&mut watched, PollTimeout::from(FAREWELL_MS)) {
                Ok(0) => return Farewell::Missed,
                Ok(_) => return Farewell::Taken,
                // Handles are often dropped because a signal came, and further signals may interrupt this wait.
                Err(Errno::EINTR) => {}
                Err(_) => return Farewell::Missed,
            }
        }
        Farewell::Missed
    }

    /// Kills the launcher and all processes of its session. The returned update says how the launcher had ended.
    pub(super) fn abandon(&mut self, error: &ChannelError) -> LauncherUpdate {
        self.state = LauncherState::Lost;
        // Does nothing if the launcher has ended already. It has not been reaped, so its session id cannot have been
        // reused.
        kill_child(self.process);
        let survivors = kill_session(self.process);
        let why = match (error, waitpid(self.process, None)) {
            (ChannelError::Closed, Ok(status)) => format!("{LAUNCHER} has ended: {}", describe(status)),
            (_, Ok(_) | Err(_)) => format!("{LAUNCHER} was given up: {error}"),
        };
        LauncherUpdate::Lost { why, survivors }
    }
}

/// Starts the launcher by executing it, with a socket as its standard input.
fn spawn_launcher(executable: &Path, socket: UnixStream) -> io::Result<Pid> {
    let mut command = Command::new(executable);
    // A child gets exactly the environment that its request names. The launcher itself needs no environment.
    command.arg(LAUNCHER_ARGUMENT).env_clear().stdin(OwnedFd::from(socket)).stdout(Stdio::null());
    let child = command.spawn()?;
    let launcher = Pid::from_raw(i32::try_from(child.id()).expect("the kernel's process ids are positive `int`s"));
    // If this fails, actions have the service's limit on open files. It is higher than usual, which disturbs few
    // programs.
    let _kept_high = restore_open_files_limit_of(launcher);
    Ok(launcher)
}

/// Replaces the launcher's standard input and standard output by `/dev/null`. Otherwise a program that reads the
/// supervisor's output would wait for the launcher's end, not only for the supervisor's.
fn replace_standard_streams() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    Ok(())
}

fn describe(status: WaitStatus) -> String {
    match status {
        WaitStatus::Exited(_, code) => format!("exit status: {code}"),
        WaitStatus::Signaled(_, signal, _) => format!("signal: {} ({})", signal as i32, signal.as_str()),
        // `waitpid` returns these states only if they are requested, which is not the case here.
        WaitStatus::Stopped(..)
        | WaitStatus::PtraceEvent(..)
        | WaitStatus::PtraceSyscall(_)
        | WaitStatus::Continued(_)
        | WaitStatus::StillAlive => "its status says that it has not ended".to_owned(),
    }
}

/// Kills every process group of a session and returns the processes that it found. Only descendants of the session's
/// leader can be in the session. So no other process is hit, unless an id is reused between the search and the signal.
///
/// The processes in the group of the session's leader (the launcher) are keepers, each of which watches one action. A
/// keeper kills its own action, whose processes may be in other sessions, where only the keeper can find them. So this
/// function waits for the keepers. It sends them SIGCONT repeatedly, in case an action has stopped its keeper, and
/// kills them only when they take too long.
fn kill_session(session: Pid) -> Vec<Survivor> {
    let members = || read_live_processes().into_iter().filter(|one| one.session == session && one.pid != session);
    let kept: Vec<LiveProcess> = members().filter(|one| one.group != session).collect();
    let named = kept.iter().take(NAMED_CAP).map(read_survivor).collect();
    let (begun, mut sweeps) = (clock::monotonic(), 0);
    loop {
        let groups: BTreeSet<i32> = members().map(|one| one.group.as_raw()).collect();
        let is_grace = clock::monotonic().since(begun) < KEEPERS_GRACE;
        let spared = is_grace.then(|| session.as_raw());
        let killed = groups.iter().filter(|id| Some(**id) != spared).filter_map(|id| ProcessGroup::try_from_id(*id).ok());
        for group in killed {
            // A process of another user (set-user-id) cannot be signalled; nothing more can be done about it from here.
            let _refused = group.signal(StopStage::Sigkill);
        }
        if is_grace && let Ok(keepers) = ProcessGroup::try_from_id(session.as_raw()) {
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
