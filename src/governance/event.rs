//! What happens to a workflow, and what is to be done about it.

use crate::governance::gate::Gate;
use crate::governance::name::Slug;
use crate::governance::record::{Consulted, FiledIssue};
use crate::governance::state::State;
use crate::governance::trail::TrailFile;
use crate::model::Timestamp;

/// What a person at a gate did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Typed a line.
    Line(String),
    /// Nothing: standard input is no terminal, or it has ended.
    Nobody,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The brief was read.
    BriefRead(String),
    /// It could not be.
    BriefUnreadable(String),
    /// Nobody uses the name.
    SlugFree,
    /// Somebody does.
    SlugTaken,
    /// The editor is there and the tracker knows us.
    ToolsReady,
    /// One of both is not so.
    ToolsMissing(String),
    /// The sandbox is there.
    SandboxReady,
    /// A model answered.
    Consulted {
        /// What it printed.
        text: String,
        /// How it was asked.
        consulted: Consulted,
    },
    /// A model gave no answer.
    ConsultationFailed {
        /// Why.
        why: String,
        /// How it was asked.
        consulted: Consulted,
    },
    /// The editor was closed.
    Edited {
        /// The draft as it is now.
        draft: String,
        /// The review as it is now; none at N3.
        verdict: Option<String>,
    },
    /// A person was asked.
    Answered(Answer),
    /// Every label is there.
    LabelsReady,
    /// The issue is there.
    IssueFiled {
        /// The issue.
        issue: FiledIssue,
        /// Whether it was there before it was asked for: an earlier attempt had made it, with the text of that attempt.
        already_there: bool,
    },
    /// The tracker refused, or cannot be reached.
    TrackerFailed(String),
    /// The trail lies among what is done.
    Moved,
    /// The trail is committed.
    Committed,
    /// The sandbox is gone.
    SandboxRemoved,
    /// What was to be done could not be; it is done again when the workflow is resumed.
    StepFailed(String),
}

/// When something happened, and to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub now: Timestamp,
    /// The user who is there, by number.
    pub user: u32,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Keep a file in the trail. It is new; if it is there, it has this text.
    Keep(TrailFile),
    /// Show a line.
    Say(String),
    /// Read the brief.
    ReadBrief,
    /// Look whether a name is in use.
    LookForSlug(Slug),
    /// Look for the editor, and ask the tracker whether it knows us.
    CheckTools,
    /// Make the sandbox, or find it there.
    MakeSandbox,
    /// Ask the drafter.
    AskDrafter {
        /// With these words.
        prompt: String,
    },
    /// Ask the reviewer.
    AskReviewer {
        /// With these words.
        prompt: String,
    },
    /// Open the editor on files of the trail and wait until it is closed. A file that is there already is opened as it is.
    Edit {
        /// The draft.
        draft: WorkingCopy,
        /// The review; none at N3.
        verdict: Option<WorkingCopy>,
    },
    /// Ask a person.
    Ask(Question),
    /// See to it that the tracker has these labels.
    EnsureLabels(Vec<String>),
    /// File the issue, unless the tracker has one with the marker.
    FileIssue {
        /// Its title.
        title: String,
        /// The file of the trail that is its text.
        body_file: String,
        /// Its labels.
        labels: Vec<String>,
        /// The line of the text by which it is found.
        marker: String,
    },
    /// Move the trail to what is done.
    MoveToDone {
        /// The issue's number.
        issue: u64,
    },
    /// Commit exactly the trail's files.
    Commit {
        /// The issue's number.
        issue: u64,
    },
    /// Remove the sandbox.
    RemoveSandbox,
    /// Nothing more is to be done now.
    End(Ending),
}

/// A file for the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingCopy {
    /// Its name in the trail.
    pub name: String,
    /// What is in it, where it is not there yet.
    pub text: String,
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The gate; none: words are asked for.
    pub gate: Option<Gate>,
    /// What is shown first.
    pub display: Vec<String>,
    /// The question.
    pub prompt: String,
}

/// How it ends for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// An issue is filed, its trail committed.
    Filed(FiledIssue),
    /// A person ended it before it began, or wants to go on with the one that is there.
    NotBegun,
    /// A person wants the one that is there to go on.
    Resume,
    /// It cannot begin.
    Refused(String),
    /// A person has given up filing; everything stays where it is.
    Aborted,
    /// It goes on when it is resumed.
    Paused(PauseReason),
}

/// Why a workflow waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PauseReason {
    /// Nobody is there to ask.
    Nobody,
    /// A person goes on by hand.
    Manual,
    /// Something could not be done.
    Failed(String),
}

/// The next state, and what is to be done. The last effect is the one that has an event for an answer, or an end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "effects are carried out by whoever gets them"]
pub struct Transition {
    /// The state.
    pub state: State,
    /// What is to be done, in this order.
    pub effects: Vec<Effect>,
}
