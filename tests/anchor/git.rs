//! Tests anchors in git notes. Git itself reads the notes that proctor writes, and makes the repositories that proctor
//! must read: packs, worktrees, clones.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::anchor::{GREEN, copy_state, kinds, rewrite, text, with_runs};
use crate::common::{Output, Project, fake_tool};

/// Settings for git: an identity for commits, and the name of the first branch.
const IDENTITY: [&str; 6] = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];

#[track_caller]
fn git(project: &Project, arguments: &[&str]) -> Output {
    project.command(Path::new("git"), IDENTITY.iter().chain(arguments)).success()
}

fn commit(project: &Project, message: &str) {
    git(project, &["commit", "--quiet", "--allow-empty", "-m", message]);
}

fn in_repository(runs: usize) -> Project {
    let project = with_runs(runs);
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "."]);
    commit(&project, "first");
    project
}

fn reference(project: &Project) -> String {
    format!("refs/notes/proctor/{}", project.store().project_ids()[0])
}

#[test]
fn git_shows_the_checkpoint_as_the_note_of_a_commit() {
    let project = in_repository(1);
    let said = project.proctor(["anchor", "--git"]).success();
    let head = git(&project, &["rev-parse", "HEAD"]).stdout;
    assert_eq!(said.stdout, format!("2 lines anchored · {} · a note of {head}", reference(&project)));
    let shown = git(&project, &["notes", "--ref", &reference(&project), "show", "HEAD"]);
    assert_eq!(shown.stdout, project.proctor(["key", "checkpoint"]).success().stdout);
    let logged = git(&project, &["log", "-1", "--notes=*"]).stdout;
    assert!(logged.contains(&format!("Notes ({}):", &reference(&project)["refs/notes/".len()..])), "{logged}");
    git(&project, &["fsck", "--strict", "--full"]);
    let held = project.proctor(["verify", "--git"]).success();
    assert!(held.stdout.contains(&format!(":{}: holds: the first 2 lines of ", &head[..12])), "{}", held.stdout);
    project.proctor(["anchor", "--git"]).success();
    project.proctor(["run"]).success();
    project.proctor(["anchor", "--git"]).success();
    let log = git(&project, &["log", "--format=%s", &reference(&project)]).stdout;
    assert_eq!(log.lines().count(), 3, "every anchor stays in the history of the notes: {log}");
    assert_eq!(git(&project, &["notes", "--ref", &reference(&project), "list"]).stdout.lines().count(), 1);
    assert_eq!(git(&project, &["status", "--porcelain"]).stdout, "");
    git(&project, &["fsck", "--strict", "--full"]);
}

#[test]
fn a_store_that_was_written_anew_shows_by_its_notes_and_cannot_be_anchored_over_them() {
    let project = in_repository(1);
    let saved = project.root().join("saved");
    copy_state(&project, &project.root().join("state"), &saved);
    project.proctor(["run"]).success();
    project.proctor(["anchor", "--git"]).success();
    let before = git(&project, &["rev-parse", &reference(&project)]).stdout;
    rewrite(&project, &saved);
    assert_eq!(kinds(&project, &[]), [] as [&str; 0], "without the notes nothing is wrong with it");
    assert_eq!(kinds(&project, &["--git"]), ["anchorDiffers"]);
    let refused = project.proctor(["anchor", "--git"]).status(6);
    assert!(refused.stderr.contains("it was cut or written anew"), "{}", refused.stderr);
    assert_eq!(git(&project, &["rev-parse", &reference(&project)]).stdout, before);
    assert!(!project.path().join(".git").join(reference(&project) + ".lock").exists());
}

