//! What an action and a run amount to: classification, policy, debt, agent action, statuses, exit code (seed 004; C- and R-tables).
//!
//! Owns judgements only. It may not run, read or print anything, and knows no tool by name in its code paths: what an outcome
//! means is a row per [`crate::model::CategoryCode`], and a tool's words are a row of data found by its name in reports.
//!
//! Look next at [`classify`] (one action), then [`judge_run`] (one run), [`judge_criteria`] (a task's own criteria), then [`command_exit`] (one command).

mod agent;
mod classify;
mod completion;
mod criteria;
mod debt;
mod exit;
mod history;
mod limits;
mod policy;
mod red;
mod rows;
mod services;
#[cfg(test)]
mod tests;
mod wording;

pub use classify::{ActionFacts, classify, judge_invalid};
pub use completion::{ActionCounts, RunFlow, RunVerdict, judge_run};
pub use criteria::{SeenAction, SeenAnswer, SeenFile, judge_criteria};
pub use exit::{CycleStanding, command_exit};
pub use history::{PassedBefore, TestHistory, VanishedTests};
pub use rows::{READY, SummaryWords, is_explained_by_output, is_settled, summary_words};
