//! Waiting without sleeping "long enough": look often, give up late, say what was last seen (house style T5).

use std::fmt::Display;
use std::thread;
use std::time::{Duration, Instant};

/// What one look found: the value that was waited for, or a description of what was there instead.
pub(crate) trait Attempt {
    /// What is waited for.
    type Value;

    /// Returns the value, or what was seen instead of it.
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

/// Looks until `attempt` has the value; panics after `bound` with `what` was waited for and what was last seen.
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
