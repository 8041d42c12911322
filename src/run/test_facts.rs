//! What the router is told of one TEST action, whether this run carried it out or an earlier one did (R1, R2, R4).

use std::collections::BTreeSet;

use crate::model::{
    ActionEnd, Classification, Digest, ExitCodeSource, IdentityWriter, ResultType, TestFailure, TestResults, ToolClass,
};
use crate::report::{ActionDisposition, ActionFacts, ExecutedFacts};

/// What the router is told of one TEST action.
pub(crate) struct TestFacts<'a> {
    pub(crate) classification: &'a Classification,
    pub(crate) exit_code: Option<i32>,
    pub(crate) exit_code_source: ExitCodeSource,
    pub(crate) missing_modules: &'a [String],
    pub(crate) only_missing_modules: bool,
    results: Option<&'a TestResults>,
}

impl<'a> TestFacts<'a> {
    /// Returns what there is to say of an action; none where it is no TEST action, or has no result.
    pub(crate) fn of(facts: &'a ActionFacts) -> Option<Self> {
        if facts.action.class != ToolClass::Test {
            return None;
        }
        match &facts.disposition {
            ActionDisposition::Executed(executed) => {
                let (exit_code, exit_code_source) = raw_code(executed);
                Some(Self {
                    classification: &executed.classification,
                    exit_code,
                    exit_code_source,
                    missing_modules: &executed.interpretation.missing_modules,
                    only_missing_modules: executed.interpretation.only_missing_modules,
                    results: executed.interpretation.test_results.as_ref(),
                })
            }
            // Only what ended by itself is reused, and nothing that could not be collected.
            ActionDisposition::Reused(reused) => Some(Self {
                classification: reused.entry.classification.as_ref()?,
                exit_code: reused.entry.result.as_ref()?.exit_code,
                exit_code_source: ExitCodeSource::Process,
                missing_modules: &[],
                only_missing_modules: false,
                results: reused.entry.result.as_ref()?.test_results.as_ref(),
            }),
            ActionDisposition::Skipped(_) => None,
        }
    }

    /// Returns whether the tests passed.
    pub(crate) fn passed(&self) -> bool {
        self.classification.category == ResultType::Success
    }

    /// Two attempts failed alike when the same tests failed for the same category (R4).
    pub(crate) fn failing_set(&self) -> Digest {
        let failures: &[TestFailure] = self.results.map(|results| results.failures.as_slice()).unwrap_or_default();
        let names: BTreeSet<_> = failures.iter().map(|failure| failure.test_name.as_str()).collect();
        let category = serde_json::to_string(&self.classification.code).expect("a unit variant is a word");
        let writer = IdentityWriter::new("proctor-failing-set-v2").part("category", category.as_bytes());
        writer.list("test", names.iter().map(|name| name.as_bytes())).digest()
    }
}

fn raw_code(facts: &ExecutedFacts) -> (Option<i32>, ExitCodeSource) {
    match &facts.ended.end {
        ActionEnd::Exited { code } => (Some(*code), ExitCodeSource::Process),
        ActionEnd::Signalled { .. } | ActionEnd::Stopped { .. } => (None, ExitCodeSource::Signal),
        ActionEnd::TimedOut { .. } => (None, ExitCodeSource::Timeout),
        ActionEnd::NotStarted(_) => (None, ExitCodeSource::NotStarted),
        ActionEnd::Lost { .. } => (None, ExitCodeSource::Lost),
    }
}
