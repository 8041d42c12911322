//! Tests every field of the published schema by name: changing it changes the plan, or a lint rule says why not.
//!
//! The test walks the schema. It fails for a field without a row here, and for a row whose field has no effect.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::config::Configuration;
use crate::spec::specification::{SCHEMA_TEXT, SpecificationContext, SpecificationReading, read_specification};
use crate::spec::strictness::compare_with_project;
use crate::spec::task::tests::{GONE, ROOT, edited};
use crate::spec::task::{TaskContext, resolve_task};
use proctor_model::TaskId;
use proctor_tools::FakeFiles;

/// The expected effect of changing a field of the sample specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Plan,
    /// A fault with this code appears, disappears or changes.
    Fault(&'static str),
    /// Nothing changes: the field is for people and other programs.
    People,
}

use Effect::{Fault, People, Plan};

type Edits = Vec<(&'static str, Value)>;

/// A field of the schema, and an edit that changes the field. The edits in `base` are made first, for fields that need
/// other settings.
struct Row {
    field: &'static str,
    effect: Effect,
    base: Edits,
    edit: Edits,
}

const GLOBAL: &str = "/globalConfiguration";
const ENGINE: &str = "/executionEngine/executorConfigurations";
const TASK: &str = "/tasks/T117";
const STEPS: &str = "/tasks/T117/testExecution/steps";
const PREREQUISITE: &str = "/tasks/T117/testExecution/prerequisites/0";

fn row(field: &'static str, effect: Effect, pointer: &'static str, value: Value) -> Row {
    Row { field, effect, base: Vec::new(), edit: vec![(pointer, value)] }
}

fn review(settings: Value) -> Value {
    json!({ "version": "1.0.0", "review": settings })
}

/// Returns the edits that turn the second step into a review with these settings. The condition on that step is changed
/// as well, because a review has no exit code to ask for.
fn reviewed(settings: Option<Value>) -> Edits {
    let condition = (at(TASK, "/validationCriteria/successConditions/1/condition"), json!("STEP.2.success === true"));
    let step = settings.map(|settings| (at(STEPS, "/1/proctor"), review(settings)));
    std::iter::once(condition).chain(step).collect()
}

/// Returns the row with these edits as its base, which are made before the row's own edit.
fn on(base: &Edits, row: Row) -> Row {
    Row { base: base.clone(), ..row }
}

fn at(place: &str, rest: &str) -> &'static str {
    Box::leak(format!("{place}{rest}").into_boxed_str())
}

/// Returns the edits that replace the command of the second step.
fn runs(command: &str) -> Edits {
    vec![(at(STEPS, "/1/parameters/command"), json!(command))]
}

fn looks(kind: &str, operand: &str, value: Value) -> Edits {
    let parameters = json!({ "filePath": "billing/rounding.py", "validationType": kind, operand: value });
    vec![(at(PREREQUISITE, "/parameters"), parameters)]
}

fn script() -> Edits {
    let step = json!({
        "actionId": "STEP.2", "type": "CUSTOM_SCRIPT", "description": "checks the ledgers",
        "parameters": { "scriptPath": "tools/check.py", "interpreter": "python3" }
    });
    vec![
        (
            "/executionEngine/availableActionTypes",
            json!(["FILE_VALIDATION", "TERMINAL_COMMAND", "HTTP_REQUEST", "CUSTOM_SCRIPT"]),
        ),
        (at(STEPS, "/1"), step),
    ]
}

/// Returns the edits that make the second step an action that a client carries out, with the condition that it can have.
fn client(kind: &str, parameters: Value) -> Edits {
    let step =
        json!({ "actionId": "STEP.2", "type": kind, "description": "asks a client of the machine", "parameters": parameters });
    vec![
        ("/executionEngine/availableActionTypes", json!(["FILE_VALIDATION", "TERMINAL_COMMAND", "HTTP_REQUEST", kind])),
        (at(STEPS, "/1"), step),
        (at(TASK, "/validationCriteria/successConditions/1/condition"), json!("STEP.2.success === true")),
    ]
}

fn query() -> Edits {
    client("DATABASE_QUERY", json!({ "connectionString": "sqlite:app.db", "query": "select 1" }))
}

fn container(verb: &str) -> Edits {
    client("DOCKER_COMMAND", json!({ "dockerCommand": verb, "containerOrImage": "db", "command": "true" }))
}

fn browser(action: &str) -> Edits {
    let parameters = json!({
        "action": action, "url": "http://127.0.0.1:4173/", "selector": "main", "script": "1", "formData": { "name": "a" }
    });
    client("MCP_BROWSER_COMMAND", parameters)
}

fn service() -> Edits {
    let ready = json!({ "url": "http://127.0.0.1:4174/", "timeout": 9000, "interval": 50, "attemptTimeout": 70 });
    let server = json!({
        "actionId": "PREREQ.1", "type": "TERMINAL_COMMAND", "description": "serves the totals",
        "parameters": { "command": "npm run other", "workingDirectory": "web" },
        "proctor": { "version": "1.0.0", "service": { "ready": ready } }
    });
    vec![(PREREQUISITE, server)]
}

