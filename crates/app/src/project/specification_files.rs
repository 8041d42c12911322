//! Loads a project for a task of a test specification.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::opening;
use crate::project::setup::{self, LoadedProject, Planless};
use proctor_model::{CommandExit, TaskId};
use proctor_plan::config::{Configuration, judged_settings};
use proctor_plan::spec::{self, compare_settings, first_settings, specification::SPECIFICATION_SUFFIX};
use proctor_project::{PlanlessReason, ProjectError, SPECIFICATION_SEARCH, Specifications, TaskError};
use proctor_sandbox::process::clock;
use proctor_tree::TreeIndex;

/// The word in place of a task that means every task of every test specification.
pub const EVERY_TASK: &str = "*";

/// What reading a task's specification gave: a plan, or the errors.
pub enum FoundPlan {
    Planned(Box<LoadedProject>),
    /// The task's specification has errors.
    Wrong(Box<WrongSpecification>),
}

/// A project with its test specifications. It may have no checks of its own.
pub struct SpecifiedProject {
    /// The root's path with all links resolved.
    pub root: PathBuf,
    pub configuration: Configuration,
    pub specifications: Specifications,
}

/// A task whose specification has errors.
pub struct WrongSpecification {
    /// The root's path with all links resolved.
    pub root: PathBuf,
    pub configuration: Configuration,
    pub task: TaskId,
    pub error: CommandError,
}

/// Loads a project for a task, or for the project's own checks if no task is named. A project without checks of its own has
/// one task that can be meant if its test specifications have just one.
pub fn load(environment: &Environment, directory: &Path, task: Option<&str>) -> Result<LoadedProject, CommandError> {
    found(find(environment, directory, task)?)
}

/// Loads a project for a question about approvals, for which no task is named: the plan of the project's own checks, or of its
/// first task if it has no checks of its own. The settings belong to the project as a whole, so the plan of any task asks for
/// them.
pub fn load_for_approval(environment: &Environment, directory: &Path) -> Result<LoadedProject, CommandError> {
    let root = setup::project_root(environment, directory)?;
    let (mut configuration, plan) = setup::describe(environment, &root)?;
    configuration.specification.set(environment.values());
    let error = match plan {
        Ok(plan) => return Ok(LoadedProject { root, configuration, plan }),
        Err(planless) if !configuration.checks.is_empty() => return Err(planless.error),
        Err(planless) => planless.error,
    };
    let specifications = read_all(&root, &configuration)?;
    let planned = specifications.tasks().into_iter().find_map(|task| specifications.plan(&configuration, &task).ok());
    if let Some(plan) = planned {
        environment.note(&format!("the project has no checks of its own: this is about its settings and task `{}`", plan.task));
        return Ok(LoadedProject { root, configuration, plan });
    }
    let now = judged_settings(&configuration);
    let wider = compare_settings(&first_settings(&now), &now, &configuration.allowed).opens;
    let error = error.detail("so nothing is run, and nothing waits for an approval");
    let Some(first) = wider.first() else { return Err(error) };
    let rest = wider.iter().skip(1).map(|setting| format!("  {setting}"));
    let error = error.detail("the first run will ask for these settings:").detail(format!("  {first}"));
    Err(error.with_details(rest))
}

/// Finds the plan of a task, as [`load`] does.
pub fn find(environment: &Environment, directory: &Path, task: Option<&str>) -> Result<FoundPlan, CommandError> {
    let root = setup::project_root(environment, directory)?;
    match task {
        Some(task) => find_in(environment, &root, &read_task(task)?),
        None => find_own(environment, &root),
    }
}

/// Reads a project's configuration and a task's plan again, so that changes take effect before the next run.
pub fn reload(environment: &Environment, root: &Path, task: &TaskId) -> Result<LoadedProject, CommandError> {
    found(find_in(environment, root, task)?)
}

/// Loads a project that is to be registered or watched. If it has test specifications and no checks of its own, its plan has
/// no action.
pub fn load_project(environment: &Environment, root: &Path) -> Result<LoadedProject, CommandError> {
    let (mut configuration, plan) = setup::describe(environment, root)?;
    configuration.specification.set(environment.values());
    let plan = match plan {
        Ok(plan) => plan,
        Err(planless) => match specified(root, &configuration, &planless)? {
            Some(_) => spec::plan_without_checks(&configuration, &setup::directory_name(root)),
            None => return Err(planless.error),
        },
    };
    Ok(LoadedProject { root: root.to_owned(), configuration, plan })
}

/// Reads a project with its test specifications.
pub fn read_project(environment: &Environment, root: &Path) -> Result<SpecifiedProject, CommandError> {
    let (mut configuration, _) = setup::configuration(environment, root)?;
    configuration.specification.set(environment.values());
    let specifications = read_all(root, &configuration)?;
    Ok(SpecifiedProject { root: root.to_owned(), configuration, specifications })
}

/// Returns the test specifications of a project that has no checks of its own; `None` if it has none, or if the
/// configuration is wrong.
pub fn specified(
    root: &Path,
    configuration: &Configuration,
    planless: &Planless,
) -> Result<Option<Specifications>, CommandError> {
    match planless.reason {
        PlanlessReason::WithoutChecks => Ok(Some(read_all(root, configuration)?).filter(|read| !read.is_empty())),
        PlanlessReason::Wrong => Ok(None),
    }
}

