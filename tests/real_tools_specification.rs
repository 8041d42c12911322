//! Tests real pytest, tsc and eslint through a test specification: its declarations and policies decide whether their
//! findings block.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Project, node_modules, python_plain};

const FILE: &str = "specs/T117-test-specification.json";

/// Returns a specification of one task with one step that runs `command`.
fn specification(command: &str, policy: Value, added: Value) -> String {
    let mut document = json!({
        "schemaVersion": "2.0.0",
        "metadata": {
            "projectName": "billing", "sprintId": "SPRINT_012",
            "generatedAt": "2026-03-04T09:15:00.000Z", "generatedBy": "by hand"
        },
        "globalConfiguration": { "workspaceRoot": "/srv/billing", "evidenceDirectory": "evidence", "validationPolicy": policy },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND"] },
        "tasks": { "T117": {
            "taskId": "T117",
            "title": "Half-even rounding of totals",
            "description": "Totals must be rounded half-to-even on two decimals for every currency that has minor units.",
            "testExecution": { "steps": [{
                "actionId": "STEP.1", "type": "TERMINAL_COMMAND", "description": "looks at the totals",
                "parameters": { "command": command, "workingDirectory": "/srv/billing" }, "timeout": 60000
            }] },
            "validationCriteria": {
                "successConditions": [{ "condition": "STEP.1.exitCode < 3", "description": "The tool did its work" }]
            },
            "completionCriteria": { "allStepsMustPass": true }
        } }
    });
    if added != Value::Null {
        document["tasks"]["T117"]["proctor"] = added;
    }
    serde_json::to_string_pretty(&document).expect("it is JSON")
}

/// Runs the task, expects `status`, and returns the report.
#[track_caller]
fn run(project: &Project, status: i32) -> Value {
    project.proctor(["run", "--task", "T117", "--json"]).status(status).json()
}

fn red(tests: &[&str]) -> Value {
    json!({ "version": "1.0.0", "expectedOutcome": "FAIL", "expectedFailingTests": tests })
}

