//! What a task demands in addition to its actions' results: conditions, expected output, completion (specification
//! 2.0.0).
//!
//! The answer to an agent that asks whether a task is complete.

use std::fmt;

use proctor_wire::wire;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::{CommandExit, CompletionStatus, EvidenceKind, RunId, TaskId, TestFailure};

/// A value that a condition compares. Numbers are finite; integers of up to 15 digits are exact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(try_from = "Value", into = "Value")]
pub enum ConditionValue {
    Null,
    Boolean(bool),
    Number(f64),
    Text(String),
}

/// The error for a JSON list or object, which a condition cannot compare.
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

/// Returns a number in its shortest exact JSON form: `2` and not `2.0`; `None` if it is not finite.
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

/// Writes a text in double or single quotes, whichever needs fewer escapes, in a form that the condition parser reads.
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

/// What a task demands in addition to its actions' results. Checks from `proctor.toml` or from discovery have no such
/// demands.
#[wire(open, schema)]
pub struct TaskCriteria {
    /// The success conditions. All of them must be met.
    pub success: Vec<TaskCondition>,
    /// The failure conditions. If one is triggered, the task fails.
    pub failure: Vec<TaskCondition>,
    /// The output that the steps must have printed.
    pub expected_output: Option<ExpectedOutput>,
    /// Whether every step must end with SUCCESS.
    pub all_steps_must_pass: bool,
    /// The smallest share of steps that end with SUCCESS, in hundredths of a per cent; used when not all steps must
    /// pass.
    pub minimum_pass_rate_basis_points: Option<u32>,
    /// The kinds of evidence that the run must produce, at least one file of each.
    pub required_evidence: Vec<EvidenceKind>,
    /// Whether only proctor may set the task's status.
    pub task_status_lock: bool,
    /// The tests that must fail; `None` if the tests must pass.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected_failure: Option<ExpectedFailure>,
}

/// A failure that was declared before the tests ran: the red phase of a test-driven cycle (C06).
#[wire(Default, open, schema)]
pub struct ExpectedFailure {
    /// The tests that must fail while no other test may fail, named as in reports or by pytest's node ids. If the list
    /// is empty, any failing test meets the declaration, but the failures still make the verdict FAILED (R6).
    pub tests: Vec<String>,
}

impl ExpectedFailure {
    /// Returns whether a failed test is one of the declared tests, by either of its names.
    pub fn declares(&self, failure: &TestFailure) -> bool {
        self.tests.iter().any(|declared| is_name_of(declared, failure))
    }

    /// The same for a declaration in which the name of a file means each of its tests.
    pub fn declares_with_files(&self, failure: &TestFailure) -> bool {
        let is_file = |declared: &String| failure.test_file.as_ref() == Some(declared);
        self.tests.iter().any(is_file) || self.declares(failure)
    }

    /// Returns the declared tests that are not among the failed tests.
    pub fn missing_from<'f>(&self, failures: impl Iterator<Item = &'f TestFailure> + Clone) -> Vec<&str> {
        let is_there = |declared: &&String| failures.clone().any(|failure| is_name_of(declared, failure));
        self.tests.iter().filter(|declared| !is_there(declared)).map(String::as_str).collect()
    }
}

/// Returns whether a declared name means a failed test. pytest writes `tests.test_a.TestX::test_y[1]` into its reports and
/// `tests/test_a.py::TestX::test_y[1]` on the screen.
fn is_name_of(declared: &str, failure: &TestFailure) -> bool {
    let names = [failure.test_name.as_str(), failure.stable_name()];
    names.contains(&declared) || from_node_id(declared).is_some_and(|name| name == failure.stable_name())
}

fn from_node_id(node_id: &str) -> Option<String> {
    // A parameter may hold any character, so only the part before `[` is translated.
    let (path, parameter) = node_id.split_at(node_id.find('[').unwrap_or(node_id.len()));
    let (file, rest) = path.split_once(".py::")?;
    let module = file.replace('/', ".");
    let (class, test) = rest.rsplit_once("::").map_or((None, rest), |(class, test)| (Some(class.replace("::", ".")), test));
    let class = class.map(|class| format!(".{class}")).unwrap_or_default();
    Some(format!("{module}{class}::{test}{parameter}"))
}

/// A condition as written in the specification. Its syntax was checked when the specification was read.
#[wire(open, schema)]
pub struct TaskCondition {
    pub condition: String,
    /// What the condition means, in words for people.
    pub description: String,
}

/// What the steps must print, and the exit code of the last test step (of the last step if no step runs tests).
#[wire(Default, open, schema)]
pub struct ExpectedOutput {
    /// Texts, each of which at least one step must have printed on standard output.
    pub stdout_contains: Vec<String>,
    /// Whether standard error of all steps must be empty; false demands nothing.
    pub stderr_empty: bool,
    /// The exit code that the last test step must end with, or the last step if none runs tests; `None` if any will do.
    pub exit_code: Option<i32>,
}

