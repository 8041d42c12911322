//! `proctor approve`: a person says that the checks or a task may ask for less than was approved (S7). Nothing is run.

use crate::cli::commands::opening::{self, Opening};
use crate::cli::commands::run::not_approved;
use crate::cli::environment::Environment;
use crate::cli::error::CommandError;
use crate::cli::render;
use crate::cli::screen;
use crate::cli::specification_arguments::ApproveOptions;
use crate::cli::specification_files;
use crate::cli::terminal;
use crate::model::{CommandExit, Unapproved};
use crate::run::Attendance;

/// Carries the command out.
pub(crate) fn execute(options: &ApproveOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let launcher = opening::start_launcher(environment)?;
    let loaded = specification_files::load(environment, &options.directory, options.task.as_deref())?;
    let Opening { mut workspace, scope, settings, .. } = opening::open(environment, launcher, &loaded, None)?;
    let found = workspace.unapproved(&scope.project, &loaded.plan).map_err(|error| super::of_run(&error))?;
    let Some(unapproved) = found else {
        render::line(&format!("task `{}` asks for nothing less than was approved: a run approves it by that", loaded.plan.task));
        return Ok(CommandExit::Proceed);
    };
    if !terminal::is_input_terminal() {
        return Err(not_approved(&unapproved));
    }
    if !ask(&unapproved) {
        render::line("nothing was approved");
        return Ok(CommandExit::PersonNeeded);
    }
    let approved = workspace.approve(&scope, &settings, &loaded.plan, &unapproved, Attendance::Person);
    approved.map_err(|error| super::of_run(&error))?;
    render::line(&format!("task `{}` is approved as it is now", loaded.plan.task));
    Ok(CommandExit::Proceed)
}

/// Asks until there is an answer; an end of input is none, and approves nothing.
fn ask(unapproved: &Unapproved) -> bool {
    screen::difference(unapproved).iter().for_each(|line| render::note(line));
    loop {
        render::prompt("approve this? [y]es or [n]o ");
        match terminal::read_line().as_deref().map(str::trim) {
            Some("y" | "yes") => return true,
            Some("n" | "no") | None => return false,
            Some(_) => {}
        }
    }
}
