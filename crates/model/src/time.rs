//! Points in time and durations, and their written forms: RFC 3339 in UTC with milliseconds, and whole milliseconds
//! (G3).

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

/// A duration in whole milliseconds, the form in which reports have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "testing"), derive(schemars::JsonSchema))]
pub struct DurationMs(pub u64);

impl Timestamp {
    /// Returns the point in time `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns how long before `now` it was, in the largest unit that fits: `3 min ago`. What is still to come is `0 s ago`.
    pub fn age_at(self, now: Self) -> String {
        let seconds = (now.0 - self.0).max(0) / 1000;
        match seconds {
            0..60 => format!("{seconds} s ago"),
            60..3600 => format!("{} min ago", seconds / 60),
            3600..86_400 => format!("{} h ago", seconds / 3600),
            _ => format!("{} days ago", seconds / 86_400),
        }
    }

    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the time in the form used in run ids: `yyyymmddThhmmss.mmmZ`.
    pub fn compact(self) -> String {
        self.to_string().replace(['-', ':'], "")
    }

    pub fn plus(self, duration: DurationMs) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.0).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX);
        write!(formatter, "{time:.3}")
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> String {
        time.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = jiff::Error;
    fn try_from(text: String) -> Result<Self, jiff::Error> {
        text.parse::<jiff::Timestamp>().map(|time| Self(time.as_millisecond()))
    }
}

impl From<Duration> for DurationMs {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }
}

impl From<DurationMs> for Duration {
    fn from(duration: DurationMs) -> Self {
        Duration::from_millis(duration.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_utc_with_milliseconds_and_read_back() {
        let time = Timestamp::from_millis(1_772_616_600_120);
        assert_eq!(time.to_string(), "2026-03-04T09:30:00.120Z");
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::try_from(time.to_string()).expect("own text"), time);
        assert_eq!(time.compact(), "20260304T093000.120Z");
    }
}
