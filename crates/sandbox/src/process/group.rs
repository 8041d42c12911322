//! The only module that sends signals. It signals whole process groups, but never proctor's own group and never a
//! special id (house style P1). It also signals proctor's own children and descendants of the keeper (the process that watches
//! an action): those outside of the action's group get SIGTERM when the action is stopped. For an action without a pid
//! namespace and cgroup, every descendant is killed.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp};

use crate::process::process_table::{LiveProcess, find_descendants, handles_signals, has_children, read_process};
use crate::process::system_calls::HeldProcess;
use proctor_model::StopStage;

/// A process group that may be signalled.
///
/// The group may have ended. The owner of this value does not reap the group's leader, so the id cannot be reused (house style
/// P2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessGroup(Pid);

/// The reason why a number must not be signalled as the id of a process group.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum GroupError {
    /// 0 means our own group, 1 means every process, and negative ids have other special meanings.
    #[error("`{0}` is not the id of a group that may be signalled")]
    Special(i32),
    #[error("`{0}` is proctor's own process group")]
    Own(i32),
}

impl ProcessGroup {
    /// Returns the group with this id if it may be signalled.
    pub(super) fn try_from_id(id: i32) -> Result<Self, GroupError> {
        if id <= 1 {
            return Err(GroupError::Special(id));
        }
        if id == getpgrp().as_raw() {
            return Err(GroupError::Own(id));
        }
        Ok(Self(Pid::from_raw(id)))
    }

    /// Returns the group's id, which is also its leader's process id.
    pub(super) fn id(self) -> Pid {
        self.0
    }

