//! Evaluates a condition in three-valued logic (Kleene): what is not known stays unknown and is never guessed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::condition::fields::{Field, FieldRow, meanings_of};
use crate::condition::syntax::{Accessor, Condition, Expression, Operator, Reference, Segment};
use proctor_model::{ActionId, ActualValue, ConditionValue};

/// Whether a condition holds, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionTruth {
    False,
    Unknown,
    True,
}

/// Provides the values of the actions' fields to `evaluate`.
pub trait ConditionContext {
    /// Returns a field of an action; `None` if there is no such action, it has no such field, or the value is not
    /// known.
    fn field(&self, action: &ActionId, field: Field) -> Option<FieldValue<'_>>;
}

/// The value that a field of a condition has after a run, as far as the evidence kept it.
#[derive(Debug, Clone)]
pub enum FieldValue<'a> {
    /// A value that is completely known.
    Scalar(ConditionValue),
    /// The text that an action printed, or only the parts of it that were kept.
    Output(OutputText<'a>),
    Json(&'a Value),
    /// Texts by name, such as headers; all names are in lower case.
    Texts(&'a BTreeMap<String, String>),
}

impl From<bool> for FieldValue<'_> {
    fn from(value: bool) -> Self {
        Self::Scalar(ConditionValue::Boolean(value))
    }
}

impl From<f64> for FieldValue<'_> {
    fn from(number: f64) -> Self {
        Self::Scalar(ConditionValue::Number(number))
    }
}

/// A text, such as an action's output, of which possibly only parts were kept.
#[derive(Debug, Clone)]
pub struct OutputText<'a> {
    /// The parts of the text that were kept, in order.
    pub parts: Vec<Cow<'a, str>>,
    /// Whether the parts together are the whole text.
    pub complete: bool,
}

/// The answer to a condition, with the values that led to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    pub truth: ConditionTruth,
    /// The value of each reference, in the order of the condition's text; a repeated reference appears once.
    pub actual: Vec<ActualValue>,
    /// The references whose values are not known, in the order of the text.
    pub unknown: Vec<String>,
}

/// What is known about a value while a condition is evaluated.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum KnownValue {
    Value(ConditionValue),
    /// The value is at least this number: the length of a text of which only parts were kept.
    AtLeast(f64),
    /// Nothing is known about the value, so every comparison with it is unknown.
    Nothing,
}

/// Evaluates a condition. Every reference is evaluated, even when the answer is already certain.
pub fn evaluate(condition: &Condition, context: &dyn ConditionContext) -> Evaluation {
    let mut actual: Vec<ActualValue> = Vec::new();
    let mut unknown = Vec::new();
    for reference in condition.references() {
        let name = reference.to_string();
        if actual.iter().any(|seen| seen.reference == name) {
            continue;
        }
        let value = match look_up(reference, context) {
            KnownValue::Value(value) => Some(value),
            KnownValue::AtLeast(_) | KnownValue::Nothing => None,
        };
        if value.is_none() {
            unknown.push(name.clone());
        }
        actual.push(ActualValue { reference: name, value });
    }
    Evaluation { truth: truth_of(&condition.root, context), actual, unknown }
}

fn truth_of(expression: &Expression, context: &dyn ConditionContext) -> ConditionTruth {
    match expression {
        Expression::Or(parts) => parts.iter().map(|part| truth_of(part, context)).max().unwrap_or(ConditionTruth::Unknown),
        Expression::And(parts) => parts.iter().map(|part| truth_of(part, context)).min().unwrap_or(ConditionTruth::Unknown),
        Expression::Not(part) => truth_of(part, context).negated(),
        Expression::Compare { left, operator, right, .. } => {
            compare(&value_of(left, context), *operator, &value_of(right, context))
        }
        Expression::Reference(_) | Expression::Literal { .. } => ConditionTruth::of(&value_of(expression, context)),
    }
}

fn value_of(expression: &Expression, context: &dyn ConditionContext) -> KnownValue {
    match expression {
        Expression::Reference(reference) => look_up(reference, context),
        Expression::Literal { value, .. } => KnownValue::Value(value.clone()),
        Expression::Or(_) | Expression::And(_) | Expression::Not(_) | Expression::Compare { .. } => {
            match truth_of(expression, context) {
                ConditionTruth::True => KnownValue::Value(ConditionValue::Boolean(true)),
                ConditionTruth::False => KnownValue::Value(ConditionValue::Boolean(false)),
                ConditionTruth::Unknown => KnownValue::Nothing,
            }
        }
    }
}

