//! Where the outcome's category changes what the raw code says (R7, C06, E3, E4).
//!
//! The code stays authoritative (A5); a category only ever takes a destination back that the report shows to be unearned, or
//! applies the person's own `routing.collection_error` policy.

use crate::model::{
    CategoryCode, CollectionErrorPolicy, ExitCodeSource, NextNode, Phase, RouteDestination, RouteEntry, RouteKind,
    RoutingSettings,
};
use crate::routing::result::TestResult;
use crate::routing::table::{destination, route_by_exit_code};

/// Which categories a row of [`UNEARNED`] is about.
enum Which {
    /// This one.
    Is(CategoryCode),
    /// Every known category but this one.
    IsNot(CategoryCode),
}

/// A destination of the table that a category takes back.
struct Unearned {
    code: i32,
    phases: &'static [Phase],
    category: Which,
    node: NextNode,
    reason: &'static str,
}

const AFTER_RED: &[Phase] = &[Phase::Green, Phase::Refactor];
const COVERAGE: &str = "Coverage below target, more tests required";

/// First match wins. Without it a run that only skipped its tests would end a cycle, a missing pytest would be a valid RED, and
/// missing coverage would be sent to the implementation, which E4 forbids.
const UNEARNED: [Unearned; 7] = [
    Unearned {
        code: 1,
        phases: &[Phase::Red],
        category: Which::Is(CategoryCode::CoverageBelowTarget),
        node: NextNode::HumanReview,
        reason: "Tests should fail in RED phase",
    },
    Unearned {
        code: 1,
        phases: AFTER_RED,
        category: Which::Is(CategoryCode::CoverageBelowTarget),
        node: NextNode::N2,
        reason: COVERAGE,
    },
    Unearned {
        code: 0,
        phases: AFTER_RED,
        category: Which::Is(CategoryCode::CoverageBelowTarget),
        node: NextNode::N2,
        reason: COVERAGE,
    },
    Unearned {
        code: 0,
        phases: AFTER_RED,
        category: Which::Is(CategoryCode::NoTestsExecuted),
        node: NextNode::N2,
        reason: "No tests executed, re-scaffold required",
    },
    Unearned {
        code: 0,
        phases: AFTER_RED,
        category: Which::Is(CategoryCode::SurvivorsLeft),
        node: NextNode::N3,
        reason: "Tests left processes behind, back to implementation",
    },
    Unearned {
        code: 0,
        phases: AFTER_RED,
        category: Which::IsNot(CategoryCode::TestsPassed),
        node: NextNode::HumanReview,
        reason: "Exit code 0 without proof that tests passed, requires human review",
    },
    Unearned {
        code: 1,
        phases: &[Phase::Red],
        category: Which::IsNot(CategoryCode::TestsFailed),
        node: NextNode::HumanReview,
        reason: "Exit code 1 without proof that tests failed, requires human review",
    },
];

/// Returns the decision on a result by table, category and policy, before any limit.
pub(in crate::routing) fn route_result(result: &TestResult<'_>, phase: Phase, settings: &RoutingSettings) -> RouteEntry {
    let (kind, destination) = match collection_error(result, phase, settings) {
        Some(destination) => (RouteKind::CollectionErrorPolicy, destination),
        None => route_proven(result, phase),
    };
    RouteEntry { phase, exit_code: result.exit_code, exit_code_source: result.exit_code_source, kind, destination }
}

fn route_proven(result: &TestResult<'_>, phase: Phase) -> (RouteKind, RouteDestination) {
    let Some(code) = result.exit_code else {
        let mut routed = route_by_exit_code(TestResult::ASSUMED_CODE, phase);
        routed.reason = format!("No exit code ({}), requires human review", why_no_code(result.exit_code_source));
        return (RouteKind::Routed, routed);
    };
    let takes_back = |row: &&Unearned| {
        row.code == code
            && row.phases.contains(&phase)
            && result.category.is_some_and(|category| match row.category {
                Which::Is(wanted) => category == wanted,
                Which::IsNot(earned) => category != earned,
            })
    };
    match UNEARNED.iter().find(takes_back) {
        Some(row) => (RouteKind::Category, destination(row.node, row.reason)),
        None => (RouteKind::Routed, route_by_exit_code(code, phase)),
    }
}

/// Returns where `routing.collection_error` sends a run whose tests could not be collected, if it changes the table's row.
fn collection_error(result: &TestResult<'_>, phase: Phase, settings: &RoutingSettings) -> Option<RouteDestination> {
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

/// Returns why there is no code, in words for people.
pub(in crate::routing) fn why_no_code(source: ExitCodeSource) -> &'static str {
    match source {
        ExitCodeSource::Timeout => "timed out",
        ExitCodeSource::Signal => "ended by a signal",
        ExitCodeSource::NotStarted => "not started",
        ExitCodeSource::Lost | ExitCodeSource::Process | ExitCodeSource::Defaulted => "status lost",
    }
}
