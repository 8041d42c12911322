//! Lint rules for ids and order: ids must be unique and must exist where they are referred to, and dependencies must
//! have no cycles.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::nearest;
use crate::spec::circle::circular;
use crate::spec::specification::lint::subject::{Subject, Task};
use proctor_model::{ActionId, ActionPhase, Problem, TaskId};

/// Reports ids that several actions of a task have.
pub(super) fn duplicate_ids(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let mut seen: BTreeMap<&str, String> = BTreeMap::new();
        let mut findings = Vec::new();
        for action in task.actions() {
            let id = action.raw.action_id.as_str();
            match seen.get(id) {
                Some(first) => findings.push(
                    action
                        .finding("/actionId", format!("`{id}` is the id of `{first}` already"))
                        .hint("give each action of the task an id of its own"),
                ),
                None => {
                    seen.insert(id, action.pointer());
                }
            }
        }
        findings
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Reports ids of tasks and actions that are too long, because files are named after them.
pub(super) fn long_ids(subject: &Subject<'_>) -> Vec<Problem> {
    let tasks = subject.tasks().filter(|task| TaskId::try_from(task.key).is_err());
    let tasks = tasks.map(|task| Problem::new(task.pointer(""), "the id is too long").hint("64 characters are the most"));
    let actions = subject.actions().filter(|action| ActionId::try_from(action.raw.action_id.as_str()).is_err());
    let actions =
        actions.map(|action| action.finding("/actionId", "the number of the id is too long").hint("nine digits are the most"));
    tasks.chain(actions).collect()
}

/// Reports tasks whose id differs from their key.
pub(super) fn differing_task_ids(subject: &Subject<'_>) -> Vec<Problem> {
    let differing = subject.tasks().filter(|task| task.raw.task_id != task.key);
    let finding = |task: Task<'_>| {
        let message = format!("the task `{}` says that it is `{}`", task.key, task.raw.task_id);
        Problem::new(task.pointer("/taskId"), message).hint("make `taskId` and the key of the task the same")
    };
    differing.map(finding).collect()
}

/// Reports cycles in the dependencies of tasks.
pub(super) fn task_cycles(subject: &Subject<'_>) -> Vec<Problem> {
    let edges: BTreeMap<&str, Vec<&str>> =
        subject.tasks().map(|task| (task.key, task.raw.dependencies.iter().map(String::as_str).collect())).collect();
    let circular = circular(edges);
    let circular = subject.tasks().filter(|task| circular.contains(task.key));
    let finding = |task: Task<'_>| {
        Problem::new(task.pointer("/dependencies"), format!("`{}` waits for itself", task.key))
            .hint("remove one of the dependencies")
    };
    circular.map(finding).collect()
}

