//! Slugs, ids and names of files.

use crate::governance::{Kind, Slug, WorkflowId, done_directory, file_name, slug_of};

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
        assert_eq!(slug_of(name).map(String::from), Ok(slug.to_owned()), "{name}");
    }
    for name in ["---.md", "", "日本.md"] {
        assert!(slug_of(name).is_err(), "{name}");
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
    assert_eq!((file_name(7, Kind::Draft), done_directory(62, &slug)), ("007-draft.md".to_owned(), "62-notes".to_owned()));
}
