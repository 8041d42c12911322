//! Counts of tests that nothing is judged by.

use proctor_wire::wire;

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
