//! `proctor approve`: a person approves the rules of the project or of a task as they are now, or the present content of protected files
//! (S7). Nothing is run.

use std::path::Path;

use crate::cli::specification_arguments::ApproveOptions;
use crate::cli::{environment, render, screen, terminal};
use proctor_app::approve::{self, ComparedPlan, WaitingDocument, WaitingProject};
use proctor_app::project::RunResources;
use proctor_app::{CommandError, Environment, indented};
use proctor_model::{ApprovalWay, CommandExit, Plan, UnapprovedPlan, shown_line};
use proctor_project::ApprovedBy;
use proctor_sandbox::process::Control;

pub(crate) fn execute(options: &ApproveOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let environment = &environment.with_values(&options.values.set);
    if options.list {
        let document = approve::waiting(environment)?;
        if options.json {
            render::document(&document);
        } else {
            waiting_lines(&document).iter().for_each(render::line);
        }
        return Ok(CommandExit::Proceed);
    }
    let compared = approve::compare(environment, options.place.path(), options.task.as_deref())?;
    let ComparedPlan { mut opened, plan, question } = compared;
    let Some(question) = question else {
        let text = format!("task `{}` has the rules that were approved", plan.task);
        if options.print {
            render::note(&text)
        } else {
            render::line(&text)
        }
        return Ok(CommandExit::Proceed);
    };
    if options.print {
        approve::difference(&question.unapproved).iter().for_each(render::note);
        render::stored_document(&question.request);
        return Ok(CommandExit::Proceed);
    }
    let by = match &options.signature {
        Some(file) => approve::read_signature(&environment.absolute(file))?,
        None if question.require_signature => return Err(approve::not_answered(environment, &question)),
        None if !environment::is_person_present(environment) => {
            return Err(environment::why_nobody(environment, approve::not_answered(environment, &question)));
        }
        None if !ask_for_name(&question.unapproved, &uninterrupted()?) => {
            render::line("nothing was approved");
            return Ok(CommandExit::PersonNeeded);
        }
        None => ApprovedBy::Answer,
    };
    approve::approve(&mut opened, &plan, &question, by)?;
    render::line(&format!("task `{}` is approved as it is now", plan.task));
    Ok(CommandExit::Proceed)
}

/// Returns the lines for people about what waits in all projects.
fn waiting_lines(document: &WaitingDocument) -> Vec<String> {
    let mut lines = Vec::new();
    if document.projects.iter().all(|project| project.waiting.is_empty()) {
        lines.push("nothing waits for approval".to_owned());
    }
    for WaitingProject { project, root, waiting, not_compared } in &document.projects {
        lines.push(format!("{project}  {root}"));
        for plan in waiting {
            lines.extend(plan.lines.iter().map(|line| format!("  {line}")));
            let how = if plan.needs_signature { "approve it by a signature; this command says how" } else { "approve it" };
            lines.push(format!("    {how}: `{}`", plan.command));
        }
        lines.extend(not_compared.iter().flat_map(|problem| indented(problem)));
    }
    lines
}

/// Returns a control to which no stop request comes: a signal ends the program while it asks, because nothing runs.
pub(super) fn uninterrupted() -> Result<Control, CommandError> {
    let made =
        Control::new().map_err(|error| CommandError::caused(CommandExit::OwnFault, "failed to prepare the question", &error));
    made.map(|(control, _handle)| control)
}

/// Asks the person at the terminal, where there is one, to approve what a run has refused or was judged by, and returns whether the
/// person did. The person is not asked if only a signature can approve the plan.
pub(super) fn ask_in_place(
    opened: &mut RunResources,
    plan: &Plan,
    environment: &Environment,
    control: &Control,
) -> Result<bool, CommandError> {
    if !environment::is_person_present(environment) {
        return Ok(false);
    }
    let found = approve::question_about(opened, plan)?;
    let Some(question) = found.filter(|question| question.unapproved.way == ApprovalWay::Answer) else { return Ok(false) };
    if !ask_for_name(&question.unapproved, control) {
        return Ok(false);
    }
    approve::approve(opened, plan, &question, ApprovedBy::Answer)?;
    Ok(true)
}

/// Asks the person at the terminal to approve the rules that a project has now, before a run asks. Returns whether the run needs no further
/// answer.
pub(super) fn ask_beforehand(root: &Path, environment: &Environment) -> Result<bool, CommandError> {
    let ComparedPlan { mut opened, plan, question } = approve::compare(environment, root, None)?;
    Ok(question.is_none() || ask_in_place(&mut opened, &plan, environment, &uninterrupted()?)?)
}

/// Asks once, and returns whether the person typed the name of what is approved. Whatever was typed before the question was
/// shown is no answer, and neither is a pasted text of several lines: a person who expects no question approves nothing by
/// accident.
fn ask_for_name(unapproved: &UnapprovedPlan, control: &Control) -> bool {
    approve::difference(unapproved).iter().for_each(render::note);
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
