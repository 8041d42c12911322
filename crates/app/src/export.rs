//! Copies a run so that another person can verify it, or says it in a form that another tool reads.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::slice;

use crate::environment::Environment;
use crate::error::{CommandError, from_prune_reason};
use crate::project::{opening, setup};
use crate::status::stand;
use crate::turn::replace_file;
use proctor_api::page::{OfflineRun, offline_page, run_answers};
use proctor_api::{MatrixV1, TrendsV1};
use proctor_evidence::report::{ActionResultV2, ExecutionReportV2, ExportedRun, OutgoingRedactor, export_texts};
use proctor_evidence::{SignedCheckpoint, Store, export_run, read_anchor};
use proctor_model::{CommandExit, Digest, ExportFormat, ProjectId};
use proctor_project::{RecordedRun, StoreReader, last_test_record};

/// How many runs and tests the page as one file knows of its task, as the page asks the service for.
const MATRIX_RUNS: u32 = 60;
const MATRIX_TESTS: u32 = 2000;
const TREND_RUNS: u32 = 200;
/// The most bytes of a log that are kept in memory; the page has the end of them.
const MOST_OF_LOG: usize = 1 << 20;

/// What is to be exported. All paths are absolute or relative to the working directory of the [`Environment`].
pub struct ExportQuestion<'a> {
    /// The directory of the project.
    pub project: &'a Path,
    /// A run by its id or number; the newest sealed one if `None`.
    pub run: Option<&'a str>,
    /// Whether a run about another tree or plan than the present ones is refused.
    pub fresh: bool,
    pub form: ExportForm<'a>,
    /// The new directory or archive of a copy, or the file of a text.
    pub place: Option<&'a Path>,
}

/// What a run becomes.
#[derive(Debug, Clone, Copy)]
pub enum ExportForm<'a> {
    Text(ExportFormat),
    /// A copy, and the file with a checkpoint to which its proof leads.
    Copy(Option<&'a Path>),
}

/// What was exported.
pub enum Exported {
    /// The text, because no file for it was named.
    Text(String),
    /// The file that the text is in.
    File(PathBuf),
    /// The directory or archive with the copy, and the key that signed the run.
    Copy { to: PathBuf, key: Digest },
}

/// Exports a run.
///
/// # Errors
/// When there is no such run, it was pruned, it is not fresh although that is asked for, or what is asked for cannot be written.
pub fn export(environment: &Environment, question: &ExportQuestion<'_>) -> Result<Exported, CommandError> {
    let root = setup::project_root(environment, question.project)?;
    let (mut archive, project) = opening::open_registered(environment, &root)?;
    let found = archive.find(&project, question.run)?;
    let run = found.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, "there is no such sealed run").hint("`proctor log` lists the runs")
    })?;
    if let Some(why) = run.pruned {
        return Err(from_prune_reason(&run.run_id, why));
    }
    // A run that is named is meant, whatever the project is now.
    if question.fresh || (matches!(question.form, ExportForm::Text(_)) && question.run.is_none()) {
        let other = is_about_other_content(&mut archive, &project, &run, environment, &root)?;
        if let Some(what) = other {
            let what = format!("{} is about {what}", run.run_id);
            if question.fresh {
                return Err(
                    CommandError::new(CommandExit::NoFreshVerdict, what).hint("`proctor run` makes a run of what there is now")
                );
            }
            environment.note(&format!("note: {what}; `--fresh` exports nothing then"));
        }
    }
    let to = question.place.map(|to| environment.absolute(to));
    let anchor = match question.form {
        ExportForm::Copy(anchor) => anchor,
        ExportForm::Text(format) => {
            let redactor = environment.outgoing_redactor().in_project(&root.to_string_lossy());
            return export_text(&mut archive, &project, &run, format, &redactor, to);
        }
    };
    let to = to.unwrap_or_else(|| default_place(&root, &environment.absolute(Path::new("."))).join(run.run_id.as_str()));
    if to.symlink_metadata().is_ok() {
        return Err(CommandError::new(CommandExit::Usage, format!("`{}` is there already", to.display()))
            .hint("name a directory or file that is not there: `--to PATH`"));
    }
    let store = Store::open(environment.state_root())?;
    let anchored = anchor.map(|file| checkpoint_in(&environment.absolute(file))).transpose()?;
    let checkpoint = anchored.as_ref().map(SignedCheckpoint::checkpoint);
    let key = export_run(&store, &project, (&run.task, &run.run_id), &to, checkpoint)?;
    Ok(Exported::Copy { to, key: key.id() })
}

/// Returns what a run is about where that is not the present tree and plan of its task.
fn is_about_other_content(
    archive: &mut StoreReader,
    project: &ProjectId,
    run: &RecordedRun,
    environment: &Environment,
    root: &Path,
) -> Result<Option<&'static str>, CommandError> {
    let (_, report) = archive.report(project, run)?;
    let standing = stand(environment, archive, root, slice::from_ref(&run.task))?;
    let now = standing.tasks.iter().find(|task| task.task == run.task);
    let (tree, plan) = now.map_or((None, None), |now| (now.tree, now.plan));
    let of_run = report.test_specification.plan_digest;
    Ok(match (tree.is_some() && tree == run.tree_digest, plan.is_some() && plan == of_run) {
        (true, true) => None,
        (false, true) => Some("another tree than the present one"),
        (true, false) => Some("another plan than the present one"),
        (false, false) => Some("another tree and another plan than the present ones"),
    })
}

