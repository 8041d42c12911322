//! Tests the exports: each form is whole for its readers, nothing red becomes green, and no name of a test acts on a reader.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::json;

use super::{ExportFormat, ExportedRun};
use crate::model::{ActionId, FindingLevel, ResultType, TestOutcome};
use crate::report::{DiagnosticsV2, ExecutionReportV2, TestRecordV1, TestResultsRecordV1, parse};

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
        title: name.to_owned(),
        duration: Some(1500),
        failure_messages: if status.is_failure() { vec![format!("E   {HOSTILE}\nsecond line")] } else { Vec::new() },
        location: None,
    }
}

fn report() -> ExecutionReportV2 {
    parse(REPORT.as_bytes()).expect("the golden report")
}

/// Returns a report of which every check succeeded, and the id of its first check.
fn green() -> (ExecutionReportV2, ActionId) {
    let mut report = report();
    report.step_execution.results.iter_mut().for_each(|check| check.status = Some(ResultType::Success));
    let id = report.step_execution.results[0].action_id.clone();
    (report, id)
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
    let xml = ExportFormat::Junit.write(ExportedRun { report: &report, tests: &tests });
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
            let run = ExportedRun { report: &report, tests: &tests };
            let found = elements(&ExportFormat::Junit.write(run));
            let red = found.get("failure").copied().unwrap_or(0) + found.get("error").copied().unwrap_or(0);
            assert_eq!(red, 1, "{}", status.word());
            assert!(
                ExportFormat::Github.write(run).contains(&format!("::error title={}", report.step_execution.results[0].name))
            );
            assert!(ExportFormat::Markdown.write(run).contains(status.word()));
        }
    }
}

#[test]
fn tests_that_a_record_does_not_list_are_counted() {
    let (report, first) = green();
    let mut tests = record(&first, vec![test("a", TestOutcome::Passed)]);
    let write = |tests: &_| ExportFormat::Junit.write(ExportedRun { report: &report, tests });
    assert!(!write(&tests).contains("testsNotListed"));
    tests.get_mut(&first).expect("it has a record").results.num_total_tests = 91;
    assert!(write(&tests).contains("<property name=\"proctor.testsNotListed\" value=\"90\"/>"));
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
    let commands = ExportFormat::Github.write(ExportedRun { report: &report, tests: &BTreeMap::new() });
    assert!(commands.starts_with("::error ") && commands.contains("TIMEOUT"), "{commands}");
}

#[test]
fn hostile_names_begin_no_command_and_no_markup() {
    let (report, first) = green();
    let tests = record(&first, vec![test(HOSTILE, TestOutcome::Failed)]);
    let run = ExportedRun { report: &report, tests: &tests };
    let commands = ExportFormat::Github.write(run);
    assert!(
        commands
            .lines()
            .all(|line| line.starts_with("::error ") || line.starts_with("::warning ") || line.starts_with("::notice "))
    );
    assert!(commands.contains("%250A%3A%3Aerror%3A%3A"), "{commands}");
    let summary = ExportFormat::Markdown.write(run);
    assert!(!summary.contains("<b>") && !summary.contains("`|"), "{summary}");
    for text in [commands, summary] {
        assert!(!text.contains(['\u{0}', '\u{1b}', '\u{202e}', '\u{9b}']), "{text}");
    }
}
