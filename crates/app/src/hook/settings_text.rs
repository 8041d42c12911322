//! Adds hooks to the settings of an agent, and takes them out again. Only text is changed here; nothing is read or written.
//!
//! An edit adds or removes exactly its own bytes, and keeps comments. Settings whose meaning is not certain, such as a key that is there
//! twice, are refused.

use std::collections::BTreeSet;

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Range;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use proctor_wire::wire;

use crate::hook::AgentRow;
use crate::hook::contract::EntryShape;

/// The plugin for an agent whose hooks are a program.
const PLUGIN: &str = include_str!("opencode.js");

/// Why settings are left as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsProblem {
    #[error("line {line}, column {column}: it is no JSON: {what}")]
    NotJson { line: usize, column: usize, what: String },
    #[error("it is empty, which is no JSON: an object without keys is `{{}}`")]
    Empty,
    #[error("it begins with a byte order mark, which JSON does not have")]
    ByteOrderMark,
    #[error("`{path}` is {found}, and not {expected}")]
    WrongShape { path: String, found: &'static str, expected: &'static str },
    #[error("the key `{path}` is there twice")]
    Twice { path: String },
    #[error("it is not the plugin as proctor writes it: somebody else wrote it, or changed it since")]
    OtherPlugin,
}

/// A part of the settings that was added, and that is removed again when it has become empty.
#[wire(PartialOrd, Ord)]
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

/// Settings that are JSON, with or without comments, and where their parts stand.
struct ParsedSettings<'t> {
    text: &'t str,
    root: Object<'t>,
    /// Every mark, value and comment of the text, in order.
    tokens: Vec<TokenAndRange<'t>>,
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
    let every_event = || agent.events.iter().map(|row| AddedPart::Event(row.name.to_owned()));
    let Some(before) = text else {
        let mut added = BTreeSet::from([AddedPart::File, AddedPart::Hooks]);
        added.extend(every_event());
        if agent.versioned {
            added.insert(AddedPart::Version);
        }
        return Ok(EditedSettings { text: Some(new_file(agent)), added });
    };
    let mut text = before.to_owned();
    let mut added = BTreeSet::new();
    let settings = ParsedSettings::of(agent, &text)?;
    if agent.versioned && settings.root.get("version").is_none() {
        text = settings.with_part(settings.root.range, &members(&settings.root), 0, r#""version": 1"#);
        added.insert(AddedPart::Version);
    }
    let settings = ParsedSettings::read(&text)?;
    if settings.hooks().is_none() {
        let lists = missing_hooks(agent, &settings.indentation());
        text = settings.with_part(settings.root.range, &members(&settings.root), 0, &lists);
        added.insert(AddedPart::Hooks);
        added.extend(every_event());
        return Ok(EditedSettings { text: Some(text), added });
    }
    for row in agent.events {
        let settings = ParsedSettings::read(&text)?;
        let Some(hooks) = settings.hooks() else { break };
        text = match settings.entries(row.name) {
            Some(list) if list.elements.iter().any(|entry| holds(entry, &agent.command(row))) => continue,
            Some(list) => settings.with_part(list.range, &elements(list), 2, &agent.entry(row)),
            None => {
                let unit = settings.indentation();
                let list = format!("\"{}\": [\n{}{}\n{}]", row.name, unit.repeat(3), agent.entry(row), unit.repeat(2));
                added.insert(AddedPart::Event(row.name.to_owned()));
                settings.with_part(hooks.range, &members(hooks), 1, &list)
            }
        };
    }
    Ok(EditedSettings { text: Some(text), added })
}

/// Returns the key by which settings switch all hooks of the agent off, if they do. Only Claude Code documents one.
pub fn off_switch(agent: &AgentRow, text: &str) -> Option<&'static str> {
    const KEY: &str = "disableAllHooks";
    let settings = ParsedSettings::of(agent, text).ok().filter(|_| agent.word == "claude")?;
    settings.root.get_boolean(KEY).is_some_and(|value| value.value).then_some(KEY)
}

