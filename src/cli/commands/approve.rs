//! `proctor approve`: a person approves the rules of the project or of a task as they are now, or the present content of protected files
//! (S7). Nothing is run.

use std::path::Path;

use crate::cli::commands::waiting_approvals;
use crate::cli::environment;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::specification_arguments::ApproveOptions;
use crate::cli::terminal;
use proctor_app::project::{RunResources, opening, specification_files};
use proctor_app::refusals::approve_hint;
use proctor_app::{CommandError, Environment};
use proctor_evidence::read_regular_text;
use proctor_model::{ApprovalWay, CommandExit, Plan, UnapprovedPlan, approve_command, shown_line};
use proctor_project::{ApprovalQuestion, ApprovedBy, PersonPresence, ProjectScope, ProjectSettings, Workspace};
use proctor_sandbox::process::Control;

/// The size in bytes above which a signature file is refused. Signatures are far shorter.
const SIGNATURE_CAP: u64 = 64 * 1024;

pub(crate) fn execute(options: &ApproveOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let environment = &environment.with_values(&options.values.set);
    if options.list {
        return waiting_approvals::execute(options.json, environment);
    }
    let launcher = opening::start_launcher(environment)?;
    let loaded = match &options.task {
        None => specification_files::load_for_approval(environment, options.place.path())?,
        Some(task) => specification_files::load(environment, options.place.path(), Some(task))?,
    };
    let RunResources { mut workspace, scope, settings, .. } = opening::open(environment, launcher, &loaded, None)?;
    let plan = &loaded.plan;
    let found = workspace.approval_question(&scope, &settings, plan).map_err(|error| super::from_run_error(&error))?;
    let Some(question) = found else {
        let text = format!("task `{}` has the rules that were approved", plan.task);
        if options.print {
            render::note(&text)
        } else {
            render::line(&text)
        }
        return Ok(CommandExit::Proceed);
    };
    if options.print {
        screen::difference(&question.unapproved).iter().for_each(render::note);
        render::stored_document(&question.request);
        return Ok(CommandExit::Proceed);
    }
    let by = match &options.signature {
        Some(file) => ApprovedBy::Signature(read_signature(&environment.absolute(file))?),
        None if question.require_signature => return Err(needs_signature(&question)),
        None if !environment::is_person_present(environment) => {
            return Err(environment::why_nobody(environment, needs_person(environment, &question)));
        }
        None if !ask_for_name(&question.unapproved, &uninterrupted()?) => {
            render::line("nothing was approved");
            return Ok(CommandExit::PersonNeeded);
        }
        None => ApprovedBy::Answer(PersonPresence::Person),
    };
    workspace.approve(&scope, &settings, plan, &question, by).map_err(|error| super::from_run_error(&error))?;
    render::line(&format!("task `{}` is approved as it is now", plan.task));
    Ok(CommandExit::Proceed)
}

/// Returns a control to which no stop request comes: a signal ends the program while it asks, because nothing runs.
pub(super) fn uninterrupted() -> Result<Control, CommandError> {
    let made =
        Control::new().map_err(|error| CommandError::caused(CommandExit::OwnFault, "failed to prepare the question", &error));
    made.map(|(control, _handle)| control)
}

fn read_signature(path: &Path) -> Result<String, CommandError> {
    read_regular_text(path, SIGNATURE_CAP).map_err(|error| {
        let what = format!("`{}` cannot be read", path.display());
        CommandError::caused(CommandExit::Usage, what, &error)
            .hint("name the file that `ssh-keygen -Y sign` wrote: it ends in `.sig`")
    })
}

fn needs_person(environment: &Environment, question: &ApprovalQuestion) -> CommandError {
    refused(question).hint(approve_hint(environment, &question.unapproved))
}

