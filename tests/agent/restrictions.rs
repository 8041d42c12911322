//! Tests the section "Agent Restrictions" of seed 004. Each sentence is a row, which is tried on the command line and
//! over the control socket.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

use super::{LATE, ask, edit, list, project, serve, violations};
use crate::common::{Project, Watch, poll};

/// The way in which a request reaches proctor.
enum Way<'p> {
    /// `proctor request …`, without a service.
    CommandLine(&'p Project),
    /// `POST /v1/projects/{id}/requests`.
    Socket(&'p Project, String),
}

impl Way<'_> {
    fn project(&self) -> &Project {
        match self {
            Way::CommandLine(project) | Way::Socket(project, _) => project,
        }
    }

    /// Claims a status for the task, and returns the answer.
    #[track_caller]
    fn status(&self, status: &str) -> Value {
        match self {
            Way::CommandLine(project) => project.proctor(["request", "status", status, "--json"]).any_status().json(),
            Way::Socket(project, id) => {
                let body = json!({ "verb": "REQUEST_STATUS_UPDATE", "taskId": "default", "status": status }).to_string();
                let (code, answer) = ask(project, &format!("POST /v1/projects/{id}/requests"), &body);
                assert_eq!(code, 200, "{answer}");
                answer
            }
        }
    }

    /// Asks for a retest, and returns a report, an answer or an error.
    #[track_caller]
    fn retest(&self) -> Value {
        match self {
            Way::CommandLine(project) => project.proctor(["request", "retest", "--json"]).any_status().json(),
            Way::Socket(project, id) => {
                let body = json!({ "verb": "REQUEST_RETEST", "taskId": "default" }).to_string();
                ask(project, &format!("POST /v1/projects/{id}/requests"), &body).1
            }
        }
    }

    /// Makes sure that there is a verdict for the tree as it is: by a run, or by the service.
    #[track_caller]
    fn judge(&self) {
        match self {
            Way::CommandLine(project) => project.proctor(["run"]).any_status(),
            Way::Socket(project, _) => project.proctor(["wait", "--fresh"]).any_status(),
        };
    }

    /// Runs the checks once more although the tree has not changed.
    #[track_caller]
    fn run_again(&self) {
        match self {
            Way::CommandLine(project) => drop(project.proctor(["run"]).any_status()),
            Way::Socket(project, id) => drop(ask(project, &format!("POST /v1/projects/{id}/runs"), "{}")),
        }
    }
}

/// A sentence of the seed, and the function that tries it on a project whose checks fail.
type Row = (&'static str, fn(&Way<'_>));

const CANNOT: [Row; 5] = [
    ("Mark tasks complete without passing tests", mark_complete),
    ("Modify execution-report.json", modify_the_report),
    ("Interpret raw logs directly", interpret_logs),
    ("Override error classifications", override_classification),
    ("Skip technical debt generation", skip_debt),
];

const CAN: [Row; 5] = [
    ("Read execution-report.json", read_the_report),
    ("Read technical-debt-data.json", read_the_debt),
    ("Implement fixes based on guidance", implement_a_fix),
    ("Request retests", request_retests),
    ("Fix test specifications if SPECIFICATION_ERROR", fix_the_specification),
];

#[test]
fn each_cannot_of_the_seed_is_refused_or_put_back_on_the_command_line() {
    CANNOT.iter().for_each(|row| on_the_command_line(*row));
}

#[test]
#[ignore = "long tier"]
fn each_cannot_of_the_seed_is_refused_or_put_back_over_the_socket() {
    CANNOT.iter().for_each(|row| over_the_socket(*row));
}

#[test]
fn each_can_of_the_seed_is_granted_on_the_command_line() {
    CAN.iter().for_each(|row| on_the_command_line(*row));
}

#[test]
fn each_can_of_the_seed_is_granted_over_the_socket() {
    CAN.iter().for_each(|row| over_the_socket(*row));
}

fn red() -> Project {
    let project = project();
    project.save("a.txt", "bad\n");
    project
}

fn on_the_command_line((sentence, attempt): Row) {
    let project = red();
    let way = Way::CommandLine(&project);
    way.judge();
    try_it(sentence, attempt, &way);
}

