//! Explains why a text is not a condition, where, and what to write instead.

use std::fmt;

use serde_json::{Map, Value};

use crate::condition::fields::{meaning_of, types_with};
use crate::condition::parse::{DEEPEST, LONGEST};

/// A text that is not a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError {
    /// The position of the error, in bytes from 0.
    pub offset: usize,
    /// The position of the error, in characters from 1.
    pub column: usize,
    /// The next word or sign at that position, shortened; `None` at the end.
    pub found: Option<String>,
    pub kind: ConditionErrorKind,
}

/// Says what is wrong with a condition; the message names the mistake and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionErrorKind {
    #[error("the condition is empty; write a comparison, for example `STEP.1.exitCode === 0`")]
    Empty,
    /// The text is longer than the limit.
    #[error("the condition is longer than {LONGEST} bytes; write several conditions, each of them must be met")]
    TooLong,
    /// Parentheses are nested too deeply.
    #[error("parentheses stand in parentheses more than {DEEPEST} deep; write several conditions")]
    TooDeep,
    /// Something else is expected here.
    #[error("{0} should stand here")]
    Expected(&'static str),
    /// A whole condition is followed by something that does not belong to it.
    #[error("the condition ends before this; {0}")]
    Trailing(&'static str),
    /// A field without an action.
    #[error("`{0}` names no action; {advice}", advice = unscoped_advice(.0))]
    Unscoped(String),
    #[error(
        "`{0}` calls a function, and no code is run; a part of an answer that is a list has `.length`: `STEP.1.body.length > 0`"
    )]
    Call(String),
    #[error("an action is a name and a number: write `{0}.1` or `{0}['1']` with the action's number")]
    NoActionNumber(String),
    #[error("`{0}` cannot be an action's id: upper-case letters, digits and `_`, a dot, and a number of at most 9 digits")]
    NotAnAction(String),
    /// An action without a field.
    #[error("`{0}` is an action; say what of it: `{0}.success`")]
    NoField(String),
    #[error("`.{0}(…)` cannot be asked; there are `.includes(\"…\")` and `.length`")]
    UnknownMethod(String),
    /// A text without its closing quote.
    #[error("the text does not end; close it with `{0}` on the same line")]
    OpenText(char),
    #[error("there is no such escape in a text; there are \\n \\r \\t \\\\ \\\" \\' and \\u with four hexadecimal digits")]
    UnknownEscape,
    /// Not a number, or one that cannot be represented exactly.
    #[error("write a number with digits alone, at most 15 of them, no leading zero, and a point at most: `200`, `0.5`, `-1`")]
    BadNumber,
    /// Not an index.
    #[error("write a position as a number of at most 9 digits, `[0]`, or a name in quotes, `['id']`")]
    BadIndex,
    /// `!a === b`.
    #[error("JavaScript reads this as `(!…) {0} …`; write `!(… {0} …)` or use the contrary operator")]
    NegatedComparison(String),
    /// `a < b < c`.
    #[error("comparisons do not chain; write `a {0} b && b {0} c`")]
    ChainedComparison(String),
    /// A condition written as an object.
    #[error("a condition is a text, not an object; write {0}")]
    ObjectForm(String),
}

/// The types of the object form with what to write instead; `{}` stands for the action.
const OBJECT_FORMS: &[(&str, &str)] = &[
    ("ACTION_SUCCESS", "`\"{}.success === true\"`"),
    ("RESPONSE_STATUS", "`\"{}.statusCode === 200\"` with the status that is expected"),
    ("RESPONSE_CONTAINS", "`\"{}.body.includes('…')\"`, or compare a part: `\"{}.body.id === 1\"`"),
    ("AND", "the conditions as texts, each for itself or joined by `&&`"),
    ("OR", "the conditions as one text, joined by `||`"),
];

impl ConditionError {
    /// Returns the error at a byte offset of a text.
    pub(super) fn new(text: &str, offset: usize, kind: ConditionErrorKind) -> Self {
        let offset = text.floor_char_boundary(offset);
        let column = crate::condition::syntax::column(text, offset);
        Self { offset, column, found: next_token(&text[offset..]), kind }
    }
}

impl ConditionErrorKind {
    /// Returns what to write instead of an object form.
    pub(super) fn object_form(form: &Map<String, Value>) -> Self {
        let word = |key: &str| form.get(key).and_then(Value::as_str);
        let action = word("actionId").unwrap_or("STEP.1");
        let named = OBJECT_FORMS.iter().find(|(name, _)| word("type") == Some(*name));
        let instead = named.map_or("`\"STEP.1.exitCode === 0\"`", |(_, instead)| *instead);
        Self::ObjectForm(instead.replace("{}", action))
    }
}

impl fmt::Display for ConditionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, &self.found) {
            (ConditionErrorKind::ObjectForm(_) | ConditionErrorKind::Empty, _) => fmt::Display::fmt(&self.kind, formatter),
            (kind, Some(found)) => write!(formatter, "column {}, at `{found}`: {kind}", self.column),
            (kind, None) => write!(formatter, "column {}, at the end: {kind}", self.column),
        }
    }
}

impl std::error::Error for ConditionError {}

/// Returns the first word or sign of a text, at most 40 characters of it.
fn next_token(text: &str) -> Option<String> {
    const MOST: usize = 40;
    let text = text.trim_start();
    let first = text.chars().next()?;
    let is_word = |character: char| character.is_alphanumeric() || "_$.".contains(character);
    let token: String = if is_word(first) {
        text.chars().take_while(|character| is_word(*character)).take(MOST).collect()
    } else {
        text.chars().take_while(|character| !is_word(*character) && !character.is_whitespace()).take(3).collect()
    };
    Some(if token.is_empty() { first.escape_default().to_string() } else { token })
}

fn unscoped_advice(name: &str) -> String {
    let field = name.split(['.', '[']).next().unwrap_or_default();
    match meaning_of(field) {
        Some(_) => format!("write `STEP.1.{name}` with the id of an action of type {}", types_with(field)),
        None => "a value is an action's: write `STEP.1.exitCode`".to_owned(),
    }
}
