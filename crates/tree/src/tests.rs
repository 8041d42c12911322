//! Reads real trees. Tests the content of an index, and that an update gives the same result as a full scan.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use nix::sys::stat::lstat;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use tempfile::TempDir;

use crate::content::read_file;
use crate::ignore::{Matcher, MatcherSettings, OwnLink, Selects, TreeMembership};
use crate::node::{Content, Directory, Node};
use crate::stamp::{EntryStamp, Trust};
use crate::{TreeError, TreeIndex, changed_paths, compare};
use proctor_model::{Digest, EntryKind, Timestamp, TreeIssueKind, TreePath};

fn matcher() -> Matcher {
    Matcher::new(&MatcherSettings::default()).expect("no patterns")
}

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"))
}

/// Returns a time one minute from now. For a reading at this time, every file is old enough that an equal stamp (size,
/// inode and times) proves equal content.
fn much_later() -> Timestamp {
    Timestamp::from_millis(now().as_millis() + 60_000)
}

fn scan(root: &Path) -> TreeIndex {
    TreeIndex::scan(root, &matcher(), now()).expect("a readable root")
}

fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = TempDir::new().expect("a temporary directory");
    files.iter().for_each(|(name, content)| write(root.path(), name, content.as_bytes()));
    root
}

fn write(root: &Path, name: &str, content: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a path below the root")).expect("a writable directory");
    fs::write(path, content).expect("a writable file");
}

fn names(index: &TreeIndex) -> Vec<String> {
    index.entries().map(|entry| entry.path.to_string()).collect()
}

fn moved(before: &TreeIndex, after: &TreeIndex) -> Vec<String> {
    compare(before, after).moved.iter().map(ToString::to_string).collect()
}

fn path(text: &str) -> TreePath {
    TreePath::try_from(text).expect("a clean path")
}

#[test]
fn an_empty_root_and_one_with_empty_directories_have_the_same_digest() {
    let root = tree(&[]);
    let empty = scan(root.path());
    assert_eq!(empty.digest().0, Digest::of(b"proctor-tree-v2\n"));
    fs::create_dir_all(root.path().join("a/b/c")).expect("a writable directory");
    let hollow = scan(root.path());
    assert_eq!((hollow.digest(), hollow.files(), hollow.entries().count()), (empty.digest(), 0, 0));
}

#[test]
fn rules_on_every_level_decide_what_is_digested() {
    let root = tree(&[
        (".gitignore", "*.log\n/out/\n"),
        ("a.log", ""),
        ("out/x", ""),
        ("src/.ignore", "generated\n"),
        ("src/a.py", ""),
        ("src/generated/x.py", ""),
        ("cache/.gitignore", "*\n"),
        ("cache/x", ""),
        (".git/HEAD", ""),
    ]);
    assert_eq!(names(&scan(root.path())), [".gitignore", "src", "src/.ignore", "src/a.py"]);
    let settings = MatcherSettings { include: vec!["out/x".to_owned(), "*.log".to_owned()], ..MatcherSettings::default() };
    let index = TreeIndex::scan(root.path(), &Matcher::new(&settings).expect("good patterns"), now()).expect("readable");
    assert_eq!(names(&index), [".gitignore", "a.log", "out", "out/x", "src", "src/.ignore", "src/a.py"]);
}

