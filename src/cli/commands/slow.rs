//! `proctor history slow`: names the tests that became slower, and those that take the longest.

use crate::cli::history_arguments::SlowOptions;
use crate::cli::render;
use crate::cli::screen;
use proctor_api::SlowTestsV1;
use proctor_app::history;
use proctor_app::project::{opening, setup};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &SlowOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let root = setup::project_root(environment, options.place.path())?;
    let (mut archive, project) = opening::open_registered(environment, &root)?;
    history::catch_up(environment, &mut archive, &project)?;
    let tests =
        archive.about_tests(&project, |archive| archive.slow_tests(&project)).map_err(|error| super::from_run_error(&error))?;
    if options.json {
        render::document(&SlowTestsV1::new(project, tests));
        return Ok(CommandExit::Proceed);
    }
    if tests.slowest.is_empty() {
        render::note("no durations of tests are known");
    }
    screen::slow_lines(&tests).iter().for_each(render::line);
    Ok(CommandExit::Proceed)
}