fn needs_signature(question: &ApprovalQuestion) -> CommandError {
    let command = approve_command(&question.unapproved.task);
    let names: Vec<&str> = question.signers.iter().map(|signer| signer.principals.as_str()).collect();
    refused(question).hint(format!("take it back, or have it signed by one of: {}", names.join(", "))).hint(format!(
        "`{command} --print > approval.json`, `ssh-keygen -Y sign -n proctor-approval -f KEY approval.json`, then \
             `{command} --signature approval.json.sig`"
    ))
}

fn refused(question: &ApprovalQuestion) -> CommandError {
    let mut lines = screen::difference(&question.unapproved).into_iter();
    let error = CommandError::new(CommandExit::PersonNeeded, lines.next().unwrap_or_default());
    lines.fold(error, |error, line| error.detail(line.trim_start().to_owned()))
}

/// Asks the person at the terminal, where there is one, to approve what a run has refused or was judged by, and returns whether the
/// person did. The person is not asked if only a signature can approve the plan.
pub(super) fn ask_in_place(
    workspace: &mut Workspace,
    scope: &ProjectScope,
    settings: &ProjectSettings,
    plan: &Plan,
    environment: &Environment,
    control: &Control,
) -> Result<bool, CommandError> {
    if !environment::is_person_present(environment) {
        return Ok(false);
    }
    let found = workspace.approval_question(scope, settings, plan).map_err(|error| super::from_run_error(&error))?;
    let Some(question) = found.filter(|question| question.unapproved.way == ApprovalWay::Answer) else { return Ok(false) };
    if !ask_for_name(&question.unapproved, control) {
        return Ok(false);
    }
    let by = ApprovedBy::Answer(PersonPresence::Person);
    workspace.approve(scope, settings, plan, &question, by).map_err(|error| super::from_run_error(&error))?;
    Ok(true)
}

/// Asks the person at the terminal to approve the rules that a project has now, before a run asks. Returns whether the run needs no further
/// answer.
pub(super) fn ask_beforehand(root: &Path, environment: &Environment) -> Result<bool, CommandError> {
    let launcher = opening::start_launcher(environment)?;
    let loaded = specification_files::load_for_approval(environment, root)?;
    let RunResources { mut workspace, scope, settings, .. } = opening::open(environment, launcher, &loaded, None)?;
    let found = workspace.approval_question(&scope, &settings, &loaded.plan).map_err(|error| super::from_run_error(&error))?;
    if found.is_none() {
        return Ok(true);
    }
    ask_in_place(&mut workspace, &scope, &settings, &loaded.plan, environment, &uninterrupted()?)
}

/// Asks once, and returns whether the person typed the name of what is approved. Whatever was typed before the question was
/// shown is no answer, and neither is a pasted text of several lines: a person who expects no question approves nothing by
/// accident.
fn ask_for_name(unapproved: &UnapprovedPlan, control: &Control) -> bool {
    screen::difference(unapproved).iter().for_each(render::note);
    types(&screen::approval_prompt(unapproved), unapproved.name_to_type(), control)
}

/// Asks once, and returns whether the person typed what is expected, or what the screen shows for it: a name can have characters that
/// are shown escaped. Whatever was typed before the question was shown is no answer.
pub(super) fn types(question: &str, expected: &str, control: &Control) -> bool {
    terminal::forget_input();
    render::prompt(question);
    let answer = terminal::read_answer(control);
    if answer.is_none() {
        render::end_prompt();
    }
    answer.is_some_and(|answer| is_answer(answer.strip_suffix('\n').unwrap_or(&answer), expected))
}

fn is_answer(answer: &str, expected: &str) -> bool {
    answer == expected || answer == shown_line(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_typed_as_it_is_or_as_it_is_shown() {
        let name = "\u{26a0} tests\u{202e}";
        assert!(is_answer(name, name) && is_answer(&shown_line(name), name) && shown_line(name) != name);
        assert!(!is_answer("\u{26a0} tests", name) && !is_answer("", name));
    }
}
