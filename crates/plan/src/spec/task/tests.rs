//! Tests of planning the sample specification: a change of any field changes the plan.

mod fields;

use std::path::Path;

use serde_json::{Value, json};

use crate::config::{self, Configuration};
use crate::spec::specification::{SCHEMA_TEXT, SpecificationContext, read_specification};
use crate::spec::task::{TaskContext, resolve_task};
use crate::spec::{plan_digest, unreachable_request};
use proctor_model::{Action, ActionKind, ClientCall, OnSurvivors, Plan, PolicySource, TaskId, Tool};
use proctor_tools::FakeFiles;

const ROUNDING: &str = include_str!("../../../../../fixtures/specifications/rounding.json");

const ROOT: &str = "/srv/copy";

/// An edit with this value removes its key from the specification.
const GONE: &str = "(gone)";

fn document() -> Value {
    serde_json::from_str(ROUNDING).expect("the composed specification is JSON")
}

fn edited(edits: &[(&str, Value)]) -> Value {
    let mut document = document();
    for (pointer, value) in edits {
        let (parent, key) = pointer.rsplit_once('/').expect("an edit is of a member");
        match document.pointer_mut(parent).unwrap_or_else(|| panic!("there is no {parent}")) {
            Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value.clone(),
            Value::Object(members) if value == GONE => drop(members.remove(key)),
            Value::Object(members) => drop(members.insert(key.to_owned(), value.clone())),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => panic!("{pointer}: it has no members"),
        }
    }
    document
}

#[track_caller]
fn planned(document: &Value) -> Plan {
    planned_with(document, &Configuration::default())
}

