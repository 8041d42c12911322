//! Makes ESLint print its findings as JSON.

use crate::eslint::FORMAT_OPTIONS;
use crate::launchers::{Located, locate};
use crate::prepare::{Preparation, ReportTask, insert_options, option_value};
use crate::recognise::CommandForm;
use proctor_model::{Action, Tool};

/// Returns whether [`ask`] adds the option for JSON. It does so only for commands that proctor made itself and that choose no
/// format (E6).
pub(super) fn asks_for_json(action: &Action) -> bool {
    is_asked(action, &locate(&action.command.argv))
}

fn is_asked(action: &Action, located: &Located) -> bool {
    let is_ours =
        action.command_is_ours && located.recognition.tool == Tool::Eslint && located.recognition.form == CommandForm::Direct;
    is_ours && option_value(&located.arguments, FORMAT_OPTIONS).is_none()
}

/// Adds the option that makes ESLint print JSON on standard output.
pub(crate) fn ask(task: &ReportTask<'_>, preparation: &mut Preparation) {
    let ReportTask { action, located, .. } = *task;
    if is_asked(action, located) {
        insert_options(&mut preparation.argv, located.arguments_from, ["-f".to_owned(), "json".to_owned()]);
    }
}
