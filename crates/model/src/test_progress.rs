//! How far the tests of a running action are, as its output says it. Only for people: no verdict depends on it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::TestOutcome;
use proctor_wire::wire;

/// How many tests of a running action have ended, as far as its output says it.
#[wire(Copy, Default)]
pub struct TestProgress {
    /// The number of tests that are to run; null if the tool has not said it.
    pub expected: Option<u64>,
    /// The number of tests that have ended.
    pub ended: u64,
    /// The number of files whose tests have ended.
    pub files: u64,
    /// The percentage that is done; null if the tool does not print it.
    pub percent: Option<u8>,
}

/// A test that has ended, as the tool printed it while it ran.
#[wire]
pub struct EndedTest {
    /// The name as it was printed. It need not be the id that the tool's report has.
    pub name: String,
    pub outcome: TestOutcome,
}

impl TestProgress {
    /// Returns, for people, the percentage that is done, how many tests or files of tests have ended, and how many tests there are.
    pub fn words(&self) -> Option<String> {
        let tests = |count: u64| if count == 1 { "1 test".to_owned() } else { format!("{count} tests") };
        let ended = match (self.ended, self.expected, self.files) {
            (0, None, 0) => None,
            (0, None, 1) => Some("1 file of tests".to_owned()),
            (0, None, files) => Some(format!("{files} files of tests")),
            (0, Some(expected), _) => Some(tests(expected)),
            (ended, Some(expected), _) if ended <= expected => Some(format!("{ended} of {}", tests(expected))),
            (ended, _, _) => Some(tests(ended)),
        };
        // Beside the number of tests that have ended, the percentage says nothing more.
        let percent = self.percent.filter(|_| self.ended == 0).map(|percent| format!("{percent} %"));
        let words: Vec<String> = percent.into_iter().chain(ended).collect();
        (!words.is_empty()).then(|| words.join(" of "))
    }
}

// Counts of tests that nothing is judged by.

/// Counts beside [`TestCounts`](crate::TestCounts), for people. They never influence the result: the tool only prints some of them. A count
/// of zero is left out of reports.
#[wire(Copy, Default, open, schema)]
pub struct FurtherTestCounts {
    /// How many of the failed tests raised an error outside of the test itself: in set-up, tear-down or collection.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub errors: u64,
    /// How many of the skipped tests failed as expected (pytest's `xfailed`).
    #[serde(skip_serializing_if = "is_zero", default)]
    pub expected_failures: u64,
    /// How many of the passed tests were expected to fail (pytest's `xpassed`).
    #[serde(skip_serializing_if = "is_zero", default)]
    pub unexpected_passes: u64,
    /// How many of the skipped tests are only planned (`test.todo` of Jest, Vitest and `node --test`).
    #[serde(skip_serializing_if = "is_zero", default)]
    pub todo: u64,
    /// How many of the skipped tests are benchmarks, which were measured and not judged (`measured` of Rust's test harness).
    #[serde(skip_serializing_if = "is_zero", default)]
    pub measured: u64,
    /// How many tests were left out by a selection of the command (pytest's `deselected`, `filtered out` of Rust's test harness). No
    /// other count has them.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub deselected: u64,
    /// How many times a test was run again.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub reruns: u64,
    /// How many errors belong to no test (Vitest's unhandled errors).
    #[serde(skip_serializing_if = "is_zero", default)]
    pub unhandled_errors: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

// A mark of a test's source text, by which a test is known again after it was renamed.

/// The first 64 bits of the SHA-256 of a test's own source text, in which its name stands for nothing: 16 hexadecimal digits. Two tests
/// with one mark have the same text but for their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TestBody(pub u64);

/// The error for a text that is not 16 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no mark of a test's text: 16 hexadecimal digits")]
pub struct TestBodyError(pub String);

impl TryFrom<String> for TestBody {
    type Error = TestBodyError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let bits = u64::from_str_radix(&text, 16).ok().filter(|_| is_hex);
        bits.map(Self).ok_or(TestBodyError(text))
    }
}

impl From<TestBody> for String {
    fn from(body: TestBody) -> Self {
        body.to_string()
    }
}

impl fmt::Display for TestBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_sixteen_digits() {
        let body = TestBody(0x0012_ab00_0000_00ff);
        let text = serde_json::to_string(&body).unwrap();
        assert_eq!((text.as_str(), serde_json::from_str(&text).ok()), ("\"0012ab00000000ff\"", Some(body)));
        for wrong in ["", "12ab", "0012AB00000000FF", "0012ab00000000f", "+012ab00000000ff", "é012ab00000000f"] {
            assert!(TestBody::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
