//! `proctor hook report` and `proctor hook wrong`: what hooks did, counted, and a person's word that a block was wrong.

use std::path::Path;

use crate::cli::commands::approve;
use crate::cli::environment;
use crate::cli::render;
use crate::cli::screen::counted;
use proctor_app::hook::{HookFigures, HookLine};
use proctor_app::project::setup;
use proctor_app::turn::HookFiles;
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;
use proctor_sandbox::process::clock;

pub(super) fn report(all: bool, json: bool, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = if all { None } else { Some(project(environment)?) };
    let figures = HookFigures::count(&HookFiles::of(environment.state_root()).log(), root.as_deref());
    if json {
        render::document(&figures);
        return Ok(CommandExit::Proceed);
    }
    render::line(&counted(figures.turns, "turn"));
    let then_green = figures.blocks_then_green;
    render::line(&format!("{}, {then_green} of them followed by a green verdict", counted(figures.blocks, "block")));
    render::line(&format!("{} refuted", counted(figures.refuted_claims, "claim")));
    render::line(&format!("{} called wrong", counted(figures.wrong_blocks, "block")));
    Ok(CommandExit::Proceed)
}

pub(super) fn wrong(environment: &Environment) -> Result<CommandExit, CommandError> {
    let (files, root) = (HookFiles::of(environment.state_root()), project(environment)?);
    let Some(of) = HookFigures::last_block(&files.log(), &root) else {
        return Err(CommandError::new(
            CommandExit::Usage,
            "no agent was blocked in this project, or the last block was called wrong already",
        )
        .hint("`proctor hook report` counts them"));
    };
    let question = format!("to say that the block of {of} was wrong, type `wrong`; anything else says nothing: ");
    if !environment::is_person_present(environment) {
        let error = CommandError::new(CommandExit::PersonNeeded, "only a person at a terminal can call a block wrong")
            .hint("run the command yourself at a terminal");
        return Err(environment::why_nobody(environment, error));
    }
    if !approve::types(&question, "wrong", &approve::uninterrupted()?) {
        return Err(
            CommandError::new(CommandExit::Usage, "nothing was called wrong").hint("`proctor hook report` counts the blocks")
        );
    }
    files.add_to_log(&HookLine::Wrong { at: clock::now(), project: root, of }).map_err(|error| {
        CommandError::caused(CommandExit::OwnFault, "that cannot be recorded", &error)
            .hint("see whether the store can be written: `proctor doctor`")
    })?;
    render::line(&format!("the block of {of} counts as wrong"));
    Ok(CommandExit::Proceed)
}

fn project(environment: &Environment) -> Result<String, CommandError> {
    Ok(setup::project_root(environment, Path::new("."))?.display().to_string())
}
