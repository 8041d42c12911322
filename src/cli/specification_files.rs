//! The test specifications of a project: finding the files, and the one that has a task.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::fcntl::OFlag;

use crate::cli::commands::{of_run, opening};
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::setup::{self, Loaded};
use crate::config::{Configuration, nearest};
use crate::model::{CommandExit, TaskId};
use crate::process::clock;
use crate::run::RunError;
use crate::spec::specification::{Reading, SPECIFICATION_SUFFIX, Surroundings, read_specification};
use crate::spec::{DiskFiles, TaskSurroundings, resolve_task};
use crate::tree::Index;

/// The most bytes of a file that are read: more than any reader takes.
const MOST_BYTES: u64 = (16 << 20) + 1;

/// Loads a project for a task that is named, or for its checks where none is: root, configuration, plan.
pub(crate) fn load(environment: &Environment, directory: &Path, task: Option<&str>) -> Result<Loaded, CommandError> {
    match task.map(read_task).transpose()? {
        None => setup::load(environment, directory),
        Some(task) if task == TaskId::default_task() => setup::load(environment, directory),
        Some(task) => load_task(setup::project_root(environment, directory)?, &task),
    }
}

fn read_task(text: &str) -> Result<TaskId, CommandError> {
    TaskId::try_from(text)
        .map_err(|error| CommandError::of(CommandExit::Usage, &error).hint("tasks have ids such as `T117`, or `default`"))
}

fn load_task(root: std::path::PathBuf, task: &TaskId) -> Result<Loaded, CommandError> {
    let (configuration, _) = setup::configuration(&root)?;
    let readings = read_all(&root, &configuration)?;
    let has_it = |reading: &Reading| reading.tasks.iter().any(|id| id == task.as_str());
    let (name, reading) = match readings.iter().filter(|(_, reading)| has_it(reading)).collect::<Vec<_>>()[..] {
        [] => return Err(unknown(task, &readings)),
        [one] => one,
        [..] => {
            let files = readings.iter().filter(|(_, reading)| has_it(reading)).map(|(name, _)| format!("`{name}`"));
            let files = files.collect::<Vec<_>>().join(" and ");
            let error = CommandError::new(CommandExit::SpecificationWrong, format!("{files} both have a task `{task}`"));
            return Err(error.hint("give one of them another id, or remove a file"));
        }
    };
    let Some(specification) = &reading.specification else { return Err(wrong(name, reading)) };
    let files = DiskFiles::new(&root);
    let around = TaskSurroundings { project: Surroundings { project_root: &root }, files: &files, configuration: &configuration };
    let plan = resolve_task(specification, task, &reading.faults, around).ok_or_else(|| unknown(task, &readings))?;
    Ok(Loaded { root, configuration, plan })
}

/// Returns the names of the specifications that belong to a project's tree, sorted.
pub(crate) fn names(root: &Path, configuration: &Configuration) -> Result<Vec<String>, CommandError> {
    let matcher = opening::matcher(configuration)?;
    let index = Index::scan(root, &matcher, clock::now()).map_err(|error| of_run(&RunError::Tree(error)))?;
    let mut names: Vec<String> = index
        .named(&|name| name.ends_with(SPECIFICATION_SUFFIX.as_bytes()))
        .into_iter()
        .filter_map(|(path, _)| path.as_path().to_str().map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

fn read_all(root: &Path, configuration: &Configuration) -> Result<Vec<(String, Reading)>, CommandError> {
    let read = |name: String| {
        let path = root.join(&name);
        let text = read_text(&path).map_err(|error| unreadable(&path, &error))?;
        let reading = read_specification(&text, &name, Surroundings { project_root: root });
        Ok((name, reading))
    };
    names(root, configuration)?.into_iter().map(read).collect()
}

fn unknown(task: &TaskId, readings: &[(String, Reading)]) -> CommandError {
    let known: Vec<&str> = readings.iter().flat_map(|(_, reading)| reading.tasks.iter().map(String::as_str)).collect();
    let error = CommandError::new(CommandExit::Usage, format!("no test specification has a task `{task}`"));
    let error = match nearest(task.as_str(), known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    };
    let error = match known.as_slice() {
        [] => error.hint(format!("tasks are found in files whose names end in `{SPECIFICATION_SUFFIX}`")),
        [..] => error.hint(format!("the tasks are: {}", known.join(", "))),
    };
    // A file that cannot be read at all may be the one that has it.
    let torn = readings.iter().filter(|(_, reading)| reading.tasks.is_empty()).map(|(name, _)| format!("`{name}`"));
    match torn.collect::<Vec<_>>().as_slice() {
        [] => error,
        torn => error.hint(format!("the tasks of {} are not known: `proctor check` says why", torn.join(", "))),
    }
}

fn wrong(name: &str, reading: &Reading) -> CommandError {
    let hard: Vec<_> = reading.faults.iter().filter(|fault| fault.is_hard()).collect();
    let errors = if hard.len() == 1 { "1 error".to_owned() } else { format!("{} errors", hard.len()) };
    let error = CommandError::new(CommandExit::SpecificationWrong, format!("`{name}` has {errors}: nothing was run"));
    let error = hard.iter().fold(error, |error, fault| error.detail(fault.to_string()));
    error.hint("`proctor check` says all that is to be said of it, notes too")
}

/// Reads a text without waiting for a writer of a FIFO. The readers say that a text is too long.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
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