#[test]
#[ignore = "long tier"]
fn c06_a_declared_red_passes_and_any_other_failure_does_not() {
    const TWO: &str =
        "def test_kept():\n    assert True\n\ndef test_half_even():\n    assert round(2.665, 2) == 2.66 and False\n";
    let command = format!("{} -m pytest -q", python_plain().display());
    let declared = specification(&command, json!({}), red(&["test_totals.py::test_half_even"]));
    let project = Project::new().file(FILE, &declared).file("test_totals.py", TWO);
    let report = run(&project, 0);
    let result = &report["stepExecution"]["results"][0];
    assert_eq!((&result["status"], &result["blocking"]), (&json!("TEST_FAILURE"), &json!(false)), "{result}");
    assert_eq!(result["classification"]["isExpectedFailure"], true);
    assert_eq!(result["debtGeneration"]["shouldGenerate"], false);
    let judged = &report["validationCriteriaEvaluation"];
    assert_eq!(
        judged["expectedFailure"],
        json!({ "declared": ["test_totals.py::test_half_even"], "failed": ["test_totals.py::test_half_even"], "met": true })
    );
    assert_eq!(judged["overallResult"], "PASSED", "{judged}");
    let completion = &report["completionCriteriaEvaluation"];
    assert_eq!(
        [&completion["completionStatus"], &completion["taskStatus"], &completion["partialReason"]],
        ["INCOMPLETE", "PARTIAL", "EXPECTED_RED"],
        "{completion}"
    );
    // In three cases the result is not as declared: another test fails too, no test fails, the tests cannot be
    // collected.
    for (tests, why) in [
        (TWO.replace("True", "False"), "not declared as failing: `test_totals.py::test_kept`"),
        (TWO.replace(" and False", " or True"), "The tests were expected to fail, and none did"),
        (format!("import totals\n{TWO}"), "STEP.1 did not fail as declared: "),
    ] {
        project.save("test_totals.py", &tests);
        let report = run(&project, 1);
        let judged = &report["validationCriteriaEvaluation"];
        assert_eq!((&judged["overallResult"], &judged["expectedFailure"]["met"]), (&json!("FAILED"), &json!(false)), "{judged}");
        let said = judged["expectedFailure"]["reason"].as_str().expect("it says why");
        assert!(said.contains(why), "{said}");
    }
    // Each declared test must fail. A specification that declares more failing tests would need an approval, so this
    // case uses another project.
    let more = red(&["test_totals.py::test_half_even", "test_totals.py::test_gone"]);
    let other = Project::new().file("test_totals.py", TWO).file(FILE, &specification(&command, json!({}), more));
    let report = run(&other, 1);
    let judged = &report["validationCriteriaEvaluation"]["expectedFailure"];
    assert_eq!(judged["reason"], "Declared as failing, and did not fail: `test_totals.py::test_gone`", "{judged}");
    // A test that passed in an earlier run is no expected failure, even if it is declared.
    project.save("test_totals.py", TWO);
    let report = run(&project, 1);
    let reason = &report["stepExecution"]["results"][0]["classification"]["reason"];
    let reason = reason.as_str().expect("it says why");
    assert!(reason.contains("declared as failing, and passed before: `test_totals.py::test_half_even` in exec-"), "{reason}");
    // A declaration is only valid in the RED phase. Once the cycle has gone on to GREEN, the same test must pass.
    let project = Project::new().file(FILE, &declared).file("test_totals.py", TWO);
    project.proctor(["tdd", "start", "T117"]).success();
    let report = run(&project, 0);
    assert_eq!(
        (&report["tdd"]["phaseAfter"], &report["route"]["nextNode"]),
        (&json!("GREEN"), &json!("N4")),
        "{}",
        report["tdd"]
    );
    let report = run(&project, 1);
    assert_eq!(report["validationCriteriaEvaluation"].get("expectedFailure"), None, "{report}");
    assert_eq!(report["stepExecution"]["results"][0]["debtGeneration"]["shouldGenerate"], true);
    // `--phase red` asks for the red phase, but does not change the phase of the cycle.
    let report = project.proctor(["run", "--task", "T117", "--phase", "red", "--json"]).status(1).json();
    assert_eq!(report["validationCriteriaEvaluation"]["overallResult"], "FAILED", "{report}");
    assert_eq!(report["stepExecution"]["results"][0]["debtGeneration"]["shouldGenerate"], true);
}

/// pytest refuses a command that names a deleted file or test. That is a missing test, not an error of the command.
#[test]
#[ignore = "long tier"]
fn c07_a_deleted_test_is_a_failure_with_the_tests_that_are_missing() {
    const BOTH: &str = "def test_total():\n    assert True\n\ndef test_sum():\n    assert True\n";
    let rows: [(&str, &str, Option<&str>, &[&str]); 4] = [
        ("tests/test_totals.py", "the file", None, &["tests/test_totals.py::test_total", "tests/test_totals.py::test_sum"]),
        (
            "tests/test_totals.py::test_sum",
            "the test",
            Some("def test_total():\n    assert True\n"),
            &["tests/test_totals.py::test_sum"],
        ),
        (
            "tests",
            "the tests of the directory",
            Some(""),
            &["tests/test_totals.py::test_total", "tests/test_totals.py::test_sum"],
        ),
        ("-q --no-such-option", "nothing, and the command is wrong", Some(BOTH), &[]),
    ];
    for (arguments, what, left, missing) in rows {
        let command = format!("{} -m pytest -q {arguments}", python_plain().display());
        let project = Project::new().file("tests/test_totals.py", BOTH);
        let project = project.file(FILE, &specification(&command, json!({}), Value::Null));
        if !missing.is_empty() {
            run(&project, 0);
        }
        match left {
            Some(text) => project.save("tests/test_totals.py", text),
            None => std::fs::remove_file(project.path().join("tests/test_totals.py")).expect("it is there"),
        }
        let report = run(&project, 1);
        let result = &report["stepExecution"]["results"][0];
        let names = result["classification"].get("missingTests").cloned().unwrap_or_else(|| json!([]));
        let debt = &result["debtGeneration"]["shouldGenerate"];
        let status = if missing.is_empty() { "EXECUTION_ERROR" } else { "TEST_FAILURE" };
        assert_eq!(
            (&result["status"], debt, names),
            (&json!(status), &json!(!missing.is_empty()), json!(missing)),
            "{what}: {result}"
        );
    }
}