fn red() -> Edits {
    vec![(at(TASK, "/proctor"), json!({ "version": "1.0.0", "expectedOutcome": "FAIL", "expectedFailingTests": ["a.py::b"] }))]
}

fn top_rows() -> Vec<Row> {
    vec![
        row("$schema", People, "/$schema", json!("./test-specification.schema.json")),
        row("schemaVersion", Fault("SCHEMA"), "/schemaVersion", json!("2.1.0")),
        row("metadata", Fault("SCHEMA"), "/metadata", json!(GONE)),
        row("globalConfiguration", Fault("SCHEMA"), GLOBAL, json!(GONE)),
        row("executionEngine", Fault("SCHEMA"), "/executionEngine", json!(GONE)),
        row("tasks", Fault("SCHEMA"), "/tasks", json!({})),
        row(
            "technicalDebtConfiguration",
            Plan,
            "/technicalDebtConfiguration",
            json!({ "enabled": false, "routingStrategy": "MANUAL" }),
        ),
        row("Metadata.projectName", Plan, "/metadata/projectName", json!("other")),
        row("Metadata.sprintId", Plan, "/metadata/sprintId", json!("SPRINT_013")),
        row("Metadata.generatedAt", People, "/metadata/generatedAt", json!("2026-03-05T09:15:00.000Z")),
        row("Metadata.generatedBy", People, "/metadata/generatedBy", json!("somebody")),
        row("Metadata.description", People, "/metadata/description", json!("another")),
        row("Metadata.author", People, "/metadata/author", json!("somebody")),
        row("Metadata.references", People, "/metadata/references", json!(["a"])),
        row("Metadata.taskId", People, "/metadata/taskId", json!("T117")),
        row("Metadata.taskTitle", People, "/metadata/taskTitle", json!("rounding")),
        row("Metadata.validationPolicyRationale", People, "/metadata/validationPolicyRationale", json!("why")),
        row("GlobalConfiguration.workspaceRoot", Fault("WORKSPACE_ELSEWHERE"), at(GLOBAL, "/workspaceRoot"), json!("/srv")),
        row(
            "GlobalConfiguration.evidenceDirectory",
            Fault("EVIDENCE_ELSEWHERE"),
            at(GLOBAL, "/evidenceDirectory"),
            json!("proof"),
        ),
        row("GlobalConfiguration.devServer", Plan, at(GLOBAL, "/devServer"), json!(GONE)),
        row("GlobalConfiguration.environment", Plan, at(GLOBAL, "/environment"), json!({})),
        row("GlobalConfiguration.timeout", Plan, at(GLOBAL, "/timeout"), json!(430_000)),
        row("GlobalConfiguration.validationPolicy", Plan, at(GLOBAL, "/validationPolicy"), json!(GONE)),
        row("DevServer.command", Plan, at(GLOBAL, "/devServer/command"), json!("npm run preview")),
        row("DevServer.workingDirectory", Plan, at(GLOBAL, "/devServer/workingDirectory"), json!("api")),
        row("DevServer.environment", Plan, at(GLOBAL, "/devServer/environment"), json!({ "MODE": "test" })),
        row("DevServer.healthCheckUrl", Plan, at(GLOBAL, "/devServer/healthCheckUrl"), json!(GONE)),
        row("DevServer.startupTimeout", Plan, at(GLOBAL, "/devServer/startupTimeout"), json!(25_000)),
        row("DevServer.port", Fault("DEV_SERVER_PORT_IDLE"), at(GLOBAL, "/devServer/port"), json!(4174)),
        on(
            &vec![(at(GLOBAL, "/devServer/healthCheckUrl"), json!(GONE))],
            row("DevServer.port", Plan, at(GLOBAL, "/devServer/port"), json!(4174)),
        ),
        row("DebtConfiguration.enabled", Plan, "/technicalDebtConfiguration/enabled", json!(false)),
        row("DebtConfiguration.routingStrategy", Plan, "/technicalDebtConfiguration/routingStrategy", json!("MANUAL")),
        row("DebtConfiguration.severityLevels", Plan, "/technicalDebtConfiguration/severityLevels", json!(["HIGH"])),
        row(
            "DebtConfiguration.capacityThresholds",
            Plan,
            "/technicalDebtConfiguration/capacityThresholds",
            json!({ "sprintTasksMaxItems": 7 }),
        ),
        row(
            "CapacityThresholds.sprintTasksMaxItems",
            Plan,
            "/technicalDebtConfiguration/capacityThresholds/sprintTasksMaxItems",
            json!(7),
        ),
        row(
            "CapacityThresholds.sprintTasksMaxCritical",
            Plan,
            "/technicalDebtConfiguration/capacityThresholds/sprintTasksMaxCritical",
            json!(5),
        ),
    ]
}

const LINTING: &str = "/globalConfiguration/validationPolicy/linting";
const TYPES: &str = "/globalConfiguration/validationPolicy/typeChecking";

