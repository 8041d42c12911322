//! What `proctor gate` reads from the records of runs beside the texts of both commits: tests that are not collected or not run any more, and
//! tests that passed and failed on one content.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::{Project, python_plain};
use crate::gate::{commit, gate, git};
use crate::gate_hostile::with_origin;
use crate::history::End::{Fails, Passes, Skips};
use crate::history::{End, project, run};

/// The tests of a run, each with its end.
fn tests<'t>(of: &[(&'t str, End)]) -> Vec<(&'t str, &'t str, End)> {
    of.iter().map(|(name, end)| (*name, "", *end)).collect()
}

/// A repository whose trusted commit was run with these tests.
fn trusted_with(of: &[(&str, End)]) -> Project {
    let project = project();
    git(&project, &["init", "--quiet"]);
    // The check stands for pytest and reads its report elsewhere, which no digest names.
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    commit(&project, "proctor.toml", &format!("{toml}[gate]\nworld = \"open\"\n"));
    run(&project, &tests(of));
    with_origin(&project);
    project
}

fn asked(document: &Value) -> Vec<String> {
    let changes = document["changes"].as_array().expect("a list").iter();
    let asked = changes.filter(|change| change["isAsked"] == true);
    asked.map(|change| format!("{} {}", change["kind"], change["what"])).collect()
}

#[test]
fn tests_that_ran_on_the_trusted_content_are_asked_about_where_a_run_does_not_collect_or_run_them() {
    let project =
        trusted_with(&[("test_a", Passes), ("test_b", Passes), ("test_c[1]", Passes), ("test_d", Passes), ("test_e", Skips)]);
    // The code alone changed, and a setting somewhere leaves tests out.
    commit(&project, "a.txt", "two\n");
    run(&project, &tests(&[("test_a", Passes), ("test_b", Skips), ("test_c[2]", Passes)]));
    let found = asked(&gate(&project, &[], 3));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].contains("test-gone") && found[0].contains("test_d") && found[0].contains("is not collected any more"),
        "{found:?}"
    );
    assert!(found[1].contains("test-skipped") && found[1].contains("test_b"), "{found:?}");
    let told = project.proctor(["gate"]).status(3).stdout;
    assert!(told.contains("asks for less than the trusted one: a test is gone from"), "{told}");
    // All are run again, one more too.
    let all = [("test_a", Passes), ("test_b", Passes), ("test_c[2]", Passes), ("test_d", Passes), ("test_f", Skips)];
    run(&project, &tests(&all));
    assert_eq!(asked(&gate(&project, &[], 0)), [""; 0]);
}

#[test]
fn where_the_trusted_content_was_not_run_that_of_a_commit_before_it_stands_for_it_unless_something_was_weakened_since() {
    let project = trusted_with(&[("test_a", Passes), ("test_b", Passes)]);
    commit(&project, "a.txt", "two\n");
    git(&project, &["push", "--quiet", "origin", "HEAD:main"]);
    commit(&project, "a.txt", "three\n");
    run(&project, &tests(&[("test_a", Passes)]));
    assert_eq!(asked(&gate(&project, &[], 3)).len(), 1);
    // Whoever keeps the trusted branch took a weaker setting, and with it fewer tests.
    git(&project, &["switch", "--quiet", "-c", "weaker", "origin/main"]);
    commit(&project, "pytest.ini", "[pytest]\naddopts = --deselect test_b\n");
    git(&project, &["push", "--quiet", "origin", "HEAD:main"]);
    commit(&project, "a.txt", "four\n");
    run(&project, &tests(&[("test_a", Passes)]));
    assert_eq!(asked(&gate(&project, &[], 0)), [""; 0]);
}

#[test]
fn a_test_that_failed_and_passed_on_one_content_has_to_pass_in_a_row_before_the_commit_is_proved() {
    let project = trusted_with(&[("test_a", Passes), ("test_b", Passes)]);
    commit(&project, "a.txt", "two\n");
    run(&project, &tests(&[("test_a", Fails), ("test_b", Passes)]));
    gate(&project, &[], 1);
    let passes = || run(&project, &tests(&[("test_a", Passes), ("test_b", Passes)]));
    passes();
    let refused = gate(&project, &[], 3);
    assert_eq!(refused["required"][0]["words"], json!(["flaky"]), "{refused}");
    let flipped = &refused["flipped"][0];
    assert_eq!(
        (&flipped["check"], &flipped["failed"], &flipped["passed"], &flipped["needed"]),
        (&json!("unit"), &json!(1), &json!(0), &json!(11))
    );
    assert!(flipped["tests"][0].as_str().is_some_and(|test| test.contains("test_a")), "{flipped}");
    // Whoever runs everything again until it is green has no proof by that: the gate's own runs count.
    (0..11).for_each(|_| passes());
    assert_eq!(gate(&project, &[], 3)["flipped"][0]["passed"], 0);
}

