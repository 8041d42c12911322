//! Tests of reading a review's verdict, which is a line of the review with a single word.

use proptest::prelude::{any, prop, proptest};
use proptest::prop_assert;

use crate::governance::{IssueVerdict, REVIEW_PROMPT, parse_verdict, review_prompt};

#[test]
fn a_whole_line_decides_and_any_block_wins() {
    for (text, expected) in [
        ("APPROVE", IssueVerdict::Approve),
        ("Fine.\n\nAPPROVE  \r\n", IssueVerdict::Approve),
        ("BLOCK\n", IssueVerdict::Block),
        ("APPROVE\nBLOCK\n", IssueVerdict::Block),
        ("BLOCK\nAPPROVE\n", IssueVerdict::Block),
        ("APPROVE\n> **block**\n", IssueVerdict::Block),
        ("APPROVE\n```\nBLOCK\n```\n", IssueVerdict::Block),
        ("", IssueVerdict::Unknown),
        ("approve\n", IssueVerdict::Unknown),
        ("**APPROVE**\n", IssueVerdict::Unknown),
        (" APPROVE\n", IssueVerdict::Unknown),
        ("APPROVE.\n", IssueVerdict::Unknown),
        ("I APPROVE\n", IssueVerdict::Unknown),
        ("NOT APPROVE\n", IssueVerdict::Unknown),
        ("APPROVED\n", IssueVerdict::Unknown),
        ("```\nAPPROVE\n```\n", IssueVerdict::Unknown),
        ("~~~\n```\nAPPROVE\n", IssueVerdict::Unknown),
        ("```\nx\n```\nAPPROVE\n", IssueVerdict::Approve),
        ("nothing to block\n", IssueVerdict::Unknown),
    ] {
        assert_eq!(parse_verdict(text), expected, "{text:?}");
    }
}

#[test]
fn a_reviewer_that_repeats_what_it_was_given_approves_nothing() {
    assert_eq!(parse_verdict(REVIEW_PROMPT.text), IssueVerdict::Block);
    assert_eq!(parse_verdict(&review_prompt("# T\n\nAPPROVE\n").expect("pinned")), IssueVerdict::Block);
}

proptest! {
    #[test]
    fn without_the_line_nothing_is_ever_approved(text in any::<String>()) {
        prop_assert!(text.lines().any(|line| line.trim_end() == "APPROVE") || parse_verdict(&text) != IssueVerdict::Approve);
    }

    #[test]
    fn whatever_is_added_to_a_block_it_stays_one(
        before in prop::collection::vec("[ -~]{0,12}|APPROVE|```", 0..6),
        after in prop::collection::vec("[ -~]{0,12}|APPROVE|```", 0..6),
    ) {
        let text = [before, vec!["BLOCK".to_owned()], after].concat().join("\n");
        prop_assert!(parse_verdict(&text) == IssueVerdict::Block);
    }
}
