//! The launcher: a single-threaded process that forks a keeper for every action, notices the keeper's end, and kills
//! the remaining processes of the action. A keeper is a process that starts and watches one action.
//!
//! The launcher starts before its supervisor, the proctor process that requests actions, has threads. The launcher
//! knows actions only by number, isolation level and descriptors, and judges no results. It uses the strongest
//! isolation level that the system offers and reports what prevented a stronger one. A keeper that has ended stays a
//! zombie until the supervisor releases the action, so its id is not reused (house style P2). When the supervisor ends
//! for any reason, the launcher kills every action.

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
use signal_hook::flag;
use signal_hook::low_level::pipe;

use crate::process::active_action::ActiveAction;
use crate::process::cgroup::Delegation;
use crate::process::channel::{Channel, ReceiveStatus, ServingError};
use crate::process::group::kill_child;
use crate::process::launcher_keepers::{JoinedNetwork, ParkedKeeper};
use crate::process::level::{LevelRefusal, Levels};
use crate::process::protocol::{ActionNumber, Isolation, LauncherEvent, LauncherRequest, Obstacle, StartAction};
use crate::process::stage::UserAndGroup;
use crate::process::system_calls::{Reaping, mark_close_on_exec_from, wait_child};
use proctor_model::{CommandExit, IsolationLevel, SpawnFailure, StopStage};

/// How often an action is made ready whose places change meanwhile.
const MOST_TRIES: u32 = 3;
/// Signals that the launcher catches without doing anything. Ignoring them would be wrong, because an ignored signal
/// stays ignored after `execve(2)`. A caught signal gets its default action again at `execve(2)`, so that a child
/// reacts to SIGINT even if proctor was started with `nohup` or `&`.
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

/// The signals that wake the launcher: SIGCHLD when a child has ended, and SIGTERM when its parent, the process that
/// requests actions, has ended.
pub(super) const WAKING: [i32; 2] = [signal::SIGCHLD, signal::SIGTERM];

#[derive(Debug)]
pub(super) struct Launcher {
    channel: Channel,
    wake: OwnedFd,
    supervisor: Pid,
    pub(super) identity: UserAndGroup,
    pub(super) levels: Levels,
    pub(super) delegation: Result<Delegation, String>,
    pub(super) open: BTreeMap<ActionNumber, ActiveAction>,
    pub(super) parked: Option<ParkedKeeper>,
    /// What the last rehearsal of an early command has said, with the key of the command.
    pub(super) listed: Option<(String, String)>,
    /// For open actions: the isolation of the next action. Once the open action is over, a keeper (the process that
    /// watches one action) is forked in advance with this isolation.
    pub(super) followed: BTreeMap<ActionNumber, Isolation>,
    /// Keepers of released actions (each watched one action), to be reaped when they have ended.
    pub(super) released: Vec<Pid>,
}

/// Runs the launcher, the helper process that starts actions, until the process that requests actions is gone. The
/// socket between the two is this process's standard input.
///
/// `main` calls only this function when the first argument is [`crate::process::LAUNCHER_ARGUMENT`]. The exit code is 0
/// after an orderly end and 70 (`CommandExit::OwnFault`) otherwise; it only helps debugging.
pub fn launcher_main() -> ExitCode {
    let socket = io::stdin().as_fd().try_clone_to_owned().map_err(ServingError::Prepare);
    ExitCode::from(socket.map_or(CommandExit::OwnFault.code(), |socket| run_launcher(getppid(), socket)))
}

/// Runs the launcher (the process that starts actions) with a socket to `supervisor`, the process that requests
/// actions. Returns the exit code.
pub(super) fn run_launcher(supervisor: Pid, socket: OwnedFd) -> u8 {
    let outcome = Launcher::prepare(supervisor, socket).and_then(|mut launcher| {
        let outcome = launcher.serve();
        launcher.kill_everything();
        outcome
    });
    outcome.map_or(CommandExit::OwnFault.code(), |()| 0)
}

impl Launcher {
    /// Sets up this process as a launcher, before the first action is started.
    fn prepare(supervisor: Pid, socket: OwnedFd) -> Result<Self, ServingError> {
        let (wake, waker) = io::pipe().map_err(ServingError::Prepare)?;
        for number in WAKING {
            let waker = waker.try_clone().map_err(ServingError::Prepare)?;
            pipe::register(number, waker).map_err(ServingError::Prepare)?;
        }
        let nothing = Arc::new(AtomicBool::new(false));
        for number in CAUGHT {
            flag::register(number, Arc::clone(&nothing)).map_err(ServingError::Prepare)?;
        }
        detach_from_supervisor(supervisor).map_err(ServingError::Prepare)?;
        Ok(Self {
            channel: Channel::new(UnixStream::from(socket)),
            wake: wake.into(),
            supervisor,
            identity: UserAndGroup::own(),
            levels: Levels::default(),
            delegation: Delegation::find(),
            open: BTreeMap::new(),
            parked: None,
            listed: None,
            followed: BTreeMap::new(),
            released: Vec::new(),
        })
    }

