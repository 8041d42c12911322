//! A recording of everything that the program prints: changes of the code's structure must not change any of it.
//!
//! About 80 scenarios (`tables`) make a project each and run the commands that a person and an agent use. What these print, at a
//! terminal and into pipes, and their exit codes are compared byte for byte with `recording/recorded.zst`, after what differs from run
//! to run or from machine to machine is replaced (`normalise`). No installed tool takes part: `fake-tool` plays captured outputs.
//!
//! A deliberate difference is a line of `docs/design/changed.md` and a new recording:
//! `PROCTOR_UPDATE_RECORDING=1 cargo test --test integration recording:: -- --ignored`. The module uses the program alone, no item of its library.

mod kept;
mod normalise;
mod scenario;
mod stage;
mod tables;

use std::env;
use std::sync::Mutex;
use std::thread;

use crate::common::Extent;
use crate::recording::kept::{Recording, differences};
use crate::recording::scenario::Scenario;

/// How many scenarios are performed at once. They wait more than they compute.
const AT_ONCE: usize = 3;
/// Outside of the long tier, every 14th scenario is performed.
const SAMPLE: Extent = Extent::OneIn(14);
const HOW_TO_RECORD: &str = "A deliberate difference is a line of docs/design/changed.md and a new recording: \
    PROCTOR_UPDATE_RECORDING=1 cargo test --test integration recording:: -- --ignored";

#[test]
fn some_scenarios_print_what_was_recorded() {
    compare(&SAMPLE.of(tables::scenarios()));
}

#[test]
#[ignore = "long tier"]
fn every_scenario_prints_what_was_recorded() {
    let scenarios = tables::scenarios();
    if env::var_os("PROCTOR_UPDATE_RECORDING").is_some() {
        kept::write(&record(&scenarios));
        return;
    }
    let known: Vec<String> = kept::read().into_keys().collect();
    let mut names: Vec<String> = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    names.sort();
    assert_eq!(known, names, "the recording has other scenarios than the tables. {HOW_TO_RECORD}");
    compare(&scenarios);
}

#[track_caller]
fn compare(scenarios: &[Scenario]) {
    let (recorded, printed) = (kept::read(), record(scenarios));
    let found: Vec<String> = printed.iter().flat_map(|(name, printed)| differences(name, recorded.get(name), printed)).collect();
    assert!(found.is_empty(), "{} commands print something else:\n{}\n{HOW_TO_RECORD}", found.len(), found.join("\n"));
}

/// Performs these scenarios, several at once.
fn record(scenarios: &[Scenario]) -> Recording {
    let waiting = Mutex::new(scenarios.iter());
    let recording = Mutex::new(Recording::new());
    let next = || waiting.lock().expect("nobody panics with it").next();
    let work = || {
        while let Some(scenario) = next() {
            let printed = stage::perform(scenario);
            recording.lock().expect("nobody panics with it").insert(scenario.name.clone(), printed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    recording.into_inner().expect("nobody panics with it")
}
