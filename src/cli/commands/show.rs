//! `proctor show`: shows one run for people, prints its report unchanged, or prints the output of an action.

use std::path::Path;

use crate::cli::arguments::ShowOptions;
use crate::cli::local_time::LocalTime;
use crate::cli::screen::{self, ActionLook, FailuresShown};
use crate::cli::style::Style;
use crate::cli::{environment, render, terminal};
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_evidence::report::{ActionResultV2, EXECUTION_REPORT_FILE};
use proctor_model::{CommandExit, ProjectId, PruneReason, RunId, shown_lines};
use proctor_project::{ProjectError, RecordedRun, StoreReader};

pub(crate) fn execute(options: &ShowOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    // Other commands take the project's directory where this one takes a run.
    let named = options.run.as_deref().filter(|run| options.project == Path::new(".") && Path::new(run).is_dir());
    let root = setup::project_root(environment, named.map_or(&options.project, Path::new))?;
    let of_run = options.run.as_ref().filter(|_| named.is_none());
    let (archive, project) = opening::open_registered(environment, &root)
        .map_err(|error| of_run.iter().fold(error, |error, run| error.detail(format!("so there is no run `{run}`"))))?;
    let run = find(&archive, &project, options.run.as_deref().filter(|_| named.is_none()))?;
    if let Some(why) = run.pruned {
        return show_pruned(&run, why, options);
    }
    if let Some(action) = &options.log {
        return show_log(&archive, &project, &run, action, LogForm::of(options));
    }
    let (bytes, report) = match archive.report(&project, &run) {
        // Another process pruned the run just now.
        Err(ProjectError::Pruned { why, .. }) => return show_pruned(&run, why, options),
        report => report?,
    };
    if options.json {
        render::stored_document(&bytes);
        return Ok(CommandExit::Proceed);
    }
    let style = environment::style(environment);
    render::line(&screen::run_line(&run, &LocalTime::of_now()));
    screen::started_by(report.trigger.as_ref()).iter().for_each(render::line);
    let name = report.project.name.as_deref().unwrap_or(report.project.id.as_str());
    if let Some(tree) = &report.tree {
        render::line(&screen::header(name, &tree.before, style));
    }
    screen::specification_errors(&report).iter().for_each(render::line);
    let run_to_name = options.run.as_ref().map(|_| run.run_id.number());
    let look = ActionLook { run: run_to_name, ..ActionLook::of(&report.test_specification.task_id, options.failures, style) };
    for result in screen::results(&report) {
        screen::action(result, look).iter().for_each(render::line);
    }
    screen::unmet(&report).iter().for_each(render::line);
    screen::notes(&report, &[]).iter().for_each(render::line);
    screen::debt(&report).iter().for_each(render::line);
    let link = setup::configuration(environment, &root).map(|(configuration, _)| configuration.evidence.link).unwrap_or_default();
    let place = archive.place(&project, &run).join(EXECUTION_REPORT_FILE);
    let path = screen::report_path(&root, Some(&link), &report.test_specification.task_id, &place, false);
    screen::logs(&report, run_to_name).iter().for_each(render::line);
    render::line(&screen::verdict(&report, &path, style));
    Ok(CommandExit::Proceed)
}

/// Shows the log of a check of a run on the terminal.
pub(crate) fn show_log_of(
    environment: &Environment,
    root: &Path,
    run_id: &RunId,
    check: &str,
) -> Result<CommandExit, CommandError> {
    let (archive, project) = opening::open_registered(environment, root)?;
    let run = find(&archive, &project, Some(run_id.as_str()))?;
    render::line(&format!("log of {check}, run {}:", run_id.number()));
    show_log(&archive, &project, &run, check, LogForm::Escaped)
}

/// Shows that a run was pruned, which means that its files were removed. It is an error to ask for the report or a log
/// of such a run.
fn show_pruned(run: &RecordedRun, why: PruneReason, options: &ShowOptions) -> Result<CommandExit, CommandError> {
    if options.json || options.log.is_some() {
        return Err(super::from_prune_reason(&run.run_id, why));
    }
    screen::pruned(run, why, &LocalTime::of_now()).iter().for_each(render::line);
    Ok(CommandExit::Proceed)
}

fn find(archive: &StoreReader, project: &ProjectId, wanted: Option<&str>) -> Result<RecordedRun, CommandError> {
    let found = archive.find(project, wanted)?;
    found.ok_or_else(|| {
        let message = match wanted {
            Some(wanted) => format!("there is no finished run `{wanted}`"),
            None => "there is no finished run yet".to_owned(),
        };
        CommandError::new(CommandExit::Usage, message).hint("`proctor log` lists the runs, `proctor run` makes one")
    })
}

/// The form in which a log is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogForm {
    /// A person reads it at a terminal: what the terminal would obey or not show is escaped.
    Escaped,
    /// A program reads it, or the person asked for it: the bytes are printed as they were.
    Bytes,
}

impl LogForm {
    fn of(options: &ShowOptions) -> Self {
        if options.raw || !terminal::is_output_terminal() { Self::Bytes } else { Self::Escaped }
    }
}

