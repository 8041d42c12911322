//! Waiting out what git is in the middle of: saves it makes are of trees nobody means. Pure; its state comes as an event.

use std::time::Duration;

use crate::daemon::engine::Moment;
use crate::model::GitOperation;

/// How often its state is looked at while it is waited for.
const LOOK: Duration = Duration::from_millis(25);

/// What git is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GitHold {
    operation: GitOperation,
    since: Moment,
    patience: Patience,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    Waiting,
    /// It was waited for as long as the setting says: a conflict may stay for hours, and is worked on by saving.
    Over,
}

/// What to do with a burst that has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldDecision {
    /// Nothing is in its way.
    No,
    /// Look again then.
    Until(Moment),
    /// It was waited for long enough, which is said once.
    NoLonger(GitOperation),
}

/// Returns what holds now, after git's files were looked at.
pub(super) fn follow(known: Option<GitHold>, now: Moment, seen: Option<GitOperation>) -> Option<GitHold> {
    let operation = seen?;
    match known {
        Some(hold) if hold.operation == operation => Some(hold),
        // A command that becomes a rebase (its first step locks the index) is waited for from its beginning.
        Some(GitHold { operation: GitOperation::Index, since, patience: Patience::Waiting }) => {
            Some(GitHold { operation, since, patience: Patience::Waiting })
        }
        Some(_) | None => Some(GitHold { operation, since: now, patience: Patience::Waiting }),
    }
}

/// Returns what to do with a burst that has settled.
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
