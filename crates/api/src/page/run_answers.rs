//! The answers that a page without a server has about one run. Pure. Everything that leaves goes through the redactor of what leaves.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::page::offline::Answers;
use crate::{RunDetailsV1, RunListV1};
use proctor_evidence::report::{
    ActionResultV2, EXECUTION_REPORT_FILE, ExecutionReportV2, OutgoingRedactor, count_checks, plain_text,
};
use proctor_model::{ActionId, Digest, LoggedRun, ProjectId, ProofState, ResultType, TestCounts};

/// The most bytes of a log that leave, from its end on.
const LONGEST_LOG: usize = 64 * 1024;
/// The most bytes of all logs together. For what is left out, the page shows the excerpts of the report.
const MOST_OF_LOGS: usize = 4 * 1024 * 1024;

/// A run that leaves as a page without a server.
pub struct OfflineRun<'a> {
    pub report: &'a ExecutionReportV2,
    /// The names of the files with the records of tests, by the check's id. The files themselves do not leave: the page shows none.
    pub record_names: &'a BTreeMap<ActionId, String>,
    /// What the actions printed, by the name of the file.
    pub logs: &'a [(String, Vec<u8>)],
    /// Answers of other routes below `/v1/projects/{id}/`, such as `trends`.
    pub others: &'a [(String, Value)],
    pub redactor: &'a OutgoingRedactor,
}

/// Returns the answers about a run, by path and query.
pub fn run_answers(run: &OfflineRun<'_>) -> Answers {
    let report = run.report;
    let project = &report.project.id;
    let logged = logged_run(report);
    let number = logged.run_id.number();
    let names = run.record_names.values().chain(run.logs.iter().map(|(name, _)| name)).cloned();
    let files: Vec<String> = std::iter::once(EXECUTION_REPORT_FILE.to_owned()).chain(names).collect();
    let details = value(&RunDetailsV1::new(project.clone(), logged.clone(), files));
    let mut below = vec![
        ("runs".to_owned(), value(&RunListV1::new(project.clone(), vec![logged.clone()]))),
        (format!("runs/{number}"), details),
    ];
    below.push((format!("runs/{number}/files/{EXECUTION_REPORT_FILE}"), value(report)));
    let logs = bounded_logs(run).into_iter();
    below.extend(logs.map(|(name, text)| (format!("runs/{number}/files/{name}"), Value::String(text))));
    below.extend(run.others.iter().cloned());
    let shown = shown_id(project, run.redactor);
    let projects = json!({"projects": [{"id": project, "root": report.project.name, "serving": "notServed", "standing": null}]});
    let below =
        below.into_iter().map(|(path, answer)| (format!("/v1/projects/{shown}/{}", shown_path(&path, run.redactor)), answer));
    let answers = below.chain([("/v1/projects".to_owned(), projects)]);
    let ids = (project.as_str(), shown.as_str());
    answers.map(|(path, answer)| (path, outgoing(&answer, run.redactor, ids))).collect()
}

/// Returns the project's id, or `project` in its place if the id has the name of this machine or its user: an id is made of the name of the
/// project's directory.
fn shown_id(project: &ProjectId, redactor: &OutgoingRedactor) -> String {
    if redactor.redact(project.as_str()) == project.as_str() { project.to_string() } else { "project".to_owned() }
}

/// Returns a path and query without the names of the machine and its user, which a task's id may have.
fn shown_path(path: &str, redactor: &OutgoingRedactor) -> String {
    path.split_inclusive(['/', '?', '=', '&']).map(|part| redactor.redact(part)).collect()
}

