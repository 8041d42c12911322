//! Tests the detailed results and the evidence standards of the design document seed 004. Each is produced by a real run
//! and compared with the document's example key by key.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::common::{Output, Project, fake_tool, jest_modules, node_modules};
use crate::seed_004::departures::Change;
use crate::seed_004::{change, departures_of, example};

/// Fails unless a value has every key of an example, with a value of the same type. The known differences
/// (`departures`) are applied to the example first.
///
/// If the example has null, any type is accepted. If it has an empty list or object, only the type is compared.
#[track_caller]
pub(crate) fn assert_like(name: &str, produced: &Value) {
    let mut wanted = example(name);
    for row in departures_of(name) {
        match row.change {
            Change::Absent | Change::Form(_) => {
                change(&mut wanted, row.path, &row.change);
            }
            Change::NotSeen => {
                assert!(change(&mut wanted, row.path, &Change::Absent) > 0, "{name}: there is no `{}`", row.path);
                let is_there = change(&mut produced.clone(), row.path, &Change::Absent) > 0;
                assert!(!is_there, "{name}: `{}` is there: {}", row.path, row.why);
            }
            Change::Added(_) => {}
        }
    }
    let mut differences = Vec::new();
    compare(&wanted, produced, String::new(), &mut differences);
    assert!(differences.is_empty(), "{name}:\n{}\n{produced:#}", differences.join("\n"));
}

fn compare(wanted: &Value, produced: &Value, place: String, into: &mut Vec<String>) {
    let differs = || format!("`{place}`: {wanted} in the example, {produced} here");
    match (wanted, produced) {
        (Value::Null, _)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_)) => {}
        (Value::Object(wanted), Value::Object(produced)) => {
            for (key, wanted) in wanted {
                match produced.get(key) {
                    None => into.push(format!("`{place}.{key}` is missing: {wanted} in the example")),
                    Some(produced) => compare(wanted, produced, format!("{place}.{key}"), into),
                }
            }
        }
        (Value::Array(wanted), Value::Array(produced)) => compare_entries(wanted, produced, &place, into),
        (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) | Value::Array(_), _) => into.push(differs()),
    }
}

/// Actions are compared with the action of the same id, conditions with the condition of the same text, and any other
/// entry with the first one.
fn compare_entries(wanted: &[Value], produced: &[Value], place: &str, into: &mut Vec<String>) {
    for key in ["actionId", "condition"] {
        for wanted in wanted.iter().filter(|wanted| wanted.get(key).is_some()) {
            match produced.iter().find(|produced| produced.get(key) == wanted.get(key)) {
                None => into.push(format!("`{place}` has no {key} {}", wanted[key])),
                Some(produced) => compare(wanted, produced, format!("{place}[{}]", wanted[key]), into),
            }
        }
    }
    match (wanted.first(), produced.first()) {
        (Some(wanted), None) => into.push(format!("`{place}` is empty: {wanted} in the example")),
        (Some(wanted), Some(produced)) if wanted.get("actionId").is_none() && wanted.get("condition").is_none() => {
            compare(wanted, produced, format!("{place}[]"), into);
        }
        (Some(_), Some(_)) | (None, _) => {}
    }
}

fn check(tool: &str, program: &Path, arguments: &[&str]) -> String {
    let program = program.to_str().expect("our paths are UTF-8");
    let words: Vec<&str> = [program].iter().chain(arguments).copied().collect();
    // A JSON list of strings is also a TOML list of strings.
    let command = serde_json::to_string(&words).expect("strings can be written");
    format!("[[check]]\nname = \"{tool}\"\ntool = \"{tool}\"\ncommand = {command}\n")
}

/// A project in which node finds the packages of `modules`.
fn node_project(toml: &str, modules: &Path) -> Project {
    let project = Project::new().file("package.json", "{\"name\": \"x\"}\n").toml(toml);
    symlink(modules, project.path().join("node_modules")).expect("the project has none");
    project
}

#[track_caller]
fn only_step(output: &Output) -> Value {
    output.report()["stepExecution"]["results"][0].clone()
}

