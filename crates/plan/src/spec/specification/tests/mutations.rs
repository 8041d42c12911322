//! Changes the sample specification so that it has one fault at a time, and tests that the schema or a rule of the lint
//! finds it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{ROUNDING, read, said};
use crate::spec::specification::LINTS;
use proctor_model::Gravity;

/// An edit: a JSON pointer and the value to write there. A pointer that ends with `/-` appends the value to a list, and
/// the value [`GONE`] removes the key.
pub(super) type Edit = (&'static str, Value);

/// An expected fault: its code, and the JSON pointer to it.
type Expected = (&'static str, &'static str);

struct Mutation {
    name: &'static str,
    edits: Vec<Edit>,
    expected: Vec<Expected>,
}

/// An edit with this value removes its key from the specification.
pub(super) const GONE: &str = "(gone)";

const STEPS: &str = "/tasks/T117/testExecution/steps";

fn mutation(name: &'static str, edits: Vec<Edit>, expected: Vec<Expected>) -> Mutation {
    Mutation { name, edits, expected }
}

pub(super) fn step(index: usize, rest: &str) -> &'static str {
    Box::leak(format!("{STEPS}/{index}{rest}").into_boxed_str())
}

pub(super) fn prerequisite(rest: &str) -> &'static str {
    Box::leak(format!("/tasks/T117/testExecution/prerequisites/0{rest}").into_boxed_str())
}

pub(super) fn task(rest: &str) -> &'static str {
    Box::leak(format!("/tasks/T117{rest}").into_boxed_str())
}

pub(super) fn condition(index: usize) -> &'static str {
    Box::leak(format!("/tasks/T117/validationCriteria/successConditions/{index}/condition").into_boxed_str())
}

pub(super) fn added(mut value: Value) -> Value {
    value["version"] = json!("1.0.0");
    value
}

/// Returns the edits that make the third step an action of another type.
fn third_step(kind: &str, parameters: Value) -> Vec<Edit> {
    let action =
        json!({ "actionId": "STEP.3", "type": kind, "description": "asks a client of the machine", "parameters": parameters });
    vec![
        (step(2, ""), action),
        ("/executionEngine/availableActionTypes/-", json!(kind)),
        (task("/validationCriteria/successConditions/2"), json!(GONE)),
        (task("/completionCriteria/requiredEvidence"), json!([])),
    ]
}

/// Misspelt keys, which the schema refuses, and faults that only the lint finds.
fn lets_through() -> Vec<Mutation> {
    let copy = |id: &str| json!({ "actionId": id, "type": "TERMINAL_COMMAND", "description": "runs the linter", "parameters": { "command": "npx eslint .", "workingDirectory": "/srv/billing-core/web" } });
    vec![
        mutation("a misspelt key", vec![(step(0, "/timeoutt"), json!(9))], vec![("SCHEMA", step(0, ""))]),
        mutation(
            "a misspelt parameter",
            vec![(step(0, "/parameters/expectedExitCode"), json!(0))],
            vec![("SCHEMA", step(0, "/parameters"))],
        ),
        mutation(
            "a misspelt policy",
            vec![("/globalConfiguration/validationPolicy/lintng", json!({}))],
            vec![("SCHEMA", "/globalConfiguration/validationPolicy")],
        ),
        mutation(
            "a task id that is not its key",
            vec![(task("/taskId"), json!("T118"))],
            vec![("TASK_ID_DIFFERS", task("/taskId"))],
        ),
        mutation("an id twice", vec![(step(9, ""), copy("STEP.1"))], vec![("DUPLICATE_ACTION_ID", step(3, "/actionId"))]),
        mutation(
            "a type that is not available",
            vec![("/executionEngine/availableActionTypes", json!(["FILE_VALIDATION", "TERMINAL_COMMAND"]))],
            vec![("TYPE_NOT_AVAILABLE", step(2, "/type"))],
        ),
        mutation(
            "a command that is true",
            vec![(step(1, "/parameters/command"), json!("true"))],
            vec![("COMMAND_PROVES_NOTHING", step(1, "/parameters/command"))],
        ),
        mutation(
            "exit codes that let failures through",
            vec![(step(1, "/parameters/expectedExitCodes"), json!([0, 1, 2, 3, 4, 5]))],
            vec![("EXIT_CODES_WIDENED", step(1, "/parameters/expectedExitCodes"))],
        ),
        mutation(
            "evidence outside",
            vec![("/globalConfiguration/evidenceDirectory", json!("../../../etc"))],
            vec![("EVIDENCE_LEAVES_ROOT", "/globalConfiguration/evidenceDirectory")],
        ),
        mutation(
            "no rule of completion",
            vec![
                (task("/completionCriteria/allStepsMustPass"), json!(false)),
                (task("/completionCriteria/minimumPassRate"), json!(GONE)),
            ],
            vec![("PASS_RATE", task("/completionCriteria/allStepsMustPass"))],
        ),
        mutation(
            "a digest without a digest",
            vec![(prerequisite("/parameters/validationType"), json!("HASH_MATCH"))],
            vec![
                ("FILE_OPERAND_MISSING", prerequisite("/parameters")),
                ("FILE_OPERAND_IDLE", prerequisite("/parameters/maxSize")),
                ("FILE_OPERAND_IDLE", prerequisite("/parameters/minSize")),
            ],
        ),
        mutation(
            "content without content",
            vec![
                (prerequisite("/parameters"), json!({ "filePath": "a", "validationType": "CONTENT_MATCH" })),
                ("/executionEngine/executorConfigurations/FILE_VALIDATION", json!(GONE)),
            ],
            vec![("FILE_OPERAND_NONE", prerequisite("/parameters"))],
        ),
        mutation(
            "settings under a wrong key",
            vec![("/executionEngine/executorConfigurations/terminalCommand", json!({ "shell": "powershell", "timeout": 60000 }))],
            vec![("EXECUTOR_KEY", "/executionEngine/executorConfigurations/terminalCommand")],
        ),
    ]
}

