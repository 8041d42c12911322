//! The governance workflow: a model drafts an issue from a brief, another model reviews it, and a person decides every
//! step (seed document 002).
//!
//! ```text
//! N0 brief ─► N1 preflight, sandbox ─► N2 draft ─► N3 person ─► N4 review ─► N5 person ─► N6 file ─► done
//!                                         ▲           │                        │  ▲          │
//!                                         └── revise ─┴──────── revise ────────┘  └── edit ──┘
//! ```
//!
//! Owns the states, the decisions and the questions: [`handle`] takes a state and an event, and returns the next state
//! and the effects to perform. Whatever a model answers, the next step is a person's: only a person's answer sends a
//! model's text to another model or to the tracker. Everything here is pure: it may not call the tracker, an editor or
//! a model, open a file, or read a clock. `workflow/` does that.
//!
//! Where to look: `state` has the states, `event` the events and effects, and `machine` the transitions, with a file for each part of the
//! workflow. `gate` and `wording` have the questions to people. `record` names the kept files, and has the JSON files among them.
//! `verdict` reads the deciding line of a review, and title and labels of a draft, `waiting` says who has to act, and `prompt`
//! has the prompts for the models.

mod event;
mod gate;
mod machine;
mod name;
mod prompt;
mod record;
mod state;
mod verdict;
mod waiting;
mod wording;

pub use event::{
    EditorFile, EventContext, PauseReason, PersonAnswer, PersonQuestion, WorkflowEffect, WorkflowEnding, WorkflowEvent,
    WorkflowTransition,
};
pub use gate::{GateChoice, WorkflowGate, parse_choice};
pub use machine::handle;
pub use name::{NameError, Slug, WorkflowId, slug_from_file_name};
pub use prompt::{ISSUE_TEMPLATE, PinnedText, REVIEW_PROMPT, TamperedPrompt, draft_prompt, review_prompt};
pub use record::{ConsultationRecord, FiledIssue, TrailEntry, TrailFile, TrailKind, done_directory, file_name};
pub use state::{
    DecisionPhase, DecisionSubject, DraftBasis, DraftReview, FilingRetry, FilingStep, IssueToFile, LoadingStep, ModelNames,
    WorkflowCounters, WorkflowLimits, WorkflowNode, WorkflowStart, WorkflowState,
};
pub use verdict::{IssueFields, IssueVerdict, parse_fields, parse_verdict};
pub use waiting::WorkflowTurn;

#[cfg(test)]
mod tests;