#[test]
fn notes_that_were_pushed_show_a_rewrite_of_store_and_repository() {
    let project = in_repository(1);
    let (saved, origin) = (project.root().join("saved"), text(&project.shared("origin")));
    git(&project, &["clone", "--quiet", "--bare", ".", &origin]);
    git(&project, &["remote", "add", "origin", &origin]);
    copy_state(&project, &project.root().join("state"), &saved);
    project.proctor(["run"]).success();
    project.proctor(["anchor", "--git"]).success();
    git(&project, &["push", "--quiet", "origin", "refs/notes/proctor/*"]);
    rewrite(&project, &saved);
    git(&project, &["update-ref", "-d", &reference(&project)]);
    assert_eq!(kinds(&project, &["--git"]), ["anchorMissing"]);
    project.proctor(["anchor", "--git"]).success();
    assert_eq!(kinds(&project, &["--git"]), [] as [&str; 0], "whoever can write here can cover it up here");
    let push = ["push", "--quiet", "origin", "refs/notes/proctor/*"];
    assert_ne!(project.command(Path::new("git"), push).any_status().status, 0, "the notes do not go on from those pushed");
    git(&project, &["fetch", "--quiet", "origin", "refs/notes/proctor/*:refs/notes/origin/*"]);
    let of_origin = reference(&project).replace("/proctor/", "/origin/");
    assert_eq!(kinds(&project, &[&format!("--git={of_origin}")]), ["anchorDiffers"]);
}

#[test]
#[ignore = "long tier"]
fn notes_are_read_wherever_git_has_packed_them() {
    let project = in_repository(1);
    project.proctor(["tdd", "start"]).success();
    for number in 0..24 {
        commit(&project, &format!("commit {number}"));
        project.proctor(["tdd", "phase", if number % 2 == 0 { "GREEN" } else { "RED" }]).success();
        project.proctor(["anchor", "--git"]).success();
    }
    let anchored = || {
        let document = project.proctor(["verify", "--git", "--json"]).success().json();
        document["anchors"].as_array().expect("a list").len()
    };
    assert_eq!(anchored(), 24);
    git(&project, &["gc", "--quiet", "--aggressive", "--prune=now"]);
    assert!(!project.path().join(".git").join(reference(&project)).exists(), "it is in the list of packed references");
    let packs = git(&project, &["count-objects", "-v"]).stdout;
    assert!(packs.contains("count: 0\n") && has_deltas(&project), "{packs}");
    assert_eq!(anchored(), 24);
    git(&project, &["-c", "repack.useDeltaBaseOffset=false", "repack", "-a", "-d", "-f", "--depth=20", "--quiet"]);
    assert!(has_deltas(&project));
    assert_eq!(anchored(), 24);
    commit(&project, "one more");
    project.proctor(["anchor", "--git"]).success();
    assert_eq!(anchored(), 25);
    git(&project, &["fsck", "--strict", "--full"]);
    assert_eq!(git(&project, &["notes", "--ref", &reference(&project), "list"]).stdout.lines().count(), 25);
    let said = project.proctor(["verify", "--git"]).success();
    assert!(said.stdout.starts_with("25 checkpoints hold, the last of them:\n"), "{}", said.stdout);
}

fn has_deltas(project: &Project) -> bool {
    let packs =
        fs::read_dir(project.path().join(".git/objects/pack")).expect("there are packs").flatten().map(|entry| entry.path());
    let index = packs.into_iter().find(|path| path.extension().is_some_and(|it| it == "idx")).expect("one");
    git(project, &["verify-pack", "-v", &text(&index)]).stdout.contains("chain length = 1:")
}

