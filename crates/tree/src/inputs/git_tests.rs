//! Compares the files of an input with those that git has there: tracked, and untracked without a rule that excludes them.

#![expect(clippy::disallowed_methods, reason = "the tests write repositories, and ask git itself")]

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::committed_tree;
use crate::ignore::MatcherSettings;
use proctor_git::{GitStorage, ObjectId};

/// The input that is compared, from the repository's root.
const INPUT: &str = "libs/core";

/// Files of the input that no rule's own file is. The last two are tracked whatever the rules say.
const FILES: [&str; 8] =
    ["a.py", "dist/a.js", "sub/dist/b.js", "sub/b.log", "keep.log", "made/x/y.py", "dist/tracked.js", "sub/tracked.log"];

fn git(directory: &Path, arguments: &[&str]) -> String {
    let git = Command::new("git")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(directory)
        .args(arguments)
        .output()
        .expect("git is installed");
    assert!(git.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&git.stderr));
    String::from_utf8(git.stdout).expect("plain names")
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a path below the root")).expect("a writable directory");
    fs::write(path, text).expect("a writable file");
}

fn repository() -> TempDir {
    let repository = TempDir::new().expect("a temporary directory");
    let root = repository.path();
    git(root, &["init", "-q"]);
    write(root, "app/a.py", "");
    for name in FILES {
        write(root, &format!("{INPUT}/{name}"), name);
    }
    for name in &FILES[6..] {
        git(root, &["add", "--force", &format!("{INPUT}/{name}")]);
    }
    repository
}

fn matcher(root: &Path) -> Matcher {
    let inputs = vec![InputPlace { name: format!("../{INPUT}"), path: root.join(INPUT) }];
    Matcher::new(&MatcherSettings { inputs, ..MatcherSettings::default() }).expect("no patterns")
}

fn scan(root: &Path) -> TreeIndex {
    TreeIndex::scan(&root.join("app"), &matcher(root), Timestamp::from_millis(0)).expect("a readable root")
}

fn files_of_input(index: &TreeIndex) -> Vec<String> {
    let (_, input) = index.input_directories().next().expect("one input");
    let files = input.entries().filter(|entry| entry.kind != EntryKind::Directory);
    files.map(|entry| format!("{INPUT}/{}", entry.path)).collect()
}

fn files_of_git(root: &Path) -> Vec<String> {
    let listed = git(root, &["ls-files", "--cached", "--others", "--exclude-standard", "--", INPUT]);
    let mut files: Vec<String> = listed.lines().map(str::to_owned).collect();
    files.sort_unstable();
    files.dedup();
    files
}

fn committed(root: &Path) -> Digest {
    git(root, &["add", "--all"]);
    let tree = ObjectId::parse(git(root, &["write-tree"]).trim()).expect("an object's name");
    let storage = GitStorage::open(&root.join(".git"), &root.join(".git")).expect("a repository");
    let below = TreePath::try_from("app").expect("a path");
    committed_tree(&storage, tree, &below, &matcher(root)).expect("a plain commit").digest.0
}

#[test]
fn the_files_of_an_input_are_those_that_git_has_there() {
    let repository = repository();
    let root = repository.path();
    let mut index = scan(root);
    let mut seen = std::collections::BTreeSet::new();
    for at_root in [
        "",
        "dist/\n",
        "*.log\n!keep.log\n",
        "/libs/core/made\n",
        "libs/*/sub/\n",
        "made/**\n",
        "libs\n",
        "/dist\n",
        "**/x\n",
        "core/\n",
    ] {
        for above in ["", "!dist\n", "core/dist/\n", "/core/*.py\n", "*\n!core\n"] {
            for within in ["", "!*.log\n", "/sub\n", "!/made\n"] {
                for (directory, text) in [("", at_root), ("libs/", above), ("libs/core/", within)] {
                    write(root, &format!("{directory}.gitignore"), text);
                }
                let what = format!("{at_root:?} {above:?} {within:?}");
                let expected = files_of_git(root);
                assert_eq!(files_of_input(&scan(root)), expected, "{what}");
                // A second look, which trusts what it knows, sees that only rules changed.
                index = index.rescan(&matcher(root), Timestamp::from_millis(0)).expect("a readable root");
                assert_eq!(files_of_input(&index), expected, "{what}, again");
                seen.insert(expected);
            }
        }
    }
    assert!(seen.len() >= 20, "the rules differ: {}", seen.len());
}

#[test]
fn what_was_built_in_an_input_does_not_part_a_commit_from_its_working_tree() {
    let repository = repository();
    let root = repository.path();
    write(root, ".gitignore", "dist/\n*.log\nmade/\n");
    let commit = committed(root);
    assert_eq!(scan(root).digest().0, commit);
    write(root, "libs/core/dist/built.js", "new");
    write(root, "libs/core/made/x/y.py", "new");
    assert_eq!(scan(root).digest().0, commit, "what the root's rules exclude was built");
    write(root, "libs/core/dist/tracked.js", "new");
    assert_ne!(scan(root).digest().0, commit, "git tracks it");
    assert_eq!(scan(root).digest().0, committed(root));
    // Only the rules of the same repository count.
    git(&root.join(INPUT), &["init", "-q"]);
    assert_eq!(files_of_input(&scan(root)).len(), FILES.len() + 1);
}

#[test]
fn an_input_that_the_repository_ignores_counts_by_its_content_of_now() {
    let repository = repository();
    let root = repository.path();
    git(root, &["rm", "-rq", "--cached", INPUT]);
    write(root, ".gitignore", "/libs/\n");
    let before = scan(root).digest().0;
    assert_eq!(committed(root), before);
    let place = &matcher(root).inputs()[0].clone();
    assert!(place.is_ignored());
    write(root, "libs/core/a.py", "new");
    assert_ne!(scan(root).digest().0, before);
    assert_eq!(committed(root), scan(root).digest().0);
    write(root, ".gitignore", "");
    assert!(!place.is_ignored());
}
