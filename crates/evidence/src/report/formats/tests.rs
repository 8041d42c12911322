//! Tests the exports: each form is whole for its readers, nothing red becomes green, and no name of a test acts on a reader.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};

use super::{ExportedRun, export_texts};
use crate::report::{
    DiagnosticsV2, ExecutionReportV2, OutgoingRedactor, SkipReason, TestRecordV1, TestResultsRecordV1, parse, samples,
};
use proctor_model::{ActionId, ExportFormat, FindingLevel, OverallResult, ResultType, TestFailure, TestOutcome};

const REPORT: &str = include_str!("../golden/execution-report.json");
/// A name with everything that XML, a workflow command, Markdown or a terminal acts on.
const HOSTILE: &str = "t[<b>&\"'`|*_%0A::error::]\u{0}\u{1b}[31m\u{202e}\u{9b}ä";

fn record(check: &ActionId, tests: Vec<TestRecordV1>) -> BTreeMap<ActionId, TestResultsRecordV1> {
    let record = json!({
        "schema": "proctor-test-results-v1", "runId": "exec-20260304T093000.120Z-000042", "actionId": check, "type": "TERMINAL_COMMAND",
        "testFramework": "pytest", "coverage": null,
        "execution": {"startTime": "2026-03-04T09:30:00.120Z", "endTime": "2026-03-04T09:30:00.120Z", "duration": 1, "exitCode": 1,
                      "signal": null, "killed": false},
        "results": {"numTotalTests": 0, "numPassedTests": 0, "numFailedTests": 0, "numPendingTests": 0, "testResults": []},
        "authenticity": {"capturedBy": "proctor", "timestamp": "2026-03-04T09:30:00.120Z", "outputHash": "0".repeat(64)},
    });
    let mut record: TestResultsRecordV1 = serde_json::from_value(record).expect("it is a record");
    record.results.test_results = tests;
    BTreeMap::from([(check.clone(), record)])
}

fn test(name: &str, status: TestOutcome) -> TestRecordV1 {
    TestRecordV1 {
        ancestor_titles: vec!["tests.test_a".to_owned()],
        full_name: name.to_owned(),
        report_name: None,
        status,
        expected_to_fail: false,
        title: name.to_owned(),
        duration: Some(1500),
        duration_us: None,
        failure_messages: if status.is_failure() { vec![format!("E   {HOSTILE}\nsecond line")] } else { Vec::new() },
        location: None,
        body: None,
        test_file: None,
    }
}

fn write(format: ExportFormat, report: &ExecutionReportV2, tests: &BTreeMap<ActionId, TestResultsRecordV1>) -> String {
    let redactor = OutgoingRedactor::default();
    export_texts(ExportedRun { report, tests, redactor: &redactor, below: None }, &[format], &String::new).remove(0)
}

/// Returns the formats that are made of the report alone. The page is made elsewhere, from the same report.
fn text_formats() -> Vec<ExportFormat> {
    ExportFormat::ALL.into_iter().filter(|format| *format != ExportFormat::Html).collect()
}

fn report() -> ExecutionReportV2 {
    parse(REPORT.as_bytes()).expect("the golden report")
}

/// Returns a report of which every check succeeded, and the id of its first check.
fn green() -> (ExecutionReportV2, ActionId) {
    let mut report = report();
    report.step_execution.results.iter_mut().for_each(|check| check.status = Some(ResultType::Success));
    report.validation_criteria_evaluation.overall_result = Some(OverallResult::Passed);
    let id = report.step_execution.results[0].action_id.clone();
    (report, id)
}

#[test]
fn every_format_says_what_part_of_the_checks_a_partial_run_is_about() {
    let (mut report, _) = green();
    report.step_execution.results.iter_mut().for_each(|check| (check.skip_reason, check.reused) = (None, None));
    let whole = report.clone();
    let all = report.step_execution.results.len();
    let last = report.step_execution.results.last_mut().expect("it has checks");
    (last.status, last.skip_reason) = (None, Some(SkipReason::NotSelected));
    let part = format!("{} of {all} checks", all - 1);
    for format in text_formats() {
        let text = write(format, &report, &BTreeMap::new());
        assert!(text.contains(&part), "{part} in {text}");
        let first = [(ExportFormat::Markdown, "## PASSED · "), (ExportFormat::Github, "::PASSED · ")];
        let head = first.iter().find(|(of, _)| *of == format).map_or_else(|| part.clone(), |(_, head)| format!("{head}{part}"));
        assert!(text.contains(&head), "{head} in {text}");
        // The reason of the golden report counts what blocks.
        let text = write(format, &whole, &BTreeMap::new()).replace(&format!("{all} checks block"), "");
        assert!(!text.contains(&format!(" of {all} checks")), "{text}");
    }
}

