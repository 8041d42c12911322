//! The exit-code router, the retry limit and the TDD state machine (R1–R9). "Seed 000" in these comments is the
//! document with the requirements of routing.
//!
//! This folder decides where a task goes next: it has the table from exit code and phase to a node, the limits that end
//! loops, the phases of a cycle, and the pause in which a task waits for a person. While it decides, it runs, reads and
//! logs nothing: the functions are pure. Only [`emit_decision`] writes a log record; callers call it after the
//! decision.
//!
//! A node is the next step of a task; the labels are those of seed 000. N2 scaffolds the tests again, N3 goes back to
//! the implementation, N4 follows tests that failed as the RED phase demands.
//!
//! Look next at [`route_by_exit_code`] (the table), then at [`verify_phase`] (table, limits and state together).

mod category;
mod limit;
mod result;
mod table;
#[cfg(test)]
mod tests;
mod transition;
mod verify;

pub use limit::check_retry_limit_exceeded;
pub use result::{RunCause, TestResult, emit_decision};
pub use table::{PytestExitCode, is_scaffold_error, route_by_exit_code};
pub use transition::{TransitionError, reset, resolve, set_phase, start_cycle};
pub use verify::{
    RouteDecision, verify_green_phase, verify_phase, verify_red_phase, verify_with_unapproved_files,
    verify_without_review_verdict,
};