    fn serve(&mut self) -> Result<(), ServingError> {
        loop {
            let Ready { requests, woken, keepers } = self.wait()?;
            if woken {
                self.drain_wake();
                if getppid() != self.supervisor {
                    return Ok(());
                }
            }
            if requests && self.take_requests()? == ReceiveStatus::Closed {
                return Ok(());
            }
            for number in keepers {
                self.receive_keeper_events(number)?;
            }
            self.check_keepers()?;
        }
    }

    fn wait(&self) -> Result<Ready, ServingError> {
        let keepers: Vec<ActionNumber> =
            self.open.iter().filter(|(_, action)| action.may_send_events()).map(|(number, _)| *number).collect();
        let mut watched =
            vec![PollFd::new(self.channel.as_fd(), PollFlags::POLLIN), PollFd::new(self.wake.as_fd(), PollFlags::POLLIN)];
        let descriptors = keepers.iter().filter_map(|number| self.open.get(number)).map(|action| action.keeper.descriptor());
        watched.extend(descriptors.map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN)));
        match poll(&mut watched, PollTimeout::NONE) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(ServingError::Wait(errno.into())),
        }
        let is_ready = |watched: &PollFd<'_>| watched.any().unwrap_or(true);
        let (requests, woken) = (is_ready(&watched[0]), is_ready(&watched[1]));
        let keepers = keepers.into_iter().zip(&watched[2..]).filter(|(_, watched)| is_ready(watched)).map(|(number, _)| number);
        Ok(Ready { requests, woken, keepers: keepers.collect() })
    }

    fn drain_wake(&self) {
        let mut bytes = [0; 64];
        // One read is enough: unread bytes wake the launcher again, and every check looks at all actions.
        let _woken = read(&self.wake, &mut bytes);
    }

    fn take_requests(&mut self) -> Result<ReceiveStatus, ServingError> {
        let arrival = self.channel.receive()?;
        while let Some((request, descriptors)) = self.channel.next_message::<LauncherRequest>()? {
            match request {
                LauncherRequest::Start(mut start) => {
                    let (network, descriptors) = JoinedNetwork::take(&mut start, descriptors);
                    self.start(&start, descriptors, network.as_ref())?;
                    if start.child.another_follows {
                        self.prepare_next(*start, network.as_ref());
                    }
                }
                LauncherRequest::Signal { number, stage } => self.signal(number, stage),
                LauncherRequest::Park { isolation, early } => self.park(*isolation, None, early.map(|early| *early)),
                LauncherRequest::Release { number } => self.release(number),
            }
        }
        Ok(arrival)
    }

    /// Starts an action at the strongest isolation level that works. Reports `NotStarted` if every level that the
    /// request accepts fails, or if an obstacle has nothing to do with the level. Reports `Vanished` if the keeper (the process
    /// that starts the action) failed.
    fn start(
        &mut self,
        start: &StartAction,
        descriptors: Vec<OwnedFd>,
        network: Option<&JoinedNetwork>,
    ) -> Result<(), ServingError> {
        let number = start.number;
        match self.start_parked(start, &descriptors, network) {
            Some(Ok(action)) => {
                self.open.insert(number, action);
                return self.receive_keeper_events(number);
            }
            Some(Err(why)) => return Ok(self.channel.send(&LauncherEvent::Vanished { number, why, group: None }, &[])?),
            None => {}
        }
        let mut tries = 0;
        loop {
            let level = self.levels.best(start.child.isolation.strongest);
            if level > start.child.isolation.weakest {
                let why = self.levels.obstacles(level).join("; ");
                // Only the settings ask for namespaces, unless there is a snapshot, which no weaker level can show to an action.
                let wish = match start.child.isolation.snapshot {
                    Some(_) => "a snapshot needs namespaces",
                    None => "`sandbox.mode = \"require\"` wants namespaces",
                };
                let failure = SpawnFailure::NotIsolated { why: format!("{wish}, and {why}") };
                return Ok(self.channel.send(&LauncherEvent::NotStarted { number, failure }, &[])?);
            }
            let obstacle = match self.start_fresh(level, start, &descriptors, network) {
                Ok(action) => {
                    self.levels.note_working(level);
                    self.open.insert(number, action);
                    return self.receive_keeper_events(number);
                }
                Err(obstacle) => obstacle,
            };
            tries += 1;
            if obstacle == Obstacle::Stale && tries < MOST_TRIES {
                continue;
            }
            // Neither says anything about the tree or the machine: the same run may be carried out again.
            if matches!(obstacle, Obstacle::Keeper(_) | Obstacle::Stale) {
                let vanished = LauncherEvent::Vanished { number, why: obstacle.to_string(), group: None };
                return Ok(self.channel.send(&vanished, &[])?);
            }
            if let Obstacle::Level(why) = &obstacle
                && level != IsolationLevel::ProcessGroup
                && self.levels.note_refused(level, why.clone()) == LevelRefusal::GivenUp
            {
                continue;
            }
            let event = LauncherEvent::NotStarted { number, failure: SpawnFailure::NotIsolated { why: obstacle.to_string() } };
            return Ok(self.channel.send(&event, &[])?);
        }
    }

    fn signal(&mut self, number: ActionNumber, stage: StopStage) {
        let Some(action) = self.open.get(&number) else {
            return;
        };
        match stage {
            StopStage::Sigkill => action.kill(),
            StopStage::Sigint | StopStage::Sigabrt | StopStage::Sigterm => action.keeper.signal(stage),
        }
    }

    fn release(&mut self, number: ActionNumber) {
        let Some(mut action) = self.open.remove(&number) else { return };
        // The kill is done even if the action seems to be over, because no process of an action may outlive its
        // release. At the level `namespace`, `end_keeper` does it.
        if action.keeper.level != IsolationLevel::Namespace {
            action.kill();
        }
        self.end_keeper(&action.keeper);
        // An action that was never started still has its cgroup.
        let _unused = action.close_group();
        if let Some(isolation) = self.followed.remove(&number) {
            self.park(isolation, None, None);
        }
    }

    /// Receives the events of an action's keeper (the process that watches it) and passes them on to the supervisor.
    fn receive_keeper_events(&mut self, number: ActionNumber) -> Result<(), ServingError> {
        let Some(action) = self.open.get_mut(&number) else {
            return Ok(());
        };
        // A keeper that sends something unreadable is killed with its action, as if the keeper had failed.
        let events = action.receive_events(number, &self.levels).unwrap_or_else(|_| {
            kill_child(action.keeper.process);
            Vec::new()
        });
        Ok(events.iter().try_for_each(|event| self.channel.send(event, &[]))?)
    }

    /// Handles keepers (the processes that watch one action each) that have ended. At the namespace level the kernel
    /// has killed the keeper's action too; at the other levels this function kills it.
    fn check_keepers(&mut self) -> Result<(), ServingError> {
        self.reap_released();
        let numbers: Vec<ActionNumber> = self.open.keys().copied().collect();
        for number in numbers {
            let Some(action) = self.open.get(&number).filter(|action| !action.is_over()) else { continue };
            let Ok(Some(ended)) = wait_child(action.keeper.process, Reaping::Keep) else { continue };
            // The keeper's last events may still be in the socket, so they are read before the keeper's end is
            // reported.
            self.receive_keeper_events(number)?;
            self.kill_strays();
            let Some(action) = self.open.get_mut(&number) else { continue };
            let events = action.close(number, ended.status);
            events.iter().try_for_each(|event| self.channel.send(event, &[]))?;
        }
        Ok(())
    }

    fn kill_everything(&mut self) {
        if let Some(parked) = &self.parked {
            kill_child(parked.keeper.process);
        }
        self.followed.clear();
        self.open.values().for_each(ActiveAction::kill_at_the_end);
        // A keeper that its action has stopped (SIGSTOP) cannot kill anything, so the launcher kills every action
        // itself.
        let open: Vec<ActionNumber> = self.open.keys().copied().collect();
        open.into_iter().for_each(|number| self.release(number));
    }
}

struct Ready {
    requests: bool,
    woken: bool,
    keepers: Vec<ActionNumber>,
}

/// Detaches this process from the supervisor, the process that started it: from its terminal, working directory and
/// signal mask.
fn detach_from_supervisor(supervisor: Pid) -> io::Result<()> {
    // In a session of its own, this process is reached neither by ^C at a terminal nor by a hangup, and its children
    // cannot open the terminal.
    setsid()?;
    set_dumpable(false)?;
    set_child_subreaper(true)?;
    // This signal is a second way to notice the supervisor's end, in addition to the socket. SIGTERM is caught; SIGKILL
    // would end the launcher before it could kill the actions. The signal also arrives if only the thread that started
    // the launcher ends, so the launcher checks its parent's id before it acts.
    set_pdeathsig(Signal::SIGTERM)?;
    if getppid() != supervisor {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe));
    }
    mark_close_on_exec_from(3)?;
    // std's Command does not reset the signal mask, so a signal that is blocked here would be blocked in every child.
    SigSet::empty().thread_set_mask()?;
    // A working directory would keep its file system from being unmounted.
    chdir("/")?;
    Ok(())
}
