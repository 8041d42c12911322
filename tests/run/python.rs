//! Tests Python projects with real pytest: checks found without a configuration, a configuration written by `init`,
//! coverage, changed configuration files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::{Project, python_plain, python_plugins};
use crate::run::result;

const PASSING: &str = "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n";
const FAILING: &str = "from cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 4, \"rounded\"\n";
const CART: &str = "def total(prices):\n    if not prices:\n        return 0\n    return sum(prices)\n";
const MANIFEST: &str = "[tool.pytest.ini_options]\npythonpath = [\".\"]\n";

/// Makes a project whose `.venv` is a link to the environment of `python`.
fn shop(python: &Path, test: &str) -> Project {
    let project = Project::new().file("cart.py", CART).file("tests/test_cart.py", test).file("pyproject.toml", MANIFEST);
    let environment = python.parent().and_then(Path::parent).expect("an interpreter lies in bin/ of its environment");
    symlink(environment, project.path().join(".venv")).expect("the project is ours");
    project
}

#[test]
fn pytest_is_found_without_a_configuration() {
    let project = shop(&python_plain(), PASSING);
    let output = project.proctor(["run"]).success();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ pytest               1 passed <time>
      note: pytest: `.venv/bin/python -m pytest` because pytest's table in `pyproject.toml` is there and `.venv` is the environment
    PASSED · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    assert_eq!(output.report()["testSpecification"]["origin"], "discovered");
    let again = project.proctor(["run"]).success();
    assert!(!again.stdout.contains("because"), "what was found as before is not told again: {}", again.stdout);
    assert!(again.report()["notes"].to_string().contains("because"), "the report has every note");
    assert!(project.proctor(["show"]).success().stdout.contains("because"), "`show` has every note");
    project.save("pyproject.toml", "");
    let changed = project.proctor(["run"]).any_status();
    assert!(changed.stdout.contains("because"), "found for another reason: {}", changed.stdout);
    let report = output.report();
    let tests = &result(&report, "STEP.1")["result"]["testResults"];
    assert_eq!((&tests["passed"], &tests["failed"]), (&1.into(), &0.into()), "{tests}");
}

#[test]
fn pytest_does_not_look_for_tests_in_the_evidence() {
    let project = shop(&python_plain(), PASSING);
    project.proctor(["run"]).success();
    let planted = project.path().join("evidence/default/test_planted.py");
    fs::write(&planted, "def test_planted():\n    assert False\n").expect("the store is the test's");
    assert!(planted.exists(), "the project has its link");
    let report = project.proctor(["run"]).success().report();
    assert_eq!(result(&report, "STEP.1")["result"]["testResults"]["passed"], 1);
}

#[test]
fn tests_in_a_directory_that_is_only_named_like_the_evidence_are_run() {
    let failing = "def test_own():\n    assert False\n";
    let project = shop(&python_plain(), PASSING).file("evidence/test_own.py", failing);
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(result(&report, "STEP.1")["result"]["testResults"]["failed"], 1);
    let project = shop(&python_plain(), PASSING).file("own/test_own.py", failing);
    symlink("own", project.path().join("evidence")).expect("the project is ours");
    let report = project.proctor(["run"]).failure().report();
    assert!(result(&report, "STEP.1")["result"]["testResults"]["failed"].as_u64() >= Some(1));
}

#[test]
fn a_failing_test_is_named_with_its_place() {
    let project = shop(&python_plain(), FAILING);
    let output = project.proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ pytest               1 failed <time>
           tests/test_cart.py::test_total  line 5  AssertionError: rounded
           │ def test_total():
           │ >       assert total([1, 2]) == 4, "rounded"
           │ E       AssertionError: rounded
           │ E       assert 3 == 4
           │ E        +  where 3 = total([1, 2])
           │
           │ tests/test_cart.py:5: AssertionError
           run it alone: .venv/bin/python -m pytest tests/test_cart.py::test_total
      note: pytest: `.venv/bin/python -m pytest` because pytest's table in `pyproject.toml` is there and `.venv` is the environment
      log of pytest: `proctor show --log pytest`
    FAILED · pytest failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    assert_eq!(result(&output.report(), "STEP.1")["status"], "TEST_FAILURE");
}

