//! JUnit XML. There is no standard; what is written is what Jenkins, GitLab and Allure read: one suite for each check, a test case for each
//! test, and one for a check without a record of tests, such as a linter. A check that could not do its work is an error and never green.
//! What the policy allows is a passed case that has the failure as its output, because a reader of JUnit knows no warnings.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::report::formats::{OutgoingRun, fails_as_a_whole, failure_texts, failures_of, is_allowed, is_error, reason};
use crate::report::{ActionResultV2, TestRecordV1};
use proctor_model::{Diagnostic, ResultType, TestFailure, TestOutcome, has_hidden_characters};

/// The element that has the text of a failure that the policy allows. It does not say that the case failed.
const ALLOWED: &str = "system-out";

/// The type of a skipped case that failed as expected.
const EXPECTED_FAILURE: &str = "xfail";

/// One test case, ready to be written.
struct Case {
    class: String,
    name: String,
    seconds: Option<f64>,
    /// The file and the line of a failure. No standard has these attributes, and many readers know them.
    place: Option<(String, Option<u64>)>,
    /// The element that says that the case did not pass, or that a warning is in its output.
    end: Option<CaseEnd>,
}

struct CaseEnd {
    element: &'static str,
    message: String,
    /// The value of the attribute `type`.
    type_word: String,
    /// The text in the element.
    body: String,
}