fn policy_rows() -> Vec<Row> {
    let strict = json!({ "blockOn": "ERRORS_AND_WARNINGS" });
    let eslint = runs("npx eslint .");
    let of_eslint = |field, rest: &'static str, value| {
        on(&runs("npx eslint ."), row(field, Plan, at(LINTING, &format!("/tools/eslint/{rest}")), value))
    };
    let mut unsaid = eslint.clone();
    unsaid.push((at(LINTING, "/tools/eslint"), json!(GONE)));
    let mut untyped = runs("npx tsc --noEmit");
    untyped.push((at(TYPES, "/tools/typescript"), json!(GONE)));
    let mut compiled = runs("make all");
    compiled.push((at(STEPS, "/1/proctor"), json!({ "version": "1.0.0", "tool": "compile" })));
    let never = json!({ "strategy": "NEVER" });
    vec![
        on(&eslint, row("ValidationPolicy.linting", Plan, LINTING, json!(GONE))),
        row("ValidationPolicy.typeChecking", Plan, TYPES, json!(GONE)),
        on(&compiled, row("ValidationPolicy.compilation", Plan, at(GLOBAL, "/validationPolicy/compilation"), never)),
        on(
            &compiled,
            row("CompilationPolicy.strategy", Plan, at(GLOBAL, "/validationPolicy/compilation/strategy"), json!("NEVER")),
        ),
        on(&unsaid, row("LintingPolicy.strategy", Plan, at(LINTING, "/strategy"), json!("WARN_ONLY"))),
        on(&eslint, row("LintingPolicy.tools", Plan, at(LINTING, "/tools"), json!({}))),
        on(&eslint, row("LintTools.eslint", Plan, at(LINTING, "/tools/eslint"), strict.clone())),
        on(&runs("npx prettier --check ."), row("LintTools.prettier", Plan, at(LINTING, "/tools/prettier"), strict.clone())),
        on(&runs("pylint a"), row("LintTools.pylint", Plan, at(LINTING, "/tools/pylint"), strict.clone())),
        on(&runs("flake8"), row("LintTools.flake8", Plan, at(LINTING, "/tools/flake8"), strict)),
        of_eslint("LintToolPolicy.enabled", "enabled", json!(false)),
        of_eslint("LintToolPolicy.blockOn", "blockOn", json!("WARN_ONLY")),
        of_eslint("LintToolPolicy.treatWarningsAsErrors", "treatWarningsAsErrors", json!(true)),
        of_eslint("LintToolPolicy.maxWarnings", "maxWarnings", json!(11)),
        of_eslint("LintToolPolicy.ignoredRules", "ignoredRules", json!([])),
        of_eslint("LintToolPolicy.errorOnRules", "errorOnRules", json!([])),
        on(&untyped, row("TypeCheckingPolicy.strategy", Plan, at(TYPES, "/strategy"), json!("WARN_ONLY"))),
        row("TypeCheckingPolicy.tools", Plan, at(TYPES, "/tools"), json!({})),
        row("TypeCheckTools.typescript", Plan, at(TYPES, "/tools/typescript"), json!({ "blockOn": "WARN_ONLY" })),
        on(&runs("mypy ."), row("TypeCheckTools.mypy", Plan, at(TYPES, "/tools/mypy"), json!({ "blockOn": "WARN_ONLY" }))),
        row("TypeCheckToolPolicy.enabled", Plan, at(TYPES, "/tools/typescript/enabled"), json!(false)),
        row("TypeCheckToolPolicy.blockOn", Plan, at(TYPES, "/tools/typescript/blockOn"), json!("WARN_ONLY")),
        row(
            "TypeCheckToolPolicy.strictMode",
            Fault("STRICTNESS_DIFFERS"),
            at(TYPES, "/tools/typescript/strictMode"),
            json!(false),
        ),
        row(
            "TypeCheckToolPolicy.allowImplicitAny",
            Fault("STRICTNESS_DIFFERS"),
            at(TYPES, "/tools/typescript/allowImplicitAny"),
            json!(true),
        ),
    ]
}

