//! The table of fields that actions of each type have.

use crate::model::ActionType;

/// A field of an action; several names may mean the same field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The exit code of a process that ended by itself; 0 or 1, from `success`, for an action without a process (C66).
    ExitCode,
    /// Whether the action is SUCCESS.
    Success,
    /// The duration of the action in milliseconds.
    Duration,
    Stdout,
    Stderr,
    /// Errors that the tool reported, after the policy was applied (C24).
    ErrorCount,
    /// Warnings that the tool reported, after the policy was applied (C24).
    WarningCount,
    /// Tests that passed, as the tool's report counts them.
    TestsPassed,
    TestsFailed,
    TestsSkipped,
    TestsTotal,
    /// The HTTP status of an answer.
    StatusCode,
    /// The body of an answer: JSON if it can be parsed, otherwise a text.
    Body,
    /// The headers of an answer, by lower-case name.
    Headers,
    /// Whether the file exists.
    Exists,
    Size,
    /// Whether the file contains valid JSON.
    IsValidJson,
    /// Whether the file has the expected content.
    PatternMatches,
    /// The number of rows that a database returned.
    Count,
    /// Whether a browser started.
    Initialized,
}

/// The values that a field can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Boolean,
    /// A whole number in this range, both ends included.
    Integer(u64, u64),
    Text,
    /// Any JSON.
    Json,
    /// Texts by name.
    Texts,
}

/// A name that can be used for some types of actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldRow {
    pub name: &'static str,
    /// The field that it means.
    pub field: Field,
    /// Whether it means the negation of the field.
    pub negated: bool,
    /// The types of actions that have it. Types that proctor does not execute yet are included if their actions would have it.
    pub action_types: &'static [ActionType],
    /// The values that it can have.
    pub kind: ValueKind,
}

/// The largest integer up to which all arithmetic here is exact; no count or size comes near it.
pub(super) const MOST: u64 = (1 << 53) - 1;

const ALL: &[ActionType] = &ActionType::ALL;
const PROCESSES: &[ActionType] = &[ActionType::TerminalCommand, ActionType::CustomScript, ActionType::DockerCommand];
const TOOLS: &[ActionType] = &[ActionType::TerminalCommand, ActionType::CustomScript];
const WITHOUT_PROCESS: &[ActionType] = &[ActionType::FileValidation, ActionType::HttpRequest];
const FILES: &[ActionType] = &[ActionType::FileValidation];
const ANSWERS: &[ActionType] = &[ActionType::HttpRequest];
const DATABASES: &[ActionType] = &[ActionType::DatabaseQuery];
const BROWSERS: &[ActionType] = &[ActionType::McpBrowserCommand];
const COUNT: ValueKind = ValueKind::Integer(0, MOST);

/// All names. A name may have several rows, but only one row for each type of action.
pub const FIELDS: [FieldRow; 23] = [
    row("exitCode", Field::ExitCode, PROCESSES, ValueKind::Integer(0, 255)),
    row("exitCode", Field::ExitCode, WITHOUT_PROCESS, ValueKind::Integer(0, 1)),
    row("success", Field::Success, ALL, ValueKind::Boolean),
    FieldRow { negated: true, ..row("failed", Field::Success, ALL, ValueKind::Boolean) },
    row("duration", Field::Duration, ALL, COUNT),
    row("stdout", Field::Stdout, PROCESSES, ValueKind::Text),
    row("stderr", Field::Stderr, PROCESSES, ValueKind::Text),
    row("errorCount", Field::ErrorCount, TOOLS, COUNT),
    row("warningCount", Field::WarningCount, TOOLS, COUNT),
    row("testsPassed", Field::TestsPassed, TOOLS, COUNT),
    row("testsFailed", Field::TestsFailed, TOOLS, COUNT),
    row("testsSkipped", Field::TestsSkipped, TOOLS, COUNT),
    row("testsTotal", Field::TestsTotal, TOOLS, COUNT),
    row("statusCode", Field::StatusCode, ANSWERS, ValueKind::Integer(100, 999)),
    row("status", Field::StatusCode, ANSWERS, ValueKind::Integer(100, 999)),
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

/// Returns the names for actions of a type, in the table's order.
pub fn fields_of(action_type: ActionType) -> impl Iterator<Item = &'static FieldRow> {
    FIELDS.iter().filter(move |row| row.action_types.contains(&action_type))
}

/// Returns the row of a name for actions of a type.
pub(super) fn row_of(name: &str, action_type: ActionType) -> Option<&'static FieldRow> {
    fields_of(action_type).find(|row| row.name == name)
}

/// Returns a row of a name for any type: a name always means the same field, only the possible values differ.
pub(super) fn meaning_of(name: &str) -> Option<&'static FieldRow> {
    FIELDS.iter().find(|row| row.name == name)
}

/// Returns the types of actions that have a field of this name, for people: `A or B`. Types that proctor executes, if there are
/// any.
pub(super) fn types_with(name: &str) -> String {
    let types = ActionType::ALL.into_iter().filter(|action_type| row_of(name, *action_type).is_some());
    let (carried_out, others): (Vec<ActionType>, Vec<ActionType>) = types.partition(|action_type| action_type.is_carried_out());
    let spoken = if carried_out.is_empty() { others } else { carried_out };
    spoken.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_type_has_two_rows_of_a_name_and_a_name_means_one_thing() {
        for action_type in ActionType::ALL {
            let mut names: Vec<_> = fields_of(action_type).map(|row| row.name).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{action_type}");
        }
        for row in FIELDS {
            let meaning = meaning_of(row.name).expect("it is in the table");
            assert_eq!((meaning.field, meaning.negated), (row.field, row.negated), "{}", row.name);
        }
    }
}
