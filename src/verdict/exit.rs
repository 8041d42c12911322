//! The exit code of a command that ends with a run's verdict (G5).

use crate::model::{CommandExit, NextNode, OverallResult, OverallStatus, Phase, RouteEntry, RouteKind, TddState};
use crate::verdict::completion::RunVerdict;

/// Where a task stands when a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CycleStanding {
    /// No cycle was started when the run began: routes are advice.
    OutsideCycle,
    /// Inside a started cycle.
    InCycle,
    /// Inside a started cycle, and waiting for a person.
    Paused,
}

impl CycleStanding {
    /// Returns where a task stands, from whether a cycle was started when the run began, and from the state after it.
    ///
    /// The state after it alone does not tell: a passing REFACTOR ends the cycle.
    pub fn of(started_before: bool, after: &TddState) -> Self {
        match (started_before, &after.paused) {
            (false, _) => Self::OutsideCycle,
            (true, Some(_)) => Self::Paused,
            (true, None) => Self::InCycle,
        }
    }
}

/// Returns how a command ends: 4 before 5 before 3 (inside a started cycle) before 1 before 0 (G5).
///
/// An interrupted run is 130; a caller that knows of SIGTERM says 143 instead.
pub fn command_exit(verdict: &RunVerdict, route: Option<&RouteEntry>, standing: CycleStanding) -> CommandExit {
    match verdict.overall_status {
        OverallStatus::SpecificationError => return CommandExit::SpecificationWrong,
        OverallStatus::Moved | OverallStatus::Superseded => return CommandExit::NoFreshVerdict,
        OverallStatus::Interrupted => return CommandExit::Interrupted,
        OverallStatus::Success | OverallStatus::PartialSuccess | OverallStatus::Failed => {}
    }
    let in_cycle = match standing {
        CycleStanding::OutsideCycle => false,
        CycleStanding::InCycle => true,
        CycleStanding::Paused => return CommandExit::PersonNeeded,
    };
    if in_cycle && route.is_some_and(|entry| entry.destination.requires_human) {
        return CommandExit::PersonNeeded;
    }
    let valid_red = in_cycle && route.is_some_and(|entry| is_nothing_but_red(verdict, entry));
    if valid_red || verdict.overall_result == Some(OverallResult::Passed) {
        CommandExit::Proceed
    } else {
        CommandExit::CodeNeedsWork
    }
}

/// Returns whether a valid RED is all that blocks: a failing linter beside it is not excused.
fn is_nothing_but_red(verdict: &RunVerdict, entry: &RouteEntry) -> bool {
    let declared_missing = match entry.kind {
        RouteKind::CollectionErrorPolicy => verdict.blocking_collection,
        RouteKind::Routed
        | RouteKind::Category
        | RouteKind::ProtectedFiles
        | RouteKind::RetryLimit
        | RouteKind::AttemptLimit
        | RouteKind::Override => 0,
    };
    entry.phase == Phase::Red
        && entry.destination.next_node == NextNode::N4
        && verdict.skipped_steps == 0
        && verdict.blocking > 0
        && verdict.blocking == verdict.blocking_red + declared_missing
}
