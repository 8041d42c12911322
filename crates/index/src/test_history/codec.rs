//! The byte forms of a check's tests in the index: which tests there were, how they ended, and how long they took. Pure.
//!
//! Most tests pass in most runs, so only the other ones are listed, and a run in which nothing changed costs its durations: one to
//! three bytes for each test. A reader never trusts the bytes: whatever does not fit is `None`, and no byte makes it reserve memory.

use proctor_model::TestOutcome;

/// A test that did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotPassed {
    /// The place of the test in the run's list of tests, counted from 0.
    pub position: u32,
    pub outcome: TestOutcome,
    /// The number of the first line of its failure in the table of messages; `None` if there is none.
    pub message: Option<u32>,
}

/// The unit of the durations of a list. Milliseconds are shorter, and most tools report nothing finer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DurationUnit {
    Milliseconds = 1,
    Microseconds = 2,
}

/// Returns the bytes of a list of tests, given by their numbers. Neighbours have near numbers, so differences are stored.
pub(super) fn encode_roster(tests: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(tests.len() + 8);
    let mut before = 0;
    for test in tests {
        let number = i64::from(*test);
        write_number(&mut bytes, zigzag(number - before));
        before = number;
    }
    bytes
}

pub(super) fn decode_roster(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut rest = bytes;
    let (mut tests, mut before) = (Vec::new(), 0_i64);
    while !rest.is_empty() {
        before = before.checked_add(unzigzag(read_number(&mut rest)?))?;
        tests.push(u32::try_from(before).ok()?);
    }
    Some(tests)
}

/// Returns the place of a test in a list, counted from 0; `Some(None)` if the list does not have it, and `None` if it is damaged before
/// the test. The list is not kept.
pub(super) fn place_in_roster(bytes: &[u8], test: u32) -> Option<Option<u32>> {
    let mut rest = bytes;
    let (mut place, mut before) = (0_u32, 0_i64);
    while !rest.is_empty() {
        before = before.checked_add(unzigzag(read_number(&mut rest)?))?;
        if u32::try_from(before).ok()? == test {
            return Some(Some(place));
        }
        place = place.checked_add(1)?;
    }
    Some(None)
}

/// Returns the bytes of the tests that did not pass, which are sorted by their place.
pub(super) fn encode_not_passed(tests: &[NotPassed]) -> Vec<u8> {
    let (mut bytes, mut next) = (Vec::new(), 0);
    for test in tests {
        write_number(&mut bytes, u64::from(test.position - next));
        bytes.push(match test.outcome {
            TestOutcome::Passed => 0,
            TestOutcome::Failed => 1,
            TestOutcome::Error => 2,
            TestOutcome::Skipped => 3,
        });
        write_number(&mut bytes, test.message.map_or(0, |message| u64::from(message) + 1));
        next = test.position + 1;
    }
    bytes
}

pub(super) fn decode_not_passed(bytes: &[u8]) -> Option<Vec<NotPassed>> {
    let mut rest = bytes;
    let (mut tests, mut next) = (Vec::new(), 0_u32);
    while !rest.is_empty() {
        let position = next.checked_add(u32::try_from(read_number(&mut rest)?).ok()?)?;
        let (word, after) = rest.split_first()?;
        rest = after;
        let outcome = match word {
            0 => TestOutcome::Passed,
            1 => TestOutcome::Failed,
            2 => TestOutcome::Error,
            3 => TestOutcome::Skipped,
            _ => return None,
        };
        let message = read_number(&mut rest)?.checked_sub(1).map(u32::try_from).transpose().ok()?;
        tests.push(NotPassed { position, outcome, message });
        next = position.checked_add(1)?;
    }
    Some(tests)
}

/// Returns the bytes of durations in microseconds, in the order of the tests; empty if no duration is known.
pub(super) fn encode_durations(durations: &[Option<u64>]) -> Vec<u8> {
    if durations.iter().all(Option::is_none) {
        return Vec::new();
    }
    let unit = if durations.iter().flatten().all(|duration| duration % 1000 == 0) {
        DurationUnit::Milliseconds
    } else {
        DurationUnit::Microseconds
    };
    let mut bytes = Vec::with_capacity(durations.len() * 2 + 1);
    bytes.push(unit as u8);
    for duration in durations {
        write_number(&mut bytes, duration.map_or(0, |duration| unit.of_microseconds(duration).saturating_add(1)));
    }
    bytes
}

