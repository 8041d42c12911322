//! Tests rows 40 to 44 of seed 003's decision table, in which a reviewer gives two outputs, and the sentences for people
//! about them.

use super::{read, read_bytes};
use crate::review::{
    DecidingAttempt, IndeterminateReason, Malformation, OutputComparison, Rejection, ReviewDecision, ReviewGate, ReviewStep,
    ReviewerFault, announcement, retry_warning,
};
use proctor_model::Digest;

fn decide(outputs: [&str; 2]) -> (ReviewDecision, usize) {
    let mut gate = ReviewGate::First;
    for (index, output) in outputs.into_iter().enumerate() {
        match gate.next_step(read(output), Digest::of(output.as_bytes())) {
            ReviewStep::Decided(decision) => return (decision, index + 1),
            ReviewStep::Retry { gate: next, .. } => gate = next,
        }
    }
    panic!("two outputs always decide");
}

#[test]
fn row_40_the_retry_approves() {
    let (decision, outputs) = decide(["The code looks good overall.", "**Ready to merge? Yes**"]);
    assert_eq!((decision, outputs), (ReviewDecision::Proceed(DecidingAttempt::Retry), 2));
    assert_eq!(announcement(&decision), "Code review APPROVED (retry succeeded)");
    let (decision, outputs) = decide(["**Ready to merge? Yes**", "never asked for"]);
    assert_eq!((announcement(&decision).as_str(), outputs), ("Code review APPROVED", 1));
}

#[test]
fn row_41_the_retry_rejects() {
    assert_eq!(decide(["LGTM", "Ready to merge? No"]).0, ReviewDecision::Fix(Rejection::No, DecidingAttempt::Retry));
    let (decision, _) = decide(["", "Ready to merge? With fixes"]);
    assert_eq!(decision, ReviewDecision::Fix(Rejection::WithFixes, DecidingAttempt::Retry));
    assert!(announcement(&decision).starts_with("Review requires fixes before proceeding"));
}

#[test]
fn row_42_two_kinds_of_nothing_are_both_named() {
    for outputs in [["", "Great work!"], ["Great work!", ""]] {
        let (decision, _) = decide(outputs);
        assert!(matches!(decision, ReviewDecision::AskPerson(IndeterminateReason::MalformedTwice { .. })), "{decision:?}");
        let text = announcement(&decision);
        assert!(text.starts_with("Code review failed twice with malformed output"), "{text}");
        assert!(text.contains("returned no output") && text.contains("missing the 'Ready to merge?' field"), "{text}");
    }
    assert_eq!(announcement(&decide(["", " "]).0), "Both attempts returned no output");
}

#[test]
fn row_43_a_rejection_is_never_asked_again() {
    let (decision, outputs) = decide(["Ready to merge? No", "Ready to merge? Yes"]);
    assert_eq!((decision, outputs), (ReviewDecision::Fix(Rejection::No, DecidingAttempt::First), 1));
    assert_eq!(announcement(&decision), "Review explicitly rejected");
}

#[test]
fn a_retry_that_rejects_has_not_succeeded() {
    for (answer, announced) in [
        ("Ready to merge? No", "Review explicitly rejected (decided by the retry)"),
        ("Ready to merge? With fixes", "Review requires fixes before proceeding (decided by the retry)"),
    ] {
        let (decision, outputs) = decide(["LGTM", answer]);
        assert_eq!((announcement(&decision).as_str(), outputs), (announced, 2));
    }
}

#[test]
fn row_44_the_same_bytes_twice_are_named() {
    let (decision, _) = decide(["LGTM", "LGTM"]);
    let ReviewDecision::AskPerson(IndeterminateReason::MalformedTwice { outputs, .. }) = decision else { panic!("{decision:?}") };
    assert_eq!(outputs, OutputComparison::Identical);
    assert!(announcement(&decision).contains("identical output"));
}

#[test]
fn an_approval_after_a_rejection_in_a_failed_attempt_does_not_count() {
    let first = read_bytes(b"Ready to merge? No\n", Some(ReviewerFault::ExitCode(1)));
    let ReviewStep::Retry { why, gate } = ReviewGate::First.next_step(first, Digest::of(b"a")) else { panic!("it is malformed") };
    assert_eq!(why, Malformation::Transport(ReviewerFault::ExitCode(1)));
    let step = gate.next_step(read("Ready to merge? Yes"), Digest::of(b"b"));
    assert!(
        matches!(step, ReviewStep::Decided(ReviewDecision::AskPerson(IndeterminateReason::RejectedBefore { .. }))),
        "{step:?}"
    );
    let step = gate.next_step(read("Ready to merge? No"), Digest::of(b"b"));
    assert_eq!(step, ReviewStep::Decided(ReviewDecision::Fix(Rejection::No, DecidingAttempt::Retry)));
}

#[test]
fn the_warnings_before_the_retry_are_seed_003s() {
    assert_eq!(retry_warning(Malformation::MissingField), "Code review output missing 'Ready to merge?' field - retrying once");
    assert_eq!(retry_warning(Malformation::NoOutput), "No output - retrying once");
    assert!(retry_warning(Malformation::Transport(ReviewerFault::ExitCode(1))).ends_with(" - retrying once"));
}
