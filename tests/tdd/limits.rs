//! Tests the limits on scaffold errors and attempts, repeated failures, and the policies on collection errors.

use serde_json::json;

use super::{EMPTY, FAILING, PASSING, last_line, project, routed, run, tdd};

const MISSING: &str = "import subject\n\n\ndef test_it():\n    assert subject.answer() == 42\n";

#[test]
fn the_third_run_without_tests_in_a_row_waits_for_a_person() {
    let project = project("");
    tdd(&project, &["start", "--phase", "GREEN"]);
    for attempt in 1..=2 {
        let scaffold = run(&project, EMPTY, 1);
        assert_eq!(last_line(&scaffold), "FAILED · tests failed · GREEN → N2 re-scaffold the tests");
        assert_eq!(routed(&scaffold), json!(["N2", "routed", "GREEN", "GREEN", attempt]));
    }
    let third = run(&project, EMPTY, 3);
    insta::assert_snapshot!(last_line(&third), @"FAILED · tests failed · GREEN → HUMAN_REVIEW a person decides");
    assert_eq!(routed(&third), json!(["HUMAN_REVIEW", "retry-limit", "GREEN", "GREEN", 3]));
    let report = third.report();
    assert_eq!(report["route"]["reason"], "Scaffold retry limit (3) exceeded");
    assert_eq!(report["route"]["overrideOf"], "N2");
    run(&project, PASSING, 3);
}

#[test]
fn another_result_in_between_begins_the_streak_anew() {
    let project = project("[tdd]\nmax_scaffold_retries = 2\n");
    tdd(&project, &["start", "--phase", "GREEN"]);
    run(&project, EMPTY, 1);
    run(&project, FAILING, 1);
    run(&project, EMPTY, 1);
    assert_eq!(routed(&run(&project, EMPTY, 3)), json!(["HUMAN_REVIEW", "retry-limit", "GREEN", "GREEN", 4]));
}

#[test]
fn the_limit_on_attempts_ends_a_phase_that_leads_nowhere() {
    let project = project("[tdd]\nmax_attempts = 2\n");
    tdd(&project, &["start", "--phase", "GREEN"]);
    assert_eq!(routed(&run(&project, FAILING, 1)), json!(["N3", "routed", "GREEN", "GREEN", 1]));
    let last = run(&project, &FAILING.replace("== 2", "== 3"), 3);
    assert_eq!(routed(&last), json!(["HUMAN_REVIEW", "attempt-limit", "GREEN", "GREEN", 2]));
    insta::assert_snapshot!(last.report()["route"]["reason"], @r#""Attempt limit (2) reached in GREEN phase, requires human review""#);
}

#[test]
fn the_same_failure_on_the_same_tree_refuses_a_retry() {
    let project = project("");
    tdd(&project, &["start", "--phase", "GREEN"]);
    run(&project, EMPTY, 1);
    let again = project.proctor(["run"]).failure();
    let report = again.report();
    assert_eq!(report["route"]["retryAllowed"], false);
    insta::assert_snapshot!(report["route"]["reason"], @r#""No tests collected, re-scaffold required (the same failure 2 times on the same tree: a retry cannot help)""#);
}

#[test]
fn a_collection_error_asks_for_a_person_unless_a_policy_says_otherwise() {
    for (settings, node, kind, status) in [
        ("", "HUMAN_REVIEW", "routed", 3),
        ("[routing]\ncollection_error = \"re-scaffold\"\n", "N2", "collection-error-policy", 1),
        ("[routing]\ncollection_error = \"red-if-missing\"\n", "HUMAN_REVIEW", "routed", 3),
        (
            "[routing]\ncollection_error = \"red-if-missing\"\n[tdd]\nexpected_missing = [\"other\"]\n",
            "HUMAN_REVIEW",
            "routed",
            3,
        ),
    ] {
        let project = project(settings);
        tdd(&project, &["start"]);
        let missing = run(&project, MISSING, status);
        let report = missing.report();
        assert_eq!(json!([report["route"]["nextNode"], report["route"]["kind"]]), json!([node, kind]), "{settings}");
    }
}

#[test]
fn a_missing_module_that_is_expected_is_a_valid_red_and_shown_as_an_override() {
    let project = project("[routing]\ncollection_error = \"red-if-missing\"\n[tdd]\nexpected_missing = [\"subject\"]\n");
    tdd(&project, &["start"]);
    let missing = run(&project, MISSING, 0);
    insta::assert_snapshot!(last_line(&missing), @"FAILED · tests failed · RED → N4 valid RED, implement");
    assert_eq!(routed(&missing), json!(["N4", "collection-error-policy", "RED", "GREEN", 0]));
    let route = &missing.report()["route"];
    assert_eq!((&route["overrideOf"], &route["exitCode"]), (&json!("HUMAN_REVIEW"), &json!(2)));
    assert_eq!(route["reason"], "Valid RED state - expected modules missing: subject");
    insta::assert_snapshot!(tdd(&project, &["show"]).snapshot(), @"
    exit status: 0
    --- stdout
    default: GREEN · 0 attempts in this phase
      RED      exit 2   → N4  Valid RED state - expected modules missing: subject
    ");
    assert_eq!(routed(&run(&project, MISSING, 3)), json!(["HUMAN_REVIEW", "routed", "GREEN", "GREEN", 1]), "in RED only");
}
