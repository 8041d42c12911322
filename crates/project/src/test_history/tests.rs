//! Tests the judgements about past results: which tests are flaky, which are slower, and what a row of results says.

use std::collections::BTreeMap;

use crate::test_history::compare::has_all_tests;
use crate::test_history::flaky::{flips_of_check, flips_of_tests};
use crate::test_history::slow::{durations_in, has_grown, middle};
use crate::test_history::streaks::streak;
use proctor_index::{CheckRun, NotPassed, Roster};
use proctor_model::{
    CheckEnd, Digest, OverallStatus, ResultType, RunId, Sequence, TestCounts, TestOutcome, Timestamp, TreeDigest,
};

/// A run of a check with the tests 1, 2 and 3, of which these failed.
fn run(number: u64, tree: &str, failed: &[u32]) -> CheckRun {
    let message = Some(7);
    CheckRun {
        sequence: Sequence(number),
        run_id: RunId::new(Timestamp::from_millis(0), number),
        started: Timestamp::from_millis(i64::try_from(number).unwrap() * 1000),
        tree: Some(TreeDigest(Digest::of(tree.as_bytes()))),
        run_status: OverallStatus::Success,
        attempt: 1,
        status: if failed.is_empty() { ResultType::Success } else { ResultType::TestFailure },
        blocks: !failed.is_empty(),
        duration: None,
        counts: None,
        reused: None,
        roster: Some(1),
        is_complete: true,
        not_passed: failed.iter().map(|test| NotPassed { position: test - 1, outcome: TestOutcome::Failed, message }).collect(),
        durations: vec![Some(number * 1000); 3],
    }
}

fn rosters() -> BTreeMap<u32, Roster> {
    BTreeMap::from([(1, Roster::new(vec![1, 2, 3])), (2, Roster::new(vec![3]))])
}

#[test]
fn a_test_is_flaky_if_it_passed_and_failed_on_an_equal_tree_and_only_then() {
    // Test 1 broke and was mended; test 2 flips on the tree `b`; test 3 is skipped once.
    let skipped = NotPassed { position: 2, outcome: TestOutcome::Skipped, message: None };
    let runs = [
        run(1, "a", &[]),
        run(2, "b", &[1, 2]),
        CheckRun { not_passed: vec![NotPassed { position: 0, ..run(3, "b", &[1]).not_passed[0] }, skipped], ..run(3, "b", &[1]) },
        run(4, "c", &[]),
        run(5, "c", &[]),
    ];
    let flips = flips_of_tests(&runs, &rosters());
    assert_eq!(flips.keys().collect::<Vec<_>>(), [&2]);
    let of_two = &flips[&2];
    assert_eq!((of_two.trees, of_two.passed, of_two.failed), (1, 1, 1));
    assert_eq!(of_two.since, Some(runs[2].started), "the run that contradicted the one before");
    assert_eq!(of_two.last.as_ref().map(|(sequence, _, _, message)| (sequence.0, *message)), Some((2, Some(7))));
}

#[test]
fn a_retried_attempt_counts_and_a_run_that_is_about_no_tree_does_not() {
    let retried = [CheckRun { attempt: 1, ..run(1, "a", &[3]) }, CheckRun { attempt: 2, ..run(1, "a", &[]) }];
    assert_eq!(flips_of_tests(&retried, &rosters()).keys().collect::<Vec<_>>(), [&3]);
    let moved = [run(1, "a", &[]), CheckRun { run_status: OverallStatus::Moved, ..run(2, "a", &[3]) }];
    assert!(flips_of_tests(&moved, &rosters()).is_empty());
    assert_eq!(flips_of_check(&moved).failed, 0);
    let left_out = [run(1, "a", &[1]), CheckRun { roster: Some(2), ..run(2, "a", &[]) }];
    assert!(flips_of_tests(&left_out, &rosters()).is_empty(), "a test that was left out did not pass");
}

#[test]
fn a_row_of_failures_goes_on_over_runs_that_say_nothing() {
    let runs = [
        run(1, "a", &[]),
        run(2, "b", &[1]),
        CheckRun { run_status: OverallStatus::Interrupted, ..run(3, "c", &[1]) },
        run(4, "d", &[2]),
        CheckRun { attempt: 1, ..run(5, "e", &[2]) },
        CheckRun { attempt: 2, ..run(5, "e", &[2]) },
    ];
    let shown = streak("pytest", &runs);
    let failed = CheckEnd::Failed;
    assert_eq!(shown.ends, [CheckEnd::Passed, failed, CheckEnd::Unclear, failed, failed]);
    assert_eq!(shown.failing, Some((Timestamp::from_millis(2000), 3)));
    let mended = streak("pytest", &[run(1, "a", &[1]), run(2, "a", &[])]);
    assert_eq!((mended.ends.as_slice(), mended.failing, mended.flaky), (&[CheckEnd::Flaky, CheckEnd::Passed][..], None, 1));
    let undone = streak(
        "pytest",
        &[
            run(1, "a", &[]),
            run(2, "b", &[1]),
            CheckRun { reused: Some(RunId::new(Timestamp::from_millis(0), 1)), ..run(3, "a", &[]) },
        ],
    );
    assert_eq!((undone.ends, undone.failing, undone.flaky), (vec![CheckEnd::Passed, failed, CheckEnd::Passed], None, 0));
    let many: Vec<CheckRun> = (1..=50).map(|number| run(number, &number.to_string(), &[])).collect();
    assert_eq!(streak("pytest", &many).ends.len(), 20);
}

