//! `proctor hook report`: what hooks did, counted.

use std::path::Path;

use crate::cli::render;
use crate::cli::screen::counted;
use proctor_app::hook::HookFigures;
use proctor_app::project::setup;
use proctor_app::turn::HookFiles;
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

pub(super) fn report(all: bool, json: bool, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = match all {
        true => None,
        false => Some(setup::project_root(environment, Path::new("."))?.display().to_string()),
    };
    let figures = HookFigures::count(&HookFiles::of(environment.state_root()).log(), root.as_deref());
    if json {
        render::document(&figures);
        return Ok(CommandExit::Proceed);
    }
    render::line(&counted(figures.turns, "turn"));
    let then_green = figures.blocks_then_green;
    render::line(&format!("{}, {then_green} of them followed by a green verdict", counted(figures.blocks, "block")));
    render::line(&format!("{} refuted", counted(figures.refuted_claims, "claim")));
    Ok(CommandExit::Proceed)
}