fn engine_rows() -> Vec<Row> {
    let idle = |field, pointer, value| row(field, Fault("EXECUTOR_IDLE"), pointer, value);
    let misplaced = |field, pointer, value| row(field, Fault("EXECUTOR_KEY"), pointer, value);
    let untimed: Edits = vec![(at(STEPS, "/2/timeout"), json!(GONE))];
    vec![
        row(
            "ExecutionEngine.availableActionTypes",
            Fault("TYPE_NOT_AVAILABLE"),
            "/executionEngine/availableActionTypes",
            json!(["HTTP_REQUEST"]),
        ),
        row("ExecutionEngine.executorConfigurations", Plan, ENGINE, json!({})),
        row("ExecutorConfigurations.TERMINAL_COMMAND", Plan, at(ENGINE, "/TERMINAL_COMMAND"), json!(GONE)),
        row("ExecutorConfigurations.HTTP_REQUEST", Plan, at(ENGINE, "/HTTP_REQUEST"), json!(GONE)),
        row(
            "ExecutorConfigurations.FILE_VALIDATION",
            Fault("PATH_NOT_ALLOWED"),
            at(ENGINE, "/FILE_VALIDATION"),
            json!({ "allowedDirectories": ["docs"] }),
        ),
        on(
            &script(),
            row(
                "ExecutorConfigurations.CUSTOM_SCRIPT",
                Fault("INTERPRETER_NOT_ALLOWED"),
                at(ENGINE, "/CUSTOM_SCRIPT"),
                json!({ "allowedInterpreters": ["bash"] }),
            ),
        ),
        idle("ExecutorConfigurations.MCP_BROWSER_COMMAND", at(ENGINE, "/MCP_BROWSER_COMMAND"), json!({ "headless": false })),
        idle("ExecutorConfigurations.DOCKER_COMMAND", at(ENGINE, "/DOCKER_COMMAND"), json!({ "dockerHost": "x" })),
        on(
            &query(),
            row("ExecutorConfigurations.DATABASE_QUERY", Plan, at(ENGINE, "/DATABASE_QUERY"), json!({ "queryTimeout": 9 })),
        ),
        idle("BrowserConfig.mcpServerCommand", at(ENGINE, "/MCP_BROWSER_COMMAND"), json!({ "mcpServerCommand": "npx x" })),
        idle("BrowserConfig.browserType", at(ENGINE, "/MCP_BROWSER_COMMAND"), json!({ "browserType": "firefox" })),
        idle("BrowserConfig.headless", at(ENGINE, "/MCP_BROWSER_COMMAND"), json!({ "headless": false })),
        idle("DockerCommandConfig.dockerHost", at(ENGINE, "/DOCKER_COMMAND"), json!({ "dockerHost": "x" })),
        idle("DockerCommandConfig.registryAuth", at(ENGINE, "/DOCKER_COMMAND"), json!({ "registryAuth": {} })),
        on(
            &query(),
            row("DatabaseQueryConfig.connectionTimeout", Plan, at(ENGINE, "/DATABASE_QUERY"), json!({ "connectionTimeout": 9 })),
        ),
        on(&query(), row("DatabaseQueryConfig.queryTimeout", Plan, at(ENGINE, "/DATABASE_QUERY"), json!({ "queryTimeout": 9 }))),
        misplaced("ExecutorConfigurations.terminalCommand", at(ENGINE, "/terminalCommand"), json!({ "timeout": 5000 })),
        misplaced("ExecutorConfigurations.httpRequest", at(ENGINE, "/httpRequest"), json!({ "timeout": 5000 })),
        misplaced("ExecutorConfigurations.fileValidation", at(ENGINE, "/fileValidation"), json!({ "timeout": 5000 })),
        misplaced("MisplacedExecutorConfig.timeout", at(ENGINE, "/terminalCommand"), json!({ "timeout": 5000 })),
        misplaced("MisplacedExecutorConfig.shell", at(ENGINE, "/terminalCommand"), json!({ "shell": "bash" })),
        row(
            "TerminalCommandConfig.defaultShell",
            Fault("DEFAULT_SHELL"),
            at(ENGINE, "/TERMINAL_COMMAND/defaultShell"),
            json!(GONE),
        ),
        row("TerminalCommandConfig.defaultTimeout", Plan, at(ENGINE, "/TERMINAL_COMMAND/defaultTimeout"), json!(61_000)),
        on(&untimed, row("HttpRequestConfig.defaultTimeout", Plan, at(ENGINE, "/HTTP_REQUEST/defaultTimeout"), json!(6000))),
        row("HttpRequestConfig.followRedirects", Plan, at(ENGINE, "/HTTP_REQUEST/followRedirects"), json!(true)),
        row("HttpRequestConfig.validateSSL", Plan, at(ENGINE, "/HTTP_REQUEST/validateSSL"), json!(false)),
        on(
            &script(),
            row(
                "CustomScriptConfig.allowedInterpreters",
                Fault("INTERPRETER_NOT_ALLOWED"),
                at(ENGINE, "/CUSTOM_SCRIPT"),
                json!({ "allowedInterpreters": ["bash"] }),
            ),
        ),
        on(
            &script(),
            row(
                "CustomScriptConfig.scriptDirectory",
                Fault("PATH_NOT_ALLOWED"),
                at(ENGINE, "/CUSTOM_SCRIPT"),
                json!({ "scriptDirectory": "scripts" }),
            ),
        ),
        row(
            "FileValidationConfig.allowedDirectories",
            Fault("PATH_NOT_ALLOWED"),
            at(ENGINE, "/FILE_VALIDATION/allowedDirectories"),
            json!(["docs"]),
        ),
    ]
}

