//! The only place that signals: whole process groups, never our own, never a special id (P1); our own children; and, where there
//! is no pid namespace and no cgroup, whoever descends from a keeper.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp};

use crate::model::StopStage;
use crate::process::process_table::{find_descendants, has_children, read_process};
use crate::process::system_calls::HeldProcess;

/// A process group that may be signalled.
///
/// It does not guarantee that the group still exists; whoever holds one keeps its leader unreaped (P2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group(Pid);

/// Why an id cannot be signalled as a group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum GroupError {
    /// 0 means our own group and 1 everybody; negative ids mean something else altogether.
    #[error("`{0}` is not the id of a group that may be signalled")]
    Special(i32),
    /// It is the group proctor itself is in.
    #[error("`{0}` is proctor's own process group")]
    Own(i32),
}

impl Group {
    /// Returns the group with this id, if it is one that may be signalled.
    pub(super) fn try_from_id(id: i32) -> Result<Self, GroupError> {
        if id <= 1 {
            return Err(GroupError::Special(id));
        }
        if id == getpgrp().as_raw() {
            return Err(GroupError::Own(id));
        }
        Ok(Self(Pid::from_raw(id)))
    }

    /// Returns the id, which is also the leader's process id.
    pub(super) fn id(self) -> Pid {
        self.0
    }

    /// Sends a rung's signal to every process of the group. A group without processes is no error: that is what was wanted.
    pub(super) fn signal(self, stage: StopStage) -> Result<(), Errno> {
        let signal = match stage {
            StopStage::Sigint => Signal::SIGINT,
            StopStage::Sigterm => Signal::SIGTERM,
            StopStage::Sigkill => Signal::SIGKILL,
        };
        match killpg(self.0, signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Lets those of the group go on that were stopped.
    pub(super) fn resume(self) {
        let _none_is_there = killpg(self.0, Signal::SIGCONT);
    }
}

/// Kills every descendant of this process but those that are spared with all of theirs, again and again until none is left or the
/// sweeps are used up, and calls `reap` after each sweep, which is to reap every child that has ended and is not spared. Who forks faster than it is found is met in a later sweep.
///
/// Each is held before it is looked at a second time: an id that went to another process meanwhile is not signalled.
pub(super) fn kill_descendants(spared: impl Fn() -> Vec<Pid>, mut reap: impl FnMut()) -> Swept {
    for _ in 0..SWEEPS {
        for process in &find_descendants(&spared()) {
            let Ok(held) = HeldProcess::open(process.pid) else { continue };
            if read_process(process.pid).is_some_and(|now| now.started == process.started) {
                held.kill();
            }
        }
        reap();
        if !has_children(&spared()) {
            return Swept::Clean;
        }
    }
    Swept::Left
}

/// What a search for descendants has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swept {
    /// None is alive.
    Clean,
    /// Some were still alive: they fork faster than they are found, or belong to another user.
    Left,
}

/// How often descendants are searched for. Each search takes a fraction of a millisecond and more with every process there is.
const SWEEPS: usize = 2000;

/// Kills a child that has not been reaped. One that has ended already is left as it is.
pub(super) fn kill_child(child: Pid) {
    let _ended = kill(child, Signal::SIGKILL);
}

/// Waits until a child that has not been reaped has ended, within a bound in milliseconds, and returns whether it has. It stays a
/// zombie. Its own children have another parent by then (`exit(3)`).
pub(super) fn await_end(child: Pid, bound: u16) -> bool {
    let Ok(held) = HeldProcess::open(child) else {
        return false;
    };
    loop {
        match poll(&mut [PollFd::new(held.end(), PollFlags::POLLIN)], PollTimeout::from(bound)) {
            // The very signal that tells of its end.
            Err(Errno::EINTR) => {}
            ended => return matches!(ended, Ok(1..)),
        }
    }
}

/// Asks a child that has not been reaped to end.
pub(super) fn terminate_child(child: Pid) {
    let _ended = kill(child, Signal::SIGTERM);
}

/// Ends this process as SIGKILL would at any moment, for tests of what is left then.
#[cfg(feature = "test-fakes")]
pub fn die() {
    let _killed = nix::sys::signal::raise(Signal::SIGKILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_waited_for_until_it_has_ended_or_the_time_is_up() {
        let mut child = std::process::Command::new("/bin/sleep").arg("60").spawn().expect("there is a sleep");
        let id = Pid::from_raw(child.id().cast_signed());
        assert!(!await_end(id, 1), "it goes on");
        kill_child(id);
        assert!(await_end(id, 10_000));
        assert_eq!(child.wait().expect("it was not reaped").code(), None, "it was killed");
    }

    #[test]
    fn special_ids_and_our_own_group_are_refused() {
        for id in [i32::MIN, -2, -1, 0, 1] {
            assert_eq!(Group::try_from_id(id), Err(GroupError::Special(id)));
        }
        let own = getpgrp().as_raw();
        assert_eq!(Group::try_from_id(own), Err(GroupError::Own(own)));
    }
}
