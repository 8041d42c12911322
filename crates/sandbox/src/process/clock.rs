//! The only module that reads clocks.
//!
//! All other code takes `now` as an argument (house style S2). Wall-clock times are for people and records; durations and
//! deadlines come from a clock that never jumps.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use proctor_model::Timestamp;

/// A point on `CLOCK_MONOTONIC`, which never jumps and does not advance while the machine sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monotonic(Instant);

/// Returns the time of day in UTC. The time may jump when the machine's clock is set, so durations are measured with
/// [`monotonic`] instead.
pub fn now() -> Timestamp {
    #[cfg(feature = "test-fakes")]
    return stepped::step(read());
    #[cfg(not(feature = "test-fakes"))]
    read()
}

fn read() -> Timestamp {
    let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
    };
    Timestamp::from_millis(millis)
}

/// Returns the time of the clock from which the kernel takes the times of files. A file that is changed after this call
/// has a ctime that is equal or later. That does not hold for [`now`], which can be some milliseconds ahead of this
/// clock.
pub fn file_time() -> Timestamp {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_REALTIME_COARSE);
    let millis = time.map(|time| time.tv_sec() * 1_000 + time.tv_nsec() / 1_000_000).unwrap_or_default();
    Timestamp::from_millis(millis)
}

/// Returns the present point of the monotonic clock.
pub fn monotonic() -> Monotonic {
    Monotonic(Instant::now())
}

/// Returns the monotonic clock in microseconds, as systemd counts it; 0 if the clock cannot be read.
pub fn monotonic_microseconds() -> u64 {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    let micros = time.map(|time| time.tv_sec() * 1_000_000 + time.tv_nsec() / 1_000).unwrap_or_default();
    u64::try_from(micros).unwrap_or_default()
}

impl Monotonic {
    /// Returns the point `duration` later; `None` if the clock cannot represent it.
    pub fn plus(self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }

    /// Returns how long this point is after `earlier`; zero if this point is not after `earlier`.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }
}

/// A wall clock that is set back while the program runs, for tests.
#[cfg(feature = "test-fakes")]
pub mod stepped {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    use proctor_model::Timestamp;

    static BACK: OnceLock<(u32, i64)> = OnceLock::new();
    static READINGS: AtomicU32 = AtomicU32::new(0);

    /// Sets the clock back by `millis` milliseconds: from call number `at_reading` of [`super::now`] on (counted from
    /// 1), every returned time is that much earlier.
    pub fn set_back(at_reading: u32, millis: i64) {
        let _set_already = BACK.set((at_reading, millis));
    }

    pub(super) fn step(now: Timestamp) -> Timestamp {
        let Some((at_reading, millis)) = BACK.get() else { return now };
        let reading = READINGS.fetch_add(1, Ordering::Relaxed) + 1;
        if reading < *at_reading { now } else { Timestamp::from_millis(now.as_millis() - millis) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_does_not_go_back_and_far_points_are_none() {
        let first = monotonic();
        let second = monotonic();
        assert!(second >= first);
        assert_eq!(first.since(first.plus(Duration::from_secs(1)).expect("a near point")), Duration::ZERO);
        assert_eq!(first.plus(Duration::MAX), None);
    }

    #[test]
    fn the_wall_clock_is_after_this_program_was_written() {
        assert!(now() > Timestamp::from_millis(1_767_225_600_000));
    }
}
