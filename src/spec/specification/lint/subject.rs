//! What the rules look at.

use std::path::Path;

use serde_json::Value;

use crate::model::{ActionPhase, Problem};
use crate::spec::specification::raw::{RawAction, RawSpecification, RawTask, RawTerminalCommandParameters};
use crate::spec::specification::scan::member;

/// A specification and its surroundings.
pub(in crate::spec::specification) struct Subject<'s> {
    /// What it says.
    pub(super) raw: &'s RawSpecification,
    /// The same as it is written, unknown keys left out.
    pub(super) document: &'s Value,
    /// The root of the project it belongs to.
    pub(super) project_root: &'s Path,
}

/// A task with its key.
#[derive(Clone, Copy)]
pub(super) struct Task<'s> {
    /// Its key.
    pub(super) key: &'s str,
    /// The task.
    pub(super) raw: &'s RawTask,
}

/// An action and where it stands.
pub(super) struct Action<'s> {
    /// The phase it belongs to.
    pub(super) phase: ActionPhase,
    /// The action.
    pub(super) raw: &'s RawAction,
    task: Task<'s>,
    /// The key of its list, and its place in there.
    place: (&'static str, usize),
}

impl<'s> Subject<'s> {
    /// Returns the subject of a specification.
    pub(in crate::spec::specification) fn new(raw: &'s RawSpecification, document: &'s Value, project_root: &'s Path) -> Self {
        Self { raw, document, project_root }
    }

    /// Returns the tasks in the order of their keys.
    pub(super) fn tasks(&self) -> impl Iterator<Item = Task<'s>> {
        self.raw.tasks.iter().map(|(key, raw)| Task { key, raw })
    }

    /// Returns the actions of all tasks; those of a browser validation are not among them.
    pub(super) fn actions(&self) -> impl Iterator<Item = Action<'s>> {
        self.tasks().flat_map(|task| task.actions())
    }

    /// Returns the actions that run a command, with their parameters.
    pub(super) fn commands(&self) -> impl Iterator<Item = (Action<'s>, &'s RawTerminalCommandParameters)> {
        self.actions().filter_map(|action| action.raw.parameters.command().map(|parameters| (action, parameters)))
    }
}

impl<'s> Task<'s> {
    /// Returns the pointer of something of the task.
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

impl Action<'_> {
    /// Returns its pointer, which is made anew each time: dozens of rules look at all actions, and hardly one finds anything.
    pub(super) fn pointer(&self) -> String {
        let (name, index) = self.place;
        self.task.pointer(&format!("/testExecution/{name}/{index}"))
    }

    /// Returns a problem with something of the action.
    pub(super) fn finding(&self, rest: &str, message: impl Into<String>) -> Problem {
        Problem::new(format!("{}{rest}", self.pointer()), message)
    }
}
