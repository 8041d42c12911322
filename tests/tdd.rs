//! `proctor tdd` and the runs of a red, green, refactor cycle, with real pytest.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Output, Project, python_plain};

const PASSING: &str = "def test_it():\n    assert 1 == 1\n";
const FAILING: &str = "def test_it():\n    assert 1 == 2\n";
const EMPTY: &str = "# no tests yet\n";
const MISSING: &str = "import subject\n\n\ndef test_it():\n    assert subject.answer() == 42\n";

/// A project whose one check is pytest, with `settings` after it.
fn project(settings: &str) -> Project {
    let python = python_plain();
    let check = format!("[[check]]\nname = \"tests\"\ncommand = [{:?}, \"-m\", \"pytest\", \"-q\"]\n", python.to_string_lossy());
    Project::new().toml(&format!("{check}{settings}"))
}

/// Runs the check on `tests` as the project's only test file, and expects `status`.
#[track_caller]
fn run(project: &Project, tests: &str, status: i32) -> Output {
    project.save("test_it.py", tests);
    project.proctor(["run"]).status(status)
}

#[track_caller]
fn tdd(project: &Project, arguments: &[&str]) -> Output {
    project.proctor(["tdd"]).arguments(arguments).success()
}

/// Returns the last line without the path of the report, which is the same in every run.
#[track_caller]
fn last_line(output: &Output) -> String {
    let line = output.stdout.lines().last().expect("a run says something");
    let (line, path) = line.rsplit_once(" · ").expect("the last line ends with the report's path");
    assert_eq!(path, "evidence/default/execution-report.json");
    line.to_owned()
}

/// Returns where the newest run was routed, by what rule, and how the task stands after it.
#[track_caller]
fn routed(output: &Output) -> Value {
    let report = output.report();
    json!([
        report["route"]["nextNode"],
        report["route"]["kind"],
        report["tdd"]["phase"],
        report["tdd"]["phaseAfter"],
        report["tdd"]["attempts"],
    ])
}

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
    insta::assert_snapshot!(last_line(&red), @"FAILED · 1 blocking · RED → N4 valid RED, implement");
    assert_eq!(routed(&red), json!(["N4", "routed", "RED", "GREEN", 0]));
    project.proctor(["wait", "--fresh", "--timeout", "0"]).success();
    let still_failing = run(&project, FAILING, 1);
    insta::assert_snapshot!(last_line(&still_failing), @"FAILED · 1 blocking · GREEN → N3 back to implementation");
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

/// Returns log records without their times, redacted.
fn without_time(lines: &[String], output: &Output) -> String {
    let texts: Vec<_> = lines.iter().map(|line| line.split_once("INFO").expect("at level INFO").1.trim_start()).collect();
    crate::common::redact(&texts.join("\n"), &output.redactions)
}

