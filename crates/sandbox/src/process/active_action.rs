//! The launcher's view of a keeper, the process that starts and watches one action: the requests that the launcher
//! sends to the keeper, the events that the keeper sends back, and which of these events the launcher has passed on to
//! the supervisor (the part of proctor that requested the action).

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;

use crate::process::cgroup::Cgroup;
use crate::process::channel::{Channel, ChannelError, ReceiveStatus};
use crate::process::group::{kill_child, resume_child};
use crate::process::level::Levels;
use crate::process::protocol::{
    ActionNumber, EndedChild, Isolation, KeeperEvent, KeeperRequest, LaunchedChild, LauncherEvent, LeaderStatus, Obstacle,
    RemainingProcesses, StartAction,
};
use proctor_model::{GroupUsage, IsolationLevel, LimitKind, StopStage, UnenforcedLimit};

/// The time limit in milliseconds for a new keeper (the process that starts one action) to report that it is ready. A
/// keeper usually takes about one millisecond.
const READY_MS: u16 = 10_000;

/// What messages call a keeper, because people do not know the word.
const KEEPER: &str = "the keeper (the process of proctor that starts and watches the command)";

/// A keeper, the process that starts and watches one action. The launcher has forked it and has not reaped it yet.
#[derive(Debug)]
pub(super) struct KeeperHandle {
    pub(super) process: Pid,
    pub(super) level: IsolationLevel,
    channel: Channel,
    /// Events from the keeper that arrived while the launcher waited for a certain other event. `receive_events`
    /// handles them later.
    unhandled: Vec<KeeperEvent>,
    /// What the rehearsal of its early command has said.
    pub(super) listed: Option<String>,
}

/// An action that was started, with its keeper (the process that watches it). The supervisor has not released the
/// action yet, so the launcher must not forget it.
#[derive(Debug)]
pub(super) struct ActiveAction {
    pub(super) keeper: KeeperHandle,
    told: SentState,
    group: Option<Cgroup>,
    /// The limit that the keeper has seen exceeded.
    exceeded: Option<LimitKind>,
    /// The limits that were asked for and are not enforced. They are moved into the `Started` event when it is made.
    unenforced: Vec<UnenforcedLimit>,
    /// Why the action has not the network that it asked for. It is moved into the `Started` event too.
    network_obstacle: Option<String>,
    /// The `Started` event, if it was not sent yet. The supervisor does not wait for this event, so it is sent together
    /// with the next event: waking the supervisor only for this event would cost the action time.
    started: Option<LauncherEvent>,
}

/// Which events about an action the launcher has already sent to the supervisor.
#[derive(Debug)]
enum SentState {
    Started,
    /// The end of the leader (the action's main process) is known but not yet reported. It is reported only after the
    /// keeper has ended, because only then is it certain that no process of the action is left.
    EndPending(EndedChild),
    /// The end of the leader (the action's main process) was reported, but other processes of the action were still
    /// alive then.
    Ended,
    /// The supervisor was told that no process of the action is left.
    Over,
}

impl KeeperHandle {
    pub(super) fn new(process: Pid, level: IsolationLevel, socket: UnixStream) -> Self {
        Self { process, level, channel: Channel::new(socket), unhandled: Vec::new(), listed: None }
    }

    /// Returns the launcher's end of the keeper's socket. It is readable when the keeper has sent an event or has
    /// ended.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Waits at most [`READY_MS`] until a parked keeper (one that was forked before its action was known) is ready for
    /// an action.
    pub(super) fn await_ready(&mut self) -> Result<(), Obstacle> {
        match self.await_event()? {
            KeeperEvent::Ready => Ok(()),
            KeeperEvent::Unready(obstacle) => Err(obstacle),
            KeeperEvent::Listed(_)
            | KeeperEvent::LeaderStarted(_)
            | KeeperEvent::LeaderNotStarted(_)
            | KeeperEvent::LimitExceeded(_)
            | KeeperEvent::LeaderEnded { .. } => Err(silent("sent what is not understood")),
        }
    }

    /// Sends the action to a parked keeper (one that was forked before its action was known), which has joined the cgroup `group`.
    pub(super) fn give_action(
        &self,
        start: &StartAction,
        descriptors: &[OwnedFd],
        group: Option<&Cgroup>,
    ) -> Result<(), ChannelError> {
        let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(OwnedFd::as_fd).collect();
        // The keeper has prepared the sandbox already, so the request need not describe it again.
        let mut isolation = Isolation { sandbox: None, ..start.child.isolation.clone() };
        isolation.resources.memory = isolation.resources.memory.filter(|_| !group.is_some_and(Cgroup::has_memory_limit));
        let request = KeeperRequest::Run(Box::new(StartAction {
            child: LaunchedChild { isolation, ..start.child.clone() },
            ..start.clone()
        }));
        self.channel.send(&request, &borrowed)
    }