/// A run of other checks, and a run that reused the tests' result, have no record of the tests. A deleted test must
/// still be found by comparing with the last run that has such a record.
#[test]
#[ignore = "long tier"]
fn c07_no_green_run_without_the_tests_hides_that_one_was_deleted() {
    let unit = format!("command = [{:?}, \"-m\", \"pytest\", \"-q\", \"tests/test_a.py\"]", python_plain().to_string_lossy());
    let toml = format!("[[check]]\nname = \"unit\"\n{unit}\n[[check]]\nname = \"lint\"\ncommand = \"true\"\n");
    let reusing = format!("{toml}[run]\nreuse = \"always\"\n");
    let rows: [(&str, &str, &[&str]); 2] = [
        ("a run of another check", &toml, &["run", "--check", "lint", "--json"]),
        ("a run that reused the result", &reusing, &["run", "--json"]),
    ];
    for (what, toml, between) in rows {
        let project = Project::new().toml(toml).file("tests/test_a.py", "def test_one():\n    assert 1 == 1\n");
        project.proctor(["run"]).success();
        for _ in 0..2 {
            let report = project.proctor(between).success().json();
            let files = report["evidenceFiles"].as_array().expect("it has some").iter();
            let tests = files.filter(|file| file["name"].as_str().is_some_and(|name| name.ends_with("-test-results.json")));
            assert_eq!(tests.count(), 0, "{what} has no record of tests");
        }
        std::fs::remove_file(project.path().join("tests/test_a.py")).expect("it is there");
        let report = project.proctor(["run", "--json"]).status(1).json();
        let result = &report["stepExecution"]["results"][0];
        let classification = &result["classification"];
        assert_eq!(
            (&result["status"], &result["blocking"], &classification["code"], &classification["missingTests"]),
            (&json!("TEST_FAILURE"), &json!(true), &json!("TESTS_MISSING"), &json!(["tests/test_a.py::test_one"])),
            "{what}: {result}"
        );
        assert_eq!(result["debtGeneration"]["shouldGenerate"], true, "{what}: {result}");
    }
}

/// Unknown is never success: a declared test may have passed in an earlier run that cannot be read.
#[test]
fn c06_a_history_that_cannot_be_read_as_it_was_sealed_excuses_nothing() {
    const RED: &str = "def test_half_even():\n    assert round(2.665, 2) == 2.66 and False\n";
    let command = format!("{} -m pytest -q", python_plain().display());
    let declared = specification(&command, json!({}), red(&["test_totals.py::test_half_even"]));
    let project = Project::new().file(FILE, &declared).file("test_totals.py", RED);
    run(&project, 0);
    let earlier = project.store().run_directory("T117");
    for (name, said) in [("STEP.1-test-results.json", "the tests of exec-"), ("execution-report.json", "the report of exec-")] {
        let path = earlier.join(name);
        let text = std::fs::read_to_string(&path).expect("it is there");
        // The changed file is still a valid document of its kind, but no longer contains the test.
        overwrite(&path, &text.replace("test_half_even", "test_another"));
        let report = run(&project, 1);
        let result = &report["stepExecution"]["results"][0];
        let reason = result["classification"]["reason"].as_str().expect("it says why");
        assert!(reason.contains("whether they passed before is not known: ") && reason.contains(said), "{name}: {reason}");
        assert_eq!((&result["blocking"], &result["debtGeneration"]["shouldGenerate"]), (&json!(true), &json!(true)), "{name}");
        assert_eq!(report["validationCriteriaEvaluation"]["expectedFailure"]["met"], false, "{name}");
        overwrite(&path, &text);
        run(&project, 0);
    }
}

