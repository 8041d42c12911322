//! Tests the phases of a TDD cycle, one after another, and the commands that show them.

use std::fs;

use serde_json::json;

use super::{EMPTY, FAILING, PASSING, last_line, project, routed, run, tdd};
use crate::common::{Output, Project};

fn log_lines(project: &Project) -> Vec<String> {
    let directory = project.root().join("state/proctor/log");
    let files = fs::read_dir(directory).expect("the log is there").flatten();
    let text: String = files.map(|file| fs::read_to_string(file.path()).expect("the log is text")).collect();
    text.lines().filter(|line| line.contains("route decided")).map(str::to_owned).collect()
}

#[test]
fn a_cycle_goes_from_red_through_green_and_refactor_to_its_end() {
    let project = project("");
    let started = tdd(&project, &["start"]);
    insta::assert_snapshot!(started.stdout, @"default: RED · 0 attempts in this phase");
    let red = run(&project, FAILING, 0);
    insta::assert_snapshot!(last_line(&red), @"FAILED · RED → N4 valid RED, implement");
    assert_eq!(routed(&red), json!(["N4", "routed", "RED", "GREEN", 0]));
    project.proctor(["wait", "--fresh", "--timeout", "0"]).success();
    let still_failing = run(&project, FAILING, 1);
    insta::assert_snapshot!(last_line(&still_failing), @"FAILED · tests failed · GREEN → N3 back to implementation");
    assert_eq!(routed(&still_failing), json!(["N3", "routed", "GREEN", "GREEN", 1]));
    let green = run(&project, PASSING, 0);
    insta::assert_snapshot!(last_line(&green), @"PASSED · GREEN → NEXT_PHASE");
    assert_eq!(routed(&green), json!(["NEXT_PHASE", "routed", "GREEN", "REFACTOR", 0]));
    let refactored = run(&project, PASSING, 0);
    insta::assert_snapshot!(last_line(&refactored), @"PASSED · REFACTOR → NEXT_PHASE");
    assert_eq!(routed(&refactored), json!(["NEXT_PHASE", "routed", "REFACTOR", "GREEN", 0]));
    insta::assert_snapshot!(tdd(&project, &["show"]).snapshot(), @"
    exit status: 0
    --- stdout
    default: no cycle is started; runs are judged in GREEN
      the decisions of the last cycle, which is over:
      RED      exit 1   → N4  Valid RED state - tests failing as expected
      GREEN    exit 1   → N3  Tests still failing in GREEN phase, back to implementation
      GREEN    exit 0   → NEXT_PHASE  Tests passed, proceeding to next phase
      REFACTOR exit 0   → NEXT_PHASE  Tests passed, proceeding to next phase
    ");
    let kinds: Vec<_> = refactored.ledger().iter().map(|line| line["body"]["kind"].clone()).collect();
    assert_eq!(kinds, ["registered", "phase", "run", "run", "run", "run"]);
    let routes: Vec<_> = project.store().committed_runs().iter().map(|run| run["route"]["nextNode"].clone()).collect();
    assert_eq!(routes, ["N4", "N3", "NEXT_PHASE", "NEXT_PHASE"]);
    insta::assert_snapshot!(without_time(&log_lines(&project), &red), @r#"
    route decided task=default run=<run> phase="RED" code=1 category=TESTS_FAILED route="N4" reason=Valid RED state - tests failing as expected
    route decided task=default run=<run> phase="GREEN" code=1 category=TESTS_FAILED route="N3" reason=Tests still failing in GREEN phase, back to implementation
    route decided task=default run=<run> phase="GREEN" code=0 category=TESTS_PASSED route="NEXT_PHASE" reason=Tests passed, proceeding to next phase
    route decided task=default run=<run> phase="REFACTOR" code=0 category=TESTS_PASSED route="NEXT_PHASE" reason=Tests passed, proceeding to next phase
    "#);
}

/// Returns log records, redacted and without their times.
fn without_time(lines: &[String], output: &Output) -> String {
    let texts: Vec<_> = lines.iter().map(|line| line.split_once("INFO").expect("at level INFO").1.trim_start()).collect();
    crate::common::redact(&texts.join("\n"), &output.redactions)
}

#[test]
fn the_state_survives_the_loss_of_the_index() {
    let project = project("");
    tdd(&project, &["start"]);
    run(&project, FAILING, 0);
    run(&project, FAILING, 1);
    let shown = tdd(&project, &["show", "--json"]).stdout;
    let lose_index = || {
        for name in ["state.db", "state.db-wal", "state.db-shm"] {
            let _absent = fs::remove_file(project.root().join("state/proctor").join(name));
        }
        assert!(!project.root().join("state/proctor/state.db").exists());
    };
    lose_index();
    assert_eq!(tdd(&project, &["show", "--json"]).stdout, shown);
    lose_index();
    assert_eq!(routed(&run(&project, FAILING, 1)), json!(["N3", "routed", "GREEN", "GREEN", 2]));
}

#[test]
fn a_phase_on_the_command_line_is_a_question_that_changes_nothing() {
    let project = project("");
    let red = {
        project.save("test_it.py", FAILING);
        project.proctor(["run", "--phase", "RED"]).failure()
    };
    insta::assert_snapshot!(last_line(&red), @"FAILED · tests failed");
    let route = "RED → N4 valid RED, implement: Valid RED state - tests failing as expected; asked only, so nothing moves";
    assert!(red.stdout.lines().any(|line| line == route), "{}", red.stdout);
    assert_eq!(routed(&red), json!(["N4", "routed", "GREEN", "GREEN", 0]));
    assert_eq!(red.report()["route"]["phase"], "RED", "the route says which phase was asked about");
    assert_eq!(red.report()["tdd"]["started"], false);
    assert_eq!(red.report()["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE");
    let not_red = {
        project.save("test_it.py", PASSING);
        project.proctor(["run", "--phase", "red"]).success()
    };
    assert_eq!(routed(&not_red), json!(["HUMAN_REVIEW", "routed", "GREEN", "GREEN", 0]));
    insta::assert_snapshot!(tdd(&project, &["show"]).snapshot(), @"
    exit status: 0
    --- stdout
    default: no cycle is started; runs are judged in GREEN
    ");
    assert_eq!(last_line(&run(&project, PASSING, 0)), "PASSED", "no person is waited for");
}

#[test]
fn outside_a_cycle_the_screen_shows_neither_phase_nor_node_and_the_report_does() {
    let project = project("");
    let failing = run(&project, FAILING, 1);
    assert_eq!(last_line(&failing), "FAILED · tests failed");
    assert_eq!(routed(&failing), json!(["N3", "routed", "GREEN", "GREEN", 0]));
    for word in ["GREEN", "N3", "→"] {
        assert!(!failing.stdout.contains(word), "{word}: {}", failing.stdout);
    }
    for (node, kind) in [("N2", "routed"), ("N2", "routed"), ("HUMAN_REVIEW", "retry-limit"), ("HUMAN_REVIEW", "retry-limit")] {
        assert_eq!(routed(&run(&project, EMPTY, 1)), json!([node, kind, "GREEN", "GREEN", 0]), "no attempt is counted");
    }
    assert_eq!(log_lines(&project).len(), 5);
}

#[test]
fn the_state_is_shown_as_json() {
    let project = project("");
    tdd(&project, &["start"]);
    run(&project, PASSING, 3);
    let shown = tdd(&project, &["show", "--json"]);
    shown.json();
    insta::assert_snapshot!(shown.snapshot(), @r#"
    exit status: 0
    --- stdout
    {
      "started": true,
      "phase": "RED",
      "exitCode": 0,
      "exitCodeSource": "process",
      "exitCodeHistory": [
        0
      ],
      "phaseHistory": 1,
      "routeHistory": [
        {
          "phase": "RED",
          "exitCode": 0,
          "exitCodeSource": "process",
          "kind": "routed",
          "nextNode": "HUMAN_REVIEW",
          "reason": "Tests should fail in RED phase",
          "requiresHuman": true,
          "retryAllowed": false
        }
      ],
      "attempts": 1,
      "lastAttempt": {
        "treeDigest": "<digest>",
        "failingSet": "<digest>",
        "times": 1
      },
      "paused": {
        "reason": "Tests should fail in RED phase",
        "since": "<date>",
        "runId": "<run>"
      },
      "sequence": 3
    }
    "#);
}
