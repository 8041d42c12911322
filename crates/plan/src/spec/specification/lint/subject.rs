//! The input of the lint rules: a specification with its tasks and actions, and the JSON pointers to them for findings.

use std::path::Path;

use serde_json::Value;

use crate::spec::specification::fill::OpenPlaceholder;
use crate::spec::specification::lint::servers::server_prerequisite;
use crate::spec::specification::raw::{
    RawAction, RawDatabaseQueryParameters, RawParameters, RawSpecification, RawTask, RawTerminalCommandParameters,
};
use crate::spec::specification::scan::member;
use proctor_model::{ActionPhase, Problem};

/// A specification and the project to which it belongs.
pub(in crate::spec::specification) struct Subject<'s> {
    pub(super) raw: &'s RawSpecification,
    /// The specification as JSON, without unknown keys. Rules that look at every value use it in place of `raw`.
    pub(super) document: &'s Value,
    pub(super) project_root: &'s Path,
    /// The placeholders without a value.
    pub(super) open: &'s [OpenPlaceholder],
}

#[derive(Clone, Copy)]
pub(super) struct Task<'s> {
    /// The task's key in the object `tasks` of the file.
    pub(super) key: &'s str,
    pub(super) raw: &'s RawTask,
}

/// An action of a task, with what is needed for the JSON pointer to it.
pub(super) struct Action<'s> {
    pub(super) phase: ActionPhase,
    pub(super) raw: &'s RawAction,
    task: Task<'s>,
    /// The key of the action's list, and the action's position in the list, counted from 0.
    place: (&'static str, usize),
}

impl<'s> Subject<'s> {
    pub(in crate::spec::specification) fn new(
        raw: &'s RawSpecification,
        document: &'s Value,
        project_root: &'s Path,
        open: &'s [OpenPlaceholder],
    ) -> Self {
        Self { raw, document, project_root, open }
    }

    /// Returns the tasks in the order of their keys.
    pub(super) fn tasks(&self) -> impl Iterator<Item = Task<'s>> {
        self.raw.tasks.iter().map(|(key, raw)| Task { key, raw })
    }

    /// Returns the actions of all tasks, without those for validation in a browser.
    pub(super) fn actions(&self) -> impl Iterator<Item = Action<'s>> {
        self.tasks().flat_map(|task| task.actions())
    }

    /// Returns the actions that run a command, with their parameters.
    pub(super) fn commands(&self) -> impl Iterator<Item = (Action<'s>, &'s RawTerminalCommandParameters)> {
        self.actions().filter_map(|action| action.raw.parameters.command().map(|parameters| (action, parameters)))
    }

    /// Returns whether an action is the prerequisite that starts the development server.
    pub(super) fn is_dev_server(&self, action: &Action<'_>) -> bool {
        let server = || server_prerequisite(&self.raw.global_configuration, action.task.raw);
        action.phase == ActionPhase::Prerequisite && server().is_some_and(|server| std::ptr::eq(server, action.raw))
    }

    /// Returns whether an action goes on until the steps have ended.
    pub(super) fn is_service(&self, action: &Action<'_>) -> bool {
        action.raw.proctor.as_ref().is_some_and(|added| added.service.is_some()) || self.is_dev_server(action)
    }

    /// Returns the actions that query a database, with their parameters.
    pub(super) fn queries(&self) -> impl Iterator<Item = (Action<'s>, &'s RawDatabaseQueryParameters)> {
        self.actions().filter_map(|action| match &action.raw.parameters {
            RawParameters::DatabaseQuery(query) => Some((action, query)),
            RawParameters::TerminalCommand(_)
            | RawParameters::FileValidation(_)
            | RawParameters::HttpRequest(_)
            | RawParameters::CustomScript(_)
            | RawParameters::DockerCommand(_)
            | RawParameters::McpBrowserCommand(_) => None,
        })
    }
}

impl<'s> Task<'s> {
    /// Returns the JSON pointer to the task with `rest` appended.
    pub(super) fn pointer(&self, rest: &str) -> String {
        format!("{}{rest}", member("/tasks", self.key))
    }

    /// Returns the task's actions in the order of the phases.
    pub(super) fn actions(self) -> impl Iterator<Item = Action<'s>> {
        let execution = &self.raw.test_execution;
        let phases = [
            (ActionPhase::Prerequisite, "prerequisites", &execution.prerequisites),
            (ActionPhase::Step, "steps", &execution.steps),
            (ActionPhase::Cleanup, "cleanup", &execution.cleanup),
        ];
        phases.into_iter().flat_map(move |(phase, name, actions)| {
            actions.iter().enumerate().map(move |(index, raw)| Action { phase, raw, task: self, place: (name, index) })
        })
    }
}

impl<'s> Action<'s> {
    /// Returns the JSON pointer to the action. The pointer is computed only when a rule finds a fault: dozens of rules
    /// look at every action, and few find one.
    pub(super) fn pointer(&self) -> String {
        let (name, index) = self.place;
        self.task.pointer(&format!("/testExecution/{name}/{index}"))
    }

    /// Returns a problem whose JSON pointer is the action's with `rest` appended.
    pub(super) fn finding(&self, rest: &str, message: impl Into<String>) -> Problem {
        Problem::new(format!("{}{rest}", self.pointer()), message)
    }
}