#[test]
fn tests_that_pass_in_red_wait_for_a_person() {
    let project = project("");
    tdd(&project, &["start"]);
    let passed = run(&project, PASSING, 3);
    insta::assert_snapshot!(last_line(&passed), @"PASSED · RED → HUMAN_REVIEW a person decides");
    assert_eq!(routed(&passed), json!(["HUMAN_REVIEW", "routed", "RED", "RED", 1]));

    let status = project.proctor(["wait", "--fresh", "--json"]).status(3).json();
    assert_eq!(status["project"]["tasks"][0]["state"], "needsHuman");
    let runs = || project.store().committed_runs().len();
    let before = (runs(), passed.ledger().len(), run_directories(&project));
    let refused = run(&project, FAILING, 3);
    insta::assert_snapshot!(refused.snapshot(), @"
    exit status: 3
    --- stderr
    error: task `default` needs a person since <date> (run <run>): Tests should fail in RED phase
      hint: decide with `proctor tdd resolve default --to NODE --reason TEXT` on a terminal; `proctor tdd show` says how it came to this
    ");
    assert_eq!((runs(), refused.ledger().len(), run_directories(&project)), before, "nothing was started");
    let refused_json: Value = project.proctor(["run", "--json"]).status(3).json();
    assert_eq!(refused_json["error"]["kind"], "PERSON_NEEDED");

    let resolve = ["tdd", "resolve", "--to", "N2", "--reason", "the tests were empty shells"];
    insta::assert_snapshot!(project.proctor(resolve).status(3).snapshot(), @"
    exit status: 3
    --- stderr
    error: task `default` waits for a person: only one can go on with it
      hint: run the command yourself on a terminal
    ");
    insta::assert_snapshot!(project.proctor(["tdd", "reset"]).status(3).snapshot(), @"
    exit status: 3
    --- stderr
    error: task `default` waits for a person: only one can go on with it
      hint: run the command yourself on a terminal
    ");
    insta::assert_snapshot!(project.proctor(["tdd", "phase", "GREEN"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: the task waits for a person (Tests should fail in RED phase): resolve it first
      hint: `proctor tdd show` tells where the cycle stands
    ");
    assert_eq!(project.store().ledger().len(), before.1, "nothing was decided");

    let resolved = project.proctor(resolve).at_terminal().ended();
    assert_eq!(resolved.status, 0);
    insta::assert_snapshot!(resolved.stdout, @"default: RED · 0 attempts in this phase");
    let line = resolved.ledger().pop().expect("the ledger has lines");
    assert_eq!(line["body"]["kind"], "override");
    assert_eq!(line["body"]["reason"], "the tests were empty shells");
    assert!(line["asker"]["terminal"].as_str().is_some_and(|name| name.starts_with("/dev/pts/")), "{line}");
    assert!(line["asker"]["executable"].as_str().is_some_and(|name| name.ends_with("/proctor")), "{line}");
    insta::assert_snapshot!(tdd(&project, &["show"]).snapshot(), @"
    exit status: 0
    --- stdout
    default: RED · 0 attempts in this phase
      RED      exit 0   → HUMAN_REVIEW  Tests should fail in RED phase
      RED      exit 0   → N2  the tests were empty shells
    ");
    let red = run(&project, FAILING, 0);
    assert_eq!(routed(&red), json!(["N4", "routed", "RED", "GREEN", 0]));
}

fn run_directories(project: &Project) -> usize {
    let id = project.store().project_ids().pop().expect("the project is registered");
    let runs = project.root().join("state/proctor/evidence").join(id).join("default/runs");
    fs::read_dir(runs).expect("there are runs").count()
}

#[test]
fn with_a_service_it_writes_what_a_person_decides_and_a_program_decides_nothing() {
    let project = project("");
    tdd(&project, &["start"]);
    run(&project, PASSING, 3);
    let mut daemon = project.proctor(["daemon"]).watch();
    daemon.wait_for_line("the socket", Duration::from_secs(60), |line| line.starts_with("listening on"));
    project.proctor(["add"]).success();
    let lines = project.store().ledger().len();
    // The state is looked at where the change is made: the command line alone could not know that a reset ends a pause.
    let reset = project.proctor(["tdd", "reset"]).status(3);
    assert!(reset.stderr.contains("hint: run the command yourself on a terminal"), "{}", reset.snapshot());
    let retest = project.proctor(["request", "retest"]).status(3);
    assert!(retest.stderr.contains("needs a person since"), "{}", retest.snapshot());
    assert_eq!(project.store().ledger().len(), lines, "nothing was decided");
    let resolve = ["tdd", "resolve", "--to", "N2", "--reason", "the tests were empty shells"];
    let resolved = project.proctor(resolve).at_terminal().ended();
    assert_eq!((resolved.status, resolved.stdout.as_str()), (0, "default: RED · 0 attempts in this phase\n"));
    let line = project.store().ledger().pop().expect("the ledger has lines");
    assert_eq!((&line["body"]["kind"], &line["body"]["reason"]), (&"override".into(), &"the tests were empty shells".into()));
    assert!(line["asker"]["terminal"].as_str().is_some_and(|name| name.starts_with("/dev/pts/")), "{line}");
    assert_ne!(line["asker"]["pid"], daemon.id());
    project.save("test_it.py", FAILING);
    assert_eq!(daemon.wait_for_verdict()["route"]["nextNode"], "N4", "saves are run again");
    daemon.interrupt();
}

#[test]
fn a_waiting_task_can_be_reset_at_a_terminal() {
    let project = project("");
    tdd(&project, &["start"]);
    run(&project, PASSING, 3);
    let reset = project.proctor(["tdd", "reset"]).at_terminal().ended();
    assert_eq!((reset.status, reset.stdout.as_str()), (0, "default: no cycle is started; runs are judged in GREEN\n"));
    assert_eq!(last_line(&run(&project, PASSING, 0)), "PASSED");
}

#[test]
fn the_third_run_without_tests_in_a_row_waits_for_a_person() {
    let project = project("");
    tdd(&project, &["start", "--phase", "GREEN"]);
    for attempt in 1..=2 {
        let scaffold = run(&project, EMPTY, 1);
        assert_eq!(last_line(&scaffold), "FAILED · 1 blocking · GREEN → N2 re-scaffold the tests");
        assert_eq!(routed(&scaffold), json!(["N2", "routed", "GREEN", "GREEN", attempt]));
    }
    let third = run(&project, EMPTY, 3);
    insta::assert_snapshot!(last_line(&third), @"FAILED · 1 blocking · GREEN → HUMAN_REVIEW a person decides");
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
    insta::assert_snapshot!(last_line(&red), @"FAILED · 1 blocking");
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
    assert_eq!(last_line(&failing), "FAILED · 1 blocking");
    assert_eq!(routed(&failing), json!(["N3", "routed", "GREEN", "GREEN", 0]));
    for word in ["GREEN", "N3", "→"] {
        assert!(!failing.stdout.contains(word), "{word}: {}", failing.stdout);
    }
    for _ in 0..4 {
        assert_eq!(routed(&run(&project, EMPTY, 1)), json!(["N2", "routed", "GREEN", "GREEN", 0]), "advice is never counted");
    }
    assert_eq!(log_lines(&project).len(), 5);
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
    insta::assert_snapshot!(last_line(&missing), @"FAILED · 1 blocking · RED → N4 valid RED, implement");
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

#[test]
fn what_makes_no_sense_says_what_to_do() {
    let project = project("");
    insta::assert_snapshot!(project.proctor(["tdd", "show"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: `<project>` is not registered: nothing was run there
      hint: `proctor run` registers a project and makes its first run
    ");
    insta::assert_snapshot!(project.proctor(["tdd", "phase", "GREEN"]).status(2).snapshot(), @r#"
    exit status: 2
    --- stderr
    registered `<project>` as <project-id>; its plan is approved by that (<digest>)
    `evidence` in the project links to its evidence; `link = ""` in `[evidence]` turns that off
    error: no TDD cycle is started: start one first
      hint: `proctor tdd show` tells where the cycle stands
    "#);
    insta::assert_snapshot!(tdd(&project, &["start"]).snapshot(), @"
    exit status: 0
    --- stdout
    default: RED · 0 attempts in this phase
    ");
    insta::assert_snapshot!(project.proctor(["tdd", "start"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: a TDD cycle is already started, in the RED phase: set another phase, or reset it first
      hint: `proctor tdd show` tells where the cycle stands
    ");
    insta::assert_snapshot!(project.proctor(["tdd", "phase", "red"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: the task is in the RED phase already
      hint: `proctor tdd show` tells where the cycle stands
    ");
    insta::assert_snapshot!(tdd(&project, &["phase", "refactor"]).snapshot(), @"
    exit status: 0
    --- stdout
    default: REFACTOR · 0 attempts in this phase
    ");
    insta::assert_snapshot!(project.proctor(["tdd", "phase", "BLUE"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: invalid value 'BLUE' for '<PHASE>'
      [possible values: RED, GREEN, REFACTOR]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(project.proctor(["tdd", "show", "no/task"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: `no/task` is not a task id: 1 to 64 letters, digits, `_`, `-` or `.`, the first of them a letter or digit
      hint: the task of a project's own checks is `default`
    ");
    let resolve = ["tdd", "resolve", "--to", "N3", "--reason", "why not"];
    let resolved = project.proctor(resolve).at_terminal().ended();
    assert_eq!(resolved.status, 2);
    insta::assert_snapshot!(resolved.snapshot(), @"
    exit status: 2
    --- stdout
    error: the task does not wait for a person, so there is nothing to resolve
      hint: `proctor tdd show` tells where the cycle stands
    ");
    insta::assert_snapshot!(project.proctor(["tdd", "resolve", "--to", "HUMAN_REVIEW", "--reason", "x"]).status(2).snapshot(), @"
    exit status: 2
    --- stderr
    error: invalid value 'HUMAN_REVIEW' for '--to <TO>'
      [possible values: N2, N3, N4, NEXT_PHASE]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(tdd(&project, &["reset"]).snapshot(), @"
    exit status: 0
    --- stdout
    default: no cycle is started; runs are judged in GREEN
    ");
    insta::assert_snapshot!(tdd(&project, &["show"]).snapshot(), @"
    exit status: 0
    --- stdout
    default: no cycle is started; runs are judged in GREEN
    ");
}

#[test]
fn a_resolution_needs_a_reason() {
    let project = project("");
    tdd(&project, &["start"]);
    run(&project, PASSING, 3);
    let empty = project.proctor(["tdd", "resolve", "--to", "N3", "--reason", " "]).at_terminal().ended();
    assert_eq!(empty.status, 2);
    insta::assert_snapshot!(empty.snapshot(), @"
    exit status: 2
    --- stdout
    error: a resolution needs a reason: say why the task goes on there
      hint: `proctor tdd show` tells where the cycle stands
    ");
}

#[test]
fn a_waiting_task_starts_nothing_in_a_watch_until_a_person_has_decided() {
    let project = project("");
    tdd(&project, &["start"]);
    run(&project, PASSING, 3);
    let mut watch = project.watch(["."]);
    let bound = Duration::from_secs(20);
    watch.wait_for_line("the pause", bound, |line| line.starts_with("task `default` needs a person since"));
    watch.wait_for_line("the watch", bound, |line| line == "watching; the task waits for a person");
    project.save("test_it.py", FAILING);
    watch.wait_for_line("the pause again", bound, |line| line.starts_with("task `default` needs a person since"));
    assert_eq!(project.store().committed_runs().len(), 1);
    let resolve = ["tdd", "resolve", "--to", "N3", "--reason", "tests are written now"];
    assert_eq!(project.proctor(resolve).at_terminal().ended().status, 0);
    project.save("test_it.py", &FAILING.replace("== 2", "== 3"));
    assert_eq!(watch.wait_for_verdict()["route"]["nextNode"], "N4");
    assert_eq!(watch.interrupt().status, 130);
}