#[test]
fn environments_among_the_ignored_entries_are_noted_by_name_or_by_their_file_and_the_rest_is_read_as_it_is() {
    let root = tree(&[
        (".gitignore", "/env/\n/vendor/\n/.yarn/*\n!/.yarn/releases\n/pyvenv.cfg\n/build/\n"),
        (".yarn/releases/yarn.cjs", ""),
        (".yarn/unplugged/esbuild/node_modules/esbuild/i.js", ""),
        (".venv-311/.gitignore", "*\n"),
        (".venv-311/pyvenv.cfg", ""),
        (".venv-311/lib/coverage/a.py", ""),
        ("backend/a.py", ""),
        ("backend/.venv/bin/python", ""),
        ("build/env/pyvenv.cfg", ""),
        ("env/pyvenv.cfg", ""),
        ("env/lib/coverage/a.py", ""),
        // `python -m venv .` in the project.
        ("pyvenv.cfg", ""),
        ("vendor/.git/config", ""),
        ("vendor/.gitignore", "lib\n"),
        ("vendor/worktree/.git", "gitdir: /elsewhere/.git/worktrees/worktree\n"),
        ("vendor/worktree/a.py", ""),
        ("vendor/lib/__pycache__/a.pyc", ""),
        // By these a runner leaves tests out.
        ("vendor/pytest/v/cache/lastfailed", ""),
        ("vendor/.testmondata", ""),
        ("vendor/lib/dist/i.js", ""),
        ("vendor/lib/node_modules/p/i.js", ""),
        ("vendor/py/pyvenv.cfg", ""),
        ("vendor/py/bin/python", ""),
    ]);
    let inputs = MatcherSettings { selects: Selects::IgnoredInputs, ..MatcherSettings::default() };
    let inputs = Matcher::new(&inputs).expect("no patterns");
    let index = TreeIndex::scan(root.path(), &inputs, now()).expect("readable");
    let environments = |index: &TreeIndex| index.environments().iter().map(ToString::to_string).collect::<Vec<_>>();
    let files = |index: &TreeIndex| {
        let files = index.entries().filter(|entry| entry.kind != EntryKind::Directory);
        files.map(|entry| entry.path.to_string()).collect::<Vec<_>>()
    };
    let of_vendor = ["vendor/.gitignore", "vendor/lib/dist/i.js", "vendor/lib/node_modules/p/i.js"];
    let of_yarn = ".yarn/unplugged/esbuild/node_modules/esbuild/i.js";
    assert_eq!(environments(&index), [".venv-311", "backend/.venv", "env", "vendor/py"]);
    assert!(!index.rules_files().contains_key(&path("vendor/.gitignore")), "it applies to nothing");
    assert_eq!(files(&index), [&[of_yarn, "pyvenv.cfg"], &of_vendor[..]].concat());
    // Nothing changed: the index stays the same. A hint may name an environment.
    for hints in [vec![], vec![path(".venv-311"), path("backend/.venv/bin"), path("env/lib")]] {
        let again = index.apply_and_check_selected(&hints.into_iter().collect(), &inputs, now()).expect("readable");
        assert_eq!((environments(&again), again.digest()), (environments(&index), index.digest()));
    }
    fs::remove_file(root.path().join("env/pyvenv.cfg")).expect("a file");
    fs::remove_dir_all(root.path().join("vendor/py")).expect("a directory");
    write(root.path(), "data/.gitignore", b"*");
    write(root.path(), "data/pyvenv.cfg", b"");
    let hints = [path("data"), path("data/pyvenv.cfg")].into();
    let later = index.apply_and_check_selected(&hints, &inputs, now()).expect("readable");
    assert_eq!(environments(&later), [".venv-311", "backend/.venv", "data"]);
    assert_eq!(files(&later), [&[of_yarn, "env/lib/coverage/a.py", "pyvenv.cfg"], &of_vendor[..]].concat());
    let rescanned = index.rescan(&inputs, now()).expect("readable");
    assert_eq!((environments(&rescanned), rescanned.digest()), (environments(&later), later.digest()));
    // The matcher of the tree notes no environment.
    assert!(scan(root.path()).environments().is_empty());
}

#[test]
fn entries_are_found_by_path_with_kind_and_digest() {
    let root = tree(&[("a/b", "x"), ("a-b", "y")]);
    symlink("nowhere", root.path().join("l")).expect("a link");
    let index = scan(root.path());
    let found = |text: &str| index.lookup(&path(text)).map(|entry| (entry.kind, entry.digest));
    assert_eq!(found("a/b"), Some((EntryKind::File, Some(Digest::of(b"x")))));
    assert_eq!(found("l"), Some((EntryKind::Link, Some(Digest::of(b"nowhere")))));
    assert_eq!(found("a").map(|(kind, _)| kind), Some(EntryKind::Directory));
    assert_eq!((found("a/c"), found("l/x"), found("a-b/b"), index.lookup(&TreePath::root())), (None, None, None, None));
    assert_eq!(index.files(), 3);
}

