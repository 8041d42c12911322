//! Ruff: recognises the commands that check something, and makes Ruff's linter print JSON.

use crate::launchers::{Located, locate};
use crate::prepare::{Preparation, ReportTask, insert_options, option_value};
use crate::recognise::CommandForm;
use crate::subcommands::{has_any, subcommand};
use proctor_model::{Action, Tool};

const FORMAT_OPTIONS: &[&str] = &["--output-format", "--format"];

/// Returns whether a Ruff command lints, or checks the format without changing files.
pub(crate) fn ruff_checks(_: &str, arguments: &[String]) -> bool {
    match subcommand(arguments) {
        Some("check") => true,
        Some("format") => has_any(arguments, &["--check", "--diff"]),
        Some(_) | None => false,
    }
}

/// Returns whether [`ask_ruff`] adds the option for JSON. It does so only for commands that proctor made itself and that choose
/// no format (E6).
pub(super) fn asks_for_json(action: &Action) -> bool {
    is_asked(action, &locate(&action.command.argv))
}

fn is_asked(action: &Action, located: &Located) -> bool {
    let is_ours =
        action.command_is_ours && located.recognition.tool == Tool::Ruff && located.recognition.form == CommandForm::Direct;
    // Only the linter can print JSON; the formatter's check has no such option in older versions.
    let is_linter = located.arguments.iter().find(|argument| !argument.starts_with('-')).is_some_and(|word| word == "check");
    is_ours && is_linter && option_value(&located.arguments, FORMAT_OPTIONS).is_none()
}

/// Adds the option that makes Ruff's linter print JSON on standard output.
pub(crate) fn ask_ruff(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, .. } = *task;
    if is_asked(action, located) {
        insert_options(&mut preparation.argv, located.arguments_from, ["--output-format=json".to_owned()]);
    }
}