#[test]
fn the_gate_makes_eleven_runs_of_tests_that_failed_and_passed_alone_but_for_three() {
    let project = Project::new();
    let flag = project.shared("flag");
    let directory = flag.parent().expect("it lies in a directory").display().to_string();
    let check = format!("[[check]]\nname = \"unit\"\ncommand = [{:?}, \"-m\", \"pytest\"]\n", python_plain().to_string_lossy());
    let project = project.toml(&format!("{check}[sandbox]\nvisible = [{directory:?}]\n[gate]\nworld = \"open\"\n"));
    let test = format!("import os\n\n\ndef test_a():\n    assert os.path.exists({flag:?})\n\n\ndef test_b():\n    pass\n");
    project.save("test_a.py", &test);
    git(&project, &["init", "--quiet"]);
    commit(&project, ".gitignore", "__pycache__/\n.pytest_cache/\n");
    project.proctor(["run"]).failure();
    fs::write(&flag, "up\n").expect("the directory is ours");
    project.proctor(["run"]).success();
    let by = ["--policy-from", "HEAD"];
    assert_eq!(passed_and_needed(&gate(&project, &by, 3)), (0, 11));
    // Beside the other test it has to pass too: it never failed alone.
    let made = project.proctor(["gate", "--run"]).arguments(&by).success();
    let screens = format!("{}{}", made.stdout, made.stderr);
    let ended = |count: &str| screens.lines().filter(|line| line.trim_start().starts_with('✓') && line.contains(count)).count();
    assert_eq!([" 2 passed", " 1 passed"].map(ended), [3, 8], "{screens}");
    assert_eq!(passed_and_needed(&gate(&project, &by, 0)), (11, 11));
    assert!(
        project.proctor(["gate"]).arguments(&by).success().stdout.contains("failed on this content"),
        "it is named all the same"
    );
}

/// The check reads what no digest names, so the same content is red and green.
#[test]
fn a_plain_command_that_failed_and_passed_on_one_content_has_to_pass_three_times_in_a_row() {
    let (project, flag) = with_flag();
    project.proctor(["run"]).failure();
    fs::write(&flag, "up\n").expect("the directory is ours");
    for (passed, status) in [(1, 3), (2, 3), (3, 0)] {
        project.proctor(["run"]).success();
        assert_eq!(passed_and_needed(&gate(&project, &["--policy-from", "HEAD"], status)), (passed, 3));
    }
}

#[test]
fn the_gate_makes_the_runs_that_are_missing_after_a_failure_on_one_content_and_stops_at_another_failure() {
    let (project, flag) = with_flag();
    project.proctor(["run"]).failure();
    fs::write(&flag, "up\n").expect("the directory is ours");
    project.proctor(["run"]).success();
    assert_eq!(passed_and_needed(&gate(&project, &["--policy-from", "HEAD", "--run"], 0)), (3, 3));
    fs::remove_file(&flag).expect("it is there");
    project.proctor(["run"]).failure();
    assert_eq!(gate(&project, &["--policy-from", "HEAD", "--run"], 1)["state"], "red");
}

/// Returns a project whose check succeeds where a file lies that no digest names, and the file.
fn with_flag() -> (Project, PathBuf) {
    let project = Project::new();
    let flag = project.shared("flag");
    let directory = flag.parent().expect("it lies in a directory");
    let check = format!("[[check]]\nname = \"flag\"\ncommand = [\"cat\", \"{}\"]\n", flag.display());
    let project = project.toml(&format!("{check}[sandbox]\nvisible = [\"{}\"]\n[gate]\nworld = \"open\"\n", directory.display()));
    git(&project, &["init", "--quiet"]);
    commit(&project, "a.txt", "one\n");
    (project, flag)
}

fn passed_and_needed(document: &Value) -> (u64, u64) {
    let flipped = &document["flipped"][0];
    let number = |name: &str| flipped[name].as_u64().unwrap_or_else(|| panic!("no number {name}: {document}"));
    (number("passed"), number("needed"))
}