#[test]
fn a_failure_that_the_policy_allows_is_a_warning_and_begins_no_row_of_failures() {
    let allowed = |number: u64| CheckRun { blocks: false, ..run(number, &number.to_string(), &[1]) };
    let shown = streak("eslint", &[allowed(1), allowed(2), allowed(3)]);
    assert_eq!((shown.ends, shown.failing, shown.is_failing_longer), (vec![CheckEnd::Warned; 3], None, false));
    let turned = streak("eslint", &[run(1, "1", &[1]), allowed(2), run(3, "3", &[1])]);
    assert_eq!(turned.ends, [CheckEnd::Failed, CheckEnd::Warned, CheckEnd::Failed]);
    assert_eq!(turned.failing, Some((Timestamp::from_millis(3000), 1)), "a warning ends a row of failures");
}

#[test]
fn a_check_that_could_not_be_carried_out_says_nothing_about_its_tree() {
    for status in [ResultType::ExecutionError, ResultType::PrerequisiteFailure, ResultType::SpecificationError] {
        let runs = [run(1, "a", &[]), CheckRun { status, ..run(2, "a", &[]) }];
        assert_eq!(flips_of_check(&runs).failed, 0, "{}", status.word());
        let shown = streak("pytest", &runs);
        assert_eq!((shown.ends, shown.failing), (vec![CheckEnd::Passed, CheckEnd::Unclear], None), "{}", status.word());
    }
    for status in [ResultType::TestFailure, ResultType::ValidationFailure, ResultType::Timeout] {
        assert_eq!(flips_of_check(&[run(1, "a", &[]), CheckRun { status, ..run(2, "a", &[]) }]).failed, 1, "{}", status.word());
    }
}

#[test]
fn a_row_of_failures_may_begin_before_the_results_that_were_read() {
    let failing = |count: u64| (1..=count).map(|number| run(number, &number.to_string(), &[1])).collect::<Vec<_>>();
    assert!(streak("pytest", &failing(200)).is_failing_longer);
    assert!(!streak("pytest", &failing(199)).is_failing_longer);
    let mut begun = failing(200);
    begun[0] = run(1, "1", &[]);
    assert!(!streak("pytest", &begun).is_failing_longer);
}

#[test]
fn tests_that_cannot_be_compared_are_not_said_to_be_equal() {
    let whole = run(1, "a", &[]);
    let later = run(2, "a", &[]);
    let linter = |run: CheckRun| CheckRun { roster: None, ..run };
    let counted = |run: CheckRun| CheckRun { roster: None, counts: Some(TestCounts { passed: 3, failed: 0, skipped: 0 }), ..run };
    let reused = |run: CheckRun| CheckRun { roster: None, reused: Some(RunId::new(Timestamp::from_millis(0), 9)), ..run };
    let partial = |run: CheckRun| CheckRun { is_complete: false, ..run };
    let rows = [
        (whole.clone(), later.clone(), true),
        (linter(whole.clone()), linter(later.clone()), true),
        (reused(whole.clone()), reused(later.clone()), true),
        (whole.clone(), linter(later.clone()), false),
        (linter(whole.clone()), later.clone(), false),
        (counted(whole.clone()), counted(later.clone()), false),
        (linter(whole.clone()), reused(later.clone()), false),
        (whole, partial(later), false),
    ];
    for (place, (before, after, expected)) in rows.into_iter().enumerate() {
        assert_eq!(has_all_tests(&before, &after), expected, "row {place}");
    }
}

#[test]
fn durations_of_failures_and_small_growths_count_for_nothing() {
    let durations = durations_in(&[run(1, "a", &[2]), run(9, "b", &[])], &rosters());
    assert_eq!(durations[&1], [1000, 9000]);
    assert_eq!(durations[&2], [9000]);
    assert_eq!((middle(vec![9, 1, 5]), middle(Vec::new())), (Some(5), None));
    assert!(has_grown(100_000, 150_000) && !has_grown(100_000, 149_999), "half as long again");
    assert!(!has_grown(1000, 10_999) && has_grown(1000, 11_000), "and 10 ms more");
}