/// Notes dependencies on tasks that are not in this file.
pub(super) fn unknown_tasks(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let unknown = task.raw.dependencies.iter().enumerate().filter(|(_, id)| !subject.raw.tasks.contains_key(*id));
        let finding = |(index, id): (usize, &String)| {
            Problem::new(task.pointer(&format!("/dependencies/{index}")), format!("`{id}` is no task of this file"))
                .hint("the task waits until one of that id is complete in another file of the project")
        };
        unknown.map(finding).collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Reports ids in `executionOrder` that no action of the task has.
pub(super) fn unknown_in_order(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let ids: BTreeSet<&str> = task.actions().map(|action| action.raw.action_id.as_str()).collect();
        let unknown = order_of(task).iter().enumerate().filter(|(_, id)| !ids.contains(id.as_str()));
        let finding = |(index, id): (usize, &String)| {
            Problem::new(order_pointer(task, index), format!("`{id}` is no action of the task"))
                .nearest(nearest(id, ids.iter().copied()))
        };
        unknown.map(finding).collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Reports ids that occur twice in `executionOrder`.
pub(super) fn repeated_in_order(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let order = order_of(task);
        let mut seen = BTreeSet::new();
        let repeated = order.iter().enumerate().filter(move |(_, id)| !seen.insert(*id));
        let finding = |(index, id): (usize, &String)| {
            Problem::new(order_pointer(task, index), format!("`{id}` stands in the order already"))
                .hint("an action runs once; say `retryAttempts` to have it tried again")
        };
        repeated.map(finding).collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Reports an `executionOrder` that contradicts the order of the phases.
pub(super) fn order_across_phases(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let phases: BTreeMap<&str, ActionPhase> =
            task.actions().map(|action| (action.raw.action_id.as_str(), action.phase)).collect();
        let mut latest = ActionPhase::Prerequisite;
        let mut findings = Vec::new();
        for (index, id) in order_of(task).iter().enumerate() {
            let Some(phase) = phases.get(id.as_str()).copied() else { continue };
            if phase < latest {
                let message = format!("`{id}` is named behind an action of a later phase");
                let finding = Problem::new(order_pointer(task, index), message);
                findings.push(finding.hint("prerequisites run before the steps and cleanup after them, whatever the order says"));
            }
            latest = latest.max(phase);
        }
        findings
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Reports actions that `executionOrder` leaves out.
pub(super) fn missing_in_order(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let order: BTreeSet<&str> = order_of(task).iter().map(String::as_str).collect();
        let missing: Vec<&str> =
            task.actions().map(|action| action.raw.action_id.as_str()).filter(|id| !order.contains(id)).collect();
        let is_said = !order.is_empty() && !missing.is_empty();
        let message = format!("the order leaves out {}", missing.join(", "));
        is_said.then(|| {
            Problem::new(task.pointer("/executionWorkflow/executionOrder"), message)
                .hint("they run behind the others of their phase, in the order they are written")
        })
    };
    subject.tasks().filter_map(of_task).collect()
}

/// Reports ids in `after` that no step of the task has, and every `after` of an action that is no step.
pub(super) fn unknown_after(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let steps: BTreeSet<&str> = task.raw.test_execution.steps.iter().map(|step| step.action_id.as_str()).collect();
        let mut findings = Vec::new();
        for action in task.actions() {
            let after = action.raw.proctor.as_ref().map(|added| added.after.as_slice()).unwrap_or_default();
            for (index, id) in after.iter().enumerate() {
                let place = format!("/proctor/after/{index}");
                if action.phase != ActionPhase::Step {
                    let finding = action.finding(&place, "only a step can wait for another action");
                    findings.push(finding.hint("prerequisites and cleanup run in the order they are written"));
                } else if !steps.contains(id.as_str()) {
                    let finding = action.finding(&place, format!("`{id}` is no step of the task"));
                    findings.push(finding.nearest(nearest(id, steps.iter().copied())));
                }
            }
        }
        findings
    };
    subject.tasks().flat_map(of_task).collect()
}

/// Reports steps that wait for themselves through `after`, directly or by way of other steps.
pub(super) fn after_cycles(subject: &Subject<'_>) -> Vec<Problem> {
    let of_task = |task: Task<'_>| {
        let edges: BTreeMap<&str, Vec<&str>> = task
            .actions()
            .filter_map(|action| {
                let after = &action.raw.proctor.as_ref()?.after;
                Some((action.raw.action_id.as_str(), after.iter().map(String::as_str).collect()))
            })
            .collect();
        let circular = circular(edges);
        let circular = task.actions().filter(|action| circular.contains(action.raw.action_id.as_str()));
        let findings = circular.map(|action| {
            action.finding("/proctor/after", format!("`{}` waits for itself", action.raw.action_id)).hint("remove one of the ids")
        });
        findings.collect::<Vec<_>>()
    };
    subject.tasks().flat_map(of_task).collect()
}

fn order_of(task: Task<'_>) -> &[String] {
    let workflow = task.raw.execution_workflow.as_ref();
    workflow.and_then(|workflow| workflow.execution_order.as_deref()).unwrap_or_default()
}

fn order_pointer(task: Task<'_>, index: usize) -> String {
    task.pointer(&format!("/executionWorkflow/executionOrder/{index}"))
}