/// Returns a prerequisite with the command of the development server.
fn server_prerequisite(directory: &str, environment: Value) -> Value {
    json!({
        "actionId": "PREREQ.1", "type": "TERMINAL_COMMAND", "description": "serves the totals",
        "parameters": { "command": "npm run serve", "workingDirectory": directory, "environment": environment },
    })
}

/// Further faults. The faults here and in `lets_through` together break every rule of the lint at least once.
fn others() -> Vec<Mutation> {
    let after = |ids: Value| added(json!({ "after": ids }));
    let order = task("/executionWorkflow/executionOrder");
    let order_at = |index: usize| -> &'static str { Box::leak(format!("{order}/{index}").into_boxed_str()) };
    let server = "/globalConfiguration/devServer";
    let command = step(1, "/parameters/command");
    let mut second = server_prerequisite("web", json!({}));
    second["actionId"] = json!("PREREQ.2");
    vec![
        mutation("a constant", vec![(condition(0), json!("1 === 1"))], vec![("CONDITION_WRONG", condition(0))]),
        mutation(
            "a condition on a stranger",
            vec![(condition(0), json!("STEP.9.exitCode === 0"))],
            vec![("CONDITION_WRONG", condition(0))],
        ),
        mutation(
            "a field of others",
            vec![(condition(0), json!("STEP.1.statusCode === 200"))],
            vec![("CONDITION_WRONG", condition(0))],
        ),
        mutation(
            "a condition on how a service ended",
            vec![
                (
                    prerequisite(""),
                    json!({ "actionId": "PREREQ.1", "type": "TERMINAL_COMMAND", "description": "serves the totals", "parameters": { "command": "npm run serve", "workingDirectory": "web" }, "proctor": { "version": "1.0.0", "service": { "ready": { "port": 4173 } } } }),
                ),
                (condition(0), json!("PREREQ.1.exitCode === 0 && STEP.1.exitCode === 0")),
            ],
            vec![("CONDITION_NEVER_KNOWN", condition(0))],
        ),
        mutation(
            "a condition on content that nothing reads",
            vec![(condition(0), json!("PREREQ.1.isValidJSON && STEP.1.exitCode === 0"))],
            vec![("CONDITION_NOT_SEEN", condition(0))],
        ),
        mutation(
            "no condition",
            vec![(condition(0), json!("STEP.1.exitCode ==== 0"))],
            vec![("CONDITION_UNREADABLE", condition(0))],
        ),
        mutation(
            "failing tests are success",
            vec![(condition(0), json!("STEP.1.exitCode === 0 || STEP.1.exitCode === 1"))],
            vec![("CONDITION_ACCEPTS_FAILURE", condition(0))],
        ),
        mutation(
            "a task that waits for itself",
            vec![(task("/dependencies"), json!(["T117"]))],
            vec![("TASK_CYCLE", task("/dependencies"))],
        ),
        mutation(
            "an order of strangers",
            vec![(order, json!(["PREREQ.1", "STEP.1", "STEP.2", "STEP.4", "STEP.3", "CLEANUP.1"]))],
            vec![("ORDER_UNKNOWN_ID", order_at(3))],
        ),
        mutation(
            "an order that repeats",
            vec![(order, json!(["PREREQ.1", "STEP.1", "STEP.2", "STEP.3", "STEP.1", "CLEANUP.1"]))],
            vec![("ORDER_REPEATED_ID", order_at(4))],
        ),
        mutation(
            "an order across phases",
            vec![(order, json!(["STEP.1", "STEP.2", "STEP.3", "PREREQ.1", "CLEANUP.1"]))],
            vec![("ORDER_ACROSS_PHASES", order_at(3))],
        ),
        mutation("an order with gaps", vec![(order, json!(["PREREQ.1", "STEP.3"]))], vec![("ORDER_INCOMPLETE", order)]),
        mutation(
            "waiting for a stranger",
            vec![(step(1, "/proctor"), after(json!(["STEP.7"])))],
            vec![("AFTER_UNKNOWN_ID", step(1, "/proctor/after/0"))],
        ),
        mutation(
            "waiting for each other",
            vec![(step(0, "/proctor"), after(json!(["STEP.2"]))), (step(1, "/proctor"), after(json!(["STEP.1"])))],
            vec![("AFTER_CYCLE", step(0, "/proctor/after")), ("AFTER_CYCLE", step(1, "/proctor/after"))],
        ),
        mutation(
            "a container of no image",
            third_step("DOCKER_COMMAND", json!({ "dockerCommand": "run" })),
            vec![("CONTAINER_OPERAND", step(2, "/parameters"))],
        ),
        mutation(
            "a password in a connection string",
            third_step("DATABASE_QUERY", json!({ "connectionString": "postgresql://app:hush@db/app", "query": "select 1" })),
            vec![("CONNECTION", step(2, "/parameters/connectionString"))],
        ),
        mutation(
            "rows of a statement that returns none",
            third_step(
                "DATABASE_QUERY",
                json!({ "connectionString": "sqlite:app.db", "query": "delete from a", "validateResults": { "containsValues": {} } }),
            ),
            vec![("QUERY_ROWS", step(2, "/parameters/validateResults"))],
        ),
        mutation(
            "a row's schema that is none",
            third_step(
                "DATABASE_QUERY",
                json!({ "connectionString": "${DATABASE_URL}", "query": "select 1", "validateResults": { "rowSchema": { "type": 3 } } }),
            ),
            vec![("SCHEMA_INVALID", step(2, "/parameters/validateResults/rowSchema"))],
        ),
        mutation(
            "a click before there is a page",
            third_step("MCP_BROWSER_COMMAND", json!({ "action": "browser_click" })),
            vec![("BROWSER_OPERAND", step(2, "/parameters")), ("BROWSER_PAGE", step(2, "/parameters/action"))],
        ),
        mutation(
            "a page of the machine's files",
            third_step("MCP_BROWSER_COMMAND", json!({ "action": "browser_navigate", "url": "file:///etc/passwd" })),
            vec![("BROWSER_URL", step(2, "/parameters/url"))],
        ),
        mutation(
            "a browser",
            vec![(task("/mcpValidation"), json!({ "enabled": true }))],
            vec![("BROWSER_VALIDATION", task("/mcpValidation/enabled"))],
        ),
        mutation(
            "an interpreter that is not allowed",
            vec![
                (
                    step(2, ""),
                    json!({ "actionId": "STEP.3", "type": "CUSTOM_SCRIPT", "description": "asks the endpoint", "parameters": { "scriptPath": "/srv/billing-core/ask.py", "interpreter": "python3" } }),
                ),
                ("/executionEngine/availableActionTypes/-", json!("CUSTOM_SCRIPT")),
                (
                    "/executionEngine/executorConfigurations/CUSTOM_SCRIPT",
                    json!({ "allowedInterpreters": ["node"], "scriptDirectory": "scripts" }),
                ),
                (task("/validationCriteria/successConditions/2"), json!(GONE)),
                (task("/completionCriteria/requiredEvidence"), json!([])),
            ],
            vec![
                ("INTERPRETER_NOT_ALLOWED", step(2, "/parameters/interpreter")),
                ("PATH_NOT_ALLOWED", step(2, "/parameters/scriptPath")),
            ],
        ),
        mutation(
            "a pipe without a shell",
            vec![(command, json!("npx tsc --noEmit | cat"))],
            vec![("COMMAND_NEEDS_SHELL", command)],
        ),
        mutation(
            "a script that hides",
            vec![(step(0, "/parameters/command"), json!("python -m pytest || true"))],
            vec![("COMMAND_HIDES_FAILURE", step(0, "/parameters/command"))],
        ),
        mutation("an open quote", vec![(command, json!("npx tsc 'a"))], vec![("COMMAND_UNCLOSED_QUOTE", command)]),
        mutation(
            "a script that hides in words",
            vec![(command, json!("bash -c 'npx tsc || true'"))],
            vec![("COMMAND_HIDES_FAILURE", command)],
        ),
        mutation(
            "words that hide",
            vec![(step(1, "/proctor"), added(json!({ "argv": ["sh", "-c", "npx tsc; exit 0"] })))],
            vec![("COMMAND_HIDES_FAILURE", step(1, "/proctor/argv"))],
        ),
        mutation(
            "no exit code in the report",
            vec![(step(0, "/evidenceCapture/exitCode"), json!(false))],
            vec![("CAPTURE_ALWAYS", step(0, "/evidenceCapture/exitCode"))],
        ),
        mutation(
            "a foreign shell",
            vec![(step(1, "/parameters/shell"), json!("powershell"))],
            vec![("SHELL_UNSUPPORTED", step(1, "/parameters/shell"))],
        ),
        mutation(
            "the server as a prerequisite",
            vec![(prerequisite(""), server_prerequisite("/srv/billing-core/web", json!({ "PORT": "4173" })))],
            vec![("DEV_SERVER_AS_PREREQUISITE", prerequisite("/parameters/command"))],
        ),
        mutation(
            "the server at another port",
            vec![(prerequisite(""), server_prerequisite("web", json!({ "PORT": "4174" })))],
            vec![
                ("DEV_SERVER_AS_PREREQUISITE", prerequisite("/parameters/command")),
                ("DEV_SERVER_CONFLICT", prerequisite("/parameters/environment")),
            ],
        ),
        mutation(
            "the server with two values of a variable",
            vec![
                (prerequisite(""), server_prerequisite("web/", json!({ "MODE": "a", "LEVEL": "1" }))),
                ("/globalConfiguration/devServer/environment", json!({ "MODE": "b", "LEVEL": "1" })),
            ],
            vec![
                ("DEV_SERVER_AS_PREREQUISITE", prerequisite("/parameters/command")),
                ("DEV_SERVER_CONFLICT", prerequisite("/parameters/environment")),
            ],
        ),
        mutation(
            "the server in another directory",
            vec![(prerequisite(""), server_prerequisite("/srv/billing-core", json!({})))],
            vec![("SERVER_IN_FOREGROUND", prerequisite("/parameters/command"))],
        ),
        mutation(
            "the server twice",
            vec![(task("/testExecution/prerequisites"), json!([server_prerequisite("web", json!({})), second]))],
            vec![
                ("DEV_SERVER_AS_PREREQUISITE", prerequisite("/parameters/command")),
                ("SERVER_IN_FOREGROUND", task("/testExecution/prerequisites/1/parameters/command")),
                ("ORDER_INCOMPLETE", order),
            ],
        ),
        mutation(
            "a condition on how the server ended",
            vec![
                (prerequisite(""), server_prerequisite("web", json!({}))),
                (condition(0), json!("PREREQ.1.exitCode === 0 && STEP.1.exitCode === 0")),
            ],
            vec![("DEV_SERVER_AS_PREREQUISITE", prerequisite("/parameters/command")), ("CONDITION_NEVER_KNOWN", condition(0))],
        ),
        mutation("the server as a step", vec![(command, json!("npm run serve"))], vec![("SERVER_IN_FOREGROUND", command)]),
        mutation(
            "no exit code at all",
            vec![(step(1, "/parameters/expectedExitCodes"), json!([]))],
            vec![("EXIT_CODES_IMPOSSIBLE", step(1, "/parameters/expectedExitCodes"))],
        ),
        mutation(
            "words for a request",
            vec![(step(2, "/proctor"), added(json!({ "argv": ["curl"] })))],
            vec![("ARGV_WITHOUT_COMMAND", step(2, "/proctor/argv"))],
        ),
        mutation(
            "a variable without a name",
            vec![(step(0, "/parameters/environment"), json!({ "A=B": "" }))],
            vec![("ENVIRONMENT_NAME", step(0, "/parameters/environment"))],
        ),
        mutation(
            "another place",
            vec![("/globalConfiguration/workspaceRoot", json!("/srv"))],
            vec![("WORKSPACE_ELSEWHERE", "/globalConfiguration/workspaceRoot")],
        ),
        mutation(
            "a directory outside",
            vec![(step(1, "/parameters/workingDirectory"), json!("/srv/billing-core/../other"))],
            vec![("PATH_LEAVES_ROOT", step(1, "/parameters/workingDirectory"))],
        ),
        mutation(
            "evidence of its own",
            vec![("/globalConfiguration/evidenceDirectory", json!("specs/evidence"))],
            vec![("EVIDENCE_ELSEWHERE", "/globalConfiguration/evidenceDirectory")],
        ),
        mutation(
            "sizes that cannot be",
            vec![(prerequisite("/parameters/minSize"), json!(9_000_000))],
            vec![("FILE_OPERAND_IMPOSSIBLE", prerequisite("/parameters/minSize"))],
        ),
        mutation(
            "no pattern",
            vec![(step(2, "/parameters/validateResponse/matchesRegex"), json!("a("))],
            vec![("PATTERN_INVALID", step(2, "/parameters/validateResponse/matchesRegex"))],
        ),
        mutation(
            "a pattern that looks around",
            vec![(step(2, "/parameters/validateResponse/matchesRegex"), json!("^(?!error)"))],
            vec![("PATTERN_INVALID", step(2, "/parameters/validateResponse/matchesRegex"))],
        ),
        mutation(
            "a pattern that looks back",
            vec![
                (prerequisite("/parameters/validationType"), json!("CONTENT_MATCH")),
                (prerequisite("/parameters/contentRegex"), json!("(a|b)\\1")),
                (prerequisite("/parameters/minSize"), json!(GONE)),
                (prerequisite("/parameters/maxSize"), json!(GONE)),
            ],
            vec![("PATTERN_INVALID", prerequisite("/parameters/contentRegex"))],
        ),
        mutation(
            "settings of a browser",
            vec![("/executionEngine/executorConfigurations/MCP_BROWSER_COMMAND", json!({ "headless": false }))],
            vec![("EXECUTOR_IDLE", "/executionEngine/executorConfigurations/MCP_BROWSER_COMMAND/headless")],
        ),
        mutation(
            "steps in a browser that are switched off",
            vec![(
                task("/mcpValidation"),
                json!({ "enabled": false, "steps": [{
                    "actionId": "BROWSER.1", "type": "MCP_BROWSER_COMMAND", "description": "looks at the totals",
                    "parameters": { "action": "browser_navigate", "url": "http://127.0.0.1:4173/" }
                }] }),
            )],
            vec![("BROWSER_STEPS_IDLE", task("/mcpValidation/steps"))],
        ),
        mutation(
            "no schema",
            vec![(step(2, "/parameters/validateResponse/jsonSchema"), json!({ "type": "strange" }))],
            vec![("SCHEMA_INVALID", step(2, "/parameters/validateResponse/jsonSchema"))],
        ),
        mutation(
            "another protocol",
            vec![(step(2, "/parameters/url"), json!("ftp://127.0.0.1/totals"))],
            vec![("URL_SCHEME", step(2, "/parameters/url"))],
        ),
        mutation(
            "a placeholder",
            vec![("/globalConfiguration/environment/DATABASE_URL", json!("{{DATABASE_URL}}"))],
            vec![("PLACEHOLDER", "/globalConfiguration/environment/DATABASE_URL")],
        ),
        mutation(
            "a placeholder for people",
            vec![(step(0, "/description"), json!("Unit tests for {{COMPONENT}}"))],
            vec![("PLACEHOLDER_IN_TEXT", step(0, "/description"))],
        ),
        mutation(
            "pictures",
            vec![
                (task("/completionCriteria/requiredEvidence/-"), json!("screenshots")),
                (step(0, "/evidenceCapture/screenshots"), json!(true)),
            ],
            vec![
                ("CAPTURE_NEVER", step(0, "/evidenceCapture/screenshots")),
                ("EVIDENCE_NEVER", task("/completionCriteria/requiredEvidence/3")),
            ],
        ),
        mutation(
            "failing tests that should pass",
            vec![(task("/proctor"), added(json!({ "expectedFailingTests": ["t.py::a"] })))],
            vec![("FAILING_TESTS_OF_PASS", task("/proctor/expectedFailingTests"))],
        ),
        mutation(
            "red by itself",
            vec![(task("/proctor"), added(json!({ "expectedOutcome": "FAIL" })))],
            vec![("RED_WITHOUT_TESTS", task("/proctor/expectedOutcome"))],
        ),
        mutation("no time", vec![("/globalConfiguration/timeout", json!(80_000))], vec![("SUITE_TIMEOUT", step(0, "/timeout"))]),
        mutation(
            "a limit without effect",
            vec![("/globalConfiguration/validationPolicy/linting/tools/eslint/blockOn", json!("NEVER"))],
            vec![
                ("POLICY_STRATEGY_DIFFERS", "/globalConfiguration/validationPolicy/linting/tools/eslint/blockOn"),
                ("POLICY_LIMIT_IDLE", "/globalConfiguration/validationPolicy/linting/tools/eslint/maxWarnings"),
            ],
        ),
        mutation(
            "a server that nobody starts",
            vec![("/globalConfiguration/devServer/command", json!(GONE))],
            vec![("DEV_SERVER_INCOMPLETE", server)],
        ),
        mutation(
            "another port than the one that is asked",
            vec![("/globalConfiguration/devServer/port", json!(4174))],
            vec![("DEV_SERVER_PORT_IDLE", "/globalConfiguration/devServer/port")],
        ),
        mutation(
            "a prerequisite that nothing checks",
            vec![(task("/executionWorkflow/prerequisites/0/checkCommand"), json!(GONE))],
            vec![("WORKFLOW_UNCHECKED", task("/executionWorkflow/prerequisites/0"))],
        ),
        mutation(
            "an id that is no name of a file",
            vec![(
                step(9, ""),
                json!({ "actionId": "STEP.1234567890", "type": "TERMINAL_COMMAND", "description": "runs the linter", "parameters": { "command": "npx eslint .", "workingDirectory": "web" } }),
            )],
            vec![("ID_TOO_LONG", step(3, "/actionId")), ("ORDER_INCOMPLETE", task("/executionWorkflow/executionOrder"))],
        ),
        mutation(
            "a service with what only an end has",
            vec![(
                prerequisite(""),
                json!({ "actionId": "PREREQ.1", "type": "TERMINAL_COMMAND", "description": "serves the totals", "parameters": { "command": "npm run serve", "workingDirectory": "web", "expectedExitCodes": [0] }, "retryAttempts": 2, "proctor": { "version": "1.0.0", "service": { "ready": { "port": 4173 } } } }),
            )],
            vec![
                ("SERVICE_FIELD_IDLE", prerequisite("/parameters/expectedExitCodes")),
                ("SERVICE_FIELD_IDLE", prerequisite("/retryAttempts")),
            ],
        ),
        mutation(
            "a service that is ready twice",
            vec![(
                prerequisite(""),
                json!({ "actionId": "PREREQ.1", "type": "TERMINAL_COMMAND", "description": "serves the totals", "parameters": { "command": "npm run serve", "workingDirectory": "web" }, "proctor": { "version": "1.0.0", "service": { "ready": { "port": 4173, "command": ["true"] } } } }),
            )],
            vec![("SERVICE_READY", prerequisite("/proctor/service/ready"))],
        ),
        mutation(
            "a service as a step",
            vec![(step(1, "/proctor"), added(json!({ "service": { "ready": { "port": 4173 } } })))],
            vec![("SERVICE_ELSEWHERE", step(1, "/proctor/service"))],
        ),
        mutation(
            "a review before the steps",
            vec![(prerequisite("/proctor"), added(json!({ "review": {} })))],
            vec![("REVIEW_ELSEWHERE", prerequisite("/proctor/review"))],
        ),
        mutation(
            "a prerequisite that writes to the project anyway",
            vec![(prerequisite("/proctor"), added(json!({ "writes": ["coverage/**"] })))],
            vec![("WRITES_ELSEWHERE", prerequisite("/proctor/writes"))],
        ),
        mutation(
            "a step that writes outside of the project",
            vec![(step(1, "/proctor"), added(json!({ "writes": ["coverage/**", "../x", "/tmp/*", "a[", "./"] })))],
            (1..5).map(|place| ("WRITES_PATTERN", step(1, &format!("/proctor/writes/{place}")))).collect(),
        ),
        mutation(
            "a review that is asked until it approves",
            vec![
                (step(1, "/proctor"), added(json!({ "review": { "prompt": "../elsewhere.md" }, "tool": "eslint" }))),
                (step(1, "/retryAttempts"), json!(3)),
                (step(1, "/parameters/expectedExitCodes"), json!([1])),
            ],
            vec![
                ("CONDITION_WRONG", condition(1)),
                ("EXIT_CODES_WIDENED", step(1, "/parameters/expectedExitCodes")),
                ("REVIEW_OTHERWISE", step(1, "/parameters/expectedExitCodes")),
                ("REVIEW_OTHERWISE", step(1, "/retryAttempts")),
                ("REVIEW_OTHERWISE", step(1, "/proctor/tool")),
                ("PATH_LEAVES_ROOT", step(1, "/proctor/review/prompt")),
            ],
        ),
    ]
}

