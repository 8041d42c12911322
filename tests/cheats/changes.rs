//! Tries cheats that change tests, findings or files until the checks pass, or repeat runs until they do.

use std::os::unix::fs::symlink;

use crate::cheats::{FAILING, PASSING, code, command, configuration_changed, notes, pytest};
use crate::common::{Project, node_modules};

const THREE: &str = "import pytest\n\n\ndef test_one():\n    assert 1 == 1\n\n\ndef test_two():\n    assert 1 == 1\n\n\ndef test_three():\n    assert 1 == 1\n";

#[test]
fn t09_removes_and_skips_what_stands_in_its_way() {
    let project = pytest("", "").file("test_a.py", THREE);
    project.proctor(["run"]).success();
    project.save(
        "test_a.py",
        &THREE.replace("def test_two", "@pytest.mark.skip\ndef test_two").replace("def test_three", "def three"),
    );
    let report = project.proctor(["run"]).success().report();
    let said = notes(&report);
    assert!(said.contains("are not there any more: `test_a.py::test_three`"), "{said}");
    assert!(said.contains("are skipped or expected to fail now: `test_a.py::test_two`"), "{said}");
    project.save("test_a.py", &THREE.replace("def test_", "@pytest.mark.skip\ndef test_"));
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(code(&report), "NO_TESTS_EXECUTED", "skipping everything is no success");
}

#[test]
fn t09_narrows_the_run_by_its_settings() {
    let project = pytest("", "").file("test_a.py", THREE);
    project.proctor(["run"]).success();
    project.save("pytest.ini", "[pytest]\naddopts = -k test_one\n");
    let report = project.proctor(["run"]).success().report();
    assert_eq!(configuration_changed(&report), ["pytest.ini"]);
    let said = notes(&report);
    assert!(said.contains("2 test(s) that passed in exec-") && said.contains("not there any more"), "{said}");
}

#[test]
fn t11_edits_the_tests_to_fit_the_code() {
    let project = pytest("", "").file("test_a.py", FAILING).file("conftest.py", "# nothing\n");
    let failed = project.proctor(["run"]).failure().report();
    project.save("test_a.py", PASSING);
    project.save("conftest.py", "collect_ignore = []\n");
    let passed = project.proctor(["run"]).success().report();
    assert_ne!(passed["tree"]["before"], failed["tree"]["before"], "it is a verdict on another tree");
    assert_eq!(configuration_changed(&passed), ["conftest.py"]);
}

#[test]
fn t11_edits_protected_tests_and_nobody_approves_it() {
    let protect = "[approval]\nprotect = [\"test_*.py\", \"conftest.py\"]\non_protected_change = \"human-review\"\n";
    let project = pytest("", protect).file("test_a.py", FAILING);
    let failed = project.proctor(["run"]).failure().report();
    assert_eq!(failed["testsModified"]["modified"], false);
    project.save("test_a.py", PASSING);
    project.save("conftest.py", "collect_ignore = []\n");
    let passed = project.proctor(["run"]).status(3).report();
    assert_eq!((&passed["testsModified"]["modified"], &passed["route"]["nextNode"]), (&true.into(), &"HUMAN_REVIEW".into()));
    let answer = project.proctor(["request", "status", "COMPLETE", "--json"]).any_status();
    assert_ne!(answer.status, 0, "{}", answer.snapshot());
}

#[test]
fn t12_runs_again_until_it_passes() {
    let script = "[\"fake-tool\", \"--script\", \"\"\"test -e ../shared/once || { touch ../shared/once; exit 1; }\"\"\"]";
    let project = command(script, "[sandbox]\nwritable = [\"../shared\"]");
    let failed = project.proctor(["run", "--json"]).failure().json();
    let passed = project.proctor(["run"]).success().report();
    let said = notes(&passed);
    let run = failed["authenticity"]["executionId"].as_str().expect("it has one");
    assert!(said.contains(&format!("flaky: the same tree failed in {run}")), "{said}");
    assert_eq!(project.store().committed_runs().len(), 2, "every run is kept");
}

#[test]
fn t12_a_repetition_inside_of_a_run_is_shown() {
    let script = "[\"fake-tool\", \"--script\", \"\"\"test -e ../shared/once || { touch ../shared/once; exit 1; }\"\"\"]";
    let project = command(script, "retries = 2\n[sandbox]\nwritable = [\"../shared\"]");
    let report = project.proctor(["run"]).success().report();
    let check = &report["stepExecution"]["results"][0];
    assert_eq!((&check["flaky"], &check["attempts"]), (&true.into(), &2.into()));
    assert_eq!(check["earlierAttempts"][0]["status"], "EXECUTION_ERROR");
}

#[test]
fn t14_calls_a_failure_expected() {
    let project = pytest("", "").file("test_a.py", FAILING);
    project.proctor(["run"]).failure();
    project.proctor(["tdd", "start"]).success();
    let red = project.proctor(["run"]).success().report();
    assert_eq!(red["validationCriteriaEvaluation"]["overallResult"], "FAILED", "a valid RED is no pass");
    assert_eq!(red["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE");
    let debt = &red["stepExecution"]["results"][0]["debtGeneration"];
    assert_eq!(debt["shouldGenerate"], true, "calling it RED gains nothing: {debt}");
    let answer = project.proctor(["request", "status", "COMPLETE", "--json"]).any_status();
    assert_ne!(answer.status, 0, "{}", answer.snapshot());
}

fn linted(config: &str) -> Project {
    let project = Project::new().toml("[[check]]\nname = \"lint\"\ntool = \"eslint\"\n").file("eslint.config.mjs", config);
    project.save("package.json", "{\"name\": \"x\", \"devDependencies\": {\"eslint\": \"*\"}}\n");
    symlink(node_modules(), project.path().join("node_modules")).expect("the project is ours");
    project
}

#[test]
fn t17_suppresses_findings_by_comments_and_by_settings() {
    let rules = "export default [{ rules: { 'no-debugger': 'error' } }];\n";
    let project = linted(rules).file("a.js", "debugger;\n");
    assert_eq!(code(&project.proctor(["run"]).failure().report()), "FINDINGS");
    project.save("a.js", "debugger; // eslint-disable-line\n");
    let report = project.proctor(["run"]).success().report();
    let warnings = report["stepExecution"]["results"][0]["result"]["warnings"].to_string();
    assert!(warnings.contains("1 finding(s) are suppressed by comments"), "{warnings}");
    project.save("a.js", "debugger;\n");
    project.save("eslint.config.mjs", &rules.replace("error", "off"));
    let report = project.proctor(["run"]).success().report();
    assert_eq!(configuration_changed(&report), ["eslint.config.mjs"]);
}

#[test]
#[ignore = "long tier"]
fn t17_loosens_the_compiler() {
    let project = Project::new().toml("[[check]]\nname = \"types\"\ncommand = [\"node_modules/.bin/tsc\", \"--noEmit\"]\n");
    let strict = "{\"compilerOptions\": {\"strict\": true, \"types\": []}, \"files\": [\"a.ts\"]}\n";
    let project = project.file("tsconfig.json", strict).file("a.ts", "export function f(x) { return x; }\n");
    symlink(node_modules(), project.path().join("node_modules")).expect("the project is ours");
    assert_eq!(code(&project.proctor(["run"]).failure().report()), "FINDINGS");
    project.save("tsconfig.json", &strict.replace("true", "false"));
    let report = project.proctor(["run"]).success().report();
    assert_eq!(configuration_changed(&report), ["tsconfig.json"]);
}
