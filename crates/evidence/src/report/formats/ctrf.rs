//! CTRF, the Common Test Report Format (<https://ctrf.io>): one JSON document with every test. What the format has no key for is under
//! `extra.proctor`, because its schema refuses other keys.
//!
//! A duration is required for each test, so one that is not known is 0, and `extra.proctor.durationKnown` is false. The statuses are
//! fewer than ours: an error is `failed` with `rawStatus` `error`, and a check that could not do its work is `failed` with its result type.
//! A failure that the policy allows is `other`, and an expected one is `skipped` with `rawStatus` `xfailed`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::report::formats::junit::finding_line;
use crate::report::formats::{
    OutgoingRun, fails_as_a_whole, failure_texts, failures_of, has_failed, is_allowed, outcome_word, reason, stable_name,
};
use crate::report::{ActionResultV2, GENERATED_BY, TestRecordV1};
use proctor_model::{DurationMs, ResultType, TestFailure, TestOutcome, shown_json};

/// The version of the format. The validators of its authors know this one only.
const SPECIFICATION: &str = "0.0.0";

pub(super) fn write(run: &OutgoingRun) -> String {
    let report = &run.report;
    let summary = &report.execution_summary;
    let checks = run.checks();
    let mut tests: Vec<Value> = checks.iter().flat_map(|check| entries(run, check)).collect();
    tests.extend(run.unexplained().map(|reason| {
        json!({"name": "proctor: verdict", "status": "failed", "rawStatus": run.verdict(), "duration": 0, "message": reason})
    }));
    let count = |status: &str| tests.iter().filter(|test| test["status"] == status).count();
    let start = summary.start_time.as_millis().max(0);
    let duration = summary.total_duration.map(|duration| duration.0);
    let stop = summary.end_time.map_or(start, |end| end.as_millis().max(start));
    let mut counted = json!({
        "tests": tests.len(), "passed": count("passed"), "failed": count("failed"), "skipped": count("skipped"), "pending": 0,
        "other": count("other"), "suites": checks.len(), "start": start, "stop": stop,
    });
    add(&mut counted, "duration", duration);
    let not_listed: u64 = checks.iter().map(|check| run.not_listed(check)).sum();
    let own = json!({
        "run": report.authenticity.execution_id, "project": run.project_id, "task": report.test_specification.task_id,
        "verdict": run.verdict(), "coverage": run.coverage(), "reason": report.validation_criteria_evaluation.reason,
        "tree": report.tree.as_ref().map(|tree| tree.before.0.hex()), "testsNotListed": not_listed,
        "checks": checks.iter().map(|check| own_check(check)).collect::<Vec<_>>(),
    });
    let document = json!({
        "reportFormat": "CTRF",
        "specVersion": SPECIFICATION,
        "runId": report.authenticity.execution_id,
        "timestamp": report.generated_at.to_string(),
        "generatedBy": GENERATED_BY,
        "results": {
            "tool": {"name": "proctor", "version": env!("CARGO_PKG_VERSION")},
            "summary": counted,
            "tests": tests,
            "environment": {"appName": run.project()},
            "extra": {"proctor": own},
        },
    });
    shown_json(&format!("{document:#}\n")).into_owned()
}

/// Returns an entry for each test of a check, and one for the check itself if it has no tests or they do not say why it failed.
fn entries(run: &OutgoingRun, check: &ActionResultV2) -> Vec<Value> {
    let tests = run.tests_of(check);
    let failures = failures_of(check);
    let mut entries: Vec<Value> = Vec::new();
    let mut named: BTreeMap<&str, u32> = BTreeMap::new();
    tests.unwrap_or_default().iter().for_each(|test| *named.entry(stable_name(test)).or_default() += 1);
    for test in tests.unwrap_or_default() {
        let mut entry = entry_of_test(run, check, &failures, test);
        // Files may have tests of one name.
        if let Some(place) = test.location.as_ref().filter(|_| named.get(stable_name(test)).is_some_and(|count| *count > 1)) {
            let task = &run.report.test_specification.task_id;
            entry["testId"] = json!(format!("{task}/{}/{}/{}", check.name, place.file, stable_name(test)));
        }
        if let Some(failure) = failures.get(stable_name(test)) {
            // The format has no key for these two.
            add(&mut entry["extra"]["proctor"], "expected", failure.expected.as_deref());
            add(&mut entry["extra"]["proctor"], "received", failure.received.as_deref());
        }
        entries.push(entry);
    }
    if tests.is_none() || fails_as_a_whole(check, tests) {
        entries.push(entry_of_check(check));
    }
    entries
}