#[test]
fn the_reason_of_a_skip_stays() {
    let (report, check) = green();
    let mut skipped = test("slow", TestOutcome::Skipped);
    skipped.failure_messages = vec!["needs a disk".to_owned()];
    let xml = write(ExportFormat::Junit, &report, &record(&check, vec![skipped]));
    assert!(xml.contains("<skipped message=\"needs a disk\"/>"), "{xml}");
    let expected = TestRecordV1 { expected_to_fail: true, ..test("later", TestOutcome::Skipped) };
    let tests = record(&check, vec![expected, test("slow", TestOutcome::Skipped)]);
    let xml = write(ExportFormat::Junit, &report, &tests);
    assert!(xml.contains("<skipped type=\"xfail\" message=\"\"/>") && xml.contains("<skipped message=\"\"/>"), "{xml}");
    let ctrf: serde_json::Value = serde_json::from_str(&write(ExportFormat::Ctrf, &report, &tests)).expect("JSON");
    let words = ctrf["results"]["tests"].as_array().expect("a list").iter().filter(|test| test["status"] == "skipped");
    let words: Vec<&serde_json::Value> = words.map(|test| &test["rawStatus"]).filter(|word| *word != "SKIPPED").collect();
    assert_eq!(words, ["xfailed", "skipped"], "{ctrf:#}");
}

/// Reads a document as another program would, and returns how often each element begins.
fn elements(xml: &str) -> BTreeMap<String, usize> {
    let mut reader = Reader::from_str(xml);
    let mut counts = BTreeMap::new();
    loop {
        match reader.read_event().expect("it is well-formed") {
            Event::Eof => return counts,
            Event::Start(tag) | Event::Empty(tag) => {
                for attribute in tag.attributes() {
                    attribute.expect("an attribute is whole");
                }
                *counts.entry(tag.name().as_ref().to_owned()).or_default() += 1;
            }
            Event::End(_)
            | Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::GeneralRef(_) => {}
        }
    }
}

#[test]
fn junit_has_a_suite_for_each_check_and_a_case_for_each_test() {
    let (report, first) = green();
    let tests = record(
        &first,
        vec![
            test("a", TestOutcome::Passed),
            test(HOSTILE, TestOutcome::Failed),
            test("c", TestOutcome::Error),
            test("d", TestOutcome::Skipped),
        ],
    );
    let xml = write(ExportFormat::Junit, &report, &tests);
    let found = elements(&xml);
    let checks = report.step_execution.results.len();
    assert_eq!(found["testsuite"], checks);
    assert_eq!(found["testcase"], 4 + checks - 1, "{xml}");
    assert_eq!((found["failure"], found["error"], found["skipped"]), (1, 1, 1));
    assert!(xml.contains("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\"") && xml.contains("time=\"1.500\""), "{xml}");
    assert!(!xml.contains(['\u{0}', '\u{1b}', '\u{202e}', '\u{9b}']), "{xml}");
}

#[test]
fn a_check_that_did_not_succeed_is_green_in_no_format() {
    for status in ResultType::ALL.into_iter().filter(|status| *status != ResultType::Success) {
        let (mut report, first) = green();
        report.step_execution.results[0].status = Some(status);
        report.step_execution.results[0].result = None;
        let passed = record(&first, vec![test("a", TestOutcome::Passed)]);
        for tests in [BTreeMap::new(), passed] {
            let written = |format| write(format, &report, &tests);
            let found = elements(&written(ExportFormat::Junit));
            let red = found.get("failure").copied().unwrap_or(0) + found.get("error").copied().unwrap_or(0);
            assert_eq!(red, 1, "{}", status.word());
            assert!(written(ExportFormat::Github).contains(&format!("::error title={}", report.step_execution.results[0].name)));
            assert!(written(ExportFormat::Markdown).contains(status.word()));
            let ctrf: Value = serde_json::from_str(&written(ExportFormat::Ctrf)).expect("it is JSON");
            assert_eq!(ctrf["results"]["summary"]["failed"], 1, "{}", status.word());
            let sarif: Value = serde_json::from_str(&written(ExportFormat::Sarif)).expect("it is JSON");
            assert_eq!(sarif["runs"][0]["results"][0]["level"], "error", "{}", status.word());
        }
    }
}

