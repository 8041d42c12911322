//! Reviews a task's test specification for the agents' request FIX_SPECIFICATION: finds the errors of the task's file, or
//! of a proposed specification in its place (C80).
//!
//! The plan is made as a run makes it, so what is refused here is refused there. Which of its rules are not the approved ones, the
//! caller asks as a run does. proctor writes no specification: whoever proposed one writes the file.

use std::path::Path;

use proctor_evidence as evidence;
use proctor_model::{Plan, Problem, TaskId};
use proctor_plan::config::Configuration;
use proctor_project::{ProjectError, ProjectSettings, Specifications, TaskError};
use proctor_sandbox::process::clock;
use proctor_tree::TreeIndex;

/// A proposed specification: its text, or the file of the project that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposal {
    /// The proposed specification itself, as JSON text.
    Text(String),
    /// The path of the file with the proposal, relative to the project.
    File(String),
}

/// Reviews a task's specification, or a proposed one. Returns the plan that a run would carry out, or the errors for which
/// it would be refused, one text for each.
///
/// # Errors
///
/// [`ProjectError::Specification`] when no file or more than one file has the task, or when a file cannot be read;
/// other errors when the tree cannot be read.
pub fn review_specification(
    root: &Path,
    (settings, configuration): (&ProjectSettings, &Configuration),
    task: &TaskId,
    proposal: Option<&Proposal>,
) -> Result<Result<Box<Plan>, Vec<String>>, ProjectError> {
    let index = TreeIndex::scan(root, &settings.new_matcher()?, clock::now()).map_err(ProjectError::Tree)?;
    let mut specifications = Specifications::default();
    specifications.update(root, &index, &settings.specification);
    let file = match specifications.files_of(task)[..] {
        [] => return Err(wrong(format!("no test specification has a task `{task}`"))),
        [file] => file.to_owned(),
        [..] => {
            let files: Vec<String> = specifications.files_of(task).iter().map(|file| format!("`{file}`")).collect();
            return Err(wrong(format!("{} both have a task `{task}`, or may have it", files.join(" and "))));
        }
    };
    match proposal {
        Some(Proposal::Text(text)) => specifications.propose(&file, "the proposal", text),
        Some(Proposal::File(name)) => specifications.propose(&file, name, &read(root, name)?),
        None => {}
    }
    let errors = |error: TaskError| {
        let lines = error.lines();
        let faults = error.into_faults().map(|wrong| texts(&wrong.faults));
        // Where the task cannot be read, the errors of its file say why.
        let torn = || Some(texts(specifications.faults_without_task())).filter(|texts| !texts.is_empty());
        faults.or_else(torn).unwrap_or(lines)
    };
    Ok(specifications.plan(configuration, task).map(Box::new).map_err(errors))
}

fn texts<'p>(faults: impl IntoIterator<Item = &'p Problem>) -> Vec<String> {
    faults.into_iter().map(ToString::to_string).collect()
}

fn read(root: &Path, file: &str) -> Result<String, ProjectError> {
    match evidence::read_project_file(root, file) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(wrong(format!("there is no file `{file}` in the project"))),
        Err(error) => Err(wrong(error.to_string())),
    }
}

fn wrong(problem: String) -> ProjectError {
    ProjectError::Specification { problem }
}