/// The index does not prove older runs: whoever takes one out of it, or says that it was pruned, hides no test that passed.
#[test]
#[ignore = "long tier"]
fn c06_a_pass_counts_whatever_the_index_says_of_older_runs() {
    let command = format!("{} -m pytest -q", python_plain().display());
    let declared = specification(&command, json!({}), red(&["test_totals.py::test_half_even"]));
    let project = Project::new().file(FILE, &declared).file("test_totals.py", "def test_half_even():\n    assert True\n");
    run(&project, 1);
    project.save("test_totals.py", "def test_half_even():\n    assert False\n");
    (0..3).for_each(|_| drop(run(&project, 1)));
    let passed = "(SELECT run_id FROM runs ORDER BY sequence LIMIT 1)";
    for edit in [
        format!("INSERT INTO pruned SELECT project, run_id, 'runs', 9 FROM runs WHERE run_id = {passed}"),
        format!("DELETE FROM runs WHERE run_id = {passed}"),
    ] {
        let index = rusqlite::Connection::open(project.root().join("state/proctor/state.db")).expect("it is there");
        index.execute_batch(&edit).unwrap_or_else(|error| panic!("{edit}: {error}"));
        drop(index);
        let report = run(&project, 1);
        let reason = report["stepExecution"]["results"][0]["classification"]["reason"].as_str().expect("it says why");
        assert!(reason.contains("passed"), "{edit}: {reason}");
    }
}

/// Writes a file that proctor has made read-only.
#[track_caller]
fn overwrite(path: &Path, text: &str) {
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).expect("it is ours");
    std::fs::write(path, text).expect("it is ours");
}

/// Returns the path of a program that the bundled project's TypeScript or ESLint package brings.
fn program(name: &str) -> String {
    node_modules().join(".bin").join(name).display().to_string()
}

#[test]
#[ignore = "long tier"]
fn c23_to_c25_the_policies_of_a_specification_decide_what_eslint_finds() {
    const RULES: &str =
        "export default [{ rules: { 'no-unused-vars': 'warn', 'no-console': 'error', 'eqeqeq': 'warn', 'no-var': 'warn' } }];\n";
    const CODE: &str = "const unused = 1;\nconsole.log(1 == 2);\nvar old = 3;\nconsole.log(old);\n";
    // eslint finds 2 errors (no-console) and 3 warnings in this code.
    let eslint = |policy: Value| json!({ "linting": { "strategy": "WARN_ONLY", "tools": { "eslint": policy } } });
    let rows = [
        (json!({ "linting": { "strategy": "WARN_ONLY" } }), 0, [2, 3], "WARN_ONLY"),
        (json!({ "linting": { "strategy": "BLOCK_ON_ERRORS_ONLY" } }), 1, [2, 3], "BLOCK_ON_ERRORS_ONLY"),
        // The policy for a tool has precedence over the policy for its category.
        (eslint(json!({ "blockOn": "ERRORS_ONLY" })), 1, [2, 3], "BLOCK_ON_ERRORS_ONLY"),
        (eslint(json!({ "blockOn": "ERRORS_ONLY", "ignoredRules": ["no-console"] })), 0, [0, 3], "BLOCK_ON_ERRORS_ONLY"),
        (
            eslint(json!({ "blockOn": "ERRORS_ONLY", "ignoredRules": ["no-console"], "maxWarnings": 2 })),
            1,
            [0, 3],
            "BLOCK_ON_ERRORS_ONLY",
        ),
        (
            eslint(json!({ "blockOn": "ERRORS_ONLY", "ignoredRules": ["no-console"], "maxWarnings": 3 })),
            0,
            [0, 3],
            "BLOCK_ON_ERRORS_ONLY",
        ),
        (
            eslint(json!({ "blockOn": "ERRORS_ONLY", "ignoredRules": ["no-console"], "errorOnRules": ["eqeqeq"] })),
            1,
            [1, 2],
            "BLOCK_ON_ERRORS_ONLY",
        ),
        (
            eslint(json!({ "blockOn": "ERRORS_ONLY", "ignoredRules": ["no-console"], "treatWarningsAsErrors": true })),
            1,
            [3, 0],
            "BLOCK_ON_ERRORS_ONLY",
        ),
        (eslint(json!({ "blockOn": "ERRORS_ONLY", "enabled": false })), 0, [2, 3], "NEVER"),
    ];
    let command = format!("{} totals.js", program("eslint"));
    for (policy, status, [errors, warnings], strategy) in rows {
        // A weaker policy than the one before would need an approval, so each row uses a new project.
        let project = Project::new().file("eslint.config.mjs", RULES).file("totals.js", CODE);
        project.save(FILE, &specification(&command, policy.clone(), Value::Null));
        let report = run(&project, status);
        let result = &report["stepExecution"]["results"][0];
        let summary = &result["result"]["summary"];
        assert_eq!((&summary["errors"], &summary["warnings"]), (&json!(errors), &json!(warnings)), "{policy}: {result}");
        assert_eq!(result["classification"]["policyApplied"]["strategy"], strategy, "{policy}");
        assert_eq!(result["blocking"], status == 1, "{policy}");
    }
}