/// Compares without coercion: values of different kinds are not equal, and only numbers have an order.
pub(super) fn compare(left: &KnownValue, operator: Operator, right: &KnownValue) -> ConditionTruth {
    match (left, right) {
        (KnownValue::Value(left), KnownValue::Value(right)) => compare_values(left, operator, right),
        (KnownValue::AtLeast(least), KnownValue::Value(ConditionValue::Number(number))) => {
            compare_least(*least, operator, *number)
        }
        (KnownValue::Value(ConditionValue::Number(number)), KnownValue::AtLeast(least)) => {
            compare_least(*least, operator.flipped(), *number)
        }
        (KnownValue::AtLeast(_), KnownValue::Value(_)) | (KnownValue::Value(_), KnownValue::AtLeast(_)) => match operator {
            Operator::Equal => ConditionTruth::False,
            Operator::NotEqual => ConditionTruth::True,
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => ConditionTruth::Unknown,
        },
        (KnownValue::Nothing, _) | (_, KnownValue::Nothing) | (KnownValue::AtLeast(_), KnownValue::AtLeast(_)) => {
            ConditionTruth::Unknown
        }
    }
}

fn compare_values(left: &ConditionValue, operator: Operator, right: &ConditionValue) -> ConditionTruth {
    match (operator, left, right) {
        (Operator::Equal, _, _) => ConditionTruth::from(left == right),
        (Operator::NotEqual, _, _) => ConditionTruth::from(left != right),
        (_, ConditionValue::Number(left), ConditionValue::Number(right)) => ConditionTruth::from(match operator {
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual | Operator::Equal | Operator::NotEqual => left >= right,
        }),
        (Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual, _, _) => ConditionTruth::Unknown,
    }
}

/// Compares a number, of which only the lower bound `least` is known, with `number`.
fn compare_least(least: f64, operator: Operator, number: f64) -> ConditionTruth {
    let decided = |is_decided: bool, truth: ConditionTruth| if is_decided { truth } else { ConditionTruth::Unknown };
    match operator {
        Operator::Equal => decided(least > number, ConditionTruth::False),
        Operator::NotEqual | Operator::Greater => decided(least > number, ConditionTruth::True),
        Operator::GreaterOrEqual => decided(least >= number, ConditionTruth::True),
        Operator::Less => decided(least >= number, ConditionTruth::False),
        Operator::LessOrEqual => decided(least > number, ConditionTruth::False),
    }
}

fn look_up(reference: &Reference, context: &dyn ConditionContext) -> KnownValue {
    let Some((row, value)) = known_field(reference, context) else { return KnownValue::Nothing };
    match value {
        FieldValue::Scalar(value) if is_whole(reference) => scalar(value, row.negated),
        FieldValue::Scalar(ConditionValue::Text(text)) if reference.path.is_empty() => {
            ask_text(&OutputText::whole(&text), reference.accessor.as_ref())
        }
        FieldValue::Output(text) if reference.path.is_empty() => ask_text(&text, reference.accessor.as_ref()),
        FieldValue::Json(value) => ask_json(value, reference),
        FieldValue::Texts(texts) => ask_texts(texts, reference),
        FieldValue::Scalar(_) | FieldValue::Output(_) => KnownValue::Nothing,
    }
}

/// Returns the field's value in the action, with the row that names it.
fn known_field<'c>(reference: &Reference, context: &'c dyn ConditionContext) -> Option<(&'static FieldRow, FieldValue<'c>)> {
    meanings_of(&reference.field).find_map(|row| Some((row, context.field(&reference.action, row.field)?)))
}

fn scalar(value: ConditionValue, negated: bool) -> KnownValue {
    match value {
        ConditionValue::Boolean(value) => KnownValue::Value(ConditionValue::Boolean(value != negated)),
        ConditionValue::Number(number) if !number.is_finite() => KnownValue::Nothing,
        ConditionValue::Number(_) | ConditionValue::Text(_) | ConditionValue::Null => KnownValue::Value(value),
    }
}

fn is_whole(reference: &Reference) -> bool {
    reference.path.is_empty() && reference.accessor.is_none()
}

