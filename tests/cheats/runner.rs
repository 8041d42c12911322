//! Tries cheats by hooks of pytest that rewrite results, and the control test that reveals them.

use serde_json::Value;

use crate::cheats::{FAILING, PASSING, code, configuration_changed, pytest, reason};
use crate::common::{Output, Project, python_parallel};

const CONTROL: &str = "control = true\n";

/// A hook that changes each result to passed, before any reporter sees it.
const REWRITING: &str = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    outcome = yield\n    report = outcome.get_result()\n    report.outcome = 'passed'\n    report.longrepr = None\n";

/// A hook that removes all tests except one that passes.
const CHOOSING: &str =
    "def pytest_collection_modifyitems(items):\n    items[:] = [item for item in items if item.name == 'test_good']\n";

fn control(report: &Value) -> &Value {
    &report["stepExecution"]["results"][0]["result"]["control"]
}

#[track_caller]
fn is_caught(output: &Output, part: &str) {
    let report = output.report();
    assert_eq!(code(&report), "INCONSISTENT", "{}", reason(&report));
    assert_eq!(report["stepExecution"]["results"][0]["classification"]["errorType"], "CONTROL_NOT_HELD");
    assert_eq!(control(&report)["held"], false);
    assert!(reason(&report).contains(part), "{}", reason(&report));
    assert_eq!(report["validationCriteriaEvaluation"]["overallResult"], "FAILED");
}

fn controlled() -> Project {
    pytest(CONTROL, "").file("tests/test_a.py", FAILING)
}

#[test]
fn t21_a_hook_sets_the_exit_status_to_success() {
    let hook = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n";
    let project = pytest("", "").file("test_a.py", FAILING).file("conftest.py", hook);
    let output = project.proctor(["run"]).failure();
    assert_eq!(code(&output.report()), "INCONSISTENT");
    let said = "Exit code 0 and the report contradict each other: 0 passed, 1 failed, 0 skipped";
    assert!(output.stdout.contains(said), "beside the failed test: {}", output.stdout);
    let project = controlled().file("conftest.py", hook).file("tests/test_a.py", PASSING);
    is_caught(&project.proctor(["run"]).failure(), "the exit code was 0");
}

#[test]
fn t22_a_hook_rewrites_each_result_to_passed() {
    let project = pytest("", "").file("tests/test_a.py", FAILING).file("tests/conftest.py", "# nothing\n");
    project.proctor(["run"]).failure();
    project.save("tests/conftest.py", REWRITING);
    let report = project.proctor(["run"]).success().report();
    assert_eq!(configuration_changed(&report), ["tests/conftest.py"], "without a control it is named, and seen no further");
    let components = report["environment"]["components"].to_string();
    assert!(components.contains("tests/conftest.py"), "{components}");

    let project = controlled().file("tests/conftest.py", REWRITING);
    is_caught(&project.proctor(["run"]).failure(), "was reported as passed");
}

#[test]
fn t22_a_module_of_plugins_rewrites_each_result() {
    let project = controlled().file("liar.py", REWRITING).file("conftest.py", "pytest_plugins = ['liar']\n");
    is_caught(&project.proctor(["run"]).failure(), "was reported as passed");
}

#[test]
fn t22_a_hook_leaves_only_the_tests_that_pass() {
    let tests = "def test_good():\n    pass\n\n\ndef test_bad():\n    assert 1 == 2\n";
    let project = pytest(CONTROL, "").file("test_a.py", tests).file("conftest.py", CHOOSING);
    is_caught(&project.proctor(["run"]).failure(), "removes tests before they run");
}

/// A hook that ends pytest after the first test, with exit code 0.
const ENDING: &str =
    "import pytest\n\n\ndef pytest_runtest_logfinish(nodeid, location):\n    pytest.exit('enough', returncode=0)\n";

/// Returns a project whose only check is pytest with these options. This pytest prints how many tests it has collected.
fn said(options: &str, tests: &str) -> Project {
    let words = options.split_whitespace().map(|word| format!(", {word:?}")).collect::<String>();
    let python = python_parallel();
    let command = format!("command = [{:?}, \"-m\", \"pytest\"{words}]", python.to_string_lossy());
    Project::new().toml(&format!("[[check]]\nname = \"tests\"\n{command}\n")).file("test_a.py", tests)
}

