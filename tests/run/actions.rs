//! Tests file validations and HTTP requests in real runs, and seed 004's detailed examples 2 and 4, key by key.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;
use std::time::Duration;

use proctor_model::{ActionKind, EvidenceCapture, FileCheck, HttpRequest, Script, StopReason};
use proctor_project::Progress;
use serde_json::{Value, json};

use crate::common::free_port;
use crate::run::planned::{carry_out_and_tell, evidence, file, http, run_plan};
use crate::run::{check, cleanup, prerequisite, project, result};
use crate::seed_004::assert_like;

const LONG: &str = "600000";

fn server(port: &str, extra: &str) -> String {
    let url = format!("url = \"http://localhost:{port}/health\"");
    prerequisite("server", &["--serve", port, "--sleep", LONG]) + &format!("service = true\nready = {{ {url}{extra} }}\n")
}

fn checks(count: usize) -> String {
    (1..=count).map(|number| check(&format!("check {number}"), &[])).collect()
}

#[test]
fn a_file_that_is_there_succeeds_with_the_keys_of_the_seed_and_a_record() {
    let project = project(&checks(2)).file("src/quote.ts", "export class QuoteService {}\n");
    let report = run_plan(&project, |plan| {
        plan.steps[0] = file(&plan.steps[0], "src/quote.ts", FileCheck::Exists);
        let content = FileCheck::ContentMatch { text: Some("QuoteService".to_owned()), regex: None };
        plan.steps[1] = file(&plan.steps[1], "src/quote.ts", content);
        plan.steps[1].capture = EvidenceCapture { file_contents: true, ..EvidenceCapture::default() };
    });
    let one = result(&report, "STEP.1");
    assert_eq!((&one["status"], &one["type"], &one["tool"]), (&json!("SUCCESS"), &json!("FILE_VALIDATION"), &json!("file")));
    assert_eq!(one["evidence"], "STEP.1-file-validation.json");
    let seen = one["result"].as_object().expect("it has a result");
    assert_eq!(seen.keys().collect::<Vec<_>>(), ["fileExists", "filePath", "fileSize", "lastModified"]);
    assert_eq!((&seen["filePath"], &seen["fileSize"]), (&json!("src/quote.ts"), &json!(29)));
    let record = evidence(&project, "STEP.1-file-validation.json");
    assert_eq!((&record["validationType"], &record["result"]["fileExists"]), (&json!("EXISTS"), &json!(true)));
    assert_eq!(evidence(&project, "STEP.2-content-match.json")["judgement"]["code"], "FILE_VALID");
    assert_eq!(result(&report, "STEP.2")["result"]["fileContents"]["text"], "export class QuoteService {}\n");
    assert_eq!(report["executionSummary"]["overallStatus"], "SUCCESS");
    assert_eq!(report["executionSummary"]["actionCounts"]["executed"], 2);
}

#[test]
fn a_file_that_is_missing_blocks_a_step_and_keeps_the_checks_of_a_prerequisite_from_running() {
    let project = || project(&(prerequisite("there", &[]) + &checks(1)));
    let as_step = run_plan(&project(), |plan| plan.steps[0] = file(&plan.steps[0], "none", FileCheck::Exists));
    let step = result(&as_step, "STEP.1");
    assert_eq!((&step["status"], &step["blocking"]), (&json!("VALIDATION_FAILURE"), &json!(true)));
    assert_eq!((&step["classification"]["validationTool"], &step["result"]["fileExists"]), (&json!("file"), &json!(false)));
    assert_eq!(step["debtGeneration"]["category"], "VALIDATION_MISSING");
    let as_prerequisite =
        run_plan(&project(), |plan| plan.prerequisites[0] = file(&plan.prerequisites[0], "none", FileCheck::Exists));
    let entry = result(&as_prerequisite, "PREREQ.1");
    assert_eq!(
        (&entry["status"], &entry["classification"]["prerequisiteType"]),
        (&json!("PREREQUISITE_FAILURE"), &json!("FILE_EXISTS"))
    );
    assert_eq!(entry["classification"]["underlying"], "VALIDATION_FAILURE");
    assert_eq!(result(&as_prerequisite, "STEP.1")["skipReason"], "prerequisite-failed");
}

