//! What the keeper of an action sums because the kernel does not say it: memory that no cgroup limits, and whether there are as many
//! processes as a user namespace may have.

use std::time::Duration;

use crate::process::clock::{Monotonic, monotonic};
use crate::process::process_count::{count_others, counts_processes_by_namespace};
use crate::process::process_table::{find_descendants, hold_more_than};
use crate::process::protocol::{EndedChild, LeaderStatus};
use proctor_model::LimitKind;

/// How often memory and processes are counted, in milliseconds. `RLIMIT_AS` is no limit on memory: node, the JVM and WebAssembly reserve
/// addresses by the gigabyte.
const SUM_EACH: u16 = 200;

pub(super) struct Sums {
    /// The most bytes of memory, if no cgroup enforces that.
    pub(super) most_memory: Option<u64>,
    /// The most processes and threads, if the kernel limits them by namespace. It refuses more, and keeps no record of it.
    most_processes: Option<u32>,
    /// Whether a sum has found so many.
    were_most: bool,
    summed: Monotonic,
}

impl Default for Sums {
    fn default() -> Self {
        Self { most_memory: None, most_processes: None, were_most: false, summed: monotonic() }
    }
}

impl Sums {
    /// Has the processes counted that this process's namespace may have.
    pub(super) fn count_processes(&mut self, most: Option<u32>) {
        self.most_processes = most.filter(|_| counts_processes_by_namespace());
    }

    /// Returns how many milliseconds are left until the next sum, if there is one.
    pub(super) fn patience(&self) -> Option<u16> {
        let is_summed = self.most_memory.is_some() || self.most_processes.is_some();
        is_summed.then(|| until_next_sum(monotonic().since(self.summed)))
    }

    /// Sums if it is time, however busy the action is. Returns once that it holds more memory than it may.
    pub(super) fn exceeded(&mut self) -> Option<LimitKind> {
        if self.patience() != Some(0) {
            return None;
        }
        self.count();
        let is_exceeded = self.most_memory.is_some_and(|most| hold_more_than(most, &find_descendants(&[])));
        self.most_memory = self.most_memory.filter(|_| !is_exceeded);
        self.summed = monotonic();
        is_exceeded.then_some(LimitKind::Memory)
    }

    /// Returns the limit on processes if the action's main process has failed and there are, or were, as many as there may be.
    pub(super) fn exceeded_at_end(&mut self, leader: &EndedChild) -> Option<LimitKind> {
        let has_failed = leader.status != LeaderStatus::Exited { code: 0 };
        (has_failed && self.count()).then_some(LimitKind::Pids)
    }

    fn count(&mut self) -> bool {
        self.were_most = self.were_most || self.most_processes.is_some_and(|most| count_others() >= u64::from(most));
        self.were_most
    }
}

/// Returns how many milliseconds are left until the next sum, this long after the last one.
fn until_next_sum(since: Duration) -> u16 {
    SUM_EACH.saturating_sub(u16::try_from(since.as_millis()).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_summed_again_when_its_time_is_over_whatever_happened_meanwhile() {
        assert_eq!([0, 150, 200, 1_000_000].map(|since| until_next_sum(Duration::from_millis(since))), [200, 50, 0, 0]);
    }

    #[test]
    fn a_command_that_failed_with_as_many_processes_as_there_may_be_met_their_limit() {
        let ended = |code| EndedChild { status: LeaderStatus::Exited { code }, usage: Default::default(), used_git: false };
        let of = |most| Sums { most_processes: most, ..Sums::default() };
        // The tests' own machine has at least one other process, and fewer than a million.
        assert_eq!(of(Some(1)).exceeded_at_end(&ended(1)), Some(LimitKind::Pids));
        assert_eq!(of(Some(1)).exceeded_at_end(&ended(0)), None);
        assert_eq!(of(Some(1_000_000)).exceeded_at_end(&ended(1)), None);
        assert_eq!(of(None).exceeded_at_end(&ended(1)), None);
        let earlier = Sums { were_most: true, ..of(Some(1_000_000)) }.exceeded_at_end(&ended(2));
        assert_eq!(earlier, Some(LimitKind::Pids), "some have ended meanwhile");
    }
}
