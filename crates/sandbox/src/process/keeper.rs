//! The keeper: the process that starts one action's leader (its first process), reaps the processes that the leader
//! leaves behind, and reports how the leader ended.
//!
//! At the namespace level the keeper is the first process of the action's pid namespace: when it ends for any reason,
//! the kernel kills everything in the namespace. At the other levels the keeper is the subreaper of its descendants and
//! kills them itself. The keeper is forked from the launcher (the process that starts actions) and exchanges messages
//! only with the launcher. The action cannot read the keeper's memory, because the keeper is made non-dumpable before
//! any process of the action exists.

mod left_processes;

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::{set_child_subreaper, set_dumpable, set_pdeathsig};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, setsid};

use crate::process::action_mark::mark_this_process;
use crate::process::cgroup::Cgroup;
use crate::process::channel::{Channel, ChannelError, ReceiveStatus, ServingError};
use crate::process::child::{spawn_child, spawn_confined};
use crate::process::confine::{
    ConfineError, confine_by_landlock, confine_in_namespaces, filter_system_calls, landlock_obstacle, renounce_capabilities,
};
use crate::process::early::{EarlyStart, ReadyCommand};
use crate::process::group::{ProcessGroup, kill_descendants, terminate_descendants_outside};
use crate::process::process_count::limit_processes;
use crate::process::process_table::has_children;
use crate::process::protocol::{Isolation, KeeperEvent, KeeperRequest, Obstacle, RemainingProcesses, StartAction};
use crate::process::stage::{StagedFileSystem, UserAndGroup, stage};
use crate::process::sums::Sums;
use crate::process::system_calls::{Reaping, close_all_but, join_own_session_keyring, lower_priority, wait_child};
use crate::process::written::WrittenPlaces;
use proctor_model::{
    Access, DurationMs, EarlyUse, IsolationLevel, LimitKind, NetworkAccess, Sandbox, SpawnFailure, StopStage, SystemCallFilter,
};

/// How a keeper, the process that starts and watches one action, isolates this action.
#[derive(Clone, Copy)]
pub(super) struct KeeperIsolation<'a> {
    pub(super) level: IsolationLevel,
    /// The isolation of the action. A parked keeper was forked before its action was known; this is then the isolation
    /// that the next action will probably have.
    pub(super) isolation: &'a Isolation,
    /// The action's cgroup, if it has one. All processes of the action start in it.
    pub(super) group: Option<&'a Cgroup>,
}

/// The settings and descriptors that a keeper, the process that starts and watches one action, gets when it is forked.
pub(super) struct KeeperSetup<'a> {
    pub(super) isolation: KeeperIsolation<'a>,
    /// The user and group of the launcher, as the launcher's namespace names them.
    pub(super) identity: UserAndGroup,
    /// Whether the keeper has joined a network of the run's own.
    pub(super) has_network: bool,
    pub(super) socket: UnixStream,
    /// The action to start. `None` for a parked keeper, which is forked before its action is known and receives the
    /// action later.
    pub(super) start: Option<(&'a StartAction, Vec<OwnedFd>)>,
    /// The command that a parked keeper starts before its action is known.
    pub(super) early: Option<EarlyStart>,
}

struct Keeper {
    level: IsolationLevel,
    channel: Channel,
    children: SignalFd,
    staged: Option<StagedFileSystem>,
    stand: ActionState,
    sums: Sums,
    /// Where the action writes, if that has a limit.
    written: Option<WrittenPlaces>,
    /// Whether a signal that asks the action to end was sent.
    is_stopping: bool,
    /// The command that is started before the action is known.
    early: Option<EarlyStart>,
    /// The command that is to go on as the action, or why none is.
    ready: Result<ReadyCommand, EarlyUse>,
    /// The filter of the action that this keeper was forked in advance for.
    filter: SystemCallFilter,
    /// The processor time that the leader had used before it was given the action.
    used_before: (DurationMs, DurationMs),
}

enum ActionState {
    Waiting,
    Running(ProcessGroup),
    /// The leader (the action's main process) has ended, but other processes of the action have not. The leader stays a
    /// zombie, so that its group id is not reused (house style P2). Inside a pid namespace it may be reaped, because
    /// only a process of the same action could get the id again.
    Lingering(ProcessGroup),
    /// No process of the action is left, and this was reported to the launcher, the parent process. The launcher ends
    /// this keeper when the action is released.
    Told,
    /// No process is left, or nothing was started.
    Over,
}

