//! The bytes of what is written beside the report: the start of a run, an action, what was found.

use std::path::Path;

use crate::model::{Action, Ended, Interpretation, PlanOrigin, RunId};
use crate::report::{
    ActionRecordFacts, ProgramFacts, RunStartFacts, RunStartV1, action_record, diagnostics_record, run_start_record,
    test_results_record, to_bytes,
};
use crate::run::carry_out::Course;
use crate::run::environment::ChildEnvironment;

/// Returns `run.json`.
pub(crate) fn start(course: &Course<'_>) -> RunStartV1 {
    let request = course.request;
    run_start_record(RunStartFacts {
        run_id: course.run_id.clone(),
        project_id: request.scope.project.clone(),
        plan: request.plan,
        plan_digest: course.plan_digest,
        specification_file: specification_file(&request.plan.origin),
        tree_digest: course.before,
        trigger: request.trigger.clone(),
        started: course.started,
        process_id: std::process::id(),
    })
}

/// Returns the record of an action.
pub(crate) fn action(
    run_id: &RunId,
    action: &Action,
    ended: &Ended,
    directory: &Path,
    program: Option<ProgramFacts>,
    environment: &ChildEnvironment,
) -> Vec<u8> {
    let variables = environment.as_text();
    to_bytes(&action_record(ActionRecordFacts {
        run_id,
        action,
        ended,
        working_directory: directory.display().to_string(),
        program,
        environment: &variables,
    }))
}

/// Returns what the tool's interpreter found, where it found tests or findings.
pub(crate) fn findings(run_id: &RunId, action: &Action, ended: &Ended, interpretation: &Interpretation) -> Option<Vec<u8>> {
    let tests = test_results_record(run_id, action, ended, interpretation).map(|record| to_bytes(&record));
    tests.or_else(|| diagnostics_record(run_id, action, ended, interpretation).map(|record| to_bytes(&record)))
}

/// Returns the file a plan came from.
pub(crate) fn specification_file(origin: &PlanOrigin) -> Option<String> {
    match origin {
        PlanOrigin::Configured => Some("proctor.toml".to_owned()),
        PlanOrigin::Discovered | PlanOrigin::CommandLine => None,
    }
}
