//! `proctor generate`: prints JSON Schemas, the page about the control socket and the completions of shells, and writes manual pages.
//! The tree's digest is in `tree`.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::arguments::Arguments;
use crate::cli::commands::tree;
use crate::cli::generate_arguments::{GenerateOptions, GenerateVerb, SchemaSubject, ShellName};
use crate::cli::review_arguments::{GOVERN, GovernOptions};
use crate::cli::{render, schemas};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;
use proctor_plan::spec::specification::SCHEMA_TEXT;

pub(crate) fn execute(options: &GenerateOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    match &options.verb {
        GenerateVerb::Tree(options) => return tree::execute(options, environment),
        GenerateVerb::Man(options) => write_manual_pages(&options.directory)?,
        GenerateVerb::Api => render::text(&proctor_api::routes_page()),
        GenerateVerb::Completions(options) => {
            let shell = match options.shell {
                ShellName::Bash => Shell::Bash,
                ShellName::Zsh => Shell::Zsh,
                ShellName::Fish => Shell::Fish,
                ShellName::Elvish => Shell::Elvish,
            };
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "proctor", &mut script);
            clap_complete::generate(shell, &mut GovernOptions::command(), GOVERN, &mut script);
            render::text(&String::from_utf8_lossy(&script));
        }
        GenerateVerb::Schema(options) => render::text(match options.what {
            SchemaSubject::Specification => SCHEMA_TEXT,
            SchemaSubject::Configuration => schemas::CONFIGURATION,
            SchemaSubject::Report => schemas::REPORT,
            SchemaSubject::Debt => schemas::DEBT,
            SchemaSubject::Ledger => schemas::LEDGER,
            SchemaSubject::Verify => schemas::VERIFY,
            SchemaSubject::Status => schemas::STATUS,
        }),
    }
    Ok(CommandExit::Proceed)
}

fn write_manual_pages(directory: &Path) -> Result<(), CommandError> {
    let pages_of = |program| clap_mangen::generate_to(program, directory);
    let written = fs::create_dir_all(directory).and_then(|()| pages_of(Arguments::command()));
    written.and_then(|()| pages_of(GovernOptions::command())).map_err(|error| {
        CommandError::caused(CommandExit::Usage, format!("failed to write manual pages into `{}`", directory.display()), &error)
            .hint("name a directory that you may write in")
    })?;
    render::line(&format!("wrote the manual pages into {}", directory.display()));
    Ok(())
}