/// Runs a keeper, which starts and watches one action, in the process that was forked for it. Returns the process's
/// exit code.
pub(super) fn run_keeper(commission: KeeperSetup<'_>) -> u8 {
    match serve(commission) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn serve(commission: KeeperSetup<'_>) -> Result<(), ServingError> {
    let KeeperSetup { isolation: KeeperIsolation { level, isolation, group }, identity, has_network, socket, start, early } =
        commission;
    let descriptors = start.iter().flat_map(|(_, descriptors)| descriptors).map(|descriptor| descriptor.as_raw_fd());
    close_all_but(&[0, 1, 2].into_iter().chain([socket.as_raw_fd()]).chain(descriptors).collect::<Vec<_>>());
    let mut keeper = Keeper::prepare(level, socket).map_err(ServingError::Prepare)?;
    let is_enforced = group.is_some_and(Cgroup::has_memory_limit);
    if let Some(Err(error)) = group.map(Cgroup::enter) {
        let why = format!("cannot enter the cgroup of an action: {error}");
        return Ok(keeper.send_event(&KeeperEvent::Unready(Obstacle::Level(why)))?);
    }
    let needs_landlock = matches!(level, IsolationLevel::Cgroup | IsolationLevel::Landlock);
    if let Some(why) = needs_landlock.then(landlock_obstacle).flatten() {
        return Ok(keeper.send_event(&KeeperEvent::Unready(Obstacle::Level(why)))?);
    }
    if level == IsolationLevel::Namespace {
        // In a network of the run's own there is nothing to forbid.
        let forbidden = if has_network { NetworkAccess::Open } else { isolation.network };
        let confine = || confine_in_namespaces(forbidden).map_err(|error| Obstacle::Place(to_line(&error)));
        match stage(identity, isolation.sandbox.as_ref(), isolation.output.as_deref())
            .and_then(|staged| confine().map(|()| staged))
        {
            Ok(staged) => {
                limit_processes(isolation.resources.processes).map_err(ServingError::Prepare)?;
                keeper.staged = Some(staged);
            }
            Err(obstacle) => return Ok(keeper.send_event(&KeeperEvent::Unready(obstacle))?),
        }
    }
    // If the launcher was killed, sending it an event fails. The code below then still kills the leader (the action's
    // main process).
    let started = match start {
        Some((start, descriptors)) => {
            keeper.sums.most_memory = start.child.isolation.resources.memory.filter(|_| !is_enforced);
            keeper.start(start, descriptors)
        }
        None => {
            keeper.early = early.filter(|_| level == IsolationLevel::Namespace);
            keeper.filter = isolation.filter;
            keeper.send_event(&KeeperEvent::Ready).map_err(ServingError::Channel)
        }
    };
    let outcome = started.and_then(|()| keeper.follow());
    if outcome.is_err() && level != IsolationLevel::Namespace {
        keeper.kill_all();
    }
    outcome
}

impl Keeper {
    fn prepare(level: IsolationLevel, socket: UnixStream) -> io::Result<Self> {
        mark_this_process()?;
        forbid_core_files()?;
        if level == IsolationLevel::Namespace {
            setsid()?;
            // The keeper normally ends because the socket closes. At this level it may also be killed with its parent: the kernel
            // then kills the whole namespace.
            set_pdeathsig(Signal::SIGKILL)?;
        } else {
            // If this keeper were killed, it could no longer kill its action. So it is not killed with the launcher; it
            // notices the launcher's end by the closed socket.
            set_pdeathsig(None)?;
            set_child_subreaper(true)?;
        }
        set_dumpable(false)?;
        // The action must neither read the keys of the session in which proctor was started nor leave keys there. If a
        // container's filter denies the call, or the kernel has no keyrings, the action cannot use them either.
        let _not_to_be_had = join_own_session_keyring();
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGCHLD);
        mask.thread_set_mask()?;
        let children = SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self {
            level,
            channel: Channel::new(socket),
            children,
            staged: None,
            stand: ActionState::Waiting,
            sums: Sums::default(),
            written: None,
            is_stopping: false,
            early: None,
            ready: Err(EarlyUse::NotTried),
            filter: SystemCallFilter::WherePossible,
            used_before: Default::default(),
        })
    }

    fn send_event(&self, event: &KeeperEvent) -> Result<(), ChannelError> {
        self.channel.send(event, &[])
    }

    fn follow(&mut self) -> Result<(), ServingError> {
        // The leader, the action's main process, may have ended before SIGCHLD was watched. So the children are checked
        // once at the beginning.
        let mut has_news = true;
        loop {
            if has_news {
                self.check_children()?;
            }
            if matches!(self.stand, ActionState::Over) {
                return Ok(());
            }
            let mut watched =
                vec![PollFd::new(self.channel.as_fd(), PollFlags::POLLIN), PollFd::new(self.children.as_fd(), PollFlags::POLLIN)];
            let said = self.early.as_ref().and_then(EarlyStart::descriptor);
            watched.extend(said.map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN)));
            let written = self.written.as_ref().map(WrittenPlaces::patience);
            let next_look = self.sums.patience().into_iter().chain(written).min().map_or(PollTimeout::NONE, PollTimeout::from);
            let patience = self.early.as_ref().map_or(next_look, EarlyStart::patience);
            match poll(&mut watched, patience) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(ServingError::Wait(errno.into())),
            }
            let has_requests = watched[0].any().unwrap_or(true);
            self.look_at(Sums::exceeded)?;
            self.look_at_written(WrittenPlaces::is_full)?;
            // Which child the signal is about does not matter: every check looks at all children.
            has_news = has_requests;
            while let Ok(Some(_)) = self.children.read_signal() {
                has_news = true;
            }
            if has_requests {
                self.take_requests()?;
            }
            self.step_early()?;
        }
    }

    fn step_early(&mut self) -> Result<(), ServingError> {
        // A signal that comes while none is blocked wakes nobody.
        if self.early.is_none() {
            return Ok(());
        }
        let filter = self.filter;
        let confine = || renounce_capabilities().and_then(|()| filter_system_calls(filter)).map_err(|error| not_isolated(&error));
        let unblocked = SigSet::thread_get_mask().and_then(|mask| SigSet::empty().thread_set_mask().map(|()| mask));
        let listed = self.early.as_mut().and_then(|early| early.step(confine));
        let _blocked_again = unblocked.and_then(|mask| mask.thread_set_mask());
        Ok(listed.map_or(Ok(()), |list| self.send_event(&KeeperEvent::Listed(list)))?)
    }

    /// Tells the launcher which limit was exceeded, if one was.
    fn look_at(&mut self, exceeded: impl FnOnce(&mut Sums) -> Option<LimitKind>) -> Result<(), ServingError> {
        exceeded(&mut self.sums).map_or(Ok(()), |limit| Ok(self.send_event(&KeeperEvent::LimitExceeded(limit))?))
    }

    /// Tells the launcher, once, that the action has written as much as it may.
    fn look_at_written(&mut self, is_full: impl FnOnce(&mut WrittenPlaces) -> bool) -> Result<(), ServingError> {
        if self.written.as_mut().is_some_and(is_full) {
            self.written = None;
            self.send_event(&KeeperEvent::LimitExceeded(LimitKind::Written))?;
        }
        Ok(())
    }

    fn take_requests(&mut self) -> Result<(), ServingError> {
        let arrival = self.channel.receive()?;
        while let Some((request, descriptors)) = self.channel.next_message::<KeeperRequest>()? {
            match request {
                KeeperRequest::Run(start) => self.start_if_current(&start, descriptors)?,
                KeeperRequest::Signal(stage) => self.signal(stage),
            }
        }
        match arrival {
            ReceiveStatus::Closed => Err(ChannelError::Closed.into()),
            ReceiveStatus::Bytes | ReceiveStatus::Nothing => Ok(()),
        }
    }

    /// Starts the action for which this keeper was forked in advance. If a path of the sandbox was replaced in the
    /// meantime, reports [`Obstacle::Stale`] instead.
    fn start_if_current(&mut self, start: &StartAction, descriptors: Vec<OwnedFd>) -> Result<(), ServingError> {
        // The project is covered until then, so it would look replaced.
        self.ready = self.early.take().map_or(Err(EarlyUse::NotTried), |early| early.uncover(start));
        // What a refused command left would run beside the action and see its snapshot: another keeper, with a namespace of its own, has none.
        let has_strays = matches!(self.ready, Err(EarlyUse::Refused(_))) && has_children(&[]);
        if has_strays || self.staged.as_ref().is_some_and(|staged| !staged.is_current()) {
            self.stand = ActionState::Over;
            return Ok(self.send_event(&KeeperEvent::Unready(Obstacle::Stale))?);
        }
        self.sums.most_memory = start.child.isolation.resources.memory;
        self.start(start, descriptors)
    }

    fn start(&mut self, start: &StartAction, descriptors: Vec<OwnedFd>) -> Result<(), ServingError> {
        // A signal that is blocked here would stay blocked in every child. If a child ends before the mask is restored,
        // the next check finds it.
        let mask = SigSet::thread_get_mask().and_then(|mask| SigSet::empty().thread_set_mask().map(|()| mask));
        let spawned = self.spawn(start, descriptors);
        let _blocked_again = mask.and_then(|mask| mask.thread_set_mask());
        match spawned {
            Ok((group, early)) => {
                self.stand = ActionState::Running(group);
                self.send_event(&KeeperEvent::LeaderStarted(early))?;
            }
            Err(failure) => {
                self.stand = ActionState::Over;
                self.send_event(&KeeperEvent::LeaderNotStarted(failure))?;
            }
        }
        Ok(())
    }

    /// Starts the leader, the action's main process, with the restrictions of the isolation level.
    fn spawn(&mut self, start: &StartAction, descriptors: Vec<OwnedFd>) -> Result<(ProcessGroup, EarlyUse), SpawnFailure> {
        // The action inherits it from this process, which does little. A command that was started early gets it too.
        let nice = start.child.isolation.resources.nice;
        if nice > 0 {
            let early = self.ready.as_ref().ok().map(ReadyCommand::process);
            early.into_iter().chain([Pid::this()]).for_each(|process| lower_priority(process, nice));
        }
        if self.level == IsolationLevel::Namespace {
            self.sums.count_processes(start.child.isolation.resources.processes);
        }
        let (sandbox, output) = (start.child.isolation.sandbox.as_ref(), start.child.isolation.output.as_deref());
        let ready = std::mem::replace(&mut self.ready, Err(EarlyUse::NotTried));
        if let Some(staged) = &self.staged {
            let (snapshot, dropped) = (start.child.isolation.snapshot.as_ref(), start.child.isolation.dropped.as_ref());
            staged.finish(output, snapshot, dropped).map_err(|error| not_isolated(&error))?;
            let most = start.child.isolation.resources.written;
            self.written = most.map(|most| staged.written_places(most, snapshot, dropped));
        }
        let filter = start.child.isolation.filter;
        match self.level {
            // No process in the namespace can signal its first process, so the keeper may share the leader's restrictions.
            IsolationLevel::Namespace => {
                let confined = renounce_capabilities().and_then(|()| filter_system_calls(filter));
                confined.map_err(|error| not_isolated(&error))?;
                let early = match ready.and_then(|ready| ready.hand_over(start, &descriptors)) {
                    Ok(handed) => {
                        self.used_before = handed.used_before;
                        return Ok((handed.group, EarlyUse::Used));
                    }
                    Err(early) => early,
                };
                spawn_child(start, descriptors).map(|group| (group, early))
            }
            IsolationLevel::Cgroup | IsolationLevel::Landlock => {
                let confine = || confine_by_landlock(&start.child.isolation).and_then(|()| filter_system_calls(filter));
                let start = with_empty_git_settings(start, sandbox);
                let group = spawn_confined(&start, descriptors, || confine().map_err(|error| not_isolated(&error)));
                group.map(|group| (group, EarlyUse::NotTried))
            }
            IsolationLevel::ProcessGroup if filter == SystemCallFilter::Required => {
                Err(not_isolated(&ConfineError::NoFilter("commands that are kept by nothing but a process group have none")))
            }
            IsolationLevel::ProcessGroup => spawn_child(start, descriptors).map(|group| (group, EarlyUse::NotTried)),
            IsolationLevel::Remote => Err(not_isolated(&ConfineError::NoFilter("commands for a server do not start here"))),
        }
    }

    fn signal(&mut self, stage: StopStage) {
        let (ActionState::Running(group) | ActionState::Lingering(group)) = &self.stand else {
            return;
        };
        match stage {
            StopStage::Sigint | StopStage::Sigabrt | StopStage::Sigterm => {
                let _refused = group.signal(stage);
                self.is_stopping = true;
                self.terminate_left_behind();
            }
            StopStage::Sigkill => self.kill_all(),
        }
    }

    /// Asks the processes to end that the leader (the action's main process) left behind in other groups, when the action
    /// is being stopped. No earlier signal reached them, so without this each stop would last until SIGKILL. While the
    /// leader lives, stopping them is its own affair.
    fn terminate_left_behind(&self) {
        if let ActionState::Lingering(group) = &self.stand
            && self.is_stopping
        {
            terminate_descendants_outside(*group);
        }
    }

    /// Kills every living process of the action. At the namespace level this is not needed: the launcher kills this
    /// keeper, and the kernel then kills the whole namespace.
    fn kill_all(&self) {
        if let ActionState::Running(group) | ActionState::Lingering(group) = &self.stand {
            let _refused = group.signal(StopStage::Sigkill);
        }
        let spared =
            || self.leader().filter(|leader| !matches!(wait_child(*leader, Reaping::Keep), Ok(None))).into_iter().collect();
        let _seen_at_the_next_look = kill_descendants(spared, || self.reap_orphans());
    }

    /// Checks whether the leader (the action's main process) or all processes of the action have ended, and reaps
    /// orphans that became children of this process.
    fn check_children(&mut self) -> Result<(), ServingError> {
        match self.stand {
            ActionState::Waiting | ActionState::Told | ActionState::Over => {}
            ActionState::Running(group) => {
                let Ok(Some(mut ended)) = wait_child(group.id(), Reaping::Keep) else {
                    self.reap_orphans();
                    return Ok(());
                };
                let (user, system) = self.used_before;
                ended.usage.user.0 = ended.usage.user.0.saturating_sub(user.0);
                ended.usage.system.0 = ended.usage.system.0.saturating_sub(system.0);
                ended.used_git = self.staged.as_ref().is_some_and(StagedFileSystem::has_git_read);
                self.look_at_written(|places| places.is_full_at_end())?;
                self.look_at(|sums| sums.exceeded_at_end(&ended))?;
                let others = self.others();
                self.stand = match others {
                    RemainingProcesses::Nobody => ActionState::Told,
                    RemainingProcesses::NoneFound => ActionState::Over,
                    RemainingProcesses::Alive(_) => ActionState::Lingering(group),
                };
                self.send_event(&KeeperEvent::LeaderEnded { leader: ended, others })?;
                self.terminate_left_behind();
            }
            ActionState::Lingering(_) => {
                self.reap_orphans();
                if !has_children(self.leader().as_slice()) {
                    self.stand = ActionState::Over;
                }
            }
        }
        Ok(())
    }

    fn leader(&self) -> Option<Pid> {
        match self.stand {
            ActionState::Running(group) | ActionState::Lingering(group) => Some(group.id()),
            ActionState::Waiting | ActionState::Told | ActionState::Over => None,
        }
    }
}

