//! What failed in an action, one by one, as the report has it: tests, findings, the last lines of output. Screens and answers for
//! agents are made of this. Pure: nothing is judged anew.
//!
//! Where to look: `cause` finds what failures have in common; `excerpt` shortens what a tool printed; `rerun` makes the command that
//! runs one test alone; `output_ends` has the end of what a command printed.

use std::borrow::Cow;

use crate::report::ActionResultV2;
use crate::report::failed::frames::without_outside_frames;
use proctor_model::{CategoryCode, Diagnostic, FindingLevel, TestFailure, Tool};

mod cause;
mod excerpt;
mod frames;
mod rerun;
mod rerun_options;

pub use cause::FailureCause;
pub use excerpt::{cut_line, readable_output, shortened_output};
pub use rerun::{command_of_tests, command_without_tests, rerun_command};

/// A failed test or a finding of an action, whatever tool it is from.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedFailure<'r> {
    pub source: FailureSource<'r>,
    pub cause: FailureCause,
    /// The failure as a line of its own: place, name and error.
    pub line: String,
    /// The name of the test, or the place of the finding.
    pub name: String,
    /// The first line of the error.
    pub error: String,
    /// The error as the tool printed it; empty if the tool printed no more than the line.
    pub printed: Cow<'r, str>,
}

/// The entry of the report that a failure was made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FailureSource<'r> {
    Test(&'r TestFailure),
    Finding(&'r Diagnostic),
}

/// Returns the failed tests and the findings of an action, in the tool's order. Where errors make the verdict FAILED, warnings are left
/// out.
pub fn reported_failures(result: &ActionResultV2) -> Vec<ReportedFailure<'_>> {
    let Some(outcome) = &result.result else { return Vec::new() };
    let tests = outcome.test_results.as_ref().map(|tests| tests.failures.as_slice()).unwrap_or_default();
    let findings = outcome.diagnostics.findings();
    // Warnings do not block, so they are left out where errors do.
    let errors_only = result.blocking == Some(true) && findings.iter().any(|finding| finding.severity == FindingLevel::Error);
    let findings = findings.iter().filter(|finding| !errors_only || finding.severity == FindingLevel::Error);
    tests.iter().map(of_test).chain(findings.map(of_finding)).collect()
}

/// Returns how many failed tests and errors the report counts but does not list. If it lists none of a kind, that kind counts 0.
pub fn unlisted_failures(result: &ActionResultV2) -> u64 {
    let Some(outcome) = &result.result else { return 0 };
    let tests = outcome.test_results.as_ref().map_or(0, |tests| {
        let listed = tests.failures.len() as u64;
        if listed == 0 { 0 } else { tests.counts.failed.saturating_sub(listed) }
    });
    let findings = outcome.diagnostics.findings();
    let errors = findings.iter().filter(|finding| finding.severity == FindingLevel::Error).count() as u64;
    let counted = outcome.summary.map_or(0, |summary| summary.errors);
    tests + if findings.is_empty() { 0 } else { counted.saturating_sub(errors) }
}

fn of_test(failure: &TestFailure) -> ReportedFailure<'_> {
    let name = &failure.test_name;
    // A test's own name often begins with the file, which then is not named twice.
    let has_file = |file: &String| name.strip_prefix(file).is_some_and(|rest| rest.starts_with("::") || rest.starts_with(' '));
    let named = match (&failure.test_file, failure.line) {
        (Some(file), Some(line)) if has_file(file) => format!("{name}  line {line}"),
        (Some(file), None) if has_file(file) || name == file => name.clone(),
        (Some(file), Some(line)) if name == file => format!("{file}:{line}"),
        (Some(file), Some(line)) => format!("{file}:{line}  {name}"),
        (Some(file), None) => format!("{file}  {name}"),
        (None, _) => name.clone(),
    };
    let error = first_line(&failure.error);
    ReportedFailure {
        source: FailureSource::Test(failure),
        cause: cause::of_test(failure),
        line: format!("{named}  {error}"),
        name: failure.test_name.clone(),
        printed: Cow::Borrowed(failure.stack.as_deref().unwrap_or_default()),
        error,
    }
}

fn of_finding(finding: &Diagnostic) -> ReportedFailure<'_> {
    let mut place = finding.file.clone().unwrap_or_default();
    for number in [finding.line, finding.column].into_iter().map_while(|number| number) {
        place.push_str(&format!(":{number}"));
    }
    let rule = finding.code.as_ref().or(finding.rule_id.as_ref()).cloned();
    let error = first_line(&finding.message);
    let joined = |parts: [&str; 3]| parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
    // The first line of the message stands in the finding's line.
    let further = finding.message.lines().skip(1).map(str::to_owned);
    let source = finding.source.iter().flat_map(|source| source.lines()).map(|line| format!("> {line}"));
    let related = finding.related_information.iter().map(|related| {
        let place = related.file.as_ref().map(|file| related.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")));
        joined([&place.unwrap_or_default(), &first_line(&related.message), ""])
    });
    let printed = further.chain(source).chain(related).collect::<Vec<_>>().join("\n");
    ReportedFailure {
        source: FailureSource::Finding(finding),
        cause: FailureCause { kind: rule.clone().unwrap_or_else(|| error.clone()), place: None },
        line: joined([&place, &rule.unwrap_or_default(), &error]),
        name: place,
        printed: Cow::Owned(printed),
        error,
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

// The beginning and the end of what a failed command printed.

/// Of a failed command's output, at most this many of the first and of the last lines are shown, each with at most
/// [`SHOWN_OUTPUT_WIDTH`] characters. Many tools name the cause first and end with advice.
const FIRST_LINES: usize = 4;
const LAST_LINES: usize = 6;
const SHOWN_OUTPUT_WIDTH: usize = 160;

/// Returns the first and last lines of a command's standard error, with a line that says that some are left out between them. Standard
/// output is taken if standard error has no text, and put before it if that has a line or two: `make` and package managers print the
/// cause there. After a time-out, the stream with the tool's progress comes first: the second stream may have only an old warning.
pub fn output_ends(result: &ActionResultV2) -> Vec<String> {
    let Some(outcome) = &result.result else { return Vec::new() };
    let said = |stream: &Option<String>| stream.clone().filter(|text| !text.trim().is_empty());
    let is_time_out = result.classification.as_ref().is_some_and(|one| one.code == CategoryCode::TimedOut);
    let tool = Tool::ALL.into_iter().find(|tool| tool.report_name() == result.tool);
    let text = if is_time_out && tool.is_some_and(Tool::shows_progress_on_stdout) {
        said(&outcome.stdout).or_else(|| said(&outcome.stderr))
    } else {
        let is_long = |text: &String| text.lines().filter(|line| !line.trim().is_empty()).count() > 2;
        match (said(&outcome.stdout), said(&outcome.stderr)) {
            (Some(stdout), Some(stderr)) if !is_long(&stderr) => Some(format!("{stdout}\n{stderr}")),
            (stdout, stderr) => stderr.or(stdout),
        }
    };
    let Some(text) = text else { return Vec::new() };
    let lines: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let lines = without_outside_frames(&lines);
    let mut shown: Vec<String> = lines.iter().map(|line| line.chars().take(SHOWN_OUTPUT_WIDTH).collect()).collect();
    // A line about one line that is left out would take its place.
    if shown.len() > FIRST_LINES + LAST_LINES + 1 {
        let left_out = shown.len() - FIRST_LINES - LAST_LINES;
        shown.splice(FIRST_LINES..FIRST_LINES + left_out, ["… lines are left out".to_owned()]);
    }
    shown
}
