//! Why a task of a test specification has no plan, in words for people.

use proctor_model::{BrokenRule, CommandExit, Problem, TaskId, TextPosition};
use proctor_plan::config::nearest;
use proctor_plan::spec::specification::{OutlinedAction, SPECIFICATION_SUFFIX};

/// Why a task of a specification has no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// No specification has the task.
    #[error("no test specification has a task `{task}`")]
    Unknown {
        task: TaskId,
        /// The tasks of all specifications.
        known: Vec<String>,
        /// The specification files without a readable task. The wanted task may be in one of them.
        torn: Vec<String>,
    },
    /// Several specifications have the task.
    #[error("{} {} have a task `{task}`", joined(places), if places.len() == 2 { "both" } else { "all" })]
    Twice {
        task: TaskId,
        places: Vec<TaskPlace>,
        /// The actions of the task in the first file.
        actions: Vec<OutlinedAction>,
    },
    /// The specification has errors that make a run impossible.
    #[error("`{file}` has {}: nothing was run", counted(faults.len()))]
    Wrong {
        file: String,
        /// The errors with their positions.
        faults: Vec<Problem>,
        /// The actions of the task, as far as the file can be read.
        actions: Vec<OutlinedAction>,
    },
    /// The settings are wrong for the task: in `[approval]`, so it is unknown who may approve a weakening, or in `[sandbox]`, with whose
    /// network a request of the task cannot be sent.
    #[error("the configuration is wrong: nothing was run")]
    Approval {
        /// The error, with its position and a hint.
        problem: String,
    },
}

/// Where a specification has a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskPlace {
    /// The specification's path, relative to the project.
    pub file: String,
    /// The position of the task's key; `None` if it is not known.
    pub position: Option<TextPosition>,
}

/// The errors for which a run is refused, and the task's actions: what the report of the refused run is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecificationFaults {
    /// The specification's path, relative to the project.
    pub file: String,
    /// The errors, each with its file and its position.
    pub faults: Vec<Problem>,
    /// The actions of the task, as far as the file can be read.
    pub actions: Vec<OutlinedAction>,
}

impl TaskError {
    /// Returns the exit code of a command that fails with this error (G5).
    pub fn exit(&self) -> CommandExit {
        match self {
            Self::Unknown { .. } => CommandExit::Usage,
            Self::Twice { .. } | Self::Wrong { .. } | Self::Approval { .. } => CommandExit::SpecificationWrong,
        }
    }

    /// Returns the errors of the specification for which a run of the task is refused; `None` if the specification has no
    /// errors.
    pub fn into_faults(self) -> Option<SpecificationFaults> {
        match self {
            Self::Wrong { file, faults, actions } => Some(SpecificationFaults { file, faults, actions }),
            Self::Twice { task, places, actions } => {
                let faults = places.iter().map(|place| twice(&task, place, &places)).collect();
                let file = places.into_iter().next().map(|place| place.file).unwrap_or_default();
                Some(SpecificationFaults { file, faults, actions })
            }
            Self::Unknown { .. } | Self::Approval { .. } => None,
        }
    }

    /// Returns the lines that follow the message with details, such as the single errors of a specification.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Unknown { .. } | Self::Twice { .. } => Vec::new(),
            Self::Wrong { faults, .. } => faults.iter().map(ToString::to_string).collect(),
            Self::Approval { problem } => vec![problem.clone()],
        }
    }

    /// Returns advice on what to do next.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Twice { .. } => vec![ONE_OF_THEM.to_owned()],
            Self::Approval { .. } => vec!["`proctor init --print` shows every setting with its default".to_owned()],
            Self::Wrong { .. } => vec!["`proctor check` says all that is to be said of it, notes too".to_owned()],
            Self::Unknown { task, known, torn } => {
                let near = nearest(task.as_str(), known.iter().map(String::as_str));
                let mut hints: Vec<String> = near.map(|near| format!("did you mean `{near}`?")).into_iter().collect();
                hints.push(match known.as_slice() {
                    [] => format!("tasks are found in files whose names end in `{SPECIFICATION_SUFFIX}`"),
                    [..] => format!("the tasks are: {}", known.join(", ")),
                });
                if !torn.is_empty() {
                    // The wanted task may be in a file whose tasks could not be read.
                    let torn = torn.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                    hints.push(format!("the tasks of {torn} are not known: `proctor check` says why"));
                }
                hints
            }
        }
    }

    /// Returns all lines for people: message, details, hints.
    pub fn lines(&self) -> Vec<String> {
        let details = self.details().into_iter().map(|detail| format!("  {}", detail.replace('\n', "\n  ")));
        let hints = self.hints().into_iter().map(|hint| format!("  hint: {hint}"));
        std::iter::once(self.to_string()).chain(details).chain(hints).collect()
    }
}

const ONE_OF_THEM: &str = "give one of them another id, or remove a file";

/// Returns the error at one of the places at which a task stands.
fn twice(task: &TaskId, place: &TaskPlace, places: &[TaskPlace]) -> Problem {
    let others: Vec<TaskPlace> = places.iter().filter(|other| *other != place).cloned().collect();
    project_problem("TASK_TWICE", format!("/tasks/{task}"), format!("`{task}` is a task of {} too", joined(&others)))
        .within(&place.file, place.position)
        .hint(ONE_OF_THEM)
}

/// Returns an error that only shows when all specification files of the project are compared.
pub(crate) fn project_problem(code: &str, pointer: String, message: String) -> Problem {
    let rule = BrokenRule {
        code: code.to_owned(),
        schema_path: format!("#/project/{code}"),
        keyword: "lint".to_owned(),
        params: serde_json::json!({ "source": "the specifications of a project" }),
        value: None,
    };
    Problem { rule: Some(rule), ..Problem::new(pointer, message) }
}

fn joined(places: &[TaskPlace]) -> String {
    let places: Vec<String> = places.iter().map(TaskPlace::shown).collect();
    match places.as_slice() {
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
        [] => String::new(),
    }
}

impl TaskPlace {
    fn shown(&self) -> String {
        match self.position {
            Some(TextPosition { line, column }) => format!("`{}:{line}:{column}`", self.file),
            None => format!("`{}`", self.file),
        }
    }
}

fn counted(errors: usize) -> String {
    if errors == 1 { "1 error".to_owned() } else { format!("{errors} errors") }
}