fn task_rows() -> Vec<Row> {
    let long = "Totals must be rounded half-to-even, and the description of it is longer than fifty characters.";
    let unchecked: Edits = vec![(
        at(TASK, "/executionWorkflow/prerequisites/0"),
        json!({ "type": "DEV_SERVER_RUNNING", "description": "the server answers" }),
    )];
    vec![
        row("Task.taskId", Fault("TASK_ID_DIFFERS"), at(TASK, "/taskId"), json!("T118")),
        row("Task.title", Plan, at(TASK, "/title"), json!("Rounding of totals, again")),
        row("Task.description", People, at(TASK, "/description"), json!(long)),
        row("Task.priority", People, at(TASK, "/priority"), json!("LOW")),
        row("Task.dependencies", Plan, at(TASK, "/dependencies"), json!([])),
        row("Task.testExecution", Fault("SCHEMA"), at(TASK, "/testExecution"), json!(GONE)),
        row("Task.mcpValidation", Fault("BROWSER_VALIDATION"), at(TASK, "/mcpValidation"), json!({ "enabled": true })),
        row("Task.validationCriteria", Fault("SCHEMA"), at(TASK, "/validationCriteria"), json!(GONE)),
        row("Task.technicalDebtExpectations", Plan, at(TASK, "/technicalDebtExpectations"), json!(GONE)),
        row("Task.completionCriteria", Fault("SCHEMA"), at(TASK, "/completionCriteria"), json!(GONE)),
        row("Task.executionWorkflow", Plan, at(TASK, "/executionWorkflow"), json!(GONE)),
        Row { field: "Task.proctor", effect: Plan, base: Vec::new(), edit: red() },
        on(&red(), row("TaskExtension.version", Fault("SCHEMA"), at(TASK, "/proctor/version"), json!("2.0.0"))),
        on(
            &red(),
            row("TaskExtension.expectedFailingTests", Plan, at(TASK, "/proctor/expectedFailingTests"), json!(["a.py::c"])),
        ),
        row(
            "TaskExtension.expectedOutcome",
            Plan,
            at(TASK, "/proctor"),
            json!({ "version": "1.0.0", "expectedOutcome": "FAIL" }),
        ),
        row("McpValidation.enabled", Fault("BROWSER_VALIDATION"), at(TASK, "/mcpValidation"), json!({ "enabled": true })),
        row(
            "McpValidation.steps",
            Fault("BROWSER_STEPS_IDLE"),
            at(TASK, "/mcpValidation"),
            json!({ "steps": [{
                "actionId": "BROWSER.1", "type": "MCP_BROWSER_COMMAND", "description": "looks at the totals",
                "parameters": { "action": "browser_navigate", "url": "http://127.0.0.1:4173/" }
            }] }),
        ),
        row("TestExecution.prerequisites", Fault("ORDER_UNKNOWN_ID"), at(TASK, "/testExecution/prerequisites"), json!([])),
        row("TestExecution.steps", Fault("SCHEMA"), STEPS, json!([])),
        row("TestExecution.cleanup", Fault("ORDER_UNKNOWN_ID"), at(TASK, "/testExecution/cleanup"), json!([])),
        row(
            "ValidationCriteria.successConditions",
            Fault("SCHEMA"),
            at(TASK, "/validationCriteria/successConditions"),
            json!([]),
        ),
        row("ValidationCriteria.failureConditions", Plan, at(TASK, "/validationCriteria/failureConditions"), json!([])),
        row("ValidationCriteria.expectedOutput", Plan, at(TASK, "/validationCriteria/expectedOutput"), json!(GONE)),
        row(
            "Condition.condition",
            Plan,
            at(TASK, "/validationCriteria/successConditions/0/condition"),
            json!("STEP.1.exitCode < 1"),
        ),
        row("Condition.description", Plan, at(TASK, "/validationCriteria/successConditions/0/description"), json!("they pass")),
        row(
            "ExpectedOutput.stdoutContains",
            Plan,
            at(TASK, "/validationCriteria/expectedOutput/stdoutContains"),
            json!(["1 passed"]),
        ),
        row("ExpectedOutput.stderrEmpty", Plan, at(TASK, "/validationCriteria/expectedOutput/stderrEmpty"), json!(true)),
        row("ExpectedOutput.exitCode", Plan, at(TASK, "/validationCriteria/expectedOutput/exitCode"), json!(GONE)),
        row("CompletionCriteria.allStepsMustPass", Plan, at(TASK, "/completionCriteria/allStepsMustPass"), json!(false)),
        row("CompletionCriteria.minimumPassRate", Plan, at(TASK, "/completionCriteria/minimumPassRate"), json!(80)),
        row("CompletionCriteria.requiredEvidence", Plan, at(TASK, "/completionCriteria/requiredEvidence"), json!([])),
        row("CompletionCriteria.taskStatusLock", Plan, at(TASK, "/completionCriteria/taskStatusLock"), json!(false)),
        row("ExecutionWorkflow.prerequisites", Plan, at(TASK, "/executionWorkflow/prerequisites"), json!([])),
        row(
            "ExecutionWorkflow.executionOrder",
            Plan,
            at(TASK, "/executionWorkflow/executionOrder"),
            json!(["PREREQ.1", "STEP.2", "STEP.1", "STEP.3", "CLEANUP.1"]),
        ),
        row("ExecutionWorkflow.parallelExecution", Plan, at(TASK, "/executionWorkflow/parallelExecution"), json!(true)),
        row(
            "WorkflowPrerequisite.checkCommand",
            Plan,
            at(TASK, "/executionWorkflow/prerequisites/0/checkCommand"),
            json!("true"),
        ),
        row(
            "WorkflowPrerequisite.description",
            Plan,
            at(TASK, "/executionWorkflow/prerequisites/0/description"),
            json!("it answers"),
        ),
        on(
            &unchecked,
            row(
                "WorkflowPrerequisite.type",
                Fault("WORKFLOW_UNCHECKED"),
                at(TASK, "/executionWorkflow/prerequisites/0/type"),
                json!("DATABASE_AVAILABLE"),
            ),
        ),
        row("DebtExpectations.likelyFailures", Plan, at(TASK, "/technicalDebtExpectations/likelyFailures"), json!([])),
        row(
            "LikelyFailure.scenario",
            Plan,
            at(TASK, "/technicalDebtExpectations/likelyFailures/0/scenario"),
            json!("another one"),
        ),
        row(
            "LikelyFailure.expectedDebtCategory",
            Plan,
            at(TASK, "/technicalDebtExpectations/likelyFailures/0/expectedDebtCategory"),
            json!("REFACTOR"),
        ),
        row(
            "LikelyFailure.expectedSeverity",
            Plan,
            at(TASK, "/technicalDebtExpectations/likelyFailures/0/expectedSeverity"),
            json!("LOW"),
        ),
        row(
            "LikelyFailure.suggestedFix",
            Plan,
            at(TASK, "/technicalDebtExpectations/likelyFailures/0/suggestedFix"),
            json!(GONE),
        ),
    ]
}

