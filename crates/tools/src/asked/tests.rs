//! How the runners are found and asked, and what their captured reports amount to.

use std::path::Path;

use crate::captured::{interpret, read};
use crate::discover::{command_text, find_checks};
use crate::prepare::{ReportRequest, prepare};
use crate::project_files::fake::FakeFiles;
use crate::recognise::{CommandForm, recognise, recognise_script};
use crate::samples::{Returned, action};
use proctor_model::{CategoryCode, Tool, ToolReport, split_words};

#[test]
fn a_failure_says_where_and_why() {
    for (path, name, line, error) in [
        ("mocha/12.0.3/fail", "quotes > answers 200", 5, "Expected values to be strictly equal: 404 !== 200"),
        ("mocha/12.0.3/fail-parallel", "quotes > answers 200", 5, "Expected values to be strictly equal: 404 !== 200"),
        ("mocha/12.0.3/dot", "quotes > answers 200", 5, "Expected values to be strictly equal: 404 !== 200"),
        ("playwright/1.65.1/fail", "quotes > answers 200", 5, "Error: expect(received).toBe(expected) // Object.is equality"),
        ("bun-test/1.4.5/fail", "quotes > answers 200", 5, "expect(received).toBe(expected)"),
        ("deno-test/2.9.6/fail", "answers 200", 3, "Uncaught Error: 404 is not 200"),
    ] {
        let failures = interpret(&format!("{path}.txt")).test_results.expect("a report").failures;
        let [failure] = failures.as_slice() else { panic!("{path}: {failures:?}") };
        assert_eq!((failure.test_name.as_str(), failure.line, failure.error.as_str()), (name, Some(line), error), "{path}");
        assert!(failure.test_file.as_deref().is_some_and(|file| !file.starts_with('/')), "{path}: {:?}", failure.test_file);
        assert!(!failure.stack.as_deref().unwrap_or_default().contains('\u{1b}'), "{path}");
    }
}

#[test]
fn a_flaky_test_is_not_passed_unless_the_check_has_retries() {
    for (path, tool, command, error) in [
        ("mocha/12.0.3/flaky.txt", Tool::Mocha, "mocha --retries 2", "Expected values to be strictly equal: 1 !== 2"),
        (
            "playwright/1.65.1/flaky.txt",
            Tool::Playwright,
            "playwright test --retries=1",
            "Error: expect(received).toBe(expected) // Object.is equality",
        ),
    ] {
        let seen = interpret(path);
        assert_eq!(seen.category, CategoryCode::TestsFailed, "{path}: {}", seen.reason);
        assert!(seen.reason.contains("wavers: ") && seen.reason.contains("`retries = 1`"), "{path}: {}", seen.reason);
        let results = seen.test_results.expect("a report");
        assert_eq!((results.counts.passed, results.counts.failed, results.further.reruns), (1, 1, 1), "{path}");
        let [failure] = results.failures.as_slice() else { panic!("{path}: {:?}", results.failures) };
        assert_eq!((failure.test_name.as_str(), failure.line, failure.error.as_str()), ("wavers", Some(3), error), "{path}");

        let mut accepting = Returned::exited(tool, command, 0);
        accepting.action.retry_attempts = 1;
        accepting.report = ToolReport::Fresh(read(path).report.expect("a report").into_bytes());
        let seen = accepting.interpret();
        assert_eq!(seen.category, CategoryCode::TestsPassed, "{path}");
        assert_eq!(seen.reason, "2 passed (1 of them flaky), 0 failed, 0 skipped", "{path}");
        assert_eq!(seen.warnings, ["1 test(s) passed only when they were tried again"], "{path}");
    }
}

#[test]
fn a_failure_beside_a_flaky_test_is_no_exit_code_0() {
    let report = r#"{"results":{"summary":{"tests":2,"passed":1,"failed":1},"tests":[{"name":"a","status":"passed","flaky":true},
        {"name":"b","status":"failed","message":"no"}]}}"#;
    for (code, expected) in [(0, CategoryCode::Inconsistent), (1, CategoryCode::TestsFailed)] {
        let mut seen = Returned::exited(Tool::Playwright, "playwright test", code);
        seen.report = ToolReport::Fresh(report.as_bytes().to_vec());
        let seen = seen.interpret();
        assert_eq!(seen.category, expected, "{}", seen.reason);
        assert_eq!(seen.test_results.map(|results| results.counts.failed), Some(2), "{}", seen.reason);
    }
}

