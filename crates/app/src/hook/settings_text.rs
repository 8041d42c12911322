//! Adds hooks to the settings of an agent, and takes them out again. Only text is changed here; nothing is read or written.
//!
//! An edit adds or removes exactly its own bytes. Settings whose meaning is not certain, such as JSON with comments, are refused.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::hook::AgentRow;
use crate::hook::contract::EntryShape;
use crate::hook::json_text::{JsonContent, JsonNode, read_parts};

/// The plugin for an agent whose hooks are a program. Its first line says whose it is.
const PLUGIN: &str = include_str!("opencode.js");

/// Why settings are left as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsProblem {
    #[error("line {line}, column {column}: it is no JSON: {what}")]
    NotJson { line: usize, column: usize, what: String },
    /// A program that writes JSON would lose the comments.
    #[error("line {line}: it has comments, which JSON does not have")]
    Comments { line: usize },
    #[error("it is empty, which is no JSON: an object without keys is `{{}}`")]
    Empty,
    #[error("it begins with a byte order mark, which JSON does not have")]
    ByteOrderMark,
    #[error("`{path}` is {found}, and not {expected}")]
    WrongShape { path: String, found: &'static str, expected: &'static str },
    #[error("the key `{path}` is there twice")]
    Twice { path: String },
    #[error("it is a plugin of somebody else")]
    OtherPlugin,
}

/// A part of the settings that was added, and that is removed again when it has become empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AddedPart {
    /// The whole file.
    File,
    /// The key `version`.
    Version,
    /// The key `hooks`.
    Hooks,
    /// The list of an event.
    Event(String),
}

/// Settings after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedSettings {
    /// `None` if nothing is left, so that the file is removed.
    pub text: Option<String>,
    /// What was added beside the entries themselves.
    pub added: BTreeSet<AddedPart>,
}

/// Adds the agent's entries that are not there. Settings that have all of them stay as they are.
///
/// # Errors
/// When the settings are not certain to mean what an edit would take them for.
pub fn install_hooks(agent: &AgentRow, text: Option<&str>) -> Result<EditedSettings, SettingsProblem> {
    if agent.shape == EntryShape::Plugin {
        let has_it = text.map(is_own_plugin).transpose()?;
        let added = if has_it.is_some() { BTreeSet::new() } else { BTreeSet::from([AddedPart::File]) };
        return Ok(EditedSettings { text: Some(PLUGIN.to_owned()), added });
    }
    let Some(before) = text else {
        let mut added = BTreeSet::from([AddedPart::File, AddedPart::Hooks]);
        added.extend(agent.events.iter().map(|row| AddedPart::Event(row.name.to_owned())));
        if agent.versioned {
            added.insert(AddedPart::Version);
        }
        return Ok(EditedSettings { text: Some(new_file(agent)), added });
    };
    let mut text = before.to_owned();
    let mut added = BTreeSet::new();
    check(agent, &text)?;
    if agent.versioned && read_parts(&text).member("version").is_none() {
        text = with_part(&text, &read_parts(&text), 0, r#""version": 1"#);
        added.insert(AddedPart::Version);
    }
    if read_parts(&text).member("hooks").is_none() {
        let events = missing_hooks(agent, &indentation(&text));
        text = with_part(&text, &read_parts(&text), 0, &events);
        added.insert(AddedPart::Hooks);
        added.extend(agent.events.iter().map(|row| AddedPart::Event(row.name.to_owned())));
        return Ok(EditedSettings { text: Some(text), added });
    }
    for row in agent.events {
        let root = read_parts(&text);
        let Some(hooks) = root.member("hooks") else { break };
        match hooks.value.member(row.name) {
            Some(list) if list.value.elements().iter().any(|entry| holds(entry, &agent.command(row))) => {}
            Some(list) => text = with_part(&text, &list.value, 2, &agent.entry(row)),
            None => {
                let unit = indentation(&text);
                let list = format!("\"{}\": [\n{}{}\n{}]", row.name, unit.repeat(3), agent.entry(row), unit.repeat(2));
                text = with_part(&text, &hooks.value, 1, &list);
                added.insert(AddedPart::Event(row.name.to_owned()));
            }
        }
    }
    Ok(EditedSettings { text: Some(text), added })
}

/// Returns the key by which settings switch all hooks of the agent off, if they do. Only Claude Code documents one.
pub fn off_switch(agent: &AgentRow, text: &str) -> Option<&'static str> {
    const KEY: &str = "disableAllHooks";
    let is_on = |content: &JsonContent| *content == JsonContent::Other("true".to_owned());
    let is_off = agent.word == "claude"
        && check(agent, text).is_ok()
        && read_parts(text).member(KEY).is_some_and(|member| is_on(&member.value.content));
    is_off.then_some(KEY)
}