/// Returns the error of a project without a readable task: it has no specification file, or errors in all of them.
pub fn without_tasks(specifications: &Specifications) -> CommandError {
    if specifications.is_empty() {
        return CommandError::new(CommandExit::Usage, "the project has no test specification")
            .hint(format!("tasks are found in files whose names end in `{SPECIFICATION_SUFFIX}`"));
    }
    let error = CommandError::new(CommandExit::SpecificationWrong, "no task of the test specifications can be read");
    let faults = specifications.faults_without_task();
    let error = error.with_details(faults);
    error.hint("`proctor check` says all that is to be said of them, notes too")
}

fn found(found: FoundPlan) -> Result<LoadedProject, CommandError> {
    match found {
        FoundPlan::Planned(loaded) => Ok(*loaded),
        FoundPlan::Wrong(wrong) => Err(wrong.error),
    }
}

/// Finds the plan of the project's own checks. If there are none, finds the plan of the only task of its specifications.
fn find_own(environment: &Environment, root: &Path) -> Result<FoundPlan, CommandError> {
    let (mut configuration, plan) = setup::describe(environment, root)?;
    configuration.specification.set(environment.values());
    let planless = match plan {
        Ok(plan) => return Ok(FoundPlan::Planned(Box::new(LoadedProject { root: root.to_owned(), configuration, plan }))),
        Err(planless) => planless,
    };
    let Some(specifications) = specified(root, &configuration, &planless)? else { return Err(planless.error) };
    let (tasks, are_all_read) = (specifications.tasks(), specifications.faults_without_task().is_empty());
    match (tasks.as_slice(), are_all_read) {
        ([], _) => Err(without_tasks(&specifications)),
        ([only], true) => plan_of(SpecifiedProject { root: root.to_owned(), configuration, specifications }, only),
        ([..], _) => Err(which_task(&specifications)),
    }
}

/// Returns the error that one of several tasks has to be named: the tasks, and how to run them.
fn which_task(specifications: &Specifications) -> CommandError {
    let tasks = specifications.listed();
    let count = if tasks.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", tasks.len()) };
    let message = format!("the project has no checks of its own, and its test specifications have {count}: say which is meant");
    let widest = tasks.iter().map(|task| task.task.as_str().len()).max().unwrap_or_default();
    let lines = tasks.iter().map(|task| {
        let needs = if task.needs.is_empty() { String::new() } else { format!(" · needs {}", task.needs.join(", ")) };
        format!("{:widest$}  {}{needs}", task.task.as_str(), task.title)
    });
    let error = CommandError::new(CommandExit::Usage, message).with_details(lines);
    let error = error.with_details(specifications.faults_without_task());
    let first = tasks.first().map(|task| task.task.to_string()).unwrap_or_default();
    error.hint(format!("`proctor run --task {first}` runs one, `proctor run --task '*'` all, in the order of their dependencies"))
}

/// Finds the plan of a task, which may be `default`, in a project.
pub fn find_in(environment: &Environment, root: &Path, task: &TaskId) -> Result<FoundPlan, CommandError> {
    if *task == TaskId::default_task() {
        return setup::reload(environment, root).map(|loaded| FoundPlan::Planned(Box::new(loaded)));
    }
    plan_of(read_project(environment, root)?, task)
}

/// Makes the plan of a task of a project.
pub fn plan_of(project: SpecifiedProject, task: &TaskId) -> Result<FoundPlan, CommandError> {
    let SpecifiedProject { root, configuration, specifications } = project;
    match specifications.plan(&configuration, task) {
        Ok(plan) => Ok(FoundPlan::Planned(Box::new(LoadedProject { root, configuration, plan }))),
        Err(error @ (TaskError::Wrong { .. } | TaskError::Twice { .. })) => {
            let error = from_task_error(&error);
            Ok(FoundPlan::Wrong(Box::new(WrongSpecification { root, configuration, task: task.clone(), error })))
        }
        Err(error @ (TaskError::Unknown { .. } | TaskError::Approval { .. })) => Err(from_task_error(&error)),
    }
}

/// Reads all test specifications of a project, with their placeholders filled from the configuration.
pub fn read_all(root: &Path, configuration: &Configuration) -> Result<Specifications, CommandError> {
    let mut specifications = Specifications::default();
    specifications.update(root, &scan(root, configuration)?, &configuration.specification);
    Ok(specifications)
}

/// Returns the message that no specification has a task.
pub fn unknown_task(task: TaskId) -> String {
    TaskError::Unknown { task, known: Vec::new(), torn: Vec::new() }.to_string()
}

/// Parses a task's id from the command line.
pub fn read_task(text: &str) -> Result<TaskId, CommandError> {
    TaskId::try_from(text)
        .map_err(|error| CommandError::of(CommandExit::Usage, &error).hint("tasks have ids such as `T117`, or `default`"))
}

/// Returns the paths of the specifications in a project's tree, sorted.
pub fn names(root: &Path, configuration: &Configuration) -> Result<Vec<String>, CommandError> {
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
    let matcher = opening::matcher_of(&opening::matcher_settings(None, None, configuration))?;
    TreeIndex::scan(root, &matcher, clock::now()).map_err(|error| ProjectError::Tree(error).into())
}

fn from_task_error(error: &TaskError) -> CommandError {
    let of = CommandError::of(error.exit(), error);
    let of = of.with_details(error.details());
    error.hints().into_iter().fold(of, CommandError::hint)
}

/// Returns the error for a file that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    let hint = if error.kind() == ErrorKind::NotFound {
        "name a file that is there, or none for every one of the project"
    } else if error.kind() == ErrorKind::InvalidData {
        "save the file in UTF-8"
    } else {
        "name a file you may read"
    };
    CommandError::caused(CommandExit::Usage, format!("`{}` cannot be read", path.display()), error).hint(hint)
}
