//! The exit-code router, the retry limit and the TDD state machine (seed 000; R1–R9).
//!
//! Owns where a task goes next: the table from raw exit code and phase to a node, the limits that end loops, the phases of a
//! cycle and the pause that waits for a person. It may not run, read or log anything while it decides: every function is pure,
//! takes the state by value and gives it back. [`emit_decision`] is the one exception, for callers, after the decision.
//!
//! Look next at [`route_by_exit_code`] (the table), then at [`verify_phase`] (table, limits and state together).

mod category;
mod history;
mod limit;
mod record;
mod result;
mod table;
#[cfg(test)]
mod tests;
mod transition;
mod verify;

pub use limit::check_retry_limit_exceeded;
pub use record::emit_decision;
pub use result::TestResult;
pub use table::{
    PytestExitCode, get_exit_code_description, is_scaffold_error, is_valid_red_state, requires_human_review, route_by_exit_code,
};
pub use transition::{TransitionError, reset, resolve, set_phase, start_cycle};
pub use verify::{Verified, verify_beside_protected, verify_beside_review, verify_green_phase, verify_phase, verify_red_phase};