#[test]
fn a_failure_that_the_policy_allows_is_a_warning_in_every_format() {
    let (mut report, first) = green();
    let check = &mut report.step_execution.results[0];
    (check.status, check.blocking) = (Some(ResultType::ValidationFailure), Some(false));
    let failing = record(&first, vec![test("a", TestOutcome::Passed), test("b", TestOutcome::Failed)]);
    for tests in [BTreeMap::new(), failing] {
        let junit = write(ExportFormat::Junit, &report, &tests);
        let found = elements(&junit);
        assert_eq!((found.get("failure"), found.get("error")), (None, None), "{junit}");
        assert!(junit.contains("failures=\"0\" errors=\"0\" skipped=\"0\""), "{junit}");
        assert!(junit.contains("<system-out>warning (not blocking): "), "{junit}");
        let ctrf: Value = serde_json::from_str(&write(ExportFormat::Ctrf, &report, &tests)).expect("it is JSON");
        assert_eq!((&ctrf["results"]["summary"]["failed"], &ctrf["results"]["summary"]["other"]), (&json!(0), &json!(1)));
        let markdown = write(ExportFormat::Markdown, &report, &tests);
        assert!(markdown.contains("| warned |") && !markdown.contains("VALIDATION"), "{markdown}");
        assert!(!write(ExportFormat::Github, &report, &tests).contains("::error "));
        let sarif: Value = serde_json::from_str(&write(ExportFormat::Sarif, &report, &tests)).expect("it is JSON");
        let of_check = sarif["runs"][0]["results"].as_array().expect("a list").iter();
        assert!(of_check.clone().any(|result| result["level"] == "warning"), "{sarif}");
        assert!(of_check.clone().all(|result| result["level"] != "error" || result["ruleId"] != "test-failure"), "{sarif}");
    }
    // The same failure is red where it blocks.
    report.step_execution.results[0].blocking = Some(true);
    assert_eq!(elements(&write(ExportFormat::Junit, &report, &BTreeMap::new()))["failure"], 1);
}

/// As after `pytest.exit` in the middle of the tests: the failed test is no reason for the end.
#[test]
fn a_check_that_was_cut_short_is_an_error_also_beside_a_failed_test() {
    let why = "the report is incomplete";
    let (mut report, first) = green();
    let check = &mut report.step_execution.results[0];
    check.status = Some(ResultType::ExecutionError);
    check.result = None;
    check.classification.as_mut().expect("the golden report has a reason").reason = why.to_owned();
    let tests = record(&first, vec![test("a", TestOutcome::Passed), test("b", TestOutcome::Failed)]);
    for format in text_formats() {
        let text = write(format, &report, &tests);
        assert!(text.contains(why), "{}: {text}", format.file_name());
    }
    let found = elements(&write(ExportFormat::Junit, &report, &tests));
    assert_eq!((found["failure"], found["error"]), (1, 1));
    let ctrf: Value = serde_json::from_str(&write(ExportFormat::Ctrf, &report, &tests)).expect("it is JSON");
    assert_eq!(ctrf["results"]["summary"]["failed"], 2);
    assert!(write(ExportFormat::Github, &report, &tests).starts_with("::error title="), "it is the first annotation");
    // Failed tests alone explain a check whose tests failed.
    report.step_execution.results[0].status = Some(ResultType::TestFailure);
    assert_eq!(elements(&write(ExportFormat::Junit, &report, &tests)).get("error"), None);
}

#[test]
fn a_failed_test_is_told_by_its_error_and_not_by_a_line_of_source() {
    let traceback = "\ndef test_b():\n>       assert total() == 6\nE       assert 7 == 6\nE        +  where 7 = total()\n";
    let (mut report, first) = green();
    report.step_execution.results[0].status = Some(ResultType::TestFailure);
    let failed = TestRecordV1 { failure_messages: vec![traceback.to_owned()], ..test("b", TestOutcome::Failed) };
    let named = TestRecordV1 { full_name: "two\nlines".to_owned(), ..failed.clone() };
    let other = TestRecordV1 { failure_messages: vec!["boom\nat x".to_owned()], ..test("c", TestOutcome::Failed) };
    let tests = record(&first, vec![failed, named, other]);
    let written = |report: &_, format| write(format, report, &tests);
    let commands = written(&report, ExportFormat::Github);
    assert!(
        commands.contains("::assert 7 == 6\n") && commands.contains("::boom\n") && !commands.contains("::def "),
        "{commands}"
    );
    assert!(written(&report, ExportFormat::Junit).contains("<failure message=\"assert 7 == 6\""));
    assert!(written(&report, ExportFormat::Ctrf).contains("\"message\": \"assert 7 == 6\""));
    assert!(written(&report, ExportFormat::Sarif).contains("b: assert 7 == 6"));
    let summary = written(&report, ExportFormat::Markdown);
    assert!(summary.contains("- two lines&#58; assert 7 == 6\n"), "a name with two lines keeps its message: {summary}");
    // What the report says is the error comes before what the traceback marks.
    let results = report.step_execution.results[0].result.as_mut().and_then(|result| result.test_results.as_mut());
    let known = TestFailure { test_name: "b".to_owned(), error: "AssertionError: six".to_owned(), ..TestFailure::default() };
    results.expect("the golden report has tests").failures = vec![known];
    assert!(written(&report, ExportFormat::Github).contains("::AssertionError: six\n"));
}

