//! The row of facts about a category code, and functions that look up facts in it. The rows themselves are in
//! `rows.rs`.

use crate::verdict::rows::ROWS;
use crate::verdict::wording::AgentWord;
use proctor_model::{CategoryCode, DebtCategory, ResultType, Severity};

/// Whether the tool did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verdict) enum ToolWork {
    /// The tool did its work, even if it found faults.
    Succeeded,
    /// The tool could not do its work, for example because it is not installed or crashed.
    Failed,
    /// The tool was stopped before it could do its work.
    Unknown,
}

/// A template for the short text about an action on a screen. Values from the action's report are filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryWords {
    /// The category code as words: `NO_TESTS_COLLECTED` becomes "no tests collected".
    CodeName,
    Fixed(&'static str),
    /// The text before an exit code, and the text to show if there is no exit code.
    ExitCode {
        before: &'static str,
        without: &'static str,
    },
    /// The status of the HTTP answer; without an answer, the category code as words.
    AnswerStatus,
    /// The text, then the error's type in brackets.
    ErrorType(&'static str),
    /// The name of the signal; without a signal, the category code as words.
    SignalName,
    /// The exceeded limit with its value.
    Limit,
}

/// The consequences of a category code: result type, debt, advice and texts.
#[derive(Debug)]
pub(in crate::verdict) struct CategoryRow {
    pub(in crate::verdict) code: CategoryCode,
    pub(in crate::verdict) result: ResultType,
    pub(in crate::verdict) work: ToolWork,
    /// Whether tests ran. Only used for actions that run tests (TEST).
    pub(in crate::verdict) tests_ran: bool,
    pub(in crate::verdict) error_type: Option<&'static str>,
    /// Category and severity of the debt that the result leaves; otherwise the reason why it leaves no debt.
    pub(in crate::verdict) debt: Result<(DebtCategory, Severity), &'static str>,
    /// The beginning of the title of the debt item; the name of the action, or another detail, is added after a colon.
    pub(in crate::verdict) title: &'static str,
    /// The suggested fix; `{reason}` is replaced by the reason of the classification.
    pub(in crate::verdict) fix: &'static str,
    pub(in crate::verdict) agent: AgentWord,
    pub(in crate::verdict) message: &'static str,
    pub(in crate::verdict) causes: &'static [&'static str],
    pub(in crate::verdict) recoverable: Option<&'static str>,
    pub(in crate::verdict) summary: SummaryWords,
    pub(in crate::verdict) shows_output: bool,
    pub(in crate::verdict) is_determined_by_inputs: bool,
}

pub(in crate::verdict) fn row_of(code: CategoryCode) -> &'static CategoryRow {
    &ROWS[code as usize]
}

/// Returns the template for the short text about an action with this code.
pub fn summary_words(code: CategoryCode) -> SummaryWords {
    row_of(code).summary
}

/// Returns whether a reader needs the end of the command's output to know what to fix, because the reason alone is not
/// enough.
pub fn is_explained_by_output(code: CategoryCode) -> bool {
    row_of(code).shows_output
}

/// Returns whether the result depends only on the action's inputs: the tool ended by itself and reported what it found.
/// Only such a result is reused for the same inputs.
///
/// Two kinds of results are not reused although the tool ended by itself. Tests that cannot be collected usually miss a
/// package, and packages may lie outside of the digested tree. A review is always asked for again, because an approval
/// is valid only for the change that was reviewed.
pub fn is_determined_by_inputs(code: CategoryCode) -> bool {
    row_of(code).is_determined_by_inputs
}

/// Returns all rows, for tests of the whole table.
#[cfg(test)]
pub(in crate::verdict) fn every_row() -> &'static [CategoryRow] {
    &ROWS
}

/// The screen's text for a service that is ready.
pub const READY: &str = "ready";
