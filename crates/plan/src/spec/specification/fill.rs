//! Fills the placeholders of a specification: `{{NAME}}`, and `${NAME}` outside of commands.
//!
//! The text is parsed first and then filled, value by value, so no value can change the structure of the document. A
//! secret is not filled here: its placeholder stays in the plan, and is filled when an action starts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::config::{SpecificationSettings, ValueSource};
use crate::spec::specification::lint::ROOT_WORD;
use crate::spec::specification::scan::{Places, member};

/// Keys whose values are texts for people: an open placeholder there is only noted.
const TEXTS: &[&str] = &[
    "description",
    "title",
    "taskTitle",
    "projectName",
    "generatedBy",
    "author",
    "scenario",
    "suggestedFix",
    "validationPolicyRationale",
    "references",
];

/// Keys with commands. `$` in a command belongs to a shell; another rule reports it if there is no shell. In a connection string
/// `${NAME}` is a variable, and in a script of a browser a part of JavaScript.
const COMMANDS: &[&str] = &["command", "checkCommand", "argv", "connectionString", "script"];

/// The keys in `parameters` below which a secret may stand: variables, the parts of a request, and the connection string of a
/// database, whose client gets it as variables. A command line can be read by every user of the machine, and everything else of a plan
/// is recorded.
const FOR_SECRETS: &[&str] = &["environment", "url", "headers", "body", "connectionString"];

/// The type of actions of a browser.
const BROWSER_ACTION: &str = "MCP_BROWSER_COMMAND";

/// The key of the variables for all actions, in `globalConfiguration`, and of those of the server, in `devServer`.
const VARIABLES: &str = "environment";

/// Keywords in the templates of Go, which commands such as `go list` and `docker inspect` accept. They are not
/// placeholders.
const TEMPLATE_WORDS: &[&str] = &["else", "end"];

/// The longest name of a placeholder, in bytes. Longer names are taken for ordinary text.
const LONGEST_NAME: usize = 128;

/// A placeholder that has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenPlaceholder {
    /// The JSON pointer to the value, or to the member with the key, in which the placeholder stands.
    pub(super) pointer: String,
    pub(super) name: String,
    /// The placeholder as it is written, with its brackets.
    pub(super) written: String,
    /// Whether it stands in a text for people.
    pub(super) is_text: bool,
}

/// A placeholder that has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledPlaceholder {
    /// The value; `None` if it is a secret.
    pub value: Option<String>,
    pub source: ValueSource,
    /// The JSON pointers to the values in which the placeholder stands.
    pub pointers: Vec<String>,
}

/// The placeholders that were found while a document was filled.
#[derive(Debug, Default)]
pub(super) struct Filling {
    pub(super) filled: BTreeMap<String, FilledPlaceholder>,
    /// The JSON pointers to strings that were one placeholder and nothing else. Where the schema wants a number or a truth
    /// value, [`Filling::retype`] makes one of the string.
    whole: Vec<String>,
    /// The JSON pointers to secrets in places where secrets cannot stand, each with the name.
    pub(super) misplaced_secrets: Vec<(String, String)>,
    /// The members whose key had a placeholder: the JSON pointer as it was written, and as it is now.
    pub(super) renamed: Vec<(String, String)>,
}

/// Where a string stands, as far as it matters for placeholders: found from the keys that lead to it.
#[derive(Clone, Copy, Default)]
struct Context {
    is_text: bool,
    is_command: bool,
    /// Whether the keys of [`FOR_SECRETS`] have their meaning here.
    is_of_parameters: bool,
    is_of_globals: bool,
    /// Whether it stands in an action of a browser. Its address is a word of the driver's command line, which others can read.
    is_of_browser: bool,
    may_be_secret: bool,
}

