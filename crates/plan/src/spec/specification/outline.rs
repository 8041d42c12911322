//! Outlines of a specification's tasks and actions: as much as can be read of them, even if the specification has errors.
//!
//! The tasks of all files of a project are ordered and compared by their outlines. From the outlines of the actions, the
//! report of a refused run gets an entry for each action.

use serde_json::Value;

use crate::spec::specification::scan::member;
use proctor_model::{ActionId, ActionOutline, ActionPhase, Problem, TextPosition, WrittenActionType};

/// The keys of a task's three lists of actions, each with the phase of its actions.
const LISTS: [(&str, ActionPhase); 3] =
    [("prerequisites", ActionPhase::Prerequisite), ("steps", ActionPhase::Step), ("cleanup", ActionPhase::Cleanup)];

/// The parameters that name an action's command, address, file or script. A report shows the first of these that the
/// action has.
const SAYS_WHAT: [&str; 4] = ["command", "url", "filePath", "scriptPath"];

/// A task of a specification: its id, its title and the tasks that it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOutline {
    /// The task's key in the file.
    pub id: String,
    /// The position of the key; `None` if it is not known.
    pub position: Option<TextPosition>,
    /// The task's title; empty if it cannot be read.
    pub title: String,
    pub dependencies: Vec<DependencyOutline>,
}

/// An entry of a task's `dependencies`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyOutline {
    /// The id of the task that must be complete first.
    pub task: String,
    /// The JSON pointer to the entry.
    pub pointer: String,
    /// The position of the entry; `None` if it is not known.
    pub position: Option<TextPosition>,
}

/// An action of a specification, and whether it has errors that prevent the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlinedAction {
    /// The id of the action's task.
    pub task: String,
    pub phase: ActionPhase,
    /// The JSON pointer to the action.
    pub pointer: String,
    /// The action's id, type and texts, from which a report builds the action's entry.
    pub outline: ActionOutline,
    /// Whether an error that prevents the run stands in the action.
    pub is_invalid: bool,
}

