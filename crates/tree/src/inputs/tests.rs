//! Tests the inputs beside a tree.

#![expect(clippy::disallowed_methods, reason = "the tests write the inputs they look at, and say what time it is")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use proptest::prelude::{any, prop_assert, proptest};
use tempfile::TempDir;

use super::*;
use crate::ignore::MatcherSettings;
use crate::{changed_paths, compare};
use proctor_model::TreeDigest;

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"))
}

/// A directory with a project `app` and what lies beside it.
fn beside(files: &[(&str, &str)]) -> TempDir {
    let directory = TempDir::new().expect("a temporary directory");
    write(directory.path(), "app/a.py", "import conv\n");
    files.iter().for_each(|(name, text)| write(directory.path(), name, text));
    directory
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a path below the root")).expect("a writable directory");
    fs::write(path, text).expect("a writable file");
}

fn matcher(directory: &Path, names: &[&str]) -> Matcher {
    let inputs = names.iter().map(|name| InputPlace {
        name: (*name).to_owned(),
        path: directory.join(name.strip_prefix("../").expect("it lies beside the project")),
    });
    Matcher::new(&MatcherSettings { inputs: inputs.collect(), ..MatcherSettings::default() }).expect("no patterns")
}

fn scan(directory: &Path, names: &[&str]) -> TreeIndex {
    TreeIndex::scan(&directory.join("app"), &matcher(directory, names), now()).expect("a readable root")
}

fn digest(directory: &Path, names: &[&str]) -> TreeDigest {
    scan(directory, names).digest()
}

#[test]
fn the_digest_with_inputs_is_the_one_computed_by_hand() {
    let directory = beside(&[("base.json", "{}\n"), ("shared/conv.py", "RATE = 2\n")]);
    let of = |text: &str| Digest::of(text.as_bytes()).hex();
    let own = of(&format!("proctor-tree-v2\nf {} a.py\0", of("import conv\n")));
    assert_eq!(digest(directory.path(), &[]).0.hex(), own);
    let shared = of(&format!("proctor-tree-v2\nf {} conv.py\0", of("RATE = 2\n")));
    let (base, none) = (of("{}\n"), "0".repeat(64));
    let text = format!("proctor-tree-v3\nd {own} .\0f {base} ../base.json\0u {none} ../none\0d {shared} ../shared\0");
    // The order in which the settings name the inputs does not matter.
    for names in [["../shared", "../base.json", "../none"], ["../none", "../shared", "../base.json"]] {
        let index = scan(directory.path(), &names);
        assert_eq!((index.digest().0.hex(), index.format()), (of(&text), TreeFormat::V3));
    }
}

#[test]
fn an_input_counts_by_its_content_its_name_and_whether_it_is_there() {
    let directory = beside(&[("shared/conv.py", "RATE = 2\n"), ("other/conv.py", "RATE = 2\n")]);
    let first = digest(directory.path(), &["../shared"]);
    assert_ne!(digest(directory.path(), &["../other"]), first, "another name");
    write(directory.path(), "shared/conv.py", "RATE = 3\n");
    let second = digest(directory.path(), &["../shared"]);
    assert_ne!(second, first, "another content");
    fs::remove_dir_all(directory.path().join("shared")).expect("it is there");
    assert_ne!(digest(directory.path(), &["../shared"]), second, "it is gone");
}

#[test]
fn a_change_beside_the_tree_is_named_by_every_way_of_reading() {
    let directory = beside(&[("shared/conv.py", "RATE = 2\n"), ("base.json", "{}\n"), ("shared/.gitignore", "*.log\n")]);
    let names = ["../base.json", "../shared"];
    let matcher = matcher(directory.path(), &names);
    let before = scan(directory.path(), &names);
    write(directory.path(), "shared/conv.py", "RATE = 3\n");
    write(directory.path(), "base.json", "{\"a\": 1}\n");
    write(directory.path(), "shared/a.log", "not of the input\n");
    let whole = scan(directory.path(), &names);
    let ways = [
        before.rescan(&matcher, now()).expect("a readable root"),
        before.apply(&std::collections::BTreeSet::new(), &matcher, now()).expect("a readable root"),
        before.with_inputs_of_now(&matcher, now()),
    ];
    for after in ways {
        assert_eq!(after.digest(), whole.digest());
        let named: Vec<String> = changed_paths(&before, &after).iter().map(ToString::to_string).collect();
        assert_eq!(named, ["../base.json", "../shared/conv.py"]);
        assert_eq!(compare(&before, &after).moved.len(), 2);
        assert!(!before.is_same(&after));
    }
    // A hint with the path of an input reads nothing outside of the tree.
    let hint = [TreePath::beside(&directory.path().join("app"), &directory.path().join("base.json"))].into();
    assert_eq!(before.apply(&hint, &matcher, now()).expect("a readable root").digest(), whole.digest());
}

#[test]
fn inputs_are_saved_with_the_index() {
    let directory = beside(&[("shared/sub/conv.py", "RATE = 2\n"), ("base.json", "{}\n")]);
    let names = ["../base.json", "../none", "../shared"];
    let index = scan(directory.path(), &names);
    let bytes = index.to_bytes();
    let read = TreeIndex::from_bytes(index.root(), &bytes).expect("it was written a moment ago");
    assert_eq!((read.digest(), read.to_bytes()), (index.digest(), bytes.clone()));
    let again = read.rescan(&matcher(directory.path(), &names), now()).expect("a readable root");
    assert_eq!(again.digest(), index.digest());
    // An index that was saved with other inputs is of use for the tree alone.
    let without = read.rescan(&matcher(directory.path(), &[]), now()).expect("a readable root");
    assert_eq!((without.digest(), without.format()), (digest(directory.path(), &[]), TreeFormat::V2));
    for cut in 1..bytes.len() {
        assert!(TreeIndex::from_bytes(index.root(), &bytes[..cut]).is_none());
    }
}

#[test]
fn where_an_input_lies_in_the_repository_is_told_by_its_name() {
    let place = |name: &str| InputPlace { name: name.to_owned(), path: PathBuf::from("/nowhere") };
    let below = TreePath::try_from("packages/app").expect("a path");
    let found = |name| place(name).in_repository(&below).map(|path| path.to_string());
    assert_eq!(found("../lib").as_deref(), Some("packages/lib"));
    assert_eq!(found("../../tsconfig.base.json").as_deref(), Some("tsconfig.base.json"));
    for outside in ["../../../lib", "~/.gitconfig", "/etc/x"] {
        assert_eq!(found(outside), None, "{outside}");
    }
}

proptest! {
    #[test]
    fn changing_one_byte_of_an_input_changes_the_digest(content in proptest::collection::vec(any::<u8>(), 1..100), at in any::<usize>()) {
        let of = |bytes: &[u8]| {
            let inputs = [("../a", EntryKind::File, Some(Digest::of(bytes)))];
            digest_with_inputs(Digest::of(b"own"), inputs.into_iter())
        };
        let mut other = content.clone();
        other[at % content.len()] ^= 1;
        prop_assert!(of(&content) != of(&other));
        prop_assert!(of(&content) != Digest::of(b"own"));
    }
}
