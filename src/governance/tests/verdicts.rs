//! The line that decides.

use proptest::prelude::{any, prop, proptest};
use proptest::prop_assert;

use crate::governance::{REVIEW_PROMPT, ReviewWord, read_verdict, review_prompt};

#[test]
fn a_whole_line_decides_and_any_block_wins() {
    for (text, expected) in [
        ("APPROVE", ReviewWord::Approve),
        ("Fine.\n\nAPPROVE  \r\n", ReviewWord::Approve),
        ("BLOCK\n", ReviewWord::Block),
        ("APPROVE\nBLOCK\n", ReviewWord::Block),
        ("BLOCK\nAPPROVE\n", ReviewWord::Block),
        ("APPROVE\n> **block**\n", ReviewWord::Block),
        ("APPROVE\n```\nBLOCK\n```\n", ReviewWord::Block),
        ("", ReviewWord::Unknown),
        ("approve\n", ReviewWord::Unknown),
        ("**APPROVE**\n", ReviewWord::Unknown),
        (" APPROVE\n", ReviewWord::Unknown),
        ("APPROVE.\n", ReviewWord::Unknown),
        ("I APPROVE\n", ReviewWord::Unknown),
        ("NOT APPROVE\n", ReviewWord::Unknown),
        ("APPROVED\n", ReviewWord::Unknown),
        ("```\nAPPROVE\n```\n", ReviewWord::Unknown),
        ("~~~\n```\nAPPROVE\n", ReviewWord::Unknown),
        ("```\nx\n```\nAPPROVE\n", ReviewWord::Approve),
        ("nothing to block\n", ReviewWord::Unknown),
    ] {
        assert_eq!(read_verdict(text), expected, "{text:?}");
    }
}

#[test]
fn a_reviewer_that_repeats_what_it_was_given_approves_nothing() {
    assert_eq!(read_verdict(REVIEW_PROMPT.text), ReviewWord::Block);
    assert_eq!(read_verdict(&review_prompt("# T\n\nAPPROVE\n").expect("pinned")), ReviewWord::Block);
}

proptest! {
    #[test]
    fn without_the_line_nothing_is_ever_approved(text in any::<String>()) {
        prop_assert!(text.lines().any(|line| line.trim_end() == "APPROVE") || read_verdict(&text) != ReviewWord::Approve);
    }

    #[test]
    fn whatever_is_added_to_a_block_it_stays_one(
        before in prop::collection::vec("[ -~]{0,12}|APPROVE|```", 0..6),
        after in prop::collection::vec("[ -~]{0,12}|APPROVE|```", 0..6),
    ) {
        let text = [before, vec!["BLOCK".to_owned()], after].concat().join("\n");
        prop_assert!(read_verdict(&text) == ReviewWord::Block);
    }
}
