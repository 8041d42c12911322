//! The launcher's side of a keeper: what was asked of it, what it has said, and what the supervisor was told of that.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;

use crate::model::{GroupUsage, IsolationLevel, StopStage};
use crate::process::cgroup::Cgroup;
use crate::process::channel::{Arrival, Channel, ChannelError};
use crate::process::group::kill_child;
use crate::process::level::Levels;
use crate::process::protocol::{
    ActionNumber, EndedChild, Event, Isolation, KeeperEvent, KeeperRequest, LeaderStatus, Obstacle, Others, Start,
};

/// How long a keeper gets to become ready, in milliseconds; it takes about one.
const READY_MS: u16 = 10_000;

/// A keeper that was forked and not reaped.
#[derive(Debug)]
pub(super) struct KeeperHandle {
    pub(super) process: Pid,
    pub(super) level: IsolationLevel,
    channel: Channel,
    /// What it said while something else was waited for.
    heard: Vec<KeeperEvent>,
}

/// An action that was started and not yet released: its keeper, and what that has said.
#[derive(Debug)]
pub(super) struct OpenAction {
    pub(super) keeper: KeeperHandle,
    told: Told,
    group: Option<Cgroup>,
    /// That it was started. Nobody waits for it, so it is told with whatever comes next: a supervisor that is not woken disturbs nobody.
    started: Option<Event>,
}

/// What the supervisor was told of an action.
#[derive(Debug)]
enum Told {
    /// It was started.
    Started,
    /// Nothing yet of the end that is known: it is told when the keeper has ended too, since only then nobody is left for certain.
    EndPending(EndedChild),
    /// Its end, and that others were still alive.
    Ended,
    /// That nobody is left.
    Over,
}

impl KeeperHandle {
    /// Returns the handle of a keeper.
    pub(super) fn new(process: Pid, level: IsolationLevel, socket: UnixStream) -> Self {
        Self { process, level, channel: Channel::new(socket), heard: Vec::new() }
    }

    /// Returns what to wait for.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    /// Waits until a parked keeper is ready for a leader, within a bound.
    pub(super) fn await_ready(&mut self) -> Result<(), Obstacle> {
        match self.await_event()? {
            KeeperEvent::Ready => Ok(()),
            KeeperEvent::Unready(obstacle) => Err(obstacle),
            KeeperEvent::Started | KeeperEvent::NotStarted(_) | KeeperEvent::Ended { .. } => Err(silent("is not understood")),
        }
    }

    /// Gives a parked keeper its action, and waits until that was started or could not be.
    pub(super) fn run(&mut self, start: &Start, descriptors: &[OwnedFd]) -> Result<(), Obstacle> {
        let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(OwnedFd::as_fd).collect();
        // It is staged already: its sandbox need not be told again.
        let isolation = Isolation { sandbox: None, ..start.isolation.clone() };
        let request = KeeperRequest::Run(Box::new(Start { isolation, ..start.clone() }));
        self.channel.send(&request, &borrowed).map_err(|error| silent(&error.to_string()))?;
        self.await_start()
    }

    /// Waits until its action was started or could not be, within a bound.
    pub(super) fn await_start(&mut self) -> Result<(), Obstacle> {
        match self.await_event() {
            // Nothing in a mere process group keeps a leader from its keeper: it may have ended it before that has said that it
            // started it. What became of the keeper is then seen as at any later moment.
            Err(_) if self.level == IsolationLevel::ProcessGroup => Ok(()),
            Err(obstacle) | Ok(KeeperEvent::Unready(obstacle)) => Err(obstacle),
            Ok(event @ (KeeperEvent::Ready | KeeperEvent::Started | KeeperEvent::NotStarted(_) | KeeperEvent::Ended { .. })) => {
                self.heard.push(event);
                Ok(())
            }
        }
    }

    /// Asks for a signal to everything of the action's group. A keeper that is gone takes no request; that is seen by itself.
    pub(super) fn signal(&self, stage: StopStage) {
        let _gone = self.channel.send(&KeeperRequest::Signal(stage), &[]);
    }

    fn await_event(&mut self) -> Result<KeeperEvent, Obstacle> {
        loop {
            let message = self.channel.next_message().map_err(|error| silent(&error.to_string()))?;
            if let Some((event, _)) = message {
                return Ok(event);
            }
            let mut watched = [PollFd::new(self.channel.as_fd(), PollFlags::POLLIN)];
            match poll(&mut watched, PollTimeout::from(READY_MS)) {
                Ok(0) => return Err(silent("did not come up in time")),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(silent(&io::Error::from(errno).to_string())),
            }
            match self.channel.receive() {
                Ok(Arrival::Closed) | Err(_) => return Err(silent("ended before it was ready")),
                Ok(Arrival::Bytes | Arrival::Nothing) => {}
            }
        }
    }
}