impl Context {
    fn within(self, key: &str) -> Self {
        let begins_here = (self.is_of_parameters && !self.is_of_browser && FOR_SECRETS.contains(&key))
            || (self.is_of_globals && key == VARIABLES);
        Self {
            is_text: self.is_text || TEXTS.contains(&key),
            is_command: COMMANDS.contains(&key),
            is_of_parameters: key == "parameters",
            is_of_globals: ["globalConfiguration", "devServer"].contains(&key),
            is_of_browser: self.is_of_browser,
            may_be_secret: self.may_be_secret || begins_here,
        }
    }
}

/// Returns the text with each placeholder that stands outside of a string as a string of the same length: `"port": {{PORT}}`
/// becomes `"port": "{PORT}"`. The second value has the byte offsets of these strings. Two braces in a row outside of a string are
/// never valid JSON, so no other document is changed.
pub(super) fn quote_bare(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    let (mut quoted, mut offsets) = (Vec::new(), Vec::new());
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut in_string = false;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'{' if !in_string && bytes.get(at + 1) == Some(&b'{') => {
                if let Some(written) = opened(&text[at..], "{{", "}}") {
                    if quoted.is_empty() {
                        quoted = bytes.to_vec();
                    }
                    let last = at + written.len() - 1;
                    (quoted[at], quoted[last]) = (b'"', b'"');
                    offsets.push(at);
                    at = last;
                }
            }
            _ => {}
        }
        at += 1;
    }
    match String::from_utf8(quoted) {
        Ok(quoted) if !offsets.is_empty() => (Cow::Owned(quoted), offsets),
        Ok(_) | Err(_) => (Cow::Borrowed(text), Vec::new()),
    }
}

/// Gives placeholders that stood outside of a string their usual form again, and returns the JSON pointers to them.
pub(super) fn restore_bare(document: &mut Value, places: &Places, offsets: &[usize]) -> Vec<String> {
    let mut pointers = Vec::with_capacity(offsets.len());
    for pointer in places.values_at(offsets) {
        if let Some(Value::String(text)) = document.pointer_mut(&pointer) {
            *text = format!("{{{text}}}");
            pointers.push(pointer);
        }
    }
    pointers
}

/// Fills every placeholder that has a value. `bare` are the JSON pointers to placeholders that stood outside of a string.
pub(super) fn fill(document: &mut Value, settings: &SpecificationSettings, bare: &[String]) -> Filling {
    let mut filling = Filling::default();
    fill_value(document, &mut String::new(), Context::default(), settings, &mut filling);
    // A placeholder without quotes becomes a number or a truth value, also where the schema wants a text.
    bare.iter().for_each(|pointer| retype_at(document, pointer));
    filling
}

impl Filling {
    /// Makes a number or a truth value of a string that was one placeholder, at the places at which the schema refuses a
    /// string. Returns whether anything changed.
    pub(super) fn retype<'p>(&self, document: &mut Value, wrong_types: impl Iterator<Item = &'p str>) -> bool {
        let meant: Vec<&str> = wrong_types.filter(|pointer| self.whole.iter().any(|whole| whole == pointer)).collect();
        meant.iter().for_each(|pointer| retype_at(document, pointer));
        !meant.is_empty()
    }

    /// Returns whether a secret stands at a place where secrets cannot stand.
    pub(super) fn is_misplaced(&self, pointer: &str) -> bool {
        self.misplaced_secrets.iter().any(|(misplaced, _)| misplaced == pointer)
    }

    fn note(&mut self, name: &str, settings: &SpecificationSettings, pointer: &str) {
        let value = settings.value(name);
        let filled = self.filled.entry(name.to_owned()).or_insert_with(|| FilledPlaceholder {
            value: value.map(|value| value.text.clone()),
            source: value.map_or(ValueSource::Environment, |value| value.source),
            pointers: Vec::new(),
        });
        filled.pointers.push(pointer.to_owned());
    }
}

