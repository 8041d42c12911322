//! What the ledger keeps about a task list (`tasks.md`): what proctor wrote, and what somebody else made of it.

use serde::{Deserialize, Serialize};

use crate::model::Digest;

/// The blocks of a task list as proctor wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskListRecord {
    /// The file, relative to the project.
    pub path: String,
    /// SHA-256 of the lines of both blocks.
    pub digest: Digest,
}

/// Something in a task list that proctor did not write, and put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ViolationRecord {
    /// The file, relative to the project.
    pub path: String,
    /// What was done.
    pub violation: ViolationKind,
    /// The task or the debt item; a block's name or the file where it is about no single one.
    pub subject: String,
    /// What was there, cut to [`ViolationRecord::MOST_CHARACTERS`]; empty: nothing.
    pub found: String,
    /// What was put back, cut likewise; empty: it was taken out.
    pub restored: String,
}

/// What was done to a task list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ViolationKind {
    /// A box was ticked that no verdict ticks.
    UnauthorizedCompletion,
    /// The tick of a complete task was taken away.
    CompletionRemoved,
    /// A task was taken out.
    MissingSprintTask,
    /// What is said of a task was changed, or a task was made up.
    TaskContentMismatch,
    /// A debt item was taken out.
    MissingDebtDocumentation,
    /// What is said of a debt item was changed, or an item was made up.
    ClassificationModified,
    /// The lines that mark a block were taken out.
    MarkersRemoved,
    /// The file was taken away.
    TaskListRemoved,
}

impl ViolationRecord {
    /// So many characters of a text are kept.
    pub const MOST_CHARACTERS: usize = 400;

    /// Returns the line about it for people.
    pub fn sentence(&self) -> String {
        let Self { path, subject, .. } = self;
        let done = match self.violation {
            ViolationKind::UnauthorizedCompletion => format!("`{subject}` was ticked by hand"),
            ViolationKind::CompletionRemoved => format!("the tick of `{subject}` was taken away"),
            ViolationKind::MissingSprintTask => format!("task `{subject}` was taken out"),
            ViolationKind::TaskContentMismatch => format!("what it says of `{subject}` was changed"),
            ViolationKind::MissingDebtDocumentation => format!("debt `{subject}` was taken out"),
            ViolationKind::ClassificationModified => format!("what it says of debt `{subject}` was changed"),
            ViolationKind::MarkersRemoved => format!("the lines that mark the block `{subject}` were taken out"),
            ViolationKind::TaskListRemoved => "the file was taken away".to_owned(),
        };
        format!("{path}: {done}; it was put back as the last verdict has it")
    }
}
