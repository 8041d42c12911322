//! A simulator: it lets the scheduling of a service meet orders of events that nobody would write a test for, in a virtual time, and
//! compares what happens with `model.rs`. One number, the seed, decides everything.
//!
//! | part | real or a model |
//! |---|---|
//! | `ProjectSession`, `Waiters`, `PendingChanges`, `ProjectHealth`: clients, looks, requests, troubles | real |
//! | `ProjectScheduler`, `Engine`, `Burst`, `Repetitions`: when runs start, stop and are repeated | real |
//! | `order_arrivals`, `TaskQueue` with its `Control`, `WorkPlaces`, `FinishedRun`, the use of known verdicts | real |
//! | `select_checks`, `compute_freshness`, `announcement` | real |
//! | the event loop, `select!` | a model: it takes what has arrived, mostly at once and sometimes late |
//! | files, git's lock, kernel events, watcher (`disk.rs`) | a model: delayed, merged, lost with an overflow, late to find the root |
//! | the worker's thread, `run_plan`, launcher and keeper (`thread.rs`) | a model: reads only what hints name, answers late, dies |
//! | ledger, index, seal (`store.rs`) | a model: in memory, full for a while; `crates/project` has the real ones in its own simulator |
//! | clients, a person who approves, upgrades and kills (`clients.rs`, `operate.rs`) | a model |
//!
//! A model never tells the real code what its real part could not know: the thread's index has what it read, the directory compares
//! with the tree of the last run that began, and the watcher's queue is in order.

mod clients;
mod disk;
mod draw;
mod model;
mod named;
mod operate;
mod run;
mod schedule;
mod store;
mod thread;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use run::Fixture;
use schedule::Schedule;
use world::World;

/// How many threads try schedules at the same time.
const CORES: u64 = 2;

/// Lets a schedule happen. Returns what must not be and was.
fn violations(schedule: &Schedule, fixture: &mut Fixture) -> Vec<String> {
    World::new(schedule, fixture).run(schedule)
}

/// Returns the shortest schedule found that still fails: steps are left out, first many at once, then one by one.
fn shrink(mut schedule: Schedule, fixture: &mut Fixture) -> Schedule {
    let mut size = schedule.steps.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < schedule.steps.len() {
            let mut shorter = schedule.clone();
            let end = (at + size).min(shorter.steps.len());
            let pause: u64 = shorter.steps.drain(at..end).map(|(pause, ..)| pause).sum();
            if let Some(next) = shorter.steps.get_mut(at) {
                next.0 += pause;
            }
            if violations(&shorter, fixture).is_empty() { at += size } else { schedule = shorter }
        }
        size /= 2;
    }
    schedule
}

/// Tries the schedules of so many seeds from `first` on, on two cores. Panics with the shortest schedule that fails.
fn try_seeds(first: u64, count: u64) {
    let failed = AtomicU64::new(u64::MAX);
    std::thread::scope(|scope| {
        for core in 0..CORES {
            let failed = &failed;
            scope.spawn(move || {
                let mut fixture = Fixture::new();
                let mut seeds = (first + core..first + count).step_by(CORES as usize);
                let is_wrong = |seed: &u64| !violations(&Schedule::of(*seed), &mut fixture).is_empty();
                let found = seeds.by_ref().take_while(|seed| *seed < failed.load(Ordering::Relaxed)).find(is_wrong);
                found.map(|seed| failed.fetch_min(seed, Ordering::Relaxed));
            });
        }
    });
    let seed = failed.into_inner();
    if seed != u64::MAX {
        let mut fixture = Fixture::new();
        let shortest = shrink(Schedule::of(seed), &mut fixture);
        let found = violations(&shortest, &mut fixture);
        panic!(
            "seed {seed}: {found:#?}\nreplay: PROCTOR_SEED={seed} cargo test -p proctor-service --lib simulator\n{shortest:#?}"
        );
    }
}

/// Tries schedules and prints all that fail, made short: what to begin with when many do.
fn survey(first: u64, count: u64) {
    let mut fixture = Fixture::new();
    for seed in first..first + count {
        let schedule = Schedule::of(seed);
        if !violations(&schedule, &mut fixture).is_empty() {
            let shortest = shrink(schedule, &mut fixture);
            println!("seed {seed}: {:?} {:?}\n    {:?}", violations(&shortest, &mut fixture), shortest.steps, shortest.shapes);
        }
    }
}

/// The schedules that a variable names: `PROCTOR_SEED` the first, `PROCTOR_SCHEDULES` how many; without that, the first alone.
#[expect(clippy::disallowed_methods, reason = "whoever replays a schedule names it by a variable")]
fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn try_as_asked(count: u64) {
    let (first, count) = match (number_in("PROCTOR_SEED"), number_in("PROCTOR_SCHEDULES")) {
        (first, Some(count)) => (first.unwrap_or(1), count),
        (Some(seed), None) => (seed, 1),
        (None, None) => (1, count),
    };
    if number_in("PROCTOR_SURVEY").is_some() { survey(first, count) } else { try_seeds(first, count) }
}

#[test]
fn no_order_of_events_loses_a_verdict() {
    try_as_asked(10_000);
}

/// `.ci/wide` tries them in a release build; a build for debugging tries a tenth.
#[test]
#[ignore = "wide tier"]
fn none_of_a_million_orders_of_events_loses_a_verdict() {
    try_as_asked(if cfg!(debug_assertions) { 100_000 } else { 1_000_000 });
}
