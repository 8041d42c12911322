//! What git tracks belongs to the tree although a rule ignores it (S5). git's index is read without git, and compared with
//! `git ls-files`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use proctor_git::{GitIndexProblem, parse_index, read_git_index};
use proctor_model::{Timestamp, TreePath};
use proctor_tree::TreeIndex;
use proctor_tree::ignore::{Matcher, MatcherSettings};
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::Project;
use crate::tree::digest_in_python;

/// Runs git without the configuration of the machine.
#[track_caller]
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> Vec<u8> {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"];
    let output = Command::new("git")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").expect("a path"))
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(directory)
        .args(identity)
        .args(arguments)
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"))
}

fn matcher() -> Matcher {
    Matcher::new(&MatcherSettings::default()).expect("no patterns")
}

fn scan(root: &Path) -> TreeIndex {
    TreeIndex::scan(root, &matcher(), now()).expect("a readable root")
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a path below the root")).expect("a writable directory");
    fs::write(path, text).expect("a writable file");
}

/// Returns the paths of an index, read by proctor and listed by git.
fn both(root: &Path) -> (Vec<String>, Vec<String>) {
    let index = read_git_index(root, None);
    assert_eq!(index.problem(), None);
    let read = index.paths().iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let listed = git(root, &["ls-files", "-c", "-z"]);
    let mut listed: Vec<String> = listed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    listed.sort();
    listed.dedup();
    (read, listed)
}

#[track_caller]
fn assert_equal(root: &Path, what: &str) -> usize {
    let (read, listed) = both(root);
    assert_eq!(read, listed, "{what}");
    read.len()
}

#[test]
#[ignore = "long tier"]
fn every_form_of_an_index_is_read_as_git_lists_it() {
    for (format, version, split) in [
        ("sha1", "2", false),
        ("sha1", "3", false),
        ("sha1", "4", false),
        ("sha256", "2", false),
        ("sha256", "4", false),
        ("sha1", "2", true),
        ("sha1", "4", true),
        ("sha256", "2", true),
    ] {
        let what = format!("{format}, version {version}, split: {split}");
        let home = TempDir::new().expect("a temporary directory");
        let root = home.path();
        git(root, &["init", "-q", "--object-format", format]);
        git(root, &["config", "index.version", version]);
        assert_eq!(assert_equal(root, &what), 0, "before the first `git add`");
        for name in ["a", "a-b", "a.b", "src/deep/a.py", "src/b.py", "caf\u{e9}", "new\nline", "sub/project/x", "sub/y"] {
            write(root, name, name);
        }
        for number in 0..300 {
            write(root, &format!("many/d{}/f{number}", number % 7), "x");
        }
        git(root, &["add", "."]);
        if split {
            git(root, &["config", "core.splitIndex", "true"]);
            git(root, &["config", "splitIndex.maxPercentChange", "100"]);
            git(root, &["update-index", "--split-index"]);
        }
        assert_eq!(assert_equal(root, &what), 309);
        // The index now gets entries that are new, changed, removed, intended and in conflict.
        write(root, "intended", "x");
        git(root, &["add", "-N", "intended"]);
        write(root, "src/b.py", "changed");
        write(root, "zzz", "new");
        write(root, "many/d3/new", "new");
        git(root, &["add", "src/b.py", "zzz", "many/d3/new"]);
        git(root, &["rm", "-fq", "--cached", "a-b", "many/d1/f1", "many/d0/f0", "sub/y"]);
        assert_eq!(assert_equal(root, &what), 308);
        let is_split = fs::read_dir(root.join(".git"))
            .expect("a directory")
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex."));
        assert_eq!(is_split, split, "{what}");
        git(root, &["commit", "-qm", "one"]);
        assert_equal(root, &what);
        // A project may lie below the repository's root.
        assert_eq!(both(&root.join("sub/project")).0, ["x"]);
        assert_equal(&root.join("sub/project"), &what);
        // A worktree has an index of its own.
        let worktree = home.path().join(".worktree");
        git(root, &["worktree", "add", "-q", worktree.to_str().expect("text"), "HEAD"]);
        assert_equal(&worktree, &what);
        git(&worktree, &["rm", "-fq", "--cached", "zzz"]);
        assert_ne!(both(&worktree).0, both(root).0);
        assert_equal(&worktree, &what);
    }
}

