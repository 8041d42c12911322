//! Makes the situations of the detailed examples 1 to 6 of the design document seed 004 by real runs of a specification whose actions
//! have the examples' ids, files and lines, and compares every value literally. A value that differs needs a row in [`UNEQUAL`].

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Project, fake_tool, free_port, jest_modules, node_modules};
use crate::seed_004::departures::Change;
use crate::seed_004::unequal::UNEQUAL;
use crate::seed_004::{change, departures_of, example};

/// The port of the examples. The tests use a free one, which is written as this one before values are compared.
const PORT: u16 = 3000;

fn command(id: &str, text: &str) -> Value {
    json!({
        "actionId": id, "type": "TERMINAL_COMMAND", "description": format!("Runs what is {id}"),
        "parameters": { "command": text, "workingDirectory": "/srv/web" }, "timeout": 60000, "continueOnFailure": true
    })
}

/// Returns a specification with these actions.
fn specification(prerequisites: &[Value], steps: &[Value]) -> Value {
    let ids = steps.iter().map(|step| step["actionId"].as_str().expect("an id"));
    let conditions: Vec<Value> = ids
        .map(|id| json!({ "condition": format!("{id}.duration < 600000"), "description": "The step was carried out" }))
        .collect();
    let task = json!({
        "taskId": "T030",
        "title": "QuoteService CRUD Implementation",
        "description": "The service of quotes makes, reads, changes and removes them, and is served at its address.",
        "testExecution": { "prerequisites": prerequisites, "steps": steps, "cleanup": [] },
        "validationCriteria": { "successConditions": conditions },
        "completionCriteria": { "allStepsMustPass": true, "minimumPassRate": 100 }
    });
    json!({
        "schemaVersion": "2.0.0",
        "metadata": {
            "projectName": "quotes", "sprintId": "SPRINT_004", "generatedAt": "2025-09-30T14:00:00.000Z", "generatedBy": "by hand"
        },
        "globalConfiguration": { "workspaceRoot": "/srv/web", "evidenceDirectory": "evidence" },
        "executionEngine": { "availableActionTypes": ["TERMINAL_COMMAND", "FILE_VALIDATION", "HTTP_REQUEST"] },
        "tasks": { "T030": task }
    })
}

/// Runs a specification, and returns the report's entry for an action.
#[track_caller]
fn entry(project: Project, specification: &Value, id: &str) -> Value {
    let project = project.file("T030-quote-service-test-specification.json", &specification.to_string());
    let report = project.proctor(["run", "--task", "T030", "--json"]).any_status().json();
    let of = |part: &str| report[part]["results"].as_array().into_iter().flatten().find(|one| one["actionId"] == id).cloned();
    of("prerequisiteExecution").or_else(|| of("stepExecution")).unwrap_or_else(|| panic!("there is no {id}: {report:#}"))
}

fn with_modules(modules: &Path) -> Project {
    let project = Project::new().file("package.json", "{\"name\": \"x\"}\n");
    symlink(modules, project.path().join("node_modules")).expect("the project has none");
    project
}

/// Returns a value with one port written as another one, in numbers and in texts.
fn with_port(value: &Value, from: u16) -> Value {
    match value {
        Value::Number(number) if number.as_u64() == Some(from.into()) => PORT.into(),
        Value::String(text) => text.replace(&from.to_string(), &PORT.to_string()).into(),
        Value::Array(values) => values.iter().map(|value| with_port(value, from)).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), with_port(value, from))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Collects the paths at which two values differ, as rows write them: keys joined by dots, with `[]` for every entry of a list.
fn differences(wanted: &Value, produced: &Value, path: &str, into: &mut Vec<(String, String)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (wanted, produced) {
        (Value::Object(wanted), Value::Object(produced)) => {
            for (key, wanted) in wanted {
                differences(wanted, produced.get(key).unwrap_or(&Value::Null), &below(key), into);
            }
        }
        (Value::Array(wanted), Value::Array(produced)) => {
            for (at, wanted) in wanted.iter().enumerate() {
                differences(wanted, produced.get(at).unwrap_or(&Value::Null), &format!("{path}[]"), into);
            }
        }
        (Value::Number(wanted), Value::Number(produced)) if wanted.as_f64() == produced.as_f64() => {}
        (wanted, produced) if wanted == produced => {}
        (wanted, produced) => into.push((path.to_owned(), format!("{wanted} in the example, {produced} here"))),
    }
}