#[test]
fn the_owners_executable_bit_counts_and_no_other_bit() {
    let root = tree(&[("run", "x")]);
    let digest_of_mode = |mode: u32| {
        fs::set_permissions(root.path().join("run"), Permissions::from_mode(mode)).expect("our own file");
        scan(root.path()).digest()
    };
    let plain = digest_of_mode(0o644);
    assert_eq!(digest_of_mode(0o677), plain);
    assert_ne!(digest_of_mode(0o744), plain);
    assert_eq!(scan(root.path()).lookup(&path("run")).map(|entry| entry.kind), Some(EntryKind::Executable));
}

#[test]
fn links_are_digested_by_their_target_and_never_followed() {
    let root = tree(&[("real/x", "1")]);
    symlink("real", root.path().join("link")).expect("a link");
    symlink("/", root.path().join("away")).expect("a link");
    let before = scan(root.path());
    assert_eq!(names(&before), ["away", "link", "real", "real/x"]);
    fs::remove_file(root.path().join("link")).expect("our link");
    symlink("real/", root.path().join("link")).expect("a link");
    let after = scan(root.path());
    assert_ne!(before.digest(), after.digest());
    assert_eq!(moved(&before, &after), ["link"]);
}

#[test]
fn a_pipe_is_named_and_not_digested() {
    let root = tree(&[("a", "x")]);
    let before = scan(root.path());
    let mode = nix::sys::stat::Mode::S_IRUSR;
    nix::unistd::mkfifo(&root.path().join("pipe"), mode).expect("a file system with pipes");
    let after = scan(root.path());
    assert_eq!(after.digest(), before.digest());
    let issues: Vec<_> = after.issues().iter().map(|issue| (issue.path.to_string(), issue.kind)).collect();
    assert_eq!(issues, [("pipe".to_owned(), TreeIssueKind::Special)]);
}

#[test]
fn what_cannot_be_read_is_named_and_never_equal_to_what_can() {
    let root = tree(&[("a", "x"), ("d/b", "x"), (".gitignore", "")]);
    let readable = scan(root.path());
    for name in ["a", "d", ".gitignore"] {
        fs::set_permissions(root.path().join(name), Permissions::from_mode(0o000)).expect("our own file");
    }
    let is_superuser = File::open(root.path().join("a")).is_ok();
    let dark = scan(root.path());
    let again = scan(root.path());
    fs::set_permissions(root.path().join("d"), Permissions::from_mode(0o755)).expect("our own directory");
    if is_superuser {
        return;
    }
    let issues: Vec<_> = dark.issues().iter().map(|issue| issue.path.to_string()).collect();
    assert_eq!(issues, [".gitignore", "a", "d"]);
    assert!(dark.issues().iter().all(|issue| issue.kind == TreeIssueKind::Unreadable));
    assert_ne!(dark.digest(), readable.digest());
    assert_eq!(dark.lookup(&path("a")).map(|entry| entry.digest), Some(None));
    assert_eq!(dark.digest(), again.digest());
    assert_eq!(moved(&readable, &dark), [".gitignore", "a", "d/b", "d"]);
}

#[test]
fn a_root_that_is_not_there_is_an_error_that_says_what_to_do() {
    let root = tree(&[("file", "")]);
    for name in ["missing", "file"] {
        let error = TreeIndex::scan(&root.path().join(name), &matcher(), now()).expect_err("no directory");
        let TreeError::ReadRoot { path, .. } = &error;
        assert!(error.to_string().contains(&path.display().to_string()) && !error.hint().is_empty());
    }
}