/// Writes a text to a file, which is new or takes the place of a regular file at once. Returns why it is not written: a link, a directory or
/// anything else is never replaced.
fn place_text(to: &Path, text: &str) -> Result<(), String> {
    let cannot = |error: std::io::Error| error.to_string();
    match to.symlink_metadata() {
        Ok(there) if there.is_file() => replace_file(to, text.as_bytes(), there.permissions().mode() & 0o777).map_err(cannot),
        Ok(there) if there.is_symlink() => Err("it is a link, and what it leads to is not replaced".to_owned()),
        Ok(_) => Err("it is no file".to_owned()),
        Err(_) => OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(to)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(cannot),
    }
}

/// Says a run in a form that another tool reads, in a file if one is named.
fn export_text(
    archive: &mut StoreReader,
    project: &ProjectId,
    run: &RecordedRun,
    format: ExportFormat,
    redactor: &OutgoingRedactor,
    to: Option<PathBuf>,
) -> Result<Exported, CommandError> {
    let (_, report) = archive.report(project, run)?;
    let tests = archive.test_records(project, run, &report)?;
    let text = match format {
        ExportFormat::Html => page_of_run(archive, project, run, &report, redactor)?,
        ExportFormat::Junit | ExportFormat::Ctrf | ExportFormat::Sarif | ExportFormat::Github | ExportFormat::Markdown => {
            let run = ExportedRun { report: &report, tests: &tests, redactor, below: None };
            export_texts(run, &[format], &String::new).remove(0)
        }
    };
    let Some(to) = to else { return Ok(Exported::Text(text)) };
    place_text(&to, &text).map_err(|error| {
        CommandError::new(CommandExit::Usage, format!("cannot write `{}`: {error}", to.display()))
            .hint("name a file, in a directory that you may write to: `--to PATH`")
    })?;
    Ok(Exported::File(to))
}

/// Returns the page as one file with this run, what its actions printed, and how the runs of its task went.
fn page_of_run(
    archive: &mut StoreReader,
    project: &ProjectId,
    run: &RecordedRun,
    report: &ExecutionReportV2,
    redactor: &OutgoingRedactor,
) -> Result<String, CommandError> {
    archive.catch_up_tests(project)?;
    let asked = archive.about_tests(project, |archive| {
        let (runs, matrix) = archive.test_matrix(project, &run.task, (MATRIX_RUNS, MATRIX_TESTS))?;
        Ok((MatrixV1::new(project.clone(), runs, matrix), archive.run_trends(project, Some(&run.task), TREND_RUNS)?))
    });
    let (matrix, trends) = asked?;
    let task = &run.task;
    let others = [
        (format!("matrix?task={task}&runs={MATRIX_RUNS}&tests={MATRIX_TESTS}"), serde_json::to_value(matrix)),
        (format!("trends?task={task}&runs={TREND_RUNS}"), serde_json::to_value(TrendsV1::new(project.clone(), trends))),
    ];
    let others: Vec<_> = others.into_iter().filter_map(|(path, answer)| Some((path, answer.ok()?))).collect();
    let named = |check: &ActionResultV2| Some((check.action_id.clone(), last_test_record(check)?.to_owned()));
    let record_names = report.step_execution.results.iter().filter_map(named).collect();
    let mut logs = Vec::new();
    for name in archive.file_names(project, run)? {
        if !name.ends_with(".log") {
            continue;
        }
        let mut bytes = Vec::new();
        let mut take = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            // The page has the end of it.
            bytes.drain(..bytes.len().saturating_sub(MOST_OF_LOG));
        };
        archive.show_file(project, run, &name, &mut take)?;
        logs.push((name, bytes));
    }
    Ok(offline_page(&run_answers(&OfflineRun { report, record_names: &record_names, logs: &logs, others: &others, redactor })))
}

/// Returns the directory in which a run is exported where the person names none: the current one, or if that lies in the
/// project, the one beside the project. In the project the copy would be a part of the tree that is tested next.
fn default_place(root: &Path, current: &Path) -> PathBuf {
    let current = current.canonicalize().unwrap_or_else(|_| current.to_owned());
    if !current.starts_with(root) {
        return current;
    }
    root.parent().map_or(current, Path::to_owned)
}

fn checkpoint_in(file: &Path) -> Result<SignedCheckpoint, CommandError> {
    const HINT: &str = "name the file with the checkpoint that whoever verifies the run has";
    let wrong = |why: &str| CommandError::new(CommandExit::Usage, format!("`{}` {why}", file.display())).hint(HINT);
    let anchor = read_anchor(file)?.ok_or_else(|| wrong("is not there"))?;
    anchor.found.map_err(|error| wrong(&format!("is no checkpoint: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test makes what is and is not replaced")]
    fn a_file_is_replaced_and_a_link_or_a_directory_never() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = |name: &str| directory.path().join(name);
        let read = |name: &str| std::fs::read_to_string(place(name)).expect("it is there");
        for text in ["one", "two"] {
            place_text(&place("j.xml"), text).expect("it is written");
            assert_eq!(read("j.xml"), text);
        }
        std::fs::write(place("theirs"), "theirs").expect("it is ours");
        std::os::unix::fs::symlink(place("theirs"), place("link")).expect("it is ours");
        assert!(place_text(&place("link"), "three").expect_err("it is a link").contains("it is a link"));
        assert!(place_text(directory.path(), "three").is_err());
        assert_eq!((read("theirs").as_str(), place("link").is_symlink()), ("theirs", true));
        let left = std::fs::read_dir(directory.path()).expect("it can be listed").count();
        assert_eq!(left, 3, "no temporary file stays");
    }
}