fn action_rows() -> Vec<Row> {
    let ready = |field, rest: &'static str, value| {
        on(&service(), row(field, Plan, at(PREREQUISITE, &format!("/proctor/service/ready/{rest}")), value))
    };
    let never = |field, pointer, value| row(field, Fault("CAPTURE_NEVER"), pointer, value);
    let always = |field, pointer, value| row(field, Fault("CAPTURE_ALWAYS"), pointer, value);
    vec![
        row("Action.actionId", Fault("ORDER_UNKNOWN_ID"), at(STEPS, "/1/actionId"), json!("STEP.7")),
        row("Action.type", Fault("SCHEMA"), at(STEPS, "/1/type"), json!("HTTP_REQUEST")),
        row("Action.description", Plan, at(STEPS, "/1/description"), json!("checks the types")),
        row("Action.parameters", Fault("SCHEMA"), at(STEPS, "/1/parameters"), json!({})),
        row("Action.evidenceCapture", Plan, at(STEPS, "/1/evidenceCapture"), json!({ "stdout": false })),
        row("Action.timeout", Plan, at(STEPS, "/1/timeout"), json!(61_000)),
        row("Action.retryAttempts", Plan, at(STEPS, "/1/retryAttempts"), json!(2)),
        row("Action.continueOnFailure", Plan, at(STEPS, "/1/continueOnFailure"), json!(false)),
        row("Action.proctor", Plan, at(STEPS, "/1/proctor"), json!({ "version": "1.0.0", "argv": ["tsc"] })),
        row("ActionExtension.version", Fault("SCHEMA"), at(STEPS, "/1/proctor"), json!({ "version": "9.0.0" })),
        row("ActionExtension.tool", Plan, at(STEPS, "/1/proctor"), json!({ "version": "1.0.0", "tool": "generic" })),
        row("ActionExtension.argv", Plan, at(STEPS, "/1/proctor"), json!({ "version": "1.0.0", "argv": ["tsc"] })),
        row("ActionExtension.after", Plan, at(STEPS, "/1/proctor"), json!({ "version": "1.0.0", "after": ["STEP.1"] })),
        row("ActionExtension.writes", Plan, at(STEPS, "/1/proctor"), json!({ "version": "1.0.0", "writes": ["coverage/**"] })),
        on(&reviewed(None), row("ActionExtension.review", Plan, at(STEPS, "/1/proctor"), review(json!({})))),
        on(
            &reviewed(Some(json!({}))),
            row("Review.prompt", Plan, at(STEPS, "/1/proctor"), review(json!({ "prompt": "docs/review.md" }))),
        ),
        on(
            &reviewed(Some(json!({}))),
            row("Review.acceptSplitEmphasis", Plan, at(STEPS, "/1/proctor"), review(json!({ "acceptSplitEmphasis": false }))),
        ),
        on(&service(), row("ActionExtension.service", Plan, at(PREREQUISITE, "/proctor"), json!({ "version": "1.0.0" }))),
        on(&service(), row("Service.ready", Plan, at(PREREQUISITE, "/proctor/service/ready"), json!({ "port": 4174 }))),
        ready("Ready.url", "url", json!("http://127.0.0.1:4174/ready")),
        ready("Ready.timeout", "timeout", json!(8000)),
        ready("Ready.interval", "interval", json!(60)),
        ready("Ready.attemptTimeout", "attemptTimeout", json!(80)),
        on(&service(), row("Ready.port", Fault("SERVICE_READY"), at(PREREQUISITE, "/proctor/service/ready/port"), json!(4174))),
        on(&service(), row("Ready.command", Plan, at(PREREQUISITE, "/proctor/service/ready"), json!({ "command": ["true"] }))),
        row("EvidenceCapture.stdout", Plan, at(STEPS, "/0/evidenceCapture/stdout"), json!(false)),
        row("EvidenceCapture.stderr", Plan, at(STEPS, "/0/evidenceCapture/stderr"), json!(false)),
        row("EvidenceCapture.requestResponse", Plan, at(STEPS, "/0/evidenceCapture/requestResponse"), json!(true)),
        row("EvidenceCapture.fileContents", Plan, at(STEPS, "/0/evidenceCapture/fileContents"), json!(true)),
        never("EvidenceCapture.screenshots", at(STEPS, "/0/evidenceCapture/screenshots"), json!(true)),
        never("EvidenceCapture.domSnapshot", at(STEPS, "/0/evidenceCapture/domSnapshot"), json!(true)),
        always("EvidenceCapture.exitCode", at(STEPS, "/0/evidenceCapture/exitCode"), json!(false)),
        always("EvidenceCapture.duration", at(STEPS, "/0/evidenceCapture/duration"), json!(false)),
        row("TerminalCommandParameters.command", Plan, at(STEPS, "/1/parameters/command"), json!("npx tsc")),
        row("TerminalCommandParameters.workingDirectory", Plan, at(STEPS, "/1/parameters/workingDirectory"), json!("api")),
        row("TerminalCommandParameters.environment", Plan, at(STEPS, "/1/parameters/environment"), json!({ "A": "b" })),
        row("TerminalCommandParameters.expectedExitCodes", Plan, at(STEPS, "/1/parameters/expectedExitCodes"), json!([0, 3])),
        row("TerminalCommandParameters.shell", Plan, at(STEPS, "/1/parameters/shell"), json!("bash")),
        row("HttpRequestParameters.url", Plan, at(STEPS, "/2/parameters/url"), json!("http://127.0.0.1:4173/sums")),
        row("HttpRequestParameters.method", Plan, at(STEPS, "/2/parameters/method"), json!("PUT")),
        row("HttpRequestParameters.headers", Plan, at(STEPS, "/2/parameters/headers"), json!({})),
        row("HttpRequestParameters.body", Plan, at(STEPS, "/2/parameters/body"), json!("2.665")),
        row("HttpRequestParameters.expectedStatus", Plan, at(STEPS, "/2/parameters/expectedStatus"), json!(201)),
        row("HttpRequestParameters.validateResponse", Plan, at(STEPS, "/2/parameters/validateResponse"), json!(GONE)),
        row("ValidateResponse.containsText", Plan, at(STEPS, "/2/parameters/validateResponse/containsText"), json!("2.67")),
        row("ValidateResponse.matchesRegex", Plan, at(STEPS, "/2/parameters/validateResponse/matchesRegex"), json!("^2")),
        row(
            "ValidateResponse.jsonSchema",
            Plan,
            at(STEPS, "/2/parameters/validateResponse/jsonSchema"),
            json!({ "type": "object" }),
        ),
        row("FileValidationParameters.filePath", Plan, at(PREREQUISITE, "/parameters/filePath"), json!("billing/other.py")),
        row("FileValidationParameters.validationType", Plan, at(PREREQUISITE, "/parameters/validationType"), json!("EXISTS")),
        row("FileValidationParameters.minSize", Plan, at(PREREQUISITE, "/parameters/minSize"), json!(65)),
        row("FileValidationParameters.maxSize", Plan, at(PREREQUISITE, "/parameters/maxSize"), json!(GONE)),
        on(
            &looks("CONTENT_MATCH", "expectedContent", json!("def")),
            row(
                "FileValidationParameters.expectedContent",
                Plan,
                at(PREREQUISITE, "/parameters/expectedContent"),
                json!("class"),
            ),
        ),
        on(
            &looks("CONTENT_MATCH", "contentRegex", json!("^def")),
            row("FileValidationParameters.contentRegex", Plan, at(PREREQUISITE, "/parameters/contentRegex"), json!("^class")),
        ),
        on(
            &looks("SCHEMA_VALID", "schema", json!({ "type": "object" })),
            row("FileValidationParameters.schema", Plan, at(PREREQUISITE, "/parameters/schema"), json!({ "type": "array" })),
        ),
        on(
            &looks("HASH_MATCH", "expectedHash", json!("a".repeat(64))),
            row(
                "FileValidationParameters.expectedHash",
                Plan,
                at(PREREQUISITE, "/parameters/expectedHash"),
                json!("b".repeat(64)),
            ),
        ),
        on(
            &script(),
            row("CustomScriptParameters.scriptPath", Plan, at(STEPS, "/1/parameters/scriptPath"), json!("tools/other.py")),
        ),
        on(&script(), row("CustomScriptParameters.interpreter", Plan, at(STEPS, "/1/parameters/interpreter"), json!("python"))),
        on(&script(), row("CustomScriptParameters.arguments", Plan, at(STEPS, "/1/parameters/arguments"), json!(["-v"]))),
        on(
            &script(),
            row("CustomScriptParameters.environment", Plan, at(STEPS, "/1/parameters/environment"), json!({ "A": "b" })),
        ),
    ]
}