#[test]
#[ignore = "long tier"]
fn c24_a_project_that_is_less_strict_than_its_specification_runs_nothing_and_tsc_decides_the_rest() {
    const CODE: &str = "export function total(cents) { return cents / 100; }\n";
    let policy = |strict: bool, block_on: &str| {
        json!({ "typeChecking": { "strategy": "WARN_ONLY", "tools": { "typescript": {
            "blockOn": block_on, "strictMode": strict, "allowImplicitAny": !strict
        } } } })
    };
    let command = format!("{} --noEmit -p tsconfig.json", program("tsc"));
    let with = |strict: bool, block_on: &str| specification(&command, policy(strict, block_on), Value::Null);
    let loose = "{ \"compilerOptions\": { \"strict\": false, \"types\": [] }, \"files\": [\"totals.ts\"] }\n";
    let project = Project::new().file(FILE, &with(true, "ERRORS_ALWAYS")).file("tsconfig.json", loose);
    // With `strict`, tsc finds an error that the loose configuration allows.
    project.save("totals.ts", CODE);
    let refused = project.proctor(["run", "--task", "T117"]).status(4);
    assert!(refused.stderr.contains("STRICTNESS_DIFFERS"), "{}", refused.snapshot());
    assert!(refused.stderr.contains("`strictMode` is true here, and false in the project"), "{}", refused.snapshot());
    let checked = project.proctor(["check"]).status(4);
    assert!(checked.stdout.contains("/typescript/allowImplicitAny"), "{}", checked.snapshot());
    let strict = loose.replace("false", "true");
    let other = |tsconfig: &str, specification: &str| {
        Project::new().file(FILE, specification).file("tsconfig.json", tsconfig).file("totals.ts", CODE)
    };
    for (block_on, status, severity) in [("ERRORS_ALWAYS", 1, "CRITICAL"), ("ERRORS_ONLY", 1, "HIGH"), ("WARN_ONLY", 0, "LOW")] {
        let report = run(&other(&strict, &with(true, block_on)), status);
        let result = &report["stepExecution"]["results"][0];
        assert_eq!(result["classification"]["severity"], severity, "{result}");
        assert_eq!(result["result"]["diagnostics"][0]["code"], "TS7006", "{result}");
    }
    assert_eq!(run(&other(loose, &with(false, "ERRORS_ALWAYS")), 0)["stepExecution"]["results"][0]["status"], "SUCCESS");
}
