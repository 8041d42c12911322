//! Tests for reports that no captured output contains, for example reports that contradict themselves.

use crate::samples::Returned;
use proctor_model::{CategoryCode, Interpretation, Tool, ToolReport};

fn report(total: u64, failed: u64, success: bool, interrupted: bool, statuses: &[&str]) -> String {
    let tests: Vec<String> = statuses
        .iter()
        .enumerate()
        .map(|(number, status)| {
            format!(r#"{{"ancestorTitles":[],"title":"t{number}","status":"{status}","failureMessages":[]}}"#)
        })
        .collect();
    let status = if statuses.contains(&"failed") { "failed" } else { "passed" };
    format!(
        r#"{{"numTotalTests":{total},"numFailedTests":{failed},"success":{success},"wasInterrupted":{interrupted},"testResults":[{{"name":"/project/a.test.js","status":"{status}","message":"","assertionResults":[{}]}}]}}"#,
        tests.join(",")
    )
}

fn ended(code: i32, report: &str) -> Interpretation {
    let report = ToolReport::Fresh(report.as_bytes().to_vec());
    Returned { report, ..Returned::exited(Tool::Jest, "jest", code) }.interpret()
}

fn with_snapshots(success: bool, snapshot: &str) -> String {
    report(1, 0, success, false, &["passed"]).replacen('{', &format!(r#"{{"snapshot":{snapshot},"#), 1)
}

#[test]
fn a_snapshot_that_is_only_written_is_said() {
    let added = with_snapshots(true, r#"{"added":2,"failure":false,"filesAdded":1,"unchecked":0}"#);
    let read = ended(0, &added);
    assert_eq!(read.category, CategoryCode::TestsPassed);
    assert!(read.reason.contains("2 snapshot(s) written and not compared"), "{}", read.reason);
    assert!(read.warnings[0].contains(r#"`writes = ["**/__snapshots__/**"]`"#), "{:?}", read.warnings);
    let mut kept = Returned { report: ToolReport::Fresh(added.into_bytes()), ..Returned::exited(Tool::Vitest, "vitest run", 0) };
    kept.action.writes = vec!["**/__snapshots__/**".to_owned()];
    assert!(kept.interpret().warnings[0].contains("the next run compares with them"));
    assert!(ended(0, &with_snapshots(true, r#"{"added":0}"#)).warnings.is_empty());
}

#[test]
fn what_fails_beside_the_tests_is_named_and_not_the_last_line_of_every_run() {
    let failed = |report: &str, stderr: &str| {
        let report = ToolReport::Fresh(report.as_bytes().to_vec());
        let read = Returned { report, ..Returned::exited(Tool::Jest, "jest --ci", 1) }.saying("", stderr).interpret();
        assert_eq!(read.category, CategoryCode::FailedOutsideTests);
        read.reason
    };
    let obsolete = with_snapshots(false, r#"{"added":0,"failure":true,"unchecked":1}"#);
    let printed =
        "Snapshots:   1 obsolete, 1 passed, 1 total\nRan all test suites.\nTest results written to: ../out/report.json\n";
    assert!(
        failed(&obsolete, printed).contains("1 stored snapshot(s) belong to no test any more"),
        "{}",
        failed(&obsolete, printed)
    );
    let passed = report(1, 0, true, false, &["passed"]);
    let teardown = "Ran all test suites.\nError: Jest: Got error running globalTeardown - /p/td.js, reason: boom\n    at module.exports \
                    (/p/td.js:2:9)\n    at runJest (/p/node_modules/jest.js:374:5)\n";
    assert!(failed(&passed, teardown).contains("globalTeardown - /p/td.js, reason: boom"), "{}", failed(&passed, teardown));
}

#[test]
fn a_test_that_passes_after_a_failure_has_failed() {
    let text = r#"{"numTotalTests":1,"numFailedTests":0,"success":true,"testResults":[{"name":"/project/r.test.ts","status":"passed","assertionResults":[{"ancestorTitles":[],"title":"flaky","status":"passed","failureMessages":["AssertionError: expected 1 to be 2"]}]}]}"#;
    let read = ended(0, text);
    assert_eq!(read.category, CategoryCode::TestsFailed, "{}", read.reason);
    assert_eq!(read.test_results.map(|results| results.further.reruns), Some(1));
}

#[test]
fn a_place_that_cannot_be_written_is_no_fault_of_the_configuration() {
    let printed = "failed to load config from /project/vitest.config.mjs\n\n⎯⎯⎯ Startup Error ⎯⎯⎯\nError: EROFS: read-only file system, mkdir \
                   '/project/node_modules/.vite-temp'\n    at async Object.mkdir (node:internal/fs/promises:856:10)\n";
    let read = Returned::exited(Tool::Vitest, "vitest run", 1).saying("", printed).interpret();
    assert_eq!(read.category, CategoryCode::NotStarted);
    assert!(read.reason.contains("mkdir '/project/node_modules/.vite-temp'"), "{}", read.reason);
}

#[test]
fn a_report_that_the_configuration_sends_elsewhere_is_named() {
    let printed = "JSON report written to /project/o.xml\n";
    let read = Returned::exited(Tool::Vitest, "vitest run", 0).saying(printed, "").interpret();
    assert_eq!(read.category, CategoryCode::ReportMissing);
    assert!(read.reason.contains("wrote its JSON report to `/project/o.xml`"), "{}", read.reason);
}

#[test]
fn report_counts_and_exit_status_must_agree() {
    for (code, text, expected) in [
        (0, report(1, 0, true, false, &["passed"]), CategoryCode::TestsPassed),
        (0, report(2, 0, true, false, &["passed"]), CategoryCode::Inconsistent),
        (0, report(1, 1, true, false, &["passed"]), CategoryCode::Inconsistent),
        (0, report(1, 0, false, false, &["passed"]), CategoryCode::Inconsistent),
        (0, report(1, 1, false, false, &["failed"]), CategoryCode::Inconsistent),
        (0, report(1, 0, true, true, &["passed"]), CategoryCode::ReportIncomplete),
        (0, report(1, 0, true, false, &["skipped"]), CategoryCode::NoTestsExecuted),
        (0, report(0, 0, true, false, &[]), CategoryCode::NoTestsCollected),
        (0, report(1, 0, true, false, &["no status we know"]), CategoryCode::Inconsistent),
        (1, report(1, 0, true, false, &["passed"]), CategoryCode::FailedOutsideTests),
        (1, report(2, 1, false, true, &["failed", "passed"]), CategoryCode::TestsFailed),
        (2, report(1, 0, true, false, &["passed"]), CategoryCode::UnknownExit),
        (0, "[]".to_owned(), CategoryCode::ReportUnreadable),
        (0, String::new(), CategoryCode::ReportUnreadable),
    ] {
        let seen = ended(code, &text);
        assert_eq!(seen.category, expected, "{code} {text}: {}", seen.reason);
    }
}

#[test]
fn a_report_that_was_cut_anywhere_is_refused() {
    let whole = report(2, 0, true, false, &["passed", "skipped"]);
    for cut in 1..whole.len() {
        assert_eq!(ended(0, &whole[..cut]).category, CategoryCode::ReportUnreadable, "{cut}");
    }
}

#[test]
fn c71_printed_words_never_make_a_success() {
    let mut returned = Returned::exited(Tool::Vitest, "vitest run", 0).saying(" Tests  1 passed (1)", "");
    returned.report = ToolReport::Missing;
    assert_eq!(returned.interpret().category, CategoryCode::ReportMissing);
}

#[test]
fn unhandled_errors_that_vitest_was_told_to_ignore_contradict_its_success() {
    let line = "Vitest caught 1 unhandled error during the test run.\nThis might cause false positive tests.\n";
    let report = ToolReport::Fresh(report(1, 0, true, false, &["passed"]).into_bytes());
    let returned = Returned { report, ..Returned::exited(Tool::Vitest, "vitest run", 0) };
    assert_eq!(returned.interpret().category, CategoryCode::TestsPassed);
    let seen = returned.saying("", line).interpret();
    assert_eq!(seen.category, CategoryCode::Inconsistent);
    assert!(seen.reason.contains("1 unhandled error") && seen.reason.contains("1 passed"), "{}", seen.reason);
}
