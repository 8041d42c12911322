//! Every text is a specification or has a hard fault, and every task of a specification has a plan with all of its actions.

use std::path::Path;

use proctor_model::TaskId;
use proctor_plan::config::Configuration;
use proctor_plan::spec::specification::{SpecificationContext, read_specification};
use proctor_plan::spec::{TaskContext, plan_digest, resolve_task};

use super::project::Parts;

/// Checks that one input has a hard fault or gives complete plans. The input is the text of a specification, then the
/// project's files.
///
/// # Panics
///
/// When a rule does not hold.
pub(crate) fn hold(bytes: &[u8]) {
    let parts = Parts::of(bytes);
    let Ok(text) = std::str::from_utf8(parts.head()) else { return };
    let project = SpecificationContext { project_root: Path::new("/srv/billing-core") };
    let reading = read_specification(text, "a-test-specification.json", project);
    let hard = reading.faults.iter().any(|fault| fault.is_hard());
    assert_eq!(reading.specification.is_none(), hard, "a specification is refused for a hard fault, and for nothing else");
    let lines = text.split('\n').count();
    for fault in &reading.faults {
        assert!(fault.position.is_none_or(|position| position.line <= lines), "the place is in the file: {fault}");
        assert!(!fault.message.is_empty() && fault.to_string().starts_with("a-test-specification.json:"), "{fault}");
    }
    let Some(specification) = &reading.specification else { return };
    let configuration = Configuration::default();
    let around = TaskContext { project, files: &parts, configuration: &configuration };
    for outline in &reading.tasks {
        let task = TaskId::try_from(outline.id.as_str()).expect("the lint refuses ids that are none");
        let plan = resolve_task(specification, &task, &reading.faults, around).expect("the specification has the task");
        let again = resolve_task(specification, &task, &reading.faults, around).expect("as before");
        assert_eq!(plan_digest(&plan), plan_digest(&again), "equal inputs are equal plans");
        let [mut planned, mut written] = [Vec::new(), Vec::new()];
        planned.extend(plan.prerequisites.iter().chain(&plan.steps).chain(&plan.cleanup).map(|action| action.id.to_string()));
        let execution = &specification.raw.tasks[&outline.id].test_execution;
        let all = execution.prerequisites.iter().chain(&execution.steps).chain(&execution.cleanup);
        written.extend(all.map(|action| action.action_id.clone()));
        assert!(written.iter().all(|id| planned.contains(id)), "no action is lost: {written:?}, {planned:?}");
        serde_json::to_string(&plan).expect("a plan is JSON");
    }
}
