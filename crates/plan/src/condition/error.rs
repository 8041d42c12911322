//! Explains why a text is not a condition, where, and what to write instead.
//!
//! Faults of a condition whose syntax is right.

use std::fmt;

use serde_json::{Map, Value};

use crate::condition::fields::{FIELDS, fields_of, meanings_of, types_with};
use crate::condition::parse::{DEEPEST, LONGEST};
use proctor_model::{ActionId, ActionType};

/// The refusal of a text that is not a condition: what is wrong with the text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError {
    /// The position of the error in bytes; the first byte is 0.
    pub offset: usize,
    /// The position of the error in characters; the first character is 1.
    pub column: usize,
    /// The word or sign at the error's position, shortened; `None` if the text ends there.
    pub found: Option<String>,
    pub kind: ConditionErrorKind,
}

/// Says what is wrong with a condition; the message names the mistake and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionErrorKind {
    #[error("the condition is empty; write a comparison, for example `STEP.1.exitCode === 0`")]
    Empty,
    #[error("the condition is longer than {LONGEST} bytes; write several conditions, each of them must be met")]
    TooLong,
    #[error("parentheses stand in parentheses more than {DEEPEST} deep; write several conditions")]
    TooDeep,
    /// The text does not go on as the grammar demands; the string names what is expected.
    #[error("{0} should stand here")]
    Expected(&'static str),
    /// More text follows a complete condition; the string says what to write instead.
    #[error("the condition ends before this; {0}")]
    Trailing(&'static str),
    /// A field's name stands without an action, as in `exitCode === 0`.
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
    /// An action's id stands without a field, as in `STEP.1 === 0`.
    #[error("`{0}` is an action; say what of it: `{0}.success`")]
    NoField(String),
    #[error("`.{0}(…)` cannot be asked; there are `.includes(\"…\")`, `.startsWith(\"…\")` and `.length`")]
    UnknownMethod(String),
    /// A text in quotes does not end; the character is the quote that is missing.
    #[error("the text does not end; close it with `{0}` on the same line")]
    OpenText(char),
    #[error("there is no such escape in a text; there are \\n \\r \\t \\\\ \\\" \\' and \\u with four hexadecimal digits")]
    UnknownEscape,
    /// The text is not a number, or it is a number that cannot be represented exactly.
    #[error("write a number with digits alone, at most 15 of them, no leading zero, and a point at most: `200`, `0.5`, `-1`")]
    BadNumber,
    /// The brackets contain neither a number nor a name in quotes.
    #[error("write a position as a number of at most 9 digits, `[0]`, or a name in quotes, `['id']`")]
    BadIndex,
    /// The left side of a comparison is negated without parentheses: `!a === b`.
    #[error("JavaScript reads this as `(!…) {0} …`; write `!(… {0} …)` or use the contrary operator")]
    NegatedComparison(String),
    /// A comparison is compared again without parentheses: `a < b < c`.
    #[error("comparisons do not chain; write `a {0} b && b {0} c`")]
    ChainedComparison(String),
    /// The condition is written as a JSON object; the string is the text to write instead.
    #[error("a condition is a text, not an object; write {0}")]
    ObjectForm(String),
}

/// For each type of a condition written as a JSON object: the text to write instead. `{}` stands for the action's id.
const OBJECT_FORMS: &[(&str, &str)] = &[
    ("ACTION_SUCCESS", "`\"{}.success === true\"`"),
    ("RESPONSE_STATUS", "`\"{}.statusCode === 200\"` with the status that is expected"),
    ("RESPONSE_CONTAINS", "`\"{}.body.includes('…')\"`, or compare a part: `\"{}.body.id === 1\"`"),
    ("AND", "the conditions as texts, each for itself or joined by `&&`"),
    ("OR", "the conditions as one text, joined by `||`"),
];

impl ConditionError {
    /// Makes the error for a byte offset of the condition's text; its column and word are taken from the text there.
    pub(super) fn new(text: &str, offset: usize, kind: ConditionErrorKind) -> Self {
        let offset = text.floor_char_boundary(offset);
        let column = crate::condition::syntax::column(text, offset);
        Self { offset, column, found: next_token(&text[offset..]), kind }
    }
}

impl ConditionErrorKind {
    /// Returns the error for a condition written as a JSON object, with the text to write instead.
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

/// Returns the first word of a text, cut to 40 characters, or its first signs, at most three; `None` if the text is empty.
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
    match meanings_of(field).next() {
        Some(_) => format!("write `STEP.1.{name}` with the id of an action of type {}", types_with(field)),
        None => "a value is an action's: write `STEP.1.exitCode`".to_owned(),
    }
}

/// A fault of a condition that is found before anything runs. `column` counts characters from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionFault {
    /// The condition consists of constants only, so it refers to no action.
    #[error(
        "column 1: the condition names no action, so no run can change it; compare a value of an action: `STEP.1.exitCode === 0`"
    )]
    NoReference,
    /// The task has no action with this id.
    #[error(
        "column {column}: there is no action `{action}`; name one of the task's prerequisites, steps or cleanups by its `actionId`"
    )]
    UnknownAction { action: ActionId, column: usize },
    /// No type of action has a field of this name.
    #[error("column {column}: no action has a field `{field}`{}; {action}, of type {action_type}, has {}", field_hint(.field), names(*.action_type))]
    UnknownField { action: ActionId, action_type: ActionType, field: String, column: usize },
    /// The field exists, but not for actions of this type.
    #[error(
        "column {column}: `{field}` is a field of {}; {action}, of type {action_type}, has {}", types_with(.field), names(*.action_type)
    )]
    FieldOfOtherType { action: ActionId, action_type: ActionType, field: String, column: usize },
    /// The condition asks a field for a part that its value cannot have, such as the length of a number.
    #[error("column {column}: `{reference}` asks for a part of {what}; {advice}")]
    NoSuchPart {
        reference: String,
        /// The kind of the field's value, in words for the message.
        what: &'static str,
        /// What the condition can ask of the field instead, in words for the message.
        advice: &'static str,
        column: usize,
    },
    /// Values of different kinds are compared; they are never equal and have no order.
    #[error(
        "column {column}: `{left}` is {left_kind} and `{right}` is {right_kind}; nothing is coerced, so compare values of one kind"
    )]
    TypeMismatch {
        left: String,
        left_kind: &'static str,
        right: String,
        right_kind: &'static str,
        /// The column of the operator in the condition's text; the first column is 1.
        column: usize,
    },
    /// An operator such as `<` compares a value that is not a number.
    #[error("column {column}: `{part}` is {kind}, and only numbers have an order; compare it with `===` or `!==`")]
    NoOrder {
        part: String,
        kind: &'static str,
        /// The column of the operator in the condition's text; the first column is 1.
        column: usize,
    },
    /// A part that must be true or false, such as a side of `&&`, has another kind of value.
    #[error("column {column}: `{part}` is {kind}, neither true nor false; compare it, for example `{part} === {example}`")]
    NotTrueOrFalse {
        part: String,
        kind: &'static str,
        /// A value that the part can be compared with, for the message.
        example: &'static str,
        column: usize,
    },
    /// A part of the condition has the same value in every run, such as `true` or `1 === 1`.
    #[error("column {column}: no run can change `{part}`; leave it out or compare a value of an action")]
    ConstantPart { part: String, column: usize },
    /// The condition gives the same answer for all values of its references.
    #[error("column 1: the condition is {0} whatever the actions do, so it decides nothing; narrow it to what the task needs")]
    Constant(Constancy),
    /// The search for values that change the answer reached its bound without a result.
    #[error(
        "column 1: the condition has too many parts to tell whether it can fail; write several conditions, each with few references"
    )]
    TooManyParts,
}

/// The answer that a constant condition always gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constancy {
    /// The condition is true for all values of its references.
    AlwaysTrue,
    /// The condition is false or unknown for all values of its references.
    NeverTrue,
}

impl fmt::Display for Constancy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AlwaysTrue => "true",
            Self::NeverTrue => "never true",
        })
    }
}

fn names(action_type: ActionType) -> String {
    fields_of(action_type).map(|row| row.name).collect::<Vec<_>>().join(", ")
}

/// Returns a hint with the field whose name differs from `field` only in upper and lower case; empty if no field does.
fn field_hint(field: &str) -> String {
    let row = FIELDS.iter().find(|row| row.name.eq_ignore_ascii_case(field));
    row.map_or_else(String::new, |row| format!(", `{}` is one", row.name))
}