#[test]
fn conflicts_submodules_and_a_sparse_index_are_read() {
    let home = TempDir::new().expect("a temporary directory");
    let root = home.path().join("project");
    fs::create_dir(&root).expect("a new directory");
    git(&root, &["init", "-q", "-b", "main"]);
    write(&root, "a", "1\n");
    write(&root, "cone/in", "1\n");
    write(&root, "out/deep/x", "1\n");
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "one"]);
    git(&root, &["checkout", "-qb", "other"]);
    write(&root, "a", "2\n");
    git(&root, &["commit", "-qam", "two"]);
    git(&root, &["checkout", "-q", "main"]);
    write(&root, "a", "3\n");
    git(&root, &["commit", "-qam", "three"]);
    let merged = Command::new("git").current_dir(&root).args(["merge", "other"]).output().expect("git is installed");
    assert!(!merged.status.success(), "a conflict");
    assert_equal(&root, "a conflict");
    git(&root, &["checkout", "-qf", "main"]);
    let library = home.path().join("library");
    fs::create_dir(&library).expect("a new directory");
    git(&library, &["init", "-q"]);
    write(&library, "l", "");
    git(&library, &["add", "."]);
    git(&library, &["commit", "-qm", "one"]);
    git(&root, &["submodule", "--quiet", "add", "../library", "cone/library"]);
    assert_equal(&root, "a submodule is one entry");
    assert_eq!(both(&root.join("cone/library")).0, ["l"], "a submodule's `.git` is a file");
    git(&root, &["commit", "-qm", "submodule"]);
    git(&root, &["sparse-checkout", "set", "--cone", "--sparse-index", "cone"]);
    let index = read_git_index(&root, None);
    assert_eq!(index.problem(), None);
    assert!(index.paths().contains(b"out/deep/x") && index.paths().contains(b"cone/in") && index.paths().has_below(b"out"));
    assert!(!index.paths().contains(b"elsewhere/x") && !index.paths().contains(b"outer"));
}

#[test]
fn an_index_that_cannot_be_used_is_named_and_the_rules_alone_decide() {
    let project = Project::new().file(".gitignore", "*.log\n").file("a.log", "tracked").file("b", "");
    let root = project.path();
    git(&root, &["init", "-q"]);
    git(&root, &["add", "-f", "."]);
    let index = root.join(".git/index");
    let sound = fs::read(&index).expect("an index");
    let listed = || project.proctor(["generate", "tree", "--list"]).success();
    assert!(listed().stdout.contains("a.log") && !listed().stderr.contains("index"));
    let mut unknown = sound.clone();
    unknown[7] = 9;
    for (bytes, said) in [
        (&b"no index"[..], "it is damaged"),
        (&sound[..sound.len() - 30], "it is damaged"),
        (&unknown[..], "its version 9 is not known"),
        (&b""[..], "it is damaged"),
    ] {
        fs::write(&index, bytes).expect("our file");
        let output = listed();
        assert!(output.stderr.contains(&format!("git's index cannot be used: {said}")), "{}", output.snapshot());
        assert!(!output.stdout.contains("a.log"), "{}", output.snapshot());
        assert!(project.proctor(["why", "a.log"]).success().stdout.contains("does not belong"));
    }
    fs::remove_file(&index).expect("our file");
    fs::create_dir(&index).expect("a new name");
    assert!(listed().stderr.contains("it cannot be read"));
    fs::remove_dir(&index).expect("our directory");
    nix::unistd::mkfifo(&index, nix::sys::stat::Mode::S_IRWXU).expect("a file system with pipes");
    assert!(listed().stderr.contains("it cannot be read"));
    fs::remove_file(&index).expect("our pipe");
    let missing = listed();
    assert!(!missing.stderr.contains("index") && !missing.stdout.contains("a.log"), "{}", missing.snapshot());
}

