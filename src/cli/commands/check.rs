//! `proctor check`: shows all errors of a project's specifications and configuration. Nothing is run or recorded.

use crate::model::Gravity;
use crate::model::Problem;
use crate::report::SpecificationErrorV2;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::setup::{self, CONFIGURATION_FILE};
use crate::cli::specification_arguments::CheckOptions;
use crate::cli::specification_files::{self, unreadable};
use crate::config::{self, Configuration};
use crate::model::CommandExit;
use crate::project::read_text;
use crate::spec::specification::{SPECIFICATION_SUFFIX, SpecificationContext, SpecificationReading, read_specification};
use crate::spec::{self, DiskFiles, compare_with_project};

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckV1 {
    schema: &'static str,
    errors: usize,
    notes: usize,
    files: Vec<FileV1>,
}

/// The errors and notes of one file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileV1 {
    file: String,
    kind: FileKind,
    /// Whether the file has no errors.
    valid: bool,
    /// The ids of a specification's tasks; empty if it has errors.
    tasks: Vec<String>,
    /// For a specification: its errors and notes.
    faults: Vec<SpecificationProblemV1>,
    /// For a configuration: its errors.
    problems: Vec<ProblemV1>,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
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

pub(crate) fn execute(options: &CheckOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, &options.project)?;
    let files = if options.files.is_empty() { check_project(&root)? } else { check_files(&root, &options.files, environment)? };
    let errors = files.iter().map(FileV1::errors).sum();
    let notes = files.iter().map(|file| file.faults.len() + file.problems.len()).sum::<usize>() - errors;
    let document = CheckV1 { schema: "proctor-check-v1", errors, notes, files };
    if options.json {
        render::document(&document);
    } else {
        document.lines().iter().for_each(render::line);
    }
    Ok(if errors == 0 { CommandExit::Proceed } else { CommandExit::SpecificationWrong })
}

/// Checks the project's configuration first, then its specifications in the order of their paths.
fn check_project(root: &Path) -> Result<Vec<FileV1>, CommandError> {
    let mut files = Vec::new();
    let mut configuration = Configuration::default();
    let path = root.join(CONFIGURATION_FILE);
    match read_text(&path) {
        Ok(text) => {
            files.push(check_configuration(root, CONFIGURATION_FILE, &text)?);
            configuration = config::read(&text, CONFIGURATION_FILE).unwrap_or_default();
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(unreadable(&path, &error)),
    }
    let specifications = specification_files::read_all(root, &configuration)?;
    files.extend(specifications.checked().iter().map(|(name, reading)| checked_specification(name, reading)));
    Ok(files)
}

fn check_files(root: &Path, files: &[PathBuf], environment: &Environment) -> Result<Vec<FileV1>, CommandError> {
    let check = |file: &PathBuf| {
        let path = environment.absolute(file);
        let text = read_text(&path).map_err(|error| unreadable(file, &error))?;
        let name = file.display().to_string();
        let is_configuration = path.file_name().is_some_and(|name| name == CONFIGURATION_FILE);
        if is_configuration { check_configuration(root, &name, &text) } else { Ok(check_specification(root, &name, &text)) }
    };
    files.iter().map(check).collect()
}

fn check_specification(root: &Path, name: &str, text: &str) -> FileV1 {
    let reading = read_specification(text, name, SpecificationContext { project_root: root });
    checked_specification(name, &compare_with_project(reading, &DiskFiles::new(root)))
}

fn checked_specification(name: &str, reading: &SpecificationReading) -> FileV1 {
    let tasks = reading.specification.iter().flat_map(|specification| specification.raw.tasks.keys().cloned());
    FileV1 {
        file: name.to_owned(),
        kind: FileKind::Specification,
        valid: reading.specification.is_some(),
        tasks: tasks.collect(),
        faults: reading.faults.iter().map(SpecificationProblemV1::of).collect(),
        problems: Vec::new(),
    }
}

/// Checks a configuration. Without checks it is right if the project has test specifications.
fn check_configuration(root: &Path, name: &str, text: &str) -> Result<FileV1, CommandError> {
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
    Ok(FileV1 { file: name.to_owned(), kind: FileKind::Configuration, valid, tasks, faults: Vec::new(), problems })
}

impl FileV1 {
    fn errors(&self) -> usize {
        self.problems.len() + self.faults.iter().filter(|fault| fault.gravity == Gravity::Hard).count()
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

impl CheckV1 {
    /// Returns the lines for people: first every problem, then one line for each file, or one line that says that there is no
    /// file.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for file in &self.files {
            let texts = file.faults.iter().map(|fault| &fault.text).chain(file.problems.iter().map(|problem| &problem.text));
            lines.extend(texts.flat_map(|text| text.split('\n')).map(str::to_owned));
        }
        for file in &self.files {
            let errors = file.errors();
            let notes = file.faults.len() + file.problems.len() - errors;
            let verdict = match (file.valid, file.tasks.as_slice()) {
                (true, []) => "no checks".to_owned(),
                (true, tasks) => tasks.join(", "),
                (false, _) => counted(errors, "error"),
            };
            let notes = if notes == 0 { String::new() } else { format!(", {}", counted(notes, "note")) };
            lines.push(format!("{} {}: {verdict}{notes}", if file.valid { "✓" } else { "✗" }, file.file));
        }
        if self.files.is_empty() {
            lines
                .push(format!("no {CONFIGURATION_FILE} and no file whose name ends in {SPECIFICATION_SUFFIX}: nothing to check"));
        }
        lines
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
