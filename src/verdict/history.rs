//! What the runs before this one show about an action's tests, where that decides what its result amounts to (C06, C07).

use std::collections::BTreeMap;

use crate::model::{CategoryCode, RunId};
use crate::verdict::red::listed;

/// What earlier runs of the task show about an action's tests. Whoever looked for nothing has an empty one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestHistory {
    /// Tests of this result that are declared to fail and passed before, each with the newest such run.
    pub passed_before: BTreeMap<String, RunId>,
    /// Tests that were there and which the tool did not find.
    pub vanished: Option<VanishedTests>,
}

/// Tests that passed in the last green run and are not there any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VanishedTests {
    /// That run.
    pub run: RunId,
    /// Their names, as reports have them; at least one.
    pub tests: Vec<String>,
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

    /// Says which of the declared tests are no new failure: they passed before (C06).
    pub(in crate::verdict) fn no_new_failure(&self) -> Option<String> {
        let (first, run) = self.passed_before.iter().next()?;
        let more = match self.passed_before.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more did"),
        };
        Some(format!("declared as failing, and passed before: `{first}` in {run}{more}"))
    }
}
