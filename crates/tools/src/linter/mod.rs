//! mypy, Ruff, Flake8, Pylint and Prettier: judges each tool's findings together with its exit code. The table in
//! `rows` holds what differs from tool to tool.
//!
//! `printed` reads the text output for people, `json` the JSON output, and `prettier` Prettier's list of files. This
//! file has the common rules: findings and exit code must agree. A failure code without findings means a wrong command
//! line, a crash or a contradiction.

mod discover;
mod examined;
mod json;
mod listing;
mod mypy_strictness;
mod no_work;
mod prettier;
mod printed;
mod rows;
mod unread;

use crate::gathered::Gathered;
use crate::interpret::Exited;
use crate::launch_failure;
use crate::launchers::locate;
use crate::option_spelling::subcommand;
use crate::prepare::{Preparation, ReportTask, insert_options, option_value};
use crate::recognise::CommandForm;
pub(super) use discover::{Checker, Home, find as find_checker, find_mypy, find_ruff};
pub use listing::{
    ConfiguredFiles, apply_listing, count_listed, may_list_files, may_narrow_files, narrows_files, prepare_listing,
};
pub(super) use mypy_strictness::{UNTYPED, strictness};
pub(super) use no_work::{NO_WORK_OF_FLAKE8, NO_WORK_OF_MYPY, NO_WORK_OF_PRETTIER, NO_WORK_OF_PYLINT, NO_WORK_OF_RUFF};
pub(super) use prettier::prettier_checks;
use proctor_model::{CategoryCode, DiagnosticSummary, Examined, ExaminedUnit, FindingLevel, Interpretation};
use rows::{Linter, ZeroMeans, linter_of};
pub(super) use unread::{ask_ruff, ruff_checks};

/// The findings that were read from a linter's output, and the count that the output states.
#[derive(Debug, Default)]
struct Output {
    diagnostics: Gathered,
    /// The number of errors that the last line of the tool's output states.
    stated: Option<u64>,
}

/// Makes Flake8 say how many files it checked: `--benchmark` adds a few lines to what it prints.
pub(super) fn ask_flake8(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, .. } = *task;
    if located.recognition.tool == action.tool && located.recognition.form == CommandForm::Direct {
        insert_options(&mut preparation.argv, located.arguments_from, ["--benchmark".to_owned()]);
    }
}

/// Judges a linter run that ended by itself.
pub(super) fn interpret(exited: &Exited<'_>) -> Interpretation {
    let linter = linter_of(exited.action.tool);
    let arguments = locate(&exited.action.command.argv).arguments;
    let output = match read(linter, exited, &arguments) {
        Ok(output) => output,
        Err(interpretation) => return *interpretation,
    };
    if let Some(interpretation) = launch_failure::find_or_signal(exited, output.diagnostics.is_empty()) {
        return interpretation;
    }
    let errors = output.diagnostics.count(FindingLevel::Error);
    let warnings = output.diagnostics.count(FindingLevel::Warning);
    // The tool's own count is used if it is higher. So a message in an unknown format is never missing from the counts.
    let total_files = output.diagnostics.files();
    let stated = output.stated.filter(|stated| *stated > errors + warnings);
    let stated = stated.map(|errors| DiagnosticSummary { errors, warnings, fixable: None, total_files });
    let examined = (linter.examined)(exited);
    let (category, reason) = match decide(linter, exited, &output, &arguments) {
        (CategoryCode::Clean, _) if examined == Some(0) => (
            CategoryCode::NothingChecked,
            format!("{} says that it had no file to check; correct the paths or what the configuration leaves out", linter.name),
        ),
        decided => decided,
    };
    let counts_override = stated.filter(|_| category == CategoryCode::Findings || category == CategoryCode::Inconsistent);
    let remark = (linter.remark)(exited).filter(|_| category == CategoryCode::Clean || category == CategoryCode::Findings);
    let (diagnostics, unlisted) = output.diagnostics.finish();
    let warnings = remark.into_iter().collect();
    let examined = Some(Examined { what: ExaminedUnit::Files, count: examined });
    Interpretation { diagnostics, unlisted, counts_override, warnings, examined, ..Interpretation::plain(category, reason) }
}

fn read(linter: &Linter, exited: &Exited<'_>, arguments: &[String]) -> Result<Output, Box<Interpretation>> {
    // Ruff's formatter reads none of these variables.
    let reads_variables = subcommand(arguments) != Some("format");
    let of_variable = |name: Option<&str>| name.filter(|_| reads_variables).and_then(|name| variable(exited, name));
    let format =
        option_value(arguments, linter.format_options).map(str::to_owned).or_else(|| of_variable(linter.format_variable));
    let format = format.as_deref();
    let file = option_value(arguments, linter.file_options).map(str::to_owned).or_else(|| of_variable(linter.file_variable));
    let wants_json = unread::asks_for_json(exited.action) || format == Some("json");
    let ended_well = linter.is_finding_code(exited.code) || exited.code == 0;
    let name = linter.name;
    if let Some(read_json) = linter.read_json
        && let Some(read) = read_json(exited)
    {
        return Ok(Output { diagnostics: read, stated: None });
    }
    let is_empty = exited.stdout_is_complete && exited.stdout.trim().is_empty();
    let is_empty_json = linter.has_empty_json && is_empty && exited.code == 0;
    let is_in_file = file.is_some() && is_empty;
    if wants_json && ended_well && !is_empty_json && !is_in_file && launch_failure::find(exited).is_none() {
        let (category, reason) = if exited.stdout_is_complete {
            let reason =
                format!("Exit code {}, but {name}'s JSON cannot be read; find what else prints to its output", exited.code);
            (CategoryCode::ReportUnreadable, reason)
        } else {
            (
                CategoryCode::OutputTooLarge,
                format!("{name}'s JSON is larger than what is interpreted; check fewer files at a time"),
            )
        };
        return Err(Box::new(Interpretation::plain(category, reason)));
    }
    if let (Some(format), true) = (format.filter(|format| !linter.readable_formats.contains(format)), ended_well) {
        let reason = format!("{name}'s format `{format}` is not read; use `{}`", linter.readable_formats.join("` or `"));
        return Err(Box::new(Interpretation::plain(CategoryCode::ReportUnreadable, reason)));
    }
    if let (Some(file), true) = (file, ended_well) {
        let reason =
            format!("{name} wrote its findings to `{file}`, which is not read; remove the option or variable that says so");
        return Err(Box::new(Interpretation::plain(CategoryCode::ReportUnreadable, reason)));
    }
    Ok((linter.read)(exited, arguments))
}

