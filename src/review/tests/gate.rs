//! Rows 40 to 44 of the decision table: two outputs, and what is said of them.

use super::{read, read_bytes};
use crate::model::Digest;
use crate::review::{
    Attempt, Decision, Fault, Gate, Indeterminate, Malformation, Outputs, Rejection, Step, announcement, retry_warning,
};

fn decide(outputs: [&str; 2]) -> (Decision, usize) {
    let mut gate = Gate::First;
    for (index, output) in outputs.into_iter().enumerate() {
        match gate.note(read(output), Digest::of(output.as_bytes())) {
            Step::Decided(decision) => return (decision, index + 1),
            Step::Retry { gate: next, .. } => gate = next,
        }
    }
    panic!("two outputs always decide");
}

#[test]
fn row_40_the_retry_approves() {
    let (decision, outputs) = decide(["The code looks good overall.", "**Ready to merge? Yes**"]);
    assert_eq!((decision, outputs), (Decision::Approved(Attempt::Retry), 2));
    assert_eq!(announcement(&decision), "Code review APPROVED (retry succeeded)");
    let (decision, outputs) = decide(["**Ready to merge? Yes**", "never asked for"]);
    assert_eq!((announcement(&decision).as_str(), outputs), ("Code review APPROVED", 1));
}

#[test]
fn row_41_the_retry_rejects() {
    assert_eq!(decide(["LGTM", "Ready to merge? No"]).0, Decision::Rejected(Rejection::No, Attempt::Retry));
    let (decision, _) = decide(["", "Ready to merge? With fixes"]);
    assert_eq!(decision, Decision::Rejected(Rejection::WithFixes, Attempt::Retry));
    assert!(announcement(&decision).starts_with("Review requires fixes before proceeding"));
}

#[test]
fn row_42_two_kinds_of_nothing_are_both_named() {
    for outputs in [["", "Great work!"], ["Great work!", ""]] {
        let (decision, _) = decide(outputs);
        assert!(matches!(decision, Decision::Indeterminate(Indeterminate::MalformedTwice { .. })), "{decision:?}");
        let text = announcement(&decision);
        assert!(text.starts_with("Code review failed twice with malformed output"), "{text}");
        assert!(text.contains("returned no output") && text.contains("missing the 'Ready to merge?' field"), "{text}");
    }
    assert_eq!(announcement(&decide(["", " "]).0), "Both attempts returned no output");
}

#[test]
fn row_43_a_rejection_is_never_asked_again() {
    let (decision, outputs) = decide(["Ready to merge? No", "Ready to merge? Yes"]);
    assert_eq!((decision, outputs), (Decision::Rejected(Rejection::No, Attempt::First), 1));
    assert_eq!(announcement(&decision), "Review explicitly rejected");
}

#[test]
fn row_44_the_same_bytes_twice_are_named() {
    let (decision, _) = decide(["LGTM", "LGTM"]);
    let Decision::Indeterminate(Indeterminate::MalformedTwice { outputs, .. }) = decision else { panic!("{decision:?}") };
    assert_eq!(outputs, Outputs::Identical);
    assert!(announcement(&decision).contains("identical output"));
}

#[test]
fn an_approval_after_a_rejection_in_a_failed_attempt_does_not_count() {
    let first = read_bytes(b"Ready to merge? No\n", Some(Fault::ExitCode(1)));
    let Step::Retry { why, gate } = Gate::First.note(first, Digest::of(b"a")) else { panic!("it is malformed") };
    assert_eq!(why, Malformation::Transport(Fault::ExitCode(1)));
    let step = gate.note(read("Ready to merge? Yes"), Digest::of(b"b"));
    assert!(matches!(step, Step::Decided(Decision::Indeterminate(Indeterminate::RejectedBefore { .. }))), "{step:?}");
    let step = gate.note(read("Ready to merge? No"), Digest::of(b"b"));
    assert_eq!(step, Step::Decided(Decision::Rejected(Rejection::No, Attempt::Retry)));
}

#[test]
fn the_warnings_before_the_retry_are_seed_003s() {
    assert_eq!(retry_warning(Malformation::MissingField), "Code review output missing 'Ready to merge?' field - retrying once");
    assert_eq!(retry_warning(Malformation::NoOutput), "No output - retrying once");
    assert!(retry_warning(Malformation::Transport(Fault::ExitCode(1))).ends_with(" - retrying once"));
}
