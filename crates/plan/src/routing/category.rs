//! Decides where a test result leads: by the exit-code table, corrected by the outcome's category (R7, C06, E3, E4).
//!
//! The exit code decides (A5). The category changes the destination in two cases only: the report does not prove what
//! the exit code claims (no test was executed, coverage is too low, processes were left behind), or the setting
//! `routing.collection_error` says so.

use crate::routing::result::TestResult;
use crate::routing::table::{destination, route_by_exit_code};
use proctor_model::{
    CategoryCode, CollectionErrorPolicy, ExitCodeSource, NextNode, Phase, RouteDestination, RouteEntry, RouteKind,
    RoutingSettings,
};

/// The categories for which a row of [`CORRECTIONS`] holds.
enum CategoryMatch {
    /// The row holds for this category only.
    Is(CategoryCode),
    /// The row holds for every category except this one. If no category is known, the row does not hold.
    IsNot(CategoryCode),
}

/// A destination that replaces the exit-code table's destination if exit code, phase and category all match.
struct CategoryCorrection {
    code: i32,
    phases: &'static [Phase],
    category: CategoryMatch,
    node: NextNode,
    reason: &'static str,
}

const AFTER_RED: &[Phase] = &[Phase::Green, Phase::Refactor];
const COVERAGE: &str = "Coverage below target, more tests required";

/// The first row that matches counts. Without these rows, a run that skipped all tests could end a cycle, a missing
/// pytest would count as tests that fail as the RED phase demands, and too little coverage would send the task back to
/// the implementation although it needs more tests (E4).
const CORRECTIONS: [CategoryCorrection; 7] = [
    CategoryCorrection {
        code: 1,
        phases: &[Phase::Red],
        category: CategoryMatch::Is(CategoryCode::CoverageBelowTarget),
        node: NextNode::HumanReview,
        reason: "Tests should fail in RED phase",
    },
    CategoryCorrection {
        code: 1,
        phases: AFTER_RED,
        category: CategoryMatch::Is(CategoryCode::CoverageBelowTarget),
        node: NextNode::N2,
        reason: COVERAGE,
    },
    CategoryCorrection {
        code: 0,
        phases: AFTER_RED,
        category: CategoryMatch::Is(CategoryCode::CoverageBelowTarget),
        node: NextNode::N2,
        reason: COVERAGE,
    },
    CategoryCorrection {
        code: 0,
        phases: AFTER_RED,
        category: CategoryMatch::Is(CategoryCode::NoTestsExecuted),
        node: NextNode::N2,
        reason: "No tests executed, re-scaffold required",
    },
    CategoryCorrection {
        code: 0,
        phases: AFTER_RED,
        category: CategoryMatch::Is(CategoryCode::SurvivorsLeft),
        node: NextNode::N3,
        reason: "Tests left processes behind, back to implementation",
    },
    CategoryCorrection {
        code: 0,
        phases: AFTER_RED,
        category: CategoryMatch::IsNot(CategoryCode::TestsPassed),
        node: NextNode::HumanReview,
        reason: "Exit code 0 without proof that tests passed, requires human review",
    },
    CategoryCorrection {
        code: 1,
        phases: &[Phase::Red],
        category: CategoryMatch::IsNot(CategoryCode::TestsFailed),
        node: NextNode::HumanReview,
        reason: "Exit code 1 without proof that tests failed, requires human review",
    },
];

/// Returns where a test result leads by the exit-code table, its category and `routing.collection_error`. No limit is
/// applied here.
pub(in crate::routing) fn route_result(result: &TestResult<'_>, phase: Phase, settings: &RoutingSettings) -> RouteEntry {
    let (kind, destination) = match route_collection_error(result, phase, settings) {
        Some(destination) => (RouteKind::CollectionErrorPolicy, destination),
        None => route_by_code_and_category(result, phase),
    };
    RouteEntry { phase, exit_code: result.exit_code, exit_code_source: result.exit_code_source, kind, destination }
}

fn route_by_code_and_category(result: &TestResult<'_>, phase: Phase) -> (RouteKind, RouteDestination) {
    let Some(code) = result.exit_code else {
        let mut routed = route_by_exit_code(TestResult::ASSUMED_CODE, phase);
        routed.reason = format!("No exit code ({}), requires human review", why_no_code(result.exit_code_source));
        return (RouteKind::Routed, routed);
    };
    let applies = |row: &&CategoryCorrection| {
        row.code == code
            && row.phases.contains(&phase)
            && result.category.is_some_and(|category| match row.category {
                CategoryMatch::Is(wanted) => category == wanted,
                CategoryMatch::IsNot(earned) => category != earned,
            })
    };
    match CORRECTIONS.iter().find(applies) {
        Some(row) => (RouteKind::Category, destination(row.node, row.reason)),
        None => (RouteKind::Routed, route_by_exit_code(code, phase)),
    }
}

/// Returns where the setting `routing.collection_error` sends a run whose tests could not be collected; `None` if the
/// setting does not apply to this result.
fn route_collection_error(result: &TestResult<'_>, phase: Phase, settings: &RoutingSettings) -> Option<RouteDestination> {
    if result.category != Some(CategoryCode::CollectionError) {
        return None;
    }
    match settings.collection_error {
        CollectionErrorPolicy::HumanReview => None,
        CollectionErrorPolicy::ReScaffold => {
            Some(destination(NextNode::N2, "Tests could not be collected, re-scaffold required (routing.collection_error)"))
        }
        CollectionErrorPolicy::RedIfMissing => {
            let valid = phase == Phase::Red && misses_only_expected(result, &settings.expected_missing);
            valid.then(|| {
                let names = result.missing_modules.join(", ");
                destination(NextNode::N4, format!("Valid RED state - expected modules missing: {names}"))
            })
        }
    }
}

fn misses_only_expected(result: &TestResult<'_>, expected: &[String]) -> bool {
    let is_expected = |module: &String| {
        expected.iter().any(|name| {
            module.strip_prefix(name.as_str()).is_some_and(|rest| !name.is_empty() && (rest.is_empty() || rest.starts_with('.')))
        })
    };
    result.only_missing_modules && !result.missing_modules.is_empty() && result.missing_modules.iter().all(is_expected)
}

/// Returns in a few words why a result has no exit code, for the reason of a decision and for log messages.
pub(in crate::routing) fn why_no_code(source: ExitCodeSource) -> &'static str {
    match source {
        ExitCodeSource::Timeout => "timed out",
        ExitCodeSource::Signal => "ended by a signal",
        ExitCodeSource::NotStarted => "not started",
        ExitCodeSource::Lost | ExitCodeSource::Process | ExitCodeSource::Defaulted => "status lost",
    }
}
