//! Finds all errors of a project's specifications and configuration. Nothing is run or recorded.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use proctor_wire::wire;
use serde::Serialize;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::project::setup::{self, CONFIGURATION_FILE};
use crate::project::specification_files::{self, unreadable};
use proctor_evidence::report::SpecificationErrorV2;
use proctor_model::{Gravity, Problem};
use proctor_plan::config::{self, Configuration, SpecificationSettings};
use proctor_plan::spec::specification::{
    FilledPlaceholder, SpecificationContext, SpecificationReading, read_filled_specification,
};
use proctor_plan::spec::{self, DiskFiles, compare_with_project};
use proctor_project::read_text;

/// The document of `proctor check --json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckV1 {
    schema: &'static str,
    pub errors: usize,
    pub notes: usize,
    pub files: Vec<CheckedFileV1>,
}

/// The errors and notes of one file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedFileV1 {
    pub file: String,
    kind: FileKind,
    /// Whether the file has no errors.
    pub valid: bool,
    /// The ids of a specification's tasks; empty if it has errors.
    pub tasks: Vec<String>,
    /// For a specification: its errors and notes.
    faults: Vec<SpecificationProblemV1>,
    /// For a configuration: its errors.
    problems: Vec<ProblemV1>,
    /// For a specification: the placeholders that were filled, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub filled: BTreeMap<String, FilledV1>,
}

/// The value of a placeholder, and where it comes from. A secret has no value here.
#[derive(Debug, Serialize)]
pub struct FilledV1 {
    pub value: Option<String>,
    pub source: &'static str,
}

impl FilledV1 {
    fn of(filled: &FilledPlaceholder) -> Self {
        Self { value: filled.value.clone(), source: filled.source.words() }
    }
}

/// An error or note about a specification.
#[derive(Debug, Serialize)]
struct SpecificationProblemV1 {
    gravity: Gravity,
    #[serde(flatten)]
    error: SpecificationErrorV2,
    #[serde(skip)]
    text: String,
}

#[wire(Copy, written)]
enum FileKind {
    Specification,
    Configuration,
}

/// An error in the configuration. A configuration has no notes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ProblemV1 {
    line: usize,
    column: usize,
    key_path: String,
    message: String,
    nearest: Option<String>,
    hint: Option<String>,
    #[serde(skip)]
    text: String,
}

/// Checks the configuration and all specifications of a project, or these `files` alone. `given` fills placeholders.
///
/// # Errors
/// When a file cannot be read. What is wrong with it is in the result.
pub fn check(
    environment: &Environment,
    project: &Path,
    files: &[PathBuf],
    given: &[(String, String)],
) -> Result<CheckV1, CommandError> {
    let root = setup::project_root(environment, project)?;
    let settings = values(environment, &root, given);
    let files =
        if files.is_empty() { check_project(&root, &settings)? } else { check_files(&root, files, &settings, environment)? };
    let errors = files.iter().map(CheckedFileV1::errors).sum();
    let notes = files.iter().map(CheckedFileV1::notes).sum();
    Ok(CheckV1 { schema: "proctor-check-v1", errors, notes, files })
}

/// Returns what fills the placeholders: the values of the command line, and what `proctor.toml` says. A wrong `proctor.toml` says
/// nothing here; it is among what is checked.
fn values(environment: &Environment, root: &Path, given: &[(String, String)]) -> SpecificationSettings {
    let mut settings =
        setup::configuration(environment, root).map(|(configuration, _)| configuration.specification).unwrap_or_default();
    settings.set(given);
    settings
}

