//! The error about placeholders without a value: one for the whole file, with every name and both ways to give a value.

use std::collections::BTreeMap;

use crate::config::{SpecificationSettings, ValueSource, nearest};
use crate::spec::specification::fill::{Filling, OpenPlaceholder};
use proctor_model::{Problem, TextPosition};

/// At most this many lines are named for one placeholder.
const MOST_LINES: usize = 8;

/// Returns the names of the placeholders in the order of the file, each with the lines in which it stands.
pub(super) fn names_with_lines(
    open: &[&OpenPlaceholder],
    place: impl Fn(&OpenPlaceholder) -> Option<TextPosition>,
) -> Vec<(String, Vec<usize>)> {
    let mut lines: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for one in open {
        lines.entry(&one.name).or_default().extend(place(one).map(|position| position.line));
    }
    for lines in lines.values_mut() {
        lines.sort_unstable();
        lines.dedup();
    }
    let mut names: Vec<(String, Vec<usize>)> = lines.into_iter().map(|(name, lines)| (name.to_owned(), lines)).collect();
    names.sort_by_key(|(name, lines)| (lines.first().copied(), name.clone()));
    names
}

/// Returns the error without its position and rule.
pub(super) fn lacking_values(
    pointer: &str,
    names: &[(String, Vec<usize>)],
    settings: &SpecificationSettings,
    filling: &Filling,
) -> Problem {
    let shown: Vec<String> = names.iter().map(|(name, lines)| name_with_lines(name, lines, settings)).collect();
    let message = match names.len() {
        1 => format!("a placeholder has no value: {}", shown.join(", ")),
        count => format!("{count} placeholders have no value: {}", shown.join(", ")),
    };
    // A variable is set outside, and no other way gives a value to it.
    let missing: Vec<&str> =
        names.iter().map(|(name, _)| name.as_str()).filter(|name| !settings.unusable.contains_key(*name)).collect();
    let mut hints = Vec::new();
    if !missing.is_empty() {
        let given: Vec<String> = missing.iter().map(|name| format!("--set {name}=VALUE")).collect();
        let written: Vec<String> = missing.iter().map(|name| format!("{} = \"VALUE\"", key(name))).collect();
        hints.push(format!("give values on the command line: {}", given.join(" ")));
        hints.push(format!("or in proctor.toml, below `[specification.values]`: {}", written.join(", ")));
        hints.push(
            "a secret is named in `from_environment` of `[specification]`, and is taken from the variable of that name"
                .to_owned(),
        );
    }
    if missing.len() < names.len() {
        hints.push("set the variables that `from_environment` names, and run the command again".to_owned());
    }
    let unused = settings
        .values
        .iter()
        .filter(|(name, value)| value.source == ValueSource::CommandLine && !filling.filled.contains_key(*name));
    for (name, _) in unused {
        let meant = nearest(name, missing.iter().copied());
        hints.extend(meant.map(|meant| format!("`--set {name}` fills nothing: did you mean `{meant}`?")));
    }
    Problem::new(pointer, message).hint(hints.join("\n  "))
}

fn name_with_lines(name: &str, lines: &[usize], settings: &SpecificationSettings) -> String {
    let numbers: Vec<String> = lines.iter().take(MOST_LINES).map(ToString::to_string).collect();
    let more = if lines.len() > MOST_LINES { ", …" } else { "" };
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let why = settings.unusable.get(name).map(|why| format!("; {why}")).unwrap_or_default();
    format!("`{name}` ({word} {}{more}{why})", numbers.join(", "))
}

/// Returns a name as a key of TOML. A dot would make a table of it.
fn key(name: &str) -> String {
    if name.contains('.') { format!("\"{name}\"") } else { name.to_owned() }
}
