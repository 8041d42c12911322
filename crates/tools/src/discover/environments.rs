//! Reads the environments of tox and the sessions of nox, and which of them run where none is named.

use std::collections::BTreeMap;

use toml::Value;

use crate::discover::entries::{NamedCommand, command_lines, table_at, text_of};
use crate::project_files::{ProjectFiles, within};

/// The name of the environment from which tox's others take what they do not say.
pub(super) const BASE: &str = "testenv";

/// Returns the environments of tox, with the name of the environment that the others are based on first.
pub(super) fn tox(files: &dyn ProjectFiles, directory: &str) -> Vec<NamedCommand> {
    let mut found = Vec::new();
    for name in ["tox.ini", "setup.cfg"] {
        let path = within(directory, name);
        found.extend(text_of(files, &path).map(|text| tox_ini(&path, &text)).unwrap_or_default());
    }
    for (name, keys) in [("tox.toml", &[][..]), ("pyproject.toml", &["tool", "tox"])] {
        let path = within(directory, name);
        let Some(settings) = text_of(files, &path).and_then(|text| table_at(&text, keys)) else { continue };
        let commands =
            |table: Option<&Value>| table.and_then(|table| table.get("commands")).map(|value| command_lines(value, ""));
        let base = commands(settings.get("env_run_base"));
        let of = |name: &str, lines: Vec<String>| NamedCommand { file: path.clone(), name: name.to_owned(), lines };
        found.extend(base.clone().map(|lines| of(BASE, lines)));
        let all = settings.get("env").and_then(Value::as_table).into_iter().flatten();
        found.extend(all.map(|(name, table)| of(name, commands(Some(table)).or_else(|| base.clone()).unwrap_or_default())));
    }
    found
}

fn tox_ini(path: &str, text: &str) -> Vec<NamedCommand> {
    let mut found: Vec<NamedCommand> = Vec::new();
    let mut is_in = (false, false);
    for line in text.lines() {
        if let Some(section) = line.trim().strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let name = if section == BASE { Some(BASE) } else { section.strip_prefix("testenv:") };
            found.extend(name.map(|name| NamedCommand { file: path.to_owned(), name: name.to_owned(), lines: Vec::new() }));
            is_in = (name.is_some(), false);
            continue;
        }
        let of_key = line.split_once('=').filter(|_| !line.starts_with([' ', '\t', '#'])).map(|(key, value)| (key.trim(), value));
        let value = match of_key {
            Some((key, value)) => {
                is_in.1 = key == "commands";
                value
            }
            None => line,
        };
        if let (Some(command), (true, true)) = (found.last_mut(), is_in) {
            let line =
                value.replace("{envpython}", "python").replace("{posargs", "${").trim_start_matches([' ', '\t', '-']).to_owned();
            command.lines.extend(Some(line).filter(|line| !line.trim().is_empty()));
        }
    }
    let base = found.iter().find(|command| command.name == BASE).map(|command| command.lines.clone()).unwrap_or_default();
    found.iter_mut().filter(|command| command.lines.is_empty()).for_each(|command| command.lines.clone_from(&base));
    found
}

/// Returns the environments that `tox` runs by itself: those of its `env_list`, without it `py`.
pub(super) fn default_of_tox(files: &dyn ProjectFiles, directory: &str) -> Option<Vec<String>> {
    let py = || Some(vec![PY.to_owned()]);
    let read = |name: &str| text_of(files, &within(directory, name));
    // tox reads the first of these files that has settings of it.
    for (name, section) in [("tox.ini", "[tox]"), ("setup.cfg", "[tox:tox]")] {
        if let Some(text) = read(name).filter(|text| name == "tox.ini" || text.contains(section)) {
            // Whose commands an environment has is not read where a section stands for several.
            let is_plain = !text.lines().any(|line| line.starts_with("[testenv:") && line.contains('{'));
            return list_of_ini(&text, section).map_or_else(py, |list| names_of_ini(&list)).filter(|_| is_plain);
        }
    }
    let table = read("pyproject.toml").and_then(|text| table_at(&text, &["tool", "tox"]));
    let table = table.or_else(|| table_at(&read("tox.toml")?, &[])).unwrap_or_default();
    match table.get("env_list") {
        _ if table.contains_key("legacy_tox_ini") => None,
        None => py(),
        Some(list) => list.as_array()?.iter().map(|name| Some(name.as_str()?.to_owned())).collect(),
    }
}

/// The environment that `tox` runs where its settings name none.
const PY: &str = "py";

