//! Tests a task that waits for a person, and the person's decision.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{FAILING, PASSING, last_line, project, routed, run, tdd};
use crate::common::Project;

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
    let mut daemon = project.proctor(["service", "daemon"]).watch();
    daemon.wait_for_line("the socket", Duration::from_secs(60), |line| line.starts_with("listening on"));
    project.proctor(["service", "add"]).success();
    let lines = project.store().ledger().len();
    // The service checks the state when it makes the change: the command line does not know whether this reset would end a pause.
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
    registered `<project>` as <project-id>; its rules count as approved
    evidence in `evidence`, kept for ever: `max_bytes = "5GiB"` in `[evidence]` of proctor.toml limits its size
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
