//! Compares the digest of a tree with the independent implementation in Python that docs/reference/tree-digest.md shows.

mod command;
mod model;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use proctor_model::{Timestamp, TreePath};
use proctor_tree::TreeIndex;
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use tempfile::TempDir;

/// The script to which the page of the tree's digest leads.
pub(crate) const SCRIPT: &str = include_str!("evidence_format/tree_digest.py");

/// The kind and the content of an entry in a generated tree.
#[derive(Debug, Clone)]
enum Thing {
    File(Vec<u8>, u32),
    Link(Vec<u8>),
    Directory,
}

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"))
}

fn scan(root: &Path, ignore: &[&str]) -> TreeIndex {
    let ignore = ignore.iter().map(|pattern| (*pattern).to_owned()).collect();
    let matcher = Matcher::new(&MatcherSettings { ignore, ..MatcherSettings::default() }).expect("good patterns");
    TreeIndex::scan(root, &matcher, now()).expect("a readable root")
}

fn digest(root: &Path) -> String {
    scan(root, &[]).digest().to_string()
}

/// Runs the Python script on a tree, with these patterns of `watch.ignore`.
pub(crate) fn digest_in_python(root: &Path, ignore: &[&str]) -> String {
    let mut command = Command::new("python3");
    let output = command.args(["-I", "-S", "-c", SCRIPT]).arg(root).args(ignore).output();
    let output = output.expect("python3 is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("hexadecimal digits").trim().to_owned()
}

/// Runs the Python script on a tree with inputs beside it, which are named as in the settings.
fn digest_with_inputs_in_python(root: &Path, inputs: &[&str]) -> String {
    let mut command = Command::new("python3");
    let output = command.args(["-I", "-S", "-c", SCRIPT]).arg(root).env("INPUTS", inputs.join(":")).output();
    let output = output.expect("python3 is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("hexadecimal digits").trim().to_owned()
}

#[test]
fn inputs_beside_the_tree_mean_the_same_to_the_script() {
    let home = TempDir::new().expect("a temporary directory");
    let base = home.path().canonicalize().expect("it is there");
    for (path, text) in [
        ("app/a.py", "1"),
        ("shared/conv.py", "RATE = 2\n"),
        ("shared/.gitignore", "*.log\n"),
        ("shared/a.log", "out"),
        ("shared/deep/b.py", ""),
        ("base.json", "{}"),
    ] {
        build(&base, path.as_bytes(), &Thing::File(text.as_bytes().to_vec(), 0o644));
    }
    build(&base, b"run.sh", &Thing::File(b"#!/bin/sh\n".to_vec(), 0o755));
    build(&base, b"linked", &Thing::Link(b"shared".to_vec()));
    let names = ["../shared", "../base.json", "../run.sh", "../linked", "../none"];
    let place = |name: &str| {
        let path = base.join(name.trim_start_matches("../"));
        proctor_tree::InputPlace { name: name.to_owned(), path: path.canonicalize().unwrap_or(path) }
    };
    let settings = MatcherSettings { inputs: names.map(place).to_vec(), ..MatcherSettings::default() };
    let matcher = Matcher::new(&settings).expect("no patterns");
    let index = TreeIndex::scan(&base.join("app"), &matcher, now()).expect("a readable root");
    assert_eq!(index.digest().to_string(), digest_with_inputs_in_python(&base.join("app"), &names));
    assert_ne!(index.digest().to_string(), digest_in_python(&base.join("app"), &[]));
}

/// Makes an entry at a path, unless another entry is already there.
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

/// Returns entries that a careless digest would confuse with each other: by their names, kinds or contents.
fn hostile_things() -> Vec<(Vec<u8>, Thing)> {
    let deep = ["deep"; 120].join("/");
    let long = "n".repeat(255);
    let file = |content: &[u8]| Thing::File(content.to_vec(), 0o644);
    vec![
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
    ]
}

fn build_hostile(root: &Path) {
    hostile_things().iter().for_each(|(path, thing)| build(root, path, thing));
    nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRUSR).expect("a file system with pipes");
}

#[test]
fn a_hostile_tree_has_the_digest_that_the_script_computes() {
    let root = TempDir::new().expect("a temporary directory");
    build_hostile(root.path());
    assert_eq!(digest(root.path()), digest_in_python(root.path(), &[]));
}

#[test]
fn rules_on_every_level_mean_the_same_to_the_script() {
    let root = TempDir::new().expect("a temporary directory");
    for (path, text) in [
        (".gitignore", "*.log\n!keep.log\n/out/\ndoc/**/draft\n**/deep\n# a comment\n\n\\#odd  \nsp\\ \n[a-c]?.t[!x]t\n"),
        (".ignore", "!special.log\nonly-here\n"),
        ("src/.gitignore", "!a.log\n*\n!*.py\n!*/\n"),
        ("src/cache/.gitignore", "*\n"),
        ("rest/.gitignore", "*\n!.gitignore\n"),
    ] {
        build(root.path(), path.as_bytes(), &Thing::File(text.as_bytes().to_vec(), 0o644));
    }
    for path in [
        "a.log",
        "keep.log",
        "special.log",
        "out/x",
        "x/out/y",
        "doc/draft",
        "doc/a/b/draft",
        "other/draft",
        "x/deep/y",
        "deep",
        "#odd",
        "sp ",
        "sp",
        "ab.txt",
        "ab.tyt",
        "dd.txt",
        "only-here",
        "x/only-here",
        "src/a.log",
        "src/b.py",
        "src/b.c",
        "src/lib/c.py",
        "src/lib/c.c",
        "src/cache/x.py",
        "rest/a",
        ".git/HEAD",
        "node_modules/x",
        "x/.venv/y",
        "a.swp",
        "back~",
        "__pycache__/m",
        "x.pyc",
        ".coverage.1",
        "#saved#",
        "4913",
        "ignored by settings/a",
        "x/by settings",
    ] {
        build(root.path(), path.as_bytes(), &Thing::File(path.as_bytes().to_vec(), 0o644));
    }
    symlink("b.py", root.path().join("src/.ignore")).expect("a link, which is no rules file");
    let ignore = ["/ignored by settings/", "*by settings"];
    let index = scan(root.path(), &ignore);
    assert_eq!(index.digest().to_string(), digest_in_python(root.path(), &ignore));
    assert_ne!(index.digest().to_string(), digest(root.path()));
    let has = |path: &str| index.lookup(&TreePath::try_from(path).expect("a clean path")).is_some();
    let (inside, outside) =
        (["keep.log", "special.log", "src/b.py", "src/lib/c.py"], ["a.log", "out", "deep", "src/b.c", "x/deep"]);
    assert!(inside.into_iter().all(has) && !outside.into_iter().any(has), "{:?}", index.entries().collect::<Vec<_>>());
}

#[test]
#[ignore = "long tier"]
fn a_file_of_a_gibibyte_is_read_to_its_end() {
    let root = TempDir::new().expect("a temporary directory");
    let file = fs::File::create(root.path().join("large")).expect("a writable directory");
    file.set_len(1 << 30).expect("a file system that keeps no blocks of zeros");
    std::os::unix::fs::FileExt::write_all_at(&file, b"end", (1 << 30) - 3).expect("a writable file");
    assert_eq!(digest(root.path()), digest_in_python(root.path(), &[]));
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

/// Generates an ignore file in one of the directories that [`a_path`] generates.
fn some_rules() -> impl Strategy<Value = (Vec<u8>, Thing)> {
    const PATTERNS: [&str; 12] =
        ["a*", "!a*", "/b*", "b*/", "*\n!c*", "c?", "**/b?", "a*/**", "a*/**/b*", "[!ab]*", "!*/", "*\u{e9}"];
    let file = prop_oneof![Just(".gitignore"), Just(".ignore"), Just("a/.gitignore"), Just("b/.ignore"), Just("a/b/.gitignore")];
    let lines = proptest::collection::vec(0..PATTERNS.len(), 0..4);
    (file, lines).prop_map(|(file, lines)| {
        let text: String = lines.into_iter().map(|line| format!("{}\n", PATTERNS[line])).collect();
        (file.as_bytes().to_vec(), Thing::File(text.into_bytes(), 0o644))
    })
}

fn a_path() -> impl Strategy<Value = Vec<u8>> {
    // Each name begins with a letter, so it is neither `.` nor `..` nor a name that is always ignored. Its other bytes are any that a name may
    // have.
    let byte = (1..=255_u8).prop_map(|byte| if byte == b'/' || byte == b'~' { b' ' } else { byte });
    let name = ("[a-c]", proptest::collection::vec(byte, 0..3)).prop_map(|(letter, rest)| [letter.into_bytes(), rest].concat());
    proptest::collection::vec(name, 1..4).prop_map(|names| names.join(&b'/'))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_has_the_digest_that_the_script_computes(
        rules in proptest::collection::vec(some_rules(), 0..4),
        things in proptest::collection::vec((a_path(), a_thing()), 0..30),
    ) {
        let root = TempDir::new().expect("a temporary directory");
        rules.iter().chain(&things).for_each(|(path, thing)| build(root.path(), path, thing));
        prop_assert_eq!(digest(root.path()), digest_in_python(root.path(), &[]));
    }
}