/// Returns the value of `env_list` in a section of a text.
fn list_of_ini(text: &str, section: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| line.trim() != section).skip(1).take_while(|line| !line.starts_with('['));
    let first = lines.by_ref().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        matches!(key.trim(), "envlist" | "env_list").then(|| value.to_owned())
    })?;
    let further = lines.take_while(|line| line.is_empty() || line.starts_with([' ', '\t', '#']));
    let lines = [first.as_str()].into_iter().chain(further).map(|line| line.split('#').next().unwrap_or_default().trim());
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the names in a list of tox, where `{a,b}` stands for each of the two; `None` if the list takes something from elsewhere.
fn names_of_ini(list: &str) -> Option<Vec<String>> {
    let mut depth = 0_usize;
    let split = list.split(|character: char| {
        depth = match character {
            '{' => depth + 1,
            '}' => depth.saturating_sub(1),
            _ => depth,
        };
        character == '\n' || depth == 0 && character == ','
    });
    let names = split.map(str::trim).filter(|name| !name.is_empty());
    let is_plain = !list.contains([':', '[', '$']);
    is_plain.then(|| names.flat_map(|name| expand(name, MOST_NAMES)).take(MOST_NAMES).collect())
}

/// The most names that a list of tox stands for.
const MOST_NAMES: usize = 1000;

fn expand(name: &str, most: usize) -> Vec<String> {
    let parts = name.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (inner, behind))) = parts else { return vec![name.to_owned()] };
    let rest = expand(behind, most);
    let one = |part: &str| rest.iter().map(|rest| format!("{before}{}{rest}", part.trim())).collect::<Vec<_>>();
    inner.split(',').flat_map(one).take(most).collect()
}

/// Returns the sessions that `nox` runs by itself: those of `nox.options.sessions`, without it all but those with `default=False`.
pub(super) fn default_of_nox(files: &dyn ProjectFiles, directory: &str) -> Option<Vec<String>> {
    let text = text_of(files, &within(directory, "noxfile.py"))?;
    let sessions = nox(files, directory);
    // Blanks decide nothing: `default = False` is `default=False`.
    let dense: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let is_chosen_otherwise = ["options.keywords", "options.tags", "options.pythons"].iter().any(|word| dense.contains(word));
    // The options may have another name: `opts = nox.options`.
    let is_plain = dense.matches("nox.options").count() == dense.matches("nox.options.").count()
        && dense.matches(".sessions").count() == dense.matches("nox.options.sessions=").count()
        && !["importoptions", "setattr("].iter().any(|word| dense.contains(word));
    if is_chosen_otherwise || !is_plain {
        return None;
    }
    let Some((_, value)) = text.split_once("options.sessions") else {
        let all = sessions.into_iter().map(|session| session.name).collect();
        return Some(all).filter(|_| !dense.replace("default=True", "").contains("default=") && !dense.contains(".sessions"));
    };
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let close = if value.starts_with('[') { ']' } else { ')' };
    let list = &value.get(1..value.find(close)?).filter(|_| value.starts_with(['[', '(']))?;
    let names = quoted_words(list, usize::MAX);
    // Between the names stands nothing but commas. A name may have a version of Python behind it.
    let is_plain = names.iter().fold((*list).to_owned(), |rest, name| rest.replace(name.as_str(), ""));
    let is_plain = is_plain.chars().all(|character| character.is_whitespace() || matches!(character, ',' | '"' | '\''));
    let plain = |name: String| {
        let is_of = |session: &&NamedCommand| {
            name.strip_prefix(session.name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '(']))
        };
        sessions.iter().filter(is_of).max_by_key(|session| session.name.len()).map(|session| session.name.clone())
    };
    let has_one = dense.matches("options.sessions").count() == 1;
    (is_plain && has_one).then(|| names.into_iter().filter_map(plain).collect())
}

/// Returns the sessions of nox with the words of their `session.run` calls, as far as these are texts.
pub(super) fn nox(files: &dyn ProjectFiles, directory: &str) -> Vec<NamedCommand> {
    let path = within(directory, "noxfile.py");
    let Some(text) = text_of(files, &path) else { return Vec::new() };
    let mut found: Vec<NamedCommand> = Vec::new();
    let mut named = None;
    for (at, line) in
        text.match_indices('\n').map(|(at, _)| at + 1).chain([0]).map(|at| (at, &text[at..])).collect::<BTreeMap<_, _>>()
    {
        let line = line.lines().next().unwrap_or_default();
        if let Some(decorator) = line.strip_prefix("@nox.session") {
            named = decorator.split_once("name=").and_then(|(_, rest)| quoted_words(rest, 1).pop());
        } else if let Some((name, _)) = line.strip_prefix("def ").and_then(|rest| rest.split_once('(')) {
            found.push(NamedCommand {
                file: path.clone(),
                name: named.take().unwrap_or_else(|| name.to_owned()),
                lines: Vec::new(),
            });
        } else if let (Some(session), Some((before, _))) = (found.last_mut(), line.split_once("session.run(")) {
            let call = &text[at + before.len()..];
            let words = quoted_words(call.split(')').next().unwrap_or_default(), usize::MAX);
            session.lines.push(words.join(" "));
        }
    }
    found
}

/// Returns the texts between quotes.
fn quoted_words(text: &str, most: usize) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(['"', '\'']).filter(|_| words.len() < most) {
        let quote = if rest[begin..].starts_with('"') { '"' } else { '\'' };
        let Some(end) = rest[begin + 1..].find(quote) else { break };
        words.push(rest[begin + 1..=begin + end].to_owned());
        rest = &rest[begin + end + 2..];
    }
    words
}
