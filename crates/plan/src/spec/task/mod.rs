//! Turns a task of a test specification into a plan. Every field of the format changes the plan, is for people, or is
//! reported by a lint rule that says why it has no effect.
//!
//! Pure and without errors: the lint has refused everything that cannot be planned. Concepts that plans do not have,
//! such as paths of another machine or a server for all tasks, are translated here, so that code which runs plans knows
//! nothing about specifications.

mod action;
mod client;
mod criteria;
mod kind;
mod policy;
mod server;
#[cfg(test)]
mod tests;

pub(in crate::spec) use kind::plain_command;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::config::Configuration;
use crate::spec::approval::plan_settings;
use crate::spec::network::with_network;
use crate::spec::review::hold_behind_reviews;
use crate::spec::specification::{
    FilledPlaceholder, RawAction, RawTask, SUITE_TIMEOUT, Specification, SpecificationContext, below,
};
use crate::spec::task::criteria::{criteria, debt};
use crate::spec::task::policy::strictness_terms;
use proctor_model::{
    Action, ActionId, ActionPhase, ApprovalTerms, Plan, PlanNote, PlanOrigin, Problem, SpecificationSource, TaskId, quoted_text,
};
use proctor_tools::ProjectFiles;

/// The project whose task is planned: its root, its files and its settings.
#[derive(Clone, Copy)]
pub struct TaskContext<'s> {
    pub project: SpecificationContext<'s>,
    pub files: &'s dyn ProjectFiles,
    /// The project's settings: limits and policies for which the specification has no value. The checks, prerequisites
    /// and cleanups in it belong to the task `default` only.
    pub configuration: &'s Configuration,
}

/// Makes the plan of a task; `None` if the specification has no such task. `faults` are all faults of the
/// specification. A fault that does not prevent runs becomes a note of the plan if it is about this task or about all
/// tasks.
pub fn resolve_task(specification: &Specification, task: &TaskId, faults: &[Problem], around: TaskContext<'_>) -> Option<Plan> {
    let raw = specification.raw.tasks.get(task.as_str())?;
    let notes = faults.iter().filter(|fault| is_about(fault, task)).map(note).collect();
    let mut resolver = Resolver { specification, task: raw, around, notes, described: described(raw) };
    Some(resolver.plan(task))
}

/// Makes the plan of one task. The field `notes` collects the remarks for people that the plan will show.
struct Resolver<'s> {
    specification: &'s Specification,
    task: &'s RawTask,
    around: TaskContext<'s>,
    notes: Vec<PlanNote>,
    /// How many actions have the same description. The key is the description, split into words.
    described: BTreeMap<Vec<&'s str>, usize>,
}

impl Resolver<'_> {
    fn plan(&mut self, task: &TaskId) -> Plan {
        let (raw, execution) = (&self.specification.raw, &self.task.test_execution);
        // The development server and the workflow's checks come first, because the task's own prerequisites may use the
        // server. Where one of these starts it, those before it make it ready, and the checks follow it.
        let mut before = self.actions(ActionPhase::Prerequisite, &in_order(self.task, &execution.prerequisites));
        let server = self.server_prerequisite().map(|server| server.action_id.as_str());
        let place = before.iter().position(|action| Some(action.id.as_str()) == server).map_or(0, |place| place + 1);
        let after = before.split_off(place);
        let mut prerequisites: Vec<Action> = self.dev_server().into_iter().chain(before).collect();
        prerequisites.extend(self.workflow_checks());
        prerequisites.extend(after);
        let mut steps = self.actions(ActionPhase::Step, &execution.steps.iter().collect::<Vec<_>>());
        let mut cleanup = self.actions(ActionPhase::Cleanup, &in_order(self.task, &execution.cleanup));
        for action in prerequisites.iter_mut().chain(&mut steps).chain(&mut cleanup) {
            *action = with_network(action.clone(), None, self.around.configuration);
        }
        let steps_there: BTreeSet<&str> = execution.steps.iter().map(|step| step.action_id.as_str()).collect();
        let ordered = order_of(self.task).iter().filter(|id| steps_there.contains(id.as_str()));
        let order: Vec<ActionId> = ordered.map(|id| action_id(id)).collect();
        let parallel = self.task.execution_workflow.as_ref().and_then(|workflow| workflow.parallel_execution) == Some(true);
        // If steps may run in parallel, only the steps that name a review in `after` wait for it.
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
            filled: self.filled(task),
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
            // The approval terms come from the project's settings. The caller of `resolve_task` has read them and adds
            // them to the plan.
            approval: ApprovalTerms::default(),
            tests_not_run: None,
            settings: plan_settings(self.around.configuration),
            notes: std::mem::take(&mut self.notes),
        }
    }

    /// Returns the values that fill placeholders of this task, or of the parts of the specification for all tasks. Also notes them for
    /// people.
    fn filled(&mut self, task: &TaskId) -> BTreeMap<String, String> {
        let concerns = |filled: &&FilledPlaceholder| filled.pointers.iter().any(|pointer| concerns_task(pointer, task));
        let filled: Vec<_> = self.specification.filled.iter().filter(|(_, filled)| concerns(filled)).collect();
        let shown: Vec<String> = filled
            .iter()
            .map(|(name, filled)| match &filled.value {
                Some(value) => format!("`{name}` is {} ({})", quoted_text(value), filled.source.words()),
                None => format!("`{name}` is a secret ({})", filled.source.words()),
            })
            .collect();
        if !shown.is_empty() {
            self.note("placeholders", shown.join(", "));
        }
        filled.into_iter().filter_map(|(name, filled)| Some((name.clone(), filled.value.clone()?))).collect()
    }

    fn actions(&mut self, phase: ActionPhase, raw: &[&RawAction]) -> Vec<Action> {
        raw.iter().enumerate().map(|(index, raw)| self.action(phase, index + 1, raw)).collect()
    }

    /// Returns the time limit for prerequisites and steps together.
    fn suite_timeout(&self) -> Duration {
        Duration::from_millis(self.specification.raw.global_configuration.timeout.unwrap_or(SUITE_TIMEOUT))
    }

    /// Returns a path of the specification as a path relative to the project; empty for the project's root.
    fn path(&self, written: &str) -> String {
        let root = &self.specification.raw.global_configuration.workspace_root;
        below(root, written).expect("the lint refuses a path that leaves the project").join("/")
    }

    fn note(&mut self, subject: &str, message: impl Into<String>) {
        self.notes.push(PlanNote { subject: subject.to_owned(), message: message.into() });
    }
}

/// Returns a phase's actions in the order in which they run: first the actions that `executionOrder` names, then all
/// other actions in the order of the specification.
pub(super) fn in_order<'a>(task: &RawTask, actions: &'a [RawAction]) -> Vec<&'a RawAction> {
    // If `executionOrder` names an id twice, the first position counts.
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
    !fault.is_hard() && concerns_task(&fault.pointer, task)
}

/// Returns whether a value belongs to a task, or to what a specification says for all tasks.
fn concerns_task(pointer: &str, task: &TaskId) -> bool {
    pointer.strip_prefix("/tasks/").is_none_or(|rest| rest.split('/').next() == Some(task.as_str()))
}

fn note(fault: &Problem) -> PlanNote {
    PlanNote { subject: fault.pointer.clone(), message: fault.message.clone() }
}