#[test]
fn tracked_files_belong_to_the_tree_whatever_ignores_them() {
    let project = Project::new()
        .toml("[[check]]\nname = \"a\"\ncommand = [\"grep\", \"-q\", \"one\", \"build/deep/a.txt\"]\n[watch]\nignore = [\"/docs/\"]\n")
        .file(".gitignore", "build/\n*.log\nnode_modules/\n")
        .file("build/deep/a.txt", "one\n")
        .file("build/deep/other.txt", "untracked\n")
        .file("build/.gitignore", "!*\n")
        .file("docs/a.md", "tracked\n")
        .file("docs/b.md", "untracked\n")
        .file("app.log", "tracked\n")
        .file("other.log", "untracked\n")
        .file("node_modules/p/i.js", "tracked, and never part of a tree\n");
    let root = project.path();
    git(&root, &["init", "-q"]);
    git(&root, &["add", "-f", "build/deep/a.txt", "docs/a.md", "app.log", "node_modules/p/i.js"]);
    let list = project.proctor(["generate", "tree", "--list"]).success().stdout;
    let has = |name: &str| list.lines().any(|line| line.ends_with(&format!(" {name}")));
    for name in ["build", "build/deep", "build/deep/a.txt", "docs/a.md", "app.log"] {
        assert!(has(name), "{name}: {list}");
    }
    for name in ["build/deep/other.txt", "build/.gitignore", "docs/b.md", "other.log", "node_modules"] {
        assert!(!has(name), "{name}: {list}");
    }
    let digest = list.lines().last().expect("a digest").to_owned();
    assert_eq!(digest_in_python(&root, &["/docs/"]), digest);
    let why = |name: &str| project.proctor(["why", name]).success().stdout;
    let expected =
        "`build/deep/a.txt` is tracked by git, so it belongs to the tree although `build/` (.gitignore:1) ignores it\n";
    assert!(why("build/deep/a.txt").starts_with(expected), "{}", why("build/deep/a.txt"));
    assert!(why("app.log").contains("although `*.log` (.gitignore:2) ignores it"));
    assert!(why("docs/a.md").contains("although `/docs/` (`watch.ignore` in proctor.toml, pattern 1) ignores it"));
    assert!(why("build/deep/other.txt").contains("does not belong to the tree: `build/` (.gitignore:1) excludes `build`"));
    assert!(why("node_modules/p/i.js").contains("is never part of a tree"));
    assert_eq!(project.proctor(["why", "app.log", "--json"]).success().json()["rule"]["source"], "gitTracked");
}

#[test]
fn a_tracked_file_that_a_rule_ignores_makes_the_verdict_stale() {
    for snapshot in ["off", "auto"] {
        let project = Project::new()
            .toml(&format!(
                "[sandbox]\nsnapshot = \"{snapshot}\"\n[[check]]\nname = \"a\"\ncommand = [\"grep\", \"-rq\", \"one\", \"src\"]\n"
            ))
            .file("src/calc.py", "one\n")
            .file("src/local.cfg", "an ignored input\n");
        let root = project.path();
        git(&root, &["init", "-q"]);
        git(&root, &["add", "src/calc.py", "proctor.toml"]);
        // The rule that takes the code out of the tree comes later.
        project.save(".gitignore", "src/\n");
        project.proctor(["run"]).success();
        let state = || project.proctor(["status", "--json"]).success().json()["projects"][0]["tasks"][0]["state"].clone();
        assert_eq!(state(), "fresh", "{snapshot}");
        project.save("src/calc.py", "two\n");
        assert_eq!(state(), "stale", "{snapshot}");
        let report = project.proctor(["run"]).status(1).report();
        assert_eq!(report["tree"]["before"], Value::from(digest_in_python(&root, &[])), "{snapshot}");
        assert_eq!(state(), "fresh", "{snapshot}");
        git(&root, &["rm", "-rfq", "--cached", "src"]);
        assert_eq!(state(), "stale", "{snapshot}: nothing of it belongs to the tree any more");
    }
}

