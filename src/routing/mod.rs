//! The exit-code router, the retry limit and the TDD state machine (seed 000; R1–R9).
//!
//! Owns the decision where a task goes next: the table from exit code and phase to a node, the limits that end loops, the phases of a
//! cycle, and the pause in which a task waits for a person. It may not run, read or log anything while it decides: every function is
//! pure, takes the state by value and returns it. Only [`emit_decision`] writes a log record; callers call it after the decision.
//!
//! The nodes are seed 000's labels: N2 scaffolds the tests again, N3 goes back to the implementation, N4 follows a valid RED.
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
pub use table::{PytestExitCode, is_scaffold_error, route_by_exit_code};
pub use transition::{TransitionError, reset, resolve, set_phase, start_cycle};
pub use verify::{
    RouteDecision, verify_green_phase, verify_phase, verify_red_phase, verify_with_unapproved_files,
    verify_without_review_verdict,
};
