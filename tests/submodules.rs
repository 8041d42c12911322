//! Commits with submodules: the digest is that of a clean checkout with its submodules, wherever their objects are kept. Where these are
//! not here, or a rule excludes a file, the commit is refused with a word of its own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proctor_tree::ignore::MatcherSettings;
use tempfile::TempDir;

use crate::commits::{assert_same_digest, commit_all, digest_of_commit, matcher_of, word_of_commit, write};
use crate::common::Project;
use crate::gate;
use crate::tracked::git;

/// Makes a repository `outer` with the submodule `lib/middle`, which has the submodule `in ner`. The names of the submodules in
/// `.gitmodules` are not their paths.
fn nested(place: &Path) -> PathBuf {
    for name in ["inner", "middle", "outer"] {
        fs::create_dir(place.join(name)).expect("a writable directory");
        git(&place.join(name), &["init", "-q", "-b", "main"]);
    }
    let [inner, middle, outer] = ["inner", "middle", "outer"].map(|name| place.join(name));
    write(&inner, b"deep/i.txt", b"inner\n");
    commit_all(&inner);
    write(&middle, b"m.txt", b"middle\n");
    write(&middle, b".gitignore", b"*.log\n");
    write(&middle, b"empty/.gitkeep", b"");
    git(&middle, &["submodule", "--quiet", "add", "--name", "not/the/path", inner.to_str().expect("text"), "in ner"]);
    commit_all(&middle);
    write(&outer, b"o.txt", b"outer\n");
    write(&outer, b".gitignore", b"/o.txt\n*.tmp\n!lib/\n");
    git(&outer, &["submodule", "--quiet", "add", "--name", "other", middle.to_str().expect("text"), "lib/middle"]);
    git(&outer, &["submodule", "--quiet", "update", "--init", "--recursive"]);
    commit_all(&outer);
    outer
}

#[test]
fn the_digest_has_the_files_of_submodules_wherever_their_objects_are_kept() {
    let place = TempDir::new().unwrap();
    let outer = nested(place.path());
    let plain = matcher_of(&MatcherSettings::default());
    assert_eq!(assert_same_digest(&outer, "", &plain, &["--recurse-submodules"]), 8);
    assert_eq!(assert_same_digest(&outer, "lib", &plain, &["--recurse-submodules"]), 5);
    let digest = digest_of_commit(&outer, &plain);
    // Nothing is checked out, and the objects are still in `.git/modules`.
    git(&outer, &["submodule", "--quiet", "deinit", "--all", "--force"]);
    assert_eq!(fs::read_dir(outer.join("lib/middle")).unwrap().count(), 0);
    assert_eq!(digest_of_commit(&outer, &plain), digest);
    // Another commit is checked out, also packed: the commit says which one counts.
    git(&outer, &["submodule", "--quiet", "update", "--init", "--recursive"]);
    let middle = outer.join("lib/middle");
    write(&middle, b"m.txt", b"another\n");
    commit_all(&middle);
    git(&middle, &["gc", "--quiet"]);
    assert_eq!(digest_of_commit(&outer, &plain), digest);
    commit_all(&outer);
    let later = digest_of_commit(&outer, &plain);
    assert_ne!(later, digest);
    // A linked worktree keeps submodules of its own.
    let worktree = place.path().join("worktree");
    git(&outer, &["worktree", "add", "-q", worktree.to_str().unwrap(), "HEAD~1"]);
    assert_eq!(digest_of_commit(&worktree, &plain), digest);
    // A clone without them says so, and says the same of one that lacks the nested one only.
    git(place.path(), &["clone", "-q", outer.to_str().unwrap(), "clone"]);
    let clone = place.path().join("clone");
    assert_eq!(word_of_commit(&clone, &plain), Some("submodule"));
    git(&clone, &["checkout", "-q", "HEAD~1"]);
    git(&clone, &["submodule", "--quiet", "update", "--init"]);
    assert_eq!(word_of_commit(&clone, &plain), Some("submodule"), "the nested one is missing");
    git(&clone, &["submodule", "--quiet", "update", "--init", "--recursive"]);
    assert_eq!(digest_of_commit(&clone, &plain), digest);
    // What the submodule's `.git` leads to may be any repository: objects are what their hashes say, or they are missing.
    fs::remove_dir_all(clone.join(".git/modules")).unwrap();
    fs::write(clone.join("lib/middle/.git"), format!("gitdir: {}/.git\n", outer.display())).unwrap();
    assert_eq!(word_of_commit(&clone, &plain), Some("submodule"));
    fs::remove_file(clone.join("lib/middle/.git")).unwrap();
    symlink(outer.join(".git/modules/other"), clone.join("lib/middle/.git")).unwrap();
    assert_eq!(word_of_commit(&clone, &plain), Some("submodule"), "no link is followed");
    // A repository within the working tree, as git made it before it had `modules`.
    fs::remove_file(clone.join("lib/middle/.git")).unwrap();
    git(place.path(), &["clone", "-q", "--recurse-submodules", middle.to_str().unwrap(), "clone/lib/old"]);
    fs::rename(clone.join("lib/old/.git"), clone.join("lib/middle/.git")).unwrap();
    assert_eq!(digest_of_commit(&clone, &plain), digest);
}