/// Returns `count` durations in microseconds; `None` stands for one that is not known.
pub(super) fn decode_durations(bytes: &[u8], count: usize) -> Option<Vec<Option<u64>>> {
    let Some((unit, mut rest)) = bytes.split_first() else { return Some(vec![None; count]) };
    let unit = DurationUnit::of_byte(*unit)?;
    // Each duration takes at least a byte.
    if count > rest.len() {
        return None;
    }
    let mut durations = Vec::with_capacity(count);
    for _ in 0..count {
        durations.push(read_number(&mut rest)?.checked_sub(1).map(|value| unit.to_microseconds(value)));
    }
    Some(durations)
}

impl DurationUnit {
    fn of_byte(byte: u8) -> Option<Self> {
        [Self::Milliseconds, Self::Microseconds].into_iter().find(|unit| *unit as u8 == byte)
    }

    fn of_microseconds(self, duration: u64) -> u64 {
        match self {
            Self::Milliseconds => duration / 1000,
            Self::Microseconds => duration,
        }
    }

    fn to_microseconds(self, value: u64) -> u64 {
        match self {
            Self::Milliseconds => value.saturating_mul(1000),
            Self::Microseconds => value,
        }
    }
}

/// Appends a number with seven bits in each byte, the lowest first; the highest bit says that another byte follows (LEB128).
fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has one bit only.
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Maps small numbers of either sign to small numbers without a sign.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_run_in_which_nothing_changed_costs_a_few_bytes_for_each_test() {
        let tests: Vec<u32> = (1..=1000).collect();
        let durations: Vec<Option<u64>> = (0..1000).map(|test| Some(test * 7 % 300 * 1000)).collect();
        assert_eq!(encode_roster(&tests).len(), 1000);
        assert!(encode_not_passed(&[]).is_empty());
        assert!(encode_durations(&durations).len() <= 2000, "{}", encode_durations(&durations).len());
        assert!(encode_durations(&[None; 1000]).is_empty());
    }

    #[test]
    fn bytes_that_proctor_does_not_write_are_refused() {
        let endless = [0xff_u8; 11];
        assert_eq!(decode_roster(&endless), None);
        assert_eq!(decode_roster(&[0x01]), None, "a number below 0");
        assert_eq!(decode_not_passed(&[0, 9, 0]), None, "no outcome has this number");
        assert_eq!(decode_not_passed(&[0, 1]), None, "cut off");
        assert_eq!(decode_durations(&[1, 0], 1_000_000_000), None, "more tests than bytes");
        assert_eq!(decode_durations(&[7, 0], 1), None, "no unit has this number");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            tests in prop::collection::vec(any::<u32>(), 0..50),
            durations in prop::collection::vec(prop::option::of(0_u64..1 << 60), 0..50),
            outcomes in prop::collection::vec((0_u32..5, 1_u8..4, prop::option::of(0_u32..1 << 30)), 0..50),
        ) {
            let roster = encode_roster(&tests);
            for test in tests.iter().copied().chain([7]) {
                let place = tests.iter().position(|other| *other == test).map(|place| place as u32);
                prop_assert_eq!(place_in_roster(&roster, test), Some(place));
            }
            prop_assert_eq!(decode_roster(&roster), Some(tests));
            prop_assert_eq!(decode_durations(&encode_durations(&durations), durations.len()), Some(durations));
            let mut next = 0;
            let listed: Vec<NotPassed> = outcomes.into_iter().map(|(gap, word, message)| {
                let outcome = [TestOutcome::Failed, TestOutcome::Error, TestOutcome::Skipped][usize::from(word) - 1];
                let position = next + gap;
                next = position + 1;
                NotPassed { position, outcome, message }
            }).collect();
            prop_assert_eq!(decode_not_passed(&encode_not_passed(&listed)), Some(listed));
        }

        #[test]
        fn no_bytes_make_a_reader_fail(bytes in prop::collection::vec(any::<u8>(), 0..64), count in 0_usize..64) {
            let _roster = decode_roster(&bytes);
            let _place = place_in_roster(&bytes, 1);
            let _outcomes = decode_not_passed(&bytes);
            let _durations = decode_durations(&bytes, count);
        }
    }
}
