//! How far the tests of a running action are, as its output says it. Only for people: no verdict depends on it.

use proctor_wire::wire;

use crate::TestOutcome;

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
