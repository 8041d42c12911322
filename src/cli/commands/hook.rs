//! `proctor hook`: answers coding agents, and keeps the hooks in their settings.

use crate::cli::commands::{hook_install, hook_report, hook_run};
use crate::cli::hook_arguments::{HookOptions, HookVerb};
use proctor_app::{CommandError, Environment};
use proctor_model::CommandExit;

pub(crate) fn execute(options: &HookOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    match &options.verb {
        HookVerb::Install(target) => hook_install::install(target, environment),
        HookVerb::Uninstall(target) => hook_install::uninstall(target, environment),
        HookVerb::Status => hook_install::status(environment),
        HookVerb::Run { event, agent } => hook_run::execute(event, agent, environment),
        HookVerb::Report { all, json } => hook_report::report(*all, *json, environment),
    }
}
