//! The test specifications of a project: loading it for one of their tasks.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::cli::commands::{of_run, opening};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::setup::{self, Loaded};
use crate::config::Configuration;
use crate::model::{CommandExit, TaskId};
use crate::process::clock;
use crate::project::{RunError, Specifications, TaskError};
use crate::spec::specification::SPECIFICATION_SUFFIX;
use crate::tree::TreeIndex;

/// What came of looking for the plan of a task.
pub(crate) enum FoundPlan {
    /// It has one.
    Planned(Box<Loaded>),
    /// Its specification has errors.
    Wrong(Box<WrongSpecification>),
}

/// A task whose specification has errors, in its project.
pub(crate) struct WrongSpecification {
    /// The project's root, with every link resolved.
    pub(crate) root: PathBuf,
    /// The project's settings.
    pub(crate) configuration: Configuration,
    /// The task.
    pub(crate) task: TaskId,
    /// What is wrong, as every command says it.
    pub(crate) error: CommandError,
}

/// Loads a project for a task that is named, or for its checks where none is: root, configuration, plan.
pub(crate) fn load(environment: &Environment, directory: &Path, task: Option<&str>) -> Result<Loaded, CommandError> {
    found(find(environment, directory, task)?)
}

/// Looks for the plan of a task that is named, or for that of the checks where none is.
pub(crate) fn find(environment: &Environment, directory: &Path, task: Option<&str>) -> Result<FoundPlan, CommandError> {
    let root = setup::project_root(environment, directory)?;
    find_in(&root, &task.map_or_else(|| Ok(TaskId::default_task()), read_task)?)
}

/// Loads a project again for a task, as before every run.
pub(crate) fn reload(root: &Path, task: &TaskId) -> Result<Loaded, CommandError> {
    found(find_in(root, task)?)
}

fn found(found: FoundPlan) -> Result<Loaded, CommandError> {
    match found {
        FoundPlan::Planned(loaded) => Ok(*loaded),
        FoundPlan::Wrong(wrong) => Err(wrong.error),
    }
}

fn find_in(root: &Path, task: &TaskId) -> Result<FoundPlan, CommandError> {
    if *task == TaskId::default_task() {
        return setup::reload(root).map(|loaded| FoundPlan::Planned(Box::new(loaded)));
    }
    let (configuration, _) = setup::configuration(root)?;
    let mut specifications = Specifications::default();
    specifications.update(root, &scan(root, &configuration)?);
    let root = root.to_owned();
    match specifications.plan(&configuration, task) {
        Ok(plan) => Ok(FoundPlan::Planned(Box::new(Loaded { root, configuration, plan }))),
        Err(error @ TaskError::Wrong { .. }) => {
            let error = of_task(&error);
            Ok(FoundPlan::Wrong(Box::new(WrongSpecification { root, configuration, task: task.clone(), error })))
        }
        Err(error @ (TaskError::Unknown { .. } | TaskError::Twice { .. } | TaskError::Approval { .. })) => Err(of_task(&error)),
    }
}

/// Reads a task's id as it was typed.
pub(crate) fn read_task(text: &str) -> Result<TaskId, CommandError> {
    TaskId::try_from(text)
        .map_err(|error| CommandError::of(CommandExit::Usage, &error).hint("tasks have ids such as `T117`, or `default`"))
}

/// Returns the names of the specifications that belong to a project's tree, sorted.
pub(crate) fn names(root: &Path, configuration: &Configuration) -> Result<Vec<String>, CommandError> {
    let index = scan(root, configuration)?;
    let mut names: Vec<String> = index
        .named(&|name| name.ends_with(SPECIFICATION_SUFFIX.as_bytes()))
        .into_iter()
        .filter_map(|(path, _)| path.as_path().to_str().map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

fn scan(root: &Path, configuration: &Configuration) -> Result<TreeIndex, CommandError> {
    let matcher = opening::matcher(configuration)?;
    TreeIndex::scan(root, &matcher, clock::now()).map_err(|error| of_run(&RunError::Tree(error)))
}

fn of_task(error: &TaskError) -> CommandError {
    let of = CommandError::of(error.exit(), error);
    let of = error.details().into_iter().fold(of, CommandError::detail);
    error.hints().into_iter().fold(of, CommandError::hint)
}

/// Says why a file cannot be read, and what to do.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    let hint = if error.kind() == ErrorKind::NotFound {
        "name a file that is there, or none for every one of the project"
    } else if error.kind() == ErrorKind::InvalidData {
        "save the file in UTF-8"
    } else {
        "name a file you may read"
    };
    CommandError::caused(CommandExit::Usage, format!("`{}` cannot be read", path.display()), error).hint(hint)
}