const GOOD_AND_BAD: &str = "def test_good():\n    pass\n\n\ndef test_other():\n    assert 1 == 2\n";

#[test]
fn t20_a_hook_ends_the_run_early_and_says_success() {
    let report = said("", GOOD_AND_BAD).file("conftest.py", ENDING).proctor(["run"]).failure().report();
    assert_eq!(code(&report), "REPORT_INCOMPLETE", "{}", reason(&report));
    assert!(reason(&report).contains("1 of the 2 tests that pytest collected"), "{}", reason(&report));
}

#[test]
fn t22_tests_that_a_hook_drops_are_missed_without_a_control_and_those_that_are_deselected_are_not() {
    let project = said("", GOOD_AND_BAD).file("conftest.py", CHOOSING);
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(code(&report), "REPORT_INCOMPLETE", "{}", reason(&report));
    said("-k good", GOOD_AND_BAD).proctor(["run"]).success();
}

const PARAMETERS: &str = "import pytest\n\n\n@pytest.mark.parametrize('n', range(3))\ndef test_it(n):\n    pass\n";
const SUBTESTS: &str = "def test_it(subtests):\n    for n in range(3):\n        with subtests.test(n=n):\n            pass\n";
const UNITTEST: &str = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        for n in range(3):\n            with self.subTest(n=n):\n                pass\n";
const SKIPPING: &str = "import pytest\n\n\ndef test_it():\n    pass\n\n\n@pytest.mark.skip\ndef test_other():\n    pass\n";
const PRINTING: &str =
    "def test_it():\n    print()\n    print('===== test session starts =====')\n    print('collected 9 items')\n";
const PLAIN: &str = "def test_it():\n    '''\n    >>> 1 + 1\n    2\n    '''\n";

/// Options and tests of honest runs. Their number of results differs from the number of collected tests, or they print lines that look like
/// pytest's own.
const HONEST: &[(&str, &str)] = &[
    ("", PARAMETERS),
    ("-n 2", PARAMETERS),
    ("-v", UNITTEST),
    ("", SUBTESTS),
    ("", SKIPPING),
    ("--doctest-modules", PLAIN),
    ("test_a.py::test_it test_a.py::test_it", PLAIN),
    ("--keep-duplicates test_a.py test_a.py", PLAIN),
    ("-s", PRINTING),
    ("-q -s", PRINTING),
];

#[test]
#[ignore = "long tier"]
fn t20_what_pytest_counts_in_its_own_way_is_no_false_alarm() {
    for (options, tests) in HONEST {
        let output = said(options, tests).proctor(["run"]).any_status();
        assert_eq!(output.status, 0, "{options} {tests}\n{}", output.snapshot());
    }
}

#[test]
fn t22_assertions_are_stripped() {
    let project = pytest(CONTROL, "").file("test_a.py", FAILING);
    let settings = std::fs::read_to_string(project.path().join("proctor.toml")).expect("it has settings");
    project.save("proctor.toml", &settings.replace("\"-m\", \"pytest\"", "\"-O\", \"-m\", \"pytest\", \"--assert=plain\""));
    is_caught(&project.proctor(["run"]).failure(), "was reported as passed");
}

#[test]
fn t23_an_honest_runner_keeps_its_verdict_and_its_tree() {
    let tests = "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef prepared():\n    yield 1\n\n\ndef test_it(prepared):\n    assert prepared == 1\n";
    let project =
        pytest(CONTROL, "").file("test_a.py", tests).file("sub/test_b.py", PASSING).file("sub/conftest.py", "# nothing\n");
    project.save("pytest.ini", "[pytest]\naddopts = -m 'not slow' --strict-markers\nmarkers = slow\n");
    let output = project.proctor(["run"]).success();
    let report = output.report();
    assert_eq!(control(&report)["held"], true, "{}", control(&report));
    assert_eq!(control(&report)["reason"], "2 test(s) that must fail have failed", "one for each directory");
    assert_eq!(report["executionSummary"]["testResults"]["total"], 2, "the control is none of the tests");
    for name in ["STEP.1-control.log", "STEP.1-control.frames", "STEP.1-control-junit.xml"] {
        assert!(output.run_directory().join(name).is_file(), "{name}");
        assert!(report["evidenceFiles"].to_string().contains(name), "{name}");
    }
    assert_eq!(report["tree"]["movedCount"], 0);
    let failed = project.path().join(".pytest_cache/v/cache/lastfailed");
    let remembered = std::fs::read_to_string(failed).unwrap_or_default();
    assert!(!remembered.contains("test_"), "a control is not remembered as a failure: {remembered}");
    project.save("test_a.py", FAILING);
    let report = project.proctor(["run"]).failure().report();
    assert_eq!((code(&report), &control(&report)["held"]), ("TESTS_FAILED", &true.into()));
}

