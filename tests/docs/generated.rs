//! Checks that the files with the program's help texts, and the pages that are made from such texts, are up to date.
//!
//! `PROCTOR_UPDATE_HELP=1 cargo test --test integration -- readme docs` writes `tests/help/*.txt` and the pages anew.

use std::collections::{BTreeMap, BTreeSet};
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
    let helps = helps();
    let parts: Vec<Vec<String>> = helps.iter().map(|(_, help)| parts(help)).collect();
    let common = common_parts(&parts);
    let intro = "it holds what `--help` prints of every command, but for the examples. What several commands say of an option or an argument \
                 in the same words stands once, in the first section.";
    let mut text = format!("# Command line\n\n{MADE_BY}: {intro}\n\n## Common options and arguments\n\n```text\n");
    common.iter().for_each(|part| text.push_str(&format!("{part}\n")));
    text.push_str("```\n");
    for ((path, _), parts) in helps.iter().zip(&parts) {
        text.push_str(&format!("\n## {}\n\n```text\n{}```\n", typed(path), own_text(parts, &common)));
    }
    compare_page(COMMAND_LINE, &text);
}

#[test]
fn the_page_of_the_configuration_is_the_file_of_all_settings() {
    let settings = Project::new().proctor(["init", "--print"]).success().stdout;
    let intro = "it holds what `proctor init --print` prints, every setting with its default. Which changes are asked for stands below; \
                 tables of tools with equal keys stand once. A `proctor.toml` in the root of a project holds what differs.";
    let (settings, asked) = without_asked_for(&settings);
    let settings = with_equal_policies_once(&settings);
    let approvals = "Before anything runs, a person is asked for these changes \
                     ([approvals](../guides/approvals.md#what-opens-the-machine)); where `*` stands, for more than the default at the \
                     first run, too.";
    let table = format!("## What is asked for\n\n{approvals}\n\n{}", asked_for_table(&asked));
    compare_page(CONFIGURATION, &format!("# Configuration\n\n{MADE_BY}: {intro}\n\n```toml\n{settings}```\n\n{table}"));
}

/// A line `# Asked for: …` of the file of all settings, with the setting below it.
#[derive(Debug, PartialEq, Eq)]
struct AskedFor {
    change: String,
    is_asked_at_the_first_run: bool,
    table: String,
    key: String,
}

