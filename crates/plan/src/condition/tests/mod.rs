//! Tests of conditions: the grammar, its messages, the static check, evaluation, and properties.

mod checks;
mod evaluation;
mod messages;
mod properties;
mod reference;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::condition::{Condition, ConditionContext, ConditionFault, Field, FieldValue, OutputText, check};
use proctor_model::{ActionId, ActionType, ConditionValue};

/// The values of fields that a test sets, by action and field.
#[derive(Debug, Clone, Default)]
pub(super) struct FakeAction {
    fields: BTreeMap<(String, Field), FakeValue>,
}

/// A value of a field that owns its data, so that a test can keep it.
#[derive(Debug, Clone)]
pub(super) enum FakeValue {
    Boolean(bool),
    Number(f64),
    Text(String),
    /// A text that is one scalar.
    Word(&'static str),
    /// A longer text of which only the first and the last part were kept.
    Ends(String, String),
    Json(Value),
    Texts(BTreeMap<String, String>),
}

impl FakeAction {
    fn with(mut self, action: &str, field: Field, told: FakeValue) -> Self {
        self.fields.insert((action.to_owned(), field), told);
        self
    }
}

impl ConditionContext for FakeAction {
    fn field(&self, action: &ActionId, field: Field) -> Option<FieldValue<'_>> {
        Some(match self.fields.get(&(action.to_string(), field))? {
            FakeValue::Boolean(value) => FieldValue::from(*value),
            FakeValue::Number(number) => FieldValue::from(*number),
            FakeValue::Word(word) => FieldValue::Scalar(ConditionValue::Text((*word).to_owned())),
            FakeValue::Text(text) => FieldValue::Output(OutputText::whole(text)),
            FakeValue::Ends(first, last) => FieldValue::Output(OutputText {
                parts: vec![Cow::Borrowed(first.as_str()), Cow::Borrowed(last.as_str())],
                complete: false,
            }),
            FakeValue::Json(value) => FieldValue::Json(value),
            FakeValue::Texts(texts) => FieldValue::Texts(texts),
        })
    }
}

fn read(text: &str) -> Condition {
    Condition::parse(text).unwrap_or_else(|error| panic!("`{text}` is refused: {error}"))
}

/// Returns the types of the actions in the tests. Steps 1 to 4 are commands, 5 and 9 HTTP requests, 7 a file validation
/// and 8 a database query. Prerequisite 1 is a file validation.
fn type_of(action: &ActionId) -> Option<ActionType> {
    Some(match action.as_str() {
        "STEP.1" | "STEP.2" | "STEP.3" | "STEP.4" | "T001.1" => ActionType::TerminalCommand,
        "STEP.5" | "STEP.9" => ActionType::HttpRequest,
        "STEP.7" | "PREREQ.1" => ActionType::FileValidation,
        "STEP.8" => ActionType::DatabaseQuery,
        _ => return None,
    })
}

fn faults(text: &str) -> Vec<ConditionFault> {
    check(&read(text), &type_of)
}