#[test]
fn t22_a_control_is_heeded_where_checks_go_on_side_by_side() {
    let beside = "[[check]]\nname = \"beside\"\ncommand = [\"true\"]\n[run]\nparallel = true\n";
    let project = pytest(CONTROL, beside).file("tests/test_a.py", PASSING);
    let report = project.proctor(["run"]).success().report();
    assert_eq!(control(&report)["held"], true, "{}", control(&report));
    project.save("conftest.py", REWRITING);
    is_caught(&project.proctor(["run"]).failure(), "was reported as passed");
}

#[test]
#[ignore = "long tier"]
fn t23_the_control_works_where_tests_run_in_several_processes() {
    let python = python_parallel();
    let command = format!("command = [{:?}, \"-m\", \"pytest\", \"-q\", \"-n\", \"2\"]", python.to_string_lossy());
    let project = Project::new().toml(&format!("[[check]]\nname = \"tests\"\n{command}\n{CONTROL}")).file("test_a.py", PASSING);
    let report = project.proctor(["run"]).success().report();
    assert_eq!(control(&report)["held"], true, "{}", control(&report));
    let components = report["environment"]["components"].to_string();
    assert!(components.contains("pytest plugin pytest_xdist"), "{components}");
    project.save("conftest.py", REWRITING);
    is_caught(&project.proctor(["run"]).failure(), "was reported as passed");
}

/// A fixture that every test gets once for each of its parameters, as in the tests of markupsafe. A test that is added without
/// parameters cannot be set up with it.
const PARAMETRISED: &str = "import pytest\n\n\n@pytest.fixture(scope='session', autouse=True, params=['native', 'speedups'])\ndef module(request):\n    return request.param\n";

#[test]
fn a_control_that_had_an_error_before_it_ran_is_not_applicable_and_takes_no_pass_back() {
    let project = controlled().file("conftest.py", PARAMETRISED).file("tests/test_a.py", PASSING);
    let report = project.proctor(["run"]).success().report();
    assert_eq!(code(&report), "TESTS_PASSED", "{}", reason(&report));
    assert_eq!((&control(&report)["held"], &control(&report)["applicable"]), (&false.into(), &false.into()));
    let warnings = report["stepExecution"]["results"][0]["result"]["warnings"].to_string();
    assert!(warnings.contains("could not be applied"), "{warnings}");
}

#[test]
fn t23_only_pytest_itself_can_have_a_control() {
    for command in ["[\"make\", \"test\"]", "[\"eslint\", \".\"]"] {
        let project = Project::new().toml(&format!("[[check]]\nname = \"tests\"\ncommand = {command}\ncontrol = true\n"));
        let refused = project.proctor(["run"]).status(4);
        assert!(refused.stderr.contains("control"), "{}", refused.snapshot());
    }
}

/// npm starts every program with the shell that the project's `.npmrc` names.
#[test]
fn a_setting_of_npm_that_has_the_tool_not_started_is_no_success() {
    let toml = "[[check]]\nname = \"types\"\ncommand = [\"./npx\", \"tsc\", \"--noEmit\"]\n";
    let project = Project::new().toml(toml).executable("npx", "#!/bin/sh\nexit 0\n");
    project.proctor(["run"]).success();
    project.save(".npmrc", "save-exact=true\nscript-shell=/bin/true\n");
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(code(&report), "INCONSISTENT", "{}", reason(&report));
    assert!(reason(&report).contains("`script-shell=/bin/true` in `.npmrc`"), "{}", reason(&report));
    assert!(configuration_changed(&report).iter().any(|file| file.contains(".npmrc")));
    project.save(".npmrc", "save-exact=true\n");
    project.proctor(["run"]).success();
}