/// Removes the agent's entries, and the parts of `added` that are empty then. A part with a comment in it is not empty.
///
/// # Errors
/// The same as for [`install_hooks`].
pub fn uninstall_hooks(agent: &AgentRow, text: &str, added: &BTreeSet<AddedPart>) -> Result<EditedSettings, SettingsProblem> {
    if agent.shape == EntryShape::Plugin {
        return is_own_plugin(text).map(|()| EditedSettings { text: None, added: BTreeSet::new() });
    }
    ParsedSettings::of(agent, text)?;
    let mut text = text.to_owned();
    // The order is the opposite of that of an installation.
    for row in agent.events.iter().rev() {
        while let Some(shorter) = ParsedSettings::read(&text)?.without_entry(row.name, &agent.command(row)) {
            text = shorter;
        }
        let settings = ParsedSettings::read(&text)?;
        if added.contains(&AddedPart::Event(row.name.to_owned()))
            && let Some(hooks) = settings.hooks()
            && settings.entries(row.name).is_some_and(|list| settings.is_empty(list.range))
        {
            text = settings.without_member(hooks, row.name);
        }
    }
    for (part, key) in [(AddedPart::Hooks, "hooks"), (AddedPart::Version, "version")] {
        let settings = ParsedSettings::read(&text)?;
        let may_go = match part {
            // A version beside hooks that somebody else added to ours since is needed by the agent.
            AddedPart::Version => !(added.contains(&AddedPart::Hooks) && settings.hooks().is_some()),
            AddedPart::File | AddedPart::Hooks | AddedPart::Event(_) => {
                settings.hooks().is_some_and(|hooks| settings.is_empty(hooks.range))
            }
        };
        if may_go && added.contains(&part) {
            text = settings.without_member(&settings.root, key);
        }
    }
    // What is left of a file without anything but an empty object are the two brackets.
    let is_gone = added.contains(&AddedPart::File) && ParsedSettings::read(&text)?.tokens.len() == 2;
    Ok(EditedSettings { text: (!is_gone).then_some(text), added: BTreeSet::new() })
}

/// Returns the names of the events whose entries are in the settings. A plugin of proctor's that somebody changed since has all of them: an
/// uninstallation has to refuse it, and not to find nothing.
///
/// # Errors
/// The same as for [`install_hooks`].
pub fn entries_there(agent: &AgentRow, text: &str) -> Result<Vec<&'static str>, SettingsProblem> {
    if agent.shape == EntryShape::Plugin {
        let begins_as_own = text.lines().next() == PLUGIN.lines().next();
        let every_event = || agent.events.iter().map(|row| row.name).collect();
        return begins_as_own.then(every_event).ok_or(SettingsProblem::OtherPlugin);
    }
    let settings = ParsedSettings::of(agent, text)?;
    let is_there = |name: &str, command: &str| {
        settings.entries(name).is_some_and(|list| list.elements.iter().any(|entry| holds(entry, command)))
    };
    Ok(agent.events.iter().filter(|row| is_there(row.name, &agent.command(row))).map(|row| row.name).collect())
}

/// Checks that a plugin is exactly what proctor writes. A file with anything else in it has a person's work in it, which must be neither
/// replaced nor removed, whatever its first line says.
fn is_own_plugin(text: &str) -> Result<(), SettingsProblem> {
    (text == PLUGIN).then_some(()).ok_or(SettingsProblem::OtherPlugin)
}