/// Checks the project's configuration first, then its specifications in the order of their paths.
fn check_project(root: &Path, settings: &SpecificationSettings) -> Result<Vec<CheckedFileV1>, CommandError> {
    let mut files = Vec::new();
    let mut configuration = Configuration::default();
    let path = root.join(CONFIGURATION_FILE);
    match read_text(&path) {
        Ok(text) => {
            files.push(check_configuration(root, CONFIGURATION_FILE, &text)?);
            if text.len() > config::LONGEST_TEXT {
                // The search for specifications reads every file of the tree, and this one may have no end.
                return Ok(files);
            }
            configuration = config::read(&text, CONFIGURATION_FILE).unwrap_or_default();
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(unreadable(&path, &error)),
    }
    configuration.specification = settings.clone();
    let specifications = specification_files::read_all(root, &configuration)?;
    files.extend(specifications.checked().iter().map(|(name, reading)| checked_specification(name, reading)));
    Ok(files)
}

fn check_files(
    root: &Path,
    files: &[PathBuf],
    settings: &SpecificationSettings,
    environment: &Environment,
) -> Result<Vec<CheckedFileV1>, CommandError> {
    let check = |file: &PathBuf| {
        let path = environment.absolute(file);
        let text = read_text(&path).map_err(|error| unreadable(file, &error))?;
        let name = file.display().to_string();
        let is_configuration = path.file_name().is_some_and(|name| name == CONFIGURATION_FILE);
        if is_configuration {
            check_configuration(root, &name, &text)
        } else {
            Ok(check_specification(root, &name, &text, settings))
        }
    };
    files.iter().map(check).collect()
}

fn check_specification(root: &Path, name: &str, text: &str, settings: &SpecificationSettings) -> CheckedFileV1 {
    let reading = read_filled_specification(text, name, SpecificationContext { project_root: root }, settings);
    checked_specification(name, &compare_with_project(reading, &DiskFiles::new(root)))
}

fn checked_specification(name: &str, reading: &SpecificationReading) -> CheckedFileV1 {
    let tasks = reading.specification.iter().flat_map(|specification| specification.raw.tasks.keys().cloned());
    CheckedFileV1 {
        file: name.to_owned(),
        kind: FileKind::Specification,
        valid: reading.specification.is_some(),
        tasks: tasks.collect(),
        faults: reading.faults.iter().map(SpecificationProblemV1::of).collect(),
        problems: Vec::new(),
        filled: reading.filled.iter().map(|(name, filled)| (name.clone(), FilledV1::of(filled))).collect(),
    }
}

/// Checks a configuration. Without checks it is right if the project has test specifications.
fn check_configuration(root: &Path, name: &str, text: &str) -> Result<CheckedFileV1, CommandError> {
    let read = config::read(text, name);
    let plan = |configuration: &Configuration| spec::plan(configuration, &DiskFiles::new(root), &setup::directory_name(root));
    let (tasks, problems) = match read.as_ref().map_err(Clone::clone).and_then(plan) {
        Ok(plan) => (vec![plan.task.to_string()], Vec::new()),
        Err(problems) => {
            let lacks_checks = spec::lacks_only_checks(&problems);
            let has_tasks = match &read {
                Ok(configuration) if lacks_checks => !specification_files::read_all(root, configuration)?.is_empty(),
                Ok(_) | Err(_) => false,
            };
            let problems = problems.iter().filter(|_| !has_tasks).map(ProblemV1::of).collect();
            (Vec::new(), problems)
        }
    };
    let valid = problems.is_empty();
    let (kind, filled) = (FileKind::Configuration, BTreeMap::new());
    Ok(CheckedFileV1 { file: name.to_owned(), kind, valid, tasks, faults: Vec::new(), problems, filled })
}

impl CheckedFileV1 {
    /// Returns how many errors the file has.
    pub fn errors(&self) -> usize {
        self.problems.len() + self.faults.iter().filter(|fault| fault.gravity == Gravity::Hard).count()
    }

    /// Returns how many notes there are about the file.
    pub fn notes(&self) -> usize {
        self.faults.len() + self.problems.len() - self.errors()
    }

    /// Returns the texts of all errors and notes.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.faults.iter().map(|fault| fault.text.as_str()).chain(self.problems.iter().map(|problem| problem.text.as_str()))
    }
}

impl SpecificationProblemV1 {
    fn of(problem: &Problem) -> Self {
        Self { gravity: problem.gravity, error: SpecificationErrorV2::of(problem), text: problem.to_string() }
    }
}

impl ProblemV1 {
    fn of(problem: &Problem) -> Self {
        Self {
            line: problem.position.map_or(0, |position| position.line),
            column: problem.position.map_or(0, |position| position.column),
            key_path: problem.pointer.clone(),
            message: problem.message.clone(),
            nearest: problem.nearest.clone(),
            hint: problem.hint.clone(),
            text: problem.to_string(),
        }
    }
}
