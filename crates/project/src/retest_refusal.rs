//! The reasons why an agent's request for a retest is refused, each with advice.

use proctor_model::{CommandExit, PauseRecord, PersonAsked, RunId};

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
