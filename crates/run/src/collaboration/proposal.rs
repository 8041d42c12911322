//! Reviews a task's test specification for the agents' request FIX_SPECIFICATION: finds the errors in the task's file,
//! or the errors and changes of a proposed specification (C80).
//!
//! A proposal is compared with the task's file on disk. A proposal that only corrects, strengthens or rewords is
//! allowed. A proposal that weakens the checks needs a person. proctor writes no specification: whoever made an allowed
//! proposal writes the file.

use std::path::Path;

use proctor_evidence as evidence;
use proctor_model::{Problem, SpecificationChange, TaskId};
use proctor_plan::spec::specification::{
    SpecificationContext, SpecificationReading, compare_specifications, read_filled_specification,
};
use proctor_plan::spec::{DiskFiles, compare_with_project};
use proctor_project::ProjectError;
use proctor_project::{ProjectSettings, SPECIFICATION_SEARCH, Specifications};
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

/// The result of reviewing a task's specification or a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedSpecification {
    /// The specification file that has the task now, relative to the project.
    pub file: String,
    /// The errors in the proposal, or in the file if there is no proposal.
    pub errors: Vec<String>,
    /// The changes that the proposal makes; empty without a proposal.
    pub changes: Vec<SpecificationChange>,
}

/// The specification file that has the task now, without the proposal.
struct Current {
    file: String,
    text: String,
    reading: SpecificationReading,
}

/// Reviews a task's specification, or a proposed one together with its changes. Nothing is written.
///
/// # Errors
///
/// [`ProjectError::Specification`] when no file or more than one file has the task, or when a file cannot be read;
/// other errors when the tree cannot be read.
pub fn review_specification(
    root: &Path,
    settings: &ProjectSettings,
    task: &TaskId,
    proposal: Option<&Proposal>,
) -> Result<ReviewedSpecification, ProjectError> {
    let (current, across) = find(root, settings, task)?;
    let Some(proposal) = proposal else {
        let mut errors = errors(&current.reading.faults);
        errors.extend(across.iter().map(ToString::to_string));
        return Ok(ReviewedSpecification { errors, file: current.file, changes: Vec::new() });
    };
    let (name, text) = match proposal {
        Proposal::Text(text) => ("the proposal", text.clone()),
        Proposal::File(name) => (name.as_str(), read(root, name)?),
    };
    let proposed = reading_of(root, settings, name, &text);
    let mut errors = errors(&proposed.faults);
    if errors.is_empty() && !proposed.tasks.iter().any(|outline| outline.id == task.as_str()) {
        errors.push(format!("{name}: it has no task `{task}`"));
    }
    let changes = compare_specifications(&current.text, &text, &current.reading.faults);
    Ok(ReviewedSpecification { file: current.file, errors, changes })
}

/// Returns the task's file, and the errors that show only when all specifications of the project are compared.
fn find(root: &Path, settings: &ProjectSettings, task: &TaskId) -> Result<(Current, Vec<Problem>), ProjectError> {
    let index = TreeIndex::scan(root, &settings.new_matcher()?, clock::now())?;
    let named = index.named(SPECIFICATION_SEARCH);
    let names = named.into_iter().filter_map(|(path, _)| path.as_path().to_str().map(str::to_owned));
    let mut found = Vec::new();
    for file in names {
        let text = read(root, &file)?;
        let reading = reading_of(root, settings, &file, &text);
        // A file that is not valid JSON has no readable tasks. It is kept as a candidate, because it may have the task
        // once its errors are corrected.
        if reading.tasks.is_empty() || reading.tasks.iter().any(|outline| outline.id == task.as_str()) {
            found.push(Current { file, text, reading });
        }
    }
    if found.iter().any(|one| !one.reading.tasks.is_empty()) {
        found.retain(|one| !one.reading.tasks.is_empty());
    }
    let files = found.iter().map(|one| format!("`{}`", one.file)).collect::<Vec<_>>().join(" and ");
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => {
            let mut specifications = Specifications::default();
            specifications.update(root, &index, &settings.specification);
            let mut across = specifications.project_faults(task);
            // What shows in the file alone is among the file's own errors.
            across.retain(|fault| !only.reading.faults.iter().any(|told| told.is_hard() && told.code() == fault.code()));
            Ok((only, across))
        }
        (Some(_), false) => Err(wrong(format!("{files} both have a task `{task}`, or may have it"))),
        (None, _) => Err(wrong(format!("no test specification has a task `{task}`"))),
    }
}

/// Reads a specification's text and compares it with the project's other files, because some errors depend on those
/// files. A run reads specifications in the same way.
fn reading_of(root: &Path, settings: &ProjectSettings, name: &str, text: &str) -> SpecificationReading {
    let project = SpecificationContext { project_root: root };
    let reading = read_filled_specification(text, name, project, &settings.specification);
    compare_with_project(reading, &DiskFiles::new(root))
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
