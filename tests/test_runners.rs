//! Tests real runs of `node --test` and Cargo's tests on a snapshot: they are found without a configuration, and judged by what their
//! tests did. Where a tool is not installed, its test ends
//! without having tested anything.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Value, json};

use crate::common::{Output, Project};

const MANIFEST: &str = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

/// Returns a program of the `PATH`; `None` if there is none.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Returns the category code of the first check, and the result of its tests.
fn outcome(output: &Output) -> (Value, Value) {
    let result = &output.report()["stepExecution"]["results"][0];
    (result["classification"]["code"].clone(), result["result"]["testResults"].clone())
}

#[track_caller]
fn expect_counts(output: &Output, code: &str, passed: u64, failed: u64) -> Value {
    let (found, tests) = outcome(output);
    assert_eq!((&found, &tests["passed"], &tests["failed"]), (&json!(code), &json!(passed), &json!(failed)), "{}", output.stdout);
    tests
}

#[test]
fn node_test_is_found_by_its_script_and_judged_by_its_tests() {
    if installed("node").is_none() {
        return;
    }
    let project = Project::new().file("package.json", r#"{"name": "shop", "scripts": {"test": "node --test"}}"#);
    let adds = "const { test, describe, it } = require('node:test');\nconst assert = require('node:assert');\n\
         test('adds', () => { assert.strictEqual(1 + 1, 2); });\n";
    project.save("a.test.js", adds);
    let output = project.proctor(["run"]).success();
    expect_counts(&output, "TESTS_PASSED", 1, 0);
    assert!(output.run_directory().join("STEP.1-node-test-report.tap").is_file(), "the report is evidence");
    // The project has a link to its evidence now, and node must not stumble over it.
    let fails = format!("{adds}describe('quotes', () => {{ it('answers', () => {{ assert.strictEqual(404, 200); }}); }});\n");
    project.save("a.test.js", &fails);
    let output = project.proctor(["run"]).failure();
    let tests = expect_counts(&output, "TESTS_FAILED", 1, 1);
    let failure = &tests["failures"][0];
    assert_eq!((&failure["testName"], &failure["testFile"]), (&json!("quotes > answers"), &json!("a.test.js")));
    assert_eq!((&failure["expected"], &failure["received"], &failure["line"]), (&json!("200"), &json!("404"), &json!(4)));
    assert!(
        output.stdout.contains("run it alone: node --test '--test-name-pattern=^quotes( > |$)' a.test.js"),
        "{}",
        output.stdout
    );
    project.save("a.test.js", &format!("{adds}test('ends', () => {{ process.exit(0); }});\n"));
    assert_eq!(outcome(&project.proctor(["run"]).failure()).0, "REPORT_INCOMPLETE", "node ended with exit code 0");
    project.save("b.test.js", adds);
    assert_eq!(outcome(&project.proctor(["run"]).failure()).0, "REPORT_INCOMPLETE", "another file passed");
    // Some tests were told before the process ended: only the reporter knows that others had begun.
    let ends = "test('ends', async () => { await new Promise((done) => setTimeout(done, 30)); process.exit(0); });\n\
         test('never', () => { throw new Error('never told'); });\n";
    project.save("a.test.js", &format!("{adds}{ends}"));
    let output = project.proctor(["run"]).failure();
    assert_eq!(outcome(&output).0, "REPORT_INCOMPLETE", "{}", output.snapshot());
    assert!(output.stdout.contains("`a.test.js` ended before its test `ends` did"), "{}", output.stdout);
    // A file that only helps others has no test to tell.
    project.save("a.test.js", "const { test } = require('node:test');\nexports.named = (name, body) => test(name, body);\n");
    expect_counts(&project.proctor(["run"]).success(), "TESTS_PASSED", 1, 0);
    fs::remove_file(project.path().join("b.test.js")).expect("it was saved");
    project.save("a.test.js", "syntax error\n");
    assert_eq!(outcome(&project.proctor(["run"]).failure()).0, "COLLECTION_ERROR");
    fs::remove_file(project.path().join("a.test.js")).expect("it was saved");
    assert_eq!(outcome(&project.proctor(["run"]).failure()).0, "NO_TESTS_COLLECTED", "node ended with exit code 0");
}

#[test]
fn node_test_behind_a_script_is_judged_by_what_it_prints() {
    if installed("npm").is_none() {
        return;
    }
    let script = r#"{"name": "shop", "scripts": {"test": "NODE_ENV=test node --test test/"}}"#;
    let test =
        "const test = require('node:test');\ntest('adds', () => {});\ntest('fails', () => { throw new Error('boom'); });\n";
    let project = Project::new().file("package.json", script).file("test/a.test.js", test);
    let output = project.proctor(["run"]).failure();
    let tests = expect_counts(&output, "TESTS_FAILED", 1, 1);
    assert_eq!(tests["failures"][0]["testName"], "fails");
}

/// Makes a crate without dependencies, with the toolchain that runs these tests.
fn crate_with(cargo: &Path, tests: &str) -> Project {
    let library = format!(
        "pub fn add(a: i32, b: i32) -> i32 {{\n    a + b\n}}\n\n#[cfg(test)]\nmod tests {{\n    use super::*;\n{tests}}}\n"
    );
    Project::new().with_program(cargo).file(".gitignore", "/target\n").file("Cargo.toml", MANIFEST).file("src/lib.rs", &library)
}

/// Returns the Cargo that builds these tests. The one in the `PATH` may need its user's home.
pub(crate) fn cargo() -> Option<PathBuf> {
    env::var_os("CARGO").map(PathBuf::from).filter(|path| path.is_file()).or_else(|| installed("cargo"))
}

const ADDS: &str = "    #[test]\n    fn adds() { assert_eq!(add(1, 2), 3); }\n";

#[test]
fn cargo_test_is_found_by_its_manifest_and_keeps_its_build_directory_for_itself() {
    let Some(cargo) = cargo() else { return };
    let project = crate_with(&cargo, ADDS);
    let output = project.proctor(["run"]).success();
    expect_counts(&output, "TESTS_PASSED", 1, 0);
    assert!(output.stdout.contains("cargo-test"), "{}", output.stdout);
    assert!(!project.path().join("target").exists(), "the build directory is a cache of the check");
    let library = fs::read_to_string(project.path().join("src/lib.rs")).expect("it was made");
    project.save("src/lib.rs", &library.replace("a + b", "a - b"));
    let output = project.proctor(["run"]).failure();
    let tests = expect_counts(&output, "TESTS_FAILED", 0, 1);
    let failure = &tests["failures"][0];
    assert_eq!(
        (&failure["testName"], &failure["testFile"], &failure["line"]),
        (&json!("tests::adds"), &json!("src/lib.rs"), &json!(9))
    );
    assert!(output.stdout.contains("run it alone: cargo test -- --exact tests::adds"), "{}", output.stdout);
    project.save("src/lib.rs", &library.replace("assert_eq!(add(1, 2), 3)", "std::process::exit(0)"));
    assert_eq!(outcome(&project.proctor(["run"]).failure()).0, "REPORT_INCOMPLETE", "Cargo ended with exit code 0");
    project.save("src/lib.rs", &library.replace("a + b", "a + c"));
    let (code, tests) = outcome(&project.proctor(["run"]).failure());
    assert_eq!((code, &tests["failures"][0]["line"]), (json!("COLLECTION_ERROR"), &json!(2)));
    project.save("src/lib.rs", "pub fn nothing() {}\n");
    assert_eq!(outcome(&project.proctor(["run"]).failure()).0, "NO_TESTS_COLLECTED", "Cargo ended with exit code 0");
}

#[test]
fn nextest_is_judged_by_its_own_lines() {
    let (Some(cargo), Some(nextest)) = (cargo(), installed("cargo-nextest")) else { return };
    let fails = "    #[test]\n    fn adds_wrongly() { assert_eq!(add(2, 2), 5); }\n";
    let toml = "[[check]]\nname = \"tests\"\ncommand = \"cargo nextest run --offline\"\n";
    let project = crate_with(&cargo, &format!("{ADDS}{fails}")).with_program(&nextest).with_program(&cargo).toml(toml);
    let output = project.proctor(["run"]).failure();
    let tests = expect_counts(&output, "TESTS_FAILED", 1, 1);
    assert_eq!(tests["failures"][0]["testName"], "shop tests::adds_wrongly");
    assert!(output.stdout.contains("-- --exact tests::adds_wrongly"), "{}", output.stdout);
    project.save("src/lib.rs", "pub fn nothing() {}\n");
    assert_eq!(outcome(&project.proctor(["run"]).failure()).0, "NO_TESTS_COLLECTED", "nextest ended with exit code 4");
}
