//! Reads objects and revisions from repositories that git has made, and compares them with what git says. Damaged repositories end in
//! errors and never in a panic or in another content.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proctor_git::{GitReadError, GitStorage, ObjectId, ObjectProblem, RevisionError};
use tempfile::TempDir;

use crate::tracked::git;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("git prints text").trim_end().to_owned()
}

fn open(root: &Path) -> GitStorage {
    let (git_directory, common) = proctor_git::find_git_directories(root).expect("a repository");
    GitStorage::open(&git_directory, &common).expect("a repository that can be read")
}

fn commit(root: &Path, name: &str, content: &str) {
    fs::write(root.join(name), content).expect("a writable file");
    git(root, &["add", "."]);
    git(root, &["commit", "-qm", name]);
}

/// Makes a repository with versions of a large file (so that packs have deltas), a merge, branches and tags.
fn repository() -> TempDir {
    let home = TempDir::new().expect("a temporary directory");
    let root = home.path();
    git(root, &["init", "-q", "-b", "main"]);
    for version in 0..12 {
        let lines: String = (0..400).map(|line| format!("{line} of {}\n", if line % 40 == 0 { version } else { 0 })).collect();
        commit(root, "large", &lines);
        if version == 3 {
            git(root, &["tag", "light"]);
            git(root, &["tag", "-a", "-m", "annotated", "v1"]);
            git(root, &["tag", "-a", "-m", "a tag of a tag", "nested", "v1"]);
        }
    }
    git(root, &["switch", "-qc", "side/deep", "HEAD~4"]);
    commit(root, "side", "x");
    git(root, &["switch", "-q", "main"]);
    git(root, &["merge", "-q", "--no-ff", "-m", "merged", "side/deep"]);
    home
}