#[test]
fn a_deep_tree_is_digested_and_one_without_end_is_named() {
    let root = tree(&[]);
    let deep = |depth: usize| vec!["d"; depth].join("/");
    write(root.path(), &format!("{}/file", deep(256)), b"x");
    let index = scan(root.path());
    assert_eq!((index.files(), index.issues().len()), (1, 0));
    assert_eq!(index.rescan(&matcher(), now()).expect("readable").digest(), index.digest());
    write(root.path(), &format!("{}/file", deep(1_500)), b"x");
    let endless = index.rescan(&matcher(), now()).expect("readable");
    let issues: Vec<_> = endless.issues().iter().map(|issue| issue.path.to_string()).collect();
    assert_eq!(issues, [deep(257)]);
    assert_ne!(endless.digest(), index.digest());
    assert_eq!(moved(&index, &endless), [deep(257)]);
}

#[test]
fn a_rewrite_with_the_same_bytes_is_no_move() {
    let root = tree(&[("a", "x"), ("b", "x")]);
    let before = scan(root.path());
    let old = stamp(&root.path().join("a"));
    poll_until("the change time advances", || {
        fs::write(root.path().join("a"), "x").expect("a writable file");
        stamp(&root.path().join("a")) != old
    });
    let after = before.rescan(&matcher(), now()).expect("readable");
    let comparison = compare(&before, &after);
    assert_eq!((comparison.after, comparison.files), (before.digest(), 2));
    assert_eq!(moved(&before, &after), Vec::<String>::new());
    // The file gets another inode, as when an editor saves it.
    write(root.path(), "other", b"x");
    fs::rename(root.path().join("other"), root.path().join("b")).expect("our file");
    assert_eq!(moved(&before, &after.rescan(&matcher(), now()).expect("readable")), Vec::<String>::new());
}

/// Exchanges a directory for another one and back, and waits until the clock of the file system has advanced.
fn exchange(root: &Path, name: &str) {
    let (place, away, fake) = (root.join(name), root.join(".tox"), root.join(".nox"));
    let old = stamp(&place);
    poll_until("the change time advances", || {
        fs::rename(&place, &away).expect("our directory");
        fs::create_dir(&fake).expect("a new name");
        fs::rename(&fake, &place).expect("our directory");
        fs::remove_dir(&place).expect("our directory");
        fs::rename(&away, &place).expect("our directory");
        stamp(&place) != old
    });
}

#[test]
fn a_directory_that_was_exchanged_and_put_back_moved_and_its_content_did_not_change() {
    let root = tree(&[("src/a", "x"), ("src/deep/b", "x"), ("c", "x")]);
    let before = scan(root.path());
    let looks: [&dyn Fn(&TreeIndex) -> TreeIndex; 3] = [
        &|known| known.rescan(&matcher(), now()).expect("readable"),
        &|known| known.apply(&[path("src/a"), path("src/deep/b")].into(), &matcher(), now()).expect("readable"),
        &|_| scan(root.path()),
    ];
    for name in ["src", "src/deep"] {
        for look in looks {
            let before = before.rescan(&matcher(), now()).expect("readable");
            exchange(root.path(), name);
            let after = look(&before);
            assert_eq!(moved(&before, &after), [name]);
            assert_eq!((changed_paths(&before, &after), after.digest()), (Vec::new(), before.digest()));
        }
    }
    // An index that was saved and loaded has no stamps of directories until a rescan has read the directories.
    let loaded = TreeIndex::from_bytes(root.path(), &before.to_bytes()).expect("sound bytes");
    let before = loaded.rescan(&matcher(), now()).expect("readable");
    exchange(root.path(), "src");
    assert_eq!(moved(&before, &scan(root.path())), ["src"]);
}

#[test]
fn a_directory_of_the_same_content_with_another_inode_moved() {
    let root = tree(&[("src/a", "x"), ("b", "x"), ("empty/.tox/c", "x")]);
    let before = scan(root.path());
    for name in ["src", "empty"] {
        fs::rename(root.path().join(name), root.path().join(".nox")).expect("our directory");
        fs::create_dir(root.path().join(name)).expect("a new name");
        fs::remove_dir_all(root.path().join(".nox")).expect("our directory");
    }
    write(root.path(), "src/a", b"x");
    let after = before.rescan(&matcher(), now()).expect("readable");
    assert_eq!(moved(&before, &after), ["src"], "of the other one, nothing belongs to the tree");
}