/// Lets this process and all processes that it starts write no core files when a signal ends them: one in the project would be a change of the
/// tree that is tested. A process that wants one can still raise the limit.
fn forbid_core_files() -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_CORE)?;
    Ok(setrlimit(Resource::RLIMIT_CORE, 0, hard)?)
}

fn not_isolated(error: &dyn std::error::Error) -> SpawnFailure {
    SpawnFailure::NotIsolated { why: to_line(error) }
}

fn to_line(error: &dyn std::error::Error) -> String {
    let cause = error.source().map_or(String::new(), |source| format!(": {source}"));
    format!("{error}{cause}")
}

/// Returns the action with an empty file in place of the user's own git settings. Without namespaces HOME is not empty but closed, and git
/// gives up if it may not read its settings there.
fn with_empty_git_settings(start: &StartAction, sandbox: Option<&Sandbox>) -> StartAction {
    const SETTINGS: &str = "GIT_CONFIG_GLOBAL";
    let mut start = start.clone();
    let home = start.child.environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| Path::new(home));
    let is_closed = |home: &Path| {
        let mut places = sandbox.into_iter().flat_map(|sandbox| &sandbox.places);
        places.any(|place| place.path == home && place.access == Access::Hidden)
    };
    if home.is_some_and(is_closed) && start.child.environment.iter().all(|(name, _)| name != SETTINGS) {
        start.child.environment.push((SETTINGS.into(), "/dev/null".into()));
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_files_are_forbidden_and_can_be_allowed_again() {
        let (_, before) = getrlimit(Resource::RLIMIT_CORE).expect("our limits");
        forbid_core_files().expect("a soft limit can be lowered");
        assert_eq!(getrlimit(Resource::RLIMIT_CORE).expect("our limits"), (0, before));
    }
}