pub(super) fn write(run: &OutgoingRun) -> String {
    let suites: Vec<(&ActionResultV2, Vec<Case>)> =
        run.checks().into_iter().map(|check| (check, cases(check, run.tests_of(check)))).collect();
    let of_run = run.unexplained().map(|reason| case_of_run(run, reason));
    let all = || suites.iter().flat_map(|(_, cases)| cases).chain(&of_run);
    let name = run.project();
    let duration = run.report.execution_summary.total_duration.map(|duration| seconds(duration.0));
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _never_fails = writeln!(xml, "<testsuites name=\"{}\"{}{}>", escaped(name), counts(all()), time(duration));
    for (check, cases) in &suites {
        write_suite(&mut xml, run, check, cases);
    }
    if let Some(case) = &of_run {
        let _never_fails = writeln!(xml, "  <testsuite name=\"proctor\"{}>", counts(of_run.iter()));
        write_case(&mut xml, case);
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn write_suite(xml: &mut String, run: &OutgoingRun, check: &ActionResultV2, cases: &[Case]) {
    let duration = check.duration.map(|duration| seconds(duration.0));
    let started = run.report.execution_summary.start_time.to_string();
    let _never_fails = writeln!(
        xml,
        "  <testsuite name=\"{}\"{}{} timestamp=\"{}\">",
        escaped(&check.name),
        counts(cases.iter()),
        time(duration),
        started.trim_end_matches('Z')
    );
    let mut properties = vec![
        ("proctor.run", run.report.authenticity.execution_id.to_string()),
        ("proctor.verdict", run.verdict().to_owned()),
        ("proctor.checks", run.coverage().unwrap_or_else(|| "all".to_owned())),
        ("proctor.check", check.action_id.to_string()),
        ("proctor.tool", check.tool.clone()),
        ("proctor.status", check.status.map_or("SKIPPED", ResultType::word).to_owned()),
    ];
    properties.extend(run.report.tree.as_ref().map(|tree| ("proctor.tree", tree.before.0.hex())));
    properties.extend(check.blocking.map(|blocking| ("proctor.blocking", blocking.to_string())));
    properties.extend(check.reused.as_ref().map(|reused| ("proctor.reusedFrom", reused.run_id.to_string())));
    properties.extend(check.flaky.filter(|flaky| *flaky).map(|_| ("proctor.flaky", "true".to_owned())));
    let not_listed = run.not_listed(check);
    properties.extend((not_listed > 0).then(|| ("proctor.testsNotListed", not_listed.to_string())));
    xml.push_str("    <properties>\n");
    for (name, value) in properties {
        let _never_fails = writeln!(xml, "      <property name=\"{name}\" value=\"{}\"/>", escaped(&value));
    }
    xml.push_str("    </properties>\n");
    cases.iter().for_each(|case| write_case(xml, case));
    if !check.evidence_files.is_empty() {
        // The form in which Jenkins and GitLab recognise files that belong to a suite; the names are those in the run's directory.
        let files: String = check.evidence_files.iter().map(|file| format!("[[ATTACHMENT|{file}]]\n")).collect();
        let _never_fails = writeln!(xml, "    <system-out>{}</system-out>", escaped(files.trim_end()));
    }
    xml.push_str("  </testsuite>\n");
}

fn write_case(xml: &mut String, case: &Case) {
    let line = |line: Option<u64>| line.map(|line| format!(" line=\"{line}\"")).unwrap_or_default();
    let place = case.place.as_ref().map(|(file, number)| format!(" file=\"{}\"{}", escaped(file), line(*number)));
    let (class, name) = (escaped(&case.class), escaped(&case.name));
    let head = format!("<testcase classname=\"{class}\" name=\"{name}\"{}{}", place.unwrap_or_default(), time(case.seconds));
    let _never_fails = match &case.end {
        None => writeln!(xml, "    {head}/>"),
        Some(end) if end.element == ALLOWED => {
            let text = format!("{}\n{}", end.message, end.body);
            writeln!(xml, "    {head}><system-out>{}</system-out></testcase>", escaped(text.trim_end()))
        }
        Some(end) if end.element == "skipped" => {
            let kind = Some(&end.type_word).filter(|kind| !kind.is_empty()).map(|kind| format!(" type=\"{kind}\""));
            writeln!(xml, "    {head}><skipped{} message=\"{}\"/></testcase>", kind.unwrap_or_default(), escaped(&end.message))
        }
        Some(CaseEnd { element, message, type_word, body }) => writeln!(
            xml,
            "    {head}><{element} message=\"{}\" type=\"{}\">{}</{element}></testcase>",
            escaped(message),
            escaped(type_word),
            escaped(body)
        ),
    };
}

fn cases(check: &ActionResultV2, tests: Option<&[TestRecordV1]>) -> Vec<Case> {
    let failures = failures_of(check);
    let mut cases: Vec<Case> = tests.unwrap_or_default().iter().map(|test| case_of_test(&failures, test)).collect();
    if tests.is_none() || fails_as_a_whole(check, tests) {
        cases.push(case_of_check(check));
    }
    if is_allowed(check) {
        cases.iter_mut().filter_map(|case| case.end.as_mut()).filter(|end| end.element != "skipped").for_each(CaseEnd::allow);
    }
    cases
}

impl CaseEnd {
    /// Makes a failure a warning, which says that it is allowed.
    fn allow(&mut self) {
        self.element = ALLOWED;
        self.message = format!("warning (not blocking): {}", self.message);
    }
}

fn case_of_test(failures: &BTreeMap<&str, &TestFailure>, test: &TestRecordV1) -> Case {
    let (message, text) = failure_texts(failures, test);
    let failed =
        |element, kind: &str| Some(CaseEnd { element, message: message.clone(), type_word: kind.to_owned(), body: text.clone() });
    Case {
        class: test.ancestor_titles.join("."),
        name: if test.title.is_empty() { test.full_name.clone() } else { test.title.clone() },
        place: test.location.as_ref().map(|place| (place.file.clone(), place.line)),
        seconds: test.duration_us.map(|duration| duration as f64 / 1e6).or_else(|| test.duration.map(seconds)),
        end: match test.status {
            TestOutcome::Passed => None,
            TestOutcome::Skipped => failed("skipped", if test.expected_to_fail { EXPECTED_FAILURE } else { "" }),
            outcome if is_error(outcome) => failed("error", "error"),
            TestOutcome::Failed | TestOutcome::Error => failed("failure", "failure"),
        },
    }
}

/// Returns the test case for a verdict that no check explains.
fn case_of_run(run: &OutgoingRun, reason: &str) -> Case {
    Case {
        class: "proctor".to_owned(),
        name: "verdict".to_owned(),
        seconds: None,
        place: None,
        end: Some(CaseEnd {
            element: "error",
            message: reason.to_owned(),
            type_word: run.verdict().to_owned(),
            body: reason.to_owned(),
        }),
    }
}

/// Returns the test case that stands for a whole check.
fn case_of_check(check: &ActionResultV2) -> Case {
    let findings = check.result.as_ref().map(|result| result.diagnostics.findings()).unwrap_or_default();
    let text = findings.iter().map(finding_line).collect::<Vec<_>>().join("\n");
    let end = |element, kind: &str| {
        let message = reason(check).to_owned();
        Some(CaseEnd {
            element,
            body: if text.is_empty() { message.clone() } else { text.clone() },
            message,
            type_word: kind.to_owned(),
        })
    };
    Case {
        class: check.action_type.word().to_owned(),
        name: check.name.clone(),
        seconds: check.duration.map(|duration| seconds(duration.0)),
        place: None,
        end: match check.status {
            None => end("skipped", ""),
            Some(ResultType::Success) => None,
            Some(status @ (ResultType::TestFailure | ResultType::ValidationFailure)) => end("failure", status.word()),
            Some(status) => end("error", status.word()),
        },
    }
}

pub(super) fn finding_line(finding: &Diagnostic) -> String {
    let number = |number: Option<u64>| number.map(|number| format!(":{number}")).unwrap_or_default();
    let place = finding.file.as_ref().map(|file| format!("{file}{}{}: ", number(finding.line), number(finding.column)));
    let rule = finding.rule_id.as_ref().or(finding.code.as_ref()).map(|rule| format!(" ({rule})")).unwrap_or_default();
    format!("{}{}{rule}", place.unwrap_or_default(), finding.message)
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}

/// Returns the attribute with a duration, to the millisecond, or to the microsecond where that is known.
fn time(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else { return String::new() };
    let finer = format!("{seconds:.6}");
    let text = finer.strip_suffix("000").unwrap_or(&finer);
    format!(" time=\"{text}\"")
}

fn counts<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for case in cases {
        tests += 1;
        match case.end.as_ref().map(|end| end.element) {
            Some("failure") => failures += 1,
            Some("error") => errors += 1,
            Some(ALLOWED) | None => {}
            Some(_) => skipped += 1,
        }
    }
    format!(" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

/// Escapes a text for XML 1.0. Characters that XML cannot have are replaced; hidden ones are written as references, so that the
/// document can be shown at a terminal.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' | '\r' => {
                let _never_fails = write!(escaped, "&#{};", u32::from(character));
            }
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if has_hidden_characters(character.encode_utf8(&mut [0; 4])) => {
                let _never_fails = write!(escaped, "&#{};", u32::from(character));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}