fn ask_text(text: &OutputText<'_>, accessor: Option<&Accessor>) -> KnownValue {
    let known = |value| KnownValue::Value(value);
    match accessor {
        None if text.complete => known(ConditionValue::Text(text.parts.concat())),
        None => KnownValue::Nothing,
        Some(Accessor::Includes(needle)) => {
            let found = text.parts.iter().any(|part| part.contains(needle.as_str()));
            if found || text.complete { known(ConditionValue::Boolean(found)) } else { KnownValue::Nothing }
        }
        // The first part that was kept is the beginning of the text.
        Some(Accessor::StartsWith(beginning)) => {
            let head = text.parts.first().map(|part| part.as_ref()).unwrap_or_default();
            let shorter = head.len().min(beginning.len());
            let differs = head.as_bytes()[..shorter] != beginning.as_bytes()[..shorter];
            let is_decided = differs || head.len() >= beginning.len() || text.complete;
            let whole = text.parts.concat();
            if is_decided { known(ConditionValue::Boolean(whole.starts_with(beginning.as_str()))) } else { KnownValue::Nothing }
        }
        Some(Accessor::Length) => {
            let length = as_number(text.parts.iter().map(|part| part.encode_utf16().count()).sum());
            if text.complete { known(ConditionValue::Number(length)) } else { KnownValue::AtLeast(length) }
        }
    }
}

fn ask_texts(texts: &BTreeMap<String, String>, reference: &Reference) -> KnownValue {
    let [Segment::Name(name)] = reference.path.as_slice() else { return KnownValue::Nothing };
    let Some(text) = texts.get(&name.to_ascii_lowercase()) else { return KnownValue::Nothing };
    ask_text(&OutputText::whole(text), reference.accessor.as_ref())
}

fn ask_json(value: &Value, reference: &Reference) -> KnownValue {
    let Ok(value) = follow(value, &reference.path) else { return KnownValue::Nothing };
    match (&reference.accessor, value) {
        (None, _) => ConditionValue::try_from(value).map_or(KnownValue::Nothing, KnownValue::Value),
        (accessor, Value::String(text)) => ask_text(&OutputText::whole(text), accessor.as_ref()),
        (Some(Accessor::Includes(entry)), Value::Array(entries)) => {
            KnownValue::Value(ConditionValue::Boolean(entries.iter().any(|one| one.as_str() == Some(entry))))
        }
        (Some(Accessor::Length), Value::Array(entries)) => KnownValue::Value(ConditionValue::Number(as_number(entries.len()))),
        (Some(_), _) => KnownValue::Nothing,
    }
}

/// Returns the part of a JSON value to which a path leads, or how many segments of the path lead somewhere.
fn follow<'v>(value: &'v Value, path: &[Segment]) -> Result<&'v Value, usize> {
    let mut value = value;
    for (place, segment) in path.iter().enumerate() {
        let part = match segment {
            Segment::Name(name) => value.as_object().and_then(|parts| parts.get(name)),
            Segment::Index(index) => usize::try_from(*index).ok().and_then(|index| value.as_array()?.get(index)),
        };
        value = part.ok_or(place)?;
    }
    Ok(value)
}

/// Returns why a reference into a JSON value that is known has no value; `None` if that is not the reason.
pub fn why_no_part(reference: &Reference, context: &dyn ConditionContext) -> Option<String> {
    let (_, FieldValue::Json(whole)) = known_field(reference, context)? else { return None };
    let shown = |length: usize| {
        let path = reference.path[..length].to_vec();
        Reference { path, accessor: None, ..reference.clone() }.to_string()
    };
    let value = match follow(whole, &reference.path) {
        Ok(value) => value,
        Err(place) => {
            let kind = follow(whole, &reference.path[..place]).map_or("", kind_of);
            return Some(format!("`{}` is {kind} and has no such part", shown(place)));
        }
    };
    let needed = match &reference.accessor {
        None => "only a number, a text, `true`, `false` and `null` can be compared",
        Some(Accessor::Includes(_)) => "`.includes` needs a text or a list",
        Some(Accessor::StartsWith(_)) => "`.startsWith` needs a text",
        Some(Accessor::Length) => "`.length` needs a text or a list",
    };
    Some(format!("`{}` is {}; {needed}", shown(reference.path.len()), kind_of(value)))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[expect(clippy::cast_precision_loss, reason = "nothing in memory is as long as the integers that a float cannot hold")]
fn as_number(length: usize) -> f64 {
    length as f64
}

impl<'a> OutputText<'a> {
    /// Makes an output text whose only part is the whole text.
    pub fn whole(text: &'a str) -> Self {
        Self { parts: vec![Cow::Borrowed(text)], complete: true }
    }
}

impl ConditionTruth {
    /// Returns the negation; unknown stays unknown.
    pub fn negated(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }

    /// Returns whether a value is `true`. A value that is neither `true` nor `false` is unknown.
    pub(super) fn of(value: &KnownValue) -> Self {
        match value {
            KnownValue::Value(ConditionValue::Boolean(value)) => Self::from(*value),
            KnownValue::Value(_) | KnownValue::AtLeast(_) | KnownValue::Nothing => Self::Unknown,
        }
    }
}

impl From<bool> for ConditionTruth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}