fn entry_of_test(
    run: &OutgoingRun,
    check: &ActionResultV2,
    failures: &BTreeMap<&str, &TestFailure>,
    test: &TestRecordV1,
) -> Value {
    let (message, trace) = failure_texts(failures, test);
    let status = match test.status {
        TestOutcome::Passed => "passed",
        TestOutcome::Failed | TestOutcome::Error if is_allowed(check) => "other",
        TestOutcome::Failed | TestOutcome::Error => "failed",
        TestOutcome::Skipped => "skipped",
    };
    let suite: Vec<&str> = std::iter::once(check.name.as_str()).chain(test.ancestor_titles.iter().map(String::as_str)).collect();
    let mut entry = json!({
        "testId": format!("{}/{}/{}", run.report.test_specification.task_id, check.name, stable_name(test)),
        "name": test.full_name, "status": status, "rawStatus": outcome_word(test), "duration": test.duration.unwrap_or(0),
        "suite": suite,
        "extra": {"proctor": {"check": check.action_id, "durationKnown": test.duration.is_some()}},
    });
    if !trace.is_empty() {
        add(&mut entry, "message", Some(message));
        add(&mut entry, "trace", Some(trace));
    }
    if let Some(place) = &test.location {
        add(&mut entry, "filePath", Some(&place.file));
        add(&mut entry, "line", place.line);
    }
    entry
}

fn entry_of_check(check: &ActionResultV2) -> Value {
    let status = match check.status {
        None => "skipped",
        Some(ResultType::Success) => "passed",
        Some(_) if is_allowed(check) => "other",
        Some(_) => "failed",
    };
    let mut entry = json!({
        "name": check.name, "status": status, "rawStatus": check.status.map_or("SKIPPED", ResultType::word),
        "duration": check.duration.map_or(0, |duration| duration.0), "suite": [check.name], "type": check.action_type.word(),
        "extra": {"proctor": {"check": check.action_id, "durationKnown": check.duration.is_some()}},
    });
    let findings = check.result.as_ref().map(|result| result.diagnostics.findings()).unwrap_or_default();
    if !findings.is_empty() {
        add(&mut entry, "trace", Some(findings.iter().map(finding_line).collect::<Vec<_>>().join("\n")));
    }
    if has_failed(check) || !reason(check).is_empty() {
        add(&mut entry, "message", Some(reason(check)));
    }
    if let Some(earlier) = check.attempts.and_then(|attempts| attempts.checked_sub(1)).filter(|earlier| *earlier > 0) {
        add(&mut entry, "retries", Some(earlier));
        add(&mut entry, "flaky", check.flaky);
    }
    entry
}

/// Returns what the format has no key for: how each check ended.
fn own_check(check: &ActionResultV2) -> Value {
    json!({
        "id": check.action_id, "name": check.name, "tool": check.tool, "status": check.status, "blocking": check.blocking,
        "flaky": check.flaky, "attempts": check.attempts, "duration": check.duration.map(|DurationMs(millis)| millis),
        "reusedFrom": check.reused.as_ref().map(|reused| &reused.run_id), "evidenceFiles": check.evidence_files,
    })
}

/// Adds a key if there is a value. The schema refuses `null`.
fn add(object: &mut Value, key: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        object[key] = json!(value);
    }
}