/// Removes the agent's entries, and the parts of `added` that are empty then.
///
/// # Errors
/// The same as for [`install_hooks`].
pub fn uninstall_hooks(agent: &AgentRow, text: &str, added: &BTreeSet<AddedPart>) -> Result<EditedSettings, SettingsProblem> {
    if agent.shape == EntryShape::Plugin {
        return is_own_plugin(text).map(|()| EditedSettings { text: None, added: BTreeSet::new() });
    }
    check(agent, text)?;
    let mut text = text.to_owned();
    // The order is the opposite of that of an installation.
    for row in agent.events.iter().rev() {
        while let Some(shorter) = without_entry(&text, row.name, &agent.command(row)) {
            text = shorter;
        }
        if added.contains(&AddedPart::Event(row.name.to_owned())) {
            let root = read_parts(&text);
            let list = root.member("hooks").and_then(|hooks| Some((&hooks.value, hooks.value.member(row.name)?)));
            if let Some((hooks, list)) = list.filter(|(_, list)| is_empty(&list.value)) {
                text = without_part(&text, hooks, list.start);
            }
        }
    }
    for (part, key) in [(AddedPart::Hooks, "hooks"), (AddedPart::Version, "version")] {
        let root = read_parts(&text);
        let member = root.member(key).filter(|_| added.contains(&part));
        // A version beside hooks that somebody else added to ours since is needed by the agent.
        let has_others = added.contains(&AddedPart::Hooks) && root.member("hooks").is_some();
        let may_go = |value: &JsonNode| if part == AddedPart::Version { !has_others } else { is_empty(value) };
        if let Some(member) = member.filter(|member| may_go(&member.value)) {
            text = without_part(&text, &root, member.start);
        }
    }
    let is_gone = added.contains(&AddedPart::File) && is_empty(&read_parts(&text));
    Ok(EditedSettings { text: (!is_gone).then_some(text), added: BTreeSet::new() })
}

/// Returns the names of the events whose entries are in the settings.
///
/// # Errors
/// The same as for [`install_hooks`].
pub fn entries_there(agent: &AgentRow, text: &str) -> Result<Vec<&'static str>, SettingsProblem> {
    if agent.shape == EntryShape::Plugin {
        return is_own_plugin(text).map(|()| agent.events.iter().map(|row| row.name).collect());
    }
    check(agent, text)?;
    let root = read_parts(text);
    let list = |name: &str| root.member("hooks").and_then(|hooks| hooks.value.member(name));
    let is_there = |name: &str, command: &str| {
        list(name).is_some_and(|list| list.value.elements().iter().any(|entry| holds(entry, command)))
    };
    Ok(agent.events.iter().filter(|row| is_there(row.name, &agent.command(row))).map(|row| row.name).collect())
}

/// Checks that a plugin is proctor's, of this version or of another one.
fn is_own_plugin(text: &str) -> Result<(), SettingsProblem> {
    let is_own = text.lines().next() == PLUGIN.lines().next();
    is_own.then_some(()).ok_or(SettingsProblem::OtherPlugin)
}

/// Checks that the settings are JSON, and that the parts that an edit is about have the shape that the agent expects.
fn check(agent: &AgentRow, text: &str) -> Result<(), SettingsProblem> {
    if text.starts_with('\u{feff}') {
        return Err(SettingsProblem::ByteOrderMark);
    }
    if text.trim().is_empty() {
        return Err(SettingsProblem::Empty);
    }
    if let Err(error) = serde_json::from_str::<serde_json::Value>(text) {
        let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
        // The error is at the slash, or behind it.
        let place: String = line.chars().skip(error.column().saturating_sub(2)).take(3).collect();
        if place.contains("//") || place.contains("/*") || line.trim_start().starts_with("//") {
            return Err(SettingsProblem::Comments { line: error.line() });
        }
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default().to_owned();
        return Err(SettingsProblem::NotJson { line: error.line(), column: error.column(), what });
    }
    let root = read_parts(text);
    expect_object(&root, "the file")?;
    no_key_twice(&root, "")?;
    if agent.versioned
        && let Some(version) = root.member("version")
        && version.value.content != JsonContent::Other("1".to_owned())
    {
        return Err(SettingsProblem::WrongShape { path: "version".to_owned(), found: "another version", expected: "1" });
    }
    let Some(hooks) = root.member("hooks") else { return Ok(()) };
    expect_object(&hooks.value, "hooks")?;
    no_key_twice(&hooks.value, "hooks.")?;
    for row in agent.events {
        let Some(list) = hooks.value.member(row.name) else { continue };
        if !matches!(list.value.content, JsonContent::Array(_)) {
            let path = format!("hooks.{}", row.name);
            return Err(SettingsProblem::WrongShape { path, found: kind(&list.value), expected: "a list" });
        }
    }
    Ok(())
}

