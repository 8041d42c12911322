//! A summary in Markdown. Names and messages come from elsewhere, so every character that Markdown or HTML would act on is written as a
//! reference.

use std::fmt::Write as _;

use crate::report::ActionResultV2;
use crate::report::formats::junit::finding_line;
use crate::report::formats::{OutgoingRun, fails_as_a_whole, failure_texts, failures_of, is_allowed, is_broken, reason};
use proctor_model::{FindingLevel, ResultType, shown_line};

/// At most this many failures of a check are listed.
const LISTED: usize = 20;
/// The most characters of a line.
const LONGEST: usize = 300;

pub(super) fn write(run: &OutgoingRun) -> String {
    let report = &run.report;
    let mut text = format!("## {} · {}\n\n", run.headline(), escape_markdown(run.project()));
    let tree = report.tree.as_ref().map(|tree| format!(" · tree `{}…`", tree.before.0.short())).unwrap_or_default();
    let _never_fails = writeln!(text, "run `{}`{tree}\n", report.authenticity.execution_id);
    if let Some(reason) = run.unexplained() {
        let _never_fails = writeln!(text, "{}\n", escape_markdown(reason));
    }
    text.push_str("| check | result | duration | tests |\n|---|---|---|---|\n");
    for check in run.checks() {
        text.push_str(&row(check));
    }
    for check in run.checks() {
        let lines = failures(run, check);
        if lines.is_empty() {
            continue;
        }
        let _never_fails = writeln!(text, "\n### {}\n", escape_markdown(&check.name));
        for line in lines.iter().take(LISTED) {
            let _never_fails = writeln!(text, "- {}", escape_markdown(line));
        }
        if lines.len() > LISTED {
            let _never_fails = writeln!(text, "- {} more; the report has all", lines.len() - LISTED);
        }
    }
    text
}

fn row(check: &ActionResultV2) -> String {
    let status = match check.status {
        Some(ResultType::Success) => "passed",
        Some(_) if is_allowed(check) => "warned",
        Some(status) => status.word(),
        None => "skipped",
    };
    let flaky = if check.flaky == Some(true) { " (flaky)" } else { "" };
    let reused = if check.reused.is_some() { " (reused)" } else { "" };
    let duration = check.duration.map(|duration| format!("{:.2} s", duration.0 as f64 / 1000.0)).unwrap_or_default();
    let tests = check.result.as_ref().and_then(|result| result.test_results.as_ref()).map(|tests| {
        let (counts, xfailed) = (tests.counts, tests.further.expected_failures);
        let expected = if xfailed > 0 { format!(", {xfailed} xfailed") } else { String::new() };
        let skipped = counts.skipped.saturating_sub(xfailed);
        format!("{} passed, {} failed, {skipped} skipped{expected}", counts.passed, counts.failed)
    });
    format!("| {} | {status}{flaky}{reused} | {duration} | {} |\n", escape_markdown(&check.name), tests.unwrap_or_default())
}

/// Returns a line for each failed test and finding of a check. The reason of the failure comes first where neither a test nor a finding shows
/// it, or where the check could not do its work.
fn failures(run: &OutgoingRun, check: &ActionResultV2) -> Vec<String> {
    let (tests, failures) = (run.tests_of(check), failures_of(check));
    let failed = tests.unwrap_or_default().iter().filter(|test| test.status.is_failure());
    let mut lines: Vec<String> = failed.map(|test| format!("{}: {}", test.full_name, failure_texts(&failures, test).0)).collect();
    let findings = check.result.as_ref().map(|result| result.diagnostics.findings()).unwrap_or_default();
    // If the list is too long, warnings are left out before errors.
    let of = |is_error: bool| findings.iter().filter(move |finding| (finding.severity == FindingLevel::Error) == is_error);
    lines.extend(of(true).chain(of(false)).map(finding_line));
    if (lines.is_empty() || is_broken(check)) && fails_as_a_whole(check, tests) {
        lines.insert(0, reason(check).to_owned());
    }
    lines
}

/// Returns a text as one line that Markdown and HTML show as it is.
fn escape_markdown(text: &str) -> String {
    let line = text.lines().collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(LONGEST).collect();
    let mut plain = String::new();
    for character in shown_line(&cut).chars() {
        if character.is_ascii_punctuation() && !matches!(character, '.' | ',' | '/' | '-' | '(' | ')' | '=' | '\'') {
            let _never_fails = write!(plain, "&#{};", u32::from(character));
        } else {
            plain.push(character);
        }
    }
    plain
}