fn over_the_socket((sentence, attempt): Row) {
    let project = red();
    let (daemon, id): (Watch<'_>, String) = serve(&project);
    let way = Way::Socket(&project, id);
    way.judge();
    wait_for_list(&project, |text| text.contains("- [ ] **default**"));
    try_it(sentence, attempt, &way);
    daemon.interrupt();
}

/// Tries a row. If it fails, the message says which sentence of the seed is broken.
#[track_caller]
fn try_it(sentence: &str, attempt: fn(&Way<'_>), way: &Way<'_>) {
    let tried = catch_unwind(AssertUnwindSafe(|| attempt(way)));
    assert!(tried.is_ok(), "seed 004, agent restrictions: {sentence}");
}

#[track_caller]
fn wait_for_list(project: &Project, is_so: impl Fn(&str) -> bool) {
    poll(LATE, "the task list", || {
        let text = fs::read_to_string(project.path().join("tasks.md")).unwrap_or_default();
        is_so(&text).then_some(()).ok_or(text)
    });
}

/// C79: a status that an agent claims is only a reason to compute the status.
fn mark_complete(way: &Way<'_>) {
    let project = way.project();
    let answer = way.status("COMPLETE");
    assert_eq!((&answer["accepted"], &answer["computedStatus"]), (&false.into(), &"INCOMPLETE".into()), "{answer}");
    assert!(answer["exitCode"] != 0 && !answer["reasons"].as_array().expect("reasons").is_empty(), "{answer}");
    let open = answer["open"].to_string();
    assert!(open.contains("STEP.1 check") && open.contains("DEBT-default-001"), "what is open is named: {answer}");
    assert_eq!(way.status("INCOMPLETE")["accepted"], true);
    // The task's box is ticked by hand in the task list. The next run must untick the box and record a violation.
    edit(project, "- [ ] **default**", "- [x] **default**");
    way.run_again();
    wait_for_list(project, |text| text.contains("- [ ] **default**"));
    assert_eq!(violations(project), [("UNAUTHORIZED_COMPLETION".to_owned(), "default".to_owned())]);
    assert_eq!(way.status("COMPLETE")["computedStatus"], "INCOMPLETE");
    // The ledger must contain no passed run.
    assert!(project.store().ledger().iter().all(|line| line["body"]["overallResult"] != "PASSED"));
}

fn modify_the_report(way: &Way<'_>) {
    use std::os::unix::fs::PermissionsExt as _;
    let project = way.project();
    let report = project.store().run_directory("default").join("execution-report.json");
    let text = fs::read_to_string(&report).expect("the report is there");
    fs::set_permissions(&report, fs::Permissions::from_mode(0o600)).expect("it is ours");
    fs::write(&report, text.replace("\"INCOMPLETE\"", "\"COMPLETE\"")).expect("it can be written");
    let refused = match way {
        Way::CommandLine(project) => project.proctor(["request", "status", "--json"]).status(6).json(),
        Way::Socket(project, id) => {
            let body = r#"{"verb": "REQUEST_STATUS_UPDATE", "taskId": "default", "status": "COMPLETE"}"#;
            ask(project, &format!("POST /v1/projects/{id}/requests"), body).1
        }
    };
    assert!(refused["error"]["message"].to_string().contains("not the one the ledger knows"), "{refused}");
}

/// C52, C74: an answer names results and debt, which has one line of the output, and never contains the output of a check.
fn interpret_logs(way: &Way<'_>) {
    let project = way.project();
    let said = "printed-by-the-check-alone";
    let toml = fs::read_to_string(project.path().join("proctor.toml")).expect("it is there");
    project
        .save("proctor.toml", &toml.replace("grep -q good", "echo printed-by-the-check-\\u0061lone && seq 100 && grep -q good"));
    way.judge();
    let answer = way.status("COMPLETE");
    assert!(!answer.to_string().contains(said), "{answer}");
    if let Way::Socket(project, id) = way {
        for route in ["logs", "runs", "evidence", "files"] {
            let (_, answer) = ask(project, &format!("GET /v1/projects/{id}/{route}"), "");
            assert!(!answer.to_string().contains(said), "no route hands out logs: {route}: {answer}");
        }
        let (_, runs) = ask(project, &format!("GET /v1/projects/{id}/runs"), "");
        let run = runs["runs"][0]["runId"].as_str().unwrap_or_else(|| panic!("no run in {runs}")).to_owned();
        for file in ["STEP.1-terminal-output.log", "STEP.1-terminal-output.frames"] {
            let (code, answer) = ask(project, &format!("GET /v1/projects/{id}/runs/{run}/files/{file}"), "");
            assert!(code == 403 || code == 404, "{file}: {answer}");
            assert!(!answer.to_string().contains(said), "{file}: {answer}");
        }
    }
    assert!(!list(project).contains(said), "{}", list(project));
}

/// C80: neither a field of a request nor the task list can change the classification of a result.
fn override_classification(way: &Way<'_>) {
    let project = way.project();
    match way {
        Way::CommandLine(project) => {
            project.proctor(["request", "status", "COMPLETE", "--classification", "SUCCESS"]).status(2);
        }
        Way::Socket(project, id) => {
            let body =
                r#"{"verb": "REQUEST_STATUS_UPDATE", "taskId": "default", "status": "COMPLETE", "classification": "SUCCESS"}"#;
            let (code, answer) = ask(project, &format!("POST /v1/projects/{id}/requests"), body);
            assert_eq!((code, &answer["error"]["kind"]), (400, &"badRequest".into()), "{answer}");
        }
    }
    edit(project, "(HIGH, ", "(LOW, ");
    way.run_again();
    wait_for_list(project, |text| text.contains("(HIGH, "));
    assert_eq!(violations(project), [("CLASSIFICATION_MODIFIED".to_owned(), "DEBT-default-001".to_owned())]);
}

fn skip_debt(way: &Way<'_>) {
    let project = way.project();
    let text = list(project);
    let (start, end) = (text.find("### High").expect("there is debt"), text.find("<!-- proctor:end debt").expect("it ends"));
    project.save("tasks.md", &format!("{}{}", &text[..start], &text[end..]));
    way.run_again();
    wait_for_list(project, |text| text.contains("**DEBT-default-001**"));
    assert_eq!(violations(project), [("MISSING_DEBT_DOCUMENTATION".to_owned(), "DEBT-default-001".to_owned())]);
    let debt = project.store().run_directory("default").join("technical-debt-data.json");
    assert!(fs::read_to_string(debt).expect("there is a debt file").contains("DEBT-default-001"));
}

/// Reads a JSON file of the last run through `evidence/default`, the project's link to its evidence. Seed 004
/// prescribes the file names.
fn read_evidence(way: &Way<'_>, name: &str) -> Value {
    let path = way.project().path().join("evidence/default").join(name);
    serde_json::from_str(&fs::read_to_string(path).expect("it can be read")).expect("it is JSON")
}

fn read_the_report(way: &Way<'_>) {
    let report = read_evidence(way, "execution-report.json");
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "INCOMPLETE", "{report}");
}

fn read_the_debt(way: &Way<'_>) {
    let debt = read_evidence(way, "technical-debt-data.json");
    assert_eq!(debt["debtItems"][0]["debtId"], "DEBT-default-001", "{debt}");
}

fn implement_a_fix(way: &Way<'_>) {
    way.project().save("a.txt", "good\n");
    way.judge();
    let answer = way.status("COMPLETE");
    assert_eq!((&answer["accepted"], &answer["exitCode"], &answer["open"]), (&true.into(), &0.into(), &json!([])), "{answer}");
    wait_for_list(way.project(), |text| text.contains("- [x] **default**") && text.contains("Nothing is to be mended."));
    assert_eq!(violations(way.project()), []);
}

/// C53: retests are allowed within the budget, and only after a change. A running service tests each save before an
/// agent can ask for a retest.
fn request_retests(way: &Way<'_>) {
    let refused = way.retest();
    assert!(refused["error"]["message"].to_string().contains("nothing has changed since run"), "{refused}");
    if let Way::CommandLine(project) = way {
        for change in 1..=5 {
            project.save("a.txt", &format!("bad {change}\n"));
            assert_eq!(way.retest()["executionSummary"]["overallStatus"], "FAILED", "{change}");
        }
        project.save("a.txt", "bad 6\n");
        let spent = way.retest();
        assert!(spent["error"]["message"].to_string().contains("has had 5 retests"), "{spent}");
    }
}

/// C80: a proposal that corrects the specification is accepted, a proposal that weakens it needs a person, and neither
/// is written to the file.
fn fix_the_specification(way: &Way<'_>) {
    const FILE: &str = "T117-test-specification.json";
    let project = way.project();
    let right = specification();
    let broken = right.replace("\"command\"", "\"comand\"");
    project.save(FILE, &broken);
    let propose = |text: Option<&str>| match (way, text) {
        (Way::CommandLine(project), text) => {
            let mut arguments = vec!["request", "fix", "--task", "T117", "--json"];
            let path = project.root().join("proposal.json");
            let path = path.to_str().expect("a plain path");
            if let Some(text) = text {
                fs::write(path, text).expect("it is ours");
                arguments.extend(["--proposal", path]);
            }
            project.proctor(arguments).any_status().json()
        }
        (Way::Socket(project, id), text) => {
            let body = json!({ "verb": "FIX_SPECIFICATION", "taskId": "T117", "specification": text });
            let (code, answer) = ask(project, &format!("POST /v1/projects/{id}/requests"), &body.to_string());
            assert_eq!(code, 200, "{answer}");
            answer
        }
    };
    let asked = propose(None);
    assert_eq!((&asked["accepted"], &asked["exitCode"]), (&false.into(), &4.into()), "{asked}");
    assert!(asked["errors"].to_string().contains("comand"), "{asked}");
    let mended = propose(Some(&right));
    assert_eq!((&mended["accepted"], &mended["exitCode"]), (&true.into(), &0.into()), "{mended}");
    assert_eq!(mended["changes"][0]["effect"], "MENDS", "{mended}");
    let weakened = propose(Some(&right.replace("\"allStepsMustPass\": true", "\"allStepsMustPass\": false")));
    assert_eq!((&weakened["accepted"], &weakened["exitCode"]), (&false.into(), &3.into()), "{weakened}");
    assert!(weakened["changes"].to_string().contains("WEAKENS"), "{weakened}");
    let still_wrong = propose(Some(&broken));
    assert_eq!(still_wrong["exitCode"], 4, "{still_wrong}");
    assert_eq!(fs::read_to_string(project.path().join(FILE)).expect("it is there"), broken, "proctor writes no specification");
    project.save(FILE, &right);
    assert_eq!(propose(None)["exitCode"], 0);
}

fn specification() -> String {
    let step = json!({
        "actionId": "STEP.1", "type": "TERMINAL_COMMAND", "description": "looks for the word",
        "parameters": { "command": "grep -q good a.txt", "workingDirectory": "/srv/billing" }
    });
    let document = json!({
        "schemaVersion": "2.0.0",
        "metadata": {
            "projectName": "billing", "sprintId": "SPRINT_012",
            "generatedAt": "2026-03-04T09:15:00.000Z", "generatedBy": "by hand"
        },
        "globalConfiguration": { "workspaceRoot": "/srv/billing", "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND"] },
        "tasks": { "T117": {
            "taskId": "T117",
            "title": "Half-even rounding of totals",
            "description": "Totals must be rounded half-to-even on two decimals for every currency that has minor units.",
            "testExecution": { "prerequisites": [], "steps": [step], "cleanup": [] },
            "validationCriteria": {
                "successConditions": [{ "condition": "STEP.1.exitCode === 0", "description": "The word is there" }],
                "failureConditions": [{ "condition": "STEP.1.exitCode !== 0", "description": "The word is missing" }],
                "expectedOutput": { "stdoutContains": [] }
            },
            "completionCriteria": { "allStepsMustPass": true, "requiredEvidence": ["terminal-output"] }
        } }
    });
    serde_json::to_string_pretty(&document).expect("it is JSON")
}

