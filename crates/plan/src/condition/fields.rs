//! The table of fields that actions of each type have.

use proctor_model::ActionType;
#[cfg(doc)]
use proctor_model::ResultType;

/// A field of an action, whose value a condition can use. Several names may mean the same field: `success` and `failed`
/// both mean `Success`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The exit code of a process that ended by itself. For an HTTP request or a file validation, which have no
    /// process: 0 after SUCCESS, otherwise 1 (C66).
    ExitCode,
    /// Whether the action's result is SUCCESS.
    Success,
    /// The action's result by its word in the report, such as `SUCCESS`. HTTP requests have none: their `status` is the status code.
    Result,
    /// The duration of the action in milliseconds.
    Duration,
    Stdout,
    Stderr,
    /// The number of errors that the tool reported, counted after the policy was applied (C24).
    ErrorCount,
    /// The number of warnings that the tool reported, counted after the policy was applied (C24).
    WarningCount,
    /// The number of tests in the tool's report that passed.
    TestsPassed,
    TestsFailed,
    TestsSkipped,
    TestsTotal,
    /// The status code of the answer to an HTTP request.
    StatusCode,
    /// The body of the answer to an HTTP request: JSON if it can be parsed, otherwise a text.
    Body,
    /// The headers of the answer to an HTTP request, by their names in lower case.
    Headers,
    /// Whether the file that a file validation looks for exists.
    Exists,
    Size,
    /// Whether the file contains valid JSON.
    IsValidJson,
    /// Whether the file's content matches the pattern that the file validation expects.
    PatternMatches,
    /// The number of rows that a database returned.
    Count,
    /// Whether the browser that the action controls has started.
    Initialized,
}

/// The kind of values that a field can have, which decides how a condition may use the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Boolean,
    /// A whole number in this range, both ends included.
    Integer(u64, u64),
    Text,
    /// One of the words of [`ResultType`].
    Result,
    /// Any JSON value; a path can name its parts.
    Json,
    /// Texts by name, such as the headers of an HTTP answer.
    Texts,
}

/// A field's name in conditions, with the types of actions that have the field. A name may have several rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldRow {
    pub name: &'static str,
    /// The field that the name stands for.
    pub field: Field,
    /// Whether the name stands for the negation of the field, as `failed` does for `success`.
    pub negated: bool,
    /// The types of actions that have the field, including types that proctor does not execute yet.
    pub action_types: &'static [ActionType],
    /// The values that the field can have in actions of these types.
    pub kind: ValueKind,
}

/// The largest count or size in a condition: 64-bit floats represent every integer up to this one exactly.
pub(super) const MOST: u64 = (1 << 53) - 1;

const ALL: &[ActionType] = &ActionType::ALL;
const PROCESSES: &[ActionType] = &[ActionType::TerminalCommand, ActionType::CustomScript, ActionType::DockerCommand];
const PRINTING: &[ActionType] = &ActionType::WITH_OUTPUT;
const TOOLS: &[ActionType] = &[ActionType::TerminalCommand, ActionType::CustomScript];
const JUDGED_BY_RESULT: &[ActionType] =
    &[ActionType::FileValidation, ActionType::HttpRequest, ActionType::DatabaseQuery, ActionType::McpBrowserCommand];
const FILES: &[ActionType] = &[ActionType::FileValidation];
const ANSWERS: &[ActionType] = &[ActionType::HttpRequest];
const DATABASES: &[ActionType] = &[ActionType::DatabaseQuery];
const BROWSERS: &[ActionType] = &[ActionType::McpBrowserCommand];
const WITH_RESULT: &[ActionType] = &[
    ActionType::TerminalCommand,
    ActionType::CustomScript,
    ActionType::DockerCommand,
    ActionType::FileValidation,
    ActionType::DatabaseQuery,
    ActionType::McpBrowserCommand,
];
const COUNT: ValueKind = ValueKind::Integer(0, MOST);

/// The table of all field names. A name may have several rows, but only one row for each type of action.
pub const FIELDS: [FieldRow; 24] = [
    row("exitCode", Field::ExitCode, PROCESSES, ValueKind::Integer(0, 255)),
    row("exitCode", Field::ExitCode, JUDGED_BY_RESULT, ValueKind::Integer(0, 1)),
    row("success", Field::Success, ALL, ValueKind::Boolean),
    FieldRow { negated: true, ..row("failed", Field::Success, ALL, ValueKind::Boolean) },
    row("duration", Field::Duration, ALL, COUNT),
    row("stdout", Field::Stdout, PRINTING, ValueKind::Text),
    row("stderr", Field::Stderr, PRINTING, ValueKind::Text),
    row("errorCount", Field::ErrorCount, TOOLS, COUNT),
    row("warningCount", Field::WarningCount, TOOLS, COUNT),
    row("testsPassed", Field::TestsPassed, TOOLS, COUNT),
    row("testsFailed", Field::TestsFailed, TOOLS, COUNT),
    row("testsSkipped", Field::TestsSkipped, TOOLS, COUNT),
    row("testsTotal", Field::TestsTotal, TOOLS, COUNT),
    row("statusCode", Field::StatusCode, ANSWERS, ValueKind::Integer(100, 999)),
    row("status", Field::StatusCode, ANSWERS, ValueKind::Integer(100, 999)),
    row("status", Field::Result, WITH_RESULT, ValueKind::Result),
    row("body", Field::Body, ANSWERS, ValueKind::Json),
    row("headers", Field::Headers, ANSWERS, ValueKind::Texts),
    row("exists", Field::Exists, FILES, ValueKind::Boolean),
    row("size", Field::Size, FILES, COUNT),
    row("isValidJSON", Field::IsValidJson, FILES, ValueKind::Boolean),
    row("patternMatches", Field::PatternMatches, FILES, ValueKind::Boolean),
    row("count", Field::Count, DATABASES, COUNT),
    row("initialized", Field::Initialized, BROWSERS, ValueKind::Boolean),
];

const fn row(name: &'static str, field: Field, action_types: &'static [ActionType], kind: ValueKind) -> FieldRow {
    FieldRow { name, field, negated: false, action_types, kind }
}

/// Returns the rows of the fields that actions of a type have, in the order of `FIELDS`.
pub fn fields_of(action_type: ActionType) -> impl Iterator<Item = &'static FieldRow> {
    FIELDS.iter().filter(move |row| row.action_types.contains(&action_type))
}

/// Returns the row of a field's name, or `None` if actions of this type have no such field.
pub(super) fn row_of(name: &str, action_type: ActionType) -> Option<&'static FieldRow> {
    fields_of(action_type).find(|row| row.name == name)
}

/// Returns the rows of a field's name. At most one of their fields has a value in an action.
pub(super) fn meanings_of(name: &str) -> impl Iterator<Item = &'static FieldRow> {
    FIELDS.iter().filter(move |row| row.name == name)
}

/// Returns the types of actions that have a field of this name, in words: `A or B`.
pub(super) fn types_with(name: &str) -> String {
    let types = ActionType::ALL.into_iter().filter(|action_type| row_of(name, *action_type).is_some());
    types.map(|action_type| action_type.to_string()).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_type_has_two_rows_of_a_name() {
        for action_type in ActionType::ALL {
            let mut names: Vec<_> = fields_of(action_type).map(|row| row.name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{action_type}");
        }
    }
}
