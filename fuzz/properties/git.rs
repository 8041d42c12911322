//! Objects of git repositories, files of attributes and submodules, and indexes are read or refused, and what is read is what was written.

use proctor_git::{GitObject, ObjectKind, SubmoduleNames, parse_index};
use proctor_tree::ignore::{AttributesFile, checkout_changes};

/// Checks the rules for one input, which is taken as each of the formats.
///
/// # Panics
///
/// When a rule does not hold.
pub(crate) fn hold(bytes: &[u8]) {
    if let Some(object) = GitObject::parse(bytes) {
        assert!(bytes.ends_with(&object.content), "the content is the end of the object");
        look_at(&object);
    }
    for kind in [ObjectKind::Blob, ObjectKind::Tree, ObjectKind::Commit, ObjectKind::Tag] {
        look_at(&GitObject { kind, content: bytes.to_vec() });
    }
    let attributes = AttributesFile::parse(bytes);
    let changes = checkout_changes([(&attributes, &b"a/file.txt"[..])].into_iter());
    assert!(changes.is_empty() || !attributes.is_empty(), "a file without lines asks for nothing");
    drop(parse_index(bytes));
    let text = String::from_utf8_lossy(bytes);
    assert_eq!(SubmoduleNames::parse(&text), SubmoduleNames::parse(&text), "the same names each time");
}

fn look_at(object: &GitObject) {
    for entry in object.entries().into_iter().flatten() {
        let is_inside = object.content.windows(20).any(|bytes| bytes == entry.id.as_bytes());
        assert!(is_inside && !entry.name.contains(&0), "entries are parts of the tree");
        assert!(!entry.is_tree() || entry.kind().is_some(), "a directory has a kind");
    }
    assert!(object.kind == ObjectKind::Tree || object.entries().is_none());
    assert!(object.kind == ObjectKind::Commit || (object.commit_tree().is_none() && object.commit_parents().is_none()));
    assert!(object.kind == ObjectKind::Tag || object.tagged().is_none());
}
