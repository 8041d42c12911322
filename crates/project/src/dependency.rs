//! Whether the tasks that a task depends on are complete. Only a verdict on the current tree counts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
        let last = evidence.index.last_run(&scope.project, task, RunsJudgedBy::ApprovedRules)?;
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
    let checks = index.checks(&scope.project, task, RunsJudgedBy::ApprovedRules)?;
    let failure = verdict.plan_digest.and_then(|plan| newest_fresh_failure(&checks, plan, tree));
    Ok(failure.filter(|failure| failure.sequence > verdict.sequence).map(|failure| failure.run_id.clone()))
}

fn is_complete(store: &Store, scope: &ProjectScope, task: &TaskId, run: &RunId) -> Result<bool, ProjectError> {
    let report = sealed_report(store, &scope.project, task, run)?;
    Ok(report.completion_criteria_evaluation.completion_status == CompletionStatus::Complete)
}

// The order of a project's tasks by what they depend on, over all specification files. Pure.

/// The tasks of a project, each with the ids of the tasks that it depends on.
pub(crate) type Dependencies<'t> = BTreeMap<&'t str, Vec<&'t str>>;

/// Returns all tasks, each after the tasks that it depends on, and otherwise sorted by their ids. Tasks in a cycle, and
/// those that wait for one, come last: none of them can run.
pub(crate) fn order_by_dependencies<'t>(dependencies: &Dependencies<'t>) -> Vec<&'t str> {
    // A dependency on a task that is not there does not hold a task back here: running the task reports it.
    let needed = |task: &&'t str| {
        dependencies[*task].iter().copied().filter(|needed| dependencies.contains_key(needed)).collect::<BTreeSet<&str>>()
    };
    let mut left: BTreeMap<&str, BTreeSet<&str>> = dependencies.keys().map(|task| (*task, needed(task))).collect();
    let mut waiters: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (task, needed) in &left {
        needed.iter().for_each(|needed| waiters.entry(needed).or_default().push(task));
    }
    let mut ready: BTreeSet<&str> = left.iter().filter(|(_, needed)| needed.is_empty()).map(|(task, _)| *task).collect();
    let mut ordered = Vec::new();
    while let Some(task) = ready.pop_first() {
        left.remove(task);
        ordered.push(task);
        for waiter in waiters.get(task).into_iter().flatten() {
            if let Some(needed) = left.get_mut(waiter) {
                needed.remove(task);
                if needed.is_empty() {
                    ready.insert(waiter);
                }
            }
        }
    }
    ordered.extend(left.into_keys());
    ordered
}

/// Returns the shortest way by which a task waits for itself, with the task at both ends; `None` if it does not.
pub(crate) fn cycle_through<'t>(start: &str, dependencies: &Dependencies<'t>) -> Option<Vec<&'t str>> {
    let (start, _) = dependencies.get_key_value(start)?;
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut waiting = VecDeque::from([*start]);
    while let Some(task) = waiting.pop_front() {
        for needed in dependencies.get(task).into_iter().flatten() {
            if needed == start {
                let back = std::iter::successors(Some(task), |task| came_from.get(task).copied());
                let mut way: Vec<&str> = std::iter::once(*start).chain(back).collect();
                way.reverse();
                return Some(way);
            }
            if !came_from.contains_key(needed) {
                came_from.insert(needed, task);
                waiting.push_back(needed);
            }
        }
    }
    None
}

#[cfg(test)]
mod task_order_tests {
    use super::*;

    #[test]
    fn tasks_come_after_what_they_depend_on_and_otherwise_by_their_ids() {
        let dependencies = BTreeMap::from([
            ("T1", vec!["T3", "T3"]),
            ("T2", vec![]),
            ("T3", vec!["T4", "T9"]),
            ("T4", vec![]),
            ("T5", vec!["T6", "T2"]),
            ("T6", vec!["T5"]),
            ("T7", vec!["T6"]),
        ]);
        assert_eq!(order_by_dependencies(&dependencies), ["T2", "T4", "T3", "T1", "T5", "T6", "T7"]);
        assert!(order_by_dependencies(&BTreeMap::new()).is_empty());
    }

    #[test]
    fn a_cycle_is_named_by_its_shortest_way() {
        let dependencies = BTreeMap::from([
            ("T1", vec!["T2", "T3"]),
            ("T2", vec!["T3"]),
            ("T3", vec!["T1", "T4"]),
            ("T4", vec!["T4"]),
            ("T5", vec!["T1", "T9"]),
        ]);
        assert_eq!(cycle_through("T1", &dependencies), Some(vec!["T1", "T3", "T1"]));
        assert_eq!(cycle_through("T2", &dependencies), Some(vec!["T2", "T3", "T1", "T2"]));
        assert_eq!(cycle_through("T4", &dependencies), Some(vec!["T4", "T4"]));
        assert_eq!(cycle_through("T5", &dependencies), None, "it waits for a cycle and is in none");
        assert_eq!(cycle_through("T9", &dependencies), None);
    }
}
