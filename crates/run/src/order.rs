//! The order of execution of a run's checks. Ids and reports keep the numbers of the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use proctor_evidence::{self as evidence, LedgerLookup};
use proctor_index::RunsJudgedBy;
use proctor_model::{Action, ActionId, CheckOrder, Plan, PlanOrigin, RunLine};
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

/// Returns the names of the checks that did not succeed before: those that the trigger names, and those of the last run that counts, as
/// the ledger records it. The run's report can be large, and is not read.
///
/// If the line of the last run cannot be read, its failures are missing, and these checks keep their place in the order.
pub(crate) fn last_failed_checks(evidence: &Evidence, request: &RunRequest<'_>, ledger: Option<&LedgerLookup>) -> Vec<String> {
    let mut failed = match &request.checks {
        Selection::Triggered { failed } => failed.clone(),
        Selection::Every | Selection::All | Selection::Missing | Selection::Named(_) => Vec::new(),
    };
    let last = evidence.index.last_run(&request.scope.project, &request.plan.task, RunsJudgedBy::ApprovedRules).ok().flatten();
    let line = last.zip(ledger).and_then(|(last, ledger)| ledger.find(last.sequence).ok()?);
    if let Some(RunLine::Sealed(record)) = line.as_ref().and_then(|line| line.body.about_runs()) {
        let unsuccessful = record.results.iter().flatten().filter(|check| check.succeeded == Some(false));
        failed.extend(unsuccessful.map(|check| check.name.clone()));
    }
    failed
}

/// Returns the path of the report of the task's last run; `None` if the task has not run yet, or if the index
/// cannot be read.
pub(crate) fn last_report_path(evidence: &Evidence, request: &RunRequest<'_>) -> Option<Arc<Path>> {
    let (project, task) = (&request.scope.project, &request.plan.task);
    let last = evidence.index.last_run(project, task, RunsJudgedBy::AnyRules).ok().flatten()?;
    Some(evidence.store.run_directory(project, task, &last.run_id).join(evidence::REPORT_NAME).into())
}

// Decides which step starts next while others are running. Pure. A step is represented by its position in the order of
// execution.

/// What decides when a step may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepNeeds<T> {
    /// The positions of the steps that must finish before this step starts.
    pub(crate) after: Vec<usize>,
    /// What no other running step may use while this step runs, such as a report file.
    pub(crate) alone_with: Vec<T>,
}

/// Which steps of a run have ended and which are running, by their positions in the order of execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ScheduleState {
    /// The steps that have a result.
    pub(crate) over: BTreeSet<usize>,
    /// The steps that were started and have no result yet.
    pub(crate) open: BTreeSet<usize>,
}

/// Returns the positions of an action's dependencies. A dependency that is no step of this run is ignored.
pub(crate) fn dependency_positions(order: &[&Action], action: &Action) -> Vec<usize> {
    let place = |id: &ActionId| order.iter().position(|other| other.id == *id);
    action.after.iter().filter_map(place).collect()
}

/// Returns the step that starts next; `None` if no step may start now. At most `limit` steps run at the same time; 0
/// means 1.
///
/// The next step is the first one in the order of execution whose dependencies are finished and whose exclusive
/// resources are not in use. If steps are left and none is running, there is always a next one: steps with circular
/// dependencies start in their order.
pub(crate) fn next<T: PartialEq>(steps: &[StepNeeds<T>], state: &ScheduleState, limit: usize) -> Option<usize> {
    if state.open.len() >= limit.max(1) {
        return None;
    }
    let is_left = |place: &usize| !state.over.contains(place) && !state.open.contains(place);
    let is_shared = |one: &T| state.open.iter().any(|open| steps[*open].alone_with.contains(one));
    let may_start = |place: &usize| {
        let step = &steps[*place];
        step.after.iter().all(|needed| state.over.contains(needed)) && !step.alone_with.iter().any(is_shared)
    };
    let mut left = (0..steps.len()).filter(is_left);
    let first = left.clone().next().filter(|_| state.open.is_empty());
    left.find(may_start).or(first)
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

#[cfg(test)]
mod schedule_tests {
    use proptest::collection::vec;
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn needs(after: &[usize], alone_with: &[u8]) -> StepNeeds<u8> {
        StepNeeds { after: after.to_vec(), alone_with: alone_with.to_vec() }
    }

    fn state(over: &[usize], open: &[usize]) -> ScheduleState {
        ScheduleState { over: over.iter().copied().collect(), open: open.iter().copied().collect() }
    }

    #[test]
    fn the_first_that_waits_for_nobody_starts_and_no_more_than_the_limit_go_on() {
        let steps = [needs(&[], &[]), needs(&[0], &[]), needs(&[], &[7]), needs(&[], &[7]), needs(&[], &[])];
        for (over, open, limit, expected) in [
            (&[][..], &[][..], 2, Some(0)),
            (&[], &[0], 2, Some(2)),
            (&[], &[0], 1, None),
            (&[], &[], 0, Some(0)),
            (&[], &[0, 2], 3, Some(4)),
            (&[0], &[2], 2, Some(1)),
            (&[0, 1, 2, 4], &[], 9, Some(3)),
            (&[0, 1, 2, 3, 4], &[], 9, None),
        ] {
            assert_eq!(next(&steps, &state(over, open), limit), expected, "{over:?} {open:?} {limit}");
        }
    }

    #[test]
    fn steps_that_wait_for_each_other_start_when_nothing_else_goes_on() {
        let steps = [needs(&[1], &[]), needs(&[0], &[]), needs(&[], &[])];
        assert_eq!(next(&steps, &state(&[], &[]), 2), Some(2));
        assert_eq!(next(&steps, &state(&[], &[2]), 2), None);
        assert_eq!(next(&steps, &state(&[2], &[]), 2), Some(0));
    }

    /// Generates steps whose dependencies come before them in the order of execution.
    fn ordered() -> impl Strategy<Value = Vec<StepNeeds<u8>>> {
        vec((vec(any::<usize>(), 0..3), vec(0_u8..4, 0..2)), 0..12).prop_map(|drawn| {
            let of = |(place, (after, alone_with)): (usize, (Vec<usize>, Vec<u8>))| StepNeeds {
                after: after.into_iter().filter(|_| place > 0).map(|any| any % place.max(1)).collect(),
                alone_with,
            };
            drawn.into_iter().enumerate().map(of).collect()
        })
    }

    proptest! {
        #[test]
        fn every_step_starts_once_after_its_needs_and_alone_with_what_is_its_own(
            steps in ordered(),
            limit in 0_usize..5,
            ends in vec(any::<usize>(), 12),
        ) {
            let (mut state, mut started, mut ends) = (ScheduleState::default(), Vec::new(), ends.into_iter());
            loop {
                while let Some(place) = next(&steps, &state, limit) {
                    prop_assert!(steps[place].after.iter().all(|needed| state.over.contains(needed)));
                    for open in &state.open {
                        prop_assert!(!steps[*open].alone_with.iter().any(|one| steps[place].alone_with.contains(one)));
                    }
                    state.open.insert(place);
                    started.push(place);
                    prop_assert!(state.open.len() <= limit.max(1));
                }
                let Some(place) = state.open.iter().nth(ends.next().unwrap_or(0) % state.open.len().max(1)).copied() else { break };
                state.open.remove(&place);
                state.over.insert(place);
            }
            if limit < 2 {
                prop_assert!(started.is_sorted(), "one at a time they keep their order: {started:?}");
            }
            started.sort_unstable();
            prop_assert_eq!(started, (0..steps.len()).collect::<Vec<_>>());
        }
    }
}
