//! The task list of a project (`tasks.md`): what proctor writes into it, and what somebody else made of that. Pure.
//!
//! Two blocks are proctor's, each between two lines that mark it: the tasks with their boxes, and the debt. Everything else belongs to
//! people and is never touched. What the blocks say follows from the last sealed verdicts alone, and holds neither times nor run ids:
//! it changes only when a state does. [`plan_upkeep`] compares and decides; whoever asked reads and writes the file.

mod build;
mod document;
mod drift;
mod forms;
mod pieces;
mod rewrite;
mod upkeep;

pub use build::{TaskLists, TaskState, TaskVerdict, build_task_lists};
pub use upkeep::{Upkeep, plan_upkeep};

#[cfg(test)]
mod tests;
