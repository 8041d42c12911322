//! The same program by another path is free, and a test that tries to cheat with each way is asked for.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::Project;

/// Returns a project with a Python environment, whose programs are found without a path too, and what a cheat would use. Each
/// program records its own path.
fn project(command: &str) -> Project {
    let tool = "#!/bin/sh\nexit 1\n";
    let mut project = Project::new().toml(&check(command)).file("src/a.py", "");
    for path in [".venv/bin/pytest", ".venv/bin/ruff", "other/bin/pytest", "pytest", ".venv/bin/evil"] {
        project = project.executable(path, tool);
    }
    fs::create_dir_all(project.path().join(".venv/real")).expect("the directory is ours");
    for (program, name) in [("/bin/true", "python3.98"), ("/bin/false", "python3.99")] {
        fs::copy(program, project.path().join(".venv/real").join(name)).expect("the directory is ours");
    }
    for (link, target) in [
        (".venv/bin/python", "../real/python3.98"),
        (".venv/bin/python3", "../real/python3.98"),
        (".venv/bin/python3.99", "../real/python3.99"),
        ("links/pytest", "../.venv/bin/pytest"),
        ("links/ruff", "../.venv/bin/evil"),
    ] {
        fs::create_dir_all(project.path().join("links")).expect("the directory is ours");
        symlink(target, project.path().join(link)).expect("the directory is ours");
    }
    symlink(".venv/bin", project.path().join("scripts")).expect("the directory is ours");
    let path = format!("{}/.venv/bin:/usr/bin:/bin", project.path().display());
    project.env("PATH", &path)
}

fn check(command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    format!("[[check]]\nname = \"unit\"\ncommand = {words:?}\n")
}

/// Runs `before`, then edits the command to `now`. Returns whether the edit is asked for.
#[track_caller]
fn is_asked(before: &str, now: &str) -> bool {
    let project = project("true");
    let root = project.path().display().to_string();
    let [before, now] = [before, now].map(|command| check(&command.replace("ROOT", &root)));
    project.save("proctor.toml", &before);
    project.proctor(["run"]).any_status();
    project.save("proctor.toml", &now);
    let status = project.proctor(["status"]).any_status();
    let run = project.proctor(["run"]).any_status();
    let asked = run.stderr.contains("asks for less than was approved");
    assert_eq!(run.status == 3 && asked, asked, "{}", run.snapshot());
    assert_eq!(status.stdout.contains("not approved"), asked, "status and run say the same: {}", status.snapshot());
    asked
}

#[test]
#[ignore = "long tier"]
fn the_same_program_by_another_path_is_free() {
    for (before, now) in [
        (".venv/bin/pytest", "ROOT/.venv/bin/pytest"),
        ("ROOT/.venv/bin/pytest", "./.venv/bin/pytest"),
        (".venv/bin/pytest -q", "ROOT/.venv/bin/pytest -v"),
        ("./.venv/bin/python -m pytest", ".venv/bin/python -m pytest"),
        (".venv/bin/ruff check src", "ROOT/.venv/bin/ruff check src links"),
        // The approval recorded where the plain name led.
        ("pytest", ".venv/bin/pytest"),
        ("pytest -q", "ROOT/.venv/bin/pytest -v"),
    ] {
        assert!(!is_asked(before, now), "{before} -> {now}");
    }
}

#[test]
#[ignore = "long tier"]
fn another_program_or_import_path_behind_a_similar_path_is_asked_for() {
    for (before, now) in [
        // A script of the project with the name of the tool, and the tool of another environment.
        ("pytest", "./pytest"),
        (".venv/bin/pytest", "other/bin/pytest"),
        // Where a plain name leads now depends on the search path of whoever runs proctor now.
        (".venv/bin/pytest", "pytest"),
        ("pytest", "other/bin/pytest"),
        ("python -m pytest", "python3 -m pytest"),
        (".venv/bin/python -m pytest", ".venv/bin/python3 -m pytest"),
        // Links: to another program, to the same file under another path, and a directory that is a link. A Python
        // program finds its packages by its path.
        ("ruff check src", "links/ruff check src"),
        ("pytest", "links/pytest"),
        (".venv/bin/pytest", "scripts/pytest"),
        (".venv/bin/pytest", "links/../.venv/bin/pytest"),
        // `python -m` puts the working directory first, where `pytest` and `src` lie.
        ("pytest", "python -m pytest"),
        ("python -m pytest", "pytest"),
        // Another interpreter in the same directory.
        ("python -m pytest", "python3.99 -m pytest"),
        // Another path and a word that is not neutral.
        ("pytest", ".venv/bin/pytest -k fast"),
        ("pytest", ".venv/bin/pytest -qq"),
        // Programs that are not there.
        ("pytest", "gone/bin/pytest"),
    ] {
        assert!(is_asked(before, now), "{before} -> {now}");
    }
}

#[test]
fn the_path_of_a_plain_name_counts_only_as_the_approval_recorded_it() {
    let pytest = ".venv/bin/pytest";
    let other = "#!/bin/sh\nexit 0\n";
    // Another program lies at the path by now.
    let project = project("pytest");
    project.proctor(["run"]).any_status();
    let project = project.executable(pytest, other);
    project.save("proctor.toml", &check(pytest));
    assert!(project.proctor(["run"]).status(3).stderr.contains("than was approved"));
    // A later search path leads elsewhere, and a further edit makes an approval without a person.
    let project = self::project("pytest").executable("planted/pytest", other);
    project.proctor(["run"]).any_status();
    let path = format!("{}/planted:/usr/bin:/bin", project.path().display());
    let project = project.env("PATH", &path);
    project.save("proctor.toml", &(check("pytest") + "[[check]]\nname = \"more\"\ncommand = [\"true\"]\n"));
    project.proctor(["run"]).any_status();
    project.save("proctor.toml", &(check("planted/pytest") + "[[check]]\nname = \"more\"\ncommand = [\"true\"]\n"));
    assert!(project.proctor(["run"]).status(3).stderr.contains("than was approved"));
}

#[test]
fn another_path_is_asked_for_where_the_project_itself_is_worked_on_or_a_part_of_the_check_differs() {
    for (before, now) in [
        (
            "[[prerequisite]]\nname = \"make\"\ncommand = [\"true\"]\n",
            "[[prerequisite]]\nname = \"make\"\ncommand = [\"/usr/bin/true\"]\n",
        ),
        (
            "[[check]]\nname = \"more\"\ncommand = [\"true\"]\nsnapshot = \"off\"\n",
            "[[check]]\nname = \"more\"\ncommand = [\"/usr/bin/true\"]\nsnapshot = \"off\"\n",
        ),
        (
            "[[check]]\nname = \"more\"\ncommand = [\"pytest\"]\n",
            "[[check]]\nname = \"more\"\ncommand = [\".venv/bin/pytest\"]\nenvironment = { PATH = \"/usr/bin\" }\n",
        ),
        (
            "[[check]]\nname = \"more\"\ncommand = [\"pytest\"]\n",
            "[[check]]\nname = \"more\"\ncommand = [\".venv/bin/pytest\"]\ndirectory = \"src\"\n",
        ),
    ] {
        let project = project("true");
        project.save("proctor.toml", &(check("true") + before));
        project.proctor(["run"]).any_status();
        project.save("proctor.toml", &(check("true") + now));
        let run = project.proctor(["run"]).status(3);
        assert!(run.stderr.contains("asks for less than was approved"), "{before} -> {now}: {}", run.snapshot());
    }
}
