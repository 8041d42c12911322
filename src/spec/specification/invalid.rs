//! Finds the actions in which a specification has errors, as far as the actions can be read. Each such action becomes
//! an entry in the report of the refused run.

use serde::Deserialize as _;
use serde_json::Value;

use crate::model::{ActionId, ActionOutline, ActionPhase, ActionType, Problem};

/// The keys of a task's three lists of actions, each with the phase of its actions.
const LISTS: [(&str, ActionPhase); 3] =
    [("prerequisites", ActionPhase::Prerequisite), ("steps", ActionPhase::Step), ("cleanup", ActionPhase::Cleanup)];

/// The parameters that name an action's command, address, file or script. A report shows the first of these that the
/// action has.
const SAYS_WHAT: [&str; 4] = ["command", "url", "filePath", "scriptPath"];

/// An action with errors in its specification that prevent the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidAction {
    pub task: String,
    pub pointer: String,
    /// The action's id, type and texts, from which a report builds the action's entry.
    pub outline: ActionOutline,
}

impl InvalidAction {
    /// Returns whether a JSON pointer leads to the action or into it.
    pub fn has(&self, instance_path: &str) -> bool {
        instance_path.strip_prefix(self.pointer.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Returns the actions with hard faults (those that prevent the run), by task id and then in the order of the task's
/// lists. An action without a readable type is left out; its faults appear only at the top of the report.
pub(super) fn invalid_actions(document: &Value, faults: &[Problem]) -> Vec<InvalidAction> {
    let hard = || faults.iter().filter(|fault| fault.is_hard());
    let Some(tasks) = document.get("tasks").and_then(Value::as_object) else { return Vec::new() };
    let mut found = Vec::new();
    for (task, value) in tasks {
        for (list, phase) in LISTS {
            let actions = value.pointer(&format!("/testExecution/{list}")).and_then(Value::as_array);
            for (index, action) in actions.into_iter().flatten().enumerate() {
                let pointer = format!("/tasks/{}/testExecution/{list}/{index}", task.replace('~', "~0").replace('/', "~1"));
                if let Some(action) = read(task, pointer, (phase, index + 1), action)
                    && hard().any(|fault| action.has(&fault.pointer) || fault.further_pointers().any(|one| action.has(one)))
                {
                    found.push(action);
                }
            }
        }
    }
    found
}

fn read(task: &str, pointer: String, (phase, number): (ActionPhase, usize), action: &Value) -> Option<InvalidAction> {
    let text = |key: &str| action.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let parameters = action.get("parameters");
    let said = SAYS_WHAT.iter().find_map(|key| parameters?.get(key)?.as_str());
    Some(InvalidAction {
        task: task.to_owned(),
        pointer,
        outline: ActionOutline {
            phase,
            id: ActionId::try_from(text("actionId")).unwrap_or_else(|_| ActionId::numbered(phase.prefix(), number)),
            action_type: ActionType::deserialize(action.get("type")?).ok()?,
            description: text("description"),
            subject: said.unwrap_or_default().to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Gravity;

    fn fault(instance_path: &str, gravity: Gravity) -> Problem {
        Problem { gravity, ..Problem::new(instance_path, "wrong") }
    }

    #[test]
    fn an_action_is_invalid_where_a_hard_fault_stands_in_it_and_it_can_be_read() {
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
        let invalid = invalid_actions(&document, &faults);
        let seen: Vec<_> = invalid
            .iter()
            .map(|action| (action.outline.id.as_str(), action.outline.phase, action.outline.subject.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                ("STEP.1", ActionPhase::Step, "make"),
                ("STEP.4", ActionPhase::Step, "make"),
                ("STEP.11", ActionPhase::Step, "make"),
                (invalid[3].outline.id.as_str(), ActionPhase::Cleanup, "make"),
            ]
        );
        assert_eq!(invalid[3].outline.action_type, ActionType::HttpRequest);
        assert!(invalid_actions(&json!([1]), &faults).is_empty() && invalid_actions(&document, &[]).is_empty());
    }
}
