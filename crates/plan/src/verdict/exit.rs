//! The exit code of a command that ends with a run's verdict (G5).

use crate::verdict::completion::RunVerdict;
use proctor_model::{CommandExit, NextNode, OverallResult, OverallStatus, Phase, RouteEntry, RouteKind, TddState};

/// The state of a task's cycle when a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CyclePosition {
    /// No cycle was started when the run began, so routes are advice only.
    OutsideCycle,
    /// The task is inside a started cycle.
    InCycle,
    /// The task is inside a started cycle and waits for a person.
    Paused,
}

impl CyclePosition {
    /// Returns the position of a task, from whether a cycle was started when the run began and from the state after the
    /// run.
    ///
    /// The state after the run is not enough, because a passing REFACTOR ends the cycle.
    pub fn of(started_before: bool, after: &TddState) -> Self {
        match (started_before, &after.paused) {
            (false, _) => Self::OutsideCycle,
            (true, Some(_)) => Self::Paused,
            (true, None) => Self::InCycle,
        }
    }
}

/// Returns the exit code of a command. If several codes apply, the earliest in this list is returned: 4, 5, 3 (only
/// inside a started cycle), 1, 0 (G5). A run that passed without any result on its own tree gives 5. A valid RED of a cycle, in which only tests fail that must fail, gives 0.
///
/// The code of an interrupted run is 130. A caller that knows the signal was SIGTERM uses 143 instead.
pub fn command_exit(verdict: &RunVerdict, route: Option<&RouteEntry>, standing: CyclePosition) -> CommandExit {
    match verdict.overall_status {
        OverallStatus::SpecificationError => return CommandExit::SpecificationWrong,
        OverallStatus::Moved | OverallStatus::Superseded => return CommandExit::NoFreshVerdict,
        OverallStatus::Interrupted => return CommandExit::Interrupted,
        OverallStatus::RewroteTree if standing != CyclePosition::OutsideCycle => return CommandExit::NoFreshVerdict,
        OverallStatus::Success | OverallStatus::PartialSuccess | OverallStatus::RewroteTree | OverallStatus::Failed => {}
    }
    let in_cycle = match standing {
        CyclePosition::OutsideCycle => false,
        CyclePosition::InCycle => true,
        CyclePosition::Paused => return CommandExit::PersonNeeded,
    };
    if in_cycle && route.is_some_and(|entry| entry.destination.requires_human) {
        return CommandExit::PersonNeeded;
    }
    // A pass does not complete the RED phase.
    if in_cycle && route.is_some_and(|entry| entry.kind == RouteKind::NotRedYet) {
        return CommandExit::CodeNeedsWork;
    }
    let valid_red = in_cycle && route.is_some_and(|entry| is_nothing_but_red(verdict, entry));
    match (valid_red, verdict.overall_result) {
        (true, _) => CommandExit::Proceed,
        (false, Some(OverallResult::Passed)) if verdict.nothing_proven => CommandExit::NoFreshVerdict,
        (false, Some(OverallResult::Passed)) => CommandExit::Proceed,
        (false, Some(OverallResult::Failed) | None) => CommandExit::CodeNeedsWork,
    }
}

/// Returns whether nothing blocks except a valid RED: tests that failed as the RED phase demands, and tests that could
/// not be collected if `routing.collection_error` accepts that. A valid RED does not excuse any other failure, such as
/// a linter's.
fn is_nothing_but_red(verdict: &RunVerdict, entry: &RouteEntry) -> bool {
    let declared_missing = match entry.kind {
        RouteKind::CollectionErrorPolicy => verdict.blocking_collection,
        RouteKind::Routed
        | RouteKind::Category
        | RouteKind::ProtectedFiles
        | RouteKind::NotRedYet
        | RouteKind::RetryLimit
        | RouteKind::AttemptLimit
        | RouteKind::Override => 0,
    };
    entry.phase == Phase::Red
        && entry.destination.next_node == NextNode::N4
        && verdict.skipped_steps == 0
        && verdict.blocking + verdict.new_reds > 0
        && verdict.blocking == verdict.blocking_red + declared_missing
}