/// Returns the content of the run's JSON file whose key `schema` has this value.
#[track_caller]
fn record(output: &Output, schema: &str) -> Value {
    let entries = std::fs::read_dir(output.run_directory()).expect("the run is kept");
    let records = entries.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "json"));
    let mut values = records.filter_map(|entry| serde_json::from_slice::<Value>(&std::fs::read(entry.path()).ok()?).ok());
    values.find(|value| value["schema"] == schema).unwrap_or_else(|| panic!("there is no `{schema}`"))
}

#[test]
fn a_failing_test_is_written_as_example_1_and_its_tests_as_the_evidence_standard() {
    let test = "describe('GET /api/v1/quotes', () => {\n  \
                test('should return 200 OK with quotes array', () => { expect(404).toBe(200); });\n  \
                test('should return array in response body', () => { expect([]).toEqual([]); });\n});\n";
    let modules = jest_modules();
    let project = node_project(&check("jest", &modules.join(".bin/jest"), &[]), &modules)
        .file("__tests__/contracts/quotes-list.test.js", test);
    let output = project.proctor(["run"]).failure();
    assert_like("example-1-test-failure", &only_step(&output));
    assert_like("evidence-test-results", &record(&output, "proctor-test-results-v1"));
}

#[test]
fn a_type_error_is_written_as_example_3a_and_its_command_as_the_evidence_standard() {
    let source = "function calculateTotal(customer: number): number {\n  return customer;\n}\n\nconst customerId = 'C1';\n\
                  export const result = calculateTotal(customerId);\n";
    let modules = node_modules();
    let toml = check("tsc", &modules.join(".bin/tsc"), &["--noEmit", "--pretty", "QuoteService.ts"]);
    let toml = toml + "environment = { NODE_ENV = \"test\" }\n";
    let project = node_project(&toml, &modules).file("QuoteService.ts", source);
    let output = project.proctor(["run"]).failure();
    let entry = only_step(&output);
    assert_like("example-3a-type-error", &entry);
    let found = &entry["result"]["diagnostics"][0];
    assert_eq!((&found["code"], &found["line"]), (&"TS2345".into(), &6.into()), "{found}");
    assert_eq!(entry["result"]["stderr"], "", "C70: tsc prints on standard output");
    let record = record(&output, "proctor-action-v1");
    assert_like("evidence-terminal", &record);
    assert!(record["output"]["stdout"].as_str().is_some_and(|text| text.contains("TS2345")), "{record:#}");
}

/// A project in which eslint reports `no-unused-vars` and `no-undef` as errors and `no-console` as a warning.
fn linted(source: &str) -> Project {
    let settings = "export default [{ files: ['*.js'], languageOptions: { globals: { console: 'readonly' } },\n  \
                    rules: { 'no-unused-vars': 'error', 'no-undef': 'error', 'no-console': 'warn' } }];\n";
    let modules = node_modules();
    let toml = check("eslint", &modules.join(".bin/eslint"), &["-f", "json", "quote.js"]);
    node_project(&toml, &modules).file("eslint.config.mjs", settings).file("quote.js", source)
}

#[test]
fn lint_errors_are_written_as_example_3b() {
    let project = linted("const customerId = 1;\ntotl();\n");
    let entry = only_step(&project.proctor(["run"]).failure());
    assert_like("example-3b-lint-errors", &entry);
    assert_eq!(entry["classification"]["severity"], "HIGH", "C29");
}

#[test]
fn lint_warnings_are_written_as_example_3c_and_block_nothing() {
    let project = linted("console.log(1);\n");
    let entry = only_step(&project.proctor(["run"]).success());
    assert_like("example-3c-lint-warnings", &entry);
    assert_eq!((&entry["blocking"], &entry["result"]["exitCode"]), (&false.into(), &0.into()));
}

#[test]
fn a_time_out_is_written_as_example_5() {
    let toml = check("generic", fake_tool(), &["--stdout", "Starting long-running operation...\n", "--sleep", "60000"]);
    let project = Project::new().toml(&format!("{toml}timeout = \"1s\"\n"));
    let entry = only_step(&project.proctor(["run"]).failure());
    assert_like("example-5-timeout", &entry);
    assert_eq!((&entry["result"]["signal"], &entry["classification"]["timeoutValue"]), (&"SIGTERM".into(), &1000.into()));
    assert_eq!(entry["result"]["partialOutput"], "Starting long-running operation...\n");
}

