//! Loads a project for a task of a test specification.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::cli::commands::{from_run_error, opening};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::setup::{self, LoadedProject};
use crate::config::{Configuration, judged_settings};
use crate::model::{CommandExit, TaskId};
use crate::process::clock;
use crate::project::{ProjectError, SPECIFICATION_SEARCH, Specifications, TaskError};
use crate::spec::{first_settings, weaker_settings};
use crate::tree::TreeIndex;

/// What reading a task's specification gave: a plan, or the errors.
pub(crate) enum FoundPlan {
    Planned(Box<LoadedProject>),
    /// The task's specification has errors.
    Wrong(Box<WrongSpecification>),
}

/// A task whose specification has errors.
pub(crate) struct WrongSpecification {
    /// The root's path with all links resolved.
    pub(crate) root: PathBuf,
    pub(crate) configuration: Configuration,
    pub(crate) task: TaskId,
    pub(crate) error: CommandError,
}

/// Loads a project for a task, or for the project's own checks if no task is named.
pub(crate) fn load(environment: &Environment, directory: &Path, task: Option<&str>) -> Result<LoadedProject, CommandError> {
    found(find(environment, directory, task)?)
}

/// Loads a project for a question about approvals, for which no task is named: the plan of the project's own checks, or of its
/// first task if it has no checks of its own. The settings belong to the project as a whole, so the plan of any task asks for
/// them.
pub(crate) fn load_for_approval(environment: &Environment, directory: &Path) -> Result<LoadedProject, CommandError> {
    let root = setup::project_root(environment, directory)?;
    let (configuration, plan) = setup::describe(&root)?;
    let error = match plan {
        Ok(plan) => return Ok(LoadedProject { root, configuration, plan }),
        Err(error) if !configuration.checks.is_empty() => return Err(error),
        Err(error) => error,
    };
    let mut specifications = Specifications::default();
    specifications.update(&root, &scan(&root, &configuration)?);
    let planned = specifications.tasks().into_iter().find_map(|task| specifications.plan(&configuration, &task).ok());
    if let Some(plan) = planned {
        render::note(&format!("the project has no checks of its own: this is about its settings and task `{}`", plan.task));
        return Ok(LoadedProject { root, configuration, plan });
    }
    let now = judged_settings(&configuration);
    let wider = weaker_settings(&first_settings(&now), &now, &configuration.allowed);
    let error = error.detail("so nothing is run, and nothing waits for an approval");
    let Some(first) = wider.first() else { return Err(error) };
    let rest = wider.iter().skip(1).map(|setting| format!("  {}", setting.text));
    let error = error.detail("the first run will ask for these settings:").detail(format!("  {}", first.text));
    Err(rest.fold(error, CommandError::detail))
}

/// Finds the plan of a task, or of the project's own checks if no task is named.
pub(crate) fn find(environment: &Environment, directory: &Path, task: Option<&str>) -> Result<FoundPlan, CommandError> {
    let root = setup::project_root(environment, directory)?;
    find_in(&root, &task.map_or_else(|| Ok(TaskId::default_task()), read_task)?)
}

/// Reads a project's configuration and a task's plan again, so that changes take effect before the next run.
pub(crate) fn reload(root: &Path, task: &TaskId) -> Result<LoadedProject, CommandError> {
    found(find_in(root, task)?)
}

fn found(found: FoundPlan) -> Result<LoadedProject, CommandError> {
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
        Ok(plan) => Ok(FoundPlan::Planned(Box::new(LoadedProject { root, configuration, plan }))),
        Err(error @ TaskError::Wrong { .. }) => {
            let error = from_task_error(&error);
            Ok(FoundPlan::Wrong(Box::new(WrongSpecification { root, configuration, task: task.clone(), error })))
        }
        Err(error @ (TaskError::Unknown { .. } | TaskError::Twice { .. } | TaskError::Approval { .. })) => {
            Err(from_task_error(&error))
        }
    }
}

/// Parses a task's id from the command line.
pub(crate) fn read_task(text: &str) -> Result<TaskId, CommandError> {
    TaskId::try_from(text)
        .map_err(|error| CommandError::of(CommandExit::Usage, &error).hint("tasks have ids such as `T117`, or `default`"))
}

/// Returns the paths of the specifications in a project's tree, sorted.
pub(crate) fn names(root: &Path, configuration: &Configuration) -> Result<Vec<String>, CommandError> {
    let index = scan(root, configuration)?;
    let mut names: Vec<String> = index
        .named(SPECIFICATION_SEARCH)
        .into_iter()
        .filter_map(|(path, _)| path.as_path().to_str().map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

fn scan(root: &Path, configuration: &Configuration) -> Result<TreeIndex, CommandError> {
    // This scan is used only to find specifications. So it does not matter that the matcher cannot recognise proctor's
    // own evidence link without the directory of the store.
    let matcher = opening::matcher_of(&opening::matcher_settings(None, configuration))?;
    TreeIndex::scan(root, &matcher, clock::now()).map_err(|error| from_run_error(&ProjectError::Tree(error)))
}

fn from_task_error(error: &TaskError) -> CommandError {
    let of = CommandError::of(error.exit(), error);
    let of = error.details().into_iter().fold(of, CommandError::detail);
    error.hints().into_iter().fold(of, CommandError::hint)
}

/// Returns the error for a file that cannot be read.
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
