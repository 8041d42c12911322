//! The launchers of a project, and the requests that their actions made to the service, which refuses them. The service's
//! loop records the requests, and the run that ends next reports them.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use proctor_model::{CommandExit, PauseRecord, PersonAsked, PlanNote, RunId};

/// The most processes that a report names.
const MOST_NAMED: usize = 8;

/// The requests of one project's actions that the service has refused since the last report.
#[derive(Debug, Default)]
pub struct RefusedRequests(Mutex<Refused>);

#[derive(Debug, Default)]
struct Refused {
    /// The process ids of the project's launchers, the processes that start actions.
    launchers: BTreeSet<i32>,
    /// The process ids of the processes whose requests were refused, at most [`MOST_NAMED`].
    processes: BTreeSet<i32>,
    count: u64,
}

/// Whether the service tells people of a refused request. It tells of the first one of every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedBefore {
    /// The request is the first one that was refused since the last report.
    First,
    /// Another request was refused since the last report, and people were told of it.
    Again,
}

impl RefusedRequests {
    /// Registers a launcher: what descends from it is an action of this project.
    pub fn register_launcher(&self, process: i32) {
        self.locked().launchers.insert(process);
    }

    /// Forgets the launchers, which have ended: other processes may get their ids.
    pub(crate) fn forget_launchers(&self) {
        self.locked().launchers.clear();
    }

    /// Returns whether this launcher is one of the project's.
    pub fn has_launcher(&self, process: i32) -> bool {
        self.locked().launchers.contains(&process)
    }

    /// Records a refused request of an action.
    pub fn record(&self, process: i32) -> RefusedBefore {
        let mut refused = self.locked();
        refused.count += 1;
        if refused.processes.len() < MOST_NAMED {
            refused.processes.insert(process);
        }
        if refused.count == 1 { RefusedBefore::First } else { RefusedBefore::Again }
    }

    /// Returns the note about the requests since the last report, and forgets them.
    pub fn take_note(&self) -> Option<PlanNote> {
        let mut refused = self.locked();
        let (count, processes) = (std::mem::take(&mut refused.count), std::mem::take(&mut refused.processes));
        if count == 0 {
            return None;
        }
        let processes: Vec<String> = processes.iter().map(ToString::to_string).collect();
        let times = if count == 1 { "a request".to_owned() } else { format!("{count} requests") };
        Some(PlanNote {
            subject: "control socket".to_owned(),
            message: format!(
                "an action of this run sent {times} to proctor's service, which answers no action: refused (process {})",
                processes.join(", ")
            ),
        })
    }

    fn locked(&self) -> MutexGuard<'_, Refused> {
        // The data is valid after every step, so a panic of another thread does not matter.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// The reasons why an agent's request for a retest is refused, each with advice.

/// The reason why a retest is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RetestRefusal {
    /// A person has to decide first (R9).
    #[error("the task needs a person since {} (run {}): {}", .0.since, .0.run_id, .0.reason)]
    NeedsHuman(PauseRecord),
    /// A person has to approve the plan first (S7). The question has no time and no run.
    #[error("the task {}", .0.sentence())]
    NotApproved(PersonAsked),
    /// Nothing changed since the last run, so a retest would prove nothing new.
    #[error("nothing has changed since run {} ({run_id}): the tree and the plan are those it judged", run_id.number())]
    Unchanged {
        run_id: RunId,
        /// Whether that run passed. If it did, there is nothing to fix.
        passed: bool,
    },
    /// A retest of this tree was granted before, and its run has not happened yet.
    #[error("a retest of this tree was granted, and no run has followed it yet")]
    Waiting,
    /// The task has used all the retests that it may have before it passes again.
    #[error("the task has had {budget} retests since it last passed, and may have no more")]
    BudgetSpent {
        /// The number of allowed retests.
        budget: u32,
    },
}

impl RetestRefusal {
    /// Returns advice on what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NeedsHuman(_) => "a person decides with `proctor tdd resolve TASK --to NODE --reason TEXT` on a terminal",
            Self::NotApproved(_) => "`proctor request fix` says what the plan asks for",
            Self::Unchanged { passed: true, .. } => "it passed: `proctor request status` says what the task amounts to",
            Self::Unchanged { passed: false, .. } => "change the code first; `proctor show` says what that run found",
            Self::Waiting => "`proctor wait` waits for its verdict; where none comes, `proctor run` makes one",
            Self::BudgetSpent { .. } => {
                "ask a person: a run that passes (`proctor run`) or a word at a terminal (`proctor tdd resolve`, `reset`) fills \
                 the budget, `max_retests` in `[tdd]` sets it"
            }
        }
    }

    /// Returns the exit code of a command that fails with this reason (G5).
    pub fn exit(&self) -> CommandExit {
        match self {
            Self::Unchanged { passed: true, .. } => CommandExit::Proceed,
            Self::Unchanged { passed: false, .. } => CommandExit::CodeNeedsWork,
            Self::Waiting => CommandExit::NoFreshVerdict,
            Self::NeedsHuman(_) | Self::NotApproved(_) | Self::BudgetSpent { .. } => CommandExit::PersonNeeded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_what_was_refused_since_the_last_one() {
        let requests = RefusedRequests::default();
        requests.register_launcher(10);
        assert!(requests.has_launcher(10) && !requests.has_launcher(11));
        assert_eq!(requests.take_note(), None);
        assert_eq!((requests.record(7), requests.record(7)), (RefusedBefore::First, RefusedBefore::Again));
        assert!((20..40).all(|process| requests.record(process) == RefusedBefore::Again));
        let note = requests.take_note().map(|note| note.message).unwrap_or_default();
        assert!(note.contains("22 requests") && note.contains("(process 7, 20, 21, 22, 23, 24, 25, 26)"), "{note}");
        assert_eq!(requests.take_note(), None);
        assert_eq!(requests.record(7), RefusedBefore::First);
        let note = requests.take_note().map(|note| note.message).unwrap_or_default();
        assert!(note.contains("sent a request to"), "{note}");
    }
}
