//! `proctor run --github`: tells GitHub Actions what failed, by annotations on standard output and a summary of the step.
//!
//! A job's log is read for workflow commands line by line, so nothing else that proctor prints may begin one: with `--github`,
//! `render` takes care of that for every line.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::cli::render;
use proctor_app::project::opening;
use proctor_app::{CommandError, Environment};
use proctor_evidence::report::{ExecutionReportV2, ExportedRun, TestResultsRecordV1, export_texts, redact_text, workflow_error};
use proctor_model::{ActionId, CommandExit, ExportFormat};

/// The variable with the file for the summary of a step.
const SUMMARY_FILE: &str = "GITHUB_STEP_SUMMARY";
/// The variable with the directory of the checked-out repository. Annotations name files from there.
const REPOSITORY: &str = "GITHUB_WORKSPACE";
/// GitHub refuses the summary of a step that is larger than 1 MiB.
const LARGEST_SUMMARY: usize = 1_000_000;

/// Prints the annotations of a sealed run, and adds its summary to that of the step. What goes wrong here changes no verdict: it is said
/// on standard error.
pub(super) fn tell(environment: &Environment, root: &Path, report: &ExecutionReportV2) {
    let tests = tests_of(environment, root, report).unwrap_or_else(|error| {
        render::note(&format!("note: the annotations do not name the tests: {}", error.lines().join(": ")));
        TestRecords::new()
    });
    let redactor = environment.outgoing_redactor().in_project(&root.to_string_lossy());
    let below = directory_in_repository(environment, root);
    let run = ExportedRun { report, tests: &tests, redactor: &redactor, below: below.as_deref() };
    let texts = export_texts(run, &[ExportFormat::Github, ExportFormat::Markdown], &String::new);
    let [commands, summary] = texts.as_slice() else { return };
    render::workflow_commands(commands);
    let Some(file) = environment.variable(SUMMARY_FILE).filter(|file| !file.is_empty()) else {
        return render::note(&format!("note: {SUMMARY_FILE} is not set, so no summary was written"));
    };
    let file = environment.absolute(Path::new(file));
    if let Err(error) = append(&file, summary) {
        render::note(&format!("note: the summary could not be added to `{}`: {error}", file.display()));
    }
}

/// Prints an annotation for an error that left no run.
pub(super) fn tell_error(error: &CommandError) {
    // The same text is on standard error. Pointers into a specification look like absolute paths, and without them it says nothing.
    render::workflow_commands(&workflow_error("proctor", &redact_text(&error.lines().join("\n"))));
}

/// Adds the answer of the gate to the step's summary, and annotates one that is no proof.
pub(super) fn tell_gate(environment: &Environment, lines: &[String], exit: CommandExit) {
    let lines = lines.join("\n");
    let text = redact_text(&lines);
    if exit != CommandExit::Proceed {
        render::workflow_commands(&workflow_error("proctor gate", &text));
    }
    let Some(file) = environment.variable(SUMMARY_FILE).filter(|file| !file.is_empty()) else { return };
    let file = environment.absolute(Path::new(file));
    let indented: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    if let Err(error) = append(&file, &indented.join("\n")) {
        render::note(&format!("note: the summary could not be added to `{}`: {error}", file.display()));
    }
}

/// The records of tests by the ids of their checks.
type TestRecords = BTreeMap<ActionId, TestResultsRecordV1>;

fn tests_of(environment: &Environment, root: &Path, report: &ExecutionReportV2) -> Result<TestRecords, CommandError> {
    let (archive, project) = opening::open_registered(environment, root)?;
    let run = archive.find(&project, Some(report.authenticity.execution_id.as_str()))?;
    run.map_or(Ok(TestRecords::new()), |run| archive.test_records(&project, &run, report).map_err(CommandError::from))
}

/// Returns where the project lies in the checked-out repository; `None` if it is the repository, or lies elsewhere.
fn directory_in_repository(environment: &Environment, root: &Path) -> Option<String> {
    let repository = PathBuf::from(environment.variable(REPOSITORY)?).canonicalize().ok()?;
    let below = root.strip_prefix(repository).ok()?.to_str()?;
    (!below.is_empty()).then(|| below.to_owned())
}

fn append(file: &Path, summary: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    // Another command of the step may have ended its text in the middle of a line.
    file.write_all(format!("\n{}\n", shortened(summary)).as_bytes())
}

/// Returns as many whole lines as a summary may have.
fn shortened(summary: &str) -> String {
    if summary.len() <= LARGEST_SUMMARY {
        return summary.to_owned();
    }
    let end = summary.as_bytes()[..LARGEST_SUMMARY].iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    format!("{}\n\nThe rest is left out; the report has all.\n", &summary[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_that_is_too_large_ends_with_a_whole_line() {
        let long = "- a line\n".repeat(LARGEST_SUMMARY / 5);
        let cut = shortened(&long);
        assert!(cut.len() <= LARGEST_SUMMARY + 100 && cut.contains("- a line\n\nThe rest"), "{}", &cut[cut.len() - 90..]);
        assert_eq!(shortened("short\n"), "short\n");
    }
}