impl OutlinedAction {
    /// Returns whether a JSON pointer leads to the action or into it.
    pub fn has(&self, instance_path: &str) -> bool {
        instance_path.strip_prefix(self.pointer.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns whether an error is about the action or a value in it, also as one of several values.
    pub fn has_fault(&self, fault: &Problem) -> bool {
        self.has(&fault.pointer) || fault.further_pointers().any(|one| self.has(one))
    }
}

/// Returns the tasks of a document, sorted by their ids. `position_of` finds the position of a JSON pointer.
pub(super) fn outline_tasks(document: &Value, position_of: &dyn Fn(&str) -> Option<TextPosition>) -> Vec<TaskOutline> {
    let tasks = document.get("tasks").and_then(Value::as_object);
    let outline = |(id, task): (&String, &Value)| {
        let pointer = member("/tasks", id);
        let dependencies = task.get("dependencies").and_then(Value::as_array).into_iter().flatten().enumerate();
        let dependency = |(index, entry): (usize, &Value)| {
            let pointer = format!("{pointer}/dependencies/{index}");
            Some(DependencyOutline { task: entry.as_str()?.to_owned(), position: position_of(&pointer), pointer })
        };
        TaskOutline {
            id: id.clone(),
            position: position_of(&pointer),
            title: task.get("title").and_then(Value::as_str).unwrap_or_default().to_owned(),
            dependencies: dependencies.filter_map(dependency).collect(),
        }
    };
    let mut tasks: Vec<TaskOutline> = tasks.into_iter().flatten().map(outline).collect();
    tasks.sort_by(|one, other| one.id.cmp(&other.id));
    tasks
}

/// Returns the actions of all tasks, by task id and then in the order of the task's lists. `faults` are the errors of the
/// document.
pub(super) fn outline_actions(document: &Value, faults: &[Problem]) -> Vec<OutlinedAction> {
    let hard = || faults.iter().filter(|fault| fault.is_hard());
    let Some(tasks) = document.get("tasks").and_then(Value::as_object) else { return Vec::new() };
    let mut found = Vec::new();
    for (task, value) in tasks {
        for (list, phase) in LISTS {
            let actions = value.pointer(&format!("/testExecution/{list}")).and_then(Value::as_array);
            for (index, action) in actions.into_iter().flatten().enumerate() {
                let pointer = format!("{}/testExecution/{list}/{index}", member("/tasks", task));
                let outline = outline_of((phase, index + 1), action);
                let plain = OutlinedAction { task: task.clone(), phase, pointer, outline, is_invalid: false };
                found.push(OutlinedAction { is_invalid: hard().any(|fault| plain.has_fault(fault)), ..plain });
            }
        }
    }
    found
}

fn outline_of((phase, number): (ActionPhase, usize), action: &Value) -> ActionOutline {
    let text = |key: &str| action.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let parameters = action.get("parameters");
    let said = SAYS_WHAT.iter().find_map(|key| parameters?.get(key)?.as_str());
    ActionOutline {
        phase,
        id: ActionId::try_from(text("actionId")).unwrap_or_else(|_| ActionId::numbered(phase.prefix(), number)),
        action_type: WrittenActionType::of(action.get("type")),
        description: text("description"),
        subject: said.unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use proctor_model::{ActionType, Gravity};

    fn fault(instance_path: &str, gravity: Gravity) -> Problem {
        Problem { gravity, ..Problem::new(instance_path, "wrong") }
    }

    #[test]
    fn an_action_is_invalid_where_a_hard_fault_stands_in_it_and_has_an_outline_where_it_can_be_read() {
        let step = |id: &str, kind: &str| json!({ "actionId": id, "type": kind, "parameters": { "command": "make" } });
        let mut steps: Vec<Value> = (1..=11).map(|number| step(&format!("STEP.{number}"), "TERMINAL_COMMAND")).collect();
        steps[3] = step("..", "TERMINAL_COMMAND");
        steps[4] = step("STEP.5", "NO_SUCH_TYPE");
        let document =
            json!({ "tasks": { "T/1": { "testExecution": { "steps": steps, "cleanup": [step("CLEAN.1", "HTTP_REQUEST")] } } } });
        let at = |rest: &str| format!("/tasks/T~11/testExecution/{rest}");
        let faults = [
            fault(&at("steps/0/parameters/command"), Gravity::Hard),
            fault(&at("steps/1"), Gravity::Soft),
            fault(&at("steps/3/actionId"), Gravity::Hard),
            fault(&at("steps/4/type"), Gravity::Hard),
            fault(&at("steps/10"), Gravity::Hard),
            fault(&at("cleanup/0/timeout"), Gravity::Hard),
            fault("", Gravity::Hard),
        ];
        let actions = outline_actions(&document, &faults);
        assert_eq!(actions.len(), 12, "all of them, also those without errors");
        let invalid: Vec<&OutlinedAction> = actions.iter().filter(|action| action.is_invalid).collect();
        let seen: Vec<_> = invalid
            .iter()
            .map(|action| {
                let outline = &action.outline;
                (outline.id.as_str(), action.phase, outline.subject.as_str())
            })
            .collect();
        let clean_up = &invalid[4].outline;
        assert_eq!(
            seen,
            [
                ("STEP.1", ActionPhase::Step, "make"),
                ("STEP.4", ActionPhase::Step, "make"),
                ("STEP.5", ActionPhase::Step, "make"),
                ("STEP.11", ActionPhase::Step, "make"),
                (clean_up.id.as_str(), ActionPhase::Cleanup, "make"),
            ]
        );
        assert_eq!(clean_up.action_type, WrittenActionType::Known(ActionType::HttpRequest));
        assert_eq!(invalid[2].outline.action_type, WrittenActionType::of(Some(&json!("NO_SUCH_TYPE"))));
        assert!(outline_actions(&json!([1]), &faults).is_empty());
        assert!(outline_actions(&document, &[]).iter().all(|action| !action.is_invalid));
    }

    #[test]
    fn tasks_are_outlined_whatever_else_is_wrong_with_them() {
        let document = json!({ "tasks": {
            "T2": { "title": "Two", "dependencies": ["T1", 7] },
            "T/1": { "title": 1 },
            "T1": [],
        } });
        let position = |pointer: &str| Some(TextPosition { line: pointer.len(), column: 1 });
        let tasks = outline_tasks(&document, &position);
        assert_eq!(tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["T/1", "T1", "T2"]);
        assert_eq!(tasks[0].position, position("/tasks/T~11"));
        let pointer = "/tasks/T2/dependencies/0".to_owned();
        let dependency = DependencyOutline { task: "T1".to_owned(), position: position(&pointer), pointer };
        assert_eq!((tasks[2].title.as_str(), &tasks[2].dependencies[..]), ("Two", &[dependency][..]));
        assert!(outline_tasks(&json!([]), &position).is_empty());
    }
}
