//! A small web project (`fixtures/projects/shop`: Express, React, PostgreSQL, Jest) and test specifications: two of the public examples
//! and one of its own run whole against it, and a third example finds a fault that is put into it.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nix::unistd::geteuid;
use serde_json::{Value, json};

use crate::common::{Project, free_port, playwright_modules, shop_modules};
use crate::public_specifications::PublicFile;
use crate::real_projects::{BOUND, copy_into};

/// The examples name port 3000, so one of them runs at a time.
static PORT_3000: Mutex<()> = Mutex::new(());

/// Makes the project with its packages, and with a link by which a path from the root is the same path in `packages/web`: the
/// examples run eslint there on paths from the root.
fn shop() -> Project {
    let found = |path: &str| Path::new(path).exists();
    assert!(found("/usr/lib/postgresql"), "no PostgreSQL: `apt-get install postgresql`, which `.ci/wide` does");
    let project = Project::bundled("shop");
    copy_into(&project, &shop_modules(), "packages/web/node_modules");
    copy_into(&project, &playwright_modules(), "node_modules");
    symlink("..", project.path().join("packages/web/packages")).expect("the project is ours");
    project
}

/// Opens the isolation where it would keep PostgreSQL from starting: root starts it as another user of a namespace of its own, and
/// the isolation refuses such a namespace. Other users start it within the isolation.
fn with_database(project: Project) -> Project {
    if geteuid().is_root() {
        let settings = std::fs::read_to_string(project.path().join("proctor.toml")).expect("a file of the project");
        project.save("proctor.toml", &format!("{settings}\n[sandbox]\nmode = \"off\"\n"));
    }
    project
}

/// Runs a task and returns its report.
fn run(project: &Project, task: &str, values: &[&str]) -> Value {
    let arguments = [&["run", "--task", task, "--json"], values].concat();
    project.proctor(arguments).bound(BOUND).any_status().json()
}

fn failed_steps(report: &Value) -> Vec<&str> {
    let results = report["stepExecution"]["results"].as_array().expect("a list").iter();
    results.filter(|result| result["status"] != "SUCCESS").filter_map(|result| result["actionId"].as_str()).collect()
}

#[track_caller]
fn is_complete(report: &Value) {
    assert_eq!(report["completionCriteriaEvaluation"]["completionStatus"], "COMPLETE", "{report:#}");
    assert_eq!(failed_steps(report), [""; 0], "{report:#}");
}

#[test]
#[ignore = "wide tier"]
fn two_public_examples_run_whole_against_the_shop_and_are_complete() {
    let _alone = PORT_3000.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, project) in [("T004-quotes-get", shop()), ("T003-integration-database-migration", with_database(shop()))] {
        let file = PublicFile::named(name);
        project.save(&file.path(), &file.document().to_string());
        let address = format!("DATABASE_URL=postgresql://shop@127.0.0.1:{}/postgres", free_port());
        let values = if file.values().is_empty() { Vec::new() } else { vec!["--set", &address] };
        is_complete(&run(&project, file.task, &values));
    }
}

#[test]
#[ignore = "wide tier"]
fn a_missing_endpoint_is_the_debt_that_a_public_example_foresees() {
    let _alone = PORT_3000.lock().unwrap_or_else(PoisonError::into_inner);
    let project = shop();
    let app = "packages/web/src/app.ts";
    let whole = std::fs::read_to_string(project.path().join(app)).expect("a file of the project");
    let (before, handler) = whole.split_once("  quotes.post(").expect("it has the handler");
    let (_, after) = handler.split_once("\n  });\n").expect("the handler ends");
    project.save(app, &format!("{before}{}", after).replace("readListQuery, readNewQuote", "readListQuery"));
    let file = PublicFile::named("T005-contract-post-quotes");
    project.save(&file.path(), &file.document().to_string());
    let report = run(&project, file.task, &file.values());
    assert_eq!(report["completionCriteriaEvaluation"]["taskStatus"], "FAILED", "{report:#}");
    let debt = std::fs::read_to_string(project.path().join("evidence/T005/technical-debt-data.json")).expect("there is debt");
    let debt: Value = serde_json::from_str(&debt).expect("it is JSON");
    let items = debt["debtItems"].as_array().expect("a list");
    let item = items.iter().find(|item| item["actionId"] == "STEP.5").unwrap_or_else(|| panic!("{debt:#}"));
    let (classification, trace) = (&item["classification"], &item["errorDetails"]["diagnostics"]["httpTrace"]);
    assert_eq!((&classification["category"], &classification["severity"]), (&json!("API_ENDPOINT_MISSING"), &json!("CRITICAL")));
    assert_eq!((&trace["request"], &trace["responseStatus"]), (&json!("POST http://localhost:3000/api/quotes"), &json!(404)));
    // What cannot be right without the address fails for it, and no other step does.
    assert_eq!(failed_steps(&report), ["STEP.4", "STEP.5", "STEP.6", "STEP.7", "STEP.8"], "{report:#}");
}

#[test]
#[ignore = "wide tier"]
fn a_task_with_a_database_as_a_service_and_a_browser_is_complete() {
    assert!(Path::new("/usr/bin/chromium").exists(), "no Chromium: `apt-get install chromium`, which `.ci/wide` does");
    let project = with_database(shop());
    let ports = [format!("PORT={}", free_port()), format!("DATABASE_PORT={}", free_port())];
    is_complete(&run(&project, "T301", &["--set", &ports[0], "--set", &ports[1]]));
    let pictures = std::fs::read_dir(project.path().join("evidence/T301")).expect("evidence").flatten();
    let names: Vec<String> = pictures.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(names.iter().any(|name| name == "STEP.4-screenshot.png"), "{names:?}");
}