/// A specification with errors runs no action. Each error has the form of the example, and in a registered project the
/// report has the example's entry for the action.
#[test]
fn a_wrong_specification_has_its_faults_in_the_form_of_example_6() {
    let text = std::fs::read_to_string(crate::common::repository().join("fixtures/specifications/rounding.json"))
        .expect("the fixture is part of the repository");
    let right = text.clone();
    let mut document: Value = serde_json::from_str(&text).expect("it is JSON");
    let parameters = "/tasks/T117/testExecution/prerequisites/0/parameters";
    let file = document.pointer_mut(parameters).and_then(Value::as_object_mut).expect("it looks at a file");
    file.remove("filePath");
    file.insert("validationType".to_owned(), "CONTENT_REGEX".into());
    let project = Project::new().file("T117-test-specification.json", &document.to_string());
    let checked = project.proctor(["check", "--json"]).status(4).json();
    let faults = checked["files"].as_array().expect("a list")[0]["faults"].as_array().expect("a list");
    let wanted = &example("example-6-specification-error")["result"]["schemaValidation"]["errors"][0];
    let found = faults.iter().find(|fault| fault["keyword"] == "enum").unwrap_or_else(|| panic!("{checked:#}"));
    for key in ["schemaPath", "keyword", "params", "message"] {
        assert_eq!(found[key], wanted[key], "{key}");
    }
    let place = wanted["instancePath"].as_str().and_then(|path| path.strip_prefix("/parameters")).expect("a pointer");
    assert_eq!(found["instancePath"], format!("{parameters}{place}"));
    let missing = faults.iter().find(|fault| fault["keyword"] == "required").unwrap_or_else(|| panic!("{checked:#}"));
    assert_eq!((&missing["params"]["missingProperty"], &missing["instancePath"]), (&"filePath".into(), &parameters.into()));
    project.proctor(["run", "--task", "T117"]).status(4);
    let sealed = std::fs::read_to_string(project.path().join("evidence/T117/execution-report.json")).expect("it was sealed");
    let sealed: Value = serde_json::from_str(&sealed).expect("a report is JSON");
    assert_eq!(sealed["executionSummary"]["actionCounts"]["executed"], 0, "nothing was run");

    let project =
        Project::new().file("T117-test-specification.json", &right).toml("[[check]]\nname = \"a\"\ncommand = [\"true\"]\n");
    project.proctor(["run"]).success();
    project.save("T117-test-specification.json", &document.to_string());
    let report = project.proctor(["run", "--task", "T117", "--json"]).status(4).json();
    let entry = &report["prerequisiteExecution"]["results"][0];
    // The example has only the error about `validationType` (keyword `enum`), so the error about the missing `filePath`
    // is removed from the list before the comparison.
    let mut listed = entry.clone();
    let errors = listed["result"]["schemaValidation"]["errors"].as_array_mut().expect("a list");
    errors.retain(|error| error["keyword"] == "enum");
    assert_like("example-6-specification-error", &listed);
    let example = example("example-6-specification-error");
    assert_eq!((&entry["status"], &entry["disposition"]), (&example["status"], &"INVALID".into()));
    for part in ["impact", "debtGeneration", "agentAction"] {
        assert_eq!(entry[part], example[part], "{part}");
    }
    let errors = entry["result"]["schemaValidation"]["errors"].as_array().expect("a list");
    let found = errors.iter().find(|error| error["keyword"] == "enum").unwrap_or_else(|| panic!("{entry:#}"));
    assert_eq!(found["instancePath"], wanted["instancePath"], "counted from the action, as in the example");
    assert_eq!(entry["classification"]["validationErrors"].as_array().map(Vec::len), Some(errors.len()));
    assert_eq!(report["executionSummary"]["actionResults"]["SPECIFICATION_ERROR"], 1);
    project.proctor(["verify", "--all"]).success();
}
