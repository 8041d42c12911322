//! Tests `technical-debt-data.json` of real runs: its contents, that it is evidence, and that open items keep their ids
//! while others are fixed.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::common::{Output, Project, node_modules, python_plain};
use crate::run::{check, project};

const NAME: &str = "technical-debt-data.json";
const CART: &str = "def total(prices):\n    return sum(prices)\n";
const MENDED: &str = "def total(prices):\n    return round(sum(prices), 2)\n";
const TEST: &str = "from cart import total\n\n\ndef test_total():\n    assert total([0.1, 0.2]) == 0.3\n";
const LINT: &str = "export default [{ files: ['web/*.js'], rules: { 'no-undef': 'error' } }];\n";

/// A project with a failing test and an eslint error, checked by the real tools.
fn shop() -> Project {
    let python = python_plain();
    let eslint = node_modules().join(".bin/eslint");
    let checks = format!(
        "[[check]]\nname = \"tests\"\ntool = \"pytest\"\ncommand = [\"{}\", \"-m\", \"pytest\"]\n\
         [[check]]\nname = \"lint\"\ntool = \"eslint\"\ncommand = [\"{}\", \"web\"]\n",
        python.display(),
        eslint.display()
    );
    let project = Project::new()
        .file("cart.py", CART)
        .file("test_cart.py", TEST)
        .file("eslint.config.mjs", LINT)
        .file("web/table.js", "totl();\n")
        .toml(&checks);
    symlink(node_modules(), project.path().join("node_modules")).expect("the project has none");
    project
}

#[track_caller]
fn debt_of(output: &Output) -> Value {
    let bytes = fs::read(output.run_directory().join(NAME)).expect("a judged run has a debt file");
    serde_json::from_slice(&bytes).expect("it is JSON")
}

fn items(debt: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let items = debt["debtItems"].as_array().expect("a list").iter();
    items.map(|item| (text(&item["debtId"]), text(&item["classification"]["category"]))).collect()
}

#[test]
#[ignore = "long tier"]
fn real_tests_and_lint_are_debt_and_what_is_left_keeps_its_id() {
    let project = shop();
    let first = project.proctor(["run"]).failure();
    let debt = debt_of(&first);
    let both = [("DEBT-default-001", "BUSINESS_LOGIC_ERROR"), ("DEBT-default-002", "REFACTOR")];
    let found = items(&debt);
    assert_eq!(found.len(), 2, "{debt:#}");
    let categories: Vec<_> = found.iter().map(|(id, category)| (id.as_str(), category.as_str())).collect();
    assert_eq!(categories, both, "{debt:#}");
    let test = &debt["debtItems"][0];
    assert_eq!(test["testFailure"]["testFile"], "test_cart.py");
    assert_eq!(test["errorDetails"]["originalError"]["line"], 5, "{test:#}");
    assert_eq!(test["implementationGuidance"]["files"], json!(["test_cart.py"]));
    assert_eq!(debt["debtItems"][1]["errorDetails"]["originalError"]["type"], "no-undef");
    // The failing test has moved to another line, but the cause is the same.
    project.save("test_cart.py", &TEST.replace("def test", "\n\ndef test"));
    let again = debt_of(&project.proctor(["run"]).failure());
    assert_eq!(items(&again), found, "a retest finds the same items: {again:#}");
    project.save("cart.py", MENDED);
    let mended = debt_of(&project.proctor(["run"]).failure());
    assert_eq!(items(&mended), found[1..], "{mended:#}");
    assert_eq!(mended["earlierItems"][0]["debtId"], "DEBT-default-001");
    project.save("cart.py", CART);
    let broken = debt_of(&project.proctor(["run"]).failure());
    assert_eq!(items(&broken), found, "what comes back has its id again: {broken:#}");
}

#[test]
fn c52_the_debt_file_is_evidence_that_the_report_names_and_the_task_leads_to() {
    let project = project(&check("unit tests", &["--exit", "1"]));
    let output = project.proctor(["run"]).failure();
    let (report, debt) = (output.report(), debt_of(&output));
    assert_eq!(
        report["technicalDebtGenerated"],
        json!({"itemsCreated": 1, "debtDataFile": NAME, "summary": {"CRITICAL": 0, "HIGH": 1, "MEDIUM": 0, "LOW": 0},
               "routing": {"toSprint": 1, "toInventory": 0}})
    );
    let listed = report["evidenceFiles"].as_array().expect("a list").iter().find(|file| file["name"] == NAME);
    assert_eq!(listed.expect("the debt file is listed")["kind"], "technical-debt");
    assert_eq!(debt["testExecutionId"], report["authenticity"]["executionId"]);
    let sums = fs::read_to_string(output.run_directory().join("SHA256SUMS")).expect("the run is sealed");
    assert!(sums.lines().any(|line| line.ends_with(&format!("  {NAME}"))), "{sums}");
    let beside_latest = project.path().join("evidence/default").join(NAME);
    assert_eq!(beside_latest.canonicalize().expect("a link"), output.run_directory().join(NAME));
    let shown = project.proctor(["show"]).success();
    assert!(
        !shown.stdout.contains("debt"),
        "the project's own checks have failures, and no words of a specification: {}",
        shown.stdout
    );
}

#[test]
fn a_green_run_has_a_debt_file_without_items() {
    let project = project(&check("unit tests", &[]));
    let output = project.proctor(["run"]).success();
    let debt = debt_of(&output);
    assert_eq!((&debt["debtItems"], &debt["routingSummary"]["totalDebtItems"]), (&json!([]), &json!(0)));
    assert_eq!(output.report()["technicalDebtGenerated"]["itemsCreated"], 0);
    let shown = project.proctor(["show"]).success();
    assert!(!shown.stdout.contains("debt:"), "{}", shown.stdout);
}

#[test]
fn a_damaged_debt_file_of_the_last_run_is_said_and_the_numbers_begin_anew() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = project(&check("unit tests", &["--exit", "1"]));
    let path = project.proctor(["run"]).failure().run_directory().join(NAME);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let text = fs::read_to_string(&path).expect("it can be read");
    fs::write(&path, text.replace("DEBT-default-001", "DEBT-default-777")).expect("it is ours");
    let output = project.proctor(["run"]).failure();
    assert_eq!(debt_of(&output)["debtItems"][0]["debtId"], "DEBT-default-001");
    let notes = output.report()["notes"].to_string();
    assert!(notes.contains("items are numbered anew"), "{notes}");
}
