//! Waits for a condition by checking it often, instead of sleeping "long enough". If it never holds, the last observation is reported
//! (house style T5).

use std::fmt::Display;
use std::thread;
use std::time::{Duration, Instant};

/// The result of one check: the value that is waited for, or a description of what was seen instead.
pub(crate) trait Attempt {
    type Value;

    /// Returns the value, or a description of what was seen instead.
    fn seen(self) -> Result<Self::Value, String>;
}

impl<T> Attempt for Option<T> {
    type Value = T;
    fn seen(self) -> Result<T, String> {
        self.ok_or_else(|| "nothing".to_owned())
    }
}

impl<T, E: Display> Attempt for Result<T, E> {
    type Value = T;
    fn seen(self) -> Result<T, String> {
        self.map_err(|instead| instead.to_string())
    }
}

/// Calls `attempt` until it has the value. Panics after `bound`, with `what` was waited for and what was seen last.
#[track_caller]
pub(crate) fn poll<A: Attempt>(bound: Duration, what: &str, mut attempt: impl FnMut() -> A) -> A::Value {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        let late = start.elapsed() >= bound;
        match attempt().seen() {
            Ok(value) => return value,
            Err(instead) if late => panic!("waited {bound:?} for {what}; last seen: {instead}"),
            Err(_) => thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
