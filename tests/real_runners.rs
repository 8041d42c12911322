//! Real mocha, Playwright, bun, deno and AVA in complete runs: how they are found, asked for a report and judged.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{Project, runner_modules};

/// One run of a runner: the file of tests and its text, the further words of the command, the category and the passed and failed tests.
type Run<'t> = (&'t str, &'t str, &'t str, &'t str, [u64; 2]);

fn result(report: &Value) -> &Value {
    &report["stepExecution"]["results"][0]
}

/// Returns the program that the package of a platform has, as `npm ci --ignore-scripts` leaves it.
fn program_of_platform(package: &str, names: &[(&str, &str)], program: &str) -> PathBuf {
    let name = names.iter().find(|(architecture, _)| *architecture == std::env::consts::ARCH).expect("a known processor").1;
    runner_modules().join(package).join(name).join(program)
}

fn project(tool: &str, program: &Path, words: &str) -> Project {
    let visible = runner_modules().display().to_string();
    let command = format!("{} {words}", program.display());
    let toml = format!(
        "[sandbox]\nvisible = [\"{visible}\"]\n[[check]]\nname = \"unit\"\ntool = \"{tool}\"\ncommand = \"{}\"\n",
        command.trim()
    );
    let project = Project::new().file("package.json", "{\"name\": \"shop\"}\n").file(".gitignore", "node_modules\n").toml(&toml);
    symlink(runner_modules(), project.path().join("node_modules")).expect("the project is ours");
    project
}

