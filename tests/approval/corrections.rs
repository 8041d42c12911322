//! Corrections of commands that never worked, through the program (N1): an honest correction goes through without a question,
//! and whoever tries to profit from the rule is asked.

use std::fs;

use crate::common::{Output, Project, python_plain};

const FINE: &str = "#!/bin/sh\nexit 0\n";
/// The exit code with which pytest refuses its command line.
const REFUSES: &str = "#!/bin/sh\nexit 4\n";

/// Returns a `proctor.toml` with these checks, each a name and a command.
fn toml(checks: &[(&str, &str)]) -> String {
    let check = |(name, command): &(&str, &str)| format!("[[check]]\nname = \"{name}\"\ncommand = \"{command}\"\n\n");
    checks.iter().map(check).collect()
}

/// Saves these checks and runs them.
fn run(project: &Project, checks: &[(&str, &str)]) -> Output {
    project.save("proctor.toml", &toml(checks));
    project.proctor(["run"]).any_status()
}

/// Saves these checks and expects a question.
#[track_caller]
fn is_asked(project: &Project, checks: &[(&str, &str)]) {
    let runs = project.store().committed_runs().len();
    project.save("proctor.toml", &toml(checks));
    let refused = project.proctor(["run"]).status(3);
    assert!(refused.stderr.contains("than was approved"), "{checks:?}: {}", refused.snapshot());
    assert_eq!(project.store().committed_runs().len(), runs, "nothing was run");
}

/// Saves these checks and expects a run without a question.
#[track_caller]
fn is_free(project: &Project, checks: &[(&str, &str)]) {
    let runs = project.store().committed_runs().len();
    let edited = run(project, checks);
    assert!(!edited.stderr.contains("than was approved"), "{checks:?}: {}", edited.snapshot());
    assert_eq!(project.store().committed_runs().len(), runs + 1, "{}", edited.snapshot());
}

#[test]
fn a_misspelled_program_is_corrected_without_a_question_and_then_holds() {
    let project = Project::new().toml(&toml(&[("tests", "pytets -q")])).executable("bin/pytest", FINE);
    let first = project.proctor(["run"]).failure();
    assert!(first.stderr.contains("pytets") || first.stdout.contains("pytets"), "{}", first.snapshot());
    is_free(&project, &[("tests", "pytset -q")]);
    is_free(&project, &[("tests", "bin/pytest -q")]);
    let lines = project.store().ledger();
    let approved =
        lines.iter().filter(|line| line["body"]["kind"] == "approval").all(|line| line["body"]["reason"] == "weakensNothing");
    assert!(approved, "by rule, as other edits that weaken nothing");
    is_asked(&project, &[("tests", "bin/pytest -q -k fast")]);
    is_asked(&project, &[("tests", "true")]);
}

#[test]
fn a_misspelt_module_or_subcommand_is_corrected_unless_it_ever_ran() {
    const RUFF: &str = "#!/bin/sh\n[ \"$1\" = check ] && exit 0\necho \"error: unrecognized subcommand '$1'\" >&2\nexit 2\n";
    let python = python_plain().display().to_string();
    let (wrong, right) = (format!("{python} -m pytets -q"), format!("{python} -m pytest -q"));
    let project = Project::new().executable("bin/ruff", RUFF).file("test_a.py", "def test_a():\n    pass\n");
    let before = [("tests", wrong.as_str()), ("lint", "bin/ruff chekc ."), ("other", "bin/ruff check .")];
    run(&project, &before);
    let with = |tests, lint| [("tests", tests), ("lint", lint), ("other", "bin/ruff check .")];
    let collected = format!("{right} --co");
    for (tests, lint) in [("true", before[1].1), (collected.as_str(), before[1].1), (before[0].1, "bin/ruff check src")] {
        is_asked(&project, &with(tests, lint));
    }
    is_free(&project, &with(&right, before[1].1));
    is_free(&project, &with(&right, "bin/ruff check ."));
    is_asked(&project, &with(&wrong, "bin/ruff check ."));
    // A module that was there under any plan is no typing error, whoever removes it.
    let project = Project::new().toml(&toml(&[("tests", &wrong)])).file("pytets.py", "").file("test_a.py", "");
    project.proctor(["run"]).success();
    fs::remove_file(project.path().join("pytets.py")).expect("the module is there");
    project.proctor(["run"]).failure();
    is_asked(&project, &[("tests", &right)]);
}

