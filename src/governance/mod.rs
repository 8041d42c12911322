//! The governance workflow, N0 to N6: from a brief to a filed issue, with a person at every way out of a model (seed 002). Pure.
//!
//! ```text
//! N0 brief ─► N1 preflight, sandbox ─► N2 draft ─► N3 person ─► N4 review ─► N5 person ─► N6 file ─► done
//!                                         ▲           │                        │  ▲          │
//!                                         └── revise ─┴──────── revise ────────┘  └── edit ──┘
//! ```
//!
//! Owns the states, the decisions and the words: [`handle`] takes a state and what happened, and returns the next state and what is to be
//! done. A model's text leads to a person and to nothing else: no state after a model's answer has a way on that is not an answer at a
//! gate. May not call the tracker, an editor or a model, open a file, or read a clock: that is `workflow/`'s, which may decide nothing.
//!
//! Where to look: `state` where a workflow stands · `event` what happens and what is done · `machine` the way from one to the other, with
//! a file for each stretch of it · `gate` and `wording` what people are asked · `trail` what is kept under which name · `verdict` the line
//! that decides · `waiting` whose turn it is · `fields` title and labels of a draft · `prompt` what models are given · `record` the JSON that is kept.

mod event;
mod fields;
mod gate;
mod machine;
mod name;
mod prompt;
mod record;
mod state;
mod trail;
mod verdict;
mod waiting;
mod wording;

pub use event::{Answer, Effect, Ending, Event, Moment, PauseReason, Question, Transition, WorkingCopy};
pub use fields::{Fields, read_fields};
pub use gate::{Choice, Gate, parse_choice};
pub use machine::handle;
pub use name::{NameError, Slug, WorkflowId, slug_of};
pub use prompt::{ISSUE_TEMPLATE, PinnedText, REVIEW_PROMPT, TamperedPrompt, draft_prompt, review_prompt};
pub use record::{Consulted, FiledIssue};
pub use state::{Asked, Attempt, Basis, Counters, Filed, Filing, Limits, Loading, Node, Phase, Reviewed, Start, State, Subject};
pub use trail::{Kind, TrailEntry, TrailFile, done_directory, file_name};
pub use verdict::{ReviewWord, read_verdict};
pub use waiting::Turn;

#[cfg(test)]
mod tests;