/// Fails unless every value of an example is the produced one, except where a departure or a row of [`UNEQUAL`] says why not; and
/// unless each row is needed.
#[track_caller]
fn assert_literally(name: &str, produced: &Value) {
    let mut wanted = example(name);
    for row in departures_of(name).filter(|row| !matches!(row.change, Change::Added(_))) {
        change(&mut wanted, row.path, &Change::Absent);
    }
    let mut found = Vec::new();
    differences(&wanted, produced, "", &mut found);
    let rows: BTreeSet<&str> = UNEQUAL.iter().filter(|row| row.example == name).map(|row| row.path).collect();
    let unexplained: Vec<String> =
        found.iter().filter(|(path, _)| !rows.contains(path.as_str())).map(|(path, what)| format!("`{path}`: {what}")).collect();
    assert!(unexplained.is_empty(), "{name}:\n{}\n{produced:#}", unexplained.join("\n"));
    let unneeded: Vec<&&str> = rows.iter().filter(|row| !found.iter().any(|(path, _)| path == **row)).collect();
    assert!(unneeded.is_empty(), "{name}: these are equal, so they need no row: {unneeded:?}");
}

#[test]
fn every_row_is_about_an_example_and_has_its_reason() {
    for row in UNEQUAL {
        assert!(row.example.starts_with("example-") && row.why.len() > 15, "{} `{}`", row.example, row.path);
    }
}

#[test]
fn example_1_a_failing_test() {
    // The test of the example stands in line 15, and its assertion at column 23.
    let failing =
        format!("test('should return 200 OK with quotes array', () => {{\n{}expect(404).toBe(200);\n}});\n", " ".repeat(10));
    let rest = "test('is a list', () => { expect([]).toBe(1); });\n\
                test('is there', () => {});\ntest('is fast', () => {});\ntest('is small', () => {});\n";
    let modules = jest_modules();
    let project =
        with_modules(&modules).file("__tests__/contracts/quotes-list.test.ts", &format!("{}{failing}{rest}", "\n".repeat(13)));
    let jest = modules.join(".bin/jest");
    let step = command("STEP.4", &format!("{} __tests__/contracts/quotes-list.test.ts", jest.display()));
    assert_literally("example-1-test-failure", &entry(project, &specification(&[], &[step]), "STEP.4"));
}

#[test]
fn example_2_a_refused_connection() {
    let port: u16 = free_port().parse().expect("a number");
    let words = |arguments: &str| format!("{} {arguments}", fake_tool().display());
    let mut server = command("PREREQ.3", &words(&format!("--serve {port} --sleep 600000")));
    server["proctor"] =
        json!({ "version": "1.0.0", "service": { "ready": { "url": format!("http://localhost:{port}/api/health") } } });
    let request = json!({
        "actionId": "STEP.9", "type": "HTTP_REQUEST", "description": "Validate GET /api/v1/quotes returns 200",
        "parameters": { "url": format!("http://127.0.0.1:{port}/api/v1/quotes"), "method": "GET", "expectedStatus": 200 },
        "timeout": 5000
    });
    // The server goes on, and does not listen any more.
    let hide = command("STEP.8", &words(&format!("--get {port} /hide")));
    let produced = entry(Project::new(), &specification(&[server], &[hide, request]), "STEP.9");
    assert_literally("example-2-execution-error", &with_port(&produced, port));
}

#[test]
fn example_3a_a_type_error() {
    let before = "function calculateTotal(customer: number, items: number[]): number {\n  return customer + items.length;\n}\n\
                  const items: number[] = [];\nconst customerId = 'C1';\n";
    let source = format!("{before}{}const result = calculateTotal(customerId, items);\nexport {{ result }};\n", "\n".repeat(39));
    let modules = node_modules();
    let project = with_modules(&modules).file("src/services/quotes/QuoteService.ts", &source);
    let tsc = modules.join(".bin/tsc");
    let step = command("STEP.3", &format!("{} --noEmit --pretty src/services/quotes/QuoteService.ts", tsc.display()));
    assert_literally("example-3a-type-error", &entry(project, &specification(&[], &[step]), "STEP.3"));
}

