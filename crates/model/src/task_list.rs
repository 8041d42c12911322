//! What the ledger records about a task list (`tasks.md`): the blocks that proctor wrote, and changes by others.

use proctor_wire::wire;

use crate::Digest;

/// The digest of the lines that proctor wrote between its markers in a task list. If the lines have another digest
/// later, someone else changed them.
#[wire(schema)]
pub struct TaskListRecord {
    /// The file's path, relative to the project.
    pub path: String,
    /// SHA-256 of the lines of proctor's two blocks: the tasks and the debt items.
    pub digest: Digest,
}

/// A change inside proctor's blocks of a task list that proctor did not make and has reverted.
#[wire(schema)]
pub struct ViolationRecord {
    /// The file's path, relative to the project.
    pub path: String,
    pub violation: ViolationKind,
    /// The changed task or debt item. If the change concerns no single item, this is the name of the block or of the
    /// file.
    pub subject: String,
    /// The text that was found, cut to [`ViolationRecord::MOST_CHARACTERS`]; empty if text had been removed.
    pub found: String,
    /// The text that proctor put back, cut to [`ViolationRecord::MOST_CHARACTERS`]; empty if proctor only removed text.
    pub restored: String,
}

/// The kinds of changes to a task list that proctor reverts.
#[wire(Copy, PartialOrd, Ord, Hash, screaming, schema)]
pub enum ViolationKind {
    /// A box was ticked without a verdict that allows it.
    UnauthorizedCompletion,
    /// The tick of a complete task was removed.
    CompletionRemoved,
    /// A task was removed from proctor's block of tasks.
    MissingSprintTask,
    /// The text of a task was changed, or a task was invented.
    TaskContentMismatch,
    /// A debt item was removed from proctor's block of debt items.
    MissingDebtDocumentation,
    /// The text of a debt item was changed, or a debt item was invented.
    ClassificationModified,
    /// The lines that mark a block were removed.
    MarkersRemoved,
    /// The file of the task list is gone, though proctor wrote it before.
    TaskListRemoved,
}

impl ViolationRecord {
    /// The most characters of `found` and of `restored` that are stored.
    pub const MOST_CHARACTERS: usize = 400;

    /// Returns one sentence that tells people what was changed and that proctor reverted it.
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
