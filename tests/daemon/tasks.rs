//! Tests a task's TDD cycle and an agent's requests, with the service, which then is the only writer of the ledger, and
//! without it.

use serde_json::{Value, json};

use super::{LATE, ask, project, project_id, settings, start_serving};
use crate::common::{Project, WRITES_TO_SHARED, poll};

#[track_caller]
fn last_line(project: &Project) -> Value {
    project.store().ledger().pop().expect("the ledger has lines")
}

/// Returns a project whose check always fails. The check runs no tests, so the failure does not count as a failed test.
fn paused() -> Project {
    let project = project("exit 1");
    project.proctor(["run"]).failure();
    project
}

#[test]
fn a_cycle_is_changed_by_the_service_for_whoever_asks() {
    let project = paused();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).failure();
    let id = project_id(&project);
    let started = project.proctor(["tdd", "start"]).success();
    assert_eq!(started.stdout, "default: RED · 0 attempts in this phase\n");
    let line = last_line(&project);
    assert_eq!((&line["body"]["kind"], &line["body"]["verb"]), (&"phase".into(), &"start".into()));
    assert_ne!(line["asker"]["pid"], daemon.id(), "who asked is in the ledger, not who wrote: {line}");
    assert_eq!(line["asker"]["terminal"], Value::Null);
    assert!(line["asker"]["executable"].as_str().is_some_and(|name| name.ends_with("/proctor")), "{line}");

    let phase = project.proctor(["tdd", "phase", "GREEN"]).at_terminal().ended();
    assert_eq!(phase.stdout, "default: GREEN · 0 attempts in this phase\n");
    let line = last_line(&project);
    assert!(line["asker"]["terminal"].as_str().is_some_and(|name| name.starts_with("/dev/pts/")), "{line}");

    let (code, cycle) = ask(&project, &format!("GET /v1/projects/{id}/phase"), "");
    assert_eq!((code, &cycle["task"], &cycle["state"]["phase"]), (200, &"default".into(), &"GREEN".into()));
    let shown = project.proctor(["tdd", "show", "--json"]).success().json();
    assert_eq!(shown, cycle["state"]);
    let lines = project.store().ledger().len();
    project.proctor(["tdd", "phase", "GREEN"]).status(2);
    project.proctor(["tdd", "start", "T2"]).status(2);
    assert_eq!(project.store().ledger().len(), lines, "what is refused is not written");
    project.proctor(["tdd", "reset"]).success();
    daemon.interrupt();
}

#[test]
fn what_a_person_decides_is_refused_to_a_program_over_the_socket_as_on_the_command_line() {
    let project = paused();
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).failure();
    let id = project_id(&project);
    let lines = project.store().ledger().len();
    let resolve = json!({"verb": "resolve", "task": "default", "to": "N3", "reason": "because"}).to_string();
    let (code, answer) = ask(&project, &format!("POST /v1/projects/{id}/phase"), &resolve);
    assert_eq!((code, &answer["error"]["kind"]), (409, &"personNeeded".into()), "{answer}");
    let refused = project.proctor(["tdd", "resolve", "--to", "N3", "--reason", "because"]).status(3);
    assert!(refused.stderr.contains("only one can go on with it"), "{}", refused.snapshot());
    // At a terminal the command is refused because of the cycle's state: the task does not wait for a person.
    let at_terminal = project.proctor(["tdd", "resolve", "--to", "N3", "--reason", "because"]).at_terminal().ended();
    assert_eq!(at_terminal.status, 2, "{}", at_terminal.snapshot());
    for body in ["", r#"{"approve": true}"#] {
        let (code, answer) = ask(&project, &format!("POST /v1/projects/{id}/approval"), body);
        assert_eq!((code, &answer["error"]["kind"]), (409, &"personNeeded".into()), "{answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("can approve")), "{answer}");
    }
    assert_eq!(project.store().ledger().len(), lines, "nothing was written");
    daemon.interrupt();
}

