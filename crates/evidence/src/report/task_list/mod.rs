//! The task list of a project (`tasks.md`): the blocks that proctor writes, and the detection of changes that proctor did not
//! make. Pure.
//!
//! proctor owns two blocks, each between two marking lines: the tasks with their boxes, and the debt. The rest belongs to people
//! and is never touched. The content of the blocks depends only on the last sealed verdicts and has neither times nor run ids, so
//! it changes only when a verdict changes. [`plan_task_list_update`] compares and decides; the caller reads and writes the file.

mod build;
mod document;
mod forms;
mod pieces;
mod task_list_update;

pub use build::{TaskLists, TaskState, TaskVerdict, build_task_lists};
pub use task_list_update::{TaskListUpdate, plan_task_list_update};

#[cfg(test)]
mod tests;