/// Whether a run met each of the criteria of its task.
#[derive(Debug, Clone, PartialEq)]
pub struct CriteriaEvaluation {
    pub criteria: TaskCriteria,
    /// The success conditions with their evaluation, in the order of the specification.
    pub success: Vec<JudgedCondition>,
    /// The failure conditions with their evaluation, in the order of the specification.
    pub failure: Vec<JudgedCondition>,
    /// The demands on the output, with their evaluation: one entry for each expected text, one if standard error must
    /// be empty, and one if an exit code is expected.
    pub expected_output: Vec<JudgedExpectation>,
    /// The required kinds of evidence of which the run has no file, in the order of the specification.
    pub missing_evidence: Vec<EvidenceKind>,
    /// How the tests that were declared to fail ended; `None` if none were declared.
    pub expected_failure: Option<JudgedFailure>,
}

/// Whether the tests that were declared to fail did fail, and whether no other test failed.
#[wire(schema, sparse)]
pub struct JudgedFailure {
    /// The declared tests, as written in the specification.
    #[kept]
    pub declared: Vec<String>,
    /// The tests that failed or errored, by their names in the report, sorted.
    #[kept]
    pub failed: Vec<String>,
    /// Whether all declared tests failed and no other test did.
    pub met: bool,
    /// The reason, if `met` is false.
    pub reason: Option<String>,
}

/// A condition of the task, and how it was decided after the run.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedCondition {
    pub condition: TaskCondition,
    /// Whether a success condition is met, or a failure condition is triggered. An unknown value counts against the
    /// task in both cases.
    pub decided: bool,
    pub actual: Vec<ActualValue>,
    /// The references in the condition whose values are not known, such as the exit code of a step that did not run.
    pub unknown: Vec<String>,
    /// Why the condition counts against the task; `None` if it does not.
    pub reason: Option<String>,
}

/// A reference in a condition, such as a step's exit code, and its value in this run.
#[derive(Debug, Clone, PartialEq)]
pub struct ActualValue {
    /// The reference as reports write it, for example `STEP.1.exitCode`.
    pub reference: String,
    /// The reference's value in this run; `None` if the value is not known.
    pub value: Option<ConditionValue>,
}

/// One demand on the output, and whether it was met.
#[wire(schema, sparse)]
pub struct JudgedExpectation {
    /// What the output had to be, in words.
    pub expectation: String,
    pub met: bool,
    /// The reason, if `met` is false.
    pub reason: Option<String>,
}

/// Whether a task is complete for the present tree. proctor decides this from the sealed report before it looks at what
/// the agent claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCompletion {
    pub task: TaskId,
    /// COMPLETE only if the sealed report of a run says so, and this report is a verdict for the present tree and plan.
    pub status: CompletionStatus,
    pub reasons: Vec<String>,
    /// What the report still lists as open: actions that did not succeed, and debt items.
    pub open: Vec<String>,
    /// The run whose report decided the status; `None` if no run has a verdict for the present tree.
    pub run_id: Option<RunId>,
    /// Whether a check that counts found a tool's cache of an earlier run, which a run with fresh caches would not (only asked of results
    /// on a snapshot: in the project itself, no run can do without what is there); or saw a toolchain that is not hashed yet, or is
    /// another one now.
    pub rests_on_kept_caches: bool,
    /// The exit code of a command that prints this answer.
    pub exit: CommandExit,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(name: &str, report_name: Option<&str>) -> TestFailure {
        TestFailure { test_name: name.to_owned(), report_name: report_name.map(str::to_owned), ..TestFailure::default() }
    }

    #[test]
    fn a_test_is_declared_by_its_name_or_by_the_id_pytest_prints() {
        for (declared, name) in [
            ("tests.test_a::test_x", "tests.test_a::test_x"),
            ("tests/test_a.py::test_x", "tests.test_a::test_x"),
            ("test_a.py::TestX::TestY::test_z[a::b/c.py]", "test_a.TestX.TestY::test_z[a::b/c.py]"),
            ("quotes answers 200", "quotes answers 200"),
        ] {
            let expected = ExpectedFailure { tests: vec![declared.to_owned()] };
            assert!(expected.declares(&failure(name, None)), "{declared}");
            assert!(expected.missing_from([failure(name, None)].iter()).is_empty(), "{declared}");
            assert!(!expected.declares(&failure(&format!("{name}2"), None)), "{declared}");
        }
        let expected = ExpectedFailure { tests: vec!["test_a.py::test_x".to_owned(), "test_a.py::test_y".to_owned()] };
        assert_eq!(expected.missing_from([failure("test_a::test_x", None)].iter()), ["test_a.py::test_y"]);
    }

    #[test]
    fn a_declaration_holds_for_the_name_in_the_report_and_for_the_name_that_people_see() {
        let from_sub_directory = failure("../tests/test_a.py::test_x", Some("tests.test_a::test_x"));
        let of_jest = failure("a.test.js › quotes › answers", Some("quotes answers"));
        for (declared, failure) in [
            ("tests.test_a::test_x", &from_sub_directory),
            ("tests/test_a.py::test_x", &from_sub_directory),
            ("../tests/test_a.py::test_x", &from_sub_directory),
            ("quotes answers", &of_jest),
            ("a.test.js › quotes › answers", &of_jest),
        ] {
            let expected = ExpectedFailure { tests: vec![declared.to_owned()] };
            assert!(expected.declares(failure), "{declared}");
        }
        let expected = ExpectedFailure { tests: vec!["tests/test_b.py::test_x".to_owned()] };
        assert!(!expected.declares(&from_sub_directory));
    }
}
