//! Checks that the files with the program's help texts, and the pages that are made from such texts, are up to date.
//!
//! `PROCTOR_UPDATE_HELP=1 cargo test --test integration -- readme docs` writes `tests/help/*.txt` and the pages anew.

use std::env;
use std::fs;

use crate::common::{Project, repository};

/// The page that is made from all help texts.
pub(crate) const COMMAND_LINE: &str = "docs/reference/command-line.md";
/// The page that is made from the file of all settings.
const CONFIGURATION: &str = "docs/reference/configuration.md";

/// The page that is made from the table of hidden files.
const HIDDEN_FILES: &str = "docs/reference/hidden-files.md";

/// The text below the title with which a generated page begins.
const MADE_BY: &str = "This page is made by the program itself";

/// Returns whether generated files are to be written instead of compared.
pub(crate) fn is_update_wanted() -> bool {
    env::var_os("PROCTOR_UPDATE_HELP").is_some()
}

#[test]
fn the_page_of_the_command_line_is_made_of_the_help_texts() {
    let mut text = format!("# Command line\n\n{MADE_BY}: it holds what `--help` prints of every command.\n");
    for (path, help) in helps() {
        let name: String = path.iter().map(|word| format!(" {word}")).collect();
        let lines: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        text.push_str(&format!("\n## proctor{name}\n\n```text\n{lines}```\n"));
    }
    compare_page(COMMAND_LINE, &text);
}

#[test]
fn the_page_of_the_configuration_is_the_file_of_all_settings() {
    let settings = Project::new().proctor(["init", "--print"]).success().stdout;
    let intro = "it holds what `proctor init --print` prints, every setting with its default. A `proctor.toml` in the root of a project \
                 holds what differs.";
    compare_page(CONFIGURATION, &format!("# Configuration\n\n{MADE_BY}: {intro}\n\n```toml\n{settings}```\n"));
}

#[test]
fn the_page_of_hidden_files_is_the_table_of_the_program() {
    let intro = "it holds the files and directories with secrets that [actions do not see](../guides/isolation.md), also where an \
                 input or a setting shows what lies around them, and in an open world. A hidden directory appears empty, and so does a \
                 hidden file; without namespaces it cannot be opened. `$XDG_CONFIG_HOME` and `$XDG_DATA_HOME` \
                 count beside `~/.config` and `~/.local/share`. `visible` in `[sandbox]` shows a path to every action.";
    compare_page(HIDDEN_FILES, &format!("# Hidden files\n\n{MADE_BY}: {intro}\n\n{}", proctor_sandbox::hidden_files_table()));
}

fn compare_page(path: &str, text: &str) {
    let file = repository().join(path);
    if is_update_wanted() {
        fs::write(&file, text).expect("the source tree is writable");
    }
    let page = fs::read_to_string(&file).unwrap_or_else(|error| panic!("could not read `{path}`: {error}"));
    assert!(page == text, "`{path}` is not up to date: PROCTOR_UPDATE_HELP=1 cargo test --test integration -- readme docs");
}

/// Returns the help text of the program and of every command. A command follows directly after the command that lists
/// it.
pub(crate) fn helps() -> Vec<(Vec<String>, String)> {
    let project = Project::new();
    let mut helps: Vec<(Vec<String>, String)> = Vec::new();
    let mut waiting = vec![Vec::new()];
    while let Some(path) = waiting.pop() {
        let help = project.proctor(path.iter().map(String::as_str).chain(["--help"])).success().stdout;
        let listed = subcommands(&help).into_iter().map(|name| path.iter().cloned().chain([name]).collect::<Vec<_>>());
        waiting.extend(listed.collect::<Vec<_>>().into_iter().rev());
        helps.push((path, help));
    }
    assert!(helps.len() > 1, "`proctor --help` lists no command:\n{}", helps[0].1);
    helps
}

/// Returns the commands that a help text lists between its usage and its options, under one heading or several.
fn subcommands(help: &str) -> Vec<String> {
    let behind_usage = help.lines().skip_while(|line| !line.starts_with("Usage: ")).skip(1);
    let listed = behind_usage.take_while(|line| !matches!(*line, "Options:" | "Arguments:"));
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn commands_are_found_under_one_heading_and_under_several() {
    assert_eq!(subcommands("Usage: x\n\nCommands:\n  run    Runs\n  help   Print this\n\nOptions:\n  -h\n"), ["run"]);
    assert_eq!(subcommands("A\n  ex\nUsage: x\n\nA:\n  run  Runs\n\nB:\n  show  Shows\n\nOptions:\n  -h\n"), ["run", "show"]);
    assert_eq!(subcommands("Usage: x [DIR]\n\nArguments:\n  [DIR]\n\nOptions:\n  -h\n"), [""; 0]);
}
