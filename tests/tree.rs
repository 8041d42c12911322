//! The digest of a tree, against an independent implementation in Python.
#![expect(clippy::disallowed_methods, reason = "the tests write trees, run the script, and say what time it is")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use proctor::ignore::{Matcher, MatcherSettings};
use proctor::model::Timestamp;
use proctor::tree::Index;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use tempfile::TempDir;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tree_digest.py");

/// What stands at a path of a generated tree.
#[derive(Debug, Clone)]
enum Thing {
    File(Vec<u8>, u32),
    Link(Vec<u8>),
    Directory,
}

fn digest(root: &Path) -> String {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    let now = Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"));
    let matcher = Matcher::new(&MatcherSettings::default()).expect("no patterns");
    let index = Index::scan(root, &matcher, now).expect("a readable root");
    index.digest().to_string()
}

fn digest_in_python(root: &Path) -> String {
    let output = Command::new("python3").args(["-I", "-S", SCRIPT]).arg(root).output().expect("python3 is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("hexadecimal digits").trim().to_owned()
}

/// Builds a thing where nothing stands in its way.
fn build(root: &Path, path: &[u8], thing: &Thing) {
    let path = root.join(OsStr::from_bytes(path));
    let _ = fs::create_dir_all(path.parent().expect("a path below the root"));
    if fs::symlink_metadata(&path).is_ok() {
        return;
    }
    let _ = match thing {
        Thing::File(content, mode) => {
            fs::write(&path, content).and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(*mode)))
        }
        Thing::Link(target) => symlink(OsStr::from_bytes(target), &path),
        Thing::Directory => fs::create_dir(&path),
    };
}

#[test]
fn a_hostile_tree_has_the_digest_that_the_script_computes() {
    let root = TempDir::new().expect("a temporary directory");
    let deep = ["deep"; 120].join("/");
    let long = "n".repeat(255);
    let file = |content: &[u8]| Thing::File(content.to_vec(), 0o644);
    let things: Vec<(Vec<u8>, Thing)> = vec![
        (b"plain".to_vec(), file(b"hello\n")),
        (b"empty".to_vec(), file(b"")),
        (b"new\nline".to_vec(), file(b"1")),
        (b" f 0 ".to_vec(), file(b"2")),
        (b"caf\xe9".to_vec(), file(b"not UTF-8")),
        (b"\xff\xfe".to_vec(), file(b"nor this")),
        ("caf\u{e9}".into(), file(b"UTF-8")),
        (b"-rf".to_vec(), file(b"3")),
        (b"a/b".to_vec(), file(b"sorted by components")),
        (b"a-b".to_vec(), file(b"not by whole paths")),
        (b"a.b".to_vec(), file(b"4")),
        (b"run".to_vec(), Thing::File(b"#!/bin/sh\n".to_vec(), 0o755)),
        (b"group".to_vec(), Thing::File(b"only the group".to_vec(), 0o654)),
        (b"broken".to_vec(), Thing::Link(b"nowhere".to_vec())),
        (b"odd-target".to_vec(), Thing::Link(b"caf\xe9\n".to_vec())),
        (b"up".to_vec(), Thing::Link(b"..".to_vec())),
        (b"self".to_vec(), Thing::Link(b"self".to_vec())),
        (b"to-directory".to_vec(), Thing::Link(b"a".to_vec())),
        (b"hollow/deeper".to_vec(), Thing::Directory),
        (deep.into_bytes(), file(b"deep")),
        (long.into_bytes(), file(&vec![7; 200_000])),
    ];
    things.iter().for_each(|(path, thing)| build(root.path(), path, thing));
    nix::unistd::mkfifo(&root.path().join("pipe"), nix::sys::stat::Mode::S_IRUSR).expect("a file system with pipes");
    assert_eq!(digest(root.path()), digest_in_python(root.path()));
}

fn a_thing() -> impl Strategy<Value = Thing> {
    let content = proptest::collection::vec(any::<u8>(), 0..40);
    let target = proptest::collection::vec(1..=255_u8, 1..12);
    prop_oneof![
        4 => (content, prop_oneof![0o644_u32..=0o644, 0o755_u32..=0o755]).prop_map(|(content, mode)| Thing::File(content, mode)),
        1 => target.prop_map(Thing::Link),
        1 => any::<()>().prop_map(|()| Thing::Directory),
    ]
}

fn a_path() -> impl Strategy<Value = Vec<u8>> {
    // A letter in front keeps names away from `.`, `..` and what is always out; the other bytes are any that a name may hold.
    let byte = (1..=255_u8).prop_map(|byte| if byte == b'/' || byte == b'~' { b' ' } else { byte });
    let name = ("[a-c]", proptest::collection::vec(byte, 0..3)).prop_map(|(letter, rest)| [letter.into_bytes(), rest].concat());
    proptest::collection::vec(name, 1..4).prop_map(|names| names.join(&b'/'))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_has_the_digest_that_the_script_computes(things in proptest::collection::vec((a_path(), a_thing()), 0..30)) {
        let root = TempDir::new().expect("a temporary directory");
        things.iter().for_each(|(path, thing)| build(root.path(), path, thing));
        prop_assert_eq!(digest(root.path()), digest_in_python(root.path()));
    }
}
