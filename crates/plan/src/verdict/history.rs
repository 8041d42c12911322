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
    /// Which of the tests that fail in a started RED phase failed when the phase began (R6).
    pub red: RedBeginning,
}

/// What is known about the failing tests of a started RED phase at the time when the phase began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RedBeginning {
    /// The result is none of a started RED phase, so nothing was looked up.
    #[default]
    NotAsked,
    /// None of the tests failed: each passed, was not there, or is declared in `tdd.expected_failing`.
    NoneFailed,
    /// `tests` had failed already, in the run `run`.
    Failed { run: RunId, tests: Vec<String> },
    /// The run before the phase could not be read, so any of the tests may have failed in it. The text says why.
    Unknown(String),
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

    /// Returns why the failures of a RED phase are not what the phase is for; `None` if they are (R6).
    pub(in crate::verdict) fn no_new_red(&self) -> Option<String> {
        match &self.red {
            RedBeginning::NoneFailed => None,
            RedBeginning::NotAsked => Some("not every failing test is named, so whether they are new is not known".to_owned()),
            RedBeginning::Failed { run, tests } => {
                let names: Vec<&str> = tests.iter().map(String::as_str).collect();
                Some(format!("failed before the RED phase began, in {run}: {}", listed(&names)))
            }
            RedBeginning::Unknown(why) => Some(format!("whether they failed before the RED phase began is not known: {why}")),
        }
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
        let history = TestHistory { passed_before, ..TestHistory::default() };
        let said = "declared as failing, and whether they passed before is not known: the index cannot be read";
        assert_eq!(history.no_new_failure().as_deref(), Some(said));
    }
}