#[test]
#[ignore = "long tier"]
fn what_a_rule_excludes_in_a_submodule_is_refused_because_a_checkout_does_not_have_it_in_its_tree() {
    for (outer_rules, inner_rules, include, expected) in [
        ("", "", &[][..], None),
        ("/o.txt\nbuild/\n", "", &[], None),
        ("*.txt\n", "", &[], Some("left-out")),
        ("*.txt\n", "!*.txt\n", &[], None),
        ("lib/\n", "", &[], Some("left-out")),
        ("/lib/middle\n", "", &[], Some("left-out")),
        ("lib/\n", "", &["lib/**"], None),
        ("", "m.txt\n", &[], Some("left-out")),
        ("", "/deep/\n", &[], Some("left-out")),
        ("", "m.txt\n", &["m.txt"], None),
        ("", ".gitignore\n", &[], Some("left-out")),
    ] {
        let place = TempDir::new().unwrap();
        for name in ["middle", "outer"] {
            fs::create_dir(place.path().join(name)).unwrap();
            git(&place.path().join(name), &["init", "-q", "-b", "main"]);
        }
        let [middle, outer] = ["middle", "outer"].map(|name| place.path().join(name));
        write(&middle, b"m.txt", b"middle\n");
        write(&middle, b"deep/d", b"deep\n");
        write(&middle, b".gitignore", inner_rules.as_bytes());
        commit_all(&middle);
        write(&outer, b"o.txt", b"outer\n");
        write(&outer, b".gitignore", outer_rules.as_bytes());
        git(&outer, &["submodule", "--quiet", "add", "--force", middle.to_str().unwrap(), "lib/middle"]);
        commit_all(&outer);
        let include = include.iter().map(|pattern: &&str| (*pattern).to_owned()).collect();
        let matcher = matcher_of(&MatcherSettings { include, ..MatcherSettings::default() });
        assert_eq!(word_of_commit(&outer, &matcher), expected, "{outer_rules:?} {inner_rules:?}");
        if expected.is_none() {
            assert_same_digest(&outer, "", &matcher, &["--recurse-submodules"]);
        }
    }
}

#[test]
fn attributes_hold_in_the_repository_that_has_them() {
    let place = TempDir::new().unwrap();
    let outer = nested(place.path());
    let plain = matcher_of(&MatcherSettings::default());
    // Those around the submodule say nothing of its files.
    write(&outer, b".gitattributes", b"m.txt eol=crlf\nlib/middle/m.txt eol=crlf\n");
    commit_all(&outer);
    assert_same_digest(&outer, "", &plain, &["--recurse-submodules"]);
    let info = outer.join(".git/modules/other/info");
    fs::create_dir_all(&info).unwrap();
    fs::write(info.join("attributes"), "/m.txt eol=crlf\n").unwrap();
    assert_eq!(word_of_commit(&outer, &plain), Some("eol"));
    fs::remove_file(info.join("attributes")).unwrap();
    let middle = outer.join("lib/middle");
    write(&middle, b".gitattributes", b"m.txt eol=crlf\n");
    commit_all(&middle);
    assert_eq!(word_of_commit(&outer, &plain), None, "the commit names the one before");
    commit_all(&outer);
    assert_eq!(word_of_commit(&outer, &plain), Some("eol"));
}