/// A rule that reports each call of `undocumented` as the example's rule of JSDoc does, and can mend calls without arguments.
const JSDOC: &str = "const jsdoc = { rules: { 'require-jsdoc': { meta: { fixable: 'code', schema: [] }, create: (context) => ({\n  \
                     CallExpression(node) {\n    if (node.callee.name !== 'undocumented') return;\n    \
                     const fix = node.arguments.length ? null : (fixer) => fixer.insertTextBefore(node, '/** */ ');\n    \
                     context.report({ node, message: 'Missing JSDoc comment', fix });\n  },\n}) } } };\n";

/// Returns a project that ESLint looks at by the rules of the examples, and the step of it.
fn linted(files: &[(&str, String)]) -> (Project, Value) {
    let settings = format!(
        "{JSDOC}export default [{{ files: ['**/*.ts'], plugins: {{ jsdoc }},\n  \
         languageOptions: {{ globals: {{ console: 'readonly', undocumented: 'readonly' }} }},\n  \
         rules: {{ 'no-unused-vars': 'error', 'no-undef': 'error', 'prefer-const': 'error', 'no-console': 'warn', \
         'jsdoc/require-jsdoc': 'warn' }} }}];\n"
    );
    let modules = node_modules();
    let project = with_modules(&modules).file("eslint.config.mjs", &settings);
    let project = files.iter().fold(project, |project, (path, text)| project.file(path, text));
    (project, command("STEP.8", &format!("{} -f json src", modules.join(".bin/eslint").display())))
}

#[test]
fn example_3b_lint_errors() {
    let service = format!("{}{}const customerId = 1;\n{}    result();\n", "\n".repeat(44), " ".repeat(11), "\n".repeat(21));
    let fixable = "let a = 1;\nlet b = 2;\nlet c = 3;\nexport default [a, b, c];\n".to_owned();
    let (project, step) = linted(&[
        ("src/services/quotes/QuoteService.ts", service),
        ("src/services/quotes/a.ts", fixable),
        ("src/services/quotes/b.ts", "console.log(1);\n".repeat(12)),
    ]);
    assert_literally("example-3b-lint-errors", &entry(project, &specification(&[], &[step]), "STEP.8"));
}

#[test]
fn example_3c_lint_warnings() {
    let service = format!("{}    undocumented(1);\n{}", "\n".repeat(11), "console.log(1);\n".repeat(3));
    let other = "undocumented();\nundocumented();\nconsole.log(1);\nconsole.log(2);\n".to_owned();
    let (project, step) = linted(&[("src/services/quotes/QuoteService.ts", service), ("src/services/quotes/z.ts", other)]);
    assert_literally("example-3c-lint-warnings", &entry(project, &specification(&[], &[step]), "STEP.8"));
}

#[test]
fn example_4_a_server_whose_port_is_held() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let mut server = command("PREREQ.3", &format!("{} --serve {port} --sleep 600000", fake_tool().display()));
    server["timeout"] = 30000.into();
    server["continueOnFailure"] = false.into();
    server["proctor"] =
        json!({ "version": "1.0.0", "service": { "ready": { "url": format!("http://localhost:{port}/api/health") } } });
    let steps: Vec<Value> = (1..=12).map(|number| command(&format!("STEP.{number}"), "true")).collect();
    let produced = entry(Project::new(), &specification(&[server], &steps), "PREREQ.3");
    assert_literally("example-4-prerequisite-failure", &with_port(&produced, port));
}

#[test]
fn example_5_a_time_out() {
    let text = "Starting long-running operation...\nProcessing 1000 items...\nProgress: 45%...";
    // The example's limit is ten seconds.
    let mut step = command("STEP.10", &format!("{} --stdout '{text}' --sleep 600000", fake_tool().display()));
    step["timeout"] = 1000.into();
    assert_literally("example-5-timeout", &entry(Project::new(), &specification(&[], &[step]), "STEP.10"));
}

#[test]
fn example_6_a_wrong_action() {
    let wrong = json!({
        "actionId": "STEP.12", "type": "FILE_VALIDATION", "description": "Look at the file of quotes",
        "parameters": { "validationType": "CONTENT_REGEX" }
    });
    let mut produced = entry(Project::new(), &specification(&[], &[wrong]), "STEP.12");
    // The example has the error about `validationType` only, although it names both in words.
    let errors = produced["result"]["schemaValidation"]["errors"].as_array_mut().expect("a list");
    errors.retain(|error| error["keyword"] == "enum");
    assert_literally("example-6-specification-error", &produced);
}
