//! The groups of commands in `proctor --help`. The commands for everyday use come first.

use std::fmt::Write as _;

use clap::Command;

/// A heading in the help, and the commands below it.
struct Group {
    heading: &'static str,
    commands: &'static [&'static str],
}

/// The groups in the order of the help. A test checks that every command is in exactly one group.
const GROUPS: &[Group] = &[
    Group { heading: "Every day", commands: &["run", "watch", "status", "wait", "show", "log", "init", "plan", "why", "doctor"] },
    Group { heading: "Past runs and tests", commands: &["open", "history", "flaky", "slow", "diff"] },
    Group {
        heading: "Evidence",
        commands: &["gate", "attest", "verify", "export", "key", "anchor", "checkpoint", "archive", "prune", "tree"],
    },
    Group { heading: "Service", commands: &["add", "remove", "list", "daemon", "service", "api"] },
    Group {
        heading: "Specifications and agents",
        commands: &["check", "schema", "approve", "tdd", "tasks", "request", "hook", "mcp"],
    },
    Group { heading: "Reviews", commands: &["review", "govern"] },
    Group { heading: "Installation", commands: &["completions", "man"] },
];

/// Replaces the single list of commands in the help by one list for each group.
pub(crate) fn group_commands(program: Command) -> Command {
    let names = GROUPS.iter().flat_map(|group| group.commands);
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut listed = String::new();
    for group in GROUPS {
        let _never_fails = writeln!(listed, "{}:", group.heading);
        for name in group.commands {
            let about = program.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string).unwrap_or_default();
            let _never_fails = writeln!(listed, "  {name:width$}  {about}");
        }
        listed.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}Options:\n{{options}}\n\n\
         `proctor help COMMAND` says more about one command."
    );
    program.help_template(template)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::arguments::Arguments;

    #[test]
    fn every_command_is_in_one_group_and_ten_at_most_are_in_the_first() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        let program = Arguments::command();
        let mut visible: Vec<&str> =
            program.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name).collect();
        let mut sorted = grouped.clone();
        sorted.sort_unstable();
        visible.sort_unstable();
        assert_eq!(sorted, visible);
        assert!(GROUPS[0].commands.len() <= 10);
    }

    #[test]
    fn no_description_holds_a_brace_which_a_template_would_read() {
        let program = Arguments::command();
        let descriptions = program.get_subcommands().filter_map(Command::get_about).map(ToString::to_string);
        let with_braces: Vec<String> = descriptions.filter(|about| about.contains(['{', '}'])).collect();
        assert!(with_braces.is_empty(), "{with_braces:?}");
    }
}