fn retype_at(document: &mut Value, pointer: &str) {
    let Some(value) = document.pointer_mut(pointer) else { return };
    let read = value.as_str().and_then(|text| serde_json::from_str::<Value>(text.trim()).ok());
    if let Some(read @ (Value::Number(_) | Value::Bool(_))) = read {
        *value = read;
    }
}

fn fill_value(
    value: &mut Value,
    pointer: &mut String,
    context: Context,
    settings: &SpecificationSettings,
    filling: &mut Filling,
) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            if let Some(filled) = fill_text(text, pointer, context, settings, filling) {
                *text = filled;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                within(pointer, &index.to_string(), |pointer| fill_value(item, pointer, context, settings, filling));
            }
        }
        Value::Object(members) => {
            let named: Vec<String> = members.keys().filter(|key| !placeholders_in(key, true).is_empty()).cloned().collect();
            for key in named {
                let as_written = member(pointer, &key);
                let context = Context { is_command: true, ..Context::default() };
                let Some(filled) = fill_text(&key, &as_written, context, settings, filling) else { continue };
                if !members.contains_key(&filled)
                    && let Some(value) = members.remove(&key)
                {
                    filling.renamed.push((as_written, member(pointer, &filled)));
                    members.insert(filled, value);
                }
            }
            let is_of_browser = members.get("type").is_some_and(|kind| kind == BROWSER_ACTION);
            let context = Context { is_of_browser: context.is_of_browser || is_of_browser, ..context };
            for (key, item) in members {
                within(pointer, key, |pointer| fill_value(item, pointer, context.within(key), settings, filling));
            }
        }
    }
}

/// Returns the filled text; `None` if nothing of it changes.
fn fill_text(
    text: &str,
    pointer: &str,
    context: Context,
    settings: &SpecificationSettings,
    filling: &mut Filling,
) -> Option<String> {
    let found = placeholders_in(text, context.is_command);
    if found.is_empty() {
        return None;
    }
    let mut filled = String::with_capacity(text.len());
    let mut end_of_last = 0;
    for (start, written, name) in found {
        let is_secret = settings.is_secret(name);
        let value = settings.value(name);
        if is_secret && !settings.unusable.contains_key(name) {
            if !context.may_be_secret && !context.is_text {
                filling.misplaced_secrets.push((pointer.to_owned(), name.to_owned()));
                continue;
            }
            filling.note(name, settings, pointer);
            filled.push_str(&text[end_of_last..start]);
            filled.push_str(&secret_placeholder(name));
        } else if let Some(value) = value {
            filling.note(name, settings, pointer);
            if start == 0 && written.len() == text.len() {
                filling.whole.push(pointer.to_owned());
            }
            filled.push_str(&text[end_of_last..start]);
            filled.push_str(&value.text);
        } else {
            continue;
        }
        end_of_last = start + written.len();
    }
    if end_of_last == 0 {
        return None;
    }
    filled.push_str(&text[end_of_last..]);
    Some(filled)
}

/// Returns the form in which a plan holds a secret until an action starts.
fn secret_placeholder(name: &str) -> String {
    format!("{{{{{name}}}}}")
}

/// Returns the document with a harmless word in place of every secret, for rules about the form of a value: `{{HOST}}` could
/// not be part of a URL.
pub(super) fn with_stand_ins(document: &Value, filling: &Filling) -> Option<Value> {
    let secrets = filling.filled.iter().filter(|(_, filled)| filled.value.is_none());
    let mut changed = None;
    for (name, filled) in secrets {
        let document = changed.get_or_insert_with(|| document.clone());
        for pointer in &filled.pointers {
            if let Some(Value::String(text)) = document.pointer_mut(pointer) {
                // A secret at the beginning of a URL is, or begins with, its scheme.
                let stand_in = if text.starts_with(&secret_placeholder(name)) { "http://secret" } else { "secret" };
                *text = text.replace(&secret_placeholder(name), stand_in);
            }
        }
    }
    changed
}