fn expect_object(node: &JsonNode, path: &str) -> Result<(), SettingsProblem> {
    match node.content {
        JsonContent::Object(_) => Ok(()),
        JsonContent::Array(_) | JsonContent::Text(_) | JsonContent::Other(_) => {
            Err(SettingsProblem::WrongShape { path: path.to_owned(), found: kind(node), expected: "an object" })
        }
    }
}

fn no_key_twice(node: &JsonNode, path: &str) -> Result<(), SettingsProblem> {
    let JsonContent::Object(members) = &node.content else { return Ok(()) };
    let mut seen = BTreeSet::new();
    match members.iter().find(|member| !seen.insert(member.key.as_str())) {
        Some(twice) => Err(SettingsProblem::Twice { path: format!("{path}{}", twice.key) }),
        None => Ok(()),
    }
}

fn kind(node: &JsonNode) -> &'static str {
    match node.content {
        JsonContent::Object(_) => "an object",
        JsonContent::Array(_) => "a list",
        JsonContent::Text(_) => "a text",
        JsonContent::Other(_) => "a number, true, false or null",
    }
}

fn is_empty(node: &JsonNode) -> bool {
    node.parts().is_empty() && matches!(node.content, JsonContent::Object(_) | JsonContent::Array(_))
}

/// Returns whether an entry starts exactly this command: by itself, or as one of its group.
fn holds(entry: &JsonNode, command: &str) -> bool {
    let is_own = |node: &JsonNode| {
        ["command", "bash"].iter().any(|key| node.member(key).and_then(|member| member.value.text()) == Some(command))
    };
    is_own(entry) || entry.member("hooks").is_some_and(|group| group.value.elements().iter().any(is_own))
}

/// Removes the first entry of an event that starts the command, or only the command where its group has others. `None` if there is none.
fn without_entry(text: &str, event: &str, command: &str) -> Option<String> {
    let root = read_parts(text);
    let list = &root.member("hooks")?.value.member(event)?.value;
    let entry = list.elements().iter().find(|entry| holds(entry, command))?;
    let group = entry.member("hooks").map(|group| &group.value).filter(|group| group.elements().len() > 1);
    Some(match group {
        Some(group) => {
            let own = group.elements().iter().find(|hook| holds(hook, command))?;
            without_part(text, group, own.start)
        }
        None => without_part(text, list, entry.start),
    })
}

/// Adds a part at the end of an object or array. `depth` is the number of containers around it.
fn with_part(text: &str, container: &JsonNode, depth: usize, part: &str) -> String {
    let (at, comma) = match container.parts().last() {
        Some((_, end)) => (*end, ","),
        None => (container.start + 1, ""),
    };
    let space = if text.contains('\n') { format!("\n{}", indentation(text).repeat(depth + 1)) } else { String::new() };
    let space = if space.is_empty() && comma == "," { " ".to_owned() } else { space };
    format!("{}{comma}{space}{part}{}", &text[..at], &text[at..])
}

/// Removes the part that begins at `start` with what an addition put before it.
fn without_part(text: &str, container: &JsonNode, start: usize) -> String {
    let parts = container.parts();
    let Some(position) = parts.iter().position(|part| part.0 == start) else { return text.to_owned() };
    let end = parts[position].1;
    let (from, to) = match (position.checked_sub(1), parts.get(position + 1)) {
        (Some(before), _) => (parts[before].1, end),
        (None, Some(next)) => (start, next.0),
        (None, None) => (container.start + 1, end),
    };
    format!("{}{}", &text[..from], &text[to..])
}

/// Returns the space before the first key of the settings, which is what one level of them is indented by; two spaces if that is not known.
fn indentation(text: &str) -> String {
    let root = read_parts(text);
    let first = root.parts().first().map(|(start, _)| &text[..*start]);
    let space = first.and_then(|before| before.rsplit_once('\n')).map(|(_, space)| space);
    space.filter(|space| !space.is_empty() && space.len() <= 8).map_or_else(|| "  ".to_owned(), str::to_owned)
}

/// Returns the key `hooks` with every entry of an agent.
fn missing_hooks(agent: &AgentRow, unit: &str) -> String {
    let (two, three, one) = (unit.repeat(2), unit.repeat(3), unit);
    let lists: Vec<String> =
        agent.events.iter().map(|row| format!("{two}\"{}\": [\n{three}{}\n{two}]", row.name, agent.entry(row))).collect();
    format!("\"hooks\": {{\n{}\n{one}}}", lists.join(",\n"))
}

/// Returns a settings file with the hooks and nothing else.
fn new_file(agent: &AgentRow) -> String {
    let version = if agent.versioned { "  \"version\": 1,\n" } else { "" };
    format!("{{\n{version}  {}\n}}\n", missing_hooks(agent, "  "))
}

#[cfg(test)]
mod tests;
