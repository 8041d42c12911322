//! Makes actions for plans. Checks from `proctor.toml`, discovered checks and actions of specifications all begin here.

use std::path::PathBuf;

use crate::config::ActionSettings;
use proctor_model::{Action, ActionDefaults, ActionPhase, CommandLine, Tool};
use proctor_tools::{FoundCheck, command_text};

/// Returns an action with this name and command and with default values for everything else.
pub(super) fn plain_action(
    phase: ActionPhase,
    number: usize,
    (name, tool): (&str, Tool),
    command: CommandLine,
    defaults: ActionDefaults,
) -> Action {
    let description = description(tool, &command);
    Action { description, ..Action::plain(phase, number, (name, tool), command, defaults) }
}

/// Returns an action with the settings from `proctor.toml`.
pub(super) fn configured_action(
    phase: ActionPhase,
    number: usize,
    settings: &ActionSettings,
    tool: Tool,
    command: CommandLine,
) -> Action {
    let defaults = ActionDefaults {
        timeout: settings.timeout,
        idle_timeout: settings.idle_timeout,
        max_output: settings.max_output,
        grace: settings.grace,
        on_survivors: settings.on_survivors,
    };
    let plain = plain_action(phase, number, (&settings.name.value, tool), command, defaults);
    let codes = settings.expected_exit_codes.as_ref().map(|codes| codes.value.clone());
    Action {
        directory: settings.directory.as_ref().map(|directory| PathBuf::from(&directory.value)).unwrap_or_default(),
        environment: settings.environment.clone(),
        expected_exit_codes: codes.unwrap_or_else(|| plain.expected_exit_codes.clone()),
        ..plain
    }
}

pub(super) fn found_command(found: &FoundCheck) -> CommandLine {
    CommandLine { argv: found.argv.clone(), display: command_text(&found.argv), shell: false }
}

fn description(tool: Tool, command: &CommandLine) -> String {
    format!("{}: `{}`", tool.does(), command.display)
}