#[test]
fn seed_004_detailed_example_2_a_connection_that_is_refused() {
    let port = free_port();
    // The check `hide` makes the service stop listening. The service keeps running, and the request of the second step
    // is refused.
    let project = project(&(server(&port, "") + &check("hide", &["--get", &port, "/hide"]) + &check("health", &[])));
    let url = format!("http://127.0.0.1:{port}/api/health");
    let report = run_plan(&project, |plan| plan.steps[1] = http(&plan.steps[1], HttpRequest::get(&url)));
    let entry = result(&report, "STEP.2");
    assert_like("example-2-execution-error", entry);
    assert_eq!((&entry["status"], &entry["classification"]["errorType"]), (&json!("EXECUTION_ERROR"), &json!("ECONNREFUSED")));
    let error = &entry["result"]["error"];
    assert_eq!(
        (&error["code"], &error["syscall"], &error["address"]),
        (&json!("ECONNREFUSED"), &json!("connect"), &json!("127.0.0.1"))
    );
    assert_eq!(error["message"], format!("connect ECONNREFUSED 127.0.0.1:{port}"));
    let diagnostics = &entry["result"]["diagnostics"];
    assert_eq!(diagnostics["serverHealthCheck"]["result"], "CONNECTION_REFUSED");
    assert_eq!((&diagnostics["portCheck"]["inUse"], &diagnostics["portCheck"]["process"]), (&json!(false), &Value::Null));
    let debt = &entry["debtGeneration"];
    assert_eq!((&debt["category"], &debt["severity"]), (&json!("INTEGRATION_FAILURE"), &json!("HIGH")));
    assert_eq!(entry["evidence"], "STEP.2-http-error.json");
    let record = evidence(&project, "STEP.2-http-error.json");
    assert_like("evidence-http", &record);
    assert_eq!((&record["response"]["success"], &record["diagnostics"]["dnsResolution"]), (&json!(false), &json!("127.0.0.1")));
}

#[test]
fn seed_004_detailed_example_4_a_service_whose_port_is_held_or_that_is_never_ready() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port().to_string();
    let held = project(&(server(&port, "") + &checks(2)));
    let report = run_plan(&held, |_| {});
    let entry = result(&report, "PREREQ.1");
    assert_like("example-4-prerequisite-failure", entry);
    assert_eq!(
        (&entry["status"], &entry["classification"]["prerequisiteType"]),
        (&json!("PREREQUISITE_FAILURE"), &json!("SERVICE_HEALTHY"))
    );
    assert_eq!(
        (&entry["classification"]["canContinue"], &entry["result"]["healthCheck"]["attempted"]),
        (&json!(false), &json!(false))
    );
    let held_by = &entry["result"]["diagnostics"]["portCheck"];
    assert_eq!((&held_by["inUse"], &held_by["process"]["pid"]), (&json!(true), &json!(std::process::id())));
    assert!(held_by["process"]["name"].is_string() && held_by["process"]["command"].is_string(), "{held_by}");
    assert_eq!(
        (&entry["impact"]["subsequentStepsSkipped"], &entry["debtGeneration"]["severity"]),
        (&json!(2), &json!("CRITICAL"))
    );
    drop(listener);

    let port = free_port();
    let silent = prerequisite("server", &["--stderr", "waiting for the database\n", "--sleep", LONG])
        + &format!("service = true\nready = {{ url = \"http://localhost:{port}/health\", timeout = \"300ms\" }}\n");
    let late = project(&(silent + &checks(2)));
    let report = run_plan(&late, |_| {});
    let entry = result(&report, "PREREQ.1");
    let seen = &entry["result"];
    assert_eq!((&seen["timeout"], &seen["serverOutput"]), (&json!(300), &json!("waiting for the database\n")));
    assert_eq!((&seen["healthCheck"]["result"], &seen["healthCheck"]["duration"]), (&json!("TIMEOUT"), &json!(300)));
    assert_eq!(
        (&seen["diagnostics"]["portCheck"]["inUse"], &seen["diagnostics"]["portCheck"]["process"]),
        (&json!(false), &Value::Null)
    );
}

#[test]
fn an_answer_is_judged_and_kept_and_no_secret_is_in_any_file() {
    let port = free_port();
    let project = project(&(server(&port, "") + &checks(3)));
    let report = run_plan(&project, |plan| {
        let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
        let mut right = HttpRequest::get(url("/api/v1/quotes"));
        right.headers.insert("Authorization".to_owned(), "Bearer hush".to_owned());
        right.validate.contains_text = Some("served".to_owned());
        plan.steps[0] = http(&plan.steps[0], right);
        plan.steps[0].capture.request_response = true;
        plan.steps[1] = http(&plan.steps[1], HttpRequest::get(url("/missing")));
        let mut wrong = HttpRequest::get(url("/"));
        wrong.validate.matches_regex = Some("^nothing".to_owned());
        plan.steps[2] = http(&plan.steps[2], wrong);
    });
    let one = result(&report, "STEP.1");
    assert_eq!((&one["status"], &one["result"]["statusCode"]), (&json!("SUCCESS"), &json!(200)), "{one:#}");
    assert_eq!(
        (&one["evidence"], &one["result"]["responseBody"]["text"]),
        (&json!("STEP.1-http-request.json"), &json!("served\n"))
    );
    let record = evidence(&project, "STEP.1-http-request.json");
    assert_eq!(record["request"]["headers"]["Authorization"], "[hidden]");
    assert_eq!(
        (&record["response"]["statusCode"], &record["response"]["body"]["file"]),
        (&json!(200), &json!("STEP.1-http-response.body"))
    );
    let two = result(&report, "STEP.2");
    assert_eq!((&two["status"], &two["classification"]["code"]), (&json!("TEST_FAILURE"), &json!("ENDPOINT_MISSING")));
    assert_eq!(
        (&two["debtGeneration"]["category"], &two["debtGeneration"]["severity"]),
        (&json!("API_ENDPOINT_MISSING"), &json!("CRITICAL"))
    );
    assert_eq!(two["debtGeneration"]["title"], "API Endpoint Missing: GET /missing");
    assert_eq!((&two["result"]["expected"], &two["result"]["received"]), (&json!("200 to 299"), &json!("404")));
    assert!(two["result"]["responseBody"]["text"].is_string(), "a wrong answer is shown, whatever is captured: {two:#}");
    let fix = two["debtGeneration"]["suggestedFix"].as_str().expect("a text");
    assert!(fix.contains("GET /missing") && fix.contains("404 instead of 200 to 299"), "{fix}");
    let debt = evidence(&project, "technical-debt-data.json");
    let item = debt["debtItems"].as_array().expect("a list").iter().find(|item| item["actionId"] == "STEP.2").expect("an item");
    assert_eq!(item["errorDetails"]["originalError"]["received"], "404", "{item:#}");
    assert_eq!(item["errorDetails"]["diagnostics"]["httpTrace"]["responseBody"], two["result"]["responseBody"]["text"]);
    assert_eq!(result(&report, "STEP.3")["classification"]["code"], "ANSWER_INVALID");
    for entry in fs::read_dir(project.store().run_directory("default")).expect("the run is kept") {
        let path = entry.expect("it can be listed").path();
        let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
        assert!(!text.contains("hush"), "`{}` shows a secret", path.display());
    }
    let kinds = report["evidenceFiles"].as_array().expect("a list");
    let kind = |name: &str| kinds.iter().find(|file| file["name"] == name).map(|file| file["kind"].clone());
    assert_eq!(kind("STEP.1-http-request.json"), Some(json!("api-responses")));
    project.proctor(["show"]).success();
}