#[test]
fn a_duration_below_a_millisecond_is_kept_where_it_is_known() {
    let (report, first) = green();
    let mut quick = test("a", TestOutcome::Passed);
    (quick.duration, quick.duration_us) = (Some(0), Some(420));
    let xml = write(ExportFormat::Junit, &report, &record(&first, vec![quick]));
    assert!(xml.contains("name=\"a\" time=\"0.000420\"/>"), "{xml}");
}

#[test]
fn tests_that_a_record_does_not_list_are_counted() {
    let (report, first) = green();
    let mut tests = record(&first, vec![test("a", TestOutcome::Passed)]);
    let junit = |tests: &_| write(ExportFormat::Junit, &report, tests);
    assert!(!junit(&tests).contains("testsNotListed"));
    tests.get_mut(&first).expect("it has a record").results.num_total_tests = 91;
    assert!(junit(&tests).contains("<property name=\"proctor.testsNotListed\" value=\"90\"/>"));
}

#[test]
fn warnings_alone_are_no_annotation_of_a_check_that_did_not_succeed() {
    let warnings = report().step_execution.results.into_iter().filter_map(|check| check.result).find(|result| {
        let findings = result.diagnostics.findings();
        !findings.is_empty()
    });
    let mut result = warnings.expect("the golden report has findings");
    let DiagnosticsV2::Findings(findings) = &mut result.diagnostics else { panic!("it has findings") };
    findings.iter_mut().for_each(|finding| finding.severity = FindingLevel::Warning);
    let (mut report, _) = green();
    report.step_execution.results[0].result = Some(result);
    report.step_execution.results[0].status = Some(ResultType::Timeout);
    let commands = write(ExportFormat::Github, &report, &BTreeMap::new());
    assert!(commands.starts_with("::error ") && commands.contains("TIMEOUT"), "{commands}");
}

#[test]
fn hostile_names_begin_no_command_and_no_markup() {
    let (report, first) = green();
    let tests = record(&first, vec![test(HOSTILE, TestOutcome::Failed)]);
    let commands = write(ExportFormat::Github, &report, &tests);
    assert!(
        commands
            .lines()
            .all(|line| line.starts_with("::error ") || line.starts_with("::warning ") || line.starts_with("::notice "))
    );
    assert!(commands.contains("%250A%3A%3Aerror%3A%3A"), "{commands}");
    let summary = write(ExportFormat::Markdown, &report, &tests);
    assert!(!summary.contains("<b>") && !summary.contains("`|"), "{summary}");
    for text in [commands, summary] {
        assert!(!text.contains(['\u{0}', '\u{1b}', '\u{202e}', '\u{9b}']), "{text}");
    }
}

#[test]
fn a_verdict_that_no_check_explains_is_a_failure_in_every_format() {
    for result in [Some(OverallResult::Failed), None] {
        let (mut report, _) = green();
        report.validation_criteria_evaluation.overall_result = result;
        report.validation_criteria_evaluation.reason = "a condition is not met".to_owned();
        for format in text_formats() {
            let text = write(format, &report, &BTreeMap::new());
            assert!(text.contains("a condition is not met"), "{}: {text}", format.file_name());
        }
        assert_eq!(elements(&write(ExportFormat::Junit, &report, &BTreeMap::new()))["error"], 1);
        assert!(write(ExportFormat::Github, &report, &BTreeMap::new()).contains("::error title=proctor::"));
    }
}

#[test]
fn a_prerequisite_that_failed_is_in_every_format_and_its_checks_are_not_green() {
    let (mut report, _) = green();
    report.validation_criteria_evaluation.overall_result = Some(OverallResult::Failed);
    report.step_execution.results.iter_mut().for_each(|check| check.status = None);
    let mut failed = report.step_execution.results[0].clone();
    failed.action_id = ActionId::numbered("PREREQ", 1);
    failed.name = "install".to_owned();
    failed.status = Some(ResultType::PrerequisiteFailure);
    report.prerequisite_execution.results = vec![failed];
    for format in text_formats() {
        let text = write(format, &report, &BTreeMap::new());
        assert!(text.contains("install"), "{}: {text}", format.file_name());
    }
    let found = elements(&write(ExportFormat::Junit, &report, &BTreeMap::new()));
    assert_eq!((found["error"], found["skipped"]), (1, report.step_execution.results.len()));
}

