//! SARIF 2.1.0, the format of findings that code hosts and editors read: a run of the format for each check that was carried out, with the
//! findings of linters and type checkers and the tests that failed. `sarif_results` makes the entries.
//!
//! Paths are relative to the project's root, the base `SRCROOT`. Its own place is left out, because it names a machine.

use serde_json::{Value, json};

use crate::report::formats::sarif_results::{Results, results_of_check, results_of_run};
use crate::report::formats::{OutgoingRun, has_failed, reason};
use crate::report::{ActionResultV2, GENERATED_BY};
use proctor_model::{ResultType, shown_json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The name of the base of relative paths.
pub(super) const BASE: &str = "SRCROOT";

pub(super) fn write(run: &OutgoingRun) -> String {
    // A check that was skipped says nothing, and an empty list would say that it found nothing.
    let carried_out = run.checks().into_iter().filter(|check| check.status.is_some());
    let mut runs: Vec<Value> = carried_out.map(|check| run_of_check(run, check)).collect();
    if let Some(why) = run.unexplained() {
        runs.push(with_frame(run, "verdict", "proctor", results_of_run(run.verdict(), why), json!([])));
    }
    let document = json!({"$schema": SCHEMA, "version": "2.1.0", "runs": runs});
    shown_json(&format!("{document:#}\n")).into_owned()
}

fn run_of_check(run: &OutgoingRun, check: &ActionResultV2) -> Value {
    let results = results_of_check(check, run.tests_of(check));
    with_frame(run, &check.name, &check.tool, results, json!([invocation(check)]))
}

fn with_frame(run: &OutgoingRun, name: &str, tool: &str, results: Results, invocations: Value) -> Value {
    let report = &run.report;
    let mut framed = json!({
        "tool": {"driver": {"name": tool, "rules": results.rules}},
        // Code hosts keep the findings of one category apart from those of another: each check is one.
        "automationDetails": {"id": format!("proctor/{name}/{}", report.authenticity.execution_id)},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {BASE: {"description": {"text": "The root of the project."}}},
        "results": results.results,
        "properties": {"proctor": {
            "run": report.authenticity.execution_id, "project": run.project_id, "verdict": run.verdict(),
            "coverage": run.coverage(),
            "tree": report.tree.as_ref().map(|tree| tree.before.0.hex()), "generatedBy": GENERATED_BY,
        }},
    });
    if invocations.as_array().is_some_and(|list| !list.is_empty()) {
        framed["invocations"] = invocations;
    }
    framed
}

/// Returns how the tool of a check was called and how it ended. The tool did its work if it could say whether the code is right.
fn invocation(check: &ActionResultV2) -> Value {
    let did_its_work =
        matches!(check.status, Some(ResultType::Success | ResultType::TestFailure | ResultType::ValidationFailure));
    let mut invocation = json!({"commandLine": check.command, "executionSuccessful": did_its_work});
    let result = check.result.as_ref();
    if let Some(code) = result.and_then(|result| result.exit_code) {
        invocation["exitCode"] = json!(code);
    }
    if let Some(signal) = result.and_then(|result| result.signal.as_deref()) {
        invocation["exitSignalName"] = json!(signal);
    }
    if has_failed(check) && !did_its_work {
        let said = json!({"level": "error", "message": {"text": sentence(reason(check))}});
        invocation["toolExecutionNotifications"] = json!([said]);
    }
    invocation
}

/// Returns a text that is not empty, because the format demands one.
pub(super) fn sentence(text: &str) -> &str {
    if text.trim().is_empty() { "No message." } else { text }
}
