//! Tests checks that run in the project itself: what counts as a move of the tree (S6). Content decides, and directories
//! are compared too.

use std::fs;

use crate::common::Project;
use crate::run::snapshot_effects::git;

/// A project whose one check is this shell script, without a snapshot.
fn script(script: &str) -> Project {
    let script = serde_json::to_string(script).expect("a string can be written");
    let toml = format!(
        "[sandbox]\nsnapshot = \"off\"\n[[check]]\nname = \"check\"\ncommand = [\"fake-tool\", \"--script\", {script}]\n"
    );
    Project::new().toml(&toml).file("a.txt", "one\n").file("src/b.txt", "two\n").file("src/deep/c.txt", "three\n")
}

#[test]
fn times_and_equal_bytes_move_nothing() {
    for what in [
        "touch -d @1 a.txt src/b.txt && touch a.txt",
        "cp a.txt /tmp/a && sleep 0.05 && cat /tmp/a > a.txt",
        "cp a.txt .tox && sleep 0.05 && mv .tox a.txt",
        "chmod 600 a.txt && chmod 644 a.txt",
        "mkdir -p src/__pycache__ .pytest_cache && echo x > src/__pycache__/b.pyc && sleep 0.05 && rm -r src/__pycache__",
        "echo x > src/new.txt && sleep 0.05 && rm src/new.txt",
    ] {
        let project = script(what);
        let output = project.proctor(["run"]).success();
        assert!(output.stdout.contains("PASSED"), "{what}: {}", output.snapshot());
        let runs = project.store().committed_runs();
        let statuses: Vec<&str> = runs.iter().filter_map(|run| run["overallStatus"].as_str()).collect();
        assert_eq!(statuses, ["SUCCESS"], "{what}");
        assert_eq!(project.proctor(["status"]).success().stdout.matches("fresh PASS").count(), 1, "{what}");
    }
}

#[test]
fn a_directory_that_was_exchanged_during_the_run_moved_although_every_file_is_as_it_was() {
    for (what, moved) in [
        // The check reads another directory than the one that was digested.
        (
            "mkdir .nox && echo fake > .nox/b.txt && mv src .tox && mv .nox src && grep -q fake src/b.txt && mv src .nox && mv .tox src && rm -r .nox",
            "src",
        ),
        ("mv src/deep .tox && sleep 0.05 && mv .tox src/deep", "src/deep"),
        ("cp -r src .tox && rm -r src && mv .tox src", "src"),
    ] {
        let project = script(what);
        let output = project.proctor(["run"]).status(5);
        assert!(output.stdout.contains(&format!("MOVED · {moved}")), "{what}: {}", output.snapshot());
        let report = project.proctor(["show", "--json"]).success().json();
        assert_eq!(report["tree"]["before"], report["tree"]["after"], "{what}");
        assert!(report["tree"]["moved"].as_array().expect("a list").contains(&moved.into()), "{what}: {}", report["tree"]);
    }
}

#[test]
fn other_content_is_a_move() {
    for what in
        ["echo other > a.txt", "rm src/b.txt", "echo x > src/new.txt", "chmod 755 a.txt", "rm a.txt && ln -s src/b.txt a.txt"]
    {
        let project = script(&format!("{what}; date +%N > src/b.txt"));
        let output = project.proctor(["run"]).status(5);
        assert!(output.stdout.contains("MOVED"), "{what}: {}", output.snapshot());
    }
}

/// A rule does not take a file that git tracks out of the tree, so the advice to ignore it would not help.
#[test]
fn the_hint_after_a_move_proposes_to_ignore_only_what_git_does_not_track() {
    let project = script("date +%N | tee a.txt src/b.txt made.txt");
    git(&project.path(), &["init", "-q"]);
    git(&project.path(), &["add", "a.txt"]);
    let moved = project.proctor(["run"]).status(5);
    let tracked = "hint: git tracks a.txt, so `ignore` does not take it out of the tree: if the checks write this themselves, let the \
         checks run on a snapshot (`proctor doctor` says what that needs) or write elsewhere, or ignore it after `git rm --cached`";
    let ignored =
        "hint: if the checks write this themselves, add to `[watch]` in proctor.toml: ignore = [\"/made.txt\", \"/src/b.txt\"]";
    assert!(moved.stderr.contains(tracked) && moved.stderr.contains(ignored), "{}", moved.snapshot());
    // Both pieces of advice help, and to ignore the tracked file alone does not.
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    project.save("proctor.toml", &format!("{toml}[watch]\nignore = [\"/a.txt\", \"/made.txt\", \"/src/b.txt\"]\n"));
    project.approve();
    let moved = project.proctor(["run"]).status(5);
    assert!(moved.stderr.contains(tracked) && !moved.stderr.contains("add to `[watch]`"), "{}", moved.snapshot());
    git(&project.path(), &["rm", "-q", "-f", "--cached", "a.txt"]);
    // The file leaves the tree only now.
    project.approve();
    project.proctor(["run"]).success();
}

#[test]
fn a_file_that_was_changed_and_changed_back_is_not_seen_in_place_and_harmless_on_a_snapshot() {
    let tamper = "cp a.txt /tmp/a && echo other > a.txt && sleep 0.05 && cat /tmp/a > a.txt";
    let in_place = script(tamper);
    in_place.proctor(["run"]).success();
    assert_eq!(fs::read_to_string(in_place.path().join("a.txt")).expect("a file"), "one\n");
}
