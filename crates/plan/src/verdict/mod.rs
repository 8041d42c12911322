//! Judges actions and runs: classification, policy, debt, agent action, statuses, exit code.
//!
//! This module only judges. It may not run, read or print anything, and its code does not depend on single tools. The
//! meaning of an outcome is a row for each [`proctor_model::CategoryCode`]. The texts about a tool are a row of data
//! that is found by the tool's name in reports.
//!
//! "Seed 004" is the original specification of how actions run and are judged. Rules that come from it have names such
//! as E3, C06 and J3; all of them are explained in `docs/design/decisions.md`.
//!
//! Look next at [`classify`] (one action), then [`judge_run`] (one run), [`judge_criteria`] (a task's own criteria), then
//! [`command_exit`] (one command).

mod category_row;
mod classify;
mod completion;
mod criteria;
mod debt;
mod exit;
mod flips;
mod gate;
mod gate_reason;
mod history;
mod limits;
mod looking_rows;
mod policy;
mod red;
mod rows;
mod services;
#[cfg(test)]
mod tests;
mod wording;

pub use category_row::{READY, SummaryWords, is_determined_by_inputs, is_explained_by_output, summary_words};
pub use classify::{ActionFacts, classify, judge_invalid};
pub use completion::{ActionCounts, RunFlow, RunVerdict, judge_run};
pub use criteria::{SeenAction, SeenAnswer, SeenFile, judge_criteria};
pub use exit::{CyclePosition, command_exit};
pub use flips::{EndOfCheck, Flip, find_flip};
pub use gate::{GateJudgement, GateRules, GateState, GateSubject, RequiredPlan, judge_gate, overall_state, worst_state};
pub use gate_reason::GateReason;
pub use history::{PassedBefore, RedBeginning, TestHistory, VanishedTests};
