//! From a task of a test specification to a plan. Every field of the format changes the plan, is for people, or is named by a row of
//! the lint that says why it changes nothing.
//!
//! Pure, and it has no errors of its own: what cannot be planned, the lint has refused. What has no place in the format of a plan
//! (paths of another machine, a server for all tasks) is put in its terms here; whoever carries a plan out knows no specification.

mod action;
mod criteria;
mod debt;
mod kind;
mod policy;
mod server;
#[cfg(test)]
mod tests;

pub(in crate::spec) use kind::plain_command;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::config::Configuration;
use crate::model::{
    Action, ActionId, ActionPhase, ApprovalTerms, Plan, PlanNote, PlanOrigin, Problem, SpecificationSource, TaskId,
};
use crate::spec::review::hold_behind_reviews;
use crate::spec::specification::{RawAction, RawTask, SUITE_TIMEOUT, Specification, Surroundings, below};
use crate::spec::task::criteria::criteria;
use crate::spec::task::debt::debt;
use crate::spec::task::policy::strictness_terms;
use crate::tools::ProjectFiles;

/// What is around a task that is planned.
#[derive(Clone, Copy)]
pub struct TaskSurroundings<'s> {
    /// The project.
    pub project: Surroundings<'s>,
    /// Its files.
    pub files: &'s dyn ProjectFiles,
    /// Its settings: limits and policies that the specification says nothing about. Its checks, prerequisites and cleanup are the
    /// task `default`'s own.
    pub configuration: &'s Configuration,
}

/// Makes the plan of a task; none where the specification has no such task. `faults` are those of the specification's reading: the
/// soft ones that are about this task, or about all, become notes of the plan.
pub fn resolve_task(
    specification: &Specification,
    task: &TaskId,
    faults: &[Problem],
    around: TaskSurroundings<'_>,
) -> Option<Plan> {
    let raw = specification.raw.tasks.get(task.as_str())?;
    let notes = faults.iter().filter(|fault| is_about(fault, task)).map(note).collect();
    let mut resolver = Resolver { specification, task: raw, around, notes, described: described(raw) };
    Some(resolver.plan(task))
}

/// What a task is resolved with.
struct Resolver<'s> {
    specification: &'s Specification,
    task: &'s RawTask,
    around: TaskSurroundings<'s>,
    notes: Vec<PlanNote>,
    /// How many actions of the task have a description, in single words.
    described: BTreeMap<Vec<&'s str>, usize>,
}

impl Resolver<'_> {
    fn plan(&mut self, task: &TaskId) -> Plan {
        let (raw, execution) = (&self.specification.raw, &self.task.test_execution);
        // What holds before the first action comes before the task's own prerequisites, and those may look at the server.
        let mut prerequisites: Vec<Action> = self.dev_server().into_iter().collect();
        prerequisites.extend(self.workflow_checks());
        prerequisites.extend(self.actions(ActionPhase::Prerequisite, &in_order(self.task, &execution.prerequisites)));
        let mut steps = self.actions(ActionPhase::Step, &execution.steps.iter().collect::<Vec<_>>());
        let cleanup = self.actions(ActionPhase::Cleanup, &in_order(self.task, &execution.cleanup));
        let steps_there: BTreeSet<&str> = execution.steps.iter().map(|step| step.action_id.as_str()).collect();
        let ordered = order_of(self.task).iter().filter(|id| steps_there.contains(id.as_str()));
        let order: Vec<ActionId> = ordered.map(|id| action_id(id)).collect();
        let parallel = self.task.execution_workflow.as_ref().and_then(|workflow| workflow.parallel_execution) == Some(true);
        // Of steps that may go on at the same time, those come after a review that say so.
        if !parallel {
            hold_behind_reviews(&mut steps, &order);
        }
        let source = SpecificationSource {
            file: self.specification.file.clone(),
            schema_version: raw.schema_version.clone(),
            task_title: self.task.title.clone(),
            sprint_id: raw.metadata.sprint_id.clone(),
            dependencies: self.task.dependencies.iter().filter_map(|id| TaskId::try_from(id.as_str()).ok()).collect(),
            strictness: strictness_terms(raw.global_configuration.validation_policy.as_ref()),
        };
        Plan {
            task: task.clone(),
            project_name: raw.metadata.project_name.clone(),
            origin: PlanOrigin::Specification,
            specification: Some(source),
            prerequisites,
            steps,
            cleanup,
            criteria: Some(criteria(self.task)),
            debt: Some(debt(raw.technical_debt_configuration.as_ref(), self.task)),
            order,
            parallel,
            timeout: Some(self.suite_timeout()),
            // The project's own settings say that, and whoever asks for the plan has read them.
            approval: ApprovalTerms::default(),
            notes: std::mem::take(&mut self.notes),
        }
    }

    fn actions(&mut self, phase: ActionPhase, raw: &[&RawAction]) -> Vec<Action> {
        raw.iter().enumerate().map(|(index, raw)| self.action(phase, index + 1, raw)).collect()
    }

    /// Returns how long prerequisites and steps may take together.
    fn suite_timeout(&self) -> Duration {
        Duration::from_millis(self.specification.raw.global_configuration.timeout.unwrap_or(SUITE_TIMEOUT))
    }

    /// Returns a path below the project; empty for its root.
    fn path(&self, written: &str) -> String {
        let root = &self.specification.raw.global_configuration.workspace_root;
        below(root, written).expect("the lint refuses a path that leaves the project").join("/")
    }

    fn note(&mut self, subject: &str, message: impl Into<String>) {
        self.notes.push(PlanNote { subject: subject.to_owned(), message: message.into() });
    }
}

/// Returns the actions of a phase that is carried out in the order of its list: as `executionOrder` has them, the others behind.
fn in_order<'a>(task: &RawTask, actions: &'a [RawAction]) -> Vec<&'a RawAction> {
    // An id that stands twice has its first place.
    let places: BTreeMap<&str, usize> = order_of(task).iter().enumerate().rev().map(|(place, id)| (id.as_str(), place)).collect();
    let mut actions: Vec<&RawAction> = actions.iter().collect();
    actions.sort_by_key(|action| places.get(action.action_id.as_str()).copied().unwrap_or(usize::MAX));
    actions
}

fn described(task: &RawTask) -> BTreeMap<Vec<&str>, usize> {
    let execution = &task.test_execution;
    let actions = execution.prerequisites.iter().chain(&execution.steps).chain(&execution.cleanup);
    let checks = task.execution_workflow.iter().flat_map(|workflow| &workflow.prerequisites);
    let mut described = BTreeMap::new();
    for description in actions.map(|action| &action.description).chain(checks.map(|check| &check.description)) {
        *described.entry(description.split_whitespace().collect()).or_default() += 1;
    }
    described
}

fn order_of(task: &RawTask) -> &[String] {
    let workflow = task.execution_workflow.as_ref();
    workflow.and_then(|workflow| workflow.execution_order.as_deref()).unwrap_or_default()
}

fn action_id(id: &str) -> ActionId {
    ActionId::try_from(id).expect("the lint refuses ids that are none")
}

fn is_about(fault: &Problem, task: &TaskId) -> bool {
    let of_a_task = fault.pointer.strip_prefix("/tasks/");
    !fault.is_hard() && of_a_task.is_none_or(|rest| rest.split('/').next() == Some(task.as_str()))
}

fn note(fault: &Problem) -> PlanNote {
    PlanNote { subject: fault.pointer.clone(), message: fault.message.clone() }
}
