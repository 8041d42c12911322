//! The limits that end a loop: consecutive scaffold errors (R3), too many attempts, and the same failure on the same
//! tree (R4).
//!
//! A limit is checked after the attempt was appended to the state, so the attempt itself counts.

use crate::routing::result::TestResult;
use crate::routing::table::{destination, is_scaffold_error};
use proctor_model::{AttemptRecord, NextNode, RouteDestination, RouteEntry, RouteKind, RoutingSettings, TddState};

/// Returns whether the last `max_retries` codes are all scaffold errors (4 or 5). The newest code is the last of
/// `history`.
///
/// An attempt without a code ends a series of scaffold errors. A limit of 0 is never exceeded; the smallest valid
/// setting is 1.
pub fn check_retry_limit_exceeded(history: &[Option<i32>], max_retries: u32) -> bool {
    let needed = to_usize(max_retries);
    needed > 0
        && history.len() >= needed
        && history[history.len() - needed..].iter().all(|code| code.is_some_and(is_scaffold_error))
}

/// Returns where the retry limit sends an attempt; `None` if the limit is not exceeded. `routed` is the decision before
/// any limit.
pub(in crate::routing) fn retry_limit(
    state: &TddState,
    routed: &RouteEntry,
    settings: &RoutingSettings,
) -> Option<RouteDestination> {
    let limit = settings.max_scaffold_retries;
    let exceeded = check_retry_limit_exceeded(phase_codes(state), limit) || is_policy_streak_exceeded(state, routed, limit);
    exceeded.then(|| destination(NextNode::HumanReview, format!("Scaffold retry limit ({limit}) exceeded")))
}

/// Returns where the attempt limit sends an attempt that would go back to N2 or N3; `None` if the limit is not reached,
/// or the attempt goes elsewhere.
pub(in crate::routing) fn attempt_limit(
    state: &TddState,
    routed: &RouteEntry,
    settings: &RoutingSettings,
) -> Option<RouteDestination> {
    let limit = settings.max_attempts;
    let goes_back = matches!(routed.destination.next_node, NextNode::N2 | NextNode::N3);
    (goes_back && state.attempts >= limit).then(|| {
        let reason = format!("Attempt limit ({limit}) reached in {} phase, requires human review", state.phase.word());
        destination(NextNode::HumanReview, reason)
    })
}

/// Returns the record of this attempt, with the number of consecutive attempts that failed in the same way on the same
/// tree.
pub(in crate::routing) fn attempt_record(result: &TestResult<'_>, state: &TddState) -> AttemptRecord {
    let looks_alike = |last: &&AttemptRecord| {
        last.tree_digest == result.tree_digest
            && last.failing_set == result.failing_set
            // Failures without a failing test, such as 4 (wrong usage) and 5 (no tests), differ only in their codes.
            && state.exit_code == result.exit_code
            && state.exit_code_source == Some(result.exit_code_source)
    };
    let times = state.last_attempt.as_ref().filter(looks_alike).map_or(0, |last| last.times);
    AttemptRecord { tree_digest: result.tree_digest, failing_set: result.failing_set, times: times.saturating_add(1) }
}

/// Forbids a retry if the task goes back to N2 or N3 and the same failure has happened at least twice on the same tree (R4).
pub(in crate::routing) fn refuse_repeated_failure(entry: &mut RouteEntry, attempt: &AttemptRecord) {
    let goes_back = matches!(entry.destination.next_node, NextNode::N2 | NextNode::N3);
    if goes_back && attempt.times >= 2 {
        entry.destination.retry_allowed = false;
        let repeated = format!(" (the same failure {} times on the same tree: a retry cannot help)", attempt.times);
        entry.destination.reason.reserve_exact(repeated.len());
        entry.destination.reason.push_str(&repeated);
    }
}

/// Returns whether the retry limit is exceeded if collection errors that `routing.collection_error` sends to N2 count
/// as scaffold errors too (R7).
fn is_policy_streak_exceeded(state: &TddState, routed: &RouteEntry, limit: u32) -> bool {
    let (limit, in_phase) = (to_usize(limit), phase_codes(state).len());
    let earlier = state.route_history.iter().rev().take(in_phase.saturating_sub(1));
    let streak = std::iter::once(routed).chain(earlier).take_while(|entry| is_scaffold_entry(entry)).take(limit).count();
    limit > 0 && streak >= limit
}

fn is_scaffold_entry(entry: &RouteEntry) -> bool {
    match entry.kind {
        RouteKind::CollectionErrorPolicy => entry.destination.next_node == NextNode::N2,
        RouteKind::Routed => entry.exit_code.is_some_and(is_scaffold_error),
        // Outside of a cycle a streak goes on after the limit.
        RouteKind::RetryLimit => true,
        RouteKind::Category
        | RouteKind::ProtectedFiles
        | RouteKind::AttemptLimit
        | RouteKind::NotRedYet
        | RouteKind::Override => false,
    }
}

/// Returns the codes of the current phase. A series of scaffold errors does not continue from one phase into the next
/// (A9).
fn phase_codes(state: &TddState) -> &[Option<i32>] {
    let history = &state.exit_code_history;
    &history[history.len().saturating_sub(to_usize(state.phase_history))..]
}

fn to_usize(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_exceeded_by_the_last_codes_only() {
        let exceeded = |codes: &[i32], limit| {
            let history: Vec<_> = codes.iter().copied().map(Some).collect();
            check_retry_limit_exceeded(&history, limit)
        };
        assert!(!exceeded(&[], 3));
        assert!(!exceeded(&[4, 4], 3));
        assert!(exceeded(&[4, 4, 4], 3));
        assert!(exceeded(&[4, 5, 4], 3));
        assert!(exceeded(&[1, 0, 5, 5, 4], 3));
        assert!(!exceeded(&[4, 4, 4, 1], 3));
        assert!(!exceeded(&[4, 1, 4, 4], 3));
        assert!(exceeded(&[4], 1));
        assert!(!exceeded(&[4, 4, 4], 0));
        assert!(!exceeded(&[4, 4, 4], u32::MAX));
    }

    #[test]
    fn an_attempt_without_a_code_breaks_the_streak() {
        assert!(!check_retry_limit_exceeded(&[Some(4), None, Some(4)], 3));
        assert!(!check_retry_limit_exceeded(&[None, None, None], 3));
    }
}