#[track_caller]
fn planned_with(document: &Value, configuration: &Configuration) -> Plan {
    let project = SpecificationContext { project_root: Path::new(ROOT) };
    let reading = read_specification(&document.to_string(), "specs/T117-test-specification.json", project);
    let faults: Vec<_> = reading.faults.iter().map(ToString::to_string).collect();
    let specification = reading.specification.unwrap_or_else(|| panic!("{}", faults.join("\n")));
    let files = FakeFiles::of(&[("web/package.json", r#"{"scripts": {"lint": "eslint . --max-warnings 3"}}"#)]);
    let around = TaskContext { project, files: &files, configuration };
    let task = TaskId::try_from("T117").expect("an id");
    resolve_task(&specification, &task, &reading.faults, around).expect("there is such a task")
}

#[test]
fn a_prerequisite_that_starts_the_development_server_is_that_server() {
    let prerequisite = |id: &str, command: &str, environment: Value| {
        json!({
            "actionId": id, "type": "TERMINAL_COMMAND", "description": format!("the prerequisite {id}"),
            "parameters": { "command": command, "workingDirectory": "/srv/billing-core/web/.", "environment": environment },
        })
    };
    let document = edited(&[
        ("/globalConfiguration/devServer/environment", json!({ "LEVEL": "1", "TZ": "CET" })),
        (
            "/tasks/T117/testExecution/prerequisites",
            json!([
                prerequisite("PREREQ.1", "npm install", json!({})),
                prerequisite("PREREQ.2", " npm run serve", json!({ "PORT": "4173", "LEVEL": "1" })),
                prerequisite("PREREQ.3", "npm run seed", json!({})),
            ]),
        ),
        ("/tasks/T117/executionWorkflow/executionOrder", json!(GONE)),
        (
            "/tasks/T117/validationCriteria/failureConditions",
            json!([{ "condition": "PREREQ.2.failed", "description": "no server" }]),
        ),
    ]);
    let plan = planned(&document);
    let ids: Vec<&str> = plan.prerequisites.iter().map(|action| action.id.as_str()).collect();
    assert_eq!(ids, ["PREREQ.1", "PREREQ.2", "CHECK.1", "PREREQ.3"], "what makes the server ready, the server, and what asks it");
    let server = &plan.prerequisites[1];
    let variables: Vec<(&str, &str)> = server.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(variables, [("LEVEL", "1"), ("PORT", "4173"), ("PYTHONHASHSEED", "0"), ("TZ", "CET")]);
    let alone = planned(&edited(&[]));
    assert_eq!(server.service, alone.prerequisites[0].service, "it is asked as the server by itself is");
    assert!(plan.prerequisites.iter().filter(|action| action.service.is_some()).count() == 1, "there is one server");
}

#[test]
fn the_composed_task_becomes_a_plan() {
    let plan = serde_json::to_value(planned(&document())).expect("a plan is JSON");
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan).expect("it is JSON"));
}

#[test]
fn a_request_to_the_network_of_the_run_is_refused_by_name() {
    let refused = |network: &str| {
        let configuration = config::read(&format!("[sandbox]\nnetwork = \"{network}\"\n"), "proctor.toml").expect("it is right");
        let plan = planned_with(&document(), &configuration);
        let of_proctor = plan.actions().filter(|action| !action.kind.starts_a_process());
        assert!(of_proctor.into_iter().all(|action| action.network.is_open()), "what proctor does has the machine's network");
        unreachable_request(&plan, &configuration).map(|problem| problem.to_string())
    };
    assert_eq!((refused("open"), refused("off").is_some()), (None, true));
    insta::assert_snapshot!(refused("loopback").expect("it is refused"), @r#"
    proctor.toml: sandbox.network: `STEP.3` asks http://127.0.0.1:4173/totals, and proctor sends requests from outside of the network of a run
      put `network = "open"` in `[sandbox]` in place of "loopback", or have a command send the request
    "#);
}

#[test]
fn a_task_that_is_not_there_has_no_plan() {
    let project = SpecificationContext { project_root: Path::new(ROOT) };
    let reading = read_specification(ROUNDING, "a.json", project);
    let (files, configuration) = (FakeFiles::default(), Configuration::default());
    let around = TaskContext { project, files: &files, configuration: &configuration };
    let task = TaskId::try_from("T118").expect("an id");
    assert_eq!(resolve_task(&reading.specification.expect("it runs"), &task, &reading.faults, around), None);
}

/// A plan's notes are the faults that do not prevent runs, if they are about the plan's task or about all tasks, and
/// notes about its actions. Faults of other tasks are left out.
#[test]
fn the_notes_of_a_plan_are_of_its_task_or_of_all() {
    let mut document = edited(&[("/tasks/T117/testExecution/steps/1/parameters/workingDirectory", json!("elsewhere"))]);
    let mut other = document["tasks"]["T117"].clone();
    other["taskId"] = json!("T118");
    document["tasks"]["T118"] = other;
    let notes: Vec<String> = planned(&document).notes.iter().map(|note| format!("{}: {}", note.subject, note.message)).collect();
    let of = |subject: &str| notes.iter().filter(|note| note.starts_with(subject)).count();
    assert!(of("/globalConfiguration/") >= 1 && of("/tasks/T117/") >= 1, "{notes:#?}");
    assert_eq!(of("/tasks/T118"), 0, "{notes:#?}");
    assert!(notes.iter().any(|note| note.ends_with(": the directory `elsewhere` is not there yet")), "{notes:#?}");
}

/// If a step names a tool and its command looks like another tool, the plan has a note about it.
#[test]
fn a_tool_that_differs_from_what_the_command_looks_like_is_noted() {
    for (command, said, expected) in [
        ("npx tsc --noEmit", "tsc", None),
        ("npx tsc --noEmit", "eslint", Some("the command looks like tsc, but `tool` says eslint, which holds")),
        ("make types", "tsc", None),
    ] {
        let document = edited(&[
            ("/tasks/T117/testExecution/steps/1/parameters/command", json!(command)),
            ("/tasks/T117/testExecution/steps/1/proctor", json!({ "version": "1.0.0", "tool": said })),
        ]);
        let plan = planned(&document);
        let found = plan.notes.iter().map(|note| note.message.as_str()).find(|message| message.contains("looks like"));
        assert_eq!(found, expected, "{command}, {said}");
    }
}

/// Prerequisites and cleanups are judged by their exit codes, whatever the command looks like. Only steps may name a
/// `tool`.
#[test]
fn only_steps_are_recognised() {
    let command = "npx --no-install tsc --noEmit";
    let plan = planned(&edited(&[
        ("/tasks/T117/testExecution/cleanup/0/parameters/command", json!(command)),
        ("/tasks/T117/testExecution/steps/1/parameters/command", json!(command)),
    ]));
    assert_eq!((plan.steps[1].tool, plan.cleanup[0].tool), (Tool::Tsc, Tool::Generic));
    assert_eq!(plan.steps[2].tool, Tool::Generic, "a request is none");
}

/// If an action already has the id that the development server would get, the server gets another id.
#[test]
fn what_proctor_adds_has_an_id_that_no_action_has() {
    let plan = planned(&document());
    let ids: Vec<&str> =
        plan.prerequisites.iter().chain(&plan.steps).chain(&plan.cleanup).map(|action| action.id.as_str()).collect();
    let added = ids.iter().copied().find(|id| !ROUNDING.contains(&format!("\"{id}\""))).expect("the server is added");
    let document = edited(&[
        ("/tasks/T117/testExecution/cleanup/0/actionId", json!(added)),
        ("/tasks/T117/executionWorkflow/executionOrder", json!(GONE)),
    ]);
    let plan = planned(&document);
    let mut ids: Vec<&str> =
        plan.prerequisites.iter().chain(&plan.steps).chain(&plan.cleanup).map(|action| action.id.as_str()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
    assert_eq!(plan.cleanup[0].id.as_str(), added);
}

/// The name of an action is its description. A description of more than 100 characters is cut, and the id is appended.
#[test]
fn a_long_description_is_cut_and_told_apart_by_its_id() {
    let name = |length: usize| {
        let description = "x".repeat(length);
        planned(&edited(&[("/tasks/T117/testExecution/steps/1/description", json!(description))])).steps[1].name.clone()
    };
    assert_eq!(name(100), "x".repeat(100));
    assert_eq!(name(101), format!("{} (STEP.2)", "x".repeat(100)));
}

/// If not every step must pass but no pass rate is given, all steps must pass (C63).
#[test]
fn without_a_rate_every_step_must_pass() {
    let rate = |all: bool| {
        let (all_must, rate) =
            ("/tasks/T117/completionCriteria/allStepsMustPass", "/tasks/T117/completionCriteria/minimumPassRate");
        let plan = planned(&edited(&[(all_must, json!(all)), (rate, json!(GONE))]));
        plan.criteria.expect("a task has them").minimum_pass_rate_basis_points
    };
    assert_eq!((rate(false), rate(true)), (Some(10_000), None));
}

/// A service has no limit on the time without output, whatever the limit for other actions is.
#[test]
fn a_server_may_be_silent() {
    let defaults = "[defaults]\nidle_timeout = 3\non_survivors = \"fail\"\n";
    let configuration = config::read(defaults, "proctor.toml").expect("a right text");
    let plan = planned_with(&document(), &configuration);
    let server = plan.prerequisites.iter().find(|action| action.service.is_some()).expect("the server of the specification");
    assert_eq!((server.name.as_str(), server.idle_timeout), ("development server", None));
    assert_eq!((server.on_survivors, plan.steps[0].on_survivors), (OnSurvivors::Report, OnSurvivors::Fail));
    assert_eq!(plan.steps[0].idle_timeout, Some(std::time::Duration::from_secs(3)));
}

const TASK: &str = "/tasks/T117";
const GLOBAL: &str = "/globalConfiguration";
const ENGINE: &str = "/executionEngine/executorConfigurations";

/// Fields that change what is run or how it is judged, each with a value that differs from the sample specification.
fn fields() -> Vec<(String, Value)> {
    let of = |place: &str, rows: &[(&str, Value)]| -> Vec<(String, Value)> {
        rows.iter().map(|(rest, value)| (format!("{place}{rest}"), value.clone())).collect()
    };
    let prerequisite = format!("{TASK}/testExecution/prerequisites/0");
    let command = format!("{TASK}/testExecution/steps/0");
    let types = format!("{TASK}/testExecution/steps/1");
    let request = format!("{TASK}/testExecution/steps/2");
    let cleanup = format!("{TASK}/testExecution/cleanup/0");
    [
        of(
            GLOBAL,
            &[
                ("/workspaceRoot", json!("/srv")),
                ("/environment/TZ", json!("CET")),
                ("/timeout", json!(430_000)),
                ("/timeout", json!(GONE)),
                ("/devServer", json!(GONE)),
                ("/devServer/command", json!("npm run preview")),
                ("/devServer/workingDirectory", json!("/srv/billing-core")),
                ("/devServer/healthCheckUrl", json!("http://127.0.0.1:4173/other")),
                ("/devServer/healthCheckUrl", json!(GONE)),
                ("/devServer/startupTimeout", json!(25_000)),
                ("/devServer/startupTimeout", json!(GONE)),
                ("/validationPolicy/typeChecking/tools/typescript/enabled", json!(false)),
                ("/validationPolicy/typeChecking/tools/typescript/blockOn", json!("WARN_ONLY")),
            ],
        ),
        of(
            ENGINE,
            &[
                ("/TERMINAL_COMMAND/defaultTimeout", json!(61_000)),
                ("/HTTP_REQUEST/followRedirects", json!(true)),
                ("/HTTP_REQUEST/validateSSL", json!(false)),
            ],
        ),
        of(
            TASK,
            &[
                ("/dependencies", json!([])),
                ("/validationCriteria/successConditions/0/condition", json!("STEP.1.exitCode < 1")),
                ("/validationCriteria/failureConditions", json!([])),
                ("/validationCriteria/expectedOutput", json!(GONE)),
                ("/validationCriteria/expectedOutput/stdoutContains", json!(["1 passed"])),
                ("/validationCriteria/expectedOutput/stderrEmpty", json!(true)),
                ("/validationCriteria/expectedOutput/exitCode", json!(GONE)),
                ("/completionCriteria/allStepsMustPass", json!(false)),
                ("/completionCriteria/minimumPassRate", json!(80)),
                ("/completionCriteria/requiredEvidence", json!(["terminal-output"])),
                ("/completionCriteria/taskStatusLock", json!(false)),
                ("/executionWorkflow", json!(GONE)),
                ("/executionWorkflow/prerequisites/0/checkCommand", json!("curl -fsS http://127.0.0.1:4173/ready")),
                ("/executionWorkflow/executionOrder", json!(["PREREQ.1", "STEP.2", "STEP.1", "STEP.3", "CLEANUP.1"])),
                ("/executionWorkflow/parallelExecution", json!(true)),
            ],
        ),
        of(
            &prerequisite,
            &[
                ("/actionId", json!("PREREQ.7")),
                ("/parameters/filePath", json!("billing/other.py")),
                ("/parameters/minSize", json!(65)),
                ("/parameters/maxSize", json!(GONE)),
                ("/timeout", json!(2500)),
                ("/timeout", json!(GONE)),
                ("/retryAttempts", json!(1)),
                ("/continueOnFailure", json!(true)),
                ("/evidenceCapture", json!({ "fileContents": true })),
            ],
        ),
        of(
            &command,
            &[
                ("/parameters/command", json!("python -m pytest tests")),
                ("/parameters/workingDirectory", json!("/srv/billing-core/api")),
                ("/parameters/environment/LANG", json!("C")),
                ("/parameters/expectedExitCodes", json!([0, 1])),
                ("/parameters/shell", json!("bash")),
                ("/evidenceCapture/stdout", json!(false)),
                ("/evidenceCapture/stderr", json!(false)),
                ("/timeout", json!(91_000)),
                ("/retryAttempts", json!(2)),
                ("/continueOnFailure", json!(false)),
                ("/proctor", json!({ "version": "1.0.0", "tool": "generic" })),
            ],
        ),
        of(
            &types,
            &[
                ("/proctor", json!({ "version": "1.0.0", "argv": ["tsc"] })),
                ("/proctor", json!({ "version": "1.0.0", "after": ["STEP.1"] })),
                ("/proctor", json!({ "version": "1.0.0", "tool": "mypy" })),
            ],
        ),
        of(
            &request,
            &[
                ("/parameters/url", json!("http://127.0.0.1:4173/sums")),
                ("/parameters/method", json!("PUT")),
                ("/parameters/headers", json!({})),
                ("/parameters/body", json!("2.665")),
                ("/parameters/expectedStatus", json!(201)),
                ("/parameters/validateResponse/containsText", json!("2.67")),
                ("/parameters/validateResponse/matchesRegex", json!("^2")),
                ("/parameters/validateResponse/jsonSchema", json!({ "type": "object" })),
                ("/evidenceCapture", json!({ "requestResponse": true })),
                ("/timeout", json!(5500)),
            ],
        ),
        of(&cleanup, &[("/parameters/command", json!("rm -rf .other")), ("/timeout", json!(9000))]),
    ]
    .concat()
}

#[test]
fn every_field_that_is_carried_out_changes_what_is_approved() {
    let usual = plan_digest(&planned(&document()));
    let mut unchanged = Vec::new();
    for (pointer, value) in fields() {
        let mut edits = vec![(pointer.as_str(), value.clone())];
        // References to other files and actions must stay valid after the edit.
        let ids = json!({ "prerequisites": [], "executionOrder": ["PREREQ.7"], "parallelExecution": false });
        if pointer.ends_with("/actionId") {
            edits.push(("/tasks/T117/executionWorkflow", ids));
            edits.push(("/tasks/T117/validationCriteria/failureConditions", json!([])));
        }
        if pointer.ends_with("/condition") || pointer.ends_with("workspaceRoot") {
            edits.push(("/executionEngine/executorConfigurations/FILE_VALIDATION", json!(GONE)));
        }
        if plan_digest(&planned(&edited(&edits))) == usual {
            unchanged.push(format!("{pointer} = {value}"));
        }
    }
    assert!(unchanged.is_empty(), "{unchanged:#?} change nothing");
}

#[test]
fn an_action_without_a_time_has_that_of_its_type() {
    let steps = "/tasks/T117/testExecution/steps";
    let (command, request) = (format!("{steps}/1/timeout"), format!("{steps}/2/timeout"));
    let mut edits = vec![(command.as_str(), json!(GONE)), (request.as_str(), json!(GONE))];
    let times = |edits: &[(&str, Value)]| {
        let plan = planned(&edited(edits));
        [&plan.steps[1], &plan.steps[2], &plan.prerequisites[1]].map(|action| action.timeout.as_millis())
    };
    assert_eq!(times(&edits), [60_000, 5000, 60_000]);
    edits.push(("/executionEngine/executorConfigurations", json!({})));
    assert_eq!(times(&edits), [30_000, 10_000, 30_000]);
}

/// Returns the second step, which has these parameters, with these settings of the executors.
fn of_client(kind: &str, parameters: Value, settings: Value) -> Action {
    let step =
        json!({ "actionId": "STEP.2", "type": kind, "description": "asks a client of the machine", "parameters": parameters });
    let edits = [
        ("/executionEngine/availableActionTypes", json!(["FILE_VALIDATION", "TERMINAL_COMMAND", "HTTP_REQUEST", kind])),
        ("/executionEngine/executorConfigurations", settings),
        ("/tasks/T117/testExecution/steps/1", step),
        ("/tasks/T117/validationCriteria/successConditions/1/condition", json!("STEP.2.success === true")),
    ];
    planned(&edited(&edits)).steps[1].clone()
}

#[test]
fn the_time_of_queries_is_the_limit_for_all_of_a_query() {
    let query = json!({ "connectionString": "sqlite:app.db", "query": "select 1" });
    let time =
        |settings: Value| of_client("DATABASE_QUERY", query.clone(), json!({ "DATABASE_QUERY": settings })).timeout.as_millis();
    assert_eq!(time(json!({ "queryTimeout": 2000 })), 2000);
    assert_eq!(time(json!({ "queryTimeout": 2000, "connectionTimeout": 9000 })), 2000);
    assert_eq!(time(json!({ "connectionTimeout": 9000 })) - time(json!({ "connectionTimeout": 1000 })), 8000, "else it is added");
}

#[test]
fn an_image_is_built_of_the_project_and_tagged_as_the_guide_says() {
    let build = json!({
        "dockerCommand": "build", "containerOrImage": "shop:test", "command": "-f docker/Dockerfile --pull"
    });
    let ActionKind::ClientCommand(call) = of_client("DOCKER_COMMAND", build, json!({})).kind else {
        panic!("a client carries it out");
    };
    let ClientCall::Container(container) = *call else { panic!("it is a container engine's") };
    assert_eq!(container.arguments, ["build", "--tag", "shop:test", "-f", "docker/Dockerfile", "--pull", "."]);
}

/// What the published schema calls without effect is what the lint speaks of; it says so of no action that is carried out.
#[test]
fn the_published_schema_says_of_nothing_that_runs_that_it_does_not() {
    let schema: Value = serde_json::from_str(SCHEMA_TEXT).expect("it is JSON");
    let definitions = schema["definitions"].as_object().expect("an object");
    let is_idle = |definition: &Value| {
        let said = definition["description"].as_str().unwrap_or_default();
        ["not carried out", "no effect", "runs no", "does not run", "is refused"].iter().any(|words| said.contains(words))
    };
    let idle: Vec<&String> = definitions.iter().filter(|(_, definition)| is_idle(definition)).map(|(name, _)| name).collect();
    assert_eq!(idle, ["BrowserConfig", "DockerCommandConfig", "McpValidation", "MisplacedExecutorConfig"]);
}

#[test]
fn settings_of_debt_change_what_is_approved() {
    let usual = plan_digest(&planned(&document()));
    for (rest, value) in [
        ("enabled", json!(false)),
        ("routingStrategy", json!("MANUAL")),
        ("capacityThresholds/sprintTasksMaxItems", json!(7)),
        ("capacityThresholds/sprintTasksMaxCritical", json!(5)),
        ("severityLevels", json!(["CRITICAL"])),
    ] {
        let pointer = format!("/technicalDebtConfiguration/{rest}");
        assert_ne!(plan_digest(&planned(&edited(&[(&pointer, value)]))), usual, "{pointer}");
    }
}

#[test]
fn debt_is_written_down_as_the_specification_has_it() {
    let usual = planned(&document()).debt;
    for (pointer, value) in [
        ("/technicalDebtConfiguration/enabled", json!(false)),
        ("/technicalDebtConfiguration/routingStrategy", json!("MANUAL")),
        ("/technicalDebtConfiguration/capacityThresholds/sprintTasksMaxItems", json!(7)),
        ("/technicalDebtConfiguration/capacityThresholds/sprintTasksMaxCritical", json!(5)),
        ("/technicalDebtConfiguration/severityLevels", json!(["CRITICAL"])),
        ("/tasks/T117/technicalDebtExpectations/likelyFailures/0/expectedSeverity", json!("LOW")),
        ("/tasks/T117/technicalDebtExpectations/likelyFailures/0/expectedDebtCategory", json!("REFACTOR")),
        ("/tasks/T117/technicalDebtExpectations/likelyFailures/0/suggestedFix", json!(GONE)),
        ("/tasks/T117/dependencies", json!([])),
    ] {
        assert_ne!(planned(&edited(&[(pointer, value)])).debt, usual, "{pointer}");
    }
}

#[test]
fn texts_for_people_are_shown_and_change_nothing() {
    let usual = planned(&document());
    let plan = planned(&edited(&[
        ("/metadata/projectName", json!("other")),
        ("/metadata/sprintId", json!("SPRINT_013")),
        ("/tasks/T117/title", json!("Rounding of totals, again")),
        ("/tasks/T117/priority", json!("LOW")),
        (
            "/tasks/T117/description",
            json!("Totals must be rounded half-to-even, and the description of it is longer than fifty characters."),
        ),
    ]));
    assert_eq!(plan_digest(&plan), plan_digest(&usual));
    let source = plan.specification.expect("it comes from one");
    assert_eq!((plan.project_name.as_str(), source.sprint_id.as_str()), ("other", "SPRINT_013"));
    assert_eq!(source.task_title, "Rounding of totals, again");
}

/// Plans the sample specification with `command` as the command of its second step. Returns that step's policy:
/// strategy, source, limit on warnings.
fn policy(command: &str, directory: &str, edits: &[(&str, Value)], toml: &str) -> (String, PolicySource, Option<u32>) {
    let step = |rest: &str| format!("{TASK}/testExecution/steps/1/parameters/{rest}");
    let (at_command, at_directory) = (step("command"), step("workingDirectory"));
    let mut all = vec![(at_command.as_str(), json!(command)), (at_directory.as_str(), json!(directory))];
    all.extend(edits.iter().cloned());
    let configuration = config::read(toml, "proctor.toml").expect("a right text");
    let plan = planned_with(&edited(&all), &configuration);
    let policy = plan.steps[1].policy.clone().unwrap_or_else(|| panic!("`{command}` has a policy"));
    (policy.block_on.strategy().to_owned(), policy.source, policy.max_warnings)
}

#[test]
fn c22_c23_the_nearest_word_is_the_policy_of_a_tool() {
    const LINTING: &str = "/globalConfiguration/validationPolicy/linting";
    let configured =
        |place: &str| PolicySource::Configured(format!("specs/T117-test-specification.json validationPolicy.{place}"));
    let eslint = policy("npx eslint .", "web", &[], "");
    assert_eq!(eslint, ("BLOCK_ON_ERRORS_ONLY".to_owned(), configured("linting.tools.eslint.blockOn"), Some(10)));
    let by_category = policy("ruff check", "web", &[], "");
    assert_eq!(by_category, ("BLOCK_ON_ERRORS_ONLY".to_owned(), configured("linting.strategy"), None));
    let off = format!("{LINTING}/tools/eslint/enabled");
    let disabled = policy("npx eslint .", "web", &[(&off, json!(false))], "");
    let source =
        PolicySource::Disabled("specs/T117-test-specification.json validationPolicy.linting.tools.eslint.enabled".to_owned());
    assert_eq!((disabled.0.as_str(), disabled.1), ("NEVER", source));
    // If the specification has no policy, the project's settings and scripts apply.
    let silent = [(LINTING, json!(GONE))];
    let by_settings = policy("npx eslint .", "web", &silent, "[policy]\nlinting = \"warn-only\"\n");
    assert_eq!((by_settings.0.as_str(), by_settings.1), ("WARN_ONLY", PolicySource::Configured("proctor.toml:2".to_owned())));
    assert_eq!(policy("npm run lint", "web", &silent, "").2, Some(3));
    let tool = |said: &str| ("/tasks/T117/testExecution/steps/1/proctor", json!({ "version": "1.0.0", "tool": said }));
    let of_script = |said: &str| policy("npm run lint", "web", &[silent[0].clone(), tool(said)], "").2;
    assert_eq!((of_script("eslint"), of_script("ruff")), (Some(3), None), "a script's word is about its own tool");
    let build = policy("make all", "web", &[("/globalConfiguration/validationPolicy/compilation/strategy", json!("NEVER"))], "");
    assert_eq!((build.0.as_str(), build.1), ("NEVER", configured("compilation.strategy")));
}

#[test]
fn a_linters_options_are_those_of_the_specification() {
    let step = "/tasks/T117/testExecution/steps/1/parameters/command";
    let tools = "/globalConfiguration/validationPolicy/linting/tools";
    let plan = planned(&edited(&[(step, json!("npx eslint ."))]));
    let eslint = plan.steps[1].policy.clone().expect("it has one");
    assert_eq!((eslint.ignored_rules, eslint.error_on_rules), (vec!["no-console".to_owned()], vec!["eqeqeq".to_owned()]));
    assert!(!eslint.treat_warnings_as_errors);
    for (tool, command) in
        [("eslint", "npx eslint ."), ("prettier", "npx prettier --check ."), ("pylint", "pylint a"), ("flake8", "flake8")]
    {
        let said = json!({ "blockOn": "ERRORS_AND_WARNINGS", "treatWarningsAsErrors": true, "errorOnRules": ["x"] });
        let plan = planned(&edited(&[(step, json!(command)), (&format!("{tools}/{tool}"), said)]));
        let policy = plan.steps[1].policy.clone().unwrap_or_else(|| panic!("{tool}"));
        assert_eq!(policy.block_on.strategy(), "BLOCK_ON_ERRORS_AND_WARNINGS", "{tool}");
        assert!(policy.treat_warnings_as_errors && policy.error_on_rules == ["x"], "{tool}");
    }
}

#[test]
fn scripts_services_and_words_of_the_root_are_planned_too() {
    let script = json!({
        "actionId": "STEP.2", "type": "CUSTOM_SCRIPT", "description": "checks the ledgers",
        "parameters": { "scriptPath": "${WORKSPACE_ROOT}/tools/check.py", "interpreter": "python3",
            "arguments": ["--data", "${WORKSPACE_ROOT}/data"], "environment": { "DATA": "${WORKSPACE_ROOT}/data" } }
    });
    let server = json!({
        "actionId": "PREREQ.1", "type": "TERMINAL_COMMAND", "description": "serves the totals",
        "parameters": { "command": "npm run serve", "workingDirectory": "web" }, "timeout": 9000,
        "proctor": { "version": "1.0.0", "service": { "ready": { "command": ["curl", "-f", "x"], "interval": 50, "attemptTimeout": 70 } } }
    });
    let plan = planned(&edited(&[
        ("/executionEngine/availableActionTypes", json!(["TERMINAL_COMMAND", "CUSTOM_SCRIPT", "HTTP_REQUEST"])),
        ("/tasks/T117/testExecution/steps/1", script),
        ("/tasks/T117/testExecution/prerequisites/0", server),
    ]));
    let script = &plan.steps[1];
    assert_eq!(script.command.argv, ["python3", "tools/check.py", "--data", "/srv/copy/data"]);
    assert_eq!((script.environment["DATA"].as_str(), script.environment["TZ"].as_str()), ("/srv/copy/data", "UTC"));
    assert_eq!((script.tool, script.timeout), (Tool::Generic, plan.timeout.expect("a specification has one")));
    let service = plan.prerequisites.last().and_then(|action| action.service.clone()).expect("a service");
    insta::assert_snapshot!(serde_json::to_string(&service).expect("it is JSON"));
}

#[test]
fn a_review_is_planned_and_what_stands_behind_it_waits_unless_steps_go_on_together() {
    let review =
        json!({ "version": "1.0.0", "review": { "prompt": "${WORKSPACE_ROOT}/docs/review.md", "acceptSplitEmphasis": false } });
    let reviewed = ("/tasks/T117/testExecution/steps/1/proctor", review);
    // Conditions can ask for `success` of a review, but not for its exit code.
    let condition = ("/tasks/T117/validationCriteria/successConditions/1/condition", json!("STEP.2.success === true"));
    let together = |together: bool| ("/tasks/T117/executionWorkflow/parallelExecution", json!(together));
    let plan = planned(&edited(&[reviewed.clone(), condition.clone(), together(false)]));
    let proctor_model::ActionKind::Review(asked) = &plan.steps[1].kind else { panic!("{:?}", plan.steps[1]) };
    let prompt = proctor_model::Prompt::File("docs/review.md".to_owned());
    assert_eq!((&asked.prompt, asked.accept_split_emphasis, plan.steps[1].tool), (&prompt, false, Tool::Review));
    let waiting = |plan: &Plan| plan.steps.iter().map(|step| step.after.contains(&plan.steps[1].id)).collect::<Vec<_>>();
    assert!(waiting(&plan)[2..].iter().all(|waits| *waits) && !waiting(&plan)[0], "{:?}", waiting(&plan));
    let plan = planned(&edited(&[reviewed, condition, together(true)]));
    assert!(waiting(&plan).iter().all(|waits| !*waits), "{:?}", waiting(&plan));
}

#[test]
fn names_are_one_line_each_and_differ() {
    let long = "a word ".repeat(30);
    let plan = planned(&edited(&[
        ("/tasks/T117/testExecution/steps/0/description", json!("checks\n  the totals")),
        ("/tasks/T117/testExecution/steps/1/description", json!("checks the totals")),
        ("/tasks/T117/testExecution/steps/2/description", json!(long)),
        ("/tasks/T117/executionWorkflow/prerequisites/0/description", json!("the server\n  answers")),
    ]));
    assert!(plan.prerequisites.iter().any(|check| check.name == "the server answers"), "{:?}", plan.prerequisites);
    let names: Vec<&str> = plan.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names[..2], ["checks the totals (STEP.1)", "checks the totals (STEP.2)"]);
    assert!(names[2].ends_with("(STEP.3)") && names[2].chars().count() < 120, "{}", names[2]);
}

#[test]
fn made_up_ids_give_way_to_written_ones() {
    let plan = planned(&edited(&[
        ("/tasks/T117/testExecution/prerequisites/0/actionId", json!("SERVER.1")),
        ("/tasks/T117/executionWorkflow/executionOrder", json!(["SERVER.1"])),
        ("/tasks/T117/validationCriteria/failureConditions", json!([])),
    ]));
    let ids: Vec<_> = plan.prerequisites.iter().map(|action| action.id.as_str()).collect();
    assert_eq!(ids, ["SERVER.1000000", "CHECK.1", "SERVER.1"]);
}