impl<'t> ParsedSettings<'t> {
    /// Reads settings, and checks that the parts that an edit is about have the shape that the agent expects.
    fn of(agent: &AgentRow, text: &'t str) -> Result<Self, SettingsProblem> {
        let settings = Self::read(text)?;
        no_key_twice(&settings.root, "")?;
        if agent.versioned
            && let Some(version) = settings.root.get("version")
            && version.value.as_number_lit().is_none_or(|number| number.value != "1")
        {
            return Err(SettingsProblem::WrongShape { path: "version".to_owned(), found: "another version", expected: "1" });
        }
        let Some(hooks) = settings.root.get("hooks") else { return Ok(settings) };
        no_key_twice(expect_object(&hooks.value, "hooks")?, "hooks.")?;
        for row in agent.events {
            let list = settings.hooks().and_then(|hooks| hooks.get(row.name));
            if let Some(list) = list.filter(|list| list.value.as_array().is_none()) {
                let path = format!("hooks.{}", row.name);
                return Err(SettingsProblem::WrongShape { path, found: kind(&list.value), expected: "a list" });
            }
        }
        Ok(settings)
    }

    /// Reads an object of JSON in which comments may stand. Nothing else that is no JSON is allowed.
    fn read(text: &'t str) -> Result<Self, SettingsProblem> {
        if text.starts_with('\u{feff}') {
            return Err(SettingsProblem::ByteOrderMark);
        }
        if text.trim().is_empty() {
            return Err(SettingsProblem::Empty);
        }
        let collected = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collected, &ParseOptions::default());
        let comments = parsed.iter().flat_map(|parsed| parsed.tokens.iter().flatten()).filter(|token| is_comment(token));
        let plain = comments.fold(text.to_owned(), |mut plain, comment| {
            let place = comment.range.start..comment.range.end;
            // Line breaks stay, so that an error has its line.
            let blank: String = text[place.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
            plain.replace_range(place, &blank);
            plain
        });
        // `serde_json` decides what is JSON: the other parser also takes what only JavaScript takes.
        if let Err(error) = serde_json::from_str::<serde_json::Value>(&plain) {
            let what = error.to_string();
            let what = what.split(" at line ").next().unwrap_or_default().to_owned();
            return Err(SettingsProblem::NotJson { line: error.line(), column: error.column(), what });
        }
        let parsed = parsed.map_err(|error| SettingsProblem::NotJson {
            line: error.line_display(),
            column: error.column_display(),
            what: error.kind().to_string(),
        })?;
        let root = parsed.value.unwrap_or(Value::NullKeyword(jsonc_parser::ast::NullKeyword { range: Range::new(0, 0) }));
        let root = expect_object(&root, "the file")?.clone();
        Ok(Self { text, root, tokens: parsed.tokens.unwrap_or_default() })
    }

