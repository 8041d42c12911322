//! Golden screens of what failed. Read them as a person at a terminal of 80 columns.

use serde_json::{Value, json};

use super::*;
use crate::cli::screen::{ActionLook, action};
use crate::cli::style::Style;

/// Returns the entry of a check that failed.
fn result(command: &str, tool: &str, outcome: Value) -> ActionResultV2 {
    let entry = json!({
        "actionId": "STEP.1",
        "name": tool,
        "type": "TERMINAL_COMMAND",
        "tool": tool,
        "disposition": "EXECUTED",
        "status": "TEST_FAILURE",
        "blocking": true,
        "description": "",
        "command": command,
        "duration": 430,
        "evidence": "STEP.1-terminal-output.log",
        "result": outcome,
    });
    serde_json::from_value(entry).expect("an entry of a report")
}

fn test(name: &str, file: &str, line: u64, error: &str, stack: &str) -> Value {
    json!({ "testName": name, "testFile": file, "line": line, "error": error, "stack": stack })
}

/// Returns a failed test of pytest with both of its names.
fn node(name: &str, file: &str, line: u64, error: &str, stack: &str) -> Value {
    let module = file.trim_end_matches(".py").replace('/', ".");
    let mut failure = test(&format!("{file}::{name}"), file, line, error, stack);
    failure["reportName"] = json!(format!("{module}::{name}"));
    failure
}

fn tests(command: &str, tool: &str, failures: Vec<Value>) -> ActionResultV2 {
    let failed = failures.len();
    let results = json!({ "passed": 2, "failed": failed, "skipped": 0, "total": failed + 2, "failures": failures });
    result(command, tool, json!({ "exitCode": 1, "testResults": results }))
}

fn findings(tool: &str, findings: Vec<Value>) -> ActionResultV2 {
    let errors = findings.iter().filter(|finding| finding["severity"] == "error").count();
    let summary = json!({ "errors": errors, "warnings": findings.len() - errors, "totalFiles": 1 });
    result(tool, tool, json!({ "exitCode": 1, "diagnostics": findings, "summary": summary }))
}

