//! Finds what waits for a person's approval in a registered project (S7). Nothing is locked, written to the ledger or run.

use std::collections::BTreeMap;
use std::path::Path;

use crate::approval::weigh_plan;
use crate::approved_tree::files_that_left_saved;
use crate::checked_index::catch_up;
use crate::error::ProjectError;
use crate::known_trees::scan_once;
use crate::request::ProjectSettings;
use crate::same_program::ProgramSearch;
use crate::specifications::{Specifications, SpecifiedTask};
use crate::store_reader::StoreReader;
use proctor_model::{Freshness, OverallResult, Plan, ProjectId, TaskId, UnapprovedPlan, VerdictStatus};
use proctor_plan::config::Configuration;

/// What waits for approval in a project, and what could not be compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitingApprovals {
    /// The plans that wait: that of the project's own checks first, then those of the tasks, each after those that it depends on.
    pub unapproved: Vec<UnapprovedPlan>,
    /// Why plans could not be compared with the approved ones, one line for each problem.
    pub problems: Vec<String>,
}

impl StoreReader {
    /// Returns what waits for a person's approval in a project: of its own checks and of every task that a test specification
    /// in its tree defines. Settings and files that left the tree are approved for all tasks together, so they are listed for
    /// one task only.
    ///
    /// # Errors
    ///
    /// When the tree, the ledger or the index cannot be read.
    pub fn waiting_approvals(
        &mut self,
        project: &ProjectId,
        root: &Path,
        (settings, configuration): (&ProjectSettings, &Configuration),
        default_plan: Result<Plan, Vec<String>>,
    ) -> Result<WaitingApprovals, ProjectError> {
        let tree = scan_once(&self.store, settings, Some(project), root)?;
        let left = files_that_left_saved(&self.store, project, root, settings, &tree);
        let mut specifications = Specifications::default();
        specifications.update(root, &tree, &settings.specification);
        let mut plans = vec![(TaskId::default_task(), default_plan)];
        for task in specifications.tasks().into_iter().filter(|task| *task != TaskId::default_task()) {
            let plan = specifications.plan(configuration, &task).map_err(|error| error.lines());
            plans.push((task, plan));
        }
        // The ledger is read after the tree, so an approval that was given while the tree was read counts.
        catch_up(&self.store, &mut self.index, project)?;
        let programs = ProgramSearch { root, ambient: &self.ambient, additions: Some(&settings.environment) };
        let mut waiting = WaitingApprovals::default();
        for (task, plan) in plans {
            let plan = match plan {
                Ok(plan) => plan,
                // Nothing of the task was ever approved, so nothing can ask for less: many projects have only tasks, and no checks
                // of their own.
                Err(_) if self.index.approval(project, &task)?.is_none() => continue,
                Err(problems) => {
                    waiting.problems.extend(problems);
                    continue;
                }
            };
            let Some(weighed) = weigh_plan(&self.index, project, &plan, &tree, left.clone(), programs)? else { continue };
            if weighed.concerns_task || waiting.unapproved.is_empty() {
                waiting.unapproved.push(weighed.unapproved);
            }
        }
        Ok(waiting)
    }
}

// Says of tasks without a present verdict that they wait for a task that failed. Such a task is not run, however often a run is asked
// for, until the other one is complete.

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
mod waiting_tasks_tests {
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
            known: None,
            not_known: Vec::new(),
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
