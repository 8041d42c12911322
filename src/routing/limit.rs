//! What ends a loop: consecutive scaffold errors (R3), too many attempts, and the same failure on the same tree (R4).
//!
//! It looks only at a state that already holds the attempt it judges: append, then check.

use crate::model::{AttemptRecord, NextNode, RouteDestination, RouteEntry, RouteKind, RoutingSettings, TddState};
use crate::routing::result::TestResult;
use crate::routing::table::{destination, is_scaffold_error};

/// Returns whether the last `max_retries` codes are all scaffold errors (4 or 5); `history` ends with the newest code.
///
/// An attempt without a code breaks the streak. A limit of 0 is never exceeded: settings start at 1.
pub fn check_retry_limit_exceeded(history: &[Option<i32>], max_retries: u32) -> bool {
    let needed = usize_of(max_retries);
    needed > 0
        && history.len() >= needed
        && history[history.len() - needed..].iter().all(|code| code.is_some_and(is_scaffold_error))
}

/// Returns where the retry limit sends an attempt, if it is exceeded. `routed` is what the table and the policy say of it.
pub(in crate::routing) fn retry_limit(
    state: &TddState,
    routed: &RouteEntry,
    settings: &RoutingSettings,
) -> Option<RouteDestination> {
    let limit = settings.max_scaffold_retries;
    let exceeded = check_retry_limit_exceeded(phase_codes(state), limit) || policy_streak(state, routed, limit);
    exceeded.then(|| destination(NextNode::HumanReview, format!("Scaffold retry limit ({limit}) exceeded")))
}

/// Returns where the attempt limit sends an attempt that did not get anywhere, if it is reached.
pub(in crate::routing) fn attempt_limit(
    state: &TddState,
    routed: &RouteEntry,
    settings: &RoutingSettings,
) -> Option<RouteDestination> {
    let limit = settings.max_attempts;
    let goes_round = matches!(routed.destination.next_node, NextNode::N2 | NextNode::N3);
    (goes_round && state.attempts >= limit).then(|| {
        let reason = format!("Attempt limit ({limit}) reached in {} phase, requires human review", state.phase.name());
        destination(NextNode::HumanReview, reason)
    })
}

/// Returns what this attempt looked like and how often in a row it has looked like that.
pub(in crate::routing) fn attempt_record(result: &TestResult<'_>, state: &TddState) -> AttemptRecord {
    let looks_alike = |last: &&AttemptRecord| {
        last.tree_digest == result.tree_digest
            && last.failing_set == result.failing_set
            // Codes 4 and 5 both come with an empty failing set, and are not the same failure.
            && state.exit_code == result.exit_code
            && state.exit_code_source == Some(result.exit_code_source)
    };
    let times = state.last_attempt.as_ref().filter(looks_alike).map_or(0, |last| last.times);
    AttemptRecord { tree_digest: result.tree_digest, failing_set: result.failing_set, times: times.saturating_add(1) }
}

/// Refuses the retry of a failure that came back unchanged on an unchanged tree (R4).
pub(in crate::routing) fn refuse_deterministic(entry: &mut RouteEntry, attempt: &AttemptRecord) {
    let goes_round = matches!(entry.destination.next_node, NextNode::N2 | NextNode::N3);
    if goes_round && attempt.times >= 2 {
        entry.destination.retry_allowed = false;
        let repeated = format!(" (the same failure {} times on the same tree: a retry cannot help)", attempt.times);
        entry.destination.reason.reserve_exact(repeated.len());
        entry.destination.reason.push_str(&repeated);
    }
}

/// Returns whether collection errors that the policy re-scaffolds make up the streak, alone or with codes 4 and 5 (R7).
fn policy_streak(state: &TddState, routed: &RouteEntry, limit: u32) -> bool {
    let (limit, in_phase) = (usize_of(limit), phase_codes(state).len());
    let earlier = state.route_history.iter().rev().take(in_phase.saturating_sub(1));
    let streak = std::iter::once(routed).chain(earlier).take_while(|entry| is_scaffold_entry(entry)).take(limit).count();
    limit > 0 && streak >= limit
}

fn is_scaffold_entry(entry: &RouteEntry) -> bool {
    match entry.kind {
        RouteKind::CollectionErrorPolicy => entry.destination.next_node == NextNode::N2,
        RouteKind::Routed => entry.exit_code.is_some_and(is_scaffold_error),
        RouteKind::Category
        | RouteKind::ProtectedFiles
        | RouteKind::RetryLimit
        | RouteKind::AttemptLimit
        | RouteKind::Override => false,
    }
}

/// Returns the codes of the current phase: streaks do not cross phases (A9).
fn phase_codes(state: &TddState) -> &[Option<i32>] {
    let history = &state.exit_code_history;
    &history[history.len().saturating_sub(usize_of(state.phase_history))..]
}

fn usize_of(count: u32) -> usize {
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