#[test]
fn notes_in_directories_are_read_and_those_of_a_worktree_are_of_its_commit() {
    let project = in_repository(1);
    project.proctor(["anchor", "--git"]).success();
    let head = git(&project, &["rev-parse", "HEAD"]).stdout.trim().to_owned();
    let blob = git(&project, &["rev-parse", &format!("{}:{head}", reference(&project))]).stdout.trim().to_owned();
    let tree = |project: &Project, entry: &str| {
        let script = format!("printf '{entry}\\n' | git mktree");
        project.command(Path::new("/bin/sh"), ["-c", &script]).success().stdout.trim().to_owned()
    };
    let below = tree(&project, &format!("100644 blob {blob}\\t{}", &head[2..]));
    let above = tree(&project, &format!("040000 tree {below}\\t{}", &head[..2]));
    let made = git(&project, &["commit-tree", &above, "-m", "as git does with many notes"]).stdout.trim().to_owned();
    git(&project, &["update-ref", &reference(&project), &made]);
    assert!(project.proctor(["verify", "--git"]).success().stdout.contains(&head[..12]));
    let side = text(&project.shared("side"));
    git(&project, &["worktree", "add", "--quiet", "-b", "side", &side]);
    git(&project, &["-C", &side, "commit", "--quiet", "--allow-empty", "-m", "on the side"]);
    project.proctor(["run", &side]).success();
    let said = project.proctor(["anchor", "--git", "--project", &side]).success();
    let head = git(&project, &["-C", &side, "rev-parse", "HEAD"]).stdout;
    assert!(said.stdout.ends_with(&format!("a note of {head}")), "{}", said.stdout);
    project.proctor(["verify", "--git", "--project", &side]).success();
}

#[test]
fn nothing_that_a_repository_says_is_run() {
    let project = in_repository(1);
    let marker = project.shared("was-run");
    let script = format!("#!/bin/sh\necho run >>{}\n", marker.display());
    let hooks = project.path().join(".git/hooks");
    fs::create_dir_all(&hooks).expect("the repository is ours");
    for name in ["reference-transaction", "post-index-change", "pre-commit", "fsmonitor-watchman"] {
        fs::write(hooks.join(name), &script).expect("the repository is ours");
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    let config = format!("[core]\n\tfsmonitor = {0}\n\tsshCommand = {0}\n\tpager = {0}\n", text(&hooks.join("pre-commit")));
    let path = project.path().join(".git/config");
    let settings = fs::read_to_string(&path).expect("it is text") + &config;
    fs::write(path, settings).expect("the repository is ours");
    project.proctor(["anchor", "--git"]).success();
    project.proctor(["verify", "--git"]).success();
    assert!(!marker.exists());
}

#[test]
fn a_repository_that_cannot_have_a_note_is_told_with_what_to_do() {
    let refused = |project: &Project, why: &str| {
        let said = project.proctor(["anchor", "--git"]).status(2).stderr;
        assert!(said.contains(why) && said.contains("hint"), "{said}");
    };
    let project = with_runs(1);
    refused(&project, "is in no git repository");
    git(&project, &["init", "--quiet"]);
    refused(&project, "nothing is committed yet");
    git(&project, &["add", "."]);
    commit(&project, "first");
    let lock: PathBuf = project.path().join(".git").join(reference(&project) + ".lock");
    fs::create_dir_all(lock.parent().expect("it lies somewhere")).expect("the repository is ours");
    fs::write(&lock, "").expect("the repository is ours");
    refused(&project, "another program is changing the reference");
    assert!(lock.exists(), "another's lock stays");
    let other = Project::new().with_program(fake_tool()).toml(GREEN);
    other.proctor(["run"]).success();
    git(&other, &["init", "--quiet", "--object-format=sha256"]);
    git(&other, &["add", "."]);
    commit(&other, "first");
    refused(&other, "stores objects under SHA-256 names");
    other.proctor(["verify", "--git=refs/../HEAD"]).status(2);
    project.proctor(["verify", "--git", "--all"]).status(2);
    assert_eq!(kinds(&project, &["--git"]), ["anchorMissing"]);
}

#[test]
#[ignore = "long tier"]
fn nothing_of_a_repository_is_read_or_written_through_a_link() {
    for linked in ["objects", "refs", "refs/notes", "refs/notes/proctor", "HEAD", "config", "packed-refs", "."] {
        let project = in_repository(1);
        let git = project.path().join(".git");
        let place = if linked == "." { git.clone() } else { git.join(linked) };
        let elsewhere = project.root().join("elsewhere");
        if place.symlink_metadata().is_err() {
            // This is the person's own directory, into which the link would lead.
            fs::create_dir_all(&elsewhere).expect("it is ours");
            fs::create_dir_all(place.parent().expect("it lies in .git")).expect("the repository is ours");
        } else {
            fs::rename(&place, &elsewhere).expect("the repository is ours");
        }
        std::os::unix::fs::symlink(&elsewhere, &place).expect("the repository is ours");
        let before = entries(&elsewhere);
        let said = project.proctor(["anchor", "--git"]).status(2).stderr;
        assert!(said.contains("a symbolic link") && said.contains("hint"), "{linked}: {said}");
        assert!(said.contains(".git"), "{linked}: it names the link: {said}");
        assert_eq!(entries(&elsewhere), before, "{linked}: nothing was written behind the link");
    }
}

#[test]
fn the_note_itself_and_a_directory_of_objects_may_be_no_links_either() {
    let project = in_repository(1);
    project.proctor(["anchor", "--git"]).success();
    let place = project.path().join(".git").join(reference(&project));
    let elsewhere = project.root().join("elsewhere");
    fs::rename(&place, &elsewhere).expect("the repository is ours");
    std::os::unix::fs::symlink(&elsewhere, &place).expect("the repository is ours");
    let before = fs::read(&elsewhere).expect("it is a file");
    let said = project.proctor(["anchor", "--git"]).status(2).stderr;
    assert!(said.contains("a symbolic link"), "{said}");
    project.proctor(["verify", "--git"]).status(2);
    assert_eq!(fs::read(&elsewhere).expect("it is a file"), before);
}

#[test]
fn a_pipe_in_a_repository_is_not_waited_for() {
    for name in ["HEAD", "config", "packed-refs", "commondir"] {
        let project = in_repository(1);
        let place = project.path().join(".git").join(name);
        fs::remove_file(&place).unwrap_or_default();
        nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR).expect("it is ours");
        let said = project.proctor(["anchor", "--git"]).bound(std::time::Duration::from_secs(20)).any_status();
        // git itself ignores a `commondir` here, and so does proctor.
        assert!(name == "commondir" || said.status == 2, "{name}: {}", said.snapshot());
    }
}

