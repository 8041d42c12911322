//! The list of commands in `proctor --help`. The commands for every day come first, with a description; the others are named by group,
//! so that the list fits a screen. And what is said about a command that there is not.

use std::fmt::Write as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};

use crate::cli::arguments::Arguments;
use proctor_plan::config::nearest;

/// The commands that are listed with their description.
const EVERY_DAY: &[&str] = &["run", "watch", "status", "wait", "show", "log", "init", "plan", "why", "doctor"];

/// A heading in the help, and the commands that are named beside it.
struct Group {
    heading: &'static str,
    commands: &'static [&'static str],
}

/// The groups of the other commands. A test checks that every command is either in [`EVERY_DAY`] or in exactly one group.
const GROUPS: &[Group] = &[
    Group { heading: "Past runs", commands: &["open", "history"] },
    Group { heading: "Evidence", commands: &["prove", "gate", "attest", "verify", "export", "key", "prune"] },
    Group { heading: "Service", commands: &["service"] },
    Group { heading: "Tasks, agents", commands: &["check", "approve", "tdd", "request", "hook", "mcp", "lsp"] },
    Group { heading: "Reviews", commands: &["review"] },
    Group { heading: "Printed data", commands: &["generate"] },
];

/// Returns the command with this name.
pub(crate) fn name_of(word: &str) -> Option<&'static str> {
    EVERY_DAY.iter().chain(GROUPS.iter().flat_map(|group| group.commands)).find(|name| **name == word).copied()
}

/// Replaces clap's list of commands in the help by the commands for every day and the groups of the others.
pub(crate) fn group_commands(program: Command) -> Command {
    let width = EVERY_DAY.iter().map(|name| name.len()).max().unwrap_or_default();
    let mut listed = String::from("Every day:\n");
    for name in EVERY_DAY {
        let about = program.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string).unwrap_or_default();
        let _never_fails = writeln!(listed, "  {name:width$}  {about}");
    }
    listed.push_str("\nFurther commands:\n");
    let width = GROUPS.iter().map(|group| group.heading.len()).max().unwrap_or_default();
    for group in GROUPS {
        let _never_fails = writeln!(listed, "  {:width$}  {}", group.heading, group.commands.join(", "));
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}\nOptions:\n{{options}}\n\n\
         `proctor COMMAND --help` says more about one command."
    );
    program.help_template(template)
}

/// Returns the commands that have an unknown command below them, each with its name.
pub(crate) fn places_of_unknown(error: &clap::Error) -> Vec<(String, String)> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else { return Vec::new() };
    let program = Arguments::command();
    let parents = program.get_subcommands().filter(|command| command.find_subcommand(unknown).is_some());
    parents.map(|command| (command.get_name().to_owned(), unknown.clone())).collect()
}

/// Commands that earlier versions had, and what is to be done in their place.
const GONE: &[(&str, &str)] = &[
    (
        "archive",
        "runs are kept as directories; `proctor export RUN --output RUN.tar.zst` packs a copy of one, `proctor prune` removes old ones",
    ),
    ("govern", "write `proctor-govern` with the same options"),
    ("tasks", "write `proctor init --tasks`"),
];

/// Returns the error about an unknown command. Where commands below others have its name, as `install` stands below `service` and `hook`,
/// the error names these.
pub(crate) fn name_nested_command(error: clap::Error) -> clap::Error {
    let program = Arguments::command();
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    if let Some((_, way_out)) = GONE.iter().find(|(name, _)| name == unknown) {
        return program
            .clone()
            .error(ErrorKind::InvalidSubcommand, format!("there is no command `proctor {unknown}` any more: {way_out}"));
    }
    let places = places_of_unknown(&error);
    if places.is_empty() {
        let meant = nearest(unknown, program.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name));
        let Some(meant) = meant.filter(|_| error.get(ContextKind::SuggestedSubcommand).is_none()) else { return error };
        let text = format!("there is no command `proctor {unknown}`: did you mean `proctor {meant}`?");
        return program.clone().error(ErrorKind::InvalidSubcommand, text);
    }
    let places: Vec<String> = places.iter().map(|(parent, command)| format!("`proctor {parent} {command}`")).collect();
    let text = format!("there is no command `proctor {unknown}`: write {}", places.join(" or "));
    program.clone().error(ErrorKind::InvalidSubcommand, text)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::arguments::Arguments;

    #[test]
    fn every_command_is_listed_once_and_ten_at_most_are_for_every_day() {
        let listed: Vec<&str> = EVERY_DAY.iter().chain(GROUPS.iter().flat_map(|group| group.commands)).copied().collect();
        let program = Arguments::command();
        let mut visible: Vec<&str> =
            program.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name).collect();
        let mut sorted = listed.clone();
        sorted.sort_unstable();
        visible.sort_unstable();
        assert_eq!(sorted, visible);
        assert!(EVERY_DAY.len() <= 10 && listed.len() <= 30, "{} commands", listed.len());
    }

    #[test]
    fn the_help_fits_35_lines() {
        let help = group_commands(Arguments::command()).render_long_help().to_string();
        assert!(help.lines().count() <= 35, "{help}");
    }

    #[test]
    fn no_description_holds_a_brace_which_a_template_would_read() {
        let program = Arguments::command();
        let descriptions = program.get_subcommands().filter_map(Command::get_about).map(ToString::to_string);
        let with_braces: Vec<String> = descriptions.filter(|about| about.contains(['{', '}'])).collect();
        assert!(with_braces.is_empty(), "{with_braces:?}");
    }
}
