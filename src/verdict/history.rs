//! What the runs before this one show about an action's tests, where that decides what its result amounts to (C06, C07).

use std::collections::BTreeMap;

use crate::model::{CategoryCode, RunId};
use crate::verdict::red::listed;

/// What earlier runs of the task show about an action's tests. Whoever looked for nothing has an empty one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestHistory {
    /// Which tests of this result that are declared to fail passed before.
    pub passed_before: PassedBefore,
    /// Tests that were there and which the tool did not find.
    pub vanished: Option<VanishedTests>,
}

/// What is known of the tests that failed now, were declared to, and may have passed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassedBefore {
    /// Those that are known to have, each with the newest such run.
    Known(BTreeMap<String, RunId>),
    /// None is known to have, and part of the history could not be read, so each of them may have: unknown is never success. It says
    /// what could not be read.
    Unknown(String),
}

/// Tests that passed in the last green run that has a record of them, and are not there any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VanishedTests {
    /// That run.
    pub run: RunId,
    /// Their names, as reports have them; at least one.
    pub tests: Vec<String>,
}

impl Default for PassedBefore {
    /// Nothing failed that was declared to.
    fn default() -> Self {
        Self::Known(BTreeMap::new())
    }
}

impl TestHistory {
    /// Returns what a category is where tests have vanished, with the sentence for people: whoever deletes a test does not turn its
    /// failure into an error of the command, which is nobody's debt (C07).
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

    /// Returns the names of the tests that have vanished.
    pub(in crate::verdict) fn missing_tests(&self) -> Vec<String> {
        self.vanished.as_ref().map(|vanished| vanished.tests.clone()).unwrap_or_default()
    }

    /// Says which of the declared tests are no new failure, because they passed before, or why that is not known (C06).
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