/// Returns the paths of everything in a directory; empty if the path is no directory.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        found.push(entry.path());
        found.extend(entries(&entry.path()));
    }
    found.sort();
    found
}

#[test]
fn a_note_that_is_damaged_or_somebody_else_s_is_named() {
    let project = in_repository(1);
    project.proctor(["anchor", "--git"]).success();
    let head = git(&project, &["rev-parse", "HEAD"]).stdout.trim().to_owned();
    let blob = git(&project, &["rev-parse", &format!("{}:{head}", reference(&project))]).stdout.trim().to_owned();
    let object = project.path().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let genuine = fs::read(&object).expect("it is on its own");
    fs::remove_file(&object).expect("it is ours");
    assert_eq!(kinds(&project, &["--git"]), ["anchorUnreadable"], "it is gone");
    fs::write(&object, &genuine[..genuine.len() - 5]).expect("it is ours");
    assert_eq!(kinds(&project, &["--git"]), ["anchorUnreadable"], "it is cut");
    let other = git(&project, &["rev-parse", "HEAD:proctor.toml"]).stdout.trim().to_owned();
    fs::copy(project.path().join(".git/objects").join(&other[..2]).join(&other[2..]), &object).expect("it is ours");
    assert_eq!(kinds(&project, &["--git"]), ["anchorUnreadable"], "it is another object");
    fs::write(&object, &genuine).expect("it is ours");
    project.proctor(["verify", "--git"]).success();
    git(&project, &["notes", "--ref", &reference(&project), "add", "-f", "-m", "mine", "HEAD"]);
    assert_eq!(kinds(&project, &["--git"]), ["anchorUnreadable"]);
    project.proctor(["anchor", "--git"]).status(2);
}
