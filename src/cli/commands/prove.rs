//! `proctor prove`: says whether the tests of a change fail without the change.

use crate::cli::gate_arguments::ProveOptions;
use crate::cli::{environment, render, screen};
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &ProveOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let launcher = opening::start_launcher(environment)?;
    let root = setup::project_root(environment, &options.project)?;
    if options.base {
        let found = proctor_prove::compare_failures(environment, launcher, &root, options.range.as_deref())?;
        if options.json {
            render::document(&found);
        } else {
            screen::base_lines(&found, environment::style(environment)).iter().for_each(render::line);
        }
        return Ok(found.exit());
    }
    let proof =
        proctor_prove::prove(environment, launcher, &root, options.range.as_deref(), options.hunks.then_some(options.budget))?;
    if options.json {
        render::document(&proof);
    } else {
        screen::proof_lines(&proof, environment::style(environment)).iter().for_each(render::line);
    }
    Ok(proof.state.exit())
}
