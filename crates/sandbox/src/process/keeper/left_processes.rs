//! The processes that an action's leader leaves behind: which are left, and the reaping of those that have ended.

use std::time::Duration;

use crate::process::clock::monotonic;
use crate::process::keeper::Keeper;
use crate::process::process_table::{LiveProcess, NAMED_CAP, find_descendants, has_children, read_own_children, read_survivor};
use crate::process::protocol::RemainingProcesses;
use crate::process::system_calls::{Children, Reaping, reap_ended_children, wait_child};
use proctor_model::{IsolationLevel, Survivor};

/// The most searches for the remaining processes of an action, whose names are reported. A process that forks and ends
/// faster than it is found is killed without being named.
const LOOKS: usize = 50;

/// How long processes that the leader left behind may take to end by themselves before they count as left behind.
const LAST_MOMENTS: Duration = Duration::from_millis(200);

/// The time between two looks at them.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

impl Keeper {
    /// Returns which processes of the action are left after the leader, its main process, has ended.
    pub(super) fn others(&self) -> RemainingProcesses {
        // In a namespace only the action itself could reuse the group id, so the leader need not stay a zombie.
        if self.level == IsolationLevel::Namespace && matches!(reap_ended_children(), Ok(Children::None)) {
            return RemainingProcesses::Nobody;
        }
        let survivors: Vec<Survivor> = self.alive_after_all().iter().take(NAMED_CAP).map(read_survivor).collect();
        if survivors.is_empty() { RemainingProcesses::NoneFound } else { RemainingProcesses::Alive(survivors) }
    }

    /// Returns the processes that are still alive when those that end by themselves have had the time to. Python's
    /// `multiprocessing.resource_tracker`, for example, ends some milliseconds after the leader, when its pipe has closed.
    fn alive_after_all(&self) -> Vec<LiveProcess> {
        let until = monotonic().plus(LAST_MOMENTS);
        loop {
            let alive = self.alive();
            let left = until.map_or(Duration::ZERO, |until| until.since(monotonic()));
            if alive.is_empty() || self.is_stopping || left.is_zero() {
                return alive;
            }
            // SIGCHLD says that one of them has ended. It is not read here, so that the main loop looks at the children too.
            std::thread::sleep(left.min(BETWEEN_LOOKS));
        }
    }

    /// Returns every living process of the action except the leader, its main process. If the result is empty, it is
    /// certain that no other process is left.
    fn alive(&self) -> Vec<LiveProcess> {
        let leader = self.leader();
        for _ in 0..LOOKS {
            self.reap_orphans();
            if !has_children(leader.as_slice()) {
                return Vec::new();
            }
            let found = find_descendants(leader.as_slice());
            if !found.is_empty() {
                return found;
            }
        }
        let children = read_own_children().unwrap_or_default().into_iter();
        children.filter(|child| Some(*child) != leader).map(LiveProcess::unseen).collect()
    }

    pub(super) fn reap_orphans(&self) {
        let leader = self.leader();
        for child in read_own_children().unwrap_or_default().into_iter().filter(|child| Some(*child) != leader) {
            let _ended_or_not = wait_child(child, Reaping::Reap);
        }
    }
}