/// Returns every placeholder that is not filled, in the order of the document's keys.
pub(super) fn open_placeholders(document: &Value, filling: &Filling) -> Vec<OpenPlaceholder> {
    let mut open = Vec::new();
    collect_open(document, &mut String::new(), Context::default(), &mut open);
    // A secret keeps its placeholder; one that stands at a wrong place has an error of its own.
    let misplaced = |one: &OpenPlaceholder| filling.misplaced_secrets.contains(&(one.pointer.clone(), one.name.clone()));
    let is_secret = |one: &OpenPlaceholder| {
        filling.filled.get(&one.name).is_some_and(|filled| filled.value.is_none() && filled.pointers.contains(&one.pointer))
    };
    // What a value brings along is text: it is not filled again, and no placeholder of the file.
    let is_of_a_value = |one: &OpenPlaceholder| {
        filling.filled.values().any(|filled| {
            filled.pointers.contains(&one.pointer) && filled.value.as_ref().is_some_and(|value| value.contains(&one.written))
        })
    };
    open.retain(|one| !is_secret(one) && !misplaced(one) && !is_of_a_value(one));
    open
}

fn collect_open(value: &Value, pointer: &mut String, context: Context, open: &mut Vec<OpenPlaceholder>) {
    let mut note = |text: &str, pointer: &str, context: Context| {
        open.extend(placeholders_in(text, context.is_command).into_iter().map(|(_, written, name)| OpenPlaceholder {
            pointer: pointer.to_owned(),
            name: name.to_owned(),
            written: written.to_owned(),
            is_text: context.is_text,
        }));
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => note(text, pointer, context),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                within(pointer, &index.to_string(), |pointer| collect_open(item, pointer, context, open));
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                let of_key = Context { is_command: true, ..Context::default() };
                within(pointer, key, |pointer| {
                    open.extend(placeholders_in(key, of_key.is_command).into_iter().map(|(_, written, name)| OpenPlaceholder {
                        pointer: pointer.clone(),
                        name: name.to_owned(),
                        written: written.to_owned(),
                        is_text: false,
                    }));
                    collect_open(item, pointer, context.within(key), open);
                });
            }
        }
    }
}

fn within(pointer: &mut String, key: &str, look: impl FnOnce(&mut String)) {
    let outer = pointer.len();
    pointer.push_str(&member("", key));
    look(pointer);
    pointer.truncate(outer);
}

/// Returns the placeholders of a text, each with its byte offset, as it is written, and with its name.
pub(super) fn placeholders_in(text: &str, is_command: bool) -> Vec<(usize, &str, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(['{', '$']) {
        let start = at + next;
        let rest = &text[start..];
        let written = if rest.starts_with('$') {
            opened(rest, "${", "}").filter(|written| !is_command && *written != ROOT_WORD)
        } else {
            // Opening braces may overlap: in `{{{NAME}}}` the placeholder begins at the second brace.
            opened(rest, "{{", "}}").filter(|written| !TEMPLATE_WORDS.contains(&name_of(written)))
        };
        at = start + written.map_or(1, str::len);
        found.extend(written.map(|written| (start, written, name_of(written))));
    }
    found
}

fn name_of(written: &str) -> &str {
    written.trim_start_matches('$').trim_matches(['{', '}']).trim()
}

/// Returns the placeholder at the beginning of a text. It must end within [`LONGEST_NAME`] bytes after `open`, because the text
/// may be long.
fn opened<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let inner = text.strip_prefix(open)?;
    let inner = inner.get(..inner.floor_char_boundary(LONGEST_NAME)).unwrap_or_default();
    let name = inner.trim_start();
    if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        return None;
    }
    let behind = name.trim_start_matches(|part: char| part.is_ascii_alphanumeric() || part == '_' || part == '.');
    let rest = behind.trim_start().strip_prefix(close)?;
    let end = open.len() + inner.len() - rest.len();
    text.get(..end)
}

#[cfg(test)]
mod tests;
