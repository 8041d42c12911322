//! The table from pytest's raw exit code and the phase to a node (R1; seed 000, 2.5).
//!
//! It knows neither state nor limits; those are [`crate::routing::verify_phase`]'s.

use crate::model::{NextNode, Phase, RouteDestination};

/// The exit codes pytest documents and the table has a row for (seed 000, 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PytestExitCode {
    /// 0: all tests passed, or none failed.
    TestsPassed,
    /// 1: tests were run and some failed.
    TestsFailed,
    /// 2: the run was interrupted, which includes errors at collection.
    Interrupted,
    /// 3: pytest failed inside itself.
    InternalError,
    /// 4: pytest was used wrongly.
    UsageError,
    /// 5: no test was collected.
    NoTestsCollected,
}

/// One row: what a code means and where each phase sends it.
struct Row {
    code: i32,
    meaning: PytestExitCode,
    description: &'static str,
    red: Cell,
    green: Cell,
    refactor: Cell,
}

/// A node and why.
#[derive(Clone, Copy)]
struct Cell(NextNode, &'static str);

/// Whoever reads of an exit code without a row decides.
const UNKNOWN_NODE: NextNode = NextNode::HumanReview;

const PASSED: Cell = Cell(NextNode::NextPhase, "Tests passed, proceeding to next phase");
const INTERRUPTED: Cell = Cell(NextNode::HumanReview, "Test execution interrupted, requires human review");
const INTERNAL_ERROR: Cell = Cell(NextNode::HumanReview, "Pytest internal error, requires human review");
const USAGE_ERROR: Cell = Cell(NextNode::N2, "Usage/syntax error, re-scaffold required");
const NO_TESTS: Cell = Cell(NextNode::N2, "No tests collected, re-scaffold required");

/// Table R1. A code without a row goes to a person.
const TABLE: [Row; 6] = [
    Row {
        code: 0,
        meaning: PytestExitCode::TestsPassed,
        description: "All tests passed",
        red: Cell(NextNode::HumanReview, "Tests should fail in RED phase"),
        green: PASSED,
        refactor: PASSED,
    },
    Row {
        code: 1,
        meaning: PytestExitCode::TestsFailed,
        description: "Some tests failed",
        red: Cell(NextNode::N4, "Valid RED state - tests failing as expected"),
        green: Cell(NextNode::N3, "Tests still failing in GREEN phase, back to implementation"),
        refactor: Cell(NextNode::N3, "Tests failing in REFACTOR phase, back to implementation"),
    },
    Row {
        code: 2,
        meaning: PytestExitCode::Interrupted,
        description: "Test execution interrupted",
        red: INTERRUPTED,
        green: INTERRUPTED,
        refactor: INTERRUPTED,
    },
    Row {
        code: 3,
        meaning: PytestExitCode::InternalError,
        description: "Pytest internal error",
        red: INTERNAL_ERROR,
        green: INTERNAL_ERROR,
        refactor: INTERNAL_ERROR,
    },
    Row {
        code: 4,
        meaning: PytestExitCode::UsageError,
        description: "Pytest usage error",
        red: USAGE_ERROR,
        green: USAGE_ERROR,
        refactor: USAGE_ERROR,
    },
    Row {
        code: 5,
        meaning: PytestExitCode::NoTestsCollected,
        description: "No tests collected",
        red: NO_TESTS,
        green: NO_TESTS,
        refactor: NO_TESTS,
    },
];

impl PytestExitCode {
    /// Returns what a raw exit code means, where pytest documents it and the table has a row.
    pub fn from_code(exit_code: i32) -> Option<Self> {
        row(exit_code).map(|row| row.meaning)
    }
}

/// Returns where a raw exit code leads in a phase (R1). It is total: a code the table does not know goes to a person.
///
/// It is stateless: limits, pauses and the outcome's category are [`crate::routing::verify_phase`]'s.
pub fn route_by_exit_code(exit_code: i32, phase: Phase) -> RouteDestination {
    let Some(row) = row(exit_code) else {
        return destination(UNKNOWN_NODE, format!("Unknown exit code {exit_code}, requires human review"));
    };
    let Cell(node, reason) = match phase {
        Phase::Red => row.red,
        Phase::Green => row.green,
        Phase::Refactor => row.refactor,
    };
    destination(node, reason)
}

/// Returns whether an exit code stands for a valid RED state: tests ran and failed.
pub fn is_valid_red_state(exit_code: i32) -> bool {
    PytestExitCode::from_code(exit_code) == Some(PytestExitCode::TestsFailed)
}

/// Returns whether an exit code asks for the tests to be scaffolded again: 4 or 5.
pub fn is_scaffold_error(exit_code: i32) -> bool {
    matches!(PytestExitCode::from_code(exit_code), Some(PytestExitCode::UsageError | PytestExitCode::NoTestsCollected))
}

/// Returns whether an exit code needs a person in every phase: 2, 3, and whatever the table does not know.
pub fn requires_human_review(exit_code: i32) -> bool {
    row(exit_code).is_none_or(|row| [row.red, row.green, row.refactor].iter().all(|cell| cell.0 == NextNode::HumanReview))
}

/// Returns what an exit code means, for people.
pub fn get_exit_code_description(exit_code: i32) -> &'static str {
    row(exit_code).map_or("Unknown exit code", |row| row.description)
}

/// Returns a destination whose flags follow from its node (A16): only N2 may be retried, only HUMAN_REVIEW needs a person.
pub(in crate::routing) fn destination(next_node: NextNode, reason: impl Into<String>) -> RouteDestination {
    RouteDestination {
        next_node,
        reason: reason.into(),
        requires_human: next_node == NextNode::HumanReview,
        retry_allowed: next_node == NextNode::N2,
    }
}

fn row(exit_code: i32) -> Option<&'static Row> {
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
    fn the_predicates_agree_with_the_seed() {
        let of = |predicate: fn(i32) -> bool| (-1..=7).filter(|code| predicate(*code)).collect::<Vec<_>>();
        assert_eq!(of(is_valid_red_state), [1]);
        assert_eq!(of(is_scaffold_error), [4, 5]);
        assert_eq!(of(requires_human_review), [-1, 2, 3, 6, 7]);
    }

    #[test]
    fn every_code_has_a_description() {
        assert_eq!(get_exit_code_description(0), "All tests passed");
        assert_eq!(get_exit_code_description(5), "No tests collected");
        assert_eq!(get_exit_code_description(99), "Unknown exit code");
    }
}
