//! Tests that failed and passed in one run, because their runner tries failed tests again.

use crate::test_run::{headline, listed};
use proctor_model::{CategoryCode, Interpretation, TestFailure, TestOutcome};

/// The tests that passed only when they were tried again.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Retried {
    pub(super) number: u64,
    /// The failures of these tests before they passed, as far as the runner tells them.
    pub(super) failures: Vec<TestFailure>,
}

impl Retried {
    /// Judges a run once more. A test that failed and passed on one content has proved nothing, as for `proctor gate`: it counts as
    /// failed, unless `accepts` says that the check has `retries`, by which the last attempt counts.
    pub(super) fn judge(self, accepts: bool, mut read: Interpretation) -> Interpretation {
        let Self { number, mut failures } = self;
        let Some(results) = read.test_results.as_mut().filter(|_| number > 0) else { return read };
        if accepts {
            read.reason = read.reason.replacen(" passed", &format!(" passed ({number} of them flaky)"), 1);
            read.warnings.push(format!("{number} test(s) passed only when they were tried again"));
            return read;
        }
        for failure in failures.iter_mut().filter(|failure| failure.stack.is_none()) {
            "it failed before it passed".clone_into(&mut failure.error);
        }
        results.counts.passed = results.counts.passed.saturating_sub(number);
        results.counts.failed += number;
        for case in &mut read.cases {
            let is_same = |failure: &TestFailure| failure.test_name == case.full_name && failure.test_file == case.test_file;
            if failures.iter().any(is_same) {
                case.status = TestOutcome::Failed;
            }
        }
        if read.category == CategoryCode::TestsPassed {
            read.category = CategoryCode::TestsFailed;
            read.reason = format!(
                "{number} of {} tests failed, and passed only when they were tried again: {}; mend them, or accept this with \
                 `retries = 1` in the check",
                results.counts.passed + results.counts.failed,
                listed(failures.iter().map(headline), number)
            );
        }
        results.failures.extend(failures);
        read
    }
}
