//! The test scenarios of the design documents seed 000 and 001 by their numbers, through the program and with real pytest. The module
//! `routing` of `proctor-plan` has a test of each for the pure router.

use std::fs;

use serde_json::{Value, json};

use super::{EMPTY, FAILING, PASSING, project, routed, run, tdd};
use crate::common::{Output, Project};

const SYNTAX_ERROR: &str = "def test_it(:\n";

/// A row: the scenario's number, its phase, what makes pytest end as it says (the tests, and what stands in `conftest.py`), the exit code,
/// and the route.
type Row = (&'static str, &'static str, (&'static str, &'static str), Value, &'static str);

/// Ends pytest with exit code 3.
const INTERNAL_ERROR: &str = "def pytest_collection_modifyitems():\n    raise RuntimeError('of the plugin')\n";
/// Ends pytest with exit code 4.
const USAGE_ERROR: &str = "import nowhere_at_all\n";

fn rows() -> Vec<Row> {
    let unknown = "import pytest\n\n\ndef test_it():\n    pytest.exit('enough', returncode=99)\n";
    let killed = "import os\n\n\ndef test_it():\n    os.kill(os.getpid(), 9)\n";
    let mut rows: Vec<Row> = vec![
        ("T010", "GREEN", (PASSING, ""), json!(0), "NEXT_PHASE"),
        ("T020", "RED", (FAILING, ""), json!(1), "N4"),
        ("T030", "GREEN", (FAILING, ""), json!(1), "N3"),
    ];
    for phase in ["RED", "GREEN", "REFACTOR"] {
        rows.extend([
            ("T040", phase, (SYNTAX_ERROR, ""), json!(2), "HUMAN_REVIEW"),
            ("T050", phase, (PASSING, INTERNAL_ERROR), json!(3), "HUMAN_REVIEW"),
            ("T060", phase, (PASSING, USAGE_ERROR), json!(4), "N2"),
            ("T070", phase, (EMPTY, ""), json!(5), "N2"),
            ("T100", phase, (unknown, ""), json!(99), "HUMAN_REVIEW"),
            // A process without an exit code is routed as exit code 3, and kept as what it is.
            ("T160", phase, (killed, ""), Value::Null, "HUMAN_REVIEW"),
        ]);
    }
    rows
}

/// Runs the check with these tests and what stands beside them, and asks for the route of a phase.
fn ask(project: &Project, phase: &str, (tests, beside): (&str, &str)) -> Output {
    project.save("test_it.py", tests);
    project.save("conftest.py", beside);
    project.proctor(["run", "--phase", phase]).any_status()
}

/// Returns the lines of the program's own log about routes.
fn logged(project: &Project) -> Vec<String> {
    let entries = fs::read_dir(project.root().join("state/proctor/log")).expect("the program has a log");
    let text: String = entries.flatten().map(|entry| fs::read_to_string(entry.path()).expect("it is text")).collect();
    text.lines().filter(|line| line.contains("route=")).map(str::to_owned).collect()
}

#[test]
fn t010_to_t070_t100_t130_and_t160_route_by_the_exit_code_of_real_pytest() {
    let project = project("");
    for (number, phase, beside, code, node) in rows() {
        let before = if project.root().join("state/proctor/log").exists() { logged(&project).len() } else { 0 };
        let output = ask(&project, phase, beside);
        let route = &output.report()["route"];
        let seen = json!([route["exitCode"], route["nextNode"], route["requiresHuman"], route["retryAllowed"]]);
        assert_eq!(seen, json!([code, node, node == "HUMAN_REVIEW", node == "N2"]), "{number} in {phase}: {route}");
        // The decision is one line of the log, with its reason.
        let lines = logged(&project).split_off(before);
        let reason = route["reason"].as_str().expect("a route has a reason");
        assert_eq!(lines.len(), 1, "{number} in {phase}: {lines:?}");
        assert!(lines[0].contains(reason) && lines[0].contains(&format!("route=\"{node}\"")), "{number} in {phase}: {lines:?}");
    }
}

#[test]
fn t080_t090_and_t160_the_state_has_every_exit_code_in_its_order_and_null_for_none() {
    let project = project("");
    let killed = "import os\n\n\ndef test_it():\n    os.kill(os.getpid(), 9)\n";
    tdd(&project, &["start", "--phase", "GREEN"]);
    run(&project, EMPTY, 1);
    run(&project, FAILING, 1);
    let last = run(&project, killed, 3);
    assert_eq!(routed(&last), json!(["HUMAN_REVIEW", "routed", "GREEN", "GREEN", 3]));
    let state = tdd(&project, &["show", "--json"]).json();
    assert_eq!(state["exitCodeHistory"], json!([5, 1, null]));
    let routes = state["routeHistory"].as_array().expect("a list");
    let codes: Vec<&Value> = routes.iter().map(|route| &route["exitCode"]).collect();
    assert_eq!(json!(codes), json!([5, 1, null]), "each decision is kept with its code");
    // What exit code 3 is answered with, and no other reason.
    let internal = ask(&self::project(""), "GREEN", (PASSING, INTERNAL_ERROR)).report()["route"].clone();
    let route = &last.report()["route"];
    assert_eq!((&route["nextNode"], &route["requiresHuman"]), (&internal["nextNode"], &internal["requiresHuman"]), "{route}");
}

#[test]
fn t110_and_t120_a_cycle_goes_from_a_valid_red_to_green_and_on() {
    let project = project("");
    tdd(&project, &["start"]);
    assert_eq!(routed(&run(&project, FAILING, 0)), json!(["N4", "routed", "RED", "GREEN", 0]));
    assert_eq!(routed(&run(&project, PASSING, 0)), json!(["NEXT_PHASE", "routed", "GREEN", "REFACTOR", 0]));
}

#[test]
fn t140_and_t150_the_third_scaffold_error_in_a_row_is_a_persons_and_the_second_is_not() {
    // 4, 5, 4: both codes count for one streak.
    let project = project("");
    tdd(&project, &["start", "--phase", "GREEN"]);
    project.save("conftest.py", USAGE_ERROR);
    assert_eq!(run(&project, PASSING, 1).report()["route"]["nextNode"], "N2");
    project.save("conftest.py", "");
    assert_eq!(run(&project, EMPTY, 1).report()["route"]["nextNode"], "N2");
    project.save("conftest.py", USAGE_ERROR);
    let third = run(&project, PASSING, 3).report()["route"].clone();
    assert_eq!((&third["nextNode"], &third["reason"]), (&json!("HUMAN_REVIEW"), &json!("Scaffold retry limit (3) exceeded")));
    assert_eq!(tdd(&project, &["show", "--json"]).json()["exitCodeHistory"], json!([4, 5, 4]));
}
