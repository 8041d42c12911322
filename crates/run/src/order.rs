//! The order of execution of a run's checks. Ids and reports keep the numbers of the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use proctor_evidence as evidence;
use proctor_evidence::report::parse;
use proctor_index::RunsJudgedBy;
use proctor_model::{Action, ActionId, CheckOrder, Plan, PlanOrigin, ResultType};
use proctor_project::{Evidence, RunRequest, Selection};

/// Returns the setting that holds for a plan's order. The steps of a specification have an order of their own: a later step may need
/// what an earlier one wrote, so no step is moved because it failed before.
pub(crate) fn order_setting(plan: &Plan, setting: CheckOrder) -> CheckOrder {
    match plan.origin {
        PlanOrigin::Specification => CheckOrder::Plan,
        PlanOrigin::Configured | PlanOrigin::Discovered | PlanOrigin::CommandLine => setting,
    }
}

/// Returns the checks in the order of execution. A check comes after its dependencies; then the plan's own order of
/// execution decides, then earlier failures, then the order in which the checks are written.
pub(crate) fn order_checks<'p>(plan: &'p Plan, order: CheckOrder, failed: &[String]) -> Vec<&'p Action> {
    let mut wanted: Vec<_> = plan.steps.iter().collect();
    match order {
        CheckOrder::Plan => {}
        CheckOrder::FailedFirst => wanted.sort_by_key(|step| !failed.contains(&step.name)),
    }
    // A written order of execution is deliberate, so it has precedence over putting failed checks first.
    let places: BTreeMap<&ActionId, usize> = plan.order.iter().enumerate().rev().map(|(place, id)| (id, place)).collect();
    wanted.sort_by_key(|step| places.get(&step.id).copied().unwrap_or(usize::MAX));
    topological(wanted)
}

/// Returns the steps with each one after its dependencies, otherwise as close as possible to the given order.
///
/// Steps with circular dependencies come last in their given order. They will be skipped, because their dependencies
/// have not succeeded.
fn topological(wanted: Vec<&Action>) -> Vec<&Action> {
    let mut open: BTreeSet<&ActionId> = wanted.iter().map(|step| &step.id).collect();
    let (mut left, mut ordered) = (wanted, Vec::new());
    while let Some(next) = left.iter().position(|step| !step.after.iter().any(|needed| open.contains(needed))) {
        let step = left.remove(next);
        open.remove(&step.id);
        ordered.push(step);
    }
    ordered.extend(left);
    ordered
}

/// Returns the names of the checks that did not succeed before: those that the trigger names, and those of the last
/// run that counts.
///
/// If the report of the last run cannot be read, its failures are missing, and these checks keep their place in the
/// order.
pub(crate) fn last_failed_checks(evidence: &Evidence, request: &RunRequest<'_>) -> Vec<String> {
    let mut failed = match &request.checks {
        Selection::Triggered { failed } => failed.clone(),
        Selection::All | Selection::Missing | Selection::Named(_) => Vec::new(),
    };
    let (project, task) = (&request.scope.project, &request.plan.task);
    let last = evidence.index.last_run(project, task, RunsJudgedBy::ApprovedRules).ok().flatten();
    let bytes = last.and_then(|last| evidence::read_report(&evidence.store, project, task, &last.run_id).ok());
    let report = bytes.and_then(|bytes| parse(&bytes).ok());
    let results = report.into_iter().flat_map(|report| report.step_execution.results);
    failed.extend(results.filter(|one| one.status.is_some_and(|status| status != ResultType::Success)).map(|one| one.name));
    failed
}

