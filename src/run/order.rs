//! In which order the checks of a run are carried out. Ids and reports keep the plan's numbers; the order is when, not which.

use crate::evidence;
use crate::model::{Action, CheckOrder, ResultType};
use crate::report::parse;
use crate::run::request::RunRequest;
use crate::run::selection::Checks;
use crate::run::workspace::Workspace;

/// Returns the checks in the order they are carried out; among those that failed, and among the others, the plan's order stays.
pub(crate) fn in_order<'p>(steps: &'p [Action], order: CheckOrder, failed: &[String]) -> Vec<&'p Action> {
    let mut ordered: Vec<_> = steps.iter().collect();
    match order {
        CheckOrder::Plan => {}
        CheckOrder::FailedFirst => ordered.sort_by_key(|step| !failed.contains(&step.name)),
    }
    ordered
}

impl Workspace {
    /// Returns the names of the checks that did not succeed in the last run that was one of all of them.
    ///
    /// A report that cannot be read names none: then nothing is known that would speak for another order.
    pub(crate) fn failed_last(&self, request: &RunRequest<'_>) -> Vec<String> {
        let mut failed = match &request.checks {
            Checks::Triggered { failed } => failed.clone(),
            Checks::All | Checks::Named(_) => Vec::new(),
        };
        let (project, task) = (&request.scope.project, &request.plan.task);
        let last = self.index.last_run(project, task).ok().flatten();
        let bytes = last.and_then(|last| evidence::read_report(&self.store, project, task, &last.run_id).ok());
        let report = bytes.and_then(|bytes| parse(&bytes).ok());
        let results = report.into_iter().flat_map(|report| report.step_execution.results);
        failed.extend(results.filter(|one| one.status.is_some_and(|status| status != ResultType::Success)).map(|one| one.name));
        failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ActionPhase;
    use crate::run::testing;

    #[test]
    fn checks_that_failed_come_first_and_both_groups_keep_the_plans_order() {
        let steps = ["a", "b", "c", "d"].map(|name| Action { name: name.to_owned(), ..testing::action(ActionPhase::Step) });
        for (order, failed, expected) in [
            (CheckOrder::Plan, &["c", "d"][..], ["a", "b", "c", "d"]),
            (CheckOrder::FailedFirst, &[], ["a", "b", "c", "d"]),
            (CheckOrder::FailedFirst, &["c"], ["c", "a", "b", "d"]),
            (CheckOrder::FailedFirst, &["d", "b"], ["b", "d", "a", "c"]),
            (CheckOrder::FailedFirst, &["gone", "a"], ["a", "b", "c", "d"]),
            (CheckOrder::FailedFirst, &["a", "b", "c", "d"], ["a", "b", "c", "d"]),
        ] {
            let failed: Vec<_> = failed.iter().map(ToString::to_string).collect();
            let names: Vec<_> = in_order(&steps, order, &failed).into_iter().map(|step| step.name.as_str()).collect();
            assert_eq!(names, expected, "{order:?} {failed:?}");
        }
    }
}
