//! Tests of the judgement of a commit, without any repository or store.

use std::time::Duration;

use super::*;
use crate::model::{ActionId, Digest, TreeDigest};

const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);

fn policy() -> GatePolicy {
    GatePolicy { tasks: vec![TaskId::default_task()], checks: Vec::new(), isolation: IsolationLevel::ProcessGroup, max_age: None }
}

/// Makes a run of the default task with these checks: `+` passed, `-` failed, `?` left out, `~` reused from another tree.
fn run(number: u64, checks: &[&str]) -> RunRecord {
    let record = |(position, check): (usize, &&str)| {
        let (sign, name) = check.split_at(1);
        let outcome = match sign {
            "+" => CheckOutcome::CarriedOut { blocking: Blocking::Allowed },
            "-" => CheckOutcome::CarriedOut { blocking: Blocking::Blocks },
            "~" => CheckOutcome::Reused {
                blocking: Blocking::Allowed,
                run_id: RunId::new(NOW, 1),
                other_tree: Some(TreeDigest(Digest::of(b"other"))),
            },
            _ => CheckOutcome::LeftOut,
        };
        CheckRecord { id: ActionId::numbered("STEP", position + 1), name: name.to_owned(), outcome }
    };
    let results: Vec<CheckRecord> = checks.iter().enumerate().map(record).collect();
    let is_red = checks.iter().any(|check| check.starts_with('-'));
    RunRecord {
        run_id: RunId::new(NOW, number),
        task: TaskId::default_task(),
        report_hash: Digest::of(b"report"),
        manifest_hash: Digest::of(b"manifest"),
        tree_digest: Some(TreeDigest(Digest::of(b"tree"))),
        tree_format: crate::model::TreeFormat::CURRENT,
        tested: None,
        environment_digest: None,
        plan_digest: Some(Digest::of(b"plan")),
        checks: Vec::new(),
        overall_status: if is_red { OverallStatus::Failed } else { OverallStatus::Success },
        overall_result: Some(if is_red { OverallResult::Failed } else { OverallResult::Passed }),
        blocking: u32::from(is_red),
        exit: Some(if is_red { CommandExit::CodeNeedsWork } else { CommandExit::Proceed }),
        isolation: None,
        route: None,
        tdd: None,
        prerequisites: Default::default(),
        configuration: Default::default(),
        inputs: Default::default(),
        results: Some(results),
        programs: None,
        reused: Vec::new(),
        started: NOW,
        ended: NOW,
        signature: None,
    }
}

fn state(policy: &GatePolicy, runs: &[RunRecord]) -> (GateState, Vec<String>) {
    let judged = judge_gate(policy, runs, NOW);
    let reasons = judged.iter().flat_map(|judged| &judged.reasons).map(ToString::to_string).collect();
    (overall_state(&judged), reasons)
}

fn word(policy: &GatePolicy, runs: &[RunRecord]) -> &'static str {
    state(policy, runs).0.word()
}

#[test]
fn the_newest_result_on_the_tree_decides() {
    let (green, red) = (|number| run(number, &["+a", "+b"]), |number| run(number, &["+a", "-b"]));
    assert_eq!(word(&policy(), &[]), "not-tested");
    assert_eq!(word(&policy(), &[green(1)]), "proved");
    assert_eq!(word(&policy(), &[green(2), red(1)]), "proved");
    let (state, reasons) = state(&policy(), &[red(2), green(1)]);
    assert_eq!((state, state.exit().code()), (GateState::Red, 1));
    assert!(reasons[0].ends_with(": b"), "{reasons:?}");
}

