//! Hooks of coding agents: what proctor answers when an agent begins a turn, ends one, or says that the tests pass.
//!
//! An agent starts `proctor hook run EVENT --agent NAME` and writes a JSON document to its standard input. Everything here is pure:
//! the document, the state that was recorded at the start of the turn, and the verdict make the decision, and the decision makes the
//! answer in the form that this agent reads. `cli/commands` reads and writes.
//!
//! Where to look: `contract` is the table of the agents, with the fields that they send and the answers that they take; `standing`
//! is the verdict as a decision needs it; `claims` finds the sentence that says that the tests pass; `decision` decides; `message`
//! writes what the agent reads; `state` is what is recorded between events; `settings_text` edits the settings files of agents;
//! `figures` counts for `proctor hook report`.

mod claims;
mod contract;
mod decision;
mod figures;
mod message;
mod settings_text;
mod standing;
mod state;

pub use claims::{Claim, find_claim};
pub use contract::{
    AGENTS, AgentRow, BlockForm, ContextForm, EventRow, HookAnswer, HookEvent, HookInput, HookOutput, PersonForm, form_output,
    read_input,
};
pub use decision::{HookDecision, MOST_BLOCKS, RefutedClaim, decide, is_answered_by_proof, needs_waiting, runs_to_compare};
pub use figures::{HookFigures, HookLine, HookOutcome};
pub use message::{JoinedAnswer, LONGEST_MESSAGE, join_answers};
pub use settings_text::{AddedPart, EditedSettings, SettingsProblem, entries_there, install_hooks, off_switch, uninstall_hooks};
pub use standing::{FailingItem, HookJudgement, HookStanding, HookVerdictReader};
pub use state::{
    BlockedFor, FailureIdentity, FailurePlace, FailuresBefore, SaidText, SessionState, ToldState, TurnStart, TurnState,
    VerdictBefore,
};