#[test]
fn findings_are_results_with_rules_and_relative_places() {
    let (mut report, first) = green();
    let mut failed = test("tests/test_a.py::test_b", TestOutcome::Failed);
    failed.location = Some(crate::report::TestLocationV1 { file: "tests/test a.py".to_owned(), line: Some(7) });
    report.step_execution.results[0].status = Some(ResultType::TestFailure);
    let sarif: Value =
        serde_json::from_str(&write(ExportFormat::Sarif, &report, &record(&first, vec![failed]))).expect("it is JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("test-failure"), &json!("error")));
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"], json!({"uri": "tests/test%20a.py", "uriBaseId": "SRCROOT"}));
    assert_eq!(place["region"], json!({"startLine": 7}));
    let lint = &sarif["runs"][2];
    assert_eq!(lint["tool"]["driver"]["rules"], json!([{"id": "no-console"}]));
    assert_eq!((&lint["results"][0]["ruleIndex"], &lint["results"][0]["level"]), (&json!(0), &json!("warning")));
    assert_eq!(lint["invocations"][0]["executionSuccessful"], true);
}

/// Returns the places of all texts in a document, as JSON pointers.
fn texts(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::String(_) => vec![path.to_owned()],
        Value::Array(list) => list.iter().enumerate().flat_map(|(at, value)| texts(value, &format!("{path}/{at}"))).collect(),
        Value::Object(map) => map.iter().flat_map(|(key, value)| texts(value, &format!("{path}/{key}"))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Puts a text into every place of a document that takes any text.
fn filled<Document: serde::Serialize + serde::de::DeserializeOwned>(document: &Document, text: &str) -> Document {
    let mut value = serde_json::to_value(document).expect("it is JSON");
    let mut count = 0;
    for place in texts(&value, "") {
        let slot = value.pointer_mut(&place).expect("it was just found");
        let before = std::mem::replace(slot, json!(text));
        if serde_json::from_value::<Document>(value.clone()).is_ok() {
            count += 1;
        } else {
            *value.pointer_mut(&place).expect("it was just found") = before;
        }
    }
    assert!(count > 5, "only {count} places take a text");
    serde_json::from_value(value).expect("each change was tried")
}

#[test]
fn no_format_names_the_machine_or_its_user_whatever_field_says_it() {
    let redactor = OutgoingRedactor::new(Some("/srv/people/ada7"), &["ada7"], "forge12.example.org").in_project("/srv/shop");
    let marker = format!("/srv/shop/a.py:3: /opt/acme/secret-plan\non forge12 by ada7 ghp_{}", "a1".repeat(18));
    let (_, first) = green();
    let mut failed = test("t", TestOutcome::Failed);
    failed.location = Some(crate::report::TestLocationV1 { file: "a.py".to_owned(), line: Some(7) });
    let tests: BTreeMap<_, _> =
        record(&first, vec![failed]).into_iter().map(|(check, tests)| (check, filled(&tests, &marker))).collect();
    // The golden report, and one with a failed prerequisite and other findings.
    for report in [report(), crate::report::build(&samples::mixed_run())] {
        let report = filled(&report, &marker);
        let run = ExportedRun { report: &report, tests: &tests, redactor: &redactor, below: None };
        let formats = text_formats();
        for (format, text) in formats.iter().zip(export_texts(run, &formats, &String::new)) {
            for telling in ["/srv/", "acme", "secret-plan", "forge12", "ada7", "a1a1a1"] {
                assert!(!text.contains(telling), "{}: `{telling}` in {text}", format.file_name());
            }
            assert!(text.contains("redacted"), "{}", format.file_name());
        }
    }
}

#[test]
fn paths_are_told_from_the_directory_that_the_reader_knows() {
    let (mut report, first) = green();
    report.step_execution.results[0].status = Some(ResultType::TestFailure);
    let mut failed = test("t", TestOutcome::Failed);
    failed.location = Some(crate::report::TestLocationV1 { file: "a.py".to_owned(), line: Some(7) });
    let tests = record(&first, vec![failed]);
    let redactor = OutgoingRedactor::default();
    let run = ExportedRun { report: &report, tests: &tests, redactor: &redactor, below: Some("packages/shop") };
    let commands = export_texts(run, &[ExportFormat::Github], &String::new).remove(0);
    assert!(commands.contains("::error file=packages/shop/a.py,line=7,"), "{commands}");
}
