//! The tree digest of a commit equals that of a clean checkout of it, and where git checks out another content, or the objects do not
//! say everything, the commit is refused with a word of its own.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use proctor_model::{Timestamp, TreeDigest, TreePath};
use proctor_project::ProjectRepository;
use proctor_tree::ignore::{Matcher, MatcherSettings, OwnLink};
use proctor_tree::{CommitRefusal, CommittedTree, InputPlace, TreeIndex, committed_tree, committed_tree_within};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use tempfile::TempDir;

use crate::tracked::git;

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    Timestamp::from_millis(i64::try_from(elapsed.as_millis()).expect("a clock of this age"))
}

fn matcher(ignore: &[&str], task_list: Option<&str>) -> Matcher {
    let ignore = ignore.iter().map(|pattern| (*pattern).to_owned()).collect();
    let task_list = task_list.map(str::to_owned);
    let own_link = Some(OwnLink { leads_into: "/state/proctor/evidence".into() });
    matcher_of(&MatcherSettings { ignore, task_list, own_link, ..MatcherSettings::default() })
}

pub(crate) fn matcher_of(settings: &MatcherSettings) -> Matcher {
    Matcher::new(settings).expect("good patterns")
}

pub(crate) fn digest_of_commit(root: &Path, matcher: &Matcher) -> TreeDigest {
    of_commit(root, matcher).unwrap_or_else(|error| panic!("{error}")).digest
}

/// Returns the word of the refusal; `None` if the digest can be told.
pub(crate) fn word_of_commit(root: &Path, matcher: &Matcher) -> Option<&'static str> {
    of_commit(root, matcher).err().map(|refusal| refusal.word())
}

pub(crate) fn write(root: &Path, name: &[u8], content: &[u8]) {
    let path = root.join(OsStr::from_bytes(name));
    fs::create_dir_all(path.parent().expect("a path below the root")).expect("a writable directory");
    fs::write(path, content).expect("a writable file");
}

fn repository() -> TempDir {
    let home = TempDir::new().expect("a temporary directory");
    git(home.path(), &["init", "-q", "-b", "main"]);
    home
}

pub(crate) fn commit_all(root: &Path) {
    git(root, &["add", "--force", "."]);
    git(root, &["commit", "-q", "--allow-empty", "-m", "all"]);
}

fn of_commit(root: &Path, matcher: &Matcher) -> Result<CommittedTree, CommitRefusal> {
    let repository = ProjectRepository::open(root).expect("a readable repository").expect("a repository");
    let head = repository.storage.resolve("HEAD").expect("a commit");
    let tree = repository.storage.tree_of(head).expect("its tree");
    committed_tree(&repository.storage, tree, &repository.below, matcher)
}

/// Compares the digest of `HEAD` with the digest of a fresh clone, at a path below the repository's root.
#[track_caller]
fn assert_equal(root: &Path, below: &str, matcher: &Matcher) -> u64 {
    assert_same_digest(root, below, matcher, &[])
}

/// Compares as [`assert_equal`] does, and gives `git clone` these options.
#[track_caller]
pub(crate) fn assert_same_digest(root: &Path, below: &str, matcher: &Matcher, options: &[&str]) -> u64 {
    let clone = TempDir::new().expect("a temporary directory");
    let cloned: Vec<&str> = ["clone", "-q"].iter().chain(options).copied().collect();
    git(clone.path(), &[&cloned[..], &[root.to_str().expect("text"), "clone"]].concat());
    let checkout = TreeIndex::scan(&clone.path().join("clone").join(below), matcher, now()).expect("a readable root");
    assert_eq!(checkout.issues(), []);
    let committed = of_commit(&root.join(below), matcher).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((committed.digest, committed.files), (checkout.digest(), checkout.files()), "{below}");
    committed.files
}