/// Returns the file of all settings without its lines `# Asked for: …`, and what these lines say.
fn without_asked_for(settings: &str) -> (String, Vec<AskedFor>) {
    let mut kept = String::new();
    let mut asked: Vec<AskedFor> = Vec::new();
    let mut table = String::new();
    let mut waiting: Option<&str> = None;
    for line in settings.lines() {
        if let Some(change) = line.strip_prefix("# Asked for: ") {
            waiting = Some(change.trim_end_matches('.'));
            continue;
        }
        let setting = line.strip_prefix('#').unwrap_or(line);
        if setting.starts_with('[') {
            setting.clone_into(&mut table);
        }
        if let (Some(change), Some((key, _))) = (waiting, setting.split_once(" = ")) {
            let short = change.strip_suffix("; more than the default at the first run, too");
            asked.push(AskedFor {
                change: short.unwrap_or(change).to_owned(),
                is_asked_at_the_first_run: short.is_some(),
                table: table.clone(),
                key: key.to_owned(),
            });
            waiting = None;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    assert!(waiting.is_none(), "no setting follows `Asked for`");
    (kept, asked)
}

/// Returns a table with a row for each kind of change that is asked for.
fn asked_for_table(asked: &[AskedFor]) -> String {
    let mut text = "| change | settings |\n|---|---|\n".to_owned();
    let changes: BTreeSet<&str> = asked.iter().map(|asked| asked.change.as_str()).collect();
    for change in changes {
        let mut cell = String::new();
        let mut table = "";
        // The tables of a command and of a service have the same keys.
        let mut seen = BTreeSet::new();
        let is_new = |setting: &&AskedFor| setting.change == change && seen.insert((setting.table.clone(), setting.key.clone()));
        for (position, setting) in asked.iter().filter(is_new).enumerate() {
            cell.push_str(if position == 0 {
                ""
            } else if setting.table == table {
                ", "
            } else {
                "; "
            });
            if setting.table != table {
                cell.push_str(&format!("`{}` ", setting.table));
            }
            cell.push_str(&format!("`{}`{}", setting.key, if setting.is_asked_at_the_first_run { "\\*" } else { "" }));
            table = &setting.table;
        }
        text.push_str(&format!("| {change} | {cell} |\n"));
    }
    text
}

/// Returns the file of all settings with the table `[policy.eslint]` in place of all tables that have its keys. A line for each
/// value of `block_on` names them. Panics if such a table has another default.
fn with_equal_policies_once(settings: &str) -> String {
    const SAME: &str = "# These keys are as for eslint";
    let lines_with_values = |table: &str| -> Vec<String> {
        let values = table.lines().filter(|line| line.contains(" = ") && !line.starts_with("block_on"));
        values.map(str::to_owned).collect()
    };
    let tables: Vec<&str> = settings.split("\n\n").collect();
    let eslint = tables.iter().position(|table| table.starts_with("[policy.eslint]")).expect("there is a table of eslint");
    let mut named: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut kept = Vec::new();
    for table in &tables {
        let Some((name, same)) = table.split_once('\n').filter(|(_, rest)| rest.starts_with(SAME)) else {
            kept.push((*table).to_owned());
            continue;
        };
        assert_eq!(lines_with_values(table), lines_with_values(tables[eslint]), "{name} has other defaults");
        let name = name.trim_start_matches("[policy.").trim_end_matches(']');
        let note = same[SAME.len()..].lines().next().unwrap_or_default().trim_matches([';', ' ', '.']);
        let block_on = table.lines().find_map(|line| line.strip_prefix("block_on = ")).expect("the table has the key");
        named.entry(block_on).or_default().push(if note.is_empty() { name.to_owned() } else { format!("{name} ({note})") });
    }
    let mut others = "\n# The same keys are in [policy.NAME], with this `block_on`:".to_owned();
    for (block_on, names) in named {
        others.push_str(&format!("\n# {block_on}: {}", names.join(", ")));
    }
    kept[eslint].push_str(&others);
    kept.join("\n\n")
}

#[test]
fn what_is_asked_for_is_a_table_and_equal_policies_stand_once() {
    let settings = "[a]\n# Text.\n# Asked for: any change; more than the default at the first run, too.\nb = 1\n#[[c]]\n\
                    # Asked for: any change.\n#d = 2\n# Asked for: any change.\n#e = 2\n";
    let (kept, asked) = without_asked_for(settings);
    assert_eq!(kept, "[a]\n# Text.\nb = 1\n#[[c]]\n#d = 2\n#e = 2\n");
    assert_eq!(asked_for_table(&asked), "| change | settings |\n|---|---|\n| any change | `[a]` `b`\\*; `[[c]]` `d`, `e` |\n");
    let settings = "[policy.eslint]\nblock_on = \"x\"\nk = 1\n\n[policy.a]\n# These keys are as for eslint; n.\nblock_on = \"y\"\nk = 1\n\n[g]\n";
    let short = "[policy.eslint]\nblock_on = \"x\"\nk = 1\n# The same keys are in [policy.NAME], with this `block_on`:\n# \"y\": a (n)\n\n[g]\n";
    assert_eq!(with_equal_policies_once(settings), short);
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

/// The program with the issue workflow, which has no commands.
pub(crate) const GOVERN: &str = "proctor-govern";

/// Returns what is typed to reach a help text of [`helps`].
pub(crate) fn typed(path: &[String]) -> String {
    let program = if path.first().is_some_and(|word| word == GOVERN) { "" } else { "proctor " };
    format!("{program}{}", path.join(" ")).trim_end().to_owned()
}

/// Returns the help text of the program and of every command. A command follows directly after the command that lists
/// it. The last is that of `proctor-govern`.
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
    helps.push((vec![GOVERN.to_owned()], project.govern(["--help"]).success().stdout));
    helps
}

/// Returns the commands that a help text lists between its usage and its options: one on each line, with a description, and below
/// `Further commands:` several on each line, with the name of their group.
fn subcommands(help: &str) -> Vec<String> {
    let behind_usage = help.lines().skip_while(|line| !line.starts_with("Usage: ")).skip_while(|line| !line.is_empty());
    let mut names = Vec::new();
    let mut is_grouped = false;
    for line in behind_usage.take_while(|line| !matches!(*line, "Options:" | "Arguments:")) {
        is_grouped |= line == "Further commands:";
        let Some(row) = line.strip_prefix("  ") else { continue };
        match row.split_once("  ") {
            Some((_group, commands)) if is_grouped => names.extend(commands.trim().split(", ").map(str::to_owned)),
            _ => names.extend(row.split_whitespace().next().map(str::to_owned)),
        }
    }
    names.retain(|name| name != "help");
    names
}

/// How many commands must say the same of an option before it is told once for all of them.
const COMMON: usize = 2;

/// Returns a help text in parts: what stands before the options and arguments, then a part for each of these, and each heading.
fn parts(help: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_behind_usage = false;
    for line in help.lines().map(str::trim_end) {
        is_behind_usage |= matches!(line, "Options:" | "Arguments:");
        let is_entry =
            line.starts_with("  ") && line.trim_start().starts_with(['-', '[', '<']) && line.find(['-', '[', '<']) <= Some(6);
        if is_behind_usage && (is_entry && !line.starts_with("       ") || matches!(line, "Options:" | "Arguments:")) {
            parts.push(String::new());
        }
        let part = parts.last_mut().expect("there is a first part");
        part.push_str(line);
        part.push('\n');
    }
    parts.iter_mut().for_each(|part| *part = part.trim_end().to_owned() + "\n");
    parts
}

/// Returns an option's text with single spaces: short and long help differ in nothing else.
fn words(part: &str) -> String {
    part.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the options and arguments of which at least [`COMMON`] commands say the same, in the order in which they first occur.
fn common_parts(helps: &[Vec<String>]) -> Vec<String> {
    let entries = || helps.iter().flat_map(|parts| &parts[1..]).filter(|part| part.starts_with(' '));
    let mut common: Vec<String> = Vec::new();
    for part in entries() {
        let count = entries().filter(|other| words(other) == words(part)).count();
        if count >= COMMON && !common.iter().any(|known| words(known) == words(part)) {
            common.push(part.clone());
        }
    }
    common
}

/// Returns a help text without the common parts, and without a heading that has nothing below it then.
fn own_text(parts: &[String], common: &[String]) -> String {
    let is_own = |part: &&String| !common.iter().any(|known| words(known) == words(part));
    let kept: Vec<&String> = parts.iter().filter(is_own).collect();
    let has_entries = |position: usize| kept.get(position + 1).is_some_and(|next| next.starts_with(' '));
    let is_shown = |position: usize| position == 0 || kept[position].starts_with(' ') || has_entries(position);
    (0..kept.len())
        .filter(|position| is_shown(*position))
        .map(|position| without_plain_usage(&without_examples(without_commands(kept[position]))))
        .collect()
}

/// Returns a part without its usage where that names neither an argument nor an option that has to be given: the section's title says it.
fn without_plain_usage(part: &str) -> String {
    let is_plain = |line: &str| {
        line.strip_prefix("Usage: proctor").is_some_and(|rest| {
            rest.split(' ')
                .all(|word| !word.starts_with('<') && !word.ends_with(']') || matches!(word, "[OPTIONS]" | "<COMMAND>"))
        })
    };
    let kept: Vec<&str> = part.lines().filter(|line| !is_plain(line)).collect();
    kept.join("\n").trim_end().to_owned() + "\n"
}

/// Returns a part without its examples, which end at an empty line.
fn without_examples(part: &str) -> String {
    let Some((before, examples)) = part.split_once("\nExamples:\n") else { return part.to_owned() };
    let after = examples.split_once("\n\n").map_or("", |(_, after)| after);
    format!("{before}\n{after}")
}

/// Returns a part without the lists of commands: each of them has a section that begins with the same words.
fn without_commands(part: &str) -> &str {
    let lists = ["\nCommands:\n", "\nEvery day:\n"];
    lists.iter().find_map(|heading| part.split_once(heading)).map_or(part, |(before, _)| before)
}

#[test]
fn what_several_commands_say_of_an_option_is_told_once() {
    let help = |own: &str| {
        format!("A\n\nUsage: x [D]\n\nArguments:\n  [D]\n          Dir\n\nOptions:\n{own}  -h, --help\n          Help\n")
    };
    let own = "      --own <N>\n          Own\n\n          - a: b\n\n";
    let all: Vec<Vec<String>> =
        [help(own), help(""), help("").replace("--help\n          ", "--help  ")].iter().map(|help| parts(help)).collect();
    let common = common_parts(&all);
    assert_eq!(common, ["  [D]\n          Dir\n", "  -h, --help\n          Help\n"]);
    assert_eq!(own_text(&all[0], &common), "A\n\nUsage: x [D]\nOptions:\n      --own <N>\n          Own\n\n          - a: b\n");
    assert_eq!(own_text(&all[1], &common), "A\n\nUsage: x [D]\n");
    assert!(common_parts(&all[..1]).is_empty());
    assert_eq!(without_plain_usage("A\n\nUsage: proctor x [OPTIONS] <COMMAND>\n"), "A\n");
    assert_eq!(without_plain_usage("A\n\nUsage: proctor x [OPTIONS] [D]\n"), "A\n\nUsage: proctor x [OPTIONS] [D]\n");
    assert_eq!(without_examples("A\n\nExamples:\n  a\n  b\n\nUsage: x\n"), "A\n\nUsage: x\n");
    assert_eq!(without_examples("A\n\nExamples:\n  a\n"), "A\n\n");
    assert_eq!(without_commands("A\n\nUsage: x y\n\nCommands:\n  z  Z\n"), "A\n\nUsage: x y\n");
}

#[test]
fn commands_are_found_one_on_a_line_and_in_groups() {
    assert_eq!(subcommands("Usage: x\n\nCommands:\n  run    Runs\n  help   Print this\n\nOptions:\n  -h\n"), ["run"]);
    let groups = "A\n  ex\nUsage: x\n\nA:\n  run  Runs\n\nFurther commands:\n  B, c  show, log\n  D     end\n\nOptions:\n  -h\n";
    assert_eq!(subcommands(groups), ["run", "show", "log", "end"]);
    assert_eq!(subcommands("Usage: x [DIR]\n\nArguments:\n  [DIR]\n\nOptions:\n  -h\n"), [""; 0]);
}