fn client_rows() -> Vec<Row> {
    let of = |base: Edits, field: &'static str, key: &str, value: Value| {
        on(&base, row(field, Plan, at(STEPS, &format!("/1/parameters/{key}")), value))
    };
    vec![
        of(query(), "DatabaseQueryParameters.connectionString", "connectionString", json!("sqlite:other.db")),
        of(query(), "DatabaseQueryParameters.query", "query", json!("select 2")),
        of(query(), "DatabaseQueryParameters.queryType", "queryType", json!("UPDATE")),
        of(query(), "DatabaseQueryParameters.expectedRowCount", "expectedRowCount", json!(1)),
        of(query(), "DatabaseQueryParameters.validateResults", "validateResults", json!({ "rowSchema": {} })),
        of(query(), "ValidateResults.rowSchema", "validateResults", json!({ "rowSchema": { "type": "object" } })),
        of(query(), "ValidateResults.containsValues", "validateResults", json!({ "containsValues": { "id": 1 } })),
        of(container("run"), "DockerCommandParameters.dockerCommand", "dockerCommand", json!("exec")),
        of(container("run"), "DockerCommandParameters.containerOrImage", "containerOrImage", json!("other")),
        of(container("run"), "DockerCommandParameters.volumes", "volumes", json!(["./data:/data"])),
        of(container("run"), "DockerCommandParameters.ports", "ports", json!(["8080:80"])),
        of(container("run"), "DockerCommandParameters.environment", "environment", json!({ "A": "b" })),
        of(container("run"), "DockerCommandParameters.command", "command", json!("false")),
        of(container("run"), "DockerCommandParameters.detached", "detached", json!(true)),
        of(browser("browser_navigate"), "BrowserParameters.action", "action", json!("browser_click")),
        of(browser("browser_navigate"), "BrowserParameters.url", "url", json!("http://127.0.0.1:4173/other")),
        of(browser("browser_click"), "BrowserParameters.selector", "selector", json!("form")),
        of(browser("browser_evaluate"), "BrowserParameters.script", "script", json!("2")),
        of(browser("browser_fill_form"), "BrowserParameters.formData", "formData", json!({ "name": "b" })),
        of(browser("browser_navigate"), "BrowserParameters.waitTimeout", "waitTimeout", json!(9000)),
    ]
}

