//! Redacts texts that look like tokens in reports and records. The log is never changed (E12).
//!
//! The shapes of tokens are in `redact_shapes`. Usually one pass over the bytes shows that a document has no token, and
//! the document is returned unchanged. Ids are not redacted, because other files and the ledger refer to them.
//! Redaction cannot guarantee that no secret remains: a token of an unknown shape is not recognised.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem::Finder;
use regex::Regex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::report::bytes::to_bytes;
use crate::report::redact_shapes::{CUT_OFF, SHAPES, SecretShape};
use proctor_model::ActionId;

/// The keys whose values are ids. Other files and the ledger refer to them, and they have their own format.
const IDS: &[&str] = &["id", "taskId", "debtId", "task", "dependencies"];

/// The beginning of the text that replaces a token. The shape's name and `]` follow.
const LABEL: &str = "[redacted: ";

/// A shape of token, with its compiled searches.
struct Looked {
    shape: &'static SecretShape,
    /// Searches for the texts by which tokens of the shape begin.
    starts: Vec<Finder<'static>>,
    /// The expression for a whole token. It is compiled when a text first holds the beginning of such a token, because
    /// all expressions together take megabytes.
    whole: OnceLock<Regex>,
}

static LOOKED: LazyLock<Vec<Looked>> = LazyLock::new(|| {
    let ready = |shape: &'static SecretShape| Looked {
        shape,
        starts: shape.starts.iter().copied().map(Finder::new).collect(),
        whole: OnceLock::new(),
    };
    SHAPES.iter().map(ready).collect()
});

impl Looked {
    fn pattern(&self) -> &Regex {
        self.whole.get_or_init(|| Regex::new(self.shape.pattern).expect("a test compiles each row of the table"))
    }
}

/// Returns the text with every token replaced by a label.
///
/// Redacting a redacted text changes nothing. A label is at most a few dozen characters longer than the token.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    let mut redacted = Cow::Borrowed(text);
    for looked in LOOKED.iter().filter(|looked| may_hold(looked, text.as_bytes())) {
        if let Some(replaced) = replace(looked, &redacted) {
            redacted = Cow::Owned(replaced);
        }
    }
    redacted
}

/// Redacts an excerpt that ends in the middle of a stream. If the cut may have split a token, the beginning of the
/// token is removed too.
pub(super) fn redact_cut_end(text: String) -> String {
    let start = SHAPES.iter().filter_map(|shape| cut_start(shape, &text)).min();
    match start {
        Some(start) => format!("{}{LABEL}{CUT_OFF}]", &text[..start]),
        None => text,
    }
}

/// Redacts an excerpt that begins in the middle of a stream. The rest of a split token cannot be recognised, so a long
/// word at the cut is taken for the rest of a token.
pub(super) fn redact_cut_start(text: String) -> String {
    let word = text.find(|character| !is_of_token(character)).unwrap_or(text.len());
    if word < SHORTEST_REST { text } else { format!("{LABEL}{CUT_OFF}]{}", &text[word..]) }
}

/// A word at the cut is treated as part of a token if it has at least this many characters.
const SHORTEST_REST: usize = 8;

/// Returns the document with every token replaced, in all texts that are not ids.
pub fn redact_document<Document: Serialize + DeserializeOwned>(document: Document) -> Document {
    redact_counted(document).0
}

/// Returns the redacted document in its stored form ([`to_bytes`]). A document without tokens is stored as it is.
pub fn redact_to_bytes<Document: Serialize + DeserializeOwned>(document: Document) -> Vec<u8> {
    let bytes = to_bytes(&document);
    if may_hold_any(&bytes) { to_bytes(&redact_document(document)) } else { bytes }
}

/// Returns the redacted document, and how many of its texts contained a token.
pub(super) fn redact_counted<Document: Serialize + DeserializeOwned>(document: Document) -> (Document, usize) {
    let bytes = serde_json::to_vec(&document).expect("the wire types have text keys");
    if !may_hold_any(&bytes) {
        return (document, 0);
    }
    let mut value: Value = serde_json::from_slice(&bytes).expect("it was just written");
    let found = redact_value(&mut value);
    if found == 0 {
        return (document, 0);
    }
    let redacted = "a label may stand wherever a text that is no id may: a test tries every place";
    (serde_json::from_value(value).expect(redacted), found)
}

/// Returns whether the bytes contain the beginning of any token's shape.
fn may_hold_any(bytes: &[u8]) -> bool {
    LOOKED.iter().any(|looked| may_hold(looked, bytes))
}

/// Redacts a value in place and returns how many texts contained a token.
fn redact_value(value: &mut Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        // Action ids occur under many keys, and some ids look like a token.
        Value::String(text) if is_action_id(text) => 0,
        Value::String(text) => match redact_text(text) {
            Cow::Borrowed(_) => 0,
            Cow::Owned(redacted) => {
                *text = redacted;
                1
            }
        },
        Value::Array(values) => values.iter_mut().map(redact_value).sum(),
        Value::Object(entries) => {
            let within = entries.iter_mut().filter(|(key, _)| !IDS.contains(&key.as_str()));
            let of_values: usize = within.map(|(_, value)| redact_value(value)).sum();
            let named: Vec<String> =
                entries.keys().filter(|key| !is_action_id(key) && matches!(redact_text(key), Cow::Owned(_))).cloned().collect();
            for key in &named {
                if let Some(value) = entries.remove(key) {
                    entries.insert(redact_text(key).into_owned(), value);
                }
            }
            of_values + named.len()
        }
    }
}

fn is_action_id(text: &str) -> bool {
    ActionId::try_from(text).is_ok()
}

/// Returns the text with a label in place of each token; `None` if the text has no token of this shape.
fn replace(looked: &Looked, text: &str) -> Option<String> {
    let label = format!("{LABEL}{}]", looked.shape.name);
    let mut replaced = String::new();
    let mut end_of_last = 0;
    for captures in looked.pattern().captures_iter(text) {
        // Some shapes need text around the secret to recognise it. The group in the expression then marks the secret
        // itself.
        let secret = captures.get(1).unwrap_or_else(|| captures.get_match());
        if secret.as_str().starts_with(LABEL) || secret.start() < end_of_last {
            continue;
        }
        replaced.push_str(&text[end_of_last..secret.start()]);
        replaced.push_str(&label);
        // The label replaces the whole word, so that no rest of it follows the label.
        end_of_last = secret.end() + text[secret.end()..].bytes().take_while(|byte| is_of_word(*byte)).count();
    }
    if end_of_last == 0 {
        return None;
    }
    replaced.push_str(&text[end_of_last..]);
    Some(replaced)
}

/// Returns whether a text contains the beginning of a shape. The check is cheap, and never misses a text that contains
/// the whole shape.
fn may_hold(looked: &Looked, text: &[u8]) -> bool {
    let is_long_enough = |start: &Finder<'_>, at: usize| {
        let rest = text[at + start.needle().len()..].iter();
        rest.take(looked.shape.least).take_while(|byte| is_of_token(char::from(**byte))).count() == looked.shape.least
    };
    looked.starts.iter().any(|start| start.find_iter(text).any(|at| is_long_enough(start, at)))
}

/// Returns where the last word of a text begins, if it begins like a token.
fn cut_start(shape: &SecretShape, text: &str) -> Option<usize> {
    let word =
        text.rfind(|character| !is_of_token(character)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let is_cut = |start: &str| start.chars().all(is_of_token) && text[word..].starts_with(start);
    shape.starts.iter().any(|start| is_cut(start)).then_some(word)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_of_token(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '+' | '/' | '=')
}

#[cfg(test)]
mod tests;
