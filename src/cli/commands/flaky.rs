//! `proctor history flaky`: names the tests that passed and failed on equal trees.

use crate::cli::history_arguments::FlakyOptions;
use crate::cli::render;
use crate::cli::screen;
use proctor_api::FlakyTestsV1;
use proctor_app::history;
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &FlakyOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, options.place.path())?;
    let (mut archive, project) = opening::open_registered(environment, &root)?;
    history::catch_up(environment, &mut archive, &project)?;
    let tests =
        archive.about_tests(&project, |archive| archive.flaky_tests(&project)).map_err(|error| super::from_run_error(&error))?;
    if options.json {
        render::document(&FlakyTestsV1::new(project, tests));
        return Ok(CommandExit::Proceed);
    }
    if tests.is_empty() {
        render::note("no test is known to have passed and failed on equal trees");
    }
    tests.iter().flat_map(screen::flaky_lines).for_each(|line| render::line(&line));
    Ok(CommandExit::Proceed)
}