/// Returns a copy of a document in which no text names the machine or a person. Hashes are no texts.
fn outgoing(value: &Value, redactor: &OutgoingRedactor, (id, shown): (&str, &str)) -> Value {
    let text = |text: &str| {
        if text == id {
            return shown.to_owned();
        }
        if Digest::try_from(text.to_owned()).is_ok() {
            return text.to_owned();
        }
        // Colours within a word would hide what is redacted by its form.
        if text.contains('\u{1b}') { redactor.redact_lines(&plain_text(text)) } else { redactor.redact_lines(text) }
    };
    match value {
        Value::String(written) => Value::String(text(written)),
        Value::Array(list) => Value::Array(list.iter().map(|item| outgoing(item, redactor, (id, shown))).collect()),
        Value::Object(map) => map.iter().map(|(key, item)| (text(key), outgoing(item, redactor, (id, shown)))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Returns the end of a log, from the beginning of a line on. A secret of several lines must not be divided before it is recognised.
fn excerpt(bytes: &[u8], redactor: &OutgoingRedactor) -> String {
    // Colours within a word would hide what is redacted by its form.
    let text = redactor.redact_lines(&plain_text(&String::from_utf8_lossy(bytes)));
    let Some(from) = text.len().checked_sub(LONGEST_LOG).filter(|from| *from > 0) else { return text };
    let from = text.ceil_char_boundary(from);
    let line = text[from..].find('\n').map_or(from, |end| from + end + 1);
    format!("[what was printed before is left out]\n{}", &text[line..])
}

/// Returns the logs that leave, by the file's name: those of actions that failed first, as many as may.
fn bounded_logs(run: &OfflineRun<'_>) -> Vec<(String, String)> {
    let report = run.report;
    let (before, checks, after) = (&report.prerequisite_execution, &report.step_execution, &report.cleanup_execution);
    let all = before.results.iter().chain(&checks.results).chain(&after.results);
    let failed: Vec<&str> = all
        .filter(|action| action.status.is_some_and(|status| status != ResultType::Success))
        .map(|action| action.action_id.as_str())
        .collect();
    let is_of_failed = |name: &str| {
        failed.iter().any(|id| name.strip_prefix(id).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit())))
    };
    let (first, last): (Vec<_>, Vec<_>) = run.logs.iter().partition(|(name, _)| is_of_failed(name));
    let mut left = MOST_OF_LOGS;
    let mut logs = Vec::new();
    for (name, bytes) in first.into_iter().chain(last) {
        let text = excerpt(bytes, run.redactor);
        let Some(rest) = left.checked_sub(text.len()) else { break };
        left = rest;
        logs.push((name.clone(), text));
    }
    logs
}

/// Returns the run as it is listed, as far as its report says it.
fn logged_run(report: &ExecutionReportV2) -> LoggedRun {
    let evaluation = &report.validation_criteria_evaluation;
    let checks = &report.step_execution.results;
    let results = || checks.iter().filter_map(|check| check.result.as_ref()?.test_results.as_ref());
    let counts = results().fold(None, |sum: Option<TestCounts>, tests| {
        let before = sum.unwrap_or_default();
        Some(TestCounts {
            passed: before.passed + tests.counts.passed,
            failed: before.failed + tests.counts.failed,
            skipped: before.skipped + tests.counts.skipped,
        })
    });
    let has_failed = |check: &ActionResultV2| check.status.is_some_and(|status| status != ResultType::Success);
    let is_allowed = |check: &ActionResultV2| has_failed(check) && check.blocking == Some(false);
    let names = |is_named: &dyn Fn(&ActionResultV2) -> bool| {
        checks.iter().filter(|check| is_named(check)).map(|check| check.name.clone()).collect()
    };
    LoggedRun {
        run_id: report.authenticity.execution_id.clone(),
        task: report.test_specification.task_id.clone(),
        status: report.execution_summary.overall_status,
        result: evaluation.overall_result,
        started: report.execution_summary.start_time,
        duration: report.execution_summary.total_duration,
        tree: report.tree.as_ref().map(|tree| tree.before),
        blocking: u32::try_from(checks.iter().filter(|check| check.blocking == Some(true)).count()).unwrap_or(u32::MAX),
        checks: Some(count_checks(report)),
        tests: counts,
        failed_checks: names(&|check| has_failed(check) && !is_allowed(check)),
        warned_checks: names(&is_allowed),
        failed_tests: checks
            .iter()
            .filter(|check| !is_allowed(check))
            .filter_map(|check| check.result.as_ref()?.test_results.as_ref())
            .flat_map(|tests| &tests.failures)
            .map(|failure| failure.test_name.clone())
            .take(LoggedRun::SHOWN_TESTS)
            .collect(),
        flaky: checks.iter().any(|check| check.flaky == Some(true)),
        evidence: ProofState::Kept,
        person: None,
    }
}

fn value(document: &impl Serialize) -> Value {
    serde_json::to_value(document).expect("our own values have a JSON form")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_evidence::report::{build, samples};

    #[test]
    fn the_answers_are_those_of_the_routes_and_nothing_in_them_names_the_machine_or_its_user() {
        let redactor = OutgoingRedactor::new(Some("/srv/people/ada7"), &["ada7"], "forge12.example.org").in_project("/srv/shop");
        let report = build(&samples::mixed_run());
        let run_id = report.authenticity.execution_id.clone();
        let secret = format!(
            "/srv/shop/a.py:3: \u{1b}[36m/opt/acme/secret-plan\u{1b}[0m\non forge12 by ada7 \u{1b}[33mghp_{}\n",
            "a1".repeat(18)
        );
        let logs = [("STEP.1.log".to_owned(), [vec![b'x'; LONGEST_LOG], b"\n".to_vec(), secret.clone().into_bytes()].concat())];
        let others = [("trends?task=default&runs=200".to_owned(), json!({"told": secret, "ada7": [secret]}))];
        let record_names = BTreeMap::new();
        let run = OfflineRun { report: &report, record_names: &record_names, logs: &logs, others: &others, redactor: &redactor };
        let answers = run_answers(&run);
        let project = report.project.id.as_str();
        let details = &answers[&format!("/v1/projects/{project}/runs/{}", run_id.number())];
        assert_eq!(details["run"]["runId"], run_id.as_str());
        assert_eq!(details["files"], json!([EXECUTION_REPORT_FILE, "STEP.1.log"]));
        let kept = &answers[&format!("/v1/projects/{project}/runs/{}/files/{EXECUTION_REPORT_FILE}", run_id.number())];
        assert_eq!(kept["authenticity"]["executionId"], run_id.as_str());
        assert_eq!(kept["tree"], serde_json::to_value(&report).unwrap()["tree"], "hashes stay");
        let log = answers[&format!("/v1/projects/{project}/runs/{}/files/STEP.1.log", run_id.number())].as_str().unwrap();
        assert!(log.starts_with("[what was printed before is left out]\na.py:3: ") && log.len() < 300, "{log}");
        let all = serde_json::to_string(&answers).unwrap();
        for telling in ["/srv/", "acme", "secret-plan", "forge12", "ada7", "a1a1a1"] {
            assert!(!all.contains(telling), "{telling}: {all}");
        }
    }
    #[test]
    fn all_logs_together_are_bounded_and_those_of_failed_actions_come_first() {
        let redactor = OutgoingRedactor::new(None, &[], "host");
        let report = build(&samples::mixed_run());
        let failed =
            report.step_execution.results.iter().find(|check| check.status.is_some_and(|status| status != ResultType::Success));
        let of_failed = format!("{}-z.log", failed.expect("the sample has one").action_id);
        let log = |name: String| (name, "line\n".repeat(LONGEST_LOG / 5).into_bytes());
        let fit = MOST_OF_LOGS / (LONGEST_LOG / 5 * 5);
        let others = (0..fit + 9).map(|number| log(format!("OTHER.{number}.log")));
        let logs: Vec<_> = others.chain([log(of_failed.clone())]).collect();
        let record_names = BTreeMap::new();
        let run = OfflineRun { report: &report, record_names: &record_names, logs: &logs, others: &[], redactor: &redactor };
        let kept = bounded_logs(&run);
        assert_eq!((kept.len(), &kept[0].0), (fit, &of_failed));
        let answers = run_answers(&run);
        let reports = answers.keys().filter(|path| path.ends_with(EXECUTION_REPORT_FILE)).count();
        assert_eq!(reports, 1, "nothing is there twice");
    }
}
