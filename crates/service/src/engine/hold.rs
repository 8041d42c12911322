//! Waiting until git has finished an operation, because the trees in between are not meant to be tested. Pure: git's
//! state arrives as an event.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::effect::Effect;
use crate::engine::round::{Round, RoundChecks};
use crate::engine::stage::{LookPurpose, Stage};
use crate::engine::{Engine, Moment};
use crate::event::RunFinish;
use proctor_model::{GitOperation, TriggerKind};

/// The interval at which git's state is checked while the engine waits for it.
const LOOK: Duration = Duration::from_millis(25);

/// An unfinished operation of git, such as a rebase, and how long the engine has waited for its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GitHold {
    operation: GitOperation,
    since: Moment,
    patience: Patience,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    Waiting,
    /// The engine has waited as long as the settings allow. It waits no longer, because a conflict may stay for hours
    /// and the saves that resolve it must be tested.
    Over,
}

/// Whether a burst of changes that has ended leads to a run now or waits for git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldDecision {
    /// Git is not in the middle of an operation, or the wait for it has ended: handle the burst.
    No,
    /// Wait, and check again at this moment.
    Until(Moment),
    /// The waiting time is used up: handle the burst, and tell the person. This is returned once for each operation.
    NoLonger(GitOperation),
}

/// Updates the operation to wait for, after git's files were read. `seen` is git's present operation, if any.
pub(super) fn follow(known: Option<GitHold>, now: Moment, seen: Option<GitOperation>) -> Option<GitHold> {
    let operation = seen?;
    match known {
        Some(hold) if hold.operation == operation => Some(hold),
        // A rebase first locks the index. The waiting time counts from that first step.
        Some(GitHold { operation: GitOperation::Index, since, patience: Patience::Waiting }) => {
            Some(GitHold { operation, since, patience: Patience::Waiting })
        }
        Some(_) | None => Some(GitHold { operation, since: now, patience: Patience::Waiting }),
    }
}

/// Returns what to do with a burst of changes that has ended. The engine waits for git at most `longest`.
pub(super) fn ask(hold: Option<&mut GitHold>, now: Moment, longest: Duration) -> HoldDecision {
    let Some(hold) = hold else { return HoldDecision::No };
    let bound = hold.since.plus(longest);
    match hold.patience {
        Patience::Over => HoldDecision::No,
        Patience::Waiting if now < bound => HoldDecision::Until(now.plus(LOOK).min(bound)),
        Patience::Waiting => {
            hold.patience = Patience::Over;
            HoldDecision::NoLonger(hold.operation)
        }
    }
}

// Handles a person's approval, given in another process while the watch or the service waits: the tasks whose runs were refused run at
// once. Pure.

impl Engine {
    /// Notes whether the run that has ended was refused because its plan is not approved, and whether there was a run at all. A run of
    /// checks that were asked for by name does not make up for the refused one.
    pub(super) fn note_refusal(&mut self, finished: &RunFinish) {
        if self.is_of_named_checks {
            return;
        }
        let known = self.of_current();
        known.is_held = matches!(finished, RunFinish::Paused | RunFinish::Refused | RunFinish::Untriggered);
        match finished {
            RunFinish::Refused => known.is_approved = false,
            RunFinish::Verdict { .. } | RunFinish::Moved { .. } | RunFinish::Paused | RunFinish::Waits => {
                known.is_approved = true
            }
            // These ends come before the plan is compared with the approved one, or may do so.
            RunFinish::Stopped
            | RunFinish::Unchanged
            | RunFinish::Untriggered
            | RunFinish::Failed
            | RunFinish::Partial { .. } => {}
        }
    }

    /// Starts the refused tasks if a person has approved something and nothing else is under way or due. If something is,
    /// the approval is kept until that is over. An approval is used once, so a task that is refused again waits for the next
    /// one.
    pub(super) fn start_approved(&mut self) -> Option<Effect> {
        let is_burst_due = self.burst.is_some() && !self.is_only_busy();
        let is_at_rest = matches!(self.stage, Stage::Idle) && !is_burst_due && self.repetition.is_none();
        if !is_at_rest || !std::mem::take(&mut self.approval_owed) {
            return None;
        }
        self.round = Some(Round::new(TriggerKind::Request, BTreeSet::new(), RoundChecks::Refused));
        self.next_of_round(LookPurpose::Request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(5);

    #[test]
    fn an_operation_is_waited_for_until_it_ends_or_the_bound_is_reached_once() {
        let mut hold = follow(None, Moment(1000), Some(GitOperation::Index));
        assert_eq!(ask(hold.as_mut(), Moment(1000), LONGEST), HoldDecision::Until(Moment(1025)));
        hold = follow(hold, Moment(2000), Some(GitOperation::Rebase));
        assert_eq!(ask(hold.as_mut(), Moment(5990), LONGEST), HoldDecision::Until(Moment(6000)), "it counts from the first");
        assert_eq!(ask(hold.as_mut(), Moment(6000), LONGEST), HoldDecision::NoLonger(GitOperation::Rebase));
        assert_eq!(ask(hold.as_mut(), Moment(6001), LONGEST), HoldDecision::No, "a conflict is worked on by saving");
        hold = follow(hold, Moment(7000), None);
        assert_eq!(ask(hold.as_mut(), Moment(7000), LONGEST), HoldDecision::No);
        hold = follow(hold, Moment(8000), Some(GitOperation::Rebase));
        assert_eq!(ask(hold.as_mut(), Moment(8000), LONGEST), HoldDecision::Until(Moment(8025)), "another one");
    }

    #[test]
    fn without_patience_nothing_is_waited_for() {
        let mut hold = follow(None, Moment(1), Some(GitOperation::Merge));
        assert_eq!(ask(hold.as_mut(), Moment(1), Duration::ZERO), HoldDecision::NoLonger(GitOperation::Merge));
    }
}