#[test]
fn init_writes_what_runs_the_same_and_never_overwrites() {
    let project = shop(&python_plain(), PASSING);
    let found = project.proctor(["run"]).success();
    insta::assert_snapshot!(project.proctor(["init"]).success().snapshot(), @"
    exit status: 0
    --- stdout
    wrote proctor.toml: pytest
    next: `proctor run`, or `proctor watch` to run the checks at each save
    ");
    insta::assert_snapshot!(fs::read_to_string(project.path().join("proctor.toml")).unwrap(), @r#"
    # What proctor runs when a file is saved, as `proctor init` found it.
    # All settings with their defaults: `proctor init --print`.
    # For completion in an editor: `proctor generate schema configuration > .proctor-schema.json`, and as first
    # line `#:schema ./.proctor-schema.json`.
    #
    # - pytest: `.venv/bin/python -m pytest` because pytest's table in `pyproject.toml` is there and `.venv` is the environment
    #
    # A save starts the checks whose `paths` name the file; without `paths`, every save starts the check. After a save that starts
    # none of them the verdict is stale, because a check may read other files too: `proctor wait --fresh` runs what is missing.

    [project]
    name = "project"

    [[check]]
    name = "pytest"
    tool = "pytest"
    command = [".venv/bin/python", "-m", "pytest"]
    paths = ["**/*.{py,pyi,pyx,toml,cfg,ini,lock,json,yaml,yml,csv,sql,xml,html,j2}", "**/requirements*.txt", "**/{test,tests,testing,fixtures}/**"]
    reuse = "watch"

    # Checks may use the network. This would give each run one of its own, in which only its own services are reached and every port is free.
    #[sandbox]
    #network = "loopback"

    # Evidence is kept for ever. This would limit its size; the newest 50 runs of each task stay in any case.
    #[evidence]
    #max_bytes = "5GiB"
    "#);
    let written = project.proctor(["run"]).success();
    assert_eq!(written.report()["testSpecification"]["origin"], "configured");
    let steps = |report: &serde_json::Value| {
        let step = result(report, "STEP.1");
        (step["name"].clone(), step["command"].clone(), step["tool"].clone(), step["result"]["testResults"]["passed"].clone())
    };
    assert_eq!(steps(&written.report()), steps(&found.report()));
    let before = fs::read(project.path().join("proctor.toml")).unwrap();
    insta::assert_snapshot!(project.proctor(["init"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: `proctor.toml` exists already
      hint: edit it, or move it away and run `proctor init` again
    ");
    assert_eq!(fs::read(project.path().join("proctor.toml")).unwrap(), before);
}

#[test]
fn a_changed_configuration_is_pointed_out() {
    let project = shop(&python_plain(), PASSING);
    let first = project.proctor(["run"]).success();
    assert!(first.report()["configurationChanged"].as_array().is_none_or(Vec::is_empty));
    project.save("pyproject.toml", &format!("{MANIFEST}addopts = \"-q\"\n"));
    project.save("conftest.py", "");
    let second = project.proctor(["run"]).success();
    insta::assert_snapshot!(second.snapshot(), @"
    exit status: 0
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✓ pytest               1 passed <time>
      note: configuration changed since the last run: conftest.py, pyproject.toml
    PASSED · evidence/default/execution-report.json
    ");
    let expected =
        serde_json::json!([{"path": "conftest.py", "change": "added"}, {"path": "pyproject.toml", "change": "modified"}]);
    assert_eq!(second.report()["configurationChanged"], expected);
    let third = project.proctor(["run"]).success();
    assert!(!third.stdout.contains("configuration changed"), "{}", third.snapshot());
}

#[test]
fn coverage_below_the_tools_own_target_fails_the_check() {
    let project = shop(&python_plugins(), PASSING)
        .toml("[[check]]\nname = \"tests\"\ncommand = [\".venv/bin/python\", \"-m\", \"pytest\", \"--cov=cart\", \"--cov-fail-under=95\"]\n[watch]\nignore = [\".coverage\"]\n");
    let output = project.proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ tests                coverage below target <time>
           All tests passed (1 passed, 0 failed, 0 skipped), but coverage is 75.00 %, below the required 95 %; add tests
    FAILED · tests failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    let report = output.report();
    let step = result(&report, "STEP.1");
    assert_eq!((&step["status"], &step["classification"]["code"]), (&"TEST_FAILURE".into(), &"COVERAGE_BELOW_TARGET".into()));
    assert_eq!(step["debtGeneration"]["severity"], "MEDIUM");
}

#[test]
fn coverage_below_the_checks_target_fails_it_and_above_it_does_not() {
    let toml = |minimum: u32| {
        format!(
            "[[check]]\nname = \"tests\"\ncommand = [\".venv/bin/python\", \"-m\", \"pytest\", \"--cov=cart\", \"--cov-report=json\"]\ncoverage = {{ minimum = {minimum}, report = \"coverage.json\" }}\n[watch]\nignore = [\".coverage\", \"coverage.json\"]\n"
        )
    };
    let project = shop(&python_plugins(), PASSING).toml(&toml(95));
    let output = project.proctor(["run"]).failure();
    insta::assert_snapshot!(output.snapshot(), @r#"
    exit status: 1
    --- stdout
    proctor 0.1.0 · project · tree <digest>
      ✗ tests                coverage below target <time>
           All tests passed (1 passed, 0 failed, 0 skipped), but coverage is 75.00 %, below the required 95 %; add tests
      snapshot: the checks wrote 1 thing, which never reaches the project: coverage.json (1739B); to keep: writes = ["coverage.json"]
    FAILED · tests failed · evidence/default/execution-report.json
    --- stderr
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
    "#);
    assert_eq!(result(&output.report(), "STEP.1")["classification"]["code"], "COVERAGE_BELOW_TARGET");
    project.save("proctor.toml", &toml(50));
    assert!(project.approve().contains("changed: tests: coverage: "));
    let output = project.proctor(["run"]).success();
    assert_eq!(result(&output.report(), "STEP.1")["result"]["coverage"]["percent"], 75.0, "{:#}", output.report());
}
