//! The test specifications of a project: loading it for one of their tasks.

use std::io::{self, ErrorKind};
use std::path::Path;

use crate::cli::commands::{of_run, opening};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::setup::{self, Loaded};
use crate::config::Configuration;
use crate::model::{CommandExit, TaskId};
use crate::process::clock;
use crate::run::{RunError, Specifications, TaskError};
use crate::spec::specification::SPECIFICATION_SUFFIX;
use crate::tree::Index;

/// Loads a project for a task that is named, or for its checks where none is: root, configuration, plan.
pub(crate) fn load(environment: &Environment, directory: &Path, task: Option<&str>) -> Result<Loaded, CommandError> {
    let root = setup::project_root(environment, directory)?;
    reload(&root, &task.map_or_else(|| Ok(TaskId::default_task()), read_task)?)
}

/// Loads a project again for a task, as before every run.
pub(crate) fn reload(root: &Path, task: &TaskId) -> Result<Loaded, CommandError> {
    if *task == TaskId::default_task() {
        return setup::reload(root);
    }
    let (configuration, _) = setup::configuration(root)?;
    let mut specifications = Specifications::default();
    specifications.update(root, &scan(root, &configuration)?);
    let plan = specifications.plan(&configuration, task).map_err(|error| of_task(&error))?;
    Ok(Loaded { root: root.to_owned(), configuration, plan })
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

fn scan(root: &Path, configuration: &Configuration) -> Result<Index, CommandError> {
    let matcher = opening::matcher(configuration)?;
    Index::scan(root, &matcher, clock::now()).map_err(|error| of_run(&RunError::Tree(error)))
}

fn of_task(error: &TaskError) -> CommandError {
    let of = CommandError::of(error.exit(), error);
    let of = error.details().iter().fold(of, |of, detail| of.detail(detail.clone()));
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
