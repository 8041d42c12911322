//! Every kind of result that pytest, Jest and Vitest have is a count of its own in report and screen, and a test with two
//! results on one tree is named.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Project, WRITES_TO_SHARED, jest_modules, python_plain, vitest_modules};

fn tests(report: &Value) -> Value {
    let mut tests = report["stepExecution"]["results"][0]["result"]["testResults"].clone();
    tests.as_object_mut().expect("a test ran").remove("failures");
    tests
}

fn pytest(before: &str, arguments: &str) -> Project {
    let python = python_plain().display().to_string();
    let toml = format!("{before}[[check]]\nname = \"pytest\"\ntool = \"pytest\"\ncommand = \"{python} -m pytest{arguments}\"\n");
    Project::new().toml(&toml)
}

#[test]
fn pytest_counts_every_kind() {
    let text = "import pytest\n\n\ndef test_ok():\n    pass\n\n\ndef test_fails():\n    assert 0\n\n\n@pytest.mark.xfail\ndef test_x():\n    assert 0\n\n\n@pytest.mark.xfail\ndef test_xpass():\n    pass\n\n\n@pytest.mark.skip\ndef test_skipped():\n    pass\n\n\n@pytest.fixture\ndef broken():\n    raise OSError('no')\n\n\ndef test_error(broken):\n    pass\n\n\ndef test_left_out():\n    pass\n";
    let project = pytest("", " -k 'not left_out'").file("test_a.py", text);
    let output = project.proctor(["run"]).failure();
    let expected = json!({
        "passed": 2, "failed": 2, "skipped": 2, "total": 6,
        "errors": 1, "expectedFailures": 1, "unexpectedPasses": 1, "deselected": 1,
    });
    assert_eq!(tests(&output.report()), expected);
    let words = "1 failed, 1 error, 1 passed, 1 xpassed, 1 skipped, 1 xfailed, 1 deselected";
    assert!(output.stdout.contains(words), "{}", output.snapshot());
}

fn node(tool: &str, modules: &Path, subcommand: &str) -> Project {
    let command = modules.join(".bin").join(tool).display().to_string();
    let toml = format!("[[check]]\nname = \"{tool}\"\ntool = \"{tool}\"\ncommand = \"{command}{subcommand}\"\n");
    let project = Project::new().toml(&toml).file("package.json", "{\"name\": \"x\"}\n").file(".gitignore", "node_modules\n");
    symlink(modules, project.path().join("node_modules")).expect("the project is ours");
    project
}

#[test]
#[ignore = "long tier"]
fn jest_counts_what_is_planned_and_what_was_repeated() {
    let text = "jest.retryTimes(2);\nlet times = 0;\ntest('ok', () => { times += 1; expect(times).toBe(2); });\ntest.todo('later');\ntest.skip('never', () => {});\n";
    let project = node("jest", &jest_modules(), "").file("a.test.js", text);
    let output = project.proctor(["run"]).failure();
    let expected = json!({"passed": 0, "failed": 1, "skipped": 2, "total": 3, "todo": 1, "reruns": 1});
    assert_eq!(tests(&output.report()), expected);
    assert!(output.stdout.contains("1 failed, 1 skipped, 1 todo, 1 rerun"), "{}", output.snapshot());
}

#[test]
fn unhandled_errors_of_vitest_are_shown_beside_tests_that_failed() {
    let text = "import { test } from 'vitest';\ntest('ok', async () => { Promise.reject(new Error('late')); await new Promise((done) => setTimeout(done, 50)); });\ntest('bad', () => { throw new Error('bad'); });\n";
    let project = node("vitest", &vitest_modules(), " run").file("a.test.js", text);
    let output = project.proctor(["run"]).failure();
    let expected = json!({"passed": 1, "failed": 1, "skipped": 0, "total": 2, "unhandledErrors": 1});
    assert_eq!(tests(&output.report()), expected);
    assert!(output.stdout.contains("1 failed, 1 passed, 1 unhandled error"), "{}", output.snapshot());
    assert!(output.stdout.contains("the first: Error: late"), "{}", output.snapshot());
}

fn notes(report: &Value) -> String {
    let texts =
        report["notes"].as_array().into_iter().flatten().map(|note| format!("{}: {}\n", note["subject"], note["message"]));
    texts.collect()
}

#[test]
fn a_test_with_two_results_on_one_tree_is_named_in_both_directions() {
    let text =
        "import os\n\n\ndef test_ok():\n    pass\n\n\ndef test_chance():\n    assert not os.path.exists('../shared/fail')\n";
    let project = pytest(WRITES_TO_SHARED, "").file("test_a.py", text);
    let green = project.proctor(["run"]).success().report();
    assert!(!notes(&green).contains("flaky"), "{}", notes(&green));
    std::fs::write(project.shared("fail"), "").expect("it is ours");
    let red = project.proctor(["run"]).failure().report();
    let run = green["authenticity"]["executionId"].as_str().expect("it has one");
    let said = notes(&red);
    assert!(said.contains(&format!("the same tree passed in {run}")), "{said}");
    assert!(said.contains("test_chance` of `pytest` passed there and failed here"), "{said}");
    std::fs::remove_file(project.shared("fail")).expect("it is there");
    let said = notes(&project.proctor(["run"]).success().report());
    assert!(said.contains("the same tree failed in"), "{said}");
    assert!(said.contains("test_chance` of `pytest` failed there and passed here"), "{said}");
}

#[test]
fn a_check_that_was_not_run_both_times_has_no_two_results() {
    let check = |name: &str, command: &str| format!("[[check]]\nname = \"{name}\"\ncommand = \"{command}\"\n");
    let toml = [WRITES_TO_SHARED, &check("first", "true"), &check("second", "test ! -e ../shared/fail")].concat();
    let project = Project::new().toml(&toml);
    std::fs::write(project.shared("fail"), "").expect("it is ours");
    project.proctor(["run"]).failure();
    let only_first = project.proctor(["run", "--check", "first"]).any_status().report();
    assert!(!notes(&only_first).contains("flaky"), "`second` was not run: {}", notes(&only_first));
}