#[test]
fn caches_that_come_and_go_move_no_directory() {
    let root = tree(&[("src/a", "x"), ("b", "x")]);
    let before = scan(root.path());
    let old = stamp(&root.path().join("src"));
    poll_until("the change time advances", || {
        write(root.path(), "src/__pycache__/a.pyc", b"x");
        write(root.path(), ".pytest_cache/x", b"x");
        fs::remove_dir_all(root.path().join(".pytest_cache")).expect("our directory");
        fs::remove_file(root.path().join("src/__pycache__/a.pyc")).expect("our file");
        fs::remove_dir(root.path().join("src/__pycache__")).expect("our directory");
        stamp(&root.path().join("src")) != old
    });
    let after = before.rescan(&matcher(), now()).expect("readable");
    assert_eq!(moved(&before, &after), Vec::<String>::new());
    assert_eq!(moved(&before, &scan(root.path())), Vec::<String>::new());
}

#[test]
fn files_that_come_go_or_change_their_kind_are_moved() {
    let root = tree(&[("gone", ""), ("kind", ""), ("dir/x", ""), ("dir/y/z", ""), ("same/a", "")]);
    let before = scan(root.path());
    fs::remove_file(root.path().join("gone")).expect("our file");
    fs::remove_file(root.path().join("kind")).expect("our file");
    fs::remove_dir_all(root.path().join("dir")).expect("our directory");
    write(root.path(), "kind/inside", b"");
    write(root.path(), "dir", b"");
    write(root.path(), "new/deep/file", b"");
    fs::create_dir(root.path().join("empty")).expect("a writable directory");
    let after = before.rescan(&matcher(), now()).expect("readable");
    assert_eq!(moved(&before, &after), ["dir/x", "dir/y/z", "dir", "gone", "kind", "kind/inside", "new/deep/file"]);
    assert_eq!(moved(&after, &after), Vec::<String>::new());
}

#[test]
fn a_settled_file_is_not_read_again_and_a_racy_one_is() {
    let root = tree(&[("a", "old")]);
    for (trust, expected) in [(Trust::Settled, "old"), (Trust::Racy, "new")] {
        write(root.path(), "a", b"old");
        let mut index = scan(root.path());
        write(root.path(), "a", b"new");
        // Simulates a second write in the same tick of the clock: the file has other bytes and an equal stamp (size,
        // inode and times).
        let mut leaf = *index.top.nodes[0].content.leaf().expect("`a` is a file");
        (leaf.stamp, leaf.trust) = (stamp(&root.path().join("a")), trust);
        let nodes = vec![Node { name: b"a".as_slice().into(), content: Content::Leaf(leaf) }];
        index.top = Arc::new(Directory::new(nodes, None, Vec::new(), None, TreeMembership::In));
        let after = index.rescan(&matcher(), now()).expect("readable");
        assert_eq!(after.lookup(&path("a")).and_then(|entry| entry.digest), Some(Digest::of(expected.as_bytes())));
    }
}

#[test]
fn a_fresh_file_is_racy_and_an_old_one_settled() {
    let root = tree(&[("a", "x")]);
    let file = root.path().join("a");
    let listed = lstat(&file).expect("the file");
    let directory = File::open(root.path()).expect("the directory");
    let trust = |now| read_file(directory.as_fd(), c"a", &listed, now, &mut [0; 16]).expect("readable").trust;
    assert_eq!((trust(Timestamp::from_millis(0)), trust(much_later())), (Trust::Racy, Trust::Settled));
}

#[test]
fn a_rewrite_of_the_same_size_at_once_with_the_time_put_back_is_seen() {
    let root = tree(&[("a", "0000")]);
    let file = root.path().join("a");
    for round in 0..100_u32 {
        let index = scan(root.path());
        let time = fs::metadata(&file).and_then(|metadata| metadata.modified()).expect("the file");
        let content = format!("{round:04}").into_bytes();
        write(root.path(), "a", &content);
        File::options().append(true).open(&file).and_then(|file| file.set_modified(time)).expect("our own file");
        let after = index.rescan(&matcher(), now()).expect("readable");
        assert_eq!(after.lookup(&path("a")).and_then(|entry| entry.digest), Some(Digest::of(&content)), "round {round}");
    }
}