/// Returns the screen of an action, without its first line.
fn screen(result: &ActionResultV2, shown: FailuresShown) -> String {
    action(result, ActionLook { failures: shown, style: Style::Plain, is_specified: true, run: None })
        .iter()
        .skip(1)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// 29 cases of one parametrised test, then three tests that fail in one function, then two whose fixture is missing.
fn thirty_four_tests() -> ActionResultV2 {
    let parametrised = (0..29).map(|number| {
        let error = format!("assert {number} == {}", number + 1);
        let stack = format!(
            "n = {number}\n\n    @pytest.mark.parametrize(\"n\", range(29))\n    def test_n(n):\n>       assert n == n + 1\nE       assert {number} \
             == ({number} + 1)\n\ntests/test_stock.py:12: AssertionError"
        );
        node(&format!("test_n[{number}]"), "tests/test_stock.py", 12, &error, &stack)
    });
    let keys = ["price", "order", "total"].map(|name| {
        let stack = format!(
            "    def test_{name}():\n>       find({{}})\n\ntests/test_order.py:9: \n_ _ _ _ _ _ _\n\n    def find(item):\n>       return \
             item['sku']\nE       KeyError: 'sku'\n\nstock.py:40: KeyError"
        );
        node(&format!("test_{name}"), "tests/test_order.py", 9, "KeyError: 'sku'", &stack)
    });
    let fixtures = [("a", 3), ("b", 7)].map(|(name, line)| {
        let stack = format!("file /project/tests/test_db.py, line {line}\n  def test_{name}(db):\nE       fixture 'db' not found\n\n/project/tests/test_db.py:{line}");
        node(&format!("test_{name}"), "tests/test_db.py", line, "fixture 'db' not found", &stack)
    });
    tests("python -m pytest -q", "pytest", parametrised.chain(keys).chain(fixtures).collect())
}

#[test]
fn the_first_failure_is_shown_whole_and_every_cause_has_a_line() {
    insta::assert_snapshot!("thirty_four_tests", screen(&thirty_four_tests(), FailuresShown::First));
}

#[test]
fn one_failure_alone_and_none_and_all() {
    let stack = "    def test_quote():\n        quote = Quote(price=7)\n>       assert quote.lines() == ['a', 'b']\nE       AssertionError: assert \
                 ['a', 'c'] == ['a', 'b']\nE         \nE         At index 1 diff: 'c' != 'b'\nE         Use -v to get more diff\n\ntest_quote.py:46: \
                 AssertionError";
    let one =
        test("test_quote::TestQuote::test_quote", "test_quote.py", 46, "AssertionError: assert ['a', 'c'] == ['a', 'b']", stack);
    let one = tests(".venv/bin/pytest", "pytest", vec![one]);
    insta::assert_snapshot!("one_test", screen(&one, FailuresShown::First));
    assert_eq!(screen(&thirty_four_tests(), FailuresShown::None), "");
    let all = screen(&thirty_four_tests(), FailuresShown::All);
    assert_eq!(all.matches("assert n == n + 1").count(), 29);
    assert!(all.contains("tests/test_db.py::test_b"));
}

#[test]
fn more_causes_than_lines_are_counted() {
    let many = (0..40).map(|number| test(&format!("test_a::test_{number}"), "test_a.py", number, "ValueError: x", ""));
    insta::assert_snapshot!("many_causes", screen(&tests("pytest", "pytest", many.collect()), FailuresShown::First));
}

#[test]
fn jest_has_its_difference_and_no_frames_of_packages() {
    let message = "Error: expect(received).toEqual(expected) // deep equality\n\n- Expected\n+ Received\n\n  Object {\n-   \"price\": 7,\n+   \"price\": \
                   8,\n  }\n    at Object.toEqual (/project/web/a.test.js:4:17)\n    at Promise.finally.completed \
                   (/project/node_modules/jest-circus/build/x.js:1834:28)\n    at new Promise (<anonymous>)";
    let one = |title: &str| {
        let name = format!("a.test.js › quotes › {title}");
        let mut failure = test(&name, "web/a.test.js", 4, "expect(received).toEqual(expected) // deep equality", message);
        failure["reportName"] = json!(format!("quotes {title}"));
        failure
    };
    let mut result = tests("npx jest --ci", "jest", vec![one("answers (200)"), one("answers 404")]);
    result.directory = Some("web".to_owned());
    insta::assert_snapshot!("jest", screen(&result, FailuresShown::First));
}

#[test]
fn a_message_that_the_tool_prints_first_is_said_once() {
    let error = "AssertionError: expected { sum: -3 } to deeply equal { sum: 3 }";
    let stack = format!("{error}\n- Expected\n+ Received\n\n-   \"sum\": 3,\n+   \"sum\": -3,");
    let one = |error| tests("vitest run", "vitest", vec![test("a.test.js > sums", "a.test.js", 3, error, &stack)]);
    let shown = screen(&one(error), FailuresShown::First);
    assert_eq!((shown.matches(error).count(), shown.matches("│ - Expected").count()), (1, 1), "{shown}");
    let other = screen(&one("another"), FailuresShown::First);
    assert!(other.contains(&format!("│ {error}")), "{other}");
}

#[test]
fn findings_are_grouped_by_rule() {
    let unused = |line: u64, name: &str| {
        json!({ "file": "src/a.js", "line": line, "column": 7, "ruleId": "no-unused-vars", "severity": "error",
            "message": format!("'{name}' is assigned a value but never used.") })
    };
    let undefined = json!({ "file": "src/b.js", "line": 2, "column": 1, "ruleId": "no-undef", "severity": "error",
        "message": "'fetch' is not defined." });
    let warning =
        json!({ "file": "src/b.js", "line": 3, "ruleId": "semi", "severity": "warning", "message": "Missing semicolon." });
    let mut all: Vec<Value> = (1..=20).map(|line| unused(line, &format!("name{line}"))).collect();
    all.extend([undefined, warning]);
    insta::assert_snapshot!("eslint", screen(&findings("eslint", all), FailuresShown::First));
}

#[test]
fn the_first_finding_has_what_the_tool_printed_below_its_line() {
    let chain = json!({ "file": "src/a.ts", "line": 3, "column": 7, "code": "TS2322", "severity": "error",
        "message": "Type '{ a: string; }' is not assignable to type 'T'.\n  Types of property 'a' are incompatible.\n    Type 'string' is not assignable to type 'number'." });
    let other = json!({ "file": "src/b.ts", "line": 9, "column": 1, "code": "TS2304", "severity": "error", "message": "Cannot find name 'x'." });
    insta::assert_snapshot!("tsc", screen(&findings("typescript", vec![chain, other]), FailuresShown::First));
}

#[test]
fn a_finding_that_a_policy_allows_is_shown_on_request_only() {
    let mut result = thirty_four_tests();
    result.blocking = Some(false);
    assert_eq!(screen(&result, FailuresShown::First), "");
    assert_ne!(screen(&result, FailuresShown::All), "");
}