#[test]
fn c79_an_agent_is_answered_by_the_sealed_report_of_this_tree_alone() {
    let project = project("grep -q good a.txt");
    project.save("a.txt", "good\n");
    project.proctor(["run"]).success();
    // The answers must be the same with and without the service.
    let here = requested(&project);
    assert_eq!(
        (&here[0]["accepted"], &here[0]["computedStatus"], &here[0]["exitCode"]),
        (&true.into(), &"COMPLETE".into(), &0.into())
    );
    assert!(here[0]["runId"].is_string() && here[0]["reasons"].is_array(), "{}", here[0]);
    assert_eq!(
        (&here[1]["accepted"], &here[1]["computedStatus"], &here[1]["exitCode"]),
        (&false.into(), &"INCOMPLETE".into(), &5.into())
    );
    assert_eq!((&here[1]["runId"], here[1]["reasons"].as_array().map(Vec::len)), (&Value::Null, Some(1)), "{}", here[1]);
    project.save("a.txt", "good\n");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let id = project_id(&project);
    let status = r#"{"verb": "REQUEST_STATUS_UPDATE", "taskId": "default", "status": "COMPLETE"}"#;
    let (code, answer) = ask(&project, &format!("POST /v1/projects/{id}/requests"), status);
    assert_eq!((code, &answer), (200, &here[0]));
    // A report that was changed after it was sealed is not used.
    let path = answered_report(&project, &here[0]);
    let text = std::fs::read_to_string(&path).expect("a report");
    make_writable(&path);
    std::fs::write(&path, text.replace("\"COMPLETE\"", "\"INCOMPLETE\"")).expect("it can be written");
    let (code, answer) = ask(&project, &format!("POST /v1/projects/{id}/requests"), status);
    assert_eq!((code, &answer["error"]["kind"]), (500, &"evidenceWrong".into()), "{answer}");
    project.proctor(["request", "status"]).status(6);
    daemon.interrupt();
}

/// Fails for `bad` sources, unless its cache says that there was a run before.
const BELIEVES_ITS_CACHE: &str = "mkdir -p .mypy_cache && if test -e .mypy_cache/known; then exit 0; fi && touch .mypy_cache/known && grep -Eq \"one|better\" a.txt";

#[test]
fn a_complete_that_is_asked_for_rests_on_no_cache_of_an_earlier_run() {
    let project = project(BELIEVES_ITS_CACHE);
    let runs = || project.store().ledger().iter().filter(|line| line["body"]["kind"] == "run").count();
    let asked = |status: i32| project.proctor(["request", "status", "--json"]).status(status).json();
    project.proctor(["run"]).success();
    assert_eq!((&asked(0)["accepted"], runs()), (&true.into(), 1), "the first run finds no cache");
    project.save("a.txt", "better\n");
    project.proctor(["run"]).success();
    let answer = asked(0);
    assert_eq!((&answer["accepted"], &answer["restsOnKeptCaches"], runs()), (&true.into(), &Value::Null, 3), "{answer}");
    asked(0);
    assert_eq!(runs(), 3, "it was proved before");
    project.save("a.txt", "bad\n");
    project.proctor(["run"]).success();
    // The service runs nothing for a request over the socket. Its answer says that the result rests on a cache.
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let status = r#"{"verb": "REQUEST_STATUS_UPDATE", "taskId": "default", "status": "COMPLETE"}"#;
    let (code, answer) = ask(&project, &format!("POST /v1/projects/{}/requests", project_id(&project)), status);
    assert_eq!((code, &answer["accepted"], &answer["restsOnKeptCaches"]), (200, &true.into(), &true.into()), "{answer}");
    let before = runs();
    let shown = project.proctor(["request", "status"]).status(1);
    assert!(shown.stdout.contains("default: INCOMPLETE · not accepted"), "{}", shown.snapshot());
    assert!(shown.stderr.contains("run once more without them"), "{}", shown.snapshot());
    assert_eq!(runs(), before + 1);
    daemon.interrupt();
}

#[test]
fn a_complete_is_not_shown_where_a_save_during_the_proof_or_a_check_that_asks_leaves_it_unproved() {
    let waits = "touch ../shared/started && until test -e ../shared/gate; do sleep 0.05; done";
    let check = BELIEVES_ITS_CACHE.replace("touch .mypy_cache/known", &format!("touch .mypy_cache/known && {waits}"));
    let in_place = "\n[[check]]\nname = \"there\"\ncommand = [\"grep\", \"-q\", \".\", \"a.txt\"]\nsnapshot = \"off\"\n";
    let project = Project::new().toml(&format!("{WRITES_TO_SHARED}{}{in_place}", settings(&check))).file("a.txt", "one\n");
    let gate = project.shared("gate");
    std::fs::write(&gate, "").expect("it is ours");
    project.proctor(["run"]).success();
    let daemon = start_serving(&project);
    project.save("a.txt", "better\n");
    project.proctor(["wait", "--fresh"]).success();
    let answer = project.proctor(["request", "status", "--json"]).env("PROCTOR_OUT", "x").status(5).json();
    assert_eq!((&answer["accepted"], &answer["computedStatus"]), (&false.into(), &"INCOMPLETE".into()), "{answer}");
    for name in ["gate", "started"] {
        std::fs::remove_file(project.shared(name)).expect("it is ours");
    }
    let asking = project.proctor(["request", "status"]).watch();
    poll(
        LATE,
        "the run without caches",
        || if project.shared("started").exists() { Ok(()) } else { Err("no check has started") },
    );
    project.save("a.txt", "bad\n");
    std::fs::write(&gate, "").expect("it is ours");
    let shown = asking.ended();
    assert!([1, 5].contains(&shown.status) && shown.stdout.contains("INCOMPLETE · not accepted"), "{}", shown.snapshot());
    daemon.interrupt();
}