    /// Sends the signal of a stage to every process of the group. An empty group is not an error. At the stage SIGABRT, a process that
    /// would end by it without cleaning up gets SIGTERM in its place.
    ///
    /// The process that calls this is the keeper: all processes of the group descend from it.
    pub(super) fn signal(self, stage: StopStage) -> Result<(), Errno> {
        let sent = match stage {
            StopStage::Sigint => killpg(self.0, Signal::SIGINT),
            StopStage::Sigabrt => self.abort(),
            StopStage::Sigterm => killpg(self.0, Signal::SIGTERM),
            StopStage::Sigkill => killpg(self.0, Signal::SIGKILL),
        };
        match sent {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// Sends SIGABRT to the leader, and to the other processes of the group that show their stacks at it: Python under a `uv run` and the
    /// workers of pytest-xdist. The rest, such as servers that tests have started, get SIGTERM, so that they can clean up. A process that
    /// is not found, because it has just been forked, gets SIGKILL at the end of the stop.
    fn abort(self) -> Result<(), Errno> {
        for process in find_descendants(&[]).iter().filter(|process| process.group == self.0 && process.pid != self.0) {
            signal_process(process, if shows_its_stacks(process.pid) { Signal::SIGABRT } else { Signal::SIGTERM });
        }
        // The leader comes last: it may be a `uv run`, with whose end others may end too.
        kill(self.0, Signal::SIGABRT)
    }

    /// Sends SIGCONT, so that stopped processes of the group continue.
    pub(super) fn resume(self) {
        let _none_is_there = killpg(self.0, Signal::SIGCONT);
    }
}

/// Kills every descendant of this process, except the processes that `spared` returns and their descendants. Repeats
/// the search until no descendant is left, at most [`SWEEPS`] times. After each sweep `reap` is called, which must reap
/// every child that has ended and is not spared. A process that forks faster than it is found is found in a later
/// sweep.
pub(super) fn kill_descendants(spared: impl Fn() -> Vec<Pid>, mut reap: impl FnMut()) -> SweepOutcome {
    for _ in 0..SWEEPS {
        find_descendants(&spared()).iter().for_each(|process| signal_process(process, Signal::SIGKILL));
        reap();
        if !has_children(&spared()) {
            return SweepOutcome::Clean;
        }
    }
    SweepOutcome::Left
}

/// Sends SIGTERM to every descendant of this process that is not in `group`: a signal to the group does not reach it.
pub(super) fn terminate_descendants_outside(group: ProcessGroup) {
    let found = find_descendants(&[group.id()]);
    found.iter().filter(|process| process.group != group.id()).for_each(|process| signal_process(process, Signal::SIGTERM));
}

/// Returns whether a process has a handler for SIGABRT, as Python's `faulthandler` installs it, and none for SIGTERM. One that handles
/// SIGTERM cleans up by it: a helper that pytest has forked has inherited the handler for SIGABRT.
fn shows_its_stacks(process: Pid) -> bool {
    handles_signals(process, [Signal::SIGABRT, Signal::SIGTERM]) == [true, false]
}

/// Sends a signal to one process. The process is held by a pidfd and then read again: an id that was reused meanwhile
/// is not signalled.
fn signal_process(process: &LiveProcess, signal: Signal) {
    if let Ok(held) = HeldProcess::open(process.pid)
        && read_process(process.pid).is_some_and(|now| now.started == process.started)
    {
        held.signal(signal);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SweepOutcome {
    /// No descendant is alive.
    Clean,
    /// Some descendants were still alive: they fork faster than they are found, or belong to another user.
    Left,
}

/// The most searches for descendants. One search takes a fraction of a millisecond, or longer if many processes run on
/// the machine.
const SWEEPS: usize = 2000;

/// Kills a child that has not been reaped; does nothing if it has ended.
pub(super) fn kill_child(child: Pid) {
    let _ended = kill(child, Signal::SIGKILL);
}

/// Sends SIGCONT to a child that has not been reaped, so that it continues if it was stopped.
pub(super) fn resume_child(child: Pid) {
    let _ended = kill(child, Signal::SIGCONT);
}

/// Waits at most `bound` milliseconds until a child that has not been reaped has ended. Returns whether it has ended.
/// The child stays a zombie; its own children have another parent by then (`exit(3)`).
pub(super) fn await_end(child: Pid, bound: u16) -> bool {
    let Ok(held) = HeldProcess::open(child) else {
        return false;
    };
    loop {
        match poll(&mut [PollFd::new(held.end(), PollFlags::POLLIN)], PollTimeout::from(bound)) {
            // SIGCHLD interrupted the wait. The signal probably means that the awaited child has ended, so the child is
            // polled again.
            Err(Errno::EINTR) => {}
            ended => return matches!(ended, Ok(1..)),
        }
    }
}

/// Sends SIGTERM to a child that has not been reaped.
pub(super) fn terminate_child(child: Pid) {
    let _ended = kill(child, Signal::SIGTERM);
}

/// Ends this process at once by SIGKILL. Tests use this function to see what a killed process leaves behind.
#[cfg(feature = "test-fakes")]
pub fn kill_self() {
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

    /// Starts a program in a group of its own, or in that of `leader`, and waits until it has printed a line.
    fn started(program: &str, arguments: &[&str], leader: i32) -> std::process::Child {
        use std::io::Read as _;
        use std::os::unix::process::CommandExt as _;
        let mut command = std::process::Command::new(program);
        let piped = std::process::Stdio::piped();
        let mut child = command.args(arguments).process_group(leader).stdout(piped).spawn().expect("it is there");
        child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("a byte");
        child
    }

    #[test]
    fn at_sigabrt_only_the_leader_and_what_shows_its_stacks_are_aborted() {
        use std::os::unix::process::ExitStatusExt as _;
        let mut leader = started("/bin/sh", &["-c", "echo; exec sleep 60"], 0);
        let group = ProcessGroup::try_from_id(leader.id().cast_signed()).expect("its own group");
        let id = group.id().as_raw();
        let mut others = [
            ("trap 'exit 7' TERM; echo; while :; do sleep 0.01; done", (Some(7), None)),
            ("trap 'exit 6' ABRT; echo; while :; do sleep 0.01; done", (Some(6), None)),
            ("trap 'exit 6' ABRT; trap 'exit 7' TERM; echo; while :; do sleep 0.01; done", (Some(7), None)),
            ("echo; exec sleep 60", (None, Some(Signal::SIGTERM as i32))),
        ]
        .map(|(script, expected)| (started("/bin/sh", &["-c", script], id), expected));
        let mut outside = started("/bin/sh", &["-c", "echo; exec sleep 60"], 0);
        group.signal(StopStage::Sigabrt).expect("it is there");
        assert_eq!(leader.wait().expect("it ends").signal(), Some(Signal::SIGABRT as i32));
        for (child, expected) in &mut others {
            let ended = child.wait().expect("it ends");
            assert_eq!((ended.code(), ended.signal()), *expected);
        }
        assert_eq!(outside.try_wait().expect("it is ours"), None, "it is in another group");
        outside.kill().expect("it runs");
        outside.wait().expect("it ends");
    }

    #[test]
    fn special_ids_and_our_own_group_are_refused() {
        for id in [i32::MIN, -2, -1, 0, 1] {
            assert_eq!(ProcessGroup::try_from_id(id), Err(GroupError::Special(id)));
        }
        let own = getpgrp().as_raw();
        assert_eq!(ProcessGroup::try_from_id(own), Err(GroupError::Own(own)));
    }
}