    /// Returns the object of all hooks.
    fn hooks(&self) -> Option<&Object<'t>> {
        self.root.get_object("hooks")
    }

    /// Returns the list of an event's entries.
    fn entries(&self, event: &str) -> Option<&Array<'t>> {
        self.hooks()?.get_array(event)
    }

    /// Returns whether nothing stands between the brackets of a container, not even a comment.
    fn is_empty(&self, container: Range) -> bool {
        self.end_of_token_before(container.end - 1) == container.start + 1
    }

    /// Returns where the last mark, value or comment before a place ends.
    fn end_of_token_before(&self, place: usize) -> usize {
        self.tokens.iter().map(|token| token.range.end).take_while(|end| *end <= place).last().unwrap_or_default()
    }

    /// Adds a part at the end of an object or array with these parts. `depth` is the number of containers around it. Comments that stand
    /// behind the last part stay where they are: only the comma is put before them.
    fn with_part(&self, container: Range, parts: &[Range], depth: usize, part: &str) -> String {
        let at = self.end_of_token_before(container.end - 1);
        let (comma_at, comma) = parts.last().map_or((at, ""), |last| (last.end, ","));
        let space = match self.text.contains(['\n', '\r']) {
            true => format!("\n{}", self.indentation().repeat(depth + 1)),
            false if comma.is_empty() => String::new(),
            false => " ".to_owned(),
        };
        let text = self.text;
        format!("{}{comma}{}{space}{part}{}", &text[..comma_at], &text[comma_at..at], &text[at..])
    }

    /// Removes a key of an object and its value.
    fn without_member(&self, object: &Object<'t>, key: &str) -> String {
        let position = object.properties.iter().position(|member| member.name.as_str() == key);
        position.map_or_else(|| self.text.to_owned(), |position| self.without_part(&members(object), position))
    }

    /// Removes a part of a container with what an addition put before it. Comments stay.
    fn without_part(&self, parts: &[Range], position: usize) -> String {
        let part = parts[position];
        let comma_behind = |place: usize| {
            let comma = self.tokens.iter().find(|token| token.range.start >= place && token.token == Token::Comma);
            comma.map_or(Range::new(place, place), |comma| comma.range)
        };
        let with_space_before = Range::new(self.end_of_token_before(part.start), part.end);
        let (first, second) = match (position.checked_sub(1), parts.get(position + 1)) {
            (Some(before), _) => (comma_behind(parts[before].end), with_space_before),
            (None, Some(_)) => {
                let comma = comma_behind(part.end);
                let next = self.tokens.iter().map(|token| token.range.start).find(|start| *start >= comma.end);
                (part, Range::new(comma.start, next.unwrap_or(comma.end)))
            }
            (None, None) => (with_space_before, Range::new(part.end, part.end)),
        };
        format!("{}{}{}", &self.text[..first.start], &self.text[first.end..second.start], &self.text[second.end..])
    }

    /// Removes the first entry of an event that starts the command, or only the command where its group has others. `None` if there is none.
    fn without_entry(&self, event: &str, command: &str) -> Option<String> {
        let own = |list: &Array<'_>| list.elements.iter().position(|entry| holds(entry, command));
        let list = self.entries(event)?;
        let position = own(list)?;
        let group = list.elements[position].as_object().and_then(|entry| entry.get_array("hooks"));
        Some(match group.filter(|group| group.elements.len() > 1) {
            Some(group) => self.without_part(&elements(group), own(group)?),
            None => self.without_part(&elements(list), position),
        })
    }

    /// Returns the space before the first key of the settings, which is what one level of them is indented by; two spaces if that is not
    /// known.
    fn indentation(&self) -> String {
        let first = self.root.properties.first().map(|first| &self.text[..first.range.start]);
        let space = first.and_then(|before| before.rsplit_once('\n')).map(|(_, space)| space);
        let is_space = |space: &&str| !space.is_empty() && space.len() <= 8 && space.trim().is_empty();
        space.filter(is_space).map_or_else(|| "  ".to_owned(), str::to_owned)
    }
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

fn members(object: &Object<'_>) -> Vec<Range> {
    object.properties.iter().map(|member| member.range).collect()
}

fn elements(list: &Array<'_>) -> Vec<Range> {
    list.elements.iter().map(jsonc_parser::common::Ranged::range).collect()
}

fn expect_object<'v, 't>(value: &'v Value<'t>, path: &str) -> Result<&'v Object<'t>, SettingsProblem> {
    let problem = || SettingsProblem::WrongShape { path: path.to_owned(), found: kind(value), expected: "an object" };
    value.as_object().ok_or_else(problem)
}

fn no_key_twice(object: &Object<'_>, path: &str) -> Result<(), SettingsProblem> {
    let mut seen = BTreeSet::new();
    match object.properties.iter().find(|member| !seen.insert(member.name.as_str())) {
        Some(twice) => Err(SettingsProblem::Twice { path: format!("{path}{}", twice.name.as_str()) }),
        None => Ok(()),
    }
}

fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::StringLit(_) => "a text",
        Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => "a number, true, false or null",
    }
}

/// Returns whether an entry starts exactly this command: by itself, or as one of its group.
fn holds(entry: &Value<'_>, command: &str) -> bool {
    let is_own = |object: &Object<'_>| {
        ["command", "bash"].iter().any(|key| object.get_string(key).is_some_and(|text| text.value == command))
    };
    let of_group = |group: &Array<'_>| group.elements.iter().filter_map(Value::as_object).any(is_own);
    entry.as_object().is_some_and(|entry| is_own(entry) || entry.get_array("hooks").is_some_and(of_group))
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
