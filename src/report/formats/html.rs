//! One HTML file with a run: it opens without a network, asks nobody for anything, and has no script. What failed comes first.
//!
//! Names and messages come from elsewhere, so every text is escaped, hidden characters are shown as escapes, and the document's own
//! policy forbids scripts and requests, also where a reader puts the file on a server.

use std::fmt::{self, Write as _};

use crate::model::{Diagnostic, ResultType, TestFailure, shown_lines};
use crate::report::formats::junit::finding_line;
use crate::report::formats::text_diff::{DiffLine, diff_lines};
use crate::report::formats::{
    OutgoingRun, fails_as_a_whole, failure_texts, failures_of, has_failed, outcome_word, reason, stable_name,
};
use crate::report::{ActionResultV2, TestRecordV1};

const STYLE: &str = include_str!("html.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// The most failed tests and findings of a check that are shown whole. Pages with tens of thousands do not open in a browser.
const SHOWN_FAILURES: usize = 500;
/// The most tests of a check that are listed with a line each.
const SHOWN_TESTS: usize = 5000;
/// The most characters of a failure's text.
const LONGEST_TEXT: usize = 20_000;

pub(super) fn write(run: &OutgoingRun) -> String {
    let title = format!("{} · {}", run.verdict(), escaped(run.project()));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    write_head(&mut page, run);
    page.push_str("<main>\n");
    for check in run.checks() {
        write_failures(&mut page, run, check);
    }
    write_table(&mut page, run);
    for check in run.checks() {
        write_tests(&mut page, run, check);
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn write_head(page: &mut String, run: &OutgoingRun) {
    let report = &run.report;
    let colour = if run.verdict() == "PASSED" { "green" } else { "red" };
    push(page, format_args!("<header>\n<h1><span class=\"{colour}\">{}</span> · {}</h1>\n", run.verdict(), name(run.project())));
    push(page, format_args!("<p>{}</p>\n", name(&report.validation_criteria_evaluation.reason)));
    let summary = &report.execution_summary;
    let duration = summary.total_duration.map(|duration| format!(" · {}", seconds(duration.0))).unwrap_or_default();
    let tree = report.tree.as_ref().map(|tree| format!("<br>tree <code>{}</code>", tree.before.0.hex())).unwrap_or_default();
    push(
        page,
        format_args!(
            "<p class=\"faint\">run <code>{}</code> · task <code>{}</code> · {}{duration}{tree}</p>\n</header>\n",
            report.authenticity.execution_id, report.test_specification.task_id, summary.start_time
        ),
    );
}

/// Writes what failed in a check: its tests, its findings, and the check as a whole where neither says why.
fn write_failures(page: &mut String, run: &OutgoingRun, check: &ActionResultV2) {
    let tests = run.tests_of(check);
    let failed: Vec<&TestRecordV1> = tests.unwrap_or_default().iter().filter(|test| test.status.is_failure()).collect();
    let findings = check.result.as_ref().map(|result| result.diagnostics.findings()).unwrap_or_default();
    let as_a_whole = fails_as_a_whole(check, tests);
    if failed.is_empty() && findings.is_empty() && !as_a_whole {
        return;
    }
    let status = check.status.map_or("SKIPPED", ResultType::word);
    push(page, format_args!("<section>\n<h2>{} · <span class=\"{}\">{status}</span></h2>\n", name(&check.name), colour(check)));
    if has_failed(check) {
        push(page, format_args!("<p>{}</p>\n", name(reason(check))));
    }
    let known = failures_of(check);
    failed.iter().take(SHOWN_FAILURES).for_each(|test| write_failure(page, test, known.get(stable_name(test)).copied()));
    write_more(page, failed.len().saturating_sub(SHOWN_FAILURES));
    if as_a_whole && findings.is_empty() {
        write_files(page, check);
    }
    findings.iter().take(SHOWN_FAILURES).for_each(|finding| write_finding(page, finding));
    write_more(page, findings.len().saturating_sub(SHOWN_FAILURES));
    page.push_str("</section>\n");
}

fn write_failure(page: &mut String, test: &TestRecordV1, failure: Option<&TestFailure>) {
    push(page, format_args!("<article>\n<h3>{}</h3>\n", name(&test.full_name)));
    if let Some(place) = &test.location {
        let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
        push(page, format_args!("<p class=\"faint\"><code>{}{line}</code></p>\n", escaped(&place.file)));
    }
    if let Some((expected, received)) = failure.and_then(|failure| failure.expected.as_ref().zip(failure.received.as_ref())) {
        page.push_str("<pre>");
        for line in diff_lines(expected, received) {
            let written = match line {
                DiffLine::Expected(line) => format!("<del>- {}</del>\n", escaped(line)),
                DiffLine::Received(line) => format!("<ins>+ {}</ins>\n", escaped(line)),
                DiffLine::Both(line) => format!("  {}\n", escaped(line)),
            };
            page.push_str(&written);
        }
        page.push_str("</pre>\n<p class=\"faint\">- expected, + received</p>\n");
    }
    let (first, whole) = failure_texts(test);
    let text = if whole.is_empty() { first } else { whole };
    if !text.is_empty() {
        push(page, format_args!("<pre>{}</pre>\n", escaped(&shortened(&text))));
    }
    page.push_str("</article>\n");
}

fn write_finding(page: &mut String, finding: &Diagnostic) {
    push(page, format_args!("<article>\n<p><bdi>{}</bdi></p>\n", escaped(&finding_line(finding))));
    if let Some(source) = finding.source.as_ref().filter(|source| !source.is_empty()) {
        push(page, format_args!("<pre>{}</pre>\n", escaped(&shortened(source))));
    }
    page.push_str("</article>\n");
}

/// Names the files of a check, where nothing else says why it failed.
fn write_files(page: &mut String, check: &ActionResultV2) {
    let files: Vec<String> = check.evidence_files.iter().map(|file| format!("<code>{}</code>", escaped(file))).collect();
    if !files.is_empty() {
        push(page, format_args!("<p class=\"faint\">more is in {}</p>\n", files.join(", ")));
    }
}

fn write_table(page: &mut String, run: &OutgoingRun) {
    page.push_str("<section>\n<h2>Checks</h2>\n<table>\n<thead><tr><th scope=\"col\">check</th><th scope=\"col\">result</th>");
    page.push_str("<th scope=\"col\">duration</th><th scope=\"col\">tests</th></tr></thead>\n<tbody>\n");
    for check in run.checks() {
        let status = match check.status {
            None => "skipped",
            Some(ResultType::Success) => "passed",
            Some(status) => status.word(),
        };
        let reused = check.reused.as_ref().map(|reused| format!(" (reused from {})", reused.run_id)).unwrap_or_default();
        let flaky = if check.flaky == Some(true) { " (flaky)" } else { "" };
        let duration = check.duration.map(|duration| seconds(duration.0)).unwrap_or_default();
        let counts = check.result.as_ref().and_then(|result| result.test_results.as_ref()).map(|tests| tests.counts);
        let counts = counts.map(|all| format!("{} passed, {} failed, {} skipped", all.passed, all.failed, all.skipped));
        push(
            page,
            format_args!(
                "<tr><td>{}</td><td class=\"{}\">{status}{flaky}{reused}</td><td>{duration}</td><td>{}</td></tr>\n",
                name(&check.name),
                colour(check),
                counts.unwrap_or_default()
            ),
        );
    }
    page.push_str("</tbody>\n</table>\n</section>\n");
}

/// Writes the list of a check's tests, closed.
fn write_tests(page: &mut String, run: &OutgoingRun, check: &ActionResultV2) {
    let Some(tests) = run.tests_of(check) else { return };
    push(page, format_args!("<details>\n<summary>{} tests of {}</summary>\n<ul>\n", tests.len(), name(&check.name)));
    for test in tests.iter().take(SHOWN_TESTS) {
        let duration = test.duration.map(|duration| format!(" · {}", seconds(duration))).unwrap_or_default();
        push(page, format_args!("<li>{} · {}{duration}</li>\n", outcome_word(test.status), name(&test.full_name)));
    }
    page.push_str("</ul>\n");
    let more = tests.len().saturating_sub(SHOWN_TESTS) as u64 + run.not_listed(check);
    write_more(page, usize::try_from(more).unwrap_or(usize::MAX));
    page.push_str("</details>\n");
}

fn write_more(page: &mut String, more: usize) {
    if more > 0 {
        push(page, format_args!("<p class=\"faint\">{more} more; the report has all</p>\n"));
    }
}

fn colour(check: &ActionResultV2) -> &'static str {
    match check.status {
        None => "faint",
        Some(ResultType::Success) => "green",
        Some(_) => "red",
    }
}

fn seconds(milliseconds: u64) -> String {
    format!("{:.2} s", milliseconds as f64 / 1000.0)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}\n[the rest is left out; the report has all]", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns a text in an element of its own, so that a word that is written from right to left does not turn its neighbours around.
fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", escaped(text))
}

/// Returns a text that HTML shows as it is, between elements and in attributes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in shown_lines(text).chars() {
        match character {
            '&' | '<' | '>' | '"' | '\'' | '`' => {
                let _never_fails = write!(escaped, "&#{};", u32::from(character));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

fn push(page: &mut String, html: fmt::Arguments<'_>) {
    let _never_fails = page.write_fmt(html);
}