#[test]
fn each_runner_is_asked_and_a_report_of_its_own_is_kept() {
    const INSTALLED: &str = "--require=/out/mocha-report.cjs";
    for (tool, command, expected, report) in [
        (Tool::Mocha, "npx mocha --ui tdd", format!("npx mocha --ui tdd {INSTALLED}"), "report.json"),
        (Tool::Mocha, "mocha -- a.js", format!("mocha {INSTALLED} -- a.js"), "report.json"),
        (Tool::Mocha, "npm test", format!("npm test -- {INSTALLED}"), "report.json"),
        (Tool::Mocha, "pnpm run unit", format!("pnpm run unit {INSTALLED}"), "report.json"),
        (Tool::Playwright, "npx playwright test", "npx playwright test".to_owned(), "report.json"),
        (Tool::Playwright, "npm run e2e", "npm run e2e".to_owned(), "report.json"),
        (Tool::BunTest, "bun test", "bun test --reporter=junit --reporter-outfile=/out/report.xml".to_owned(), "report.xml"),
        (Tool::DenoTest, "deno test -A", "deno test -A --junit-path=/out/report.xml".to_owned(), "report.xml"),
        (Tool::DenoTest, "deno task test", "deno task test --junit-path=/out/report.xml".to_owned(), "report.xml"),
        (Tool::Ava, "npx ava", "npx ava --tap".to_owned(), ""),
        (Tool::Ava, "npx ava --tap", "npx ava --tap".to_owned(), ""),
    ] {
        let prepared = prepare(&action(tool, command), Path::new("/out"), None);
        assert_eq!(prepared.argv.join(" "), expected);
        let path = Path::new("/out").join(report);
        assert_eq!(prepared.report.path(), Some(path.as_path()).filter(|_| !report.is_empty()), "{command}");
        let asks_by_variable = prepared.environment.iter().any(|(name, _)| name == "PW_TEST_REPORTER");
        assert_eq!(asks_by_variable, tool == Tool::Playwright, "{command}");
        assert_eq!(prepared.files.len(), usize::from(matches!(tool, Tool::Mocha | Tool::Playwright)), "{command}");
    }
    for (tool, command) in [
        (Tool::BunTest, "bun test --reporter=junit --reporter-outfile=own.xml"),
        (Tool::DenoTest, "deno test --junit-path own.xml"),
    ] {
        let before = action(tool, command);
        let prepared = prepare(&before, Path::new("/out"), None);
        assert_eq!((prepared.argv, prepared.report), (before.command.argv, ReportRequest::Own { path: "own.xml".into() }));
    }
}

#[test]
fn commands_of_the_runners_are_recognised() {
    use CommandForm::{Direct, Wrapped};
    for (command, tool, form) in [
        ("npx mocha", Tool::Mocha, Direct),
        ("node node_modules/mocha/bin/mocha.js --exit", Tool::Mocha, Direct),
        ("sh -c 'mocha; true'", Tool::Generic, Wrapped),
        ("pnpm exec playwright test", Tool::Playwright, Direct),
        ("playwright install", Tool::Generic, Direct),
        ("sh -c 'playwright test; true'", Tool::Playwright, Wrapped),
        ("bun test", Tool::BunTest, Direct),
        ("bun run test", Tool::Generic, Wrapped),
        ("bunx vitest run", Tool::Vitest, Direct),
        ("deno test -A", Tool::DenoTest, Direct),
        ("deno lint", Tool::Generic, Direct),
        ("yarn ava", Tool::Ava, Direct),
    ] {
        let found = recognise(&split_words(command).expect("words"));
        assert_eq!((found.tool, found.form), (tool, form), "{command}");
    }
    assert_eq!(recognise_script("npm run build && mocha 'test/**/*.js'").tool, Tool::Mocha);
}

#[test]
fn scripts_tasks_and_configurations_speak_for_a_runner() {
    let installed = |word: &str| format!("node_modules/.bin/{word}");
    for (program, files, expected) in [
        ("mocha", [("package.json", r#"{"scripts": {"test": "mocha --exit"}}"#)].as_slice(), "./node_modules/.bin/mocha --exit"),
        ("mocha", &[("package.json", r#"{"scripts": {"test": "mocha 'test/**/*.js'"}}"#)], "npm run test"),
        ("mocha", &[(".mocharc.yml", "")], "./node_modules/.bin/mocha"),
        ("playwright", &[("playwright.config.ts", "")], "./node_modules/.bin/playwright test"),
        ("playwright", &[("package.json", r#"{"scripts": {"e2e": "playwright test"}}"#)], "./node_modules/.bin/playwright test"),
        ("ava", &[("package.json", r#"{"ava": {}}"#)], "./node_modules/.bin/ava"),
        ("", &[("package.json", r#"{"scripts": {"test": "bun test --coverage"}}"#)], "bun test --coverage"),
        ("", &[("deno.json", r#"{"tasks": {"test": "deno test -A"}}"#)], "deno test -A"),
        ("", &[("deno.jsonc", r#"{"tasks": {"unit": {"command": "X=1 deno test"}}}"#)], "deno task unit"),
    ] {
        let path = installed(program);
        let found = find_checks(&FakeFiles::of(&[files, &[(path.as_str(), "")]].concat())).found;
        let commands: Vec<String> = found.iter().map(|check| command_text(&check.argv)).collect();
        assert_eq!(commands, [expected], "{files:?}");
    }
    let missing = find_checks(&FakeFiles::of(&[("playwright.config.ts", "")]));
    assert!(missing.found.is_empty() && missing.notes[0].message.contains("npm install --save-dev @playwright/test"));
    let watching = find_checks(&FakeFiles::of(&[("package.json", r#"{"scripts": {"test": "bun test --watch"}}"#)]));
    assert_eq!(watching.found, [], "a script that watches never ends");
    assert_eq!(
        find_checks(&FakeFiles::of(&[("deno.json", "{}")])).found,
        [],
        "a configuration of Deno alone says nothing of tests"
    );
}