#[test]
fn a_check_that_never_worked_may_not_be_removed_or_exchanged() {
    let before = [("tests", "pytets -q"), ("lint", "bin/lint")];
    let project = Project::new().toml(&toml(&before)).executable("bin/lint", FINE);
    project.proctor(["run"]).failure();
    is_asked(&project, &before[1..]);
    is_asked(&project, &[("tests", "bin/lint")]);
    is_asked(&project, &[("unit", "true"), ("lint", "bin/lint")]);
    is_free(&project, &[("unit", "pytets -q"), ("lint", "bin/lint")]);
    is_free(&project, &[("unit", "true"), ("lint", "bin/lint")]);
}

#[test]
fn uninstalling_the_program_opens_nothing_under_any_name() {
    let project = Project::new().toml(&toml(&[("tests", "bin/pytest -q")])).executable("bin/pytest", FINE);
    project.proctor(["run"]).any_status();
    fs::remove_file(project.path().join("bin/pytest")).expect("the program is there");
    let missing = project.proctor(["run"]).failure();
    assert!(missing.snapshot().contains("no program"), "{}", missing.snapshot());
    is_asked(&project, &[("tests", "true")]);
    is_free(&project, &[("renamed", "bin/pytest -q")]);
    is_asked(&project, &[("renamed", "true")]);
    is_asked(&project, &[("renamed", "bin/pytest -k fast")]);
}

#[test]
fn a_program_that_ran_as_a_typed_command_was_found() {
    let project = Project::new().toml(&toml(&[("tests", "bin/tests -q")])).executable("bin/tests", FINE);
    let mut typed = project.watch([".", "--", "bin/tests"]);
    typed.wait_for_verdict();
    typed.interrupt();
    fs::remove_file(project.path().join("bin/tests")).expect("the program is there");
    project.proctor(["run"]).failure();
    is_asked(&project, &[("tests", "true")]);
}

#[test]
fn a_usage_error_is_corrected_within_the_same_tool_only() {
    let project = Project::new().toml(&toml(&[("tests", "bin/pytest --qq")]));
    let project = project.executable("bin/pytest", REFUSES).executable("other/pytest", FINE);
    let refused = project.proctor(["run"]).failure();
    assert!(refused.report().to_string().contains("USAGE_ERROR"), "{}", refused.snapshot());
    is_asked(&project, &[("tests", "true")]);
    is_asked(&project, &[("tests", "other/pytest -q")]);
    is_free(&project, &[("tests", "bin/pytest -q")]);
    let project = project.executable("bin/pytest", FINE);
    is_free(&project, &[("tests", "bin/pytest -q")]);
    let project = project.executable("bin/pytest", REFUSES);
    is_free(&project, &[("tests", "bin/pytest -q")]);
    is_asked(&project, &[("tests", "bin/pytest --co")]);
}

#[test]
fn hiding_a_program_that_was_there_at_the_approval_opens_nothing() {
    // By another search path: `proctor add` approves the plan, and the check never ran.
    let project = Project::new().toml(&toml(&[("tests", "mytests -q")])).executable("bin/mytests", FINE);
    let honest = format!("{}/bin:/usr/bin:/bin", project.path().display());
    let project = project.env("PATH", &honest);
    project.proctor(["add"]).success();
    let project = project.env("PATH", "/usr/bin:/bin");
    let missing = project.proctor(["run"]).failure();
    assert!(missing.snapshot().contains("no program"), "{}", missing.snapshot());
    is_asked(&project, &[("tests", "true")]);
    // A further check makes an approval without a person, with this search path.
    is_free(&project, &[("tests", "mytests -q"), ("more", "true")]);
    is_asked(&project, &[("tests", "true"), ("more", "true")]);

    // By moving a script.
    let project = Project::new().toml(&toml(&[("tests", "scripts/test")])).executable("scripts/test", FINE);
    project.proctor(["add"]).success();
    fs::rename(project.path().join("scripts"), project.path().join("moved")).expect("the directory is there");
    project.proctor(["run"]).failure();
    is_asked(&project, &[("tests", "true")]);
}

