//! Tests that what a RED phase is for leaves no debt: tests that are new since the phase began, and tests that the settings name.

use serde_json::{Value, json};

use super::{FAILING, PASSING, last_line, project, routed, run, tdd};
use crate::common::{Output, Project};

const BEFORE: &str = "def test_old():\n    assert 1 == 2\n";

/// Returns what a report says about the tests: whether they block, the debt, the verdict and what an agent does next.
fn judged(output: &Output) -> Value {
    let report = output.report();
    let action = report["stepExecution"]["results"][0].clone();
    json!([
        action["blocking"],
        action["classification"]["isTDDRedPhase"],
        report["technicalDebtGenerated"]["itemsCreated"].as_u64().unwrap_or_default(),
        report["completionCriteriaEvaluation"]["completionStatus"],
        action["agentAction"]["action"],
    ])
}

#[test]
fn a_test_that_is_new_since_red_began_is_no_debt_and_no_pass() {
    let project = project("");
    run(&project, PASSING, 0);
    tdd(&project, &["start"]);
    let red = run(&project, &format!("{PASSING}\n\ndef test_new():\n    assert 1 == 2\n"), 0);
    assert_eq!(judged(&red), json!([false, true, 0, "INCOMPLETE", "CONTINUE"]), "{}", red.report());
    assert_eq!(routed(&red), json!(["N4", "routed", "RED", "GREEN", 0]));
    insta::assert_snapshot!(last_line(&red), @"FAILED · RED → N4 valid RED, implement");
    assert_eq!(red.report()["validationCriteriaEvaluation"]["overallResult"], "FAILED", "a RED proves nothing of a commit");
    assert_eq!(project.store().committed_runs()[1]["results"][0]["outcome"]["blocking"], "blocks", "nor does its check");
    // In GREEN the same failure is a debt like any other.
    let green = run(&project, &format!("{PASSING}\n\ndef test_new():\n    assert 1 == 3\n"), 1);
    assert_eq!(judged(&green), json!([true, false, 1, "INCOMPLETE", "IMPLEMENT_FIX"]));
}

#[test]
fn a_test_that_passed_when_red_began_is_what_the_phase_is_for_and_one_that_failed_is_not() {
    let project = project("");
    run(&project, &format!("{PASSING}\n\n{BEFORE}"), 1);
    tdd(&project, &["start"]);
    let both = run(&project, &format!("{FAILING}\n\n{BEFORE}"), 0);
    assert_eq!(judged(&both), json!([true, true, 1, "INCOMPLETE", "CONTINUE"]));
    let reason = both.report()["stepExecution"]["results"][0]["classification"]["reason"].clone();
    assert!(
        reason.as_str().is_some_and(|reason| reason.contains("failed before the RED phase began") && reason.contains("test_old"))
    );
    tdd(&project, &["reset"]);
    run(&project, &format!("{PASSING}\n\ndef test_old():\n    assert True\n"), 0);
    tdd(&project, &["start"]);
    let passed = run(&project, FAILING, 0);
    assert_eq!(judged(&passed), json!([false, true, 0, "INCOMPLETE", "CONTINUE"]));
}

#[test]
fn a_test_that_failed_before_is_excused_where_the_settings_name_it_or_its_file() {
    for named in ["test_it.py", "test_it.py::test_old"] {
        let project = project(&format!("[tdd]\nexpected_failing = [\"{named}\"]\n"));
        run(&project, &format!("{PASSING}\n\n{BEFORE}"), 1);
        tdd(&project, &["start"]);
        let red = run(&project, &format!("{PASSING}\n\n# new\n{BEFORE}"), 0);
        assert_eq!(judged(&red), json!([false, true, 0, "INCOMPLETE", "CONTINUE"]), "{named}");
    }
}

#[test]
fn a_project_that_was_never_run_has_nothing_that_failed_before() {
    let project: Project = project("");
    tdd(&project, &["start"]);
    assert_eq!(judged(&run(&project, FAILING, 0)), json!([false, true, 0, "INCOMPLETE", "CONTINUE"]));
}