#[test]
fn a_script_is_run_by_its_interpreter_like_any_command() {
    let project = project(&checks(1)).file("scripts/look.sh", "echo \"looked at $1\"\nexit 3\n");
    let report = run_plan(&project, |plan| {
        let (interpreter, script) = ("sh".to_owned(), "scripts/look.sh".to_owned());
        let step = &mut plan.steps[0];
        step.command.argv = vec![interpreter.clone(), script.clone(), "it".to_owned()];
        step.kind = ActionKind::CustomScript(Script { interpreter, script, arguments: vec!["it".to_owned()] });
        step.expected_exit_codes = vec![3];
    });
    let entry = result(&report, "STEP.1");
    assert_eq!((&entry["type"], &entry["status"]), (&json!("CUSTOM_SCRIPT"), &json!("SUCCESS")), "{entry:#}");
    assert_eq!((&entry["result"]["stdout"], &entry["result"]["exitCode"]), (&json!("looked at it\n"), &json!(3)));
}

/// Returns a server that accepts connections and never answers, and its address.
fn silent() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    (listener.local_addr().expect("it is bound").to_string(), listener)
}

/// Asserts that every connection to the server is closed by the client. There may be no connection, because a request
/// can be stopped before it connects, so the function waits for none.
#[track_caller]
fn assert_all_ended(listener: &TcpListener) {
    listener.set_nonblocking(true).expect("it is a socket");
    while let Ok((mut connection, _)) = listener.accept() {
        connection.set_read_timeout(Some(Duration::from_secs(20))).expect("it is a socket");
        if let Err(error) = connection.read_to_end(&mut Vec::new()) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "the connection goes on: {error}");
        }
    }
}

#[test]
fn a_request_that_is_not_answered_in_time_is_a_time_out_and_a_stop_ends_it_at_once() {
    let (address, listener) = silent();
    let late = project(&checks(1));
    let report = run_plan(&late, |plan| {
        plan.steps[0] = http(&plan.steps[0], HttpRequest::get(format!("http://{address}/")));
        plan.steps[0].timeout = Duration::from_millis(200);
    });
    let entry = result(&report, "STEP.1");
    assert_eq!((&entry["status"], &entry["classification"]["limit"]), (&json!("TIMEOUT"), &json!("wall")), "{entry:#}");
    assert_eq!((&entry["result"]["error"]["code"], &entry["result"]["timeout"]), (&json!("TIMEOUT"), &json!(200)));
    assert_all_ended(&listener);

    let (address, listener) = silent();
    let stopped = project(&(checks(2) + &cleanup("end", &[])));
    let shape = |plan: &mut proctor_model::Plan| {
        plan.steps[0] = http(&plan.steps[0], HttpRequest::get(format!("http://{address}/")));
    };
    let report = carry_out_and_tell(&stopped, shape, &mut |progress, control| {
        if matches!(progress, Progress::ActionStarted(action) if action.id.as_str() == "STEP.1") {
            control.stop(StopReason::Interrupted);
        }
    });
    assert_eq!(report["executionSummary"]["overallStatus"], "INTERRUPTED");
    assert_eq!(result(&report, "STEP.1")["classification"]["code"], "STOPPED");
    assert_eq!(result(&report, "STEP.2")["skipReason"], "stopped");
    assert_eq!(result(&report, "CLEANUP.1")["status"], "SUCCESS");
    assert_all_ended(&listener);
}
