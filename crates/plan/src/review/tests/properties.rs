//! Tests with random texts that only a review with exactly one exact approval line is approved.

use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use proptest::sample::select;
use proptest::{prop_assert, prop_assert_ne};

use super::{read, read_bytes};
use crate::review::{ParsedReview, ReviewDecision, ReviewGate, ReviewStep, ReviewerFault};
use proctor_model::Digest;

/// Pieces of reviews. A text that is put together from them is more often close to a verdict than random characters
/// are.
const PIECES: &[&str] = &[
    "Ready to merge? Yes",
    "Ready to merge? Yes\n",
    "\nReady to merge? Yes\n",
    "**Ready to merge? Yes**",
    "**Ready to merge?** Yes",
    "Ready to merge?",
    "Ready to merge? No",
    "Ready to merge: With fixes\n",
    "ready to merge? ",
    "Yes",
    "No",
    "with fixes",
    ".",
    "**",
    "__",
    "# ",
    "- ",
    "> ",
    "```",
    "~~~",
    "```\n",
    "<!--",
    "-->",
    "    ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    " ",
    "\u{200b}",
    "\u{feff}",
    "The code looks good overall.",
];

/// Returns every line that approves; no other line does. The list does not use the code in `grammar`, so that it can
/// check that code.
fn approval_lines() -> Vec<String> {
    let mut lines = Vec::new();
    for decoration in ["", "- ", "# ", "## ", "### ", "#### ", "##### ", "###### "] {
        for body in [
            "Ready to merge? Yes",
            "Ready to merge? Yes.",
            "**Ready to merge? Yes**",
            "**Ready to merge? Yes.**",
            "**Ready to merge? Yes**.",
            "**Ready to merge?** Yes",
            "**Ready to merge?** Yes.",
            "__Ready to merge? Yes__",
            "__Ready to merge? Yes.__",
            "__Ready to merge? Yes__.",
            "__Ready to merge?__ Yes",
            "__Ready to merge?__ Yes.",
        ] {
            lines.push(format!("{decoration}{body}"));
        }
    }
    lines
}

fn has_one_approval_line(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let known = approval_lines();
    text.split('\n').filter(|line| known.iter().any(|one| one == line)).count() == 1
}

fn reviews() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop_oneof![12 => select(PIECES).prop_map(str::to_owned), 1 => any::<String>()], 0..12);
    pieces.prop_map(|pieces| pieces.concat())
}

#[test]
fn every_exact_approval_line_approves() {
    for line in approval_lines() {
        assert_eq!(read(&line), ParsedReview::Approved, "{line}");
        assert_eq!(read(&format!("Text.\n\n{line}\n\nMore text.\n")), ParsedReview::Approved, "{line}");
    }
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_without_exactly_one_exact_approval_line_is_ever_approved(text in reviews()) {
        if !has_one_approval_line(&text) {
            prop_assert_ne!(read(&text), ParsedReview::Approved);
        }
    }

    #[test]
    fn adding_text_to_a_rejection_never_makes_it_an_approval(before in reviews(), after in reviews(), text in reviews()) {
        if let ParsedReview::Rejected(_) = read(&text) {
            prop_assert_ne!(read(&format!("{text}{after}")), ParsedReview::Approved);
            prop_assert_ne!(read(&format!("{before}\n{text}\n{after}")), ParsedReview::Approved);
            prop_assert_ne!(read(&format!("{before}{text}")), ParsedReview::Approved);
        }
    }

    #[test]
    fn quoting_a_text_never_makes_it_an_approval(text in reviews()) {
        let fenced = format!("`````````\n{text}\n`````````");
        let quoted = text.split('\n').map(|line| format!("> {line}\n")).collect::<String>();
        prop_assert_ne!(read(&fenced), ParsedReview::Approved);
        prop_assert_ne!(read(&quoted), ParsedReview::Approved);
    }

    #[test]
    fn bytes_of_any_kind_are_read_and_a_failed_command_never_approves(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_ne!(read_bytes(&bytes, None), ParsedReview::Approved);
        prop_assert_ne!(read_bytes(b"Ready to merge? Yes", Some(ReviewerFault::Unknown)), ParsedReview::Approved);
    }

    #[test]
    fn two_outputs_always_decide_and_only_an_explicit_yes_approves(first in reviews(), second in reviews()) {
        let note = |gate: ReviewGate, text: &str| gate.next_step(read(text), Digest::of(text.as_bytes()));
        let decision = match note(ReviewGate::First, &first) {
            ReviewStep::Decided(decision) => decision,
            ReviewStep::Retry { gate, .. } => match note(gate, &second) {
                ReviewStep::Decided(decision) => decision,
                ReviewStep::Retry { .. } => panic!("there is no third attempt"),
            },
        };
        let explicit = has_one_approval_line(&first) || has_one_approval_line(&second);
        prop_assert!(explicit || !matches!(decision, ReviewDecision::Proceed(_)));
    }
}
