//! Measures one routing decision with full histories. Fails above 1 ms or 1 KiB of allocations (seed 000, 8.1).

#![expect(clippy::print_stdout, reason = "a bench reports on its standard output")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use proctor_model::{Digest, ExitCodeSource, Phase, RoutingSettings, RunId, TddState, Timestamp};
use proctor_plan::routing::{TestResult, verify_phase};

const DECISIONS: u32 = 100_000;
const WARM_UP: u32 = 300;
const MOST_TIME: Duration = Duration::from_millis(1);
const MOST_BYTES: u64 = 1024;

/// The cost of a sequence of decisions: their mean time, and the allocations of the most expensive one in bytes.
struct Cost {
    mean: Duration,
    bytes: u64,
}

fn main() -> ExitCode {
    // Exit codes of test runs, repeated in this order: 1 is a failed test, 4 a scaffold error, `None` a time-out. In
    // the second sequence the scaffold errors never reach their limit. The third sequence pauses the task for a person.
    let sequences: [(&str, &[Option<i32>]); 3] =
        [("failing", &[Some(1)]), ("alternating", &[Some(4), Some(1)]), ("to a person", &[Some(4), Some(4), Some(4), None])];
    let mut within = true;
    for (name, codes) in sequences {
        let Cost { mean, bytes } = cost_of(codes);
        let ok = mean <= MOST_TIME && bytes <= MOST_BYTES;
        within &= ok;
        println!("{name:<12} {:>7} ns  {bytes:>5} bytes  {}", mean.as_nanos(), if ok { "ok" } else { "over the budget" });
    }
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn cost_of(codes: &[Option<i32>]) -> Cost {
    let settings = RoutingSettings::default();
    let start = Timestamp::from_millis(1_772_616_600_120);
    let results: Vec<_> = codes
        .iter()
        .enumerate()
        .map(|(number, code)| {
            let source = if code.is_some() { ExitCodeSource::Process } else { ExitCodeSource::Timeout };
            TestResult::new(*code, source, Digest::of(&number.to_le_bytes()), RunId::new(start, 1), start)
        })
        .collect();
    let mut state = TddState { started: true, phase: Phase::Green, ..TddState::default() };
    for result in results.iter().cycle().take(WARM_UP as usize) {
        state = decide(result, state, &settings);
    }
    assert_eq!((state.exit_code_history.len(), state.route_history.len()), (100, 100), "the histories are full");

    let mut bytes = 0;
    for result in results.iter().cycle().take(WARM_UP as usize) {
        let mut after = None;
        let info = allocation_counter::measure(|| after = Some(decide(result, std::mem::take(&mut state), &settings)));
        state = after.expect("the closure ran");
        bytes = bytes.max(info.bytes_total);
    }

    let begun = now();
    for result in results.iter().cycle().take(DECISIONS as usize) {
        state = decide(result, state, &settings);
    }
    Cost { mean: begun.elapsed() / DECISIONS, bytes }
}

/// Makes one decision. The state is changed so that no limit ends the cycle: every decision does the full work.
fn decide(result: &TestResult<'_>, mut state: TddState, settings: &RoutingSettings) -> TddState {
    state.attempts = 0;
    state.paused = None;
    black_box(verify_phase(black_box(result), state, settings)).state
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn now() -> Instant {
    Instant::now()
}
