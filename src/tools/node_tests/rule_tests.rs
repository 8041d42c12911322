//! Tests for reports that no captured output contains, for example reports that contradict themselves.

use crate::model::{CategoryCode, Interpretation, Tool, ToolReport};
use crate::tools::samples::Returned;

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
