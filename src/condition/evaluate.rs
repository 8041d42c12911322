//! What a condition comes to, in three-valued logic: what is not known stays unknown and is never a guess (Kleene).

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::condition::fields::{Field, meaning_of};
use crate::condition::syntax::{Accessor, Condition, Expression, Operator, Reference, Segment};
use crate::model::{ActionId, ConditionValue};

/// Whether something holds, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// It does not.
    False,
    /// It is not known.
    Unknown,
    /// It does.
    True,
}

/// Who knows what became of the actions.
pub trait Context {
    /// Returns a field of an action; none where there is no such action, it has no such field, or nobody saw it.
    fn field(&self, action: &ActionId, field: Field) -> Option<FieldValue<'_>>;
}

/// A field's value.
#[derive(Debug, Clone)]
pub enum FieldValue<'a> {
    /// `true` or `false`.
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A text, or what is kept of it.
    Text(OutputText<'a>),
    /// JSON.
    Json(&'a Value),
    /// Texts by lower-case name.
    Texts(&'a BTreeMap<String, String>),
}

/// A text of which only parts may have been kept.
#[derive(Debug, Clone)]
pub struct OutputText<'a> {
    /// What was kept, in order.
    pub parts: Vec<Cow<'a, str>>,
    /// Whether that is all of it, in one part.
    pub complete: bool,
}

/// What a condition comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Whether it holds.
    pub truth: Truth,
    /// Each reference once, in the order they stand.
    pub actual: Vec<Actual>,
    /// The references whose values are not known, in that order.
    pub unknown: Vec<String>,
}

/// A reference and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Actual {
    /// The reference in its one form, for example `STEP.1.exitCode`.
    pub reference: String,
    /// Its value, where it is known.
    pub value: Option<ConditionValue>,
}

/// What is known of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Known {
    /// Everything.
    Value(ConditionValue),
    /// It is a number, and no smaller than this.
    AtLeast(f64),
    /// Nothing.
    Nothing,
}

/// Evaluates a condition. Every reference is looked at, also those that cannot change the answer any more.
pub fn evaluate(condition: &Condition, context: &dyn Context) -> Evaluation {
    let mut actual: Vec<Actual> = Vec::new();
    let mut unknown = Vec::new();
    for reference in condition.references() {
        let name = reference.to_string();
        if actual.iter().any(|seen| seen.reference == name) {
            continue;
        }
        let value = match look_up(reference, context) {
            Known::Value(value) => Some(value),
            Known::AtLeast(_) | Known::Nothing => None,
        };
        if value.is_none() {
            unknown.push(name.clone());
        }
        actual.push(Actual { reference: name, value });
    }
    Evaluation { truth: truth_of(&condition.root, context), actual, unknown }
}

fn truth_of(expression: &Expression, context: &dyn Context) -> Truth {
    match expression {
        Expression::Or(parts) => parts.iter().map(|part| truth_of(part, context)).max().unwrap_or(Truth::Unknown),
        Expression::And(parts) => parts.iter().map(|part| truth_of(part, context)).min().unwrap_or(Truth::Unknown),
        Expression::Not(part) => truth_of(part, context).negated(),
        Expression::Compare { left, operator, right, .. } => {
            compare(&value_of(left, context), *operator, &value_of(right, context))
        }
        Expression::Reference(_) | Expression::Literal { .. } => Truth::of(&value_of(expression, context)),
    }
}

fn value_of(expression: &Expression, context: &dyn Context) -> Known {
    match expression {
        Expression::Reference(reference) => look_up(reference, context),
        Expression::Literal { value, .. } => Known::Value(value.clone()),
        Expression::Or(_) | Expression::And(_) | Expression::Not(_) | Expression::Compare { .. } => {
            match truth_of(expression, context) {
                Truth::True => Known::Value(ConditionValue::Boolean(true)),
                Truth::False => Known::Value(ConditionValue::Boolean(false)),
                Truth::Unknown => Known::Nothing,
            }
        }
    }
}

/// Compares without coercion: values of different kinds are not equal, and only numbers have an order.
pub(super) fn compare(left: &Known, operator: Operator, right: &Known) -> Truth {
    match (left, right) {
        (Known::Value(left), Known::Value(right)) => compare_values(left, operator, right),
        (Known::AtLeast(least), Known::Value(ConditionValue::Number(number))) => compare_least(*least, operator, *number),
        (Known::Value(ConditionValue::Number(number)), Known::AtLeast(least)) => {
            compare_least(*least, operator.flipped(), *number)
        }
        (Known::AtLeast(_), Known::Value(_)) | (Known::Value(_), Known::AtLeast(_)) => match operator {
            Operator::Equal => Truth::False,
            Operator::NotEqual => Truth::True,
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => Truth::Unknown,
        },
        (Known::Nothing, _) | (_, Known::Nothing) | (Known::AtLeast(_), Known::AtLeast(_)) => Truth::Unknown,
    }
}