fn show_log(
    archive: &StoreReader,
    project: &ProjectId,
    run: &RecordedRun,
    action: &str,
    form: LogForm,
) -> Result<CommandExit, CommandError> {
    let (_, report) = archive.report(project, run)?;
    let result = screen::results(&report).find(|result| result.action_id.as_str() == action || result.name == action);
    let Some((owner, name)) = result.and_then(log_of) else {
        let look = ActionLook::of(&report.test_specification.task_id, FailuresShown::None, Style::Plain);
        let known: Vec<&str> = screen::results(&report)
            .filter(|result| log_of(result).is_some())
            .map(|result| if look.is_specified { result.action_id.as_str() } else { result.name.as_str() })
            .collect();
        return Err(CommandError::new(CommandExit::Usage, format!("run {} has no log of `{action}`", run.run_id.number()))
            .hint(format!("it has logs of: {}", known.join(", "))));
    };
    // A reused result was not produced by this run. Its log is among the files of the earlier run.
    let earlier = owner.map(|run_id| find(archive, project, Some(run_id.as_str()))).transpose()?;
    if let Some((earlier, why)) = earlier.as_ref().and_then(|earlier| Some((earlier, earlier.pruned?))) {
        return Err(super::from_prune_reason(&earlier.run_id, why));
    }
    let run = earlier.as_ref().unwrap_or(run);
    let mut log = ShownLog::default();
    let mut print = |piece: &[u8]| match form {
        LogForm::Bytes => render::raw(piece),
        LogForm::Escaped => render::text(&log.next(piece)),
    };
    let shown = archive.show_file(project, run, &name, &mut print);
    render::text(&log.end());
    shown?;
    Ok(CommandExit::Proceed)
}

/// Returns the name of an action's log. For a reused result, also returns the earlier run that has the log.
fn log_of(result: &ActionResultV2) -> Option<(Option<&RunId>, String)> {
    match &result.reused {
        Some(reused) => Some((Some(&reused.run_id), reused.evidence.clone()?)),
        None => Some((None, result.evidence.clone()?)),
    }
}

// Escapes the bytes of a log for a terminal, piece by piece. Pure.

/// The number of bytes that the longest UTF-8 characters have.
const LONGEST_CHARACTER: usize = 4;

/// Escapes the pieces of a log. A character, or a line end of two characters, may be cut at the end of a piece: its
/// beginning waits for the next piece.
#[derive(Debug, Default)]
pub(crate) struct ShownLog {
    waiting: Vec<u8>,
}

impl ShownLog {
    /// Returns the text to show for the next piece of the log.
    pub(crate) fn next(&mut self, piece: &[u8]) -> String {
        self.waiting.extend_from_slice(piece);
        let rest = self.waiting.split_off(self.waiting.len() - cut_at_end(&self.waiting));
        let whole = std::mem::replace(&mut self.waiting, rest);
        escape(&whole)
    }

    /// Returns the text to show for what is left at the end of the log.
    pub(crate) fn end(self) -> String {
        escape(&self.waiting)
    }
}

/// Returns the number of bytes at the end that belong to an unfinished character or line end.
fn cut_at_end(bytes: &[u8]) -> usize {
    if bytes.last() == Some(&b'\r') {
        return 1;
    }
    let last = &bytes[bytes.len().saturating_sub(LONGEST_CHARACTER - 1)..];
    let is_cut = |count: &usize| match str::from_utf8(&last[last.len() - count..]) {
        Ok(_) => false,
        Err(error) => error.valid_up_to() == 0 && error.error_len().is_none(),
    };
    (1..=last.len()).rev().find(is_cut).unwrap_or(0)
}

/// Escapes what a terminal obeys or a person does not see. LF and tabs stay, and CR LF becomes LF; a byte that is not UTF-8 is
/// written as `\xNN`.
fn escape(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&shown_lines(&chunk.valid().replace("\r\n", "\n")));
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::*;

    fn shown(pieces: &[&[u8]]) -> String {
        let mut log = ShownLog::default();
        let mut text: String = pieces.iter().map(|piece| log.next(piece)).collect();
        text.push_str(&log.end());
        text
    }

    #[test]
    fn a_log_is_escaped_and_stays_readable() {
        assert_eq!(shown(&[b"one\r\n\ttwo \x1b[2J\rthree\n\xff"]), "one\n\ttwo \\u{1b}[2J\\rthree\n\\xff");
        assert_eq!(shown(&["\u{202e}✓".as_bytes()]), "\\u{202e}✓");
    }

    proptest! {
        #[test]
        fn where_a_log_is_cut_makes_no_difference(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in "(\r|\n|é|🦀|\u{9b}|a){0,8}", at in 0_usize..90) {
            let whole = [text.as_bytes(), &bytes, text.as_bytes()].concat();
            let (first, second) = whole.split_at(at.min(whole.len()));
            prop_assert_eq!(shown(&[first, second]), shown(&[&whole]));
        }
    }
}