fn rows() -> Vec<Row> {
    [top_rows(), policy_rows(), engine_rows(), task_rows(), action_rows(), client_rows()].into_iter().flatten().collect()
}

/// Makes the edits in the sample specification. Returns its faults, and its plan without the notes that repeat the
/// faults.
fn outcome(edits: &Edits) -> (BTreeSet<(String, String, String)>, Value) {
    let project = SpecificationContext { project_root: Path::new(ROOT) };
    let files = FakeFiles::of(&[("web/tsconfig.json", r#"{"compilerOptions": {"strict": true}}"#)]);
    let text = edited(edits).to_string();
    let reading = compare_with_project(read_specification(&text, "specs/T117-test-specification.json", project), &files);
    let SpecificationReading { specification, faults, .. } = reading;
    let configuration = Configuration::default();
    let around = TaskContext { project, files: &files, configuration: &configuration };
    let task = TaskId::try_from("T117").expect("an id");
    let plan = specification.and_then(|specification| resolve_task(&specification, &task, &faults, around));
    let plan = plan.map(|plan| serde_json::to_value(proctor_model::Plan { notes: Vec::new(), ..plan }).expect("a plan is JSON"));
    let faults = faults.into_iter().map(|fault| (fault.code().to_owned(), fault.pointer, fault.message));
    (faults.collect(), plan.unwrap_or_default())
}

#[test]
fn every_field_of_the_schema_has_a_row() {
    let schema: Value = serde_json::from_str(SCHEMA_TEXT).expect("the schema is JSON");
    let fields = |name: &str, of: &Value| -> Vec<String> {
        let keys = of["properties"].as_object().into_iter().flat_map(|members| members.keys());
        keys.map(|key| if name.is_empty() { key.clone() } else { format!("{name}.{key}") }).collect()
    };
    let definitions = schema["definitions"].as_object().expect("it has definitions");
    let mut all = fields("", &schema);
    all.extend(definitions.iter().flat_map(|(name, of)| fields(name, of)));
    let rows = rows();
    let tried: BTreeSet<&str> = rows.iter().map(|row| row.field).collect();
    let missing: Vec<_> = all.iter().filter(|field| !tried.contains(field.as_str())).collect();
    assert!(missing.is_empty(), "fields without a row: {missing:#?}");
    let unknown: Vec<_> = tried.iter().filter(|field| !all.iter().any(|known| known == *field)).collect();
    assert!(unknown.is_empty(), "rows without a field: {unknown:#?}");
}

#[test]
fn every_field_changes_the_plan_or_is_named_by_the_lint() {
    let mut wrong = Vec::new();
    for row in rows() {
        let before = outcome(&row.base);
        let after = outcome(&row.base.iter().chain(&row.edit).cloned().collect());
        let runs = before.1 != Value::Null;
        let holds = match row.effect {
            Plan => before.1 != after.1 && after.1 != Value::Null,
            Fault(code) => before.0.symmetric_difference(&after.0).any(|(found, ..)| found == code),
            People => before == after,
        };
        if !(holds && runs) {
            let changed: Vec<_> = before.0.symmetric_difference(&after.0).collect();
            wrong.push(format!("{} {:?}: it ran: {runs}; faults that differ: {changed:?}", row.field, row.effect));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