/// A stand-in for a tool whose settings in the tree, a directory of the tree or another program make it refuse every command
/// line.
const REFUSES_BY_SETTINGS: &str = "#!/bin/sh\ntest -e tool.ini && exit 4\ntest -d tests || exit 4\nexit 0\n";

#[test]
#[ignore = "long tier"]
fn a_usage_error_whose_cause_lies_in_the_tree_opens_nothing() {
    // The first run comes after the approval, and in between somebody makes the tool refuse what was approved.
    type Change = fn(&Project);
    let changes: &[(&str, Change)] = &[
        ("a setting", |project| project.save("tool.ini", "[tool]\noptions = --bogus\n")),
        ("a moved directory", |project| {
            fs::rename(project.path().join("tests"), project.path().join("moved")).expect("it is there");
        }),
        ("another program", |project| project.save("bin/pytest", REFUSES)),
        ("a file", |project| project.save("src/a.py", "x = 1\n")),
    ];
    for (what, change) in changes {
        let project = Project::new().toml(&toml(&[("tests", "bin/pytest tests")])).file("tests/test_a.py", "");
        let project = project.executable("bin/pytest", REFUSES_BY_SETTINGS);
        project.proctor(["add"]).success();
        change(&project);
        let refused = project.proctor(["run"]).any_status();
        let is_refused = refused.report().to_string().contains("USAGE_ERROR");
        assert_eq!(is_refused, *what != "a file", "{what}: {}", refused.snapshot());
        is_asked(&project, &[("tests", "bin/pytest good")]);
        // An approval without a person, for a further check, does not make this tree the approved one.
        is_free(&project, &[("tests", "bin/pytest tests"), ("more", "true")]);
        is_asked(&project, &[("tests", "bin/pytest good"), ("more", "true")]);
        is_free(&project, &[("tests", "bin/pytest -v tests"), ("more", "true")]);
        is_asked(&project, &[("tests", "bin/pytest -v good"), ("more", "true")]);
    }
}

#[test]
fn a_usage_error_of_the_approved_command_is_corrected_after_proctor_add_and_after_other_saves() {
    let project = Project::new().toml(&toml(&[("tests", "bin/pytest --qq")])).executable("bin/pytest", REFUSES);
    project.proctor(["add"]).success();
    project.proctor(["run"]).failure();
    project.save("src/a.py", "x = 1\n");
    project.proctor(["run"]).failure();
    is_free(&project, &[("tests", "bin/pytest -q")]);
}

#[test]
fn another_search_path_makes_no_usage_error_of_the_approved_program() {
    let project = Project::new().toml(&toml(&[("tests", "pytest tests")])).file("tests/test_a.py", "");
    let project = project.executable("bin/pytest", FINE).executable("evil/pytest", REFUSES);
    let path = |directory: &str| format!("{}/{directory}:/usr/bin:/bin", project.path().display());
    let (honest, evil) = (path("bin"), path("evil"));
    let project = project.env("PATH", &honest);
    project.proctor(["add"]).success();
    let project = project.env("PATH", &evil);
    let refused = project.proctor(["run"]).failure();
    assert!(refused.report().to_string().contains("USAGE_ERROR"), "{}", refused.snapshot());
    is_asked(&project, &[("tests", "pytest good")]);
}

#[test]
fn options_in_the_settings_of_a_real_pytest_open_nothing_and_a_wrong_option_of_the_command_does() {
    let python = python_plain();
    let command = |words: &str| format!("{} -m pytest {words}", python.display());
    let project = Project::new().toml(&toml(&[("tests", &command("-q"))])).file("test_a.py", "def test_a():\n    assert False\n");
    project.proctor(["add"]).success();
    project.save("pytest.ini", "[pytest]\naddopts = --bogus\n");
    let refused = project.proctor(["run"]).failure();
    assert!(refused.report().to_string().contains("USAGE_ERROR"), "{}", refused.snapshot());
    is_asked(&project, &[("tests", &command("-q --deselect test_a.py::test_a"))]);

    let project = Project::new().toml(&toml(&[("tests", &command("--qq"))])).file("test_a.py", "def test_a():\n    pass\n");
    let refused = project.proctor(["run"]).failure();
    assert!(refused.report().to_string().contains("USAGE_ERROR"), "{}", refused.snapshot());
    is_free(&project, &[("tests", &command("-q"))]);
    is_asked(&project, &[("tests", &command("-q --co"))]);
}
