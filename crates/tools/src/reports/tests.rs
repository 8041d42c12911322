//! Reports of all formats and what they amount to.

use proctor_model::{CategoryCode, Interpretation, ReportFile, ReportFormat, TestOutcome, Tool, ToolReport};

use crate::prepare::{ReportRequest, prepare};
use crate::samples::{Returned, action};
use CategoryCode::{
    Clean, ExpectedExit, FailedOutsideTests, Findings, Inconsistent, NoTestsCollected, NoTestsExecuted, ReportIncomplete,
    ReportMissing, ReportUnreadable, TestsFailed, TestsPassed,
};

fn judged_file(file: &str, format: ReportFormat, code: i32, report: ToolReport) -> Interpretation {
    let tool = if format.has_findings() { Tool::FindingReport } else { Tool::TestReport };
    let mut returned = Returned { report, ..Returned::exited(tool, "./check", code) };
    returned.action.report = Some(ReportFile { file: file.to_owned(), format });
    returned.interpret()
}

fn judged(format: ReportFormat, code: i32, report: &str) -> Interpretation {
    judged_file("out/report", format, code, ToolReport::Fresh(report.as_bytes().to_vec()))
}

fn suite(tests: u64, cases: &str) -> String {
    format!("<?xml version=\"1.0\"?>\n<testsuites><testsuite name=\"s\" tests=\"{tests}\">{cases}</testsuite></testsuites>")
}

fn ctrf(counts: (u64, u64, u64), tests: &str) -> String {
    let (tests_counted, passed, failed) = counts;
    format!(
        "{{\"results\":{{\"tool\":{{\"name\":\"t\"}},\"summary\":{{\"tests\":{tests_counted},\"passed\":{passed},\"failed\":{failed},\
         \"pending\":0,\"skipped\":0,\"other\":0,\"start\":1,\"stop\":2}},\"tests\":[{tests}]}}}}"
    )
}

fn trx(total: u64, outcome: &str, results: &str) -> String {
    format!(
        "<TestRun xmlns=\"http://microsoft.com/schemas/VisualStudio/TeamTest/2010\"><Results>{results}</Results>\
         <ResultSummary outcome=\"{outcome}\"><Counters total=\"{total}\" /></ResultSummary></TestRun>"
    )
}

const PASSED: &str = "<testcase classname=\"a.B\" name=\"one\" time=\"0.5\"/>";
const FAILED: &str = "<testcase classname=\"a.B\" name=\"two\"><failure message=\"1 is not 2\">at b.js:3</failure></testcase>";
const SKIPPED: &str = "<testcase classname=\"a.B\" name=\"three\"><skipped/></testcase>";
const CTRF_PASSED: &str = "{\"name\":\"one\",\"status\":\"passed\",\"duration\":5}";
const CTRF_FAILED: &str = "{\"name\":\"two\",\"status\":\"failed\",\"duration\":5,\"message\":\"1 is not 2\",\"filePath\":\"/project/a.js\",\"line\":3}";
const TRX_PASSED: &str = "<UnitTestResult testName=\"A.One\" outcome=\"Passed\" duration=\"00:00:01.5\"/>";
const TRX_FAILED: &str = "<UnitTestResult testName=\"A.Two\" outcome=\"Failed\"><Output><ErrorInfo><Message>1 is not 2</Message>\
     <StackTrace>at A.Two()</StackTrace></ErrorInfo></Output></UnitTestResult>";