#[test]
fn every_mutation_is_caught_with_its_reason_and_nothing_else() {
    let usual = faults_of(&[]);
    for mutation in lets_through().iter().chain(&others()) {
        let found: BTreeSet<(String, String)> = faults_of(&mutation.edits).difference(&usual).cloned().collect();
        let expected: BTreeSet<(String, String)> =
            mutation.expected.iter().map(|(code, pointer)| ((*code).to_owned(), (*pointer).to_owned())).collect();
        assert_eq!(found, expected, "{}: found (left), expected (right)", mutation.name);
    }
}

#[test]
fn every_row_of_the_lint_is_tried() {
    let mutations: Vec<Mutation> = lets_through().into_iter().chain(others()).collect();
    let mut tried: BTreeSet<&str> =
        mutations.iter().flat_map(|mutation| mutation.expected.iter().map(|(code, _)| *code)).collect();
    tried.extend(["DEFAULT_SHELL", "STRICTNESS_UNCHECKED", "TASK_UNKNOWN"]);
    let rows: BTreeSet<&str> = LINTS.iter().map(|row| row.code).collect();
    assert_eq!(rows.len(), LINTS.len(), "two rows have one code");
    let untried: Vec<_> = rows.difference(&tried).collect();
    assert!(untried.is_empty(), "{untried:?}");
}

