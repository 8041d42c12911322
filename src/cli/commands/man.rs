//! `proctor generate man`: writes a manual page for every command.

use std::fs;

use clap::CommandFactory as _;

use crate::cli::arguments::Arguments;
use crate::cli::generate_arguments::ManOptions;
use crate::cli::render;
use proctor_app::CommandError;
use proctor_model::CommandExit;

pub(crate) fn execute(options: &ManOptions) -> Result<CommandExit, CommandError> {
    let directory = &options.directory;
    fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(Arguments::command(), directory)).map_err(|error| {
        CommandError::caused(CommandExit::Usage, format!("failed to write manual pages into `{}`", directory.display()), &error)
            .hint("name a directory that you may write in")
    })?;
    render::line(&format!("wrote the manual pages into {}", directory.display()));
    Ok(CommandExit::Proceed)
}