#[test]
fn a_specifications_task_has_the_status_of_its_own_last_verdict_with_and_without_the_service() {
    let project = red();
    project.save("T117-test-specification.json", &specification());
    let never = project.proctor(["request", "status", "--task", "T117", "--json"]).status(3).json();
    assert_eq!(never["computedStatus"], "INCOMPLETE", "{never}");
    let failed = project.proctor(["request", "retest", "--task", "T117", "--json"]).failure().json();
    assert_eq!(failed["testSpecification"]["taskId"], "T117");
    let status = ["request", "status", "COMPLETE", "--task", "T117", "--json"];
    assert_eq!(project.proctor(status).failure().json()["accepted"], false);
    project.save("a.txt", "good\n");
    assert_eq!(project.proctor(status).status(5).json()["runId"], Value::Null, "it is for other files");
    project.proctor(["request", "retest", "--task", "T117"]).success();
    let here = project.proctor(status).success().json();
    assert_eq!(here["computedStatus"], "COMPLETE", "{here}");
    assert!(list(&project).contains("- [x] **T117**: Half-even rounding of totals"), "{}", list(&project));
    let (daemon, id) = serve(&project);
    project.proctor(["wait", "--fresh"]).success();
    let body = r#"{"verb": "REQUEST_STATUS_UPDATE", "taskId": "T117", "status": "COMPLETE"}"#;
    let (code, there) = ask(&project, &format!("POST /v1/projects/{id}/requests"), body);
    assert_eq!((code, &there), (200, &here));
    daemon.interrupt();
}