fn compare_values(left: &ConditionValue, operator: Operator, right: &ConditionValue) -> Truth {
    match (operator, left, right) {
        (Operator::Equal, _, _) => Truth::from(left == right),
        (Operator::NotEqual, _, _) => Truth::from(left != right),
        (_, ConditionValue::Number(left), ConditionValue::Number(right)) => Truth::from(match operator {
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual | Operator::Equal | Operator::NotEqual => left >= right,
        }),
        (Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual, _, _) => Truth::Unknown,
    }
}

/// Compares a number of which only a lower bound is known.
fn compare_least(least: f64, operator: Operator, number: f64) -> Truth {
    let decided = |is_decided: bool, truth: Truth| if is_decided { truth } else { Truth::Unknown };
    match operator {
        Operator::Equal => decided(least > number, Truth::False),
        Operator::NotEqual | Operator::Greater => decided(least > number, Truth::True),
        Operator::GreaterOrEqual => decided(least >= number, Truth::True),
        Operator::Less => decided(least >= number, Truth::False),
        Operator::LessOrEqual => decided(least > number, Truth::False),
    }
}

fn look_up(reference: &Reference, context: &dyn Context) -> Known {
    let Some(row) = meaning_of(&reference.field) else { return Known::Nothing };
    let Some(value) = context.field(&reference.action, row.field) else { return Known::Nothing };
    match value {
        FieldValue::Boolean(value) if is_whole(reference) => Known::Value(ConditionValue::Boolean(value != row.negated)),
        FieldValue::Number(number) if is_whole(reference) && number.is_finite() => Known::Value(ConditionValue::Number(number)),
        FieldValue::Text(text) if reference.path.is_empty() => ask_text(&text, reference.accessor.as_ref()),
        FieldValue::Json(value) => ask_json(value, reference),
        FieldValue::Texts(texts) => ask_texts(texts, reference),
        FieldValue::Boolean(_) | FieldValue::Number(_) | FieldValue::Text(_) => Known::Nothing,
    }
}

fn is_whole(reference: &Reference) -> bool {
    reference.path.is_empty() && reference.accessor.is_none()
}

fn ask_text(text: &OutputText<'_>, accessor: Option<&Accessor>) -> Known {
    let known = |value| Known::Value(value);
    match accessor {
        None if text.complete => known(ConditionValue::Text(text.parts.concat())),
        None => Known::Nothing,
        Some(Accessor::Includes(needle)) => {
            let found = text.parts.iter().any(|part| part.contains(needle.as_str()));
            if found || text.complete { known(ConditionValue::Boolean(found)) } else { Known::Nothing }
        }
        Some(Accessor::Length) => {
            let length = as_number(text.parts.iter().map(|part| part.encode_utf16().count()).sum());
            if text.complete { known(ConditionValue::Number(length)) } else { Known::AtLeast(length) }
        }
    }
}

fn ask_texts(texts: &BTreeMap<String, String>, reference: &Reference) -> Known {
    let [Segment::Name(name)] = reference.path.as_slice() else { return Known::Nothing };
    let Some(text) = texts.get(&name.to_ascii_lowercase()) else { return Known::Nothing };
    ask_text(&OutputText::whole(text), reference.accessor.as_ref())
}

fn ask_json(value: &Value, reference: &Reference) -> Known {
    let mut value = value;
    for segment in &reference.path {
        let part = match segment {
            Segment::Name(name) => value.as_object().and_then(|parts| parts.get(name)),
            Segment::Index(index) => value.as_array().and_then(|parts| parts.get(usize::try_from(*index).ok()?)),
        };
        let Some(part) = part else { return Known::Nothing };
        value = part;
    }
    match (&reference.accessor, value) {
        (None, _) => ConditionValue::try_from(value).map_or(Known::Nothing, Known::Value),
        (accessor, Value::String(text)) => ask_text(&OutputText::whole(text), accessor.as_ref()),
        (Some(Accessor::Includes(entry)), Value::Array(entries)) => {
            Known::Value(ConditionValue::Boolean(entries.iter().any(|one| one.as_str() == Some(entry))))
        }
        (Some(Accessor::Length), Value::Array(entries)) => Known::Value(ConditionValue::Number(as_number(entries.len()))),
        (Some(_), _) => Known::Nothing,
    }
}

#[expect(clippy::cast_precision_loss, reason = "nothing in memory is as long as the integers that a float cannot hold")]
fn as_number(length: usize) -> f64 {
    length as f64
}

impl<'a> OutputText<'a> {
    /// Returns a text that is all there.
    pub fn whole(text: &'a str) -> Self {
        Self { parts: vec![Cow::Borrowed(text)], complete: true }
    }
}

impl Truth {
    /// Returns what the contrary comes to.
    pub fn negated(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }

    /// Returns whether a value is `true`; a value that is neither `true` nor `false` is no answer.
    pub(super) fn of(value: &Known) -> Self {
        match value {
            Known::Value(ConditionValue::Boolean(value)) => Self::from(*value),
            Known::Value(_) | Known::AtLeast(_) | Known::Nothing => Self::Unknown,
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}
