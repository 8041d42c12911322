//! Tests of the router as a whole: the scenarios of seed 000 and later ones, a person's commands, and properties.

mod commands;
mod policies;
mod properties;
mod record;
mod scenarios;

use crate::routing::{RouteDecision, TestResult, verify_phase};
use proctor_model::{CategoryCode, Digest, ExitCodeSource, Phase, RoutingSettings, RunId, TddState, Timestamp};

fn now() -> Timestamp {
    Timestamp::from_millis(1_772_616_600_120)
}

fn run_id() -> RunId {
    RunId::new(now(), 7)
}

/// Returns the state of a started cycle, with `codes` in its current phase.
fn started(phase: Phase, codes: &[i32]) -> TddState {
    TddState {
        started: true,
        phase,
        exit_code_history: codes.iter().copied().map(Some).collect(),
        phase_history: u32::try_from(codes.len()).expect("a short list"),
        ..TddState::default()
    }
}

/// Returns a result with `code`. Results with different numbers for `tree` are never the same failure on the same tree.
fn result(code: i32, tree: usize) -> TestResult<'static> {
    let tree = Digest::of(tree.to_string().as_bytes());
    TestResult::new(Some(code), ExitCodeSource::Process, tree, run_id(), now())
}

fn with_category(code: i32, category: CategoryCode) -> TestResult<'static> {
    TestResult { category: Some(category), ..result(code, 0) }
}

/// Decides on one code after another, each on a different tree. Returns every decision and the last state.
fn verify_all(mut state: TddState, codes: &[i32], settings: &RoutingSettings) -> (Vec<RouteDecision>, TddState) {
    let mut decisions = Vec::new();
    for (tree, code) in codes.iter().enumerate() {
        let verified = verify_phase(&result(*code, tree), state, settings);
        state = verified.state.clone();
        decisions.push(verified);
    }
    (decisions, state)
}