#[test]
fn a_commit_that_stands_for_any_number_of_submodules_is_refused() {
    let place = TempDir::new().unwrap();
    let root = place.path().join("p");
    fs::create_dir(&root).unwrap();
    git(&root, &["init", "-q", "-b", "main"]);
    // Each level has ten submodules with the commit of the level below, and all of them are in one repository.
    let object = |kind: &str, text: &[u8]| {
        fs::write(place.path().join("object"), text).unwrap();
        let id = git(&root, &["hash-object", "-w", "--literally", "-t", kind, "../object"]);
        String::from_utf8(id).unwrap().trim().to_owned()
    };
    let bytes = |id: &str| -> Vec<u8> { (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect() };
    let modules: String = (0..10).map(|n| format!("[submodule \"m\"]\n\tpath = {n}\n")).collect();
    let modules = bytes(&object("blob", modules.as_bytes()));
    let mut commit: Option<String> = None;
    for _ in 0..5 {
        let mut tree = [b"100644 .gitmodules\0", &modules[..]].concat();
        for n in 0..10 {
            let Some(below) = &commit else { break };
            tree.extend([format!("160000 {n}\0").as_bytes(), &bytes(below)].concat());
        }
        let tree = object("tree", &tree);
        let text = format!("tree {tree}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n");
        commit = Some(object("commit", text.as_bytes()));
    }
    git(&root, &["update-ref", "HEAD", &commit.unwrap()]);
    // The repository is its own submodule, and that of each of its submodules.
    let mut at = root.join(".git");
    for _ in 0..6 {
        let below = at.join("modules/m");
        fs::create_dir_all(below.join("refs")).unwrap();
        fs::create_dir_all(below.join("objects/info")).unwrap();
        fs::write(below.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(below.join("objects/info/alternates"), format!("{}\n", root.join(".git/objects").display())).unwrap();
        at = below;
    }
    assert_eq!(word_of_commit(&root, &matcher_of(&MatcherSettings::default())), Some("too-many-submodules"));
}

/// Makes a project with a check that reads a file of its submodule `lib`.
fn project_with_submodule(place: &Path) -> Project {
    let library = place.join("library");
    fs::create_dir(&library).expect("a writable directory");
    git(&library, &["init", "-q", "-b", "main"]);
    write(&library, b"part.txt", b"good\n");
    commit_all(&library);
    let project = Project::new().toml("[[check]]\nname = \"good\"\ncommand = [\"grep\", \"-q\", \"good\", \"lib/part.txt\"]\n");
    gate::git(&project, &["init", "--quiet"]);
    gate::git(
        &project,
        &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.to_str().expect("text"), "lib"],
    );
    gate::commit(&project, "shop.txt", "a shop\n");
    project
}

#[test]
fn a_verdict_counts_for_the_commit_of_the_submodule_that_was_checked_out_and_for_no_other() {
    let place = TempDir::new().unwrap();
    let project = project_with_submodule(place.path());
    gate::gate(&project, &[], 5);
    project.proctor(["run"]).success();
    let proved = gate::gate(&project, &[], 0);
    assert_eq!(proved["treeDigest"].as_str(), Some(project.proctor(["generate", "tree"]).success().stdout.trim()));
    // Another commit is checked out in the submodule, and its content was tested, before a commit names it.
    let lib = project.path().join("lib");
    write(&lib, b"part.txt", b"bad\n");
    commit_all(&lib);
    project.proctor(["run"]).failure();
    gate::gate(&project, &[], 0);
    gate::commit(&project, "shop.txt", "a shop\n ");
    gate::git(&project, &["reset", "--quiet", "--soft", "HEAD~1"]);
    project.save("shop.txt", "a shop\n");
    gate::git(&project, &["add", "."]);
    gate::git(&project, &["commit", "--quiet", "-m", "names the bad one"]);
    gate::gate(&project, &[], 1);
    gate::gate(&project, &["HEAD~1"], 0);
    // The commit names a submodule's commit that is not checked out: what was tested is not what it has.
    write(&lib, b"part.txt", b"good again\n");
    commit_all(&lib);
    gate::git(&project, &["commit", "--quiet", "-am", "names a third one"]);
    git(&lib, &["checkout", "--quiet", "HEAD~2"]);
    project.proctor(["run"]).success();
    gate::gate(&project, &[], 5);
    // Nothing is checked out: the run saw no file, and proves nothing of the commit.
    let run = project.proctor(["gate", "--run", "--json"]).success().json();
    assert_eq!(run["state"], "proved", "the checkout of the commit has the submodule's files: {run}");
    gate::git(&project, &["submodule", "--quiet", "deinit", "--all", "--force"]);
    gate::gate(&project, &[], 0);
    let tree = project.proctor(["generate", "tree"]).success().stdout;
    assert_ne!(run["treeDigest"].as_str(), Some(tree.trim()));
}

#[test]
fn a_commit_with_a_submodule_is_attested_and_proved_in_a_clone_that_has_the_submodule() {
    let place = TempDir::new().unwrap();
    let project = project_with_submodule(place.path());
    project.proctor(["run"]).success();
    let signer = project.proctor(["key", "export", "--ssh"]).success().stdout;
    let signers = place.path().join("signers");
    fs::write(&signers, signer).unwrap();
    project.proctor(["attest"]).success();
    let clone = Project::new();
    let from = project.path();
    let allow = ["-c", "protocol.file.allow=always"];
    gate::git(&clone, &["init", "--quiet"]);
    gate::git(&clone, &["fetch", "--quiet", from.to_str().unwrap(), "HEAD", "+refs/notes/*:refs/notes/*"]);
    gate::git(&clone, &["checkout", "--quiet", "--force", "-B", "main", "FETCH_HEAD"]);
    let asked = ["--from-notes", "--signers", signers.to_str().unwrap()];
    let refused = gate::gate(&clone, &asked, 3);
    assert_eq!(refused["refusal"]["word"], "submodule", "{refused}");
    let said = clone.proctor(["gate"]).status(3);
    assert!(said.stdout.contains("git submodule update --init --recursive"), "{}", said.stdout);
    gate::git(&clone, &[allow[0], allow[1], "submodule", "--quiet", "update", "--init"]);
    gate::gate(&clone, &asked, 0);
}
