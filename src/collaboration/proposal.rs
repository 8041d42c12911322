//! FIX_SPECIFICATION of a task of a test specification: what is wrong with its file, or what a proposed text would change (C80).
//!
//! proctor writes no specification. A proposal that only mends, strengthens or rewords is said to be allowed; whoever asked puts it in
//! its place. One that weakens needs a person. What is compared with is the file as it is on disk.

use std::path::Path;

use crate::evidence;
use crate::model::{Problem, SpecificationChange, TaskId};
use crate::process::clock;
use crate::project::ProjectError;
use crate::project::Settings;
use crate::spec::specification::{Reading, SPECIFICATION_SUFFIX, Surroundings, compare_specifications, read_specification};
use crate::spec::{DiskFiles, hold_to_project};
use crate::tree::TreeIndex;

/// A proposed specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposal {
    /// Its text.
    Text(String),
    /// A file of the project, relative to its root.
    File(String),
}

/// What there is to say about the specification of a task, or about a proposed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedSpecification {
    /// The file that has the task.
    pub file: String,
    /// The errors of that file, or of the proposal where there is one.
    pub errors: Vec<String>,
    /// What the proposal changes; empty without one.
    pub changes: Vec<SpecificationChange>,
}

/// The file that has a task.
struct Current {
    file: String,
    text: String,
    reading: Reading,
}

/// Says what is wrong with the specification of a task, or with a proposed one and what that would change. Nothing is written.
///
/// # Errors
/// [`ProjectError::Specification`] where no file has the task, several have, or one cannot be read; others when the tree cannot be read.
pub fn review_specification(
    root: &Path,
    settings: &Settings,
    task: &TaskId,
    proposal: Option<&Proposal>,
) -> Result<ReviewedSpecification, ProjectError> {
    let current = find(root, settings, task)?;
    let Some(proposal) = proposal else {
        return Ok(ReviewedSpecification { errors: errors(&current.reading.faults), file: current.file, changes: Vec::new() });
    };
    let (name, text) = match proposal {
        Proposal::Text(text) => ("the proposal", text.clone()),
        Proposal::File(name) => (name.as_str(), read(root, name)?),
    };
    let proposed = reading_of(root, name, &text);
    let mut errors = errors(&proposed.faults);
    if errors.is_empty() && !proposed.tasks.iter().any(|id| id == task.as_str()) {
        errors.push(format!("{name}: it has no task `{task}`"));
    }
    let changes = compare_specifications(&current.text, &text, &current.reading.faults);
    Ok(ReviewedSpecification { file: current.file, errors, changes })
}

fn find(root: &Path, settings: &Settings, task: &TaskId) -> Result<Current, ProjectError> {
    let index = TreeIndex::scan(root, &settings.new_matcher()?, clock::now()).map_err(ProjectError::Tree)?;
    let named = index.named(&|name| name.ends_with(SPECIFICATION_SUFFIX.as_bytes()));
    let names = named.into_iter().filter_map(|(path, _)| path.as_path().to_str().map(str::to_owned));
    let mut found = Vec::new();
    for file in names {
        let text = read(root, &file)?;
        let reading = reading_of(root, &file, &text);
        // A file that cannot be read as JSON may be the one that has it.
        if reading.tasks.is_empty() || reading.tasks.iter().any(|id| id == task.as_str()) {
            found.push(Current { file, text, reading });
        }
    }
    if found.iter().any(|one| !one.reading.tasks.is_empty()) {
        found.retain(|one| !one.reading.tasks.is_empty());
    }
    let files = found.iter().map(|one| format!("`{}`", one.file)).collect::<Vec<_>>().join(" and ");
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => Err(wrong(format!("{files} both have a task `{task}`, or may have it"))),
        (None, _) => Err(wrong(format!("no test specification has a task `{task}`"))),
    }
}

/// Reads a text as a run would: what is wrong with it may be so by the project's other files only.
fn reading_of(root: &Path, name: &str, text: &str) -> Reading {
    hold_to_project(read_specification(text, name, Surroundings { project_root: root }), &DiskFiles::new(root))
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

fn errors(faults: &[Problem]) -> Vec<String> {
    faults.iter().filter(|fault| fault.is_hard()).map(ToString::to_string).collect()
}
