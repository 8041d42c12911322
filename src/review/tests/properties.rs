//! What holds for every text.

use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use proptest::sample::select;
use proptest::{prop_assert, prop_assert_ne};

use super::{read, read_bytes};
use crate::model::Digest;
use crate::review::{Decision, Fault, Gate, Reading, Step};

/// Pieces of reviews: put together at random they come nearer to a verdict than random texts do.
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

/// Every line that approves, and nothing else does: written out here apart from the grammar.
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
        assert_eq!(read(&line), Reading::Approved, "{line}");
        assert_eq!(read(&format!("Text.\n\n{line}\n\nMore text.\n")), Reading::Approved, "{line}");
    }
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_without_exactly_one_exact_approval_line_is_ever_approved(text in reviews()) {
        if !has_one_approval_line(&text) {
            prop_assert_ne!(read(&text), Reading::Approved);
        }
    }

    #[test]
    fn adding_text_to_a_rejection_never_makes_it_an_approval(before in reviews(), after in reviews(), text in reviews()) {
        if let Reading::Rejected(_) = read(&text) {
            prop_assert_ne!(read(&format!("{text}{after}")), Reading::Approved);
            prop_assert_ne!(read(&format!("{before}\n{text}\n{after}")), Reading::Approved);
            prop_assert_ne!(read(&format!("{before}{text}")), Reading::Approved);
        }
    }

    #[test]
    fn quoting_a_text_never_makes_it_an_approval(text in reviews()) {
        let fenced = format!("`````````\n{text}\n`````````");
        let quoted = text.split('\n').map(|line| format!("> {line}\n")).collect::<String>();
        prop_assert_ne!(read(&fenced), Reading::Approved);
        prop_assert_ne!(read(&quoted), Reading::Approved);
    }

    #[test]
    fn bytes_of_any_kind_are_read_and_a_failed_command_never_approves(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_ne!(read_bytes(&bytes, None), Reading::Approved);
        prop_assert_ne!(read_bytes(b"Ready to merge? Yes", Some(Fault::Unknown)), Reading::Approved);
    }

    #[test]
    fn two_outputs_always_decide_and_only_an_explicit_yes_approves(first in reviews(), second in reviews()) {
        let note = |gate: Gate, text: &str| gate.note(read(text), Digest::of(text.as_bytes()));
        let decision = match note(Gate::First, &first) {
            Step::Decided(decision) => decision,
            Step::Retry { gate, .. } => match note(gate, &second) {
                Step::Decided(decision) => decision,
                Step::Retry { .. } => panic!("there is no third attempt"),
            },
        };
        let explicit = has_one_approval_line(&first) || has_one_approval_line(&second);
        prop_assert!(explicit || !matches!(decision, Decision::Approved(_)));
    }
}
