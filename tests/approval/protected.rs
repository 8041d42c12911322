//! Tests protected files through the program: their digest in the report, the changes since the approval, and when a
//! person has to approve them.

use serde_json::{Value, json};

use super::approvals;
use crate::common::{Project, python_plain};

const PROTECT: &str = "[approval]\nprotect = [\"tests/**\", \"conftest.py\"]\n";
const HUMAN_REVIEW: &str = "on_protected_change = \"human-review\"\n";
const TESTS: &str =
    "import pytest\n\n\ndef test_one():\n    assert 1\n\n\ndef test_two():\n    assert 1\n\n\ndef test_three():\n    assert 1\n";

fn settings(more: &str) -> String {
    let python = python_plain();
    let command = format!("command = [{:?}, \"-m\", \"pytest\", \"-q\", \"-p\", \"no:cacheprovider\"]", python.to_string_lossy());
    format!("[[check]]\nname = \"tests\"\n{command}\n{PROTECT}{more}")
}

fn project(more: &str) -> Project {
    Project::new().toml(&settings(more)).file("tests/test_a.py", TESTS).file("code.py", "one = 1\n")
}

/// Returns the protected test file after it was made easier: one test is skipped, one is expected to fail, and one is
/// added.
fn easier() -> String {
    let skipped = TESTS.replace("def test_one", "@pytest.mark.skip\ndef test_one");
    let expected = skipped.replace("def test_two():\n    assert 1", "@pytest.mark.xfail\ndef test_two():\n    assert 0");
    expected + "\n\ndef test_four():\n    assert 1\n"
}

#[test]
#[ignore = "long tier"]
fn the_digest_of_protected_files_stands_beside_the_verdict_and_a_change_is_shown_until_it_is_approved() {
    let project = project("");
    let first = project.proctor(["run"]).success();
    assert!(first.stderr.contains("1 protected file(s) are approved by this run"), "{}", first.snapshot());
    let before = first.report()["testsModified"].clone();
    assert_eq!((&before["modified"], &before["files"], &before["changedCount"]), (&json!(false), &json!(1), &json!(0)));
    assert_eq!((&before["approved"], &before["tests"]), (&before["now"], &Value::Null));
    project.save("code.py", "one = 2\n");
    assert_eq!(project.proctor(["run"]).success().report()["testsModified"]["modified"], false, "code is not protected");

    project.save("tests/test_a.py", &easier());
    project.save("conftest.py", "# nothing\n");
    let changed = project.proctor(["run"]).success();
    let shown = changed.report()["testsModified"].clone();
    assert_eq!((&shown["modified"], &shown["changedCount"], &shown["approved"]), (&json!(true), &json!(2), &before["approved"]));
    assert_ne!(shown["now"], before["now"]);
    let expected = json!([{"path": "conftest.py", "change": "added"}, {"path": "tests/test_a.py", "change": "modified"}]);
    assert_eq!(shown["changes"], expected);
    assert_eq!(shown["tests"]["before"], json!({"total": 3, "skipped": 0, "expectedFailures": 0}));
    assert_eq!(shown["tests"]["now"], json!({"total": 4, "skipped": 1, "expectedFailures": 1}));
    let said = "protected files are not what was approved: conftest.py is new, tests/test_a.py is another; 4 tests instead of 3, \
                1 skipped instead of 0, 1 expected to fail instead of 0 · `proctor approve`";
    assert!(changed.stdout.contains(said) || changed.stderr.contains(said), "{}", changed.snapshot());
    // The files are compared with the approved ones, not with those of the last run.
    assert_eq!(project.proctor(["run"]).success().report()["testsModified"]["modified"], true);

    let asked = project.proctor(["approve"]).status(3);
    assert!(asked.stderr.contains("protected: tests/test_a.py is another"), "{}", asked.snapshot());
    let shown = project.approve();
    assert!(shown.contains("protected files of task `default` of `proctor.toml` are not what was approved"), "{shown}");
    let last = approvals(&project).pop().expect("it is in the ledger");
    assert_eq!((&last["reason"], &last["weakened"][0]), (&json!("person"), &json!("protected: conftest.py is new")));
    assert_eq!(project.proctor(["run"]).success().report()["testsModified"]["modified"], false);
    project.proctor(["verify"]).success();
}

#[test]
#[ignore = "long tier"]
fn a_change_of_protected_files_asks_for_a_person_where_that_is_configured() {
    let project = project(HUMAN_REVIEW);
    project.proctor(["run"]).success();
    project.save("tests/test_a.py", &easier());
    let passed = project.proctor(["run"]).status(3).report();
    assert_eq!(passed["validationCriteriaEvaluation"]["overallResult"], "PASSED");
    let route = &passed["route"];
    assert_eq!(
        (&route["nextNode"], &route["requiresHuman"], &route["kind"]),
        (&json!("HUMAN_REVIEW"), &json!(true), &json!("protected-files"))
    );
    assert!(route["reason"].as_str().is_some_and(|reason| reason.contains("tests/test_a.py is another")), "{route}");
    project.proctor(["wait", "--fresh"]).status(3);
    // A failed check is reported as a failure of the code, even if protected files have changed.
    project.save("tests/test_b.py", "def test_it():\n    assert 0\n");
    project.proctor(["run"]).status(1);
    std::fs::remove_file(project.path().join("tests/test_b.py")).expect("it was there");
    project.approve();
    project.proctor(["run"]).success();

    project.proctor(["tdd", "start", "--phase", "GREEN"]).success();
    project.save("tests/test_a.py", TESTS);
    project.proctor(["run"]).status(3);
    let standing = project.proctor(["status", "--json"]).success().json();
    assert_eq!(standing["projects"][0]["tasks"][0]["state"], "needsHuman", "inside of a cycle the task waits: {standing}");
}

#[test]
fn what_is_protected_cannot_be_changed_by_way_of_the_settings() {
    let project = project("");
    project.proctor(["run"]).success();
    project.save("tests/test_a.py", &easier());
    // A change of the settings approves no protected file.
    project.save("proctor.toml", &settings(HUMAN_REVIEW).replace("\"conftest.py\"", "\"conftest.py\", \"code.py\""));
    let report = project.proctor(["run"]).status(3).report();
    let changes = report["testsModified"]["changes"].to_string();
    assert!(changes.contains("tests/test_a.py"), "{changes}");
    assert_eq!(report["rulesChanged"], json!(["approval: on_protected_change, protect"]));
    project.save("proctor.toml", &settings(HUMAN_REVIEW).replace("\"tests/**\", ", ""));
    let changed = project.proctor(["run", "--json"]).any_status();
    assert_eq!(changed.json()["rulesChanged"], json!(["approval: on_protected_change, protect"]), "{}", changed.snapshot());
    project.proctor(["request", "status", "COMPLETE"]).status(3);
}
