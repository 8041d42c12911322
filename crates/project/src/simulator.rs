//! A simulator of the store: a process that writes runs dies, loses the power or the disk at any operation, and another one opens the
//! store again. One number, the seed, decides everything.
//!
//! | part | real or a model |
//! |---|---|
//! | store, lock, keys, ledger, run directories, seal, recovery, verification | real, on a file system in memory |
//! | death of the process | a model: the operations after it change nothing; the locks of the process are freed |
//! | loss of power | a model: files that were not synced keep, lose or halve what was written since, and new names in directories that were not synced are lost or as before |
//! | errors of the disk (full, unreadable, read-only) | a model: one operation fails, and writes half of its bytes |
//! | the index (SQLite), how it is brought up to the ledger, its seal | real |
//! | … and what a loss of power leaves of it | a model: any part of the end of its log is lost; what SQLite synced is kept |

mod life;
mod power;

use std::sync::atomic::{AtomicU64, Ordering};

use life::{Life, lives_of, play};

/// How many threads try schedules at the same time.
const CORES: u64 = 2;

/// Returns the shortest schedule found that still fails: lives and runs are left out.
fn shrink(seed: u64, mut lives: Vec<Life>) -> Vec<Life> {
    let mut at = 0;
    while at < lives.len() {
        let mut shorter = lives.clone();
        if shorter[at].runs.len() > 1 {
            shorter[at].runs.pop();
        } else {
            shorter.remove(at);
        }
        if play(seed, &shorter).is_empty() { at += 1 } else { lives = shorter }
    }
    lives
}

fn try_seeds(first: u64, count: u64) {
    let failed = AtomicU64::new(u64::MAX);
    std::thread::scope(|scope| {
        for core in 0..CORES {
            let failed = &failed;
            scope.spawn(move || {
                let mut seeds = (first + core..first + count).step_by(CORES as usize);
                let is_wrong = |seed: &u64| !play(*seed, &lives_of(*seed)).is_empty();
                let found = seeds.by_ref().take_while(|seed| *seed < failed.load(Ordering::Relaxed)).find(is_wrong);
                found.map(|seed| failed.fetch_min(seed, Ordering::Relaxed));
            });
        }
    });
    let seed = failed.into_inner();
    if seed != u64::MAX {
        let shortest = shrink(seed, lives_of(seed));
        let found = play(seed, &shortest);
        panic!(
            "seed {seed}: {found:#?}\nreplay: PROCTOR_SEED={seed} cargo test -p proctor-project --lib simulator\n{shortest:#?}"
        );
    }
}

#[expect(clippy::disallowed_methods, reason = "whoever replays a schedule names it by a variable")]
fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn try_as_asked(count: u64) {
    if let Some(count) = number_in("PROCTOR_SURVEY") {
        // Prints all that fail: what to begin with when many do.
        let failing = (1..=count).map(|seed| (seed, play(seed, &lives_of(seed)))).filter(|(_, wrong)| !wrong.is_empty());
        failing.for_each(|(seed, wrong)| println!("seed {seed}: {wrong:?} {:?}", shrink(seed, lives_of(seed))));
    }
    match number_in("PROCTOR_SEED") {
        Some(seed) => try_seeds(seed, 1),
        None => try_seeds(1, number_in("PROCTOR_SCHEDULES").unwrap_or(count)),
    }
}

#[test]
fn what_was_sealed_stays_sealed_wherever_a_process_dies() {
    try_as_asked(1_000);
}

/// `.ci/wide` tries them in a release build; a build for debugging tries a tenth.
#[test]
#[ignore = "wide tier"]
fn what_was_sealed_stays_sealed_in_twenty_thousand_schedules() {
    try_as_asked(if cfg!(debug_assertions) { 2_000 } else { 20_000 });
}
