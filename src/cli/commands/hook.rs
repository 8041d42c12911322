//! `proctor hook`: answers coding agents, keeps the hooks in their settings, and counts what hooks did.

use std::io::Read as _;
use std::path::Path;

use crate::cli::commands::hook_install;
use crate::cli::hook_arguments::{HookOptions, HookVerb};
use crate::cli::render;
use crate::cli::screen::counted;
use proctor_app::hook::HookFigures;
use proctor_app::project::setup;
use proctor_app::turn::{HookFiles, answer_event, find_event, unusable};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

/// The longest input that is read, in bytes. An agent's last message is in it.
const LONGEST_INPUT: u64 = 8 << 20;

pub(crate) fn execute(options: &HookOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    match &options.verb {
        HookVerb::Install(target) => hook_install::install(target, environment),
        HookVerb::Uninstall(target) => hook_install::uninstall(target, environment),
        HookVerb::Status => hook_install::status(environment),
        HookVerb::Run { event, agent } => answer(event, agent, environment),
        HookVerb::Report { all, json } => report(*all, *json, environment),
    }
}

/// Answers an event of an agent. An error means that nothing is known, and blocks nothing.
fn answer(event: &str, agent: &str, environment: &Environment) -> Result<CommandExit, CommandError> {
    let asked = find_event(event, agent)?;
    let output = answer_event(environment, asked, read_standard_input());
    if !output.stdout.is_empty() {
        render::json_line(&output.stdout);
    }
    output.stderr.lines().for_each(render::note);
    Ok(if output.exit == 0 { CommandExit::Proceed } else { CommandExit::Usage })
}

fn read_standard_input() -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST_INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|error| CommandError::caused(CommandExit::Usage, "standard input cannot be read", &error))?;
    if bytes.len() as u64 > LONGEST_INPUT {
        return Err(unusable(format!("the input is longer than {LONGEST_INPUT} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| unusable("the input is not UTF-8".to_owned()))
}

/// Prints what hooks did, counted.
fn report(all: bool, json: bool, environment: &Environment) -> Result<CommandExit, CommandError> {
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
