//! Tests `proctor why` through the program: it names the rule that decides about a path, from whichever directory the
//! command is run.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::Project;

#[test]
fn the_rule_that_keeps_a_path_out_is_named_with_its_file_and_line() {
    let project = Project::new().toml("[watch]\ninclude = [\"/build/kept.json\"]\n").file(".gitignore", "*.log\nbuild/\n");
    let project = project.file("src/.ignore", "generated.py\n").file("src/a.py", "").file("src/generated.py", "");
    let said = |path: &str| project.proctor(["why", path]).success().stdout;
    assert!(said("src/a.py").starts_with("`src/a.py` belongs to the tree: no rule excludes it\n"));
    assert!(said("src/generated.py").contains("`generated.py` (src/.ignore:1) excludes `src/generated.py`"));
    assert!(said("build/x").contains("`build/` (.gitignore:2) excludes `build`"));
    assert!(said("build/kept.json").contains("`watch.include` in proctor.toml, pattern 1"));
    assert!(said("src/__pycache__/a.pyc").contains("is never part of a tree (Python's compiled modules)"));
    assert!(said("evidence").starts_with("`evidence` belongs to the tree: no rule excludes it"));
    let absolute = project.path().join("src/a.py");
    assert!(said(&absolute.display().to_string()).starts_with("`src/a.py` belongs"));
}

#[test]
fn the_document_says_the_same_and_whether_the_path_is_there() {
    let project = Project::new().file(".gitignore", "*.log\n").file("a.log", "");
    let document = project.proctor(["why", "a.log", "--json"]).success().json();
    assert_eq!((&document["schema"], &document["belongs"]), (&"proctor-why-v1".into(), &false.into()));
    assert_eq!((&document["exists"], &document["decidedAt"]), (&true.into(), &"a.log".into()));
    let rule = &document["rule"];
    assert_eq!((&rule["source"], &rule["line"], &rule["pattern"]), (&"rulesFile".into(), &1.into(), &"*.log".into()));
    let document = project.proctor(["why", "nothing", "--json"]).success().json();
    assert_eq!((&document["exists"], &document["belongs"], &document["rule"]), (&false.into(), &true.into(), &().into()));
}

#[test]
fn the_class_by_which_a_snapshot_shows_an_ignored_path_is_named() {
    let project = Project::new()
        .file(".gitignore", "/env/\n.env\n")
        .file("env/pyvenv.cfg", "")
        .file("env/lib/a.py", "")
        .file("own/pyvenv.cfg", "")
        .file("own/.gitignore", "*\n")
        .file("own/lib/a.py", "");
    for (path, class) in [
        ("env/lib/a.py", "environment"),
        ("own/lib/a.py", "environment"),
        (".env", "input"),
        (".mypy_cache/a", "cache"),
        ("a.pyc", "output"),
    ] {
        assert_eq!(project.proctor(["why", path, "--json"]).success().json()["class"], class, "{path}");
    }
    assert!(project.proctor(["why", "a.py", "--json"]).success().json()["class"].is_null());
    let said = project.proctor(["why", ".env"]).success().stdout;
    assert!(said.contains("\non a snapshot it is an ignored input: checks see a copy"), "{said}");
    assert!(!said.contains("no verdict says anything"), "{said}");
}

#[test]
fn a_project_that_holds_proctors_own_directory_is_not_moved_by_it() {
    let project = Project::new().toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    let state = project.path().join(".local/state");
    let project = project.env("XDG_STATE_HOME", state.to_str().expect("a plain path"));
    for _ in 0..2 {
        let output = project.proctor(["run"]).success();
        assert!(output.stdout.contains("PASSED"), "{}", output.snapshot());
    }
    let said = project.proctor(["why", ".local/state/proctor/evidence"]).success().stdout;
    assert!(said.contains("the directory in which proctor keeps its evidence"), "{said}");
    project.proctor(["why", ".local/state"]).success();
}

#[test]
fn a_path_of_no_project_is_refused_and_links_are_not_followed() {
    let project = Project::new().file("d/a", "");
    project.proctor(["why", "/etc/passwd"]).status(2);
    symlink("/etc", project.path().join("away")).expect("a link");
    assert!(project.proctor(["why", "away"]).success().stdout.starts_with("`away` belongs"));
    project.proctor(["why", "away/passwd"]).status(2);
    fs::remove_file(project.path().join("away")).expect("our link");
}

#[test]
fn only_the_link_that_proctor_made_is_left_out_and_not_what_else_has_its_name() {
    let project = Project::new().toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    let said = || project.proctor(["why", "evidence"]).success().stdout;
    project.proctor(["run"]).success();
    assert!(said().starts_with("`evidence` does not belong to the tree: `evidence` is proctor's own link to the evidence\n"));
    assert_eq!(project.proctor(["why", "evidence", "--json"]).success().json()["rule"]["source"], "evidenceLink");
    let link = project.path().join("evidence");
    fs::remove_file(&link).expect("a link");
    symlink("elsewhere", &link).expect("a link");
    assert!(said().starts_with("`evidence` belongs to the tree: no rule excludes it\n"));
    fs::remove_file(&link).expect("a link");
    fs::create_dir(&link).expect("a directory");
    assert!(said().starts_with("`evidence` belongs to the tree: no rule excludes it\n"));
}
