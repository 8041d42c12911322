//! Whether the tasks that a task depends on are complete. Only a verdict on the current tree counts.

use std::fmt;

use crate::error::ProjectError;
use crate::evidence::Evidence;
use crate::request::ProjectScope;
use crate::sealed_report;
use proctor_evidence::Store;
use proctor_index::{IndexedRun, RunsJudgedBy, StoreIndex};
use proctor_model::{CompletionStatus, RunId, TaskId, TreeDigest, newest_fresh_failure};

/// A task that is not complete on the current tree, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmetDependency {
    pub task: TaskId,
    pub why: UnmetReason,
}

/// Why a task is not complete on the current tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnmetReason {
    /// The task has no verdict yet.
    NeverRun,
    /// The task's last verdict says that the task is incomplete, or a check of the task failed on the current tree
    /// after that verdict. The id is of the run that shows this.
    Incomplete(RunId),
    /// The task's last verdict says that the task is complete, but for another tree; the id is of the run with this
    /// verdict.
    OtherTree(RunId),
}

impl fmt::Display for UnmetDependency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = &self.task;
        match &self.why {
            UnmetReason::NeverRun => write!(formatter, "{task}: it has no verdict yet"),
            UnmetReason::Incomplete(run) => write!(formatter, "{task}: {run} says that it is not"),
            UnmetReason::OtherTree(run) => write!(formatter, "{task}: {run} is of another state of the files"),
        }
    }
}

/// Returns which of the tasks are not complete on this tree, in the given order.
///
/// # Errors
///
/// When a report or the index cannot be read, or when a report file differs from the report that was sealed: an
/// edited report must not make a task complete.
pub fn unmet_dependencies(
    evidence: &Evidence,
    scope: &ProjectScope,
    tasks: &[TaskId],
    tree: TreeDigest,
) -> Result<Vec<UnmetDependency>, ProjectError> {
    let mut unmet = Vec::new();
    for task in tasks {
        let last = evidence.index.last_run(&scope.project, task, RunsJudgedBy::ApprovedRules).map_err(ProjectError::Index)?;
        let why = match last {
            None => Some(UnmetReason::NeverRun),
            Some(last) if !is_complete(&evidence.store, scope, task, &last.run_id)? => Some(UnmetReason::Incomplete(last.run_id)),
            Some(last) if last.tree_digest != Some(tree) => Some(UnmetReason::OtherTree(last.run_id)),
            Some(last) => failed_since(&evidence.index, scope, task, &last, tree)?.map(UnmetReason::Incomplete),
        };
        unmet.extend(why.map(|why| UnmetDependency { task: task.clone(), why }));
    }
    Ok(unmet)
}

/// Returns the run of selected checks in which a check of the task failed on this tree, if that run came after the
/// task's last verdict.
fn failed_since(
    index: &StoreIndex,
    scope: &ProjectScope,
    task: &TaskId,
    verdict: &IndexedRun,
    tree: TreeDigest,
) -> Result<Option<RunId>, ProjectError> {
    let checks = index.checks(&scope.project, task, RunsJudgedBy::ApprovedRules).map_err(ProjectError::Index)?;
    let failure = verdict.plan_digest.and_then(|plan| newest_fresh_failure(&checks, plan, tree));
    Ok(failure.filter(|failure| failure.sequence > verdict.sequence).map(|failure| failure.run_id.clone()))
}

fn is_complete(store: &Store, scope: &ProjectScope, task: &TaskId, run: &RunId) -> Result<bool, ProjectError> {
    let report = sealed_report(store, &scope.project, task, run)?;
    Ok(report.completion_criteria_evaluation.completion_status == CompletionStatus::Complete)
}