#[test]
fn a_hard_row_keeps_the_specification_from_running_and_a_soft_one_does_not() {
    for mutation in lets_through().iter().chain(&others()) {
        let reading = read(&edited(&mutation.edits));
        let is_hard = reading.faults.iter().any(|fault| fault.gravity == Gravity::Hard);
        assert_eq!(reading.specification.is_none(), is_hard, "{}: {}", mutation.name, said(&reading.faults));
        let rows = mutation.expected.iter().filter_map(|(code, _)| LINTS.iter().find(|row| row.code == *code));
        let expected = rows.clone().any(|row| row.gravity == Gravity::Hard)
            || mutation.expected.iter().any(|(code, _)| ["SCHEMA", "PLACEHOLDER"].contains(code));
        assert_eq!(is_hard, expected, "{}: {}", mutation.name, said(&reading.faults));
    }
}

pub(super) fn faults_of(edits: &[Edit]) -> BTreeSet<(String, String)> {
    read(&edited(edits)).faults.into_iter().map(|fault| (fault.code().to_owned(), fault.pointer)).collect()
}

fn edited(edits: &[Edit]) -> String {
    let mut document: Value = serde_json::from_str(ROUNDING).expect("the composed specification is JSON");
    for (pointer, value) in edits {
        let (parent, key) = pointer.rsplit_once('/').expect("an edit is of a member");
        let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("there is no {parent}"));
        match parent {
            Value::Array(items) => match key.parse::<usize>() {
                Ok(index) if index < items.len() && value == GONE => drop(items.remove(index)),
                Ok(index) if index < items.len() => items[index] = value.clone(),
                _ => items.push(value.clone()),
            },
            Value::Object(members) if value == GONE => drop(members.remove(key)),
            Value::Object(members) => drop(members.insert(key.to_owned(), value.clone())),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => panic!("{pointer}: it has no members"),
        }
    }
    serde_json::to_string_pretty(&document).expect("it is JSON")
}
