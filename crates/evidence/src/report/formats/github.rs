//! Workflow commands of GitHub Actions: one annotation for each failed test, finding and failed check.

use crate::report::formats::{OutgoingRun, fails_as_a_whole, failure_texts, failures_of, is_allowed, is_broken, reason};
use proctor_model::{FindingLevel, ResultType, shown_line};

/// GitHub shows ten errors and ten warnings of a step. A few more are written, because other readers of the log show all.
const MOST_OF_A_CHECK: usize = 50;

pub(super) fn write(run: &OutgoingRun) -> String {
    let mut lines = Vec::new();
    for check in run.checks() {
        let mut of_check = Vec::new();
        let (tests, failures) = (run.tests_of(check), failures_of(check));
        for test in tests.unwrap_or_default().iter().filter(|test| test.status.is_failure()) {
            let (first, _) = failure_texts(&failures, test);
            let place = test.location.as_ref().map(|place| (place.file.as_str(), place.line, None));
            let level = if is_allowed(check) { "warning" } else { "error" };
            of_check.push(command(level, place, &format!("{}: {}", check.name, test.full_name), &first));
        }
        let findings = check.result.as_ref().map(|result| result.diagnostics.findings()).unwrap_or_default();
        for finding in findings {
            // A finding that the policy allows is no error of the run.
            let is_error = finding.severity == FindingLevel::Error && check.blocking != Some(false);
            let level = if is_error { "error" } else { "warning" };
            let place = finding.file.as_deref().map(|file| (file, finding.line, finding.column));
            let rule = finding.rule_id.as_deref().or(finding.code.as_deref()).unwrap_or_default();
            of_check.push(command(level, place, format!("{} {rule}", check.name).trim_end(), &finding.message));
        }
        // If there are too many lines, warnings are left out before errors.
        of_check.sort_by_key(|line| !line.starts_with("::error "));
        // Warnings alone do not say that the check did not succeed, and errors do not say that it could not do its work.
        let says_nothing = !of_check.iter().any(|line| line.starts_with("::error "));
        if (says_nothing || is_broken(check)) && fails_as_a_whole(check, tests) {
            let status = check.status.map_or("", ResultType::word);
            let level = if is_allowed(check) { "warning" } else { "error" };
            of_check.insert(0, command(level, None, &format!("{}: {status}", check.name), reason(check)));
        }
        let more = of_check.len().saturating_sub(MOST_OF_A_CHECK);
        lines.extend(of_check.into_iter().take(MOST_OF_A_CHECK));
        if more > 0 {
            lines.push(command("notice", None, &check.name, &format!("{more} more; the report has all")));
        }
    }
    if let Some(reason) = run.unexplained() {
        lines.push(command("error", None, "proctor", reason));
    }
    lines.push(command("notice", None, "proctor", &format!("{} · run {}", run.headline(), run.report.authenticity.execution_id)));
    lines.join("\n") + "\n"
}

/// Returns the workflow command for an error that belongs to no run, as a line.
pub fn workflow_error(title: &str, message: &str) -> String {
    command("error", None, title, message) + "\n"
}

/// Returns a workflow command. What would end it or begin another one is escaped as GitHub's own toolkit does it.
fn command(level: &str, place: Option<(&str, Option<u64>, Option<u64>)>, title: &str, message: &str) -> String {
    let mut properties = Vec::new();
    if let Some((file, line, column)) = place {
        properties.push(format!("file={}", property(file)));
        properties.extend(line.map(|line| format!("line={line}")));
        properties.extend(column.map(|column| format!("col={column}")));
    }
    properties.push(format!("title={}", property(title)));
    format!("::{level} {}::{}", properties.join(","), data(message))
}

fn data(text: &str) -> String {
    let text: Vec<String> = text.lines().map(|line| shown_line(line).into_owned()).collect();
    text.join("\n").replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