    /// Waits at most [`READY_MS`] until the keeper's action was started or could not be started.
    pub(super) fn await_start(&mut self) -> Result<(), Obstacle> {
        match self.await_event() {
            // At the process-group level nothing protects the keeper from the action's main process. That process may
            // have killed the keeper before the keeper could report the start. The launcher then handles the keeper's
            // end as it does at any later moment.
            Err(_) if self.level == IsolationLevel::ProcessGroup => Ok(()),
            Err(obstacle) | Ok(KeeperEvent::Unready(obstacle)) => Err(obstacle),
            Ok(
                event @ (KeeperEvent::Ready
                | KeeperEvent::Listed(_)
                | KeeperEvent::LeaderStarted(_)
                | KeeperEvent::LeaderNotStarted(_)
                | KeeperEvent::LimitExceeded(_)
                | KeeperEvent::LeaderEnded { .. }),
            ) => {
                self.unhandled.push(event);
                Ok(())
            }
        }
    }

    /// Requests a signal to all processes of the action. If the keeper is gone, the request fails silently, because the
    /// launcher notices the keeper's end by waiting for the process.
    pub(super) fn signal(&self, stage: StopStage) {
        let _gone = self.channel.send(&KeeperRequest::Signal(stage), &[]);
    }

    /// Makes the keeper kill its action and end, by closing the socket: a keeper does the same when the launcher is
    /// gone. A keeper that was stopped (SIGSTOP) is then continued, so that it notices this: at the weaker levels an
    /// action can stop its keeper.
    pub(super) fn abandon(&self) {
        let _gone = self.channel.shutdown(Shutdown::Both);
        resume_child(self.process);
    }

    fn await_event(&mut self) -> Result<KeeperEvent, Obstacle> {
        loop {
            let message = self.channel.next_message().map_err(|error| silent(&error.to_string()))?;
            match message {
                Some((KeeperEvent::Listed(list), _)) => {
                    self.listed = Some(list);
                    continue;
                }
                Some((event, _)) => return Ok(event),
                None => {}
            }
            let mut watched = [PollFd::new(self.channel.as_fd(), PollFlags::POLLIN)];
            match poll(&mut watched, PollTimeout::from(READY_MS)) {
                Ok(0) => return Err(silent("did not come up in time")),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(silent(&io::Error::from(errno).to_string())),
            }
            match self.channel.receive() {
                Ok(ReceiveStatus::Closed) | Err(_) => return Err(silent("ended before it was ready")),
                Ok(ReceiveStatus::Bytes | ReceiveStatus::Nothing) => {}
            }
        }
    }
}

fn silent(what: &str) -> Obstacle {
    Obstacle::Keeper(format!("{KEEPER} {what}"))
}

impl ActiveAction {
    /// Returns an action whose keeper is about to start it, or has started it.
    pub(super) fn new(keeper: KeeperHandle, group: Option<Cgroup>, unenforced: Vec<UnenforcedLimit>) -> Self {
        let (told, exceeded) = (SentState::Started, None);
        Self { keeper, told, group, exceeded, unenforced, network_obstacle: None, started: None }
    }

    /// Returns the action with the obstacle that says why it has not the network that it asked for.
    pub(super) fn without_network(self, obstacle: Option<String>) -> Self {
        Self { network_obstacle: obstacle, ..self }
    }

    /// Returns whether the keeper (the process that watches the action) may still send events.
    pub(super) fn may_send_events(&self) -> bool {
        !matches!(self.told, SentState::EndPending { .. } | SentState::Over)
    }

