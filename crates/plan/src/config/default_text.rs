//! The text of all defaults: `default.toml`, completed by a table for each tool that has findings. A policy decides
//! which findings of a tool make the verdict FAILED.

use std::sync::LazyLock;

use crate::config::judged::{Asked, row_of};
use proctor_model::{FindingFacts, PolicyOptions, Tool};

/// The line of `default.toml` that is replaced by the tables `[policy.TOOL]`.
const TABLES_OF_TOOLS: &str = "#<one table [policy.TOOL] for each tool that a policy judges>\n";

/// How a comment begins that explains every key of its table down to the next comment, by another table.
pub(super) const REFERENCE: &str = "These keys are as for ";

static TEXT: LazyLock<String> = LazyLock::new(|| with_questions(&with_tables()));

/// The lines of the text that set a default. Every command parses them; the explanations are most of the text, and are left out.
pub(super) static DEFAULT_SETTINGS: LazyLock<String> = LazyLock::new(|| {
    let settings = with_tables();
    let settings = settings.lines().filter(|line| !line.starts_with('#'));
    settings.fold(String::new(), |text, line| text + line + "\n")
});

fn with_tables() -> String {
    include_str!("default.toml").replace(TABLES_OF_TOOLS, &tables_of_tools())
}

/// Returns the text of every default, with an explanation of each setting. `proctor init --print` prints it.
pub fn default_text() -> &'static str {
    &TEXT
}

/// Adds a line above each setting that has a change to which a person must agree before anything runs. The line names this
/// change, and says whether a person must agree at the first run, too.
fn with_questions(text: &str) -> String {
    let mut table = String::new();
    let mut written = String::with_capacity(text.len() * 2);
    for line in text.lines() {
        let live = line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line);
        if let Some(header) = live.strip_prefix('[') {
            table = header.trim_matches(['[', ']']).to_owned();
        } else if let Some((key, _)) = live.split_once(" = ").filter(|_| !line.starts_with("# ")) {
            written.push_str(&question(&format!("{table}.{key}")));
        }
        written.push_str(line);
        written.push('\n');
    }
    written
}

/// Returns the line that says to which change of a setting a person must agree; empty if a person need not agree to any
/// change.
fn question(path: &str) -> String {
    let Some((when, asked)) = row_of(path) else { return String::new() };
    match asked {
        Asked::After => String::new(),
        Asked::Before => format!("# Asked for: {}.\n", when.words()),
        Asked::AtFirst => format!("# Asked for: {}; more than the default at the first run, too.\n", when.words()),
    }
}

fn tables_of_tools() -> String {
    let mut judged: Vec<(Tool, &FindingFacts)> =
        Tool::ALL.into_iter().filter_map(|tool| Some((tool, tool.findings()?))).collect();
    judged.sort_by_key(|(tool, facts)| (facts.options == PolicyOptions::None, tool.policy_category()));
    let explained = judged.first().map(|(tool, _)| *tool);
    let tables: Vec<String> = judged.iter().filter_map(|(tool, facts)| table(*tool, facts, explained?)).collect();
    tables.join("\n")
}

/// Returns a tool's policy table as text. Among the tools with options for warnings and rules, only `explained` gets
/// explanations of its keys; the tables of the other tools refer to it.
fn table(tool: Tool, facts: &FindingFacts, explained: Tool) -> Option<String> {
    let block_on = format!("block_on = \"{}\"", tool.default_strategy()?.word());
    let plain = [
        ("Whether its findings count at all; false equals \"never\".", "enabled = true"),
        ("When its findings block.", block_on.as_str()),
    ];
    let options: &[(&str, &str)] = match facts.options {
        PolicyOptions::WarningsAndRules => &[
            ("Whether each warning counts as an error.", "treat_warnings_as_errors = false"),
            ("More warnings than this block, under \"errors-only\" and \"errors-always\".", "#max_warnings = 10"),
            ("Findings of these rules are dropped.", "ignored_rules = []"),
            ("Findings of these rules count as errors.", "error_on_rules = []"),
        ],
        PolicyOptions::None => &[],
    };
    let refers = !options.is_empty() && tool != explained;
    let rules = if facts.rules_have_numbers { "; rules by number or by name" } else { "" };
    let line = |(explanation, setting): &(&str, &str)| match refers {
        true => format!("{setting}\n"),
        false => format!("# {explanation}\n{setting}\n"),
    };
    let reference = if refers { format!("# {REFERENCE}{}{rules}.\n", explained.word()) } else { String::new() };
    let settings: String = plain.iter().chain(options).map(line).collect();
    Some(format!("[policy.{}]\n{reference}{settings}", tool.word()))
}