fn decide(linter: &Linter, exited: &Exited<'_>, output: &Output, arguments: &[String]) -> (CategoryCode, String) {
    let (name, code) = (linter.name, exited.code);
    let found =
        !output.diagnostics.is_empty() || (linter.is_finding_code(code) && output.stated.is_some_and(|stated| stated > 0));
    let findings = || {
        let count = |level| output.diagnostics.count(level);
        let errors = count(FindingLevel::Error).max(output.stated.unwrap_or(0).saturating_sub(count(FindingLevel::Warning)));
        let reason = format!("{errors} error(s) and {} warning(s){}", count(FindingLevel::Warning), output.diagnostics.first());
        (CategoryCode::Findings, reason)
    };
    if !found && let Some(words) = (linter.refusal)(exited) {
        return (CategoryCode::UsageError, format!("{name} checked nothing, or not all it was told to: {words}; correct it"));
    }
    if found && linter.found_only_paths(&output.diagnostics.listed) {
        return (
            CategoryCode::UsageError,
            format!("{name} was given a path that is not there{}; correct it", output.diagnostics.first()),
        );
    }
    let unread = if code == 0 && !found { (linter.unread)(exited, arguments) } else { None };
    let is_told_to = || arguments.iter().any(|argument| argument == "--exit-zero");
    match code {
        0 if found && (linter.zero == ZeroMeans::NothingGrave || is_told_to()) => findings(),
        0 if found => {
            let named = output.diagnostics.first();
            (CategoryCode::Inconsistent, format!("Exit code 0, but {name}'s output holds findings{named}; look for `|| true`"))
        }
        0 if unread.is_some() => (
            CategoryCode::Inconsistent,
            format!(
                "Exit code 0, but {name} printed what is not understood and may be findings: `{}`; use one of the formats that are read",
                unread.unwrap_or_default()
            ),
        ),
        0 if !exited.stdout_is_complete || !exited.stderr_is_complete => {
            (CategoryCode::OutputTooLarge, format!("{name} printed more than is interpreted; check fewer files at a time"))
        }
        0 => (CategoryCode::Clean, format!("{name} found nothing")),
        _ if found && linter.says_errors(code) && output.diagnostics.count(FindingLevel::Error) == 0 => {
            let reason =
                format!("Exit code {code} says that {name} found errors, but none could be read in its output; see its log");
            (CategoryCode::Inconsistent, reason)
        }
        _ if found && linter.may_find(code) => findings(),
        _ if linter.crash_words.iter().any(|words| exited.stderr.contains(words) || exited.stdout.contains(words)) => (
            CategoryCode::InternalError,
            format!("{name} or one of its plugins failed inside itself{}; see its log", words(exited)),
        ),
        _ if linter.usage_codes.contains(&code) => {
            (CategoryCode::UsageError, format!("{name} refused its command line or configuration{}; correct it", words(exited)))
        }
        _ if linter.is_finding_code(code) => {
            let reason =
                format!("Exit code {code}, but no finding could be read in {name}'s output{}; see its log", words(exited));
            (CategoryCode::Inconsistent, reason)
        }
        _ => (CategoryCode::UnknownExit, format!("{name} has no exit code {code}; see the end of its log")),
    }
}

/// Returns the value of a variable that the check or its command sets.
fn variable(exited: &Exited<'_>, name: &str) -> Option<String> {
    let value = |word: &str| word.strip_prefix(name)?.strip_prefix('=').map(|value| value.trim_matches(['\'', '"']).to_owned());
    let words = exited.action.command.argv.iter().flat_map(|word| word.split_whitespace());
    words.filter_map(value).next_back().or_else(|| exited.action.environment.get(name).cloned())
}

/// Returns the line that names the problem: the last line of a traceback, otherwise the first line that begins with
/// `Cause: `, otherwise the first line with `error: `, otherwise the first line that does not begin with `usage:`.
pub(super) fn words(exited: &Exited<'_>) -> String {
    let lines = || exited.stderr.lines().chain(exited.stdout.lines()).map(str::trim).filter(|line| !line.is_empty());
    let traceback = || exited.stderr.contains("Traceback (most recent call last)").then(|| last_line(&exited.stderr)).flatten();
    let cause = || lines().find_map(|line| line.strip_prefix("Cause: "));
    let error = || lines().find(|line| line.contains("error: "));
    let first = || lines().find(|line| !line.starts_with("usage:"));
    let found = traceback().or_else(cause).or_else(error).or_else(first);
    found.map_or_else(String::new, |line| format!(": {}", line.trim_end_matches('.')))
}

fn last_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).rfind(|line| !line.is_empty())
}
