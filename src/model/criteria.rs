//! What a task is judged by beside its actions' results: conditions, expected output, completion (specification 2.0.0).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::model::EvidenceKind;

/// A value a condition speaks of. Numbers are finite; integers of up to 15 digits are exact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum ConditionValue {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// Says that a list or an object is no value a condition can compare.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("lists and objects have no value to compare: name one of their parts, or `.length`")]
pub struct NoScalarError;

impl TryFrom<&Value> for ConditionValue {
    type Error = NoScalarError;
    fn try_from(value: &Value) -> Result<Self, NoScalarError> {
        match value {
            Value::Null => Ok(Self::Null),
            Value::Bool(value) => Ok(Self::Boolean(*value)),
            Value::Number(number) => number.as_f64().map(Self::Number).ok_or(NoScalarError),
            Value::String(text) => Ok(Self::Text(text.clone())),
            Value::Array(_) | Value::Object(_) => Err(NoScalarError),
        }
    }
}

impl TryFrom<Value> for ConditionValue {
    type Error = NoScalarError;
    fn try_from(value: Value) -> Result<Self, NoScalarError> {
        Self::try_from(&value)
    }
}

impl From<ConditionValue> for Value {
    fn from(value: ConditionValue) -> Self {
        match value {
            ConditionValue::Null => Self::Null,
            ConditionValue::Boolean(value) => Self::Bool(value),
            ConditionValue::Number(number) => json_number(number).map_or(Self::Null, Self::Number),
            ConditionValue::Text(text) => Self::String(text),
        }
    }
}

/// Returns a number as JSON has it: `2`, not `2.0`, where nothing is lost by it.
fn json_number(number: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is an integer and in range")]
        return Some(Number::from(number as i64));
    }
    Number::from_f64(number)
}

impl fmt::Display for ConditionValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Boolean(value) => value.fmt(formatter),
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => write_text(formatter, text),
        }
    }
}

/// Writes a text in the quotes that need the fewest escapes, as the condition grammar reads it.
fn write_text(formatter: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = if text.matches('"').count() > text.matches('\'').count() { '\'' } else { '"' };
    write!(formatter, "{quote}")?;
    for character in text.chars() {
        match character {
            '\n' => formatter.write_str("\\n")?,
            '\r' => formatter.write_str("\\r")?,
            '\t' => formatter.write_str("\\t")?,
            '\\' => formatter.write_str("\\\\")?,
            other if other == quote => write!(formatter, "\\{other}")?,
            other if other.is_control() => write!(formatter, "\\u{:04x}", u32::from(other))?,
            other => write!(formatter, "{other}")?,
        }
    }
    write!(formatter, "{quote}")
}

/// What a task is judged by beside its actions' results. Checks of `proctor.toml` and of discovery have none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskCriteria {
    /// Each must be met.
    pub success: Vec<TaskCondition>,
    /// None may be triggered.
    pub failure: Vec<TaskCondition>,
    /// What must have been printed.
    pub expected_output: Option<ExpectedOutput>,
    /// Whether every step must be SUCCESS.
    pub all_steps_must_pass: bool,
    /// The least share of steps that are SUCCESS, in hundredths of a per cent; read where not all steps must pass.
    pub minimum_pass_rate_basis_points: Option<u32>,
    /// Kinds of evidence of which the run must have left a file.
    pub required_evidence: Vec<EvidenceKind>,
    /// Whether only proctor may set the task's status.
    pub task_status_lock: bool,
}

/// A condition as the specification has it. Its text was read and checked when the specification was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskCondition {
    /// The condition's text.
    pub condition: String,
    /// What it stands for, for people.
    pub description: String,
}

/// What a task's steps must have printed, and how they must have ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedOutput {
    /// Texts, each of which a step must have printed on standard output.
    pub stdout_contains: Vec<String>,
    /// Whether no step may have printed on standard error; false asks for nothing.
    pub stderr_empty: bool,
    /// The exit code of the deciding step.
    pub exit_code: Option<i32>,
}