#[test]
fn a_changed_rules_file_changes_what_a_rescan_finds() {
    let root = tree(&[("a", ""), ("d/b", ""), (".gitignore", "b\n")]);
    let matcher = matcher();
    let mut index = TreeIndex::scan(root.path(), &matcher, much_later()).expect("readable");
    assert_eq!(names(&index), [".gitignore", "a"]);
    write(root.path(), ".gitignore", b"a\nfiller\n");
    index = index.rescan(&matcher, much_later()).expect("readable");
    assert_eq!(names(&index), [".gitignore", "d", "d/b"]);
    fs::remove_file(root.path().join(".gitignore")).expect("our file");
    index = index.rescan(&matcher, much_later()).expect("readable");
    assert_eq!(names(&index), ["a", "d", "d/b"]);
    write(root.path(), ".gitignore", b"a\n");
    index = index.rescan(&matcher, much_later()).expect("readable");
    // A rescan with a new matcher reads `.gitignore` again, although nothing in the tree has changed.
    let index = index.rescan(&self::matcher(), much_later()).expect("readable");
    assert_eq!(names(&index), [".gitignore", "d", "d/b"]);
}

#[test]
fn proctors_own_links_belong_to_no_tree_at_any_depth_and_foreign_ones_do() {
    let own_link = Some(OwnLink { leads_into: "/state/proctor/evidence".into() });
    let matcher = Matcher::new(&MatcherSettings { own_link, ..MatcherSettings::default() }).expect("no patterns");
    let root = tree(&[("web/a.js", ""), ("deep/er/b.js", "")]);
    let before = TreeIndex::scan(root.path(), &matcher, now()).expect("a readable root");
    for name in ["evidence", "web/evidence", "deep/er/proof"] {
        symlink("/state/proctor/evidence/web-00000001", root.path().join(name)).expect("a new name");
    }
    let hinted = ["evidence", "web/evidence", "deep/er/proof"].map(|name| TreePath::try_from(name).expect("a clean path"));
    let applied = before.apply(&hinted.into(), &matcher, now()).expect("a readable root");
    let scanned = TreeIndex::scan(root.path(), &matcher, now()).expect("a readable root");
    for index in [&applied, &before.rescan(&matcher, now()).expect("a readable root"), &scanned] {
        assert_eq!((names(index), index.digest()), (names(&before), before.digest()));
    }
    symlink("/elsewhere/proctor/evidence/web-00000001", root.path().join("web/foreign")).expect("a new name");
    let with_foreign = TreeIndex::scan(root.path(), &matcher, now()).expect("a readable root");
    assert!(names(&with_foreign).contains(&"web/foreign".to_owned()));
    // A tree that an earlier version saved may have the link.
    let saved = scan(root.path());
    assert!(names(&saved).contains(&"web/evidence".to_owned()));
    assert_eq!(saved.rescan(&matcher, now()).expect("a readable root").digest(), with_foreign.digest());
}

#[test]
fn a_link_is_no_rules_file() {
    let root = tree(&[("a", ""), ("rules", "a\n")]);
    symlink("rules", root.path().join(".gitignore")).expect("a link");
    assert_eq!(names(&scan(root.path())), [".gitignore", "a", "rules"]);
}

fn stamp(path: &Path) -> EntryStamp {
    EntryStamp::of(&lstat(path).expect("the file"))
}

fn poll_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    panic!("waited 2 s until {what}");
}

/// A random change of a file, link or directory in a tree.
#[derive(Debug, Clone)]
enum Operation {
    Write(usize, Vec<u8>),
    Remove(usize),
    Link(usize, usize),
    Mode(usize, bool),
    Rename(usize, usize),
    Rules(usize, usize),
}