#[test]
fn what_git_begins_or_ceases_to_track_is_found_by_a_look_at_other_paths() {
    let home = TempDir::new().expect("a temporary directory");
    let root = home.path();
    git(root, &["init", "-q"]);
    write(root, ".gitignore", "out/\n*.log\n");
    for name in ["a", "b.log", "out/x", "out/deep/y", "out/deep/z"] {
        write(root, name, name);
    }
    let mut index = scan(root);
    let steps: [&[&str]; 6] = [
        &["add", "-f", "out/deep/y"],
        &["add", "-f", "."],
        &["rm", "-fq", "--cached", "out/deep/y", "b.log"],
        &["commit", "-qm", "one"],
        &["rm", "-rfq", "--cached", "out"],
        &["add", "-f", "out/x"],
    ];
    for step in steps {
        git(root, step);
        let fresh = scan(root);
        let applied = index.apply(&[TreePath::try_from("a").expect("a path")].into(), &matcher(), now()).expect("readable");
        let again = index.rescan(&matcher(), now()).expect("readable");
        assert_eq!((applied.digest(), again.digest()), (fresh.digest(), fresh.digest()), "{step:?}");
        assert_eq!(fresh.digest().to_string(), digest_in_python(root, &[]), "{step:?}");
        index = applied;
    }
    // If the repository is gone, the tree is another one. If `.git` is a link to the repository, as some tools make it,
    // the tree stays the same.
    fs::rename(root.join(".git"), home.path().join(".hg")).expect("our directory");
    assert_ne!(scan(root).digest(), index.digest());
    symlink(".hg", root.join(".git")).expect("a link");
    assert_eq!(scan(root).digest(), index.digest());
}

#[test]
fn a_damaged_index_is_an_error_or_another_index_and_never_a_panic() {
    let home = TempDir::new().expect("a temporary directory");
    let root = home.path();
    for (format, version) in [("sha1", "2"), ("sha1", "4"), ("sha256", "2")] {
        let root = root.join(format!("{format}-{version}"));
        fs::create_dir(&root).expect("a new directory");
        git(&root, &["init", "-q", "--object-format", format]);
        git(&root, &["config", "index.version", version]);
        for name in ["a", "b/c", "b/d", "e"] {
            write(&root, name, name);
        }
        git(&root, &["add", "."]);
        git(&root, &["update-index", "--split-index"]);
        write(&root, "f", "");
        git(&root, &["add", "f"]);
        git(&root, &["rm", "-fq", "--cached", "b/d"]);
        let shared = fs::read_dir(root.join(".git")).expect("a directory").flatten();
        let shared =
            shared.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("sharedindex")).expect("a shared part");
        let parts = [fs::read(root.join(".git/index")).expect("an index"), fs::read(shared).expect("an index")];
        let [index, shared] = [parse_index(&parts[0]).expect("sound"), parse_index(&parts[1]).expect("sound")];
        assert!(index.tracked_below(b"", Some(&shared)).is_ok());
        assert_eq!(index.tracked_below(b"", None), Err(GitIndexProblem::SharedPart));
        for bytes in &parts {
            for position in 0..bytes.len() {
                let _cut = parse_index(&bytes[..position]);
                for bit in 0..8 {
                    let mut damaged = bytes.clone();
                    damaged[position] ^= 1 << bit;
                    if let Ok(content) = parse_index(&damaged) {
                        let _other = (content.tracked_below(b"b/", Some(&shared)), index.tracked_below(b"", Some(&content)));
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn any_repository_is_listed_as_git_lists_it(
        names in proptest::collection::vec("[a-c]{1,2}(/[a-c.]{0,1}[a-c]{1,2}){0,3}", 1..40),
        removed in proptest::collection::vec(any::<proptest::sample::Index>(), 0..12),
        version in 2..=4_u8,
    ) {
        let home = TempDir::new().expect("a temporary directory");
        let root = home.path();
        git(root, &["init", "-q"]);
        git(root, &["config", "index.version", &version.to_string()]);
        for name in &names {
            let path = root.join(name);
            let _taken = fs::create_dir_all(path.parent().expect("below the root")).and_then(|()| fs::write(&path, name));
        }
        git(root, &["add", "-f", "."]);
        if version != 3 {
            git(root, &["update-index", "--split-index"]);
        }
        for index in &removed {
            git(root, &["rm", "-rfq", "--cached", "--ignore-unmatch", index.get(&names).as_str()]);
        }
        let (read, listed) = both(root);
        prop_assert_eq!(read, listed);
    }

    #[test]
    fn any_bytes_are_an_index_or_a_problem(bytes in proptest::collection::vec(any::<u8>(), 0..400), version in 2..=4_u8, count in 0..4_u8) {
        let head = [b'D', b'I', b'R', b'C', 0, 0, 0, version, 0, 0, 0, count];
        let _whatever = (parse_index(&bytes), parse_index(&[&head[..], &bytes].concat()));
    }
}