#[test]
fn inputs_in_the_repository_have_the_content_of_the_commit_and_others_that_of_now() {
    let (home, elsewhere) = (repository(), TempDir::new().expect("a temporary directory"));
    let root = home.path();
    for (name, content) in [
        (&b"packages/app/a.py"[..], &b"1"[..]),
        (b"packages/lib/b.py", b"2"),
        (b"packages/lib/sub/c", b"3"),
        (b"base.json", b"{}"),
    ] {
        write(root, name, content);
    }
    write(elsewhere.path(), b"config", b"x");
    let outside = elsewhere.path().join("config").display().to_string();
    let inputs = |root: &Path| {
        let place = |name: &str| InputPlace { name: name.to_owned(), path: root.join(name.trim_start_matches("../")) };
        let mut inputs: Vec<InputPlace> = ["../../base.json", "../../none.json", "../lib"].map(place).into_iter().collect();
        inputs[2].path = root.join("packages/lib");
        inputs.push(InputPlace { name: outside.clone(), path: outside.clone().into() });
        matcher_of(&MatcherSettings { inputs, ..MatcherSettings::default() })
    };
    commit_all(root);
    let clone = TempDir::new().expect("a temporary directory");
    git(clone.path(), &["clone", "-q", root.to_str().expect("text"), "clone"]);
    let clone = clone.path().join("clone");
    let app = root.join("packages/app");
    let checkout = || TreeIndex::scan(&clone.join("packages/app"), &inputs(&clone), now()).expect("a readable root").digest();
    let committed = digest_of_commit(&app, &inputs(root));
    assert_eq!(committed, checkout());
    assert_ne!(committed, digest_of_commit(&app, &matcher(&[], None)), "the inputs count");
    // What is on disk and not committed does not count, but outside of the repository there is no commit.
    write(root, b"packages/lib/b.py", b"broken");
    assert_eq!(digest_of_commit(&app, &inputs(root)), committed);
    write(elsewhere.path(), b"config", b"y");
    assert_ne!(digest_of_commit(&app, &inputs(root)), committed);
    write(elsewhere.path(), b"config", b"x");
    commit_all(root);
    let broken = digest_of_commit(&app, &inputs(root));
    assert_ne!(broken, committed);
    git(&clone, &["pull", "-q"]);
    assert_eq!(broken, checkout());
}

