//! The table from pytest's exit code and the phase to a node (R1; seed 000, 2.5).
//!
//! The table considers neither the task's state nor limits: [`crate::routing::verify_phase`] applies these.

use proctor_model::{NextNode, Phase, RouteDestination};

/// The meanings of the exit codes 0 to 5 that pytest documents (seed 000, 2.3). The routing table has one row for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PytestExitCode {
    /// 0: no test failed.
    TestsPassed,
    /// 1: some tests failed.
    TestsFailed,
    /// 2: the run was interrupted. pytest also ends with this code if tests could not be collected.
    Interrupted,
    /// 3: pytest itself failed.
    InternalError,
    /// 4: pytest was called with wrong arguments.
    UsageError,
    /// 5: no test was collected.
    NoTestsCollected,
}

/// A row of the table: the meaning of an exit code, and its route in each phase.
struct ExitCodeRow {
    code: i32,
    meaning: PytestExitCode,
    red: PhaseRoute,
    green: PhaseRoute,
    refactor: PhaseRoute,
}

/// The node to which an exit code leads in one phase, and the reason that people read.
#[derive(Clone, Copy)]
struct PhaseRoute(NextNode, &'static str);

/// The node for exit codes that have no row in [`TABLE`]: a person decides.
const UNKNOWN_NODE: NextNode = NextNode::HumanReview;

const PASSED: PhaseRoute = PhaseRoute(NextNode::NextPhase, "Tests passed, proceeding to next phase");
const INTERRUPTED: PhaseRoute = PhaseRoute(NextNode::HumanReview, "Test execution interrupted, requires human review");
const INTERNAL_ERROR: PhaseRoute = PhaseRoute(NextNode::HumanReview, "Pytest internal error, requires human review");
const USAGE_ERROR: PhaseRoute = PhaseRoute(NextNode::N2, "Usage/syntax error, re-scaffold required");
const NO_TESTS: PhaseRoute = PhaseRoute(NextNode::N2, "No tests collected, re-scaffold required");

/// One row for each exit code that pytest documents (R1). A code without a row leads to a person.
const TABLE: [ExitCodeRow; 6] = [
    ExitCodeRow {
        code: 0,
        meaning: PytestExitCode::TestsPassed,
        red: PhaseRoute(NextNode::HumanReview, "Tests should fail in RED phase"),
        green: PASSED,
        refactor: PASSED,
    },
    ExitCodeRow {
        code: 1,
        meaning: PytestExitCode::TestsFailed,
        red: PhaseRoute(NextNode::N4, "Valid RED state - tests failing as expected"),
        green: PhaseRoute(NextNode::N3, "Tests still failing in GREEN phase, back to implementation"),
        refactor: PhaseRoute(NextNode::N3, "Tests failing in REFACTOR phase, back to implementation"),
    },
    ExitCodeRow { code: 2, meaning: PytestExitCode::Interrupted, red: INTERRUPTED, green: INTERRUPTED, refactor: INTERRUPTED },
    ExitCodeRow {
        code: 3,
        meaning: PytestExitCode::InternalError,
        red: INTERNAL_ERROR,
        green: INTERNAL_ERROR,
        refactor: INTERNAL_ERROR,
    },
    ExitCodeRow { code: 4, meaning: PytestExitCode::UsageError, red: USAGE_ERROR, green: USAGE_ERROR, refactor: USAGE_ERROR },
    ExitCodeRow { code: 5, meaning: PytestExitCode::NoTestsCollected, red: NO_TESTS, green: NO_TESTS, refactor: NO_TESTS },
];

impl PytestExitCode {
    /// Returns the meaning of an exit code; `None` if the table has no row for it.
    pub fn from_code(exit_code: i32) -> Option<Self> {
        row(exit_code).map(|row| row.meaning)
    }
}

/// Returns where an exit code leads in a phase (R1). A code without a row leads to a person.
///
/// Limits, pauses and the outcome's category are not considered here: [`crate::routing::verify_phase`] applies these.
pub fn route_by_exit_code(exit_code: i32, phase: Phase) -> RouteDestination {
    let Some(row) = row(exit_code) else {
        return destination(UNKNOWN_NODE, format!("Unknown exit code {exit_code}, requires human review"));
    };
    let PhaseRoute(node, reason) = match phase {
        Phase::Red => row.red,
        Phase::Green => row.green,
        Phase::Refactor => row.refactor,
    };
    destination(node, reason)
}

/// Returns whether an exit code means that the tests must be scaffolded again: 4 or 5.
pub fn is_scaffold_error(exit_code: i32) -> bool {
    matches!(PytestExitCode::from_code(exit_code), Some(PytestExitCode::UsageError | PytestExitCode::NoTestsCollected))
}

/// Returns a destination with the flags that its node implies (A16): only N2 may be retried, only HUMAN_REVIEW needs a
/// person.
pub(in crate::routing) fn destination(next_node: NextNode, reason: impl Into<String>) -> RouteDestination {
    RouteDestination {
        next_node,
        reason: reason.into(),
        requires_human: next_node == NextNode::HumanReview,
        retry_allowed: next_node == NextNode::N2,
    }
}

fn row(exit_code: i32) -> Option<&'static ExitCodeRow> {
    TABLE.iter().find(|row| row.code == exit_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_code_has_its_meaning_and_others_have_none() {
        let meanings: Vec<_> = (0..=5).map(PytestExitCode::from_code).collect();
        let expected = [
            PytestExitCode::TestsPassed,
            PytestExitCode::TestsFailed,
            PytestExitCode::Interrupted,
            PytestExitCode::InternalError,
            PytestExitCode::UsageError,
            PytestExitCode::NoTestsCollected,
        ];
        assert_eq!(meanings, expected.map(Some));
        for code in [-1, 6, 7, 99, 137, i32::MIN, i32::MAX] {
            assert_eq!(PytestExitCode::from_code(code), None, "{code}");
        }
    }

    #[test]
    fn the_tests_are_scaffolded_again_after_codes_4_and_5() {
        assert_eq!((-1..=7).filter(|code| is_scaffold_error(*code)).collect::<Vec<_>>(), [4, 5]);
    }
}