/// Reads every object of a repository, and compares its kind and size with what git says.
#[track_caller]
fn assert_objects(root: &Path) -> usize {
    let storage = open(root);
    let listed = text(&git(root, &["cat-file", "--batch-all-objects", "--batch-check"]));
    for line in listed.lines() {
        let [id, kind, size] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let object = storage.objects.read(ObjectId::parse(id).expect("a name")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((object.kind.word(), object.content.len().to_string().as_str()), (kind, size), "{id}");
    }
    listed.lines().count()
}

const REVISIONS: &[&str] = &[
    "HEAD",
    "@",
    "main",
    "heads/main",
    "refs/heads/main",
    "side/deep",
    "light",
    "v1",
    "nested",
    "tags/v1",
    "HEAD~0",
    "HEAD~3",
    "HEAD^",
    "HEAD^1",
    "HEAD^2",
    "HEAD^2~2",
    "v1~2",
    "v1^{}",
    "v1^{commit}^",
    "nested~1^",
    "main~2^^",
];

#[track_caller]
fn assert_revisions(root: &Path, revisions: &[&str]) {
    let storage = open(root);
    for revision in revisions {
        let expected = text(&git(root, &["rev-parse", "--verify", &format!("{revision}^{{commit}}")]));
        let found = storage.resolve(revision).unwrap_or_else(|error| panic!("{revision}: {error}"));
        assert_eq!(found.hex(), expected, "{revision}");
        for digits in [7, 12, 39] {
            assert_eq!(storage.resolve(&expected[..digits]).expect("an abbreviated name").hex(), expected);
            assert_eq!(storage.resolve(&expected[..digits].to_uppercase()).expect("upper case").hex(), expected);
        }
    }
}

#[test]
fn loose_objects_packs_with_every_kind_of_delta_and_loans_are_read_as_git_reads_them() {
    let home = repository();
    let root = home.path();
    let loose = assert_objects(root);
    assert_revisions(root, REVISIONS);
    for (what, settings) in [
        ("offset deltas", &["-c", "repack.useDeltaBaseOffset=true"][..]),
        ("reference deltas", &["-c", "repack.useDeltaBaseOffset=false"]),
        ("long chains", &["-c", "pack.depth=4000"]),
    ] {
        git(root, &[settings, &["repack", "-adfq", "--window=50"]].concat());
        git(root, &["pack-refs", "--all"]);
        git(root, &["prune-packed"]);
        assert_eq!(assert_objects(root), loose, "{what}");
        assert_revisions(root, REVISIONS);
    }
    let (lent, twice) = (root.join(".lent"), root.join(".twice"));
    let (from, lent_text, twice_text) = (root.to_str().unwrap(), lent.to_str().unwrap(), twice.to_str().unwrap());
    git(root, &["clone", "-q", "--shared", from, lent_text]);
    commit(&lent, "own", "of the clone");
    git(root, &["clone", "-q", "--shared", lent_text, twice_text]);
    for clone in [&lent, &twice] {
        assert!(open(clone).resolve("HEAD~2").is_ok());
        assert_revisions(clone, &["HEAD", "origin", "origin/main", "origin/HEAD", "HEAD^^", "@{upstream}", "main@{u}~1"]);
    }
    // A loan that leads in a circle ends.
    fs::write(root.join(".git/objects/info/alternates"), format!("{}/.git/objects\n", twice.display())).unwrap();
    let missing = ObjectId::parse(&"1".repeat(40)).unwrap();
    let problem = open(root).objects.read(missing).unwrap_err();
    assert!(matches!(problem, GitReadError::Object { problem: ObjectProblem::Missing, .. }), "{problem}");
}

#[test]
fn worktrees_upstreams_and_unknown_revisions_are_told_apart() {
    let home = repository();
    let root = home.path();
    let tree = root.join(".other");
    git(root, &["worktree", "add", "-q", tree.to_str().unwrap(), "-b", "other", "light"]);
    git(root, &["branch", "-q", "--set-upstream-to=main", "other"]);
    assert_revisions(&tree, &["HEAD", "main", "other", "@{upstream}", "HEAD~1"]);
    assert_ne!(open(&tree).resolve("HEAD").unwrap(), open(root).resolve("HEAD").unwrap());
    let storage = open(root);
    assert_eq!(open(&tree).upstream_of_head().unwrap().map(|name| name.as_str().to_owned()).as_deref(), Some("refs/heads/main"));
    assert!(storage.upstream_of_head().unwrap().is_none());
    assert!(matches!(storage.resolve("@{upstream}"), Err(RevisionError::NoUpstream { .. })));
    for unknown in ["nothing", "../HEAD", "refs/heads/../../HEAD", "main.lock", "abc", "0000000"] {
        assert!(matches!(storage.resolve(unknown), Err(RevisionError::Unknown { .. })), "{unknown}");
    }
    for odd in ["HEAD@{1}", "main..other", ":/merged", "HEAD:large"] {
        assert!(storage.resolve(odd).is_err(), "{odd}");
    }
    assert!(matches!(storage.resolve("HEAD~500"), Err(RevisionError::NoParent { .. })));
    let blob = text(&git(root, &["rev-parse", "HEAD:large"]));
    assert!(storage.resolve(&blob).is_err(), "a file is no commit");
    git(root, &["switch", "-q", "--orphan", "empty"]);
    assert!(matches!(open(root).resolve("HEAD"), Err(RevisionError::NothingCommitted)));
    let sha256 = TempDir::new().unwrap();
    git(sha256.path(), &["init", "-q", "--object-format", "sha256"]);
    let (git_directory, common) = proctor_git::find_git_directories(sha256.path()).unwrap();
    assert!(matches!(GitStorage::open(&git_directory, &common), Err(GitReadError::Format { .. })));
}

#[test]
fn two_commits_with_the_same_beginning_are_ambiguous_and_a_file_does_not_count() {
    let home = TempDir::new().unwrap();
    let root = home.path();
    git(root, &["init", "-q", "-b", "main"]);
    commit(root, "a", "x");
    let tree = text(&git(root, &["rev-parse", "HEAD^{tree}"]));
    let mut names: Vec<String> = Vec::new();
    // Of some hundred commits, two have names that begin with the same four digits.
    for number in 0..1500 {
        names.push(text(&git(root, &["commit-tree", &tree, "-m", &number.to_string()])));
        names.sort();
        if names.windows(2).any(|pair| pair[0][..4] == pair[1][..4]) {
            break;
        }
    }
    let storage = open(root);
    let pair = names.windows(2).find(|pair| pair[0][..4] == pair[1][..4]).expect("two of 1500 names agree in four digits");
    assert!(matches!(storage.resolve(&pair[0][..4]), Err(RevisionError::Ambiguous { .. })));
    assert_eq!(storage.resolve(&pair[0][..20]).unwrap().hex(), pair[0]);
}

fn packs(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(".git/objects/pack")).expect("a directory of packs").flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "idx" || ending == "pack")).collect()
}

#[test]
fn a_damaged_pack_or_index_gives_an_error_or_the_right_content() {
    let home = repository();
    let root = home.path();
    git(root, &["repack", "-adfq", "--depth=50", "--window=50"]);
    git(root, &["prune-packed"]);
    let listed = text(&git(root, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]));
    let ids: Vec<ObjectId> = listed.lines().filter_map(ObjectId::parse).collect();
    for path in packs(root) {
        let whole = fs::read(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        for (number, place) in (0..whole.len()).step_by(whole.len() / 60 + 1).enumerate() {
            let mut damaged = whole.clone();
            damaged[place] ^= if number % 2 == 0 { 0xff } else { 1 << (number % 8) };
            if number % 7 == 0 {
                damaged.truncate(place);
            }
            fs::write(&path, &damaged).unwrap();
            let storage = open(root);
            for id in &ids {
                // The content of an object that is returned has the hash that is its name.
                if let Ok(object) = storage.objects.read(*id) {
                    assert_eq!(object.id(), *id);
                }
            }
            let _ = storage.resolve("HEAD~5");
            let _ = storage.objects.find_abbreviated("ab", 10);
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(assert_objects(root), ids.len());
}