const PLACES: [&str; 8] = ["a", "a/b", "a/b/c", "d", "d/e", "\u{e9}\n", "a-b", "d/.x"];
const RULES: [&str; 4] = ["", "b\n", "/d\n!e\n", "*\n!a\n!.x\n"];

fn operation() -> impl Strategy<Value = Operation> {
    let place = 0..PLACES.len();
    prop_oneof![
        (place.clone(), proptest::collection::vec(any::<u8>(), 0..4)).prop_map(|(place, bytes)| Operation::Write(place, bytes)),
        place.clone().prop_map(Operation::Remove),
        (place.clone(), place.clone()).prop_map(|(place, target)| Operation::Link(place, target)),
        (place.clone(), any::<bool>()).prop_map(|(place, is_executable)| Operation::Mode(place, is_executable)),
        (place.clone(), place).prop_map(|(from, to)| Operation::Rename(from, to)),
        (0..3_usize, 0..RULES.len()).prop_map(|(place, rules)| Operation::Rules(place, rules)),
    ]
}

/// Performs an operation. If the tree does not allow it, for example because the file does not exist, nothing happens.
fn perform(root: &Path, operation: &Operation) {
    let at = |place: usize| root.join(OsStr::from_bytes(PLACES[place].as_bytes()));
    let _ = match operation {
        Operation::Write(place, bytes) => {
            let path = at(*place);
            let _ = fs::create_dir_all(path.parent().expect("a path below the root"));
            fs::write(path, bytes)
        }
        Operation::Remove(place) => fs::remove_file(at(*place)).or_else(|_| fs::remove_dir_all(at(*place))),
        Operation::Link(place, target) => symlink(PLACES[*target], at(*place)),
        Operation::Mode(place, is_executable) => {
            let mode = if *is_executable { 0o755 } else { 0o644 };
            match fs::symlink_metadata(at(*place)) {
                Ok(metadata) if metadata.is_file() => fs::set_permissions(at(*place), Permissions::from_mode(mode)),
                Ok(_) | Err(_) => Ok(()),
            }
        }
        Operation::Rename(from, to) => fs::rename(at(*from), at(*to)),
        Operation::Rules(place, rules) => fs::write(root.join(["", "a", "d"][*place]).join(".gitignore"), RULES[*rules]),
    };
}

fn everything(index: &TreeIndex) -> Vec<(TreePath, EntryKind, Option<Digest>)> {
    index.entries().map(|entry| (entry.path, entry.kind, entry.digest)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_rescan_finds_what_a_fresh_scan_finds(
        steps in proptest::collection::vec(proptest::collection::vec(operation(), 1..5), 1..8),
    ) {
        let root = tree(&[]);
        let matcher = matcher();
        let mut index = TreeIndex::scan(root.path(), &matcher, now()).expect("readable");
        for operations in steps {
            operations.iter().for_each(|operation| perform(root.path(), operation));
            let renewed = index.rescan(&matcher, now()).expect("readable");
            let fresh = scan(root.path());
            prop_assert_eq!(everything(&renewed), everything(&fresh), "after {:?}", operations);
            prop_assert_eq!(renewed.digest(), fresh.digest());
            prop_assert_eq!((renewed.files(), renewed.issues()), (fresh.files(), fresh.issues()));
            prop_assert!(renewed.digest() == index.digest() || !compare(&index, &renewed).moved.is_empty());
            index = renewed;
        }
    }

    #[test]
    fn changing_one_byte_changes_the_digest(content in proptest::collection::vec(any::<u8>(), 1..200), at in any::<usize>()) {
        let root = tree(&[]);
        write(root.path(), "d/file", &content);
        let before = scan(root.path());
        let mut changed = content;
        let at = at % changed.len();
        changed[at] ^= 1;
        write(root.path(), "d/file", &changed);
        let after = before.rescan(&matcher(), now()).expect("readable");
        prop_assert!(after.digest() != before.digest());
        prop_assert_eq!(moved(&before, &after), ["d/file"]);
    }
}
