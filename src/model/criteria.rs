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
    /// The failure that is expected of the task's tests; none: they are to pass.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected_failure: Option<ExpectedFailure>,
}

/// A failure that was declared before the tests ran: the red phase of a test-driven cycle (C06).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedFailure {
    /// The tests that are to fail, all of them and no others, by the names reports give them or by pytest's node ids. Without any a
    /// failure is expected of the tests as a whole, and excuses nothing (R6).
    pub tests: Vec<String>,
}

impl ExpectedFailure {
    /// Returns whether a test is one of those that were declared.
    pub fn declares(&self, test_name: &str) -> bool {
        self.tests.iter().any(|declared| is_name_of(declared, test_name))
    }

    /// Returns the declared tests that are not among those of a report.
    pub fn missing_from(&self, test_names: &[String]) -> Vec<&str> {
        let is_there = |declared: &&String| test_names.iter().any(|name| is_name_of(declared, name));
        self.tests.iter().filter(|declared| !is_there(declared)).map(String::as_str).collect()
    }
}

/// Returns whether a declared name is that of a test of a report. pytest's reports have `tests.test_a.TestX::test_y[1]` for what
/// people call `tests/test_a.py::TestX::test_y[1]`.
fn is_name_of(declared: &str, test_name: &str) -> bool {
    declared == test_name || of_node_id(declared).is_some_and(|name| name == test_name)
}

fn of_node_id(node_id: &str) -> Option<String> {
    // A parameter may hold any character.
    let (path, parameter) = node_id.split_at(node_id.find('[').unwrap_or(node_id.len()));
    let (file, rest) = path.split_once(".py::")?;
    let module = file.replace('/', ".");
    let (class, test) = rest.rsplit_once("::").map_or((None, rest), |(class, test)| (Some(class.replace("::", ".")), test));
    let class = class.map(|class| format!(".{class}")).unwrap_or_default();
    Some(format!("{module}{class}::{test}{parameter}"))
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

/// What a task's criteria came to in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct CriteriaEvaluation {
    /// What they were.
    pub criteria: TaskCriteria,
    /// The success conditions, in their order.
    pub success: Vec<JudgedCondition>,
    /// The failure conditions, in their order.
    pub failure: Vec<JudgedCondition>,
    /// What was expected of the output, one entry for each text and each of the other two; empty where nothing was.
    pub expected_output: Vec<JudgedExpectation>,
    /// The required kinds of evidence of which there is no file, in their order.
    pub missing_evidence: Vec<EvidenceKind>,
    /// What became of the tests that were declared to fail; none where none were.
    pub expected_failure: Option<JudgedFailure>,
}

/// What became of a declared failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JudgedFailure {
    /// The tests that were declared, as the specification has them.
    pub declared: Vec<String>,
    /// The tests that did not pass, by the names reports give them, sorted.
    pub failed: Vec<String>,
    /// Whether those that were declared failed, and nothing else did.
    pub met: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A condition and what it came to.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCondition {
    /// The condition.
    pub condition: TaskCondition,
    /// A success condition: whether it is met. A failure condition: whether it is triggered. Unknown is not met, and triggered.
    pub decided: bool,
    /// Each of its references with its value.
    pub actual: Vec<ActualValue>,
    /// The references whose values are not known.
    pub unknown: Vec<String>,
    /// Why, where it counts against the task.
    pub reason: Option<String>,
}

/// A reference of a condition and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct ActualValue {
    /// The reference in its one form, for example `STEP.1.exitCode`.
    pub reference: String,
    /// Its value, where it is known.
    pub value: Option<ConditionValue>,
}

/// Something that was expected of the output, and whether it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JudgedExpectation {
    /// What was expected.
    pub expectation: String,
    /// Whether it was seen.
    pub met: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_declared_by_its_name_or_by_the_id_pytest_prints() {
        for (declared, name) in [
            ("tests.test_a::test_x", "tests.test_a::test_x"),
            ("tests/test_a.py::test_x", "tests.test_a::test_x"),
            ("test_a.py::TestX::TestY::test_z[a::b/c.py]", "test_a.TestX.TestY::test_z[a::b/c.py]"),
            ("quotes answers 200", "quotes answers 200"),
        ] {
            let expected = ExpectedFailure { tests: vec![declared.to_owned()] };
            assert!(expected.declares(name), "{declared}");
            assert!(expected.missing_from(&[name.to_owned()]).is_empty(), "{declared}");
            assert!(!expected.declares(&format!("{name}2")), "{declared}");
        }
        let expected = ExpectedFailure { tests: vec!["test_a.py::test_x".to_owned(), "test_a.py::test_y".to_owned()] };
        assert_eq!(expected.missing_from(&["test_a::test_x".to_owned()]), ["test_a.py::test_y"]);
    }
}