/// Returns the path of the report of the task's last run; `None` if the task has not run yet, or if the index
/// cannot be read.
pub(crate) fn last_report_path(evidence: &Evidence, request: &RunRequest<'_>) -> Option<Arc<Path>> {
    let (project, task) = (&request.scope.project, &request.plan.task);
    let last = evidence.index.last_run(project, task, RunsJudgedBy::AnyRules).ok().flatten()?;
    Some(evidence.store.run_directory(project, task, &last.run_id).join(evidence::REPORT_NAME).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::ActionPhase;
    use proctor_model::testing;

    /// Returns a plan with steps of these names, `STEP.1` and so on.
    fn plan(names: &[&str]) -> Plan {
        let step = |(index, name): (usize, &&str)| Action {
            id: ActionId::numbered("STEP", index + 1),
            name: (*name).to_owned(),
            ..testing::generic_action(ActionPhase::Step)
        };
        Plan { steps: names.iter().enumerate().map(step).collect(), ..testing::empty_plan() }
    }

    fn ids(numbers: &[usize]) -> Vec<ActionId> {
        numbers.iter().map(|number| ActionId::numbered("STEP", *number)).collect()
    }

    fn names(plan: &Plan, order: CheckOrder, failed: &[&str]) -> String {
        let failed: Vec<_> = failed.iter().map(ToString::to_string).collect();
        order_checks(plan, order, &failed).into_iter().map(|step| step.name.as_str()).collect()
    }

    #[test]
    fn a_step_runs_after_what_it_comes_after_and_otherwise_where_it_was_written() {
        let mut plan = plan(&["a", "b", "c", "d"]);
        plan.steps[0].after = ids(&[3]);
        plan.steps[2].after = ids(&[4]);
        assert_eq!(names(&plan, CheckOrder::Plan, &[]), "bdca");
        assert_eq!(names(&plan, CheckOrder::FailedFirst, &["a"]), "bdca", "a failed one still comes after what it needs");
        plan.steps[3].after = ids(&[1]);
        assert_eq!(names(&plan, CheckOrder::Plan, &[]), "bacd", "those that wait for each other come last");
        plan.steps[1].after = ids(&[9, 2]);
        assert_eq!(order_checks(&plan, CheckOrder::Plan, &[]).len(), 4, "none is lost");
    }

    #[test]
    fn an_order_of_execution_is_kept_as_far_as_needs_allow_and_stands_above_failures() {
        let mut plan = plan(&["a", "b", "c", "d"]);
        plan.order = ids(&[3, 1]);
        assert_eq!(names(&plan, CheckOrder::Plan, &[]), "cabd");
        assert_eq!(names(&plan, CheckOrder::FailedFirst, &["d"]), "cadb");
        plan.steps[2].after = ids(&[2]);
        assert_eq!(names(&plan, CheckOrder::Plan, &[]), "abcd");
    }

    #[test]
    fn the_steps_of_a_specification_keep_their_order_whatever_failed_before() {
        let of = |origin| order_setting(&Plan { origin, ..plan(&["a", "b"]) }, CheckOrder::FailedFirst);
        assert_eq!(of(PlanOrigin::Configured), CheckOrder::FailedFirst);
        assert_eq!(of(PlanOrigin::Specification), CheckOrder::Plan);
        let plan = Plan { origin: PlanOrigin::Specification, ..plan(&["a", "b", "c"]) };
        let order = order_setting(&plan, CheckOrder::FailedFirst);
        assert_eq!(names(&plan, order, &["c"]), "abc");
    }

    #[test]
    fn checks_that_failed_come_first_and_both_groups_keep_the_plans_order() {
        let plan = plan(&["a", "b", "c", "d"]);
        for (order, failed, expected) in [
            (CheckOrder::Plan, &["c", "d"][..], ["a", "b", "c", "d"]),
            (CheckOrder::FailedFirst, &[], ["a", "b", "c", "d"]),
            (CheckOrder::FailedFirst, &["c"], ["c", "a", "b", "d"]),
            (CheckOrder::FailedFirst, &["d", "b"], ["b", "d", "a", "c"]),
            (CheckOrder::FailedFirst, &["gone", "a"], ["a", "b", "c", "d"]),
            (CheckOrder::FailedFirst, &["a", "b", "c", "d"], ["a", "b", "c", "d"]),
        ] {
            let failed: Vec<_> = failed.iter().map(ToString::to_string).collect();
            let names: Vec<_> = order_checks(&plan, order, &failed).into_iter().map(|step| step.name.as_str()).collect();
            assert_eq!(names, expected, "{order:?} {failed:?}");
        }
    }
}
