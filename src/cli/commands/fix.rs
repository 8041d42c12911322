//! `proctor check --fix`: corrects specifications by rule. What is corrected is shown first, and a guess is made only after a
//! person has said yes at a terminal.

use std::path::{Path, PathBuf};

use crate::cli::render;
use crate::cli::terminal;
use proctor_app::project::setup::CONFIGURATION_FILE;
use proctor_app::{CommandError, Environment};
use proctor_evidence::{ReplaceOutcome, read_project_file, replace_project_file};
use proctor_model::CommandExit;
use proctor_plan::config::SpecificationSettings;
use proctor_plan::spec::specification::{Correction, CorrectionBasis, TextEdit, apply_corrections, plan_corrections};

/// Whether a correction waits for an answer that nobody could give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FixOutcome {
    Done,
    /// A guess was not made, because there is no terminal to ask at.
    NotAsked,
}

/// Corrects the specifications `files` of the project at `root`.
pub(super) fn fix(
    root: &Path,
    files: &[PathBuf],
    settings: &SpecificationSettings,
    environment: &Environment,
) -> Result<FixOutcome, CommandError> {
    let mut outcome = FixOutcome::Done;
    for file in files {
        if file.file_name().is_some_and(|name| name == CONFIGURATION_FILE) {
            let text = format!("`{}` is no test specification, and nothing else is corrected", file.display());
            return Err(CommandError::new(CommandExit::Usage, text).hint("name the specification's file"));
        }
        if fix_file(root, file, settings, environment)? == FixOutcome::NotAsked {
            outcome = FixOutcome::NotAsked;
        }
    }
    Ok(outcome)
}

fn fix_file(
    root: &Path,
    file: &Path,
    settings: &SpecificationSettings,
    environment: &Environment,
) -> Result<FixOutcome, CommandError> {
    let (root, relative) = place_of(root, &environment.absolute(file))?;
    let refused = |error: &dyn std::error::Error| {
        CommandError::new(CommandExit::Usage, error.to_string()).hint("name the file itself: links are left alone")
    };
    let text = read_project_file(&root, &relative).map_err(|error| refused(&error))?;
    let text = text.ok_or_else(|| {
        CommandError::new(CommandExit::Usage, format!("there is no file `{}`", file.display())).hint("name a file that is there")
    })?;
    let plan = plan_corrections(&text, &root, settings);
    let shown = file.display().to_string();
    let (rules, guesses): (Vec<&Correction>, Vec<&Correction>) =
        plan.corrections.iter().partition(|correction| correction.basis == CorrectionBasis::Rule);
    let mut outcome = FixOutcome::Done;
    let mut accepted = rules;
    accepted.iter().for_each(|correction| show(&shown, &text, correction));
    for guess in guesses {
        show(&shown, &text, guess);
        if !terminal::is_input_terminal() {
            render::note(&format!("{shown}:{}: not written: it is right only if the command is a server", guess.place.line));
            render::note("  hint: run the command at a terminal and answer, or write it yourself");
            outcome = FixOutcome::NotAsked;
        } else if says_yes() {
            accepted.push(guess);
        }
    }
    for (place, what) in &plan.left {
        render::note(&format!("{shown}:{}: by hand: {what}", place.line));
    }
    if accepted.is_empty() {
        render::line(&format!("{shown}: nothing was corrected"));
        return Ok(outcome);
    }
    let corrected = apply_corrections(&text, accepted.iter().copied());
    match replace_project_file(&root, &relative, Some(&text), &corrected).map_err(|error| refused(&error))? {
        ReplaceOutcome::Done => {
            let count = accepted.len();
            let what = if count == 1 { "1 correction".to_owned() } else { format!("{count} corrections") };
            render::line(&format!("{shown}: {what} written"));
            Ok(outcome)
        }
        ReplaceOutcome::ChangedMeanwhile => {
            let text = format!("`{shown}` was saved meanwhile: nothing was written");
            Err(CommandError::new(CommandExit::Usage, text).hint("run the command again"))
        }
    }
}

/// Returns the directory from which no part of a file's path may be a link, and the file's path from there. For a file of the project
/// it is the project's root, for any other file the file's own directory.
fn place_of(root: &Path, file: &Path) -> Result<(PathBuf, String), CommandError> {
    let inside = file.strip_prefix(root).ok().map(|relative| (root.to_owned(), relative.to_owned()));
    let (root, relative) = match inside {
        Some(place) => place,
        None => {
            let (directory, name) = (file.parent().unwrap_or(root), file.file_name().unwrap_or_default());
            let directory = std::fs::canonicalize(directory).map_err(|error| {
                CommandError::caused(CommandExit::Usage, format!("`{}` cannot be read", file.display()), &error)
                    .hint("name a file that is there")
            })?;
            (directory, PathBuf::from(name))
        }
    };
    match relative.to_str() {
        Some(relative) => Ok((root, relative.to_owned())),
        None => Err(CommandError::new(CommandExit::Usage, format!("`{}` is no UTF-8", file.display())).hint("rename the file")),
    }
}

fn says_yes() -> bool {
    terminal::forget_input();
    render::prompt("Is it a server that goes on until it is stopped? [y/N] ");
    let answer = terminal::read_line();
    if answer.is_none() {
        render::end_prompt();
    }
    matches!(answer.as_deref().map(str::trim), Some("y" | "Y" | "yes"))
}

/// Shows a correction: why it is made, and the lines before and after.
fn show(file: &str, text: &str, correction: &Correction) {
    render::line(&format!("{file}:{}: {}", correction.place.line, correction.what));
    for edit in &correction.edits {
        let (removed, added) = changed_lines(text, edit);
        removed.iter().for_each(|line| render::line(&format!("  - {line}")));
        added.iter().for_each(|line| render::line(&format!("  + {line}")));
    }
}

/// Returns the lines that an edit changes, as they were and as they become.
fn changed_lines(text: &str, edit: &TextEdit) -> (Vec<String>, Vec<String>) {
    let start = text[..edit.range.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[edit.range.end..].find('\n').map_or(text.len(), |newline| edit.range.end + newline);
    let lines = |text: String| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    let (mut before, mut after) = (
        lines(text[start..end].to_owned()),
        lines(format!("{}{}{}", &text[start..edit.range.start], edit.text, &text[edit.range.end..end])),
    );
    while before.first().is_some_and(|line| Some(line) == after.first()) {
        before.remove(0);
        after.remove(0);
    }
    while before.last().is_some_and(|line| Some(line) == after.last()) {
        before.pop();
        after.pop();
    }
    (before, after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_are_shown_are_those_that_change() {
        let text = "{\n  \"a\": 1\n}\n";
        let at = text.find("\n}").unwrap();
        let edit = TextEdit { range: at..at, text: ",\n  \"b\": 2".to_owned() };
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert_eq!(changed_lines(text, &edit), (lines(&["  \"a\": 1"]), lines(&["  \"a\": 1,", "  \"b\": 2"])));
    }
}