fn expect_runs(tool: &str, program: &Path, runs: &[Run<'_>]) {
    for (file, text, words, category, counts) in runs {
        let project = project(tool, program, words);
        if !file.is_empty() {
            project.save(file, text);
        }
        let output = project.proctor(["run"]);
        let report = if *category == "TESTS_PASSED" { output.success() } else { output.failure() }.report();
        let result = result(&report);
        assert_eq!(result["classification"]["code"], *category, "{tool} {words} {text}: {result:#}");
        if *category == "TESTS_FAILED" {
            let failure = &result["result"]["testResults"]["failures"][0];
            assert_eq!((&failure["testFile"], &failure["line"]), (&json!(file), &json!(3)), "{tool}: {failure:#}");
        }
        let tests = &result["result"]["testResults"];
        let seen = ["passed", "failed"].map(|key| tests[key].as_u64().unwrap_or_default());
        assert_eq!(seen, *counts, "{tool} {words} {text}");
    }
}

#[test]
#[ignore = "wide tier"]
fn mocha_is_found_by_its_script_and_judged_by_its_report() {
    let project = Project::new()
        .file("package.json", r#"{"name": "shop", "scripts": {"test": "mocha 'test/**/*.js'"}}"#)
        .file(".gitignore", "node_modules\n")
        .file("test/a.test.js", "it('adds', () => {});\n");
    symlink(runner_modules(), project.path().join("node_modules")).expect("the project is ours");
    let output = project.proctor(["run"]).success();
    assert_eq!(result(&output.report())["classification"]["code"], "TESTS_PASSED");
    assert!(output.run_directory().join("STEP.1-mocha-report.json").is_file(), "the report is evidence");
    project.save("test/a.test.js", "it('adds', () => {});\nit('answers 200', () => {\n  throw new Error('404');\n});\n");
    let report = project.proctor(["run"]).failure().report();
    let failure = &result(&report)["result"]["testResults"]["failures"][0];
    assert_eq!((&failure["testName"], &failure["line"], &failure["error"]), (&json!("answers 200"), &json!(3), &json!("404")));
    project.save("test/a.test.js", "it('ends', () => process.exit(0));\n");
    let report = project.proctor(["run"]).failure().report();
    assert_eq!(result(&report)["classification"]["code"], "REPORT_MISSING");
}

#[test]
#[ignore = "wide tier"]
fn mocha_is_no_success_where_nothing_ran() {
    let mocha = runner_modules().join(".bin/mocha");
    let fails = "it('adds', () => {});\nit('answers 200', () => {\n  throw new Error('404');\n});\n";
    let runs: &[Run<'_>] = &[
        ("test/a.js", fails, "", "TESTS_FAILED", [1, 1]),
        ("test/a.js", fails, "--parallel", "TESTS_FAILED", [1, 1]),
        ("test/a.js", fails, "--reporter dot", "TESTS_FAILED", [1, 1]),
        ("", "", "", "NO_TESTS_COLLECTED", [0, 0]),
        ("test/a.js", "it.skip('adds', () => {});\n", "", "NO_TESTS_EXECUTED", [0, 0]),
        ("test/a.js", "it('adds', () => {});\n", "--grep zz", "NO_TESTS_COLLECTED", [0, 0]),
        ("test/a.js", "it('adds', () => {});\n", "--dry-run", "USAGE_ERROR", [0, 0]),
        ("test/a.js", fails, "--pass-on-failing-test-suite", "INCONSISTENT", [1, 1]),
    ];
    expect_runs("mocha", &mocha, runs);
}

#[test]
#[ignore = "wide tier"]
fn playwright_is_asked_by_a_variable_and_a_flaky_test_is_not_passed() {
    let playwright = runner_modules().join(".bin/playwright");
    let of = |body: &str| format!("const {{ test, expect }} = require('@playwright/test');\n{body}");
    let fails = of("test('answers 200', () => {\n  expect(404).toBe(200);\n});\n");
    let runs: &[Run<'_>] = &[
        ("a.spec.js", &of("test('adds', () => {});\n"), "test", "TESTS_PASSED", [1, 0]),
        ("a.spec.js", &fails, "test --reporter=dot", "TESTS_FAILED", [0, 1]),
        ("", "", "test --pass-with-no-tests", "NO_TESTS_COLLECTED", [0, 0]),
        ("a.spec.js", &of("test.skip('adds', () => {});\n"), "test", "NO_TESTS_EXECUTED", [0, 0]),
        ("playwright.config.js", "process.exit(0);\n", "test", "REPORT_MISSING", [0, 0]),
    ];
    expect_runs("playwright", &playwright, runs);
    let wavers = of("test('wavers', ({}, info) => { expect(info.retry).toBe(1); });\n");
    let project = project("playwright", &playwright, "test --retries=1").file("a.spec.js", &wavers);
    let report = project.proctor(["run"]).failure().report();
    let tests = &result(&report)["result"]["testResults"];
    assert_eq!((&tests["failures"][0]["testName"], &tests["reruns"]), (&json!("wavers"), &json!(1)), "{tests:#}");
    let toml = std::fs::read_to_string(project.path().join("proctor.toml")).expect("it was written");
    project.save("proctor.toml", &format!("{toml}retries = 1\n"));
    let report = project.proctor(["run"]).success().report();
    let reason = &result(&report)["classification"]["reason"];
    assert_eq!(reason, "1 passed (1 of them flaky), 0 failed, 0 skipped", "{report:#}");
}

#[test]
#[ignore = "wide tier"]
fn bun_is_asked_for_junit_xml() {
    let bun = program_of_platform("@oven", &[("x86_64", "bun-linux-x64"), ("aarch64", "bun-linux-aarch64")], "bin/bun");
    let of = |body: &str| format!("import {{ test, expect }} from 'bun:test';\n{body}");
    let fails = of("test('answers 200', () => {\n  expect(404).toBe(200);\n});\n");
    let runs: &[Run<'_>] = &[
        ("a.test.js", &of("test('adds', () => {});\n"), "test", "TESTS_PASSED", [1, 0]),
        ("a.test.js", &fails, "test", "TESTS_FAILED", [0, 1]),
        ("", "", "test --pass-with-no-tests", "NO_TESTS_COLLECTED", [0, 0]),
        ("a.test.js", &of("test.skip('adds', () => {});\n"), "test", "NO_TESTS_EXECUTED", [0, 0]),
        ("a.test.js", &of("test('ends', () => process.exit(0));\n"), "test", "REPORT_MISSING", [0, 0]),
    ];
    expect_runs("bun-test", &bun, runs);
}

#[test]
#[ignore = "wide tier"]
fn deno_is_asked_for_junit_xml() {
    let deno = program_of_platform("@deno", &[("x86_64", "linux-x64-glibc"), ("aarch64", "linux-arm64-glibc")], "deno");
    let fails = "Deno.test('adds', () => {});\nDeno.test('answers 200', () => {\n  throw new Error('404');\n});\n";
    let runs: &[Run<'_>] = &[
        ("a.test.js", "Deno.test('adds', () => {});\n", "test", "TESTS_PASSED", [1, 0]),
        ("a.test.js", fails, "test", "TESTS_FAILED", [1, 1]),
        ("", "", "test --permit-no-files", "NO_TESTS_COLLECTED", [0, 0]),
        ("a.test.js", "Deno.test('adds', () => {});\n", "test --filter zz", "NO_TESTS_EXECUTED", [0, 0]),
        ("a.test.js", "Deno.exit(0);\n", "test", "REPORT_INCOMPLETE", [0, 0]),
    ];
    expect_runs("deno-test", &deno, runs);
}

#[test]
#[ignore = "wide tier"]
fn ava_is_asked_for_tap_on_standard_output() {
    let ava = runner_modules().join(".bin/ava");
    let of = |body: &str| format!("const test = require('ava');\n{body}");
    let runs: &[Run<'_>] = &[
        ("a.test.js", &of("test('adds', t => t.pass());\n"), "", "TESTS_PASSED", [1, 0]),
        ("", "", "", "NO_TESTS_COLLECTED", [0, 0]),
        ("a.test.js", &of("test.skip('adds', t => t.pass());\n"), "", "NO_TESTS_EXECUTED", [0, 0]),
        ("a.test.js", &of("test('adds', t => t.pass());\n"), "--match zz", "NO_TESTS_COLLECTED", [0, 0]),
        ("ava.config.cjs", "process.exit(0);\n", "", "REPORT_MISSING", [0, 0]),
    ];
    expect_runs("ava", &ava, runs);
    let fails = of("test('answers 200', t => t.is(404, 200));\n");
    let report = project("ava", &ava, "").file("a.test.js", &fails).proctor(["run"]).failure().report();
    assert_eq!(result(&report)["result"]["testResults"]["failures"][0]["testName"], "answers 200");
}
