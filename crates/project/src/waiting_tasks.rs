//! Says of tasks without a present verdict that they wait for a task that failed. Such a task is not run, however often a run is asked
//! for, until the other one is complete.

use std::collections::BTreeMap;

use crate::specifications::SpecifiedTask;
use proctor_model::{Freshness, OverallResult, TaskId, VerdictStatus};

/// Adds to each task that waits for a failed one a line that names it.
pub(crate) fn add_what_they_wait_for(tasks: &mut [VerdictStatus], specified: &[SpecifiedTask]) {
    let mut blocked: BTreeMap<TaskId, &str> = BTreeMap::new();
    for task in tasks.iter() {
        let why = match &task.freshness {
            Freshness::Fresh { result: OverallResult::Failed, .. } => "it failed on this tree",
            Freshness::SpecificationWrong => "its specification has errors",
            Freshness::Fresh { result: OverallResult::Passed, .. }
            | Freshness::Running
            | Freshness::Queued
            | Freshness::Stale(_)
            | Freshness::Moved { .. }
            | Freshness::Unstable { .. }
            | Freshness::NeedsHuman
            | Freshness::NotApproved
            | Freshness::RootMissing
            | Freshness::ConfigurationWrong
            | Freshness::NoVerdict => continue,
        };
        blocked.insert(task.task.clone(), why);
    }
    // The tasks are in the order of their dependencies, so what waits for a waiting task comes behind it.
    for specified in specified {
        let Some(task) = tasks.iter_mut().find(|task| task.task == specified.task) else { continue };
        if !matches!(task.freshness, Freshness::NoVerdict | Freshness::Stale(_)) {
            continue;
        }
        let first = specified.needs.iter().find_map(|need| blocked.iter().find(|(id, _)| id.as_str() == need));
        let Some((needed, why)) = first.map(|(id, why)| (id.clone(), *why)) else { continue };
        task.problems.push(format!("{} waits for {needed}: {why}. It is not run before {needed} is complete", task.task));
        blocked.insert(task.task.clone(), "it waits itself");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{CommandExit, StaleReason, TddState};

    #[test]
    fn a_task_that_waits_for_a_failed_one_says_so_and_no_other_does() {
        let id = |text: &str| TaskId::try_from(text).expect("an id");
        let fresh = |result, exit| Freshness::Fresh { result, exit };
        let status = |(task, freshness): (&str, Freshness)| VerdictStatus {
            task: id(task),
            freshness,
            tree: None,
            plan: None,
            verdict: None,
            checks: Vec::new(),
            problems: Vec::new(),
            rules_changed: Vec::new(),
            person: None,
            tdd: TddState::default(),
            tests_not_run: None,
            fewer_tests: None,
        };
        let mut tasks: Vec<VerdictStatus> = [
            ("T1", fresh(OverallResult::Failed, CommandExit::CodeNeedsWork)),
            ("T2", Freshness::NoVerdict),
            ("T3", Freshness::Stale(StaleReason::Tree)),
            ("T4", fresh(OverallResult::Passed, CommandExit::Proceed)),
            ("T5", Freshness::NoVerdict),
            ("T6", Freshness::SpecificationWrong),
            ("T7", Freshness::NoVerdict),
        ]
        .map(status)
        .into();
        let needs = [
            ("T1", None),
            ("T4", None),
            ("T6", None),
            ("T2", Some("T1")),
            ("T3", Some("T2")),
            ("T5", Some("T4")),
            ("T7", Some("T6")),
        ];
        let specified = needs.map(|(task, need)| SpecifiedTask {
            task: id(task),
            title: String::new(),
            needs: need.into_iter().map(str::to_owned).collect(),
        });
        add_what_they_wait_for(&mut tasks, &specified);
        let said: Vec<&str> = tasks.iter().flat_map(|task| task.problems.iter().map(String::as_str)).collect();
        assert_eq!(
            said,
            [
                "T2 waits for T1: it failed on this tree. It is not run before T1 is complete",
                "T3 waits for T2: it waits itself. It is not run before T2 is complete",
                "T7 waits for T6: its specification has errors. It is not run before T6 is complete",
            ]
        );
    }
}
