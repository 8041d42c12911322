//! Durations in settings and arguments: `500ms`, `90s`, `5m`, `2h`, or a whole number of seconds.

use std::time::Duration;

/// The units of a duration with their length in milliseconds, the longest first.
const UNITS: &[(&str, u64)] = &[("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a duration: a whole number and one of the units `ms`, `s`, `m`, `h`. Returns `None` for any other text, or if the
/// number is too large.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*millis).map(Duration::from_millis)
}

/// Returns the text of a duration for `proctor.toml`, in the longest unit that is exact to the millisecond.
pub fn duration_text(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return "0s".to_owned();
    }
    let (unit, length) = UNITS.iter().find(|(_, length)| millis.is_multiple_of(*length)).expect("one millisecond divides all");
    format!("{}{unit}", millis / length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn a_duration_needs_a_number_and_a_unit() {
        for (text, millis) in [("5m", 300_000), ("90s", 90_000), ("500ms", 500), ("2h", 7_200_000), ("0s", 0)] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for bad in ["", "5", "m", "5 m", "-5s", "1.5s", "5min", "99999999999999999999s", "99999999999999999h", "5M"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(millis in any::<u32>()) {
            let duration = Duration::from_millis(u64::from(millis));
            assert_eq!(parse_duration(&duration_text(duration)), Some(duration));
        }
    }
}
