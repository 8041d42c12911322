//! Times for people: in the time zone of this machine, with their age. Documents have RFC 3339 in UTC.

use jiff::tz::TimeZone;
use proctor_model::Timestamp;
use proctor_sandbox::process::clock;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The moment and the place in which a time is shown.
pub(crate) struct LocalTime {
    zone: TimeZone,
    now: Timestamp,
}

impl LocalTime {
    pub(crate) fn of_now() -> Self {
        Self { zone: TimeZone::system(), now: clock::now() }
    }

    /// Returns hour and minute of a time, with the date if it is not today's.
    pub(crate) fn short(&self, time: Timestamp) -> String {
        let (time, now) = (self.zoned(time), self.zoned(self.now));
        let format = match () {
            () if time.date() == now.date() => "%H:%M",
            () if time.year() == now.year() => "%d %b %H:%M",
            () => "%Y-%m-%d %H:%M",
        };
        time.strftime(format).to_string()
    }

    /// Returns a time and how long ago it was: `15:26, 3 min ago`.
    pub(crate) fn with_age(&self, time: Timestamp) -> String {
        let seconds = (self.now.as_millis() - time.as_millis()) / 1000;
        let age = match seconds {
            // The clock was set back since.
            ..0 => return self.short(time),
            0..MINUTE => format!("{seconds} s"),
            MINUTE..HOUR => format!("{} min", seconds / MINUTE),
            HOUR..DAY => format!("{} h", seconds / HOUR),
            DAY.. => format!("{} d", seconds / DAY),
        };
        format!("{}, {age} ago", self.short(time))
    }

    fn zoned(&self, time: Timestamp) -> jiff::Zoned {
        jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or(jiff::Timestamp::MAX).to_zoned(self.zone.clone())
    }
}

#[cfg(test)]
impl LocalTime {
    pub(crate) fn in_utc(now: Timestamp) -> Self {
        Self { zone: TimeZone::UTC, now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_that_of_the_place_and_has_a_date_only_on_another_day() {
        let at = |text: &str| Timestamp::try_from(text.to_owned()).expect("a time");
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let here = LocalTime { zone, now: at("2026-03-04T09:30:00Z") };
        for (time, words) in [
            ("2026-03-04T09:29:48Z", "11:29, 12 s ago"),
            ("2026-03-04T09:27:00Z", "11:27, 3 min ago"),
            ("2026-03-03T22:10:00Z", "00:10, 11 h ago"),
            ("2026-03-03T21:50:00Z", "03 Mar 23:50, 11 h ago"),
            ("2026-02-01T09:30:00Z", "01 Feb 11:30, 31 d ago"),
            ("2025-12-31T09:30:00Z", "2025-12-31 11:30, 63 d ago"),
            ("2026-03-04T09:31:00Z", "11:31"),
        ] {
            assert_eq!(here.with_age(at(time)), words);
        }
    }
}