#[test]
fn the_digest_of_a_commit_is_that_of_a_clean_checkout() {
    let home = repository();
    let root = home.path();
    commit_all(root);
    assert_eq!(assert_equal(root, "", &matcher(&[], None)), 0, "an empty tree");
    for (name, content) in [
        (&b"a-b"[..], &b""[..]),
        (b"a.b/file", b"1"),
        (b"a/file", b"2"),
        (b"a0", b"3"),
        (b"empty", b""),
        (b"caf\xc3\xa9", b"utf-8"),
        (b"caf\xe9", b"latin-1"),
        (b"new\nline \x01", b"odd"),
        (b".gitignore", b"*.log\nbuild/\n!keep.log\n/node_modules\n"),
        (b"ignored.log", b"tracked though ignored"),
        (b"keep.log", b"kept"),
        (b"build/deep/out.o", b"tracked in an ignored directory"),
        (b"build/.gitignore", b"!*\n"),
        (b"sub/.ignore", b"*.txt\n"),
        (b"sub/x.txt", b"ignored by .ignore"),
        (b"sub/.gitignore", b"*\n"),
        (b"sub/project/proctor.toml", b""),
        (b"sub/project/src/x.py", b"print()\r\n"),
        (b"docs/tasks.md", b"the task list"),
        (b".gitattributes", b"* text=auto\n*.png binary\n*.md diff=markdown\n"),
        (b"image.png", b"\x89PNG\r\n\x1a\n"),
    ] {
        write(root, name, content);
    }
    fs::set_permissions(root.join("a-b"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a-b", root.join("link")).unwrap();
    symlink("nowhere/caf\u{e9}", root.join("dangling")).unwrap();
    symlink("../../..", root.join("sub/up")).unwrap();
    symlink("/state/proctor/evidence/web-00000001", root.join("sub/evidence")).unwrap();
    symlink("/elsewhere/proctor/evidence/web-00000001", root.join("sub/foreign")).unwrap();
    write(root, b"large", &vec![b'z'; 300_000]);
    commit_all(root);
    for below in ["", "sub/project", "sub", "build"] {
        for (ignore, task_list) in [(&[][..], None), (&["*.py", "sub/*"], Some("docs/tasks.md"))] {
            assert!(assert_equal(root, below, &matcher(ignore, task_list)) > 0);
        }
    }
    git(root, &["repack", "-adfq"]);
    assert!(assert_equal(root, "", &matcher(&[], None)) > 15);
    // What is changed and not committed belongs to no commit.
    let before = of_commit(root, &matcher(&[], None)).unwrap();
    write(root, b"empty", b"changed");
    write(root, b"untracked", b"new");
    git(root, &["add", "empty"]);
    assert_eq!(of_commit(root, &matcher(&[], None)).unwrap(), before);
}

#[test]
fn where_the_content_of_a_checkout_is_not_that_of_the_commit_a_word_says_why() {
    let long = "# nothing\n".repeat(30_000);
    for (files, expected) in [
        (&[(".gitattributes", "*.bat text eol=crlf\n"), ("run.bat", "a\n")][..], Some("eol")),
        (&[(".gitattributes", "*.bat text eol=crlf\n"), ("run.sh", "a\n"), ("empty.bat", "")], None),
        (&[("d/.gitattributes", "* ident\n"), ("d/x.c", "/* $Id$ */\n")], Some("ident")),
        (&[("d/.gitattributes", "* ident\n"), ("d/x.c", "/* none */\n"), ("x.c", "$Id$")], None),
        (&[(".gitattributes", "x working-tree-encoding=UTF-16LE\n"), ("y", "a")], None),
        // Git converts the encoding of a file that is no text as well.
        (&[(".gitattributes", "y -text working-tree-encoding=UTF-16LE\n"), ("y", "a\0b\0")], Some("working-tree-encoding")),
        (&[(".gitattributes", "y binary ident\n"), ("y", "$Id$")], Some("ident")),
        (&[(".gitattributes", "secret filter=git-crypt\n"), ("secret", "sealed")], Some("filter")),
        (
            &[
                (".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n"),
                ("x.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
            ],
            Some("lfs-pointer"),
        ),
        (&[(".gitattributes", "*.bin filter=lfs\n"), ("x.bin", "content")], None),
        (&[("notes", "version https://git-lfs.github.com/spec/v1\n")], None),
        (&[(".gitattributes", "* export-subst export-ignore\n"), ("x", "$Format:%H$")], None),
        // What is in no tree must be in no commit: another content would have the same digest.
        (&[("node_modules/left/index.js", "committed all the same")], Some("left-out")),
        (&[("cache/__pycache__/x.pyc", "committed all the same")], Some("left-out")),
        // The file below takes back what the one above says.
        (&[(".gitattributes", "* -text eol=crlf\n"), ("d/.gitattributes", "*.txt text\n"), ("d/x.txt", "a\n")], Some("eol")),
        (&[(".gitattributes", &long), ("x", "a")], Some("too-large")),
    ] {
        let home = repository();
        for (name, content) in files {
            write(home.path(), name.as_bytes(), content.as_bytes());
        }
        commit_all(home.path());
        let word = of_commit(home.path(), &matcher(&[], None)).err().map(|refusal| refusal.word());
        assert_eq!(word, expected, "{files:?}");
        if expected.is_none() {
            assert_equal(home.path(), "", &matcher(&[], None));
        }
    }
    // The attributes of this repository alone count too, and those above the project.
    let home = repository();
    write(home.path(), b"sub/x", b"a\n");
    commit_all(home.path());
    let sub = home.path().join("sub");
    assert!(of_commit(&sub, &matcher(&[], None)).is_ok());
    fs::create_dir_all(home.path().join(".git/info")).unwrap();
    fs::write(home.path().join(".git/info/attributes"), "sub/x eol=crlf\n").unwrap();
    assert_eq!(of_commit(&sub, &matcher(&[], None)).unwrap_err().word(), "eol");
    fs::remove_file(home.path().join(".git/info/attributes")).unwrap();
    write(home.path(), b".gitattributes", b"sub/x eol=crlf\n");
    commit_all(home.path());
    assert_eq!(of_commit(&sub, &matcher(&[], None)).unwrap_err().word(), "eol");
}

#[test]
fn so_many_bytes_are_read_and_no_more() {
    let home = repository();
    for name in ["a", "b", "c"] {
        write(home.path(), name.as_bytes(), &[b'x'; 1000]);
    }
    commit_all(home.path());
    let repository = ProjectRepository::open(&home.path().canonicalize().unwrap()).unwrap().expect("a repository");
    let storage = &repository.storage;
    let tree = storage.tree_of(storage.head().unwrap().expect("a commit")).unwrap();
    let within = |most| committed_tree_within((storage, most), tree, &repository.below, &matcher(&[], None));
    assert_eq!(within(3000).unwrap().files, 3);
    assert_eq!(within(2999).unwrap_err().word(), "too-large", "one blob stands for three files");
}

#[test]
fn submodules_lacking_clones_damage_and_missing_directories_are_refused() {
    let home = repository();
    let root = home.path();
    write(root, b"a", b"x");
    commit_all(root);
    write(root, b"a", b"y");
    commit_all(root);
    let places = TempDir::new().unwrap();
    let word = |root: &Path| of_commit(root, &matcher(&[], None)).err().map(|refusal| refusal.word());
    let url = format!("file://{}", root.display());
    git(places.path(), &["clone", "-q", "--depth", "1", &url, "shallow"]);
    let shallow = places.path().join("shallow");
    assert_eq!(word(&shallow), None, "the newest commit is whole");
    git(root, &["config", "uploadpack.allowFilter", "true"]);
    git(places.path(), &["clone", "-q", "--no-checkout", "--filter=blob:none", &url, "partial"]);
    assert_eq!(word(&places.path().join("partial")), Some("lacking-clone"));
    fs::create_dir(root.join("later")).unwrap();
    assert_eq!(word(&root.join("later")), Some("no-project"));
    git(root, &["submodule", "--quiet", "add", &url, "module"]);
    git(root, &["commit", "-qm", "with a submodule"]);
    assert_eq!(word(root), None, "its objects are here");
    fs::remove_dir_all(root.join(".git/modules")).unwrap();
    assert_eq!(word(root), Some("submodule"));
    // The blob is gone, and then it is another one.
    let other = repository();
    write(other.path(), b"file", b"content");
    commit_all(other.path());
    let blob = String::from_utf8(git(other.path(), &["rev-parse", "HEAD:file"])).unwrap();
    let path = other.path().join(".git/objects").join(&blob[..2]).join(blob[2..].trim_end());
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(word(other.path()), Some("missing-object"));
    write(other.path(), b"second", b"another");
    let second = String::from_utf8(git(other.path(), &["hash-object", "-w", "second"])).unwrap();
    let from = other.path().join(".git/objects").join(&second[..2]).join(second[2..].trim_end());
    fs::copy(from, &path).unwrap();
    assert_eq!(word(other.path()), Some("damaged-object"));
    fs::remove_file(&path).unwrap();
    symlink("/etc/hostname", &path).unwrap();
    assert_eq!(word(other.path()), Some("linked"));
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    assert_eq!(word(other.path()), None);
}

#[test]
fn trees_that_git_would_not_write_are_refused() {
    let home = repository();
    let root = home.path();
    write(root, b"content", b"x");
    let blob = git(root, &["hash-object", "-w", "content"]);
    let blob: Vec<u8> =
        blob.trim_ascii().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect();
    for (entries, expected) in [
        (&[(&b"100644"[..], &b"ok"[..])][..], None),
        (&[(b"100664", b"group-writable")], None),
        (&[(b"100644", b"..")], Some("odd-entry")),
        (&[(b"100644", b".")], Some("odd-entry")),
        (&[(b"100644", b".git")], Some("odd-entry")),
        (&[(b"100644", b".GIT")], Some("odd-entry")),
        (&[(b"100644", b"a/b")], Some("odd-entry")),
        (&[(b"100644", b"")], Some("odd-entry")),
        (&[(b"100644", b"twice"), (b"100755", b"twice")], Some("odd-entry")),
        (&[(b"010644", b"pipe")], Some("odd-entry")),
        (&[(b"40000", b"no-tree")], Some("wrong-kind")),
    ] {
        let tree: Vec<u8> = entries.iter().flat_map(|(mode, name)| [*mode, b" ", name, b"\0", &blob].concat()).collect();
        fs::write(root.join("tree"), tree).unwrap();
        let tree = git(root, &["hash-object", "-w", "--literally", "-t", "tree", "tree"]);
        let tree = String::from_utf8(tree).unwrap();
        let commit = git(root, &["commit-tree", tree.trim_end(), "-m", "odd"]);
        git(root, &["update-ref", "HEAD", String::from_utf8(commit).unwrap().trim_end()]);
        let word = of_commit(root, &matcher(&[], None)).err().map(|refusal| refusal.word());
        assert_eq!(word, expected, "{entries:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_files_have_the_same_digest_in_a_commit_and_in_a_checkout(
        files in proptest::collection::btree_map("[a-c.~#]{1,3}(/[a-c.~#]{1,3}){0,2}", (any::<Vec<u8>>(), any::<bool>()), 0..12),
        rules in "([!/]?[a-c*.]{1,3}/?\n){0,4}",
    ) {
        let home = repository();
        let root = home.path();
        fs::write(root.join(".gitignore"), rules).unwrap();
        for (name, (content, is_executable)) in files {
            // A name may be that of a directory of another file, or one that no file may have.
            let path = root.join(&name);
            if TreePath::try_from(name.as_str()).is_err() || fs::create_dir_all(path.parent().unwrap()).is_err() {
                continue;
            }
            if fs::write(&path, content).is_ok() && is_executable {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        commit_all(root);
        let clone = TempDir::new().unwrap();
        git(clone.path(), &["clone", "-q", root.to_str().unwrap(), "clone"]);
        let checkout = TreeIndex::scan(&clone.path().join("clone"), &matcher(&[], None), now()).unwrap();
        match of_commit(root, &matcher(&[], None)) {
            // Some generated names are those of editors' copies, which belong to no tree.
            Err(CommitRefusal::LeftOut { path }) => prop_assert!(checkout.lookup(&path).is_none()),
            committed => prop_assert_eq!(committed.unwrap().digest, checkout.digest()),
        }
    }
}