#[test]
fn a_run_without_a_verdict_says_nothing() {
    for status in [OverallStatus::Interrupted, OverallStatus::Moved, OverallStatus::Superseded, OverallStatus::SpecificationError]
    {
        let silent = RunRecord { overall_status: status, ..run(2, &["+a"]) };
        assert_eq!(word(&policy(), std::slice::from_ref(&silent)), "not-tested");
        assert_eq!(word(&policy(), &[silent, run(1, &["-a"])]), "red");
    }
    let without = RunRecord { overall_result: None, ..run(1, &["+a"]) };
    assert_eq!(word(&policy(), &[without]), "not-tested");
}

#[test]
fn checks_that_a_run_left_out_are_looked_for_in_older_runs_of_the_same_plan() {
    let partial = || run(9, &["+a", "?b"]);
    assert_eq!(word(&policy(), &[partial()]), "not-tested");
    assert_eq!(word(&policy(), &[run(9, &["+a", "~b"])]), "not-tested");
    assert_eq!(word(&policy(), &[partial(), run(1, &["?a", "+b"])]), "proved");
    assert_eq!(word(&policy(), &[partial(), run(1, &["?a", "-b"])]), "red");
    let other_plan = RunRecord { plan_digest: Some(Digest::of(b"other")), ..run(1, &["?a", "+b"]) };
    assert_eq!(state(&policy(), &[partial(), other_plan]).1, ["no result on this tree: b"]);
    let unnamed = RunRecord { results: None, ..run(1, &[]) };
    assert_eq!(word(&policy(), &[unnamed]), "not-accepted");
}

#[test]
fn a_result_that_the_policy_does_not_accept_is_passed_over_and_never_hides_a_failure() {
    let strict = GatePolicy { isolation: IsolationLevel::Landlock, max_age: Some(Duration::from_secs(60)), ..policy() };
    let weak = |number| RunRecord { isolation: Some(IsolationLevel::ProcessGroup), ..run(number, &["+a"]) };
    let landlock = RunRecord { isolation: Some(IsolationLevel::Landlock), ..run(1, &["+a"]) };
    let old = RunRecord { ended: Timestamp::from_millis(NOW.as_millis() - 60_001), ..run(1, &["+a"]) };
    let recent = RunRecord { ended: Timestamp::from_millis(NOW.as_millis() - 60_000), ..run(1, &["+a"]) };
    let person = RunRecord { exit: Some(CommandExit::PersonNeeded), ..run(1, &["+a"]) };
    for (runs, expected) in [
        (vec![weak(2)], "not-accepted"),
        (vec![weak(2), landlock.clone()], "proved"),
        (vec![old.clone()], "not-accepted"),
        (vec![recent], "proved"),
        (vec![person], "not-accepted"),
        (vec![weak(3), run(2, &["-a"]), landlock], "not-accepted"),
        (vec![run(3, &["-a"]), weak(2)], "red"),
    ] {
        assert_eq!(word(&strict, &runs), expected, "{:?}", runs.iter().map(|run| run.run_id.number()).collect::<Vec<_>>());
    }
    assert_eq!(word(&policy(), &[weak(1)]), "proved");
    assert_eq!(word(&policy(), &[old]), "proved");
}

#[test]
fn named_checks_and_tasks_are_required_each_for_itself() {
    let named = GatePolicy { checks: vec!["a".to_owned(), "b".to_owned()], ..policy() };
    assert_eq!(word(&named, &[run(2, &["+a", "?b"]), run(1, &["?a", "+b", "-c"])]), "proved");
    assert_eq!(word(&named, &[run(2, &["+a"])]), "not-tested");
    assert_eq!(word(&named, &[run(2, &["+a", "-b"])]), "red");
    let other = TaskId::try_from("T117").unwrap();
    let both = GatePolicy { tasks: vec![TaskId::default_task(), other.clone()], ..policy() };
    assert_eq!(word(&both, &[run(1, &["+a"])]), "not-tested");
    assert_eq!(word(&both, &[RunRecord { task: other, ..run(2, &["+x"]) }, run(1, &["+a"])]), "proved");
    assert_eq!(overall_state(&[]), GateState::NotTested, "unknown is never success");
}
