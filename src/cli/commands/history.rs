//! `proctor history`: tells the past of a test.

use crate::cli::environment;
use crate::cli::history_arguments::{HistoryOptions, HistoryVerb};
use crate::cli::render;
use crate::cli::screen;
use proctor_app::history::past;
use proctor_app::project::{setup, specification_files};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &HistoryOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    let test = match &options.verb {
        None => options.test.as_deref().expect("clap asks for a test where no other command is named"),
        Some(HistoryVerb::Flaky(options)) => return super::flaky::execute(options, environment),
        Some(HistoryVerb::Slow(options)) => return super::slow::execute(options, environment),
    };
    let root = setup::project_root(environment, &options.project)?;
    let task = options.task.as_deref().map(specification_files::read_task).transpose()?;
    let limit = usize::try_from(options.limit).unwrap_or(usize::MAX);
    let past = past(environment, &root, task.as_ref(), (test, limit))?;
    if options.json {
        render::document(&past);
    } else {
        screen::past_lines(&past.past, environment::style(environment)).iter().for_each(render::line);
    }
    Ok(CommandExit::Proceed)
}
