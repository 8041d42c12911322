//! `proctor init --agents`: shows the section about proctor for the files that agents read, and writes it after a person has agreed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::cli::agents_section::{SectionPlan, plan_section};
use crate::cli::render;
use crate::cli::terminal;
use proctor_app::CommandError;
use proctor_evidence::{ReplaceOutcome, read_project_file, replace_project_file};
use proctor_model::CommandExit;

/// The file that most agents read. It is made where neither file is there.
const AGENTS: &str = "AGENTS.md";
/// The file that one of them reads in its place.
const CLAUDE: &str = "CLAUDE.md";

/// A file, as it was read, and what is to be written into it.
struct PlannedFile {
    name: &'static str,
    read: Option<String>,
    text: String,
    removed: Vec<String>,
    added: Vec<String>,
}

/// Writes the section about proctor into each file with instructions for agents that is there, such as `AGENTS.md`. All of them are read
/// before the first is written.
pub(super) fn write_sections(root: &Path, asks: Asking) -> Result<CommandExit, CommandError> {
    let mut planned = Vec::new();
    for name in files(root) {
        match plan(root, name)? {
            Some(file) => planned.push(file),
            None => render::line(&format!("{name} is as it must be")),
        }
    }
    if planned.is_empty() {
        return Ok(CommandExit::Proceed);
    }
    planned.iter().for_each(show);
    may_write(asks)?;
    for file in planned {
        let replaced = replace_project_file(root, file.name, file.read.as_deref(), &file.text);
        match replaced.map_err(|error| refused(&error, "check that you may write in the directory"))? {
            ReplaceOutcome::Done => render::line(&format!("wrote {}", file.name)),
            ReplaceOutcome::ChangedMeanwhile => {
                let text = format!("`{}` was saved meanwhile: it was left as it is", file.name);
                return Err(CommandError::new(CommandExit::Usage, text).hint("run the command again"));
            }
        }
    }
    Ok(CommandExit::Proceed)
}

/// Whether a person is asked before something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    Asks,
    /// The command line agrees already.
    Agreed,
}

/// Returns the files that get the section: those that are there, or `AGENTS.md`. One of the two that is a link beside the other needs no
/// section of its own: links are how projects keep one text for all agents.
fn files(root: &Path) -> Vec<&'static str> {
    let found = |name: &str| root.join(name).symlink_metadata().ok();
    let is_link = |name: &str| found(name).is_some_and(|metadata| metadata.is_symlink());
    match (found(AGENTS).is_some(), found(CLAUDE).is_some()) {
        (true, true) if is_link(CLAUDE) && !is_link(AGENTS) => vec![AGENTS],
        (true, true) if is_link(AGENTS) && !is_link(CLAUDE) => vec![CLAUDE],
        (true, true) => vec![AGENTS, CLAUDE],
        (false, true) => vec![CLAUDE],
        (_, false) => vec![AGENTS],
    }
}

/// Returns what is to be written into a file; `None` if it has the section already.
fn plan(root: &Path, name: &'static str) -> Result<Option<PlannedFile>, CommandError> {
    let read = read_project_file(root, name)
        .map_err(|error| refused(&error, "make it a regular text file of its own, or copy the section there by hand"))?;
    let planned = plan_section(read.as_deref()).map_err(|broken| {
        let text = format!("`{name}`:{}: {}; nothing was written", broken.line, broken.why);
        CommandError::new(CommandExit::Usage, text)
            .hint("put the missing line back, or remove the lines `<!-- proctor:… agents -->`")
    })?;
    let SectionPlan::Write { text, removed, added } = planned else { return Ok(None) };
    // A file is replaced by another one, for which the directory's mode would be enough.
    let mode = root.join(name).symlink_metadata().map(|metadata| metadata.permissions().mode()).ok();
    if mode.is_some_and(|mode| mode & 0o222 == 0) {
        let text = format!("`{name}` is read-only: it was left as it is");
        return Err(CommandError::new(CommandExit::Usage, text).hint(format!("`chmod u+w {name}`, then run the command again")));
    }
    Ok(Some(PlannedFile { name, read, text, removed, added }))
}

fn refused(error: &dyn std::error::Error, hint: &str) -> CommandError {
    CommandError::new(CommandExit::Usage, error.to_string()).hint(hint)
}

fn show(file: &PlannedFile) {
    let what = if file.read.is_some() { "" } else { " (new)" };
    render::line(&format!("{}{what}:", file.name));
    file.removed.iter().filter(|line| !file.added.contains(line)).for_each(|line| render::line(&format!("  - {line}")));
    file.added.iter().filter(|line| !file.removed.contains(line)).for_each(|line| render::line(&format!("  + {line}")));
}

fn may_write(asks: Asking) -> Result<(), CommandError> {
    if asks == Asking::Agreed {
        return Ok(());
    }
    if !terminal::is_input_terminal() {
        return Err(CommandError::new(CommandExit::PersonNeeded, "nothing was written: there is no terminal to ask at")
            .hint("run this at a terminal, or with `--yes`"));
    }
    terminal::forget_input();
    render::prompt("Write it? [y/N] ");
    match terminal::read_line().as_deref().map(str::trim) {
        Some("y" | "Y" | "yes") => Ok(()),
        Some(_) | None => Err(CommandError::new(CommandExit::PersonNeeded, "nothing was written").hint("answer `y` to write it")),
    }
}
