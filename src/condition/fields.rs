//! What an action of each type can be asked for: one table.

use crate::model::ActionType;

/// A field of an action, whatever name it was asked for by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The exit code of a process that ended by itself; 0 or 1 made of `success` where there is no process (C66).
    ExitCode,
    /// Whether the action is SUCCESS.
    Success,
    /// How long it took, in milliseconds.
    Duration,
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Errors its tool found, as its report counts them.
    ErrorCount,
    /// Warnings its tool found, likewise.
    WarningCount,
    /// Tests that passed, as its report counts them.
    TestsPassed,
    /// Tests that failed.
    TestsFailed,
    /// Tests that were skipped.
    TestsSkipped,
    /// All tests.
    TestsTotal,
    /// The status of an answer.
    StatusCode,
    /// The body of an answer: JSON, else a text.
    Body,
    /// The headers of an answer, by lower-case name.
    Headers,
    /// Whether a file is there.
    Exists,
    /// A file's size in bytes.
    Size,
    /// Whether a file is JSON.
    IsValidJson,
    /// Whether a file's content is what was expected.
    PatternMatches,
    /// How many rows a database answered with.
    Count,
    /// Whether a browser came up.
    Initialized,
}

/// What values a field can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `true` or `false`.
    Boolean,
    /// A whole number from the first to the second, both included.
    Integer(u64, u64),
    /// A text.
    Text,
    /// Whatever JSON can say.
    Json,
    /// Texts by name.
    Texts,
}

/// A name that some types of actions can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldRow {
    /// The name.
    pub name: &'static str,
    /// What it means.
    pub field: Field,
    /// Whether it means the contrary.
    pub negated: bool,
    /// The types of actions that have it. For types that are not carried out it is what they would have.
    pub action_types: &'static [ActionType],
    /// What values it can have.
    pub kind: ValueKind,
}

/// The largest integer that all arithmetic here is exact for: no count or size comes near it.
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

/// Every name. A name may have several rows, one type of action never two rows of the same name.
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

/// Returns the names that actions of a type can be asked for, in the table's order.
pub fn fields_of(action_type: ActionType) -> impl Iterator<Item = &'static FieldRow> {
    FIELDS.iter().filter(move |row| row.action_types.contains(&action_type))
}

/// Returns what a name means for actions of a type.
pub(super) fn row_of(name: &str, action_type: ActionType) -> Option<&'static FieldRow> {
    fields_of(action_type).find(|row| row.name == name)
}

/// Returns what a name means, whatever the type: names mean one thing, only their domains differ.
pub(super) fn meaning_of(name: &str) -> Option<&'static FieldRow> {
    FIELDS.iter().find(|row| row.name == name)
}

/// Returns the types of actions that have a field of this name, for people: `A or B`. Those that are carried out, where there are any.
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
