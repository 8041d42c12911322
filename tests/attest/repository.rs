//! The repository that `proctor attest` writes to: nothing in it is followed, waited for or run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{note_of, tested};

const CHECK: &str = "[[check]]\nname = \"says\"\ncommand = \"fake-tool --stdout said\"\n";

/// Returns the paths of everything in a directory; empty if the path is no directory.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = read.flatten().map(|entry| entry.path()).collect();
    paths.extend(paths.clone().iter().flat_map(|path| entries(path)));
    paths.sort();
    paths
}

#[test]
fn nothing_of_a_repository_is_read_or_written_through_a_link() {
    for linked in ["objects", "refs", "refs/notes", "HEAD", "packed-refs", "."] {
        let (project, _) = tested(CHECK);
        let git = project.path().join(".git");
        let place = if linked == "." { git.clone() } else { git.join(linked) };
        let elsewhere = project.root().join("elsewhere");
        if place.symlink_metadata().is_err() {
            // This is the person's own directory, into which the link would lead.
            fs::create_dir_all(&elsewhere).expect("it is ours");
        } else {
            fs::rename(&place, &elsewhere).expect("the repository is ours");
        }
        std::os::unix::fs::symlink(&elsewhere, &place).expect("the repository is ours");
        let before = entries(&elsewhere);
        let said = project.proctor(["attest"]).any_status();
        assert_ne!(said.status, 0, "{linked}: {}", said.snapshot());
        assert!(said.stderr.contains("hint"), "{linked}: {}", said.stderr);
        assert_eq!(entries(&elsewhere), before, "{linked}: nothing was written behind the link");
    }
}

#[test]
fn the_reference_of_the_notes_may_be_no_link_either() {
    let (project, _) = tested(CHECK);
    project.proctor(["attest"]).success();
    let place = project.path().join(".git/refs/notes/proctor-attest");
    let elsewhere = project.root().join("elsewhere");
    fs::rename(&place, &elsewhere).expect("the repository is ours");
    std::os::unix::fs::symlink(&elsewhere, &place).expect("the repository is ours");
    let before = fs::read(&elsewhere).expect("it is a file");
    let said = project.proctor(["attest"]).status(2).stderr;
    assert!(said.contains("a symbolic link"), "{said}");
    assert_eq!(fs::read(&elsewhere).expect("it is a file"), before);
}

#[test]
fn a_pipe_in_a_repository_is_not_waited_for() {
    for name in ["HEAD", "packed-refs", "refs/notes/proctor-attest"] {
        let (project, _) = tested(CHECK);
        let place = project.path().join(".git").join(name);
        fs::create_dir_all(place.parent().expect("it lies in .git")).expect("the repository is ours");
        fs::remove_file(&place).unwrap_or_default();
        nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR).expect("it is ours");
        let said = project.proctor(["attest"]).bound(Duration::from_secs(20)).any_status();
        assert_ne!(said.status, 0, "{name}: {}", said.snapshot());
    }
}

#[test]
fn no_program_that_a_repository_names_is_run() {
    let (project, _) = tested(CHECK);
    let trap = project.root().join("trap");
    project.save("trap.sh", &format!("#!/bin/sh\ntouch '{}'\n", trap.display()));
    fs::set_permissions(project.path().join("trap.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let program = project.path().join("trap.sh");
    let hooks = project.path().join(".git/hooks");
    fs::create_dir_all(&hooks).expect("the repository is ours");
    for hook in ["post-commit", "reference-transaction", "pre-commit", "post-rewrite"] {
        fs::copy(&program, hooks.join(hook)).expect("the repository is ours");
    }
    let config = project.path().join(".git/config");
    let text = fs::read_to_string(&config).expect("a repository has one");
    let program = program.display();
    fs::write(&config, format!("{text}[core]\n\tfsmonitor = {program}\n\teditor = {program}\n[gpg]\n\tprogram = {program}\n"))
        .expect("the repository is ours");
    project.proctor(["attest"]).success();
    assert!(!trap.exists(), "a program of the repository was run");
    assert!(note_of(&project).contains("payload"));
}
