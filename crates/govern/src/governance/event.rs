//! The events that an issue workflow reacts to, and the effects that it asks `workflow/` to perform.

use crate::governance::gate::WorkflowGate;
use crate::governance::name::Slug;
use crate::governance::record::{ConsultationRecord, FiledIssue, TrailFile};
use crate::governance::state::WorkflowState;
use proctor_model::Timestamp;

/// A person's reaction to a question of the workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonAnswer {
    Line(String),
    /// Nobody can answer: standard input is no terminal, it has ended, or a signal has asked the program to stop.
    Nobody,
}

/// Something that happened outside of the workflow, usually the result of its last effect. `handle` answers it with a
/// transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowEvent {
    /// The brief was read; this is its text.
    BriefRead(String),
    /// The brief could not be read; the text says why.
    BriefUnreadable(String),
    /// The slug (the workflow's name) was free, and is now locked for this workflow.
    SlugFree,
    /// The slug is taken by another workflow: its trail or its stored state (checkpoint) exists, or a process holds its
    /// lock.
    SlugTaken,
    /// The editor was found, the repository has a commit, and the tracker's command line is logged in to the tracker.
    ToolsReady,
    /// The editor, the repository or the tracker failed its check; the text says which.
    ToolsMissing(String),
    /// The models' copy of the project has been made.
    SandboxReady,
    /// The command of the model that was asked has succeeded.
    ModelAnswered {
        /// The model's output.
        text: String,
        record: ConsultationRecord,
    },
    /// The model's command could not be run or did not succeed, so its output is not used.
    ConsultationFailed { why: String, record: ConsultationRecord },
    /// The person has closed the editor.
    Edited {
        /// The text of the draft when the editor was closed.
        draft: String,
        /// The text of the review when the editor was closed; `None` at N3, where there is no review yet.
        verdict: Option<String>,
    },
    /// The question was answered, or there was no person at a terminal.
    Answered(PersonAnswer),
    /// Every label of the issue exists in the tracker.
    LabelsReady,
    /// The issue exists in the tracker.
    IssueFiled {
        issue: FiledIssue,
        /// Whether an earlier attempt had already filed the issue. If so, the issue has the text of that earlier
        /// attempt.
        already_there: bool,
    },
    /// The tracker refused or could not be reached; the text says why.
    TrackerFailed(String),
    /// The trail's directory has been moved to `done/`.
    Moved,
    /// The trail has been committed.
    Committed,
    /// The models' copy of the project has been removed.
    SandboxRemoved,
    /// The last effect could not be performed; the text says why. The effect is performed again when the workflow is
    /// resumed.
    StepFailed(String),
}

/// When an event happened, and which user was at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventContext {
    pub now: Timestamp,
    /// The user's number (uid).
    pub user: u32,
}

/// Something that the folder `workflow/` does for the workflow, because nothing here may touch files, models or the
/// tracker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowEffect {
    /// Write a file of the trail, the directory with the workflow's records. After a crash the file may exist already,
    /// with the same text.
    Keep(TrailFile),
    /// Show a line to the person.
    Say(String),
    ReadBrief,
    /// Lock a slug for this workflow, unless it is taken.
    ClaimSlug(Slug),
    /// Check that the editor is there, the repository has a commit, and the tracker's command line is logged in.
    CheckTools,
    /// Make the models' copy of the project.
    MakeSandbox,
    /// Run the drafter with this prompt.
    AskDrafter {
        prompt: String,
    },
    /// Run the reviewer with this prompt.
    AskReviewer {
        prompt: String,
    },
    /// Open the editor on files of the trail, and wait until the person closes it. A file that exists already is opened
    /// unchanged.
    Edit {
        draft: EditorFile,
        /// The file with the review; `None` at N3, where there is no review yet.
        verdict: Option<EditorFile>,
    },
    /// Ask the person at the terminal.
    Ask(PersonQuestion),
    /// Create the labels that the tracker does not have.
    EnsureLabels(Vec<String>),
    /// Create the issue, unless the tracker already has an issue with the marker.
    FileIssue {
        title: String,
        /// The name of the trail's file with the text of the issue.
        body_file: String,
        labels: Vec<String>,
        /// A line of the issue's text. An issue in the tracker with this line was filed by this workflow.
        marker: String,
    },
    /// Move the trail to `done/`.
    MoveToDone {
        /// The issue's number. The name of the trail's directory in `done/` begins with it.
        issue: u64,
    },
    /// Commit exactly the files of the trail.
    Commit {
        /// The issue's number, for the commit's message.
        issue: u64,
    },
    /// Remove the models' copy of the project.
    RemoveSandbox,
    /// Stop working on the workflow. No effect follows.
    End(WorkflowEnding),
}

/// A file of the trail that a person edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorFile {
    /// The file's name in the trail, without a directory.
    pub name: String,
    /// The text to begin with, if the file does not exist yet.
    pub text: String,
}

/// A question that a person answers with one line at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonQuestion {
    /// The gate that limits the answers; `None` if any text is an answer, such as feedback or a new slug.
    pub gate: Option<WorkflowGate>,
    /// Lines that are shown above the question.
    pub display: Vec<String>,
    pub prompt: String,
}

/// Why proctor stops working on a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowEnding {
    /// The issue is filed, the trail is committed, and the models' copy is removed: the workflow is over.
    Filed(FiledIssue),
    /// The slug was taken, and the person chose to abort. Nothing was begun.
    NotBegun,
    /// The slug was taken, and the person chose to resume the workflow that has it.
    Resume,
    /// The workflow cannot begin or continue here; the text says why.
    Refused(String),
    /// A person has given up filing. The trail stays in `active/`, and the workflow can be resumed.
    Aborted,
    /// The workflow has stopped before its end and can be resumed later.
    Paused(PauseReason),
}

/// Why a workflow is paused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseReason {
    /// The workflow has a question, but no person is at a terminal.
    Nobody,
    /// The person chose `manual`: to continue by hand.
    Manual,
    /// A step failed; the text says why.
    Failed(String),
}

/// The workflow's next state, and the effects to perform in the given order. The last effect either ends the work or
/// leads to the next event. The effects before the last one lead to no event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the caller has to perform the effects"]
pub struct WorkflowTransition {
    pub state: WorkflowState,
    pub effects: Vec<WorkflowEffect>,
}