#[test]
fn a_test_that_failed_as_expected_is_told_from_a_skipped_one() {
    let expected = "<testcase classname=\"a.B\" name=\"four\"><skipped type=\"pytest.xfail\" message=\"later\"/></testcase>";
    let seen = judged(ReportFormat::Junit, 0, &suite(3, &format!("{PASSED}{SKIPPED}{expected}")));
    let results = seen.test_results.expect("a report");
    assert_eq!((results.counts.skipped, results.further.expected_failures), (2, 1));
    assert_eq!(seen.cases.iter().map(|case| case.expected_to_fail).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn a_report_of_tests_decides_together_with_the_exit_code() {
    let two = format!("{PASSED}{FAILED}");
    let rows: Vec<(ReportFormat, i32, String, CategoryCode)> = vec![
        (ReportFormat::Junit, 0, suite(1, PASSED), TestsPassed),
        (ReportFormat::Junit, 1, suite(2, &two), TestsFailed),
        (ReportFormat::Junit, 0, suite(2, &two), Inconsistent),
        (ReportFormat::Junit, 1, suite(1, PASSED), FailedOutsideTests),
        (ReportFormat::Junit, 0, suite(1, SKIPPED), NoTestsExecuted),
        (ReportFormat::Junit, 0, suite(0, ""), NoTestsCollected),
        (ReportFormat::Junit, 0, suite(5, PASSED), Inconsistent),
        (ReportFormat::Junit, 0, suite(1, PASSED).replace("</testsuites>", ""), ReportUnreadable),
        (ReportFormat::Junit, 0, suite(1, "<testcase name=\"a\" status=\"notrun\"/>"), NoTestsExecuted),
        (ReportFormat::Junit, 8, suite(1, "<testcase name=\"a\" status=\"fail\"/>"), TestsFailed),
        // PHPUnit counts the tests of inner suites in the outer ones; other writers give no number to the outer one.
        (
            ReportFormat::Junit,
            0,
            format!("<testsuites><testsuite tests=\"1\">{}</testsuite></testsuites>", inner(&suite(1, PASSED))),
            TestsPassed,
        ),
        (
            ReportFormat::Junit,
            0,
            format!("<testsuites><testsuite>{}</testsuite></testsuites>", inner(&suite(1, PASSED))),
            TestsPassed,
        ),
        (ReportFormat::Junit, 0, outside(), Inconsistent),
        (ReportFormat::Junit, 0, suite(1, &format!("{PASSED}<error message=\"set-up\"/>")), Inconsistent),
        (ReportFormat::Junit, 0, suite(1, PASSED).replace("tests=\"1\"", "tests=\"1\" failures=\"1\""), Inconsistent),
        (ReportFormat::Junit, 0, silent(), Inconsistent),
        (ReportFormat::Junit, 0, suite(1, "<testcase name=\"a\" status=\"timeout\"/>"), Inconsistent),
        (ReportFormat::Tap, 0, "1..2\nok 1 - a\nnot ok 2 - closes #skip-link\n".to_owned(), Inconsistent),
        (ReportFormat::Tap, 0, "1..2\nok 1 - a\nnot ok 2 - b # SKIP\n".to_owned(), Inconsistent),
        (ReportFormat::Tap, 0, "1..1\nok 1 - a\n    Bail out! no database\n".to_owned(), ReportIncomplete),
        (ReportFormat::Tap, 0, "1..3\nok 1\nok 3\nok 3\n".to_owned(), Inconsistent),
        (
            ReportFormat::Ctrf,
            0,
            ctrf((2, 1, 0), &format!("{CTRF_PASSED},{{\"name\":\"b\",\"status\":\"other\"}}")),
            ReportIncomplete,
        ),
        (ReportFormat::Trx, 0, trx(1, "Failed", TRX_PASSED), Inconsistent),
        (ReportFormat::Trx, 1, trx(2, "Failed", &rows_of_data()), TestsFailed),
        (ReportFormat::Tap, 0, "TAP version 14\n1..2\nok 1 - one\nok 2 - two # SKIP why\n".to_owned(), TestsPassed),
        (ReportFormat::Tap, 1, "ok 1 one\nnot ok 2 two\n  ---\n  message: 'no'\n  ...\n1..2\n".to_owned(), TestsFailed),
        (ReportFormat::Tap, 0, "ok\nnot ok # todo later\n1..2\n".to_owned(), TestsPassed),
        (ReportFormat::Tap, 0, "1..0 # SKIP nothing here\n".to_owned(), NoTestsCollected),
        (ReportFormat::Tap, 0, "1..2\nok 1 - one\n".to_owned(), ReportIncomplete),
        (ReportFormat::Tap, 0, "ok 1 - one\n".to_owned(), ReportIncomplete),
        (ReportFormat::Tap, 1, "1..2\nok 1 - one\nBail out! no database\n".to_owned(), ReportIncomplete),
        (ReportFormat::Tap, 0, "1..1\nok 1 - a\n1..1\n".to_owned(), ReportUnreadable),
        (ReportFormat::Ctrf, 0, ctrf((1, 1, 0), CTRF_PASSED), TestsPassed),
        (ReportFormat::Ctrf, 1, ctrf((2, 1, 1), &format!("{CTRF_PASSED},{CTRF_FAILED}")), TestsFailed),
        (ReportFormat::Ctrf, 0, ctrf((2, 2, 0), CTRF_PASSED), Inconsistent),
        (ReportFormat::Ctrf, 0, ctrf((0, 0, 0), ""), NoTestsCollected),
        (ReportFormat::Ctrf, 0, ctrf((1, 1, 0), CTRF_PASSED).replace("passed\",\"dur", "fine\",\"dur"), ReportUnreadable),
        (ReportFormat::Ctrf, 0, "{}".to_owned(), ReportUnreadable),
        (ReportFormat::Trx, 0, trx(1, "Completed", TRX_PASSED), TestsPassed),
        (ReportFormat::Trx, 1, trx(2, "Failed", &format!("{TRX_PASSED}{TRX_FAILED}")), TestsFailed),
        (ReportFormat::Trx, 0, trx(1, "Completed", &TRX_PASSED.replace("Passed", "NotExecuted")), NoTestsExecuted),
        (ReportFormat::Trx, 0, trx(3, "Completed", TRX_PASSED), Inconsistent),
        (ReportFormat::Trx, 0, trx(1, "Aborted", TRX_PASSED), ReportIncomplete),
        (ReportFormat::Trx, 0, suite(1, PASSED), ReportUnreadable),
    ];
    for (format, code, report, expected) in rows {
        let seen = judged(format, code, &report);
        assert_eq!(seen.category, expected, "{format:?}: {}\n{report}", seen.reason);
        // The content shows which of the formats of tests it is.
        let shown = judged(ReportFormat::Tests, code, &report);
        let is_torn = expected == ReportUnreadable;
        assert!(is_torn || shown == seen, "{format:?}: {}\n{report}", shown.reason);
    }
}

// What a reader does not know is no success, and what a report says twice must agree.
fn outside() -> String {
    suite(1, PASSED)
        .replace("</testsuites>", "<group><testsuite tests=\"1\"><testcase name=\"b\"/></testsuite></group></testsuites>")
}

fn silent() -> String {
    format!("<testsuites><testsuite>{PASSED}</testsuite><testsuite tests=\"5\"/></testsuites>")
}

fn rows_of_data() -> String {
    let row = "><InnerResults><UnitTestResult outcome=\"Failed\"/></InnerResults></UnitTestResult>";
    TRX_PASSED.replace("/>", row)
}

// Takes the root away from around the suites.
fn inner(report: &str) -> String {
    let from = report.find("<testsuite ").expect("a suite");
    report[from..].replace("</testsuites>", "")
}

#[test]
fn a_test_of_junit_that_passed_only_when_it_was_tried_again_has_failed() {
    let case = r#"<testcase classname="a.B" name="two"><flakyFailure message="1 is not 2">at B</flakyFailure></testcase>"#;
    let seen = judged(ReportFormat::Junit, 0, &suite(2, &format!("{case}<testcase classname=\"a.B\" name=\"one\"/>")));
    let said = "1 of 2 tests failed, and passed only when they were tried again: a.B > two: 1 is not 2; mend";
    assert!(seen.category == CategoryCode::TestsFailed && seen.reason.starts_with(said), "{seen:?}");
}

#[test]
fn a_failed_test_has_its_name_its_place_and_its_message() {
    for (format, report, name, error, file) in [
        (ReportFormat::Junit, suite(1, FAILED), "a.B > two", "1 is not 2", None),
        (ReportFormat::Ctrf, ctrf((1, 0, 1), CTRF_FAILED), "two", "1 is not 2", Some("a.js")),
        (ReportFormat::Trx, trx(1, "Failed", TRX_FAILED), "A.Two", "1 is not 2", None),
        (ReportFormat::Tap, "not ok 1 - two\n# 1 is not 2\n1..1\n".to_owned(), "two", "# 1 is not 2", None),
    ] {
        let seen = judged(format, 1, &report);
        let results = seen.test_results.expect("tests");
        let failure = &results.failures[0];
        assert_eq!((failure.test_name.as_str(), failure.error.as_str()), (name, error), "{format:?}");
        assert_eq!(failure.test_file.as_deref(), file, "{format:?}");
        assert_eq!((seen.cases.len(), seen.cases[0].status), (1, TestOutcome::Failed), "{format:?}");
    }
}

#[test]
fn no_report_and_no_readable_report_prove_nothing() {
    for format in [ReportFormat::Tests, ReportFormat::Junit, ReportFormat::Sarif, ReportFormat::Checkstyle] {
        let missing = judged_file("out/a.xml", format, 0, ToolReport::Missing);
        assert_eq!(missing.category, ReportMissing);
        assert!(missing.reason.contains("no new report `out/a.xml`"), "{}", missing.reason);
        for report in ["", "   ", "hello", "<a", "{", "\u{0}\u{1}", "<!DOCTYPE x [<!ENTITY a \"b\">]><testsuite tests=\"0\"/>"] {
            assert_eq!(judged(format, 0, report).category, ReportUnreadable, "{format:?}: {report}");
        }
        let refused = judged_file("a", format, 0, ToolReport::Refused("it is a link".to_owned()));
        assert!(refused.category == ReportUnreadable && refused.reason.contains("it is a link"));
    }
    let findings = judged(ReportFormat::Tests, 0, "<checkstyle/>");
    assert!(findings.reason.contains("write `format = \"checkstyle\"`"), "{}", findings.reason);
}

#[test]
fn several_files_are_one_report() {
    let part = |report: &str| format!("{}{} out/a b.xml\n{report}", super::FILE_MARK, report.len());
    let seen =
        |code: i32, report: String| judged_file("out/*.xml", ReportFormat::Junit, code, ToolReport::Fresh(report.into_bytes()));
    let both = seen(1, part(&suite(1, PASSED)) + &part(&suite(1, FAILED)));
    assert_eq!((both.category, both.cases.len()), (TestsFailed, 2), "{}", both.reason);
    assert_eq!(seen(0, part(&suite(1, PASSED)) + &part(&suite(0, ""))).category, TestsPassed);
    let torn = seen(0, part(&suite(1, PASSED)) + &part("<testsuite tests=\"1\">"));
    assert!(torn.category == ReportUnreadable && torn.reason.contains("`out/a b.xml`"), "{}", torn.reason);
    // What a file contains cannot pass for the beginning of another one.
    let inside = format!("{}1 x\n", super::FILE_MARK);
    assert_eq!(seen(0, part(&inside)).category, ReportUnreadable);
}

const SARIF_FINDING: &str = "{\"ruleId\":\"r\",\"level\":\"error\",\"message\":{\"text\":\"bad\"},\"locations\":[{\"physicalLocation\":\
     {\"artifactLocation\":{\"uri\":\"file:///project/a.py\"},\"region\":{\"startLine\":3}}}]}";

fn sarif(artifacts: &str, results: &str) -> String {
    format!(
        "{{\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{{\"driver\":{{\"name\":\"t\"}}}},\"artifacts\":[{artifacts}],\"results\":[{results}]}}]}}"
    )
}

#[test]
fn findings_are_for_the_policy_and_a_report_that_names_no_file_is_only_done() {
    let artifact = "{\"location\":{\"uri\":\"a.py\"}}";
    let file = |errors: &str| format!("<checkstyle version=\"8\"><file name=\"/project/a.py\">{errors}</file></checkstyle>");
    let rejected = "\"suppressions\":[{\"kind\":\"inSource\"},{\"status\":\"rejected\"}],\"ruleId\"";
    let error = "<error line=\"3\" severity=\"error\" message=\"bad\" source=\"r\"/>";
    let with = |from: &str, to: &str| SARIF_FINDING.replace(from, to);
    for (format, code, report, expected) in [
        (ReportFormat::Sarif, 0, sarif("", ""), ExpectedExit),
        (ReportFormat::Sarif, 0, sarif(artifact, ""), Clean),
        (ReportFormat::Sarif, 1, sarif("", SARIF_FINDING), Findings),
        (ReportFormat::Sarif, 0, sarif("", SARIF_FINDING), Findings),
        (ReportFormat::Sarif, 1, sarif(artifact, ""), Inconsistent),
        (ReportFormat::Sarif, 0, sarif(artifact, &with("\"error\"", "\"note\"")), Clean),
        (
            ReportFormat::Sarif,
            0,
            sarif(artifact, &with("\"ruleId\"", "\"suppressions\":[{\"kind\":\"inSource\"}],\"ruleId\"")),
            Clean,
        ),
        (ReportFormat::Sarif, 0, sarif(artifact, &with("\"ruleId\"", "\"kind\":\"pass\",\"ruleId\"")), Clean),
        (ReportFormat::Sarif, 0, sarif(artifact, &with("\"ruleId\"", rejected)), Findings),
        (ReportFormat::Sarif, 127, sarif(artifact, &with("\"error\"", "\"warning\"")), Inconsistent),
        (ReportFormat::Sarif, 0, "{\"runs\":[]}".to_owned(), ReportUnreadable),
        (ReportFormat::Checkstyle, 0, file("<exception>NPE</exception>"), ReportIncomplete),
        (ReportFormat::Sarif, 0, "{\"runs\":[{\"tool\":{}}]}".to_owned(), ReportUnreadable),
        (ReportFormat::Checkstyle, 0, "<checkstyle version=\"8\"/>".to_owned(), ExpectedExit),
        (ReportFormat::Checkstyle, 0, file(""), Clean),
        (ReportFormat::Checkstyle, 1, file(error), Findings),
        (ReportFormat::Checkstyle, 0, file("<error severity=\"info\" message=\"m\"/>"), Clean),
    ] {
        let seen = judged(format, code, &report);
        assert_eq!(seen.category, expected, "{format:?}: {}\n{report}", seen.reason);
        if let (Findings, [found]) = (seen.category, &seen.diagnostics[..]) {
            let place = (found.file.as_deref(), found.line, found.rule_id.as_deref(), found.message.as_str());
            assert_eq!(place, (Some("a.py"), Some(3), Some("r"), "bad"));
        }
    }
}

#[test]
fn a_report_is_looked_for_where_the_check_names_it() {
    let asked = |file: &str, directory: &str| {
        let mut action = action(Tool::TestReport, "npx playwright test");
        action.directory = directory.into();
        action.report = Some(ReportFile { file: file.to_owned(), format: ReportFormat::Junit });
        let preparation = prepare(&action, std::path::Path::new("/out"), None);
        assert_eq!(preparation.argv, ["npx", "playwright", "test"]);
        assert_eq!(preparation.environment, [("PROCTOR_OUT".to_owned(), "/out".to_owned())]);
        preparation.report
    };
    assert_eq!(asked("$PROCTOR_OUT/a.xml", ""), ReportRequest::Inherited { path: "/out/a.xml".into() });
    assert_eq!(asked("r/a.xml", ""), ReportRequest::Own { path: "r/a.xml".into() });
    assert_eq!(asked("r/a.xml", "web/app"), ReportRequest::Own { path: "../../r/a.xml".into() });
    assert_eq!(
        asked("t/r/TEST-*.xml", "web"),
        ReportRequest::Several { directory: "t/r".into(), glob: "t/r/TEST-*.xml".to_owned() }
    );
}
