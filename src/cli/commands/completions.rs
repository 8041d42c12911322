//! `proctor generate completions`: prints what makes a shell complete commands and options.

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

use crate::cli::arguments::Arguments;
use crate::cli::generate_arguments::{CompletionsOptions, ShellName};
use crate::cli::render;
use proctor_app::CommandError;
use proctor_model::CommandExit;

pub(crate) fn execute(options: &CompletionsOptions) -> Result<CommandExit, CommandError> {
    let shell = match options.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "proctor", &mut script);
    render::text(&String::from_utf8_lossy(&script));
    Ok(CommandExit::Proceed)
}
