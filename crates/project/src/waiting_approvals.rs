//! Finds what waits for a person's approval in a registered project (S7). Nothing is locked, written to the ledger or run.

use std::path::Path;

use crate::approval::weigh_plan;
use crate::approved_tree::files_that_left_saved;
use crate::checked_index::catch_up;
use crate::error::ProjectError;
use crate::known_trees::scan_once;
use crate::request::ProjectSettings;
use crate::same_program::ProgramSearch;
use crate::specifications::Specifications;
use crate::store_reader::StoreReader;
use proctor_model::{Plan, ProjectId, TaskId, UnapprovedPlan};
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
                Err(_) if self.index.approval(project, &task).map_err(ProjectError::Index)?.is_none() => continue,
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
