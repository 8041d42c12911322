//! Tests of slugs, ids, file names, and the names in stored states.

use crate::governance::tests::samples::{BLOCK, Driven};
use crate::governance::{
    DecisionPhase, FilingRetry, FilingStep, LoadingStep, Slug, TrailKind, WorkflowId, done_directory, file_name,
    slug_from_file_name,
};

#[test]
fn a_slug_is_what_is_left_of_a_files_name() {
    for (name, slug) in [
        ("governance-notes.md", "governance-notes"),
        ("Governance Notes (2).md", "governance-notes-2"),
        ("fix-123-now.txt", "fix-123-now"),
        ("v1.2.md", "v1-2"),
        (".hidden", "hidden"),
        ("no_ending", "no_ending"),
        ("Ärger.md", "rger"),
    ] {
        assert_eq!(slug_from_file_name(name).map(String::from), Ok(slug.to_owned()), "{name}");
    }
    for name in ["---.md", "", "日本.md"] {
        assert!(slug_from_file_name(name).is_err(), "{name}");
    }
}

#[test]
fn a_slug_is_safe_as_a_part_of_a_path_and_an_id_is_sixteen_digits() {
    for bad in ["", "..", "a/b", "A", "-x", "a b", &"x".repeat(81)] {
        assert!(Slug::try_from(bad.to_owned()).is_err(), "{bad}");
    }
    assert!(WorkflowId::try_from("0123456789abcdef".to_owned()).is_ok());
    assert!(WorkflowId::try_from("0123456789ABCDEF".to_owned()).is_err());
}

#[test]
fn names_say_number_and_kind() {
    let slug = Slug::try_from("notes".to_owned()).expect("a slug");
    assert_eq!((file_name(7, TrailKind::Draft), done_directory(62, &slug)), ("007-draft.md".to_owned(), "62-notes".to_owned()));
}

#[test]
fn a_stored_state_has_the_names_that_earlier_versions_gave_it() {
    let stored = serde_json::to_value(Driven::at_verdict_gate(BLOCK).state).expect("a state has a JSON form");
    let review = "/node/decide/subject/review";
    for pointer in
        ["/asked/drafter", "/allowed/iterations", "/node/decide/copies", &format!("{review}/said"), &format!("{review}/of")]
    {
        assert!(stored.pointer(pointer).is_some(), "{pointer} in {stored}");
    }
    let word = |value: serde_json::Result<serde_json::Value>| value.expect("it has a JSON form");
    assert_eq!(word(serde_json::to_value(LoadingStep::CheckingSlug)), "looking");
    assert_eq!(word(serde_json::to_value(LoadingStep::CheckingNewSlug)), "lookingAgain");
    assert_eq!(word(serde_json::to_value(DecisionPhase::AskingForMoreLoops)), "limited");
    let filing = FilingStep::AskingForMoreAttempts { why: "no".to_owned(), next: FilingRetry::Fields };
    assert!(word(serde_json::to_value(filing))["tired"].is_object());
}
