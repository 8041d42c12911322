//! What earlier runs show about an action's tests, when the judgement of its result depends on it (C06, C07).

use std::collections::BTreeMap;

use crate::verdict::red::listed;
use proctor_model::{CategoryCode, RunId};

/// What earlier runs of the task show about an action's tests. Empty if no earlier run was looked up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestHistory {
    /// Which of the failed tests that were declared to fail have passed before.
    pub passed_before: PassedBefore,
    /// Tests that passed in an earlier run and that the tool did not find this time.
    pub vanished: Option<VanishedTests>,
}

/// Whether tests that failed as declared have passed in earlier runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassedBefore {
    /// The tests that are known to have passed, each with the newest run in which it passed.
    Known(BTreeMap<String, RunId>),
    /// A part of the history could not be read, so any of the failed tests may have passed before. The text names that
    /// part.
    Unknown(String),
}

/// Tests that passed in the last green run with stored test results, and that no longer exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VanishedTests {
    /// The last green run whose test results are stored.
    pub run: RunId,
    /// The names of the vanished tests as reports write them; at least one.
    pub tests: Vec<String>,
}

impl Default for PassedBefore {
    /// Returns the value for a result in which no failed test was expected to fail: nothing has to be looked up then, so no
    /// test is known to have passed before.
    fn default() -> Self {
        Self::Known(BTreeMap::new())
    }
}

impl TestHistory {
    /// Returns the category of the result if tests have vanished, with the explanation. A usage error becomes
    /// `TestsMissing`, and `NoTestsCollected` stays. Returns `None` for any other category. Without this function,
    /// deleting a failing test would turn the failure into a usage error, which is no debt (C07).
    pub(in crate::verdict) fn category(&self, said: CategoryCode) -> Option<(CategoryCode, String)> {
        let vanished = self.vanished.as_ref()?;
        let code = if said == CategoryCode::UsageError {
            CategoryCode::TestsMissing
        } else if said == CategoryCode::NoTestsCollected {
            said
        } else {
            return None;
        };
        let names: Vec<&str> = vanished.tests.iter().map(String::as_str).collect();
        Some((code, format!("What passed in {} is not there any more: {}; bring it back", vanished.run, listed(&names))))
    }

    /// Returns the names of the tests that passed before and that the tool did not find; empty if none vanished.
    pub(in crate::verdict) fn missing_tests(&self) -> Vec<String> {
        self.vanished.as_ref().map(|vanished| vanished.tests.clone()).unwrap_or_default()
    }

    /// Returns an explanation if tests that failed as declared have passed before, so that their failure is not new. If
    /// that is unknown, the explanation says so (C06).
    pub(in crate::verdict) fn no_new_failure(&self) -> Option<String> {
        let passed = match &self.passed_before {
            PassedBefore::Known(passed) => passed,
            PassedBefore::Unknown(why) => {
                return Some(format!("declared as failing, and whether they passed before is not known: {why}"));
            }
        };
        let (first, run) = passed.iter().next()?;
        let more = match passed.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more did"),
        };
        Some(format!("declared as failing, and passed before: `{first}` in {run}{more}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c06_a_test_history_that_could_not_be_read_is_no_new_failure_and_says_why() {
        assert_eq!(TestHistory::default().no_new_failure(), None, "nothing was looked for");
        let passed_before = PassedBefore::Unknown("the index cannot be read".to_owned());
        let history = TestHistory { passed_before, vanished: None };
        let said = "declared as failing, and whether they passed before is not known: the index cannot be read";
        assert_eq!(history.no_new_failure().as_deref(), Some(said));
    }
}
