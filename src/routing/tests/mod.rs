//! Tests of the router as a whole: the seed's scenarios, their extensions, the commands, and properties.

mod commands;
mod policies;
mod properties;
mod record;
mod scenarios;

use crate::model::{CategoryCode, Digest, ExitCodeSource, Phase, RoutingSettings, RunId, TddState, Timestamp};
use crate::routing::{TestResult, Verified, verify_phase};

fn now() -> Timestamp {
    Timestamp::from_millis(1_772_616_600_120)
}

fn run_id() -> RunId {
    RunId::new(now(), 7)
}

/// A state inside a started cycle whose current phase has seen `codes`.
fn started(phase: Phase, codes: &[i32]) -> TddState {
    TddState {
        started: true,
        phase,
        exit_code_history: codes.iter().copied().map(Some).collect(),
        phase_history: u32::try_from(codes.len()).expect("a short list"),
        ..TddState::default()
    }
}

/// A result with `code` on a tree of its own, so that no two of them look alike.
fn result(code: i32, tree: usize) -> TestResult<'static> {
    let tree = Digest::of(tree.to_string().as_bytes());
    TestResult::of(Some(code), ExitCodeSource::Process, tree, run_id(), now())
}

fn with_category(code: i32, category: CategoryCode) -> TestResult<'static> {
    TestResult { category: Some(category), ..result(code, 0) }
}

/// Verifies one code after the other, each on its own tree, and returns every decision.
fn verify_all(mut state: TddState, codes: &[i32], settings: &RoutingSettings) -> (Vec<Verified>, TddState) {
    let mut decisions = Vec::new();
    for (tree, code) in codes.iter().enumerate() {
        let verified = verify_phase(&result(*code, tree), state, settings);
        state = verified.state.clone();
        decisions.push(verified);
    }
    (decisions, state)
}