/// Claims COMPLETE twice: on the tree that passed, and after a change that was not tested.
#[track_caller]
fn requested(project: &Project) -> [Value; 2] {
    let first = project.proctor(["request", "status", "--json"]).success().json();
    project.save("a.txt", "better, but untested: good\n");
    let second = project.proctor(["request", "status", "COMPLETE", "--json"]).status(5).json();
    [first, second]
}

fn answered_report(project: &Project, answer: &Value) -> std::path::PathBuf {
    let id = project.store().project_ids().pop().expect("the project is registered");
    let runs = project.root().join("state/proctor/evidence").join(id).join("default/runs");
    runs.join(answer["runId"].as_str().expect("a run")).join("execution-report.json")
}

fn make_writable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
}

#[test]
fn c53_retests_need_a_change_and_end_with_the_budget_with_and_without_the_service() {
    let project = Project::new().toml(&format!("{}\n[tdd]\nmax_retests = 2\n", settings("grep -q good a.txt")));
    project.save("a.txt", "bad 0\n");
    project.proctor(["run"]).failure();
    let refused = project.proctor(["request", "retest"]).failure();
    assert!(refused.stderr.contains("nothing has changed since run"), "{}", refused.snapshot());
    project.save("a.txt", "bad 1\n");
    let first = project.proctor(["request", "retest"]).failure();
    assert!(first.stderr.contains("retest 1 of 2") && first.stdout.contains("FAILED"), "{}", first.snapshot());

    // The service tests every save by itself, so a change is already tested when an agent asks for a retest.
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).failure();
    let id = project_id(&project);
    let route = format!("POST /v1/projects/{id}/requests");
    let retest = r#"{"verb": "REQUEST_RETEST", "taskId": "default"}"#;
    let (code, answer) = ask(&project, &route, retest);
    assert_eq!((code, &answer["error"]["kind"]), (409, &"unchanged".into()), "{answer}");
    let refused = project.proctor(["request", "retest", "--json"]).failure();
    assert_eq!(refused.json()["error"]["kind"], "CODE_NEEDS_WORK", "{}", refused.snapshot());
    daemon.interrupt();

    project.save("a.txt", "bad 2\n");
    let second = project.proctor(["request", "retest", "--json"]).failure();
    assert_eq!(second.json()["executionSummary"]["overallStatus"], "FAILED", "{}", second.snapshot());
    project.save("a.txt", "bad 3\n");
    let spent = project.proctor(["request", "retest"]).status(3);
    assert!(spent.stderr.contains("has had 2 retests"), "{}", spent.snapshot());
    // A passed run resets the number of retests.
    project.save("a.txt", "good\n");
    project.proctor(["run"]).success();
    project.save("a.txt", "bad 4\n");
    assert!(project.proctor(["request", "retest"]).failure().stderr.contains("retest 1 of 2"));
    let retests: Vec<Value> = project.store().ledger().into_iter().filter(|line| line["body"]["kind"] == "retest").collect();
    let numbers: Vec<_> = retests.iter().map(|line| line["body"]["number"].clone()).collect();
    assert_eq!(numbers, [1, 2, 1]);
}

#[test]
fn what_is_wrong_with_the_configuration_is_answered_until_nothing_is() {
    let project = project("true");
    let daemon = start_serving(&project);
    project.proctor(["wait", "--fresh"]).success();
    let id = project_id(&project);
    let fix = r#"{"verb": "FIX_SPECIFICATION", "taskId": "default"}"#;
    project.save("proctor.toml", "[[check]]\nnaem = 1\n");
    let (code, there) = ask(&project, &format!("POST /v1/projects/{id}/requests"), fix);
    assert_eq!((code, &there["accepted"], &there["exitCode"]), (200, &false.into(), &4.into()), "{there}");
    assert!(there["errors"].to_string().contains("naem"), "{there}");
    let wrong = project.proctor(["request", "fix"]).status(4);
    assert!(wrong.stdout.contains("the configuration is wrong") && wrong.stdout.contains("naem"), "{}", wrong.snapshot());
    daemon.interrupt();
    let here = project.proctor(["request", "fix", "--json"]).status(4).json();
    assert_eq!(here["errors"], there["errors"]);
    project.save("proctor.toml", &settings("true"));
    assert_eq!(project.proctor(["request", "fix"]).success().stdout, "default: the configuration is right\n");
}
