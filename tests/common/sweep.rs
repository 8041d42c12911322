//! How many cases of a sweep (a long series of similar cases) a test tries: a sample in the tests that everybody runs,
//! all of them in the long tier.
//!
//! A test of the long tier is marked `#[ignore = "long tier"]`. `python3 .ci/tests.py long` runs the long tier alone.

/// The part of a sweep that a test carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// One of this many cases, beginning with the first.
    OneIn(usize),
    All,
}

impl Extent {
    /// Returns the cases of the sweep that are to be tried, in their order.
    pub(crate) fn of<T>(self, cases: impl IntoIterator<Item = T>) -> Vec<T> {
        let step = match self {
            Self::OneIn(step) => step,
            Self::All => 1,
        };
        cases.into_iter().step_by(step).collect()
    }
}
