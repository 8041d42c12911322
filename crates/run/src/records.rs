//! Creates the records beside the report, with secrets redacted: the start of a run, an action, the findings.

use std::path::Path;

use crate::run_context::RunContext;
use proctor_evidence::report::{
    ActionRecordFacts, ProgramV1, RunStartDetailsV1, RunStartFacts, action_record, diagnostics_record, redact_document,
    redact_to_bytes, run_start_details, test_results_record,
};
use proctor_model::{Action, ActionJudgement, EndedAction, Interpretation, Plan, PlanOrigin, RunId};
use proctor_sandbox::ChildEnvironment;

/// Returns the content of `run.json`.
pub(crate) fn start(context: &RunContext<'_>) -> RunStartDetailsV1 {
    let request = context.request;
    redact_document(run_start_details(RunStartFacts {
        project_id: request.scope.project.clone(),
        plan: request.plan,
        plan_digest: context.plan_digest,
        specification_file: specification_file(request.plan),
        tree_digest: context.before,
        tree_format: request.settings.tree_format(),
        trigger: request.trigger.clone(),
        started: context.started,
        process_id: std::process::id(),
    }))
}

pub(crate) fn action(
    run_id: &RunId,
    attempt: u32,
    action: &Action,
    ended: &EndedAction,
    directory: &Path,
    program: Option<ProgramV1>,
    environment: &ChildEnvironment,
) -> Vec<u8> {
    let variables = environment.for_evidence();
    redact_to_bytes(action_record(ActionRecordFacts {
        run_id,
        action,
        attempt,
        ended,
        working_directory: directory.display().to_string(),
        program,
        environment: &variables,
    }))
}

/// Returns the record of the tests or findings that a tool reported; `None` if it reported none.
pub(crate) fn findings(
    run_id: &RunId,
    action: &Action,
    ended: &EndedAction,
    interpretation: &Interpretation,
    outcome: &ActionJudgement,
) -> Option<Vec<u8>> {
    if let Some(record) = test_results_record(run_id, action, ended, interpretation) {
        return Some(redact_to_bytes(record));
    }
    let summary = outcome.summary?;
    let record = diagnostics_record(run_id, action, ended, &outcome.diagnostics, summary);
    Some(redact_to_bytes(record))
}

/// Returns the name of the file that a plan was read from; `None` if the plan has discovered checks or a command from
/// the command line.
pub(crate) fn specification_file(plan: &Plan) -> Option<String> {
    match plan.origin {
        PlanOrigin::Configured => Some("proctor.toml".to_owned()),
        PlanOrigin::Specification => plan.specification.as_ref().map(|specification| specification.file.clone()),
        PlanOrigin::Discovered | PlanOrigin::CommandLine => None,
    }
}