    /// Returns whether the supervisor knows that no process of the action is left.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.told, SentState::Over)
    }

    /// Kills every process of the action. The kernel kills them at the level `namespace`, and at the level `cgroup`
    /// if it can kill a whole cgroup. Otherwise the keeper is asked to kill them.
    pub(super) fn kill(&self) {
        match self.keeper.level {
            IsolationLevel::Namespace => kill_child(self.keeper.process),
            IsolationLevel::Cgroup if self.group.as_ref().is_some_and(|group| group.kill().is_ok()) => {}
            IsolationLevel::Cgroup | IsolationLevel::Landlock | IsolationLevel::ProcessGroup | IsolationLevel::Remote => {
                self.keeper.signal(StopStage::Sigkill);
            }
        }
    }

    /// Kills every process of the action and removes the action's cgroup, because the launcher is about to end.
    pub(super) fn kill_at_the_end(&self) {
        self.kill();
        if let Some(group) = &self.group {
            group.clear();
            let _removed_by_the_next = group.remove();
        }
    }

    /// Receives the events that the keeper has sent, and returns the events for the supervisor.
    pub(super) fn receive_events(&mut self, number: ActionNumber, levels: &Levels) -> Result<Vec<LauncherEvent>, ChannelError> {
        let _closed_is_seen_by_its_end = self.keeper.channel.receive()?;
        let mut unhandled = std::mem::take(&mut self.keeper.unhandled);
        while let Some((event, _)) = self.keeper.channel.next_message()? {
            unhandled.push(event);
        }
        let mut events = Vec::new();
        for event in unhandled {
            if let Some(event) = self.note(number, event, levels) {
                events.extend(self.started.take());
                events.push(event);
            }
        }
        // Without namespaces a service is in the machine's network, whatever was asked for. proctor has to know it to look for it there.
        if self.keeper.level != IsolationLevel::Namespace {
            events.extend(self.started.take());
        }
        Ok(events)
    }

    fn note(&mut self, number: ActionNumber, event: KeeperEvent, levels: &Levels) -> Option<LauncherEvent> {
        let level = self.keeper.level;
        match event {
            KeeperEvent::Ready | KeeperEvent::Listed(_) => None,
            KeeperEvent::LeaderStarted(early) => {
                let unenforced = std::mem::take(&mut self.unenforced);
                let obstacles = levels.obstacles(level).into_iter().chain(self.network_obstacle.take()).collect();
                self.started = Some(LauncherEvent::Started { number, level, obstacles, unenforced, early });
                None
            }
            KeeperEvent::LeaderNotStarted(failure) => {
                self.told = SentState::Over;
                Some(LauncherEvent::NotStarted { number, failure })
            }
            KeeperEvent::Unready(obstacle) => {
                self.told = SentState::Over;
                let failure = proctor_model::SpawnFailure::NotIsolated { why: obstacle.to_string() };
                Some(LauncherEvent::NotStarted { number, failure })
            }
            KeeperEvent::LimitExceeded(limit) => {
                self.exceeded = Some(limit);
                // More processes than it may have are no harm: the kernel has refused them, and the command has failed.
                if limit != LimitKind::Pids {
                    self.kill();
                }
                None
            }
            KeeperEvent::LeaderEnded { leader, others } => self.note_end(number, leader, others),
        }
    }

    fn note_end(&mut self, number: ActionNumber, leader: EndedChild, others: RemainingProcesses) -> Option<LauncherEvent> {
        let group = self.with_exceeded_limit(None);
        let ended = |survivors| LauncherEvent::Ended { number, leader, survivors, group };
        let (told, event) = match others {
            RemainingProcesses::Alive(survivors) => (SentState::Ended, Some(ended(survivors))),
            // With a cgroup, the end is reported later: the cgroup's resource usage is complete only after the keeper,
            // itself a member, has ended.
            RemainingProcesses::Nobody if self.group.is_none() => (SentState::Over, Some(ended(Vec::new()))),
            RemainingProcesses::Nobody => {
                self.kill();
                (SentState::EndPending(leader), None)
            }
            RemainingProcesses::NoneFound => (SentState::EndPending(leader), None),
        };
        self.told = told;
        event
    }

    /// Notes that the keeper has ended and that no process of the action is left. Returns the events that the launcher
    /// must send to the supervisor.
    pub(super) fn close(&mut self, number: ActionNumber, keeper: LeaderStatus) -> Vec<LauncherEvent> {
        // If the action has no memory limit and the kernel killed its processes because memory ran out, the machine's memory
        // ran out, so no limit of the action was exceeded.
        let has_memory_limit =
            self.exceeded == Some(LimitKind::Memory) || self.group.as_ref().is_some_and(Cgroup::has_memory_limit);
        let group = self.close_group();
        let group = self.with_exceeded_limit(group);
        let event = match std::mem::replace(&mut self.told, SentState::Over) {
            SentState::EndPending(leader) => Some(LauncherEvent::Ended { number, leader, survivors: Vec::new(), group }),
            SentState::Ended => Some(LauncherEvent::Emptied { number, group }),
            SentState::Started => {
                let group = group.map(|usage| GroupUsage { memory_exceeded: usage.memory_exceeded && has_memory_limit, ..usage });
                Some(LauncherEvent::Vanished { number, why: describe(keeper), group })
            }
            SentState::Over => None,
        };
        self.started.take().into_iter().chain(event).collect()
    }

    /// Adds to the resources that a cgroup has measured the limit that the keeper has seen exceeded.
    fn with_exceeded_limit(&self, group: Option<GroupUsage>) -> Option<GroupUsage> {
        let Some(exceeded) = self.exceeded else { return group };
        let mut group = group.unwrap_or_default();
        group.memory_exceeded |= exceeded == LimitKind::Memory;
        group.processes_exceeded |= exceeded == LimitKind::Pids;
        group.written_exceeded |= exceeded == LimitKind::Written;
        Some(group)
    }

    /// Kills the remaining processes in the action's cgroup and removes the cgroup. Returns the resources that its
    /// processes used.
    pub(super) fn close_group(&mut self) -> Option<GroupUsage> {
        let group = self.group.take()?;
        group.clear();
        let usage = group.usage();
        let _still_dying = group.remove();
        Some(usage)
    }
}

fn describe(status: LeaderStatus) -> String {
    let how = match status {
        LeaderStatus::Exited { code } => format!("ended with exit status {code}"),
        LeaderStatus::Signalled { signal } => format!("was ended by signal {signal}"),
    };
    format!("{KEEPER} {how} before it said how the command ended")
}