fn silent(what: &str) -> Obstacle {
    Obstacle::Place(format!("the process that keeps a command apart: {what}"))
}

impl OpenAction {
    /// Returns an action whose keeper is about to start it, or has.
    pub(super) fn new(keeper: KeeperHandle, group: Option<Cgroup>) -> Self {
        Self { keeper, told: Told::Started, group, started: None }
    }

    /// Returns whether the keeper may still have something to say.
    pub(super) fn is_heard(&self) -> bool {
        !matches!(self.told, Told::EndPending { .. } | Told::Over)
    }

    /// Returns whether the supervisor knows that nobody is left.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.told, Told::Over)
    }

    /// Kills everything of the action: the kernel does it by namespace or cgroup, else the keeper does.
    pub(super) fn kill(&self) {
        match self.keeper.level {
            IsolationLevel::Namespace => kill_child(self.keeper.process),
            IsolationLevel::Cgroup if self.group.as_ref().is_some_and(|group| group.kill().is_ok()) => {}
            IsolationLevel::Cgroup | IsolationLevel::Landlock | IsolationLevel::ProcessGroup => {
                self.keeper.signal(StopStage::Sigkill);
            }
        }
    }

    /// Kills everything of the action, and removes its cgroup.
    pub(super) fn kill_at_the_end(&self) {
        self.kill();
        if let Some(group) = &self.group {
            group.clear();
            let _removed_by_the_next = group.remove();
        }
    }

    /// Takes what the keeper has said, and returns what the supervisor is to be told.
    pub(super) fn hear(&mut self, number: ActionNumber, levels: &Levels) -> Result<Vec<Event>, ChannelError> {
        let _closed_is_seen_by_its_end = self.keeper.channel.receive()?;
        let mut heard = std::mem::take(&mut self.keeper.heard);
        while let Some((event, _)) = self.keeper.channel.next_message()? {
            heard.push(event);
        }
        let mut events = Vec::new();
        for event in heard {
            if let Some(event) = self.note(number, event, levels) {
                events.extend(self.started.take());
                events.push(event);
            }
        }
        Ok(events)
    }

    fn note(&mut self, number: ActionNumber, event: KeeperEvent, levels: &Levels) -> Option<Event> {
        let level = self.keeper.level;
        match event {
            KeeperEvent::Ready => None,
            KeeperEvent::Started => {
                self.started = Some(Event::Started { number, level, obstacles: levels.obstacles(level) });
                None
            }
            KeeperEvent::NotStarted(failure) => {
                self.told = Told::Over;
                Some(Event::NotStarted { number, failure })
            }
            KeeperEvent::Unready(obstacle) => {
                self.told = Told::Over;
                let failure = crate::model::SpawnFailure::NotIsolated { why: obstacle.to_string() };
                Some(Event::NotStarted { number, failure })
            }
            KeeperEvent::Ended { leader, others } => self.note_end(number, leader, others),
        }
    }

    fn note_end(&mut self, number: ActionNumber, leader: EndedChild, others: Others) -> Option<Event> {
        let ended = |survivors| Event::Ended { number, leader, survivors, group: None };
        let (told, event) = match others {
            Others::Alive(survivors) => (Told::Ended, Some(ended(survivors))),
            // What a cgroup has to say of all of it is read when the keeper is out of it.
            Others::Nobody if self.group.is_none() => (Told::Over, Some(ended(Vec::new()))),
            Others::Nobody => {
                self.kill();
                (Told::EndPending(leader), None)
            }
            Others::NoneFound => (Told::EndPending(leader), None),
        };
        self.told = told;
        event
    }

    /// Notes that the keeper has ended and nobody of the action is left, and returns what the supervisor is to be told.
    pub(super) fn close(&mut self, number: ActionNumber, keeper: LeaderStatus) -> Vec<Event> {
        let group = self.close_group();
        let event = match std::mem::replace(&mut self.told, Told::Over) {
            Told::EndPending(leader) => Some(Event::Ended { number, leader, survivors: Vec::new(), group }),
            Told::Ended => Some(Event::Emptied { number, group }),
            Told::Started => Some(Event::Vanished { number, why: describe(keeper) }),
            Told::Over => None,
        };
        self.started.take().into_iter().chain(event).collect()
    }

    /// Ends the action's cgroup, whose processes are dead or are killed now, and returns what they used.
    fn close_group(&mut self) -> Option<GroupUsage> {
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
    format!("the process that kept the command apart {how} before it said how the command ended")
}
