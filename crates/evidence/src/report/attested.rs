//! The part of a report that is attested in a separate file: which checks passed, and the isolation level. Programs
//! that do not know the report's format can read that file.

use crate::report::{ActionDisposition, ActionResult, ExecutionReportV2, redact_text};
use proctor_model::{IsolationLevel, ProjectId, ResultType, TestOutcome};

/// The most bytes of tests' names in an attestation. Names of tests that passed are left out first.
const MOST_NAMES: usize = 1 << 20;

/// The facts about a run that its attestation states. The attestation is a separate file beside the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttestedRun {
    pub project: ProjectId,
    /// The isolation level; `None` if the run's process died before it could record it.
    pub isolation: Option<IsolationLevel>,
    /// The checks that succeeded, for example `STEP.1 pytest`.
    pub passed: Vec<String>,
    /// The checks that did not succeed, but do not block the verdict.
    pub warned: Vec<String>,
    /// The checks that did not succeed and block the verdict. Checks that were not run are in none of the three lists.
    pub failed: Vec<String>,
    /// The tests of checks that the run carried out itself and whose tool named its tests.
    pub tests: Vec<AttestedTests>,
}

/// The tests of one check, by their full names. Tests that were skipped or expected to fail are in neither list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttestedTests {
    /// The check, as [`AttestedRun::passed`] names it.
    pub check: String,
    pub passed: Vec<String>,
    pub failed: Vec<String>,
}

/// Sorts the checks of a report into passed, warned and failed. A check that was not run is left out.
pub fn attested(report: &ExecutionReportV2) -> AttestedRun {
    let mut run = AttestedRun {
        project: report.project.id.clone(),
        isolation: report.isolation.as_ref().map(|isolation| isolation.level),
        passed: Vec::new(),
        warned: Vec::new(),
        failed: Vec::new(),
        tests: Vec::new(),
    };
    for check in &report.step_execution.results {
        let checks = match (check.status, check.blocking) {
            (None, _) => continue,
            (Some(ResultType::Success), _) => &mut run.passed,
            (Some(_), Some(false)) => &mut run.warned,
            (Some(_), Some(true) | None) => &mut run.failed,
        };
        checks.push(format!("{} {}", check.action_id, check.name));
    }
    run
}

impl AttestedRun {
    /// Adds the names of the tests that the run's checks carried out. The report has only their counts.
    #[must_use]
    pub fn with_tests(mut self, actions: &[ActionResult]) -> Self {
        let mut left = MOST_NAMES;
        for result in actions {
            let ActionDisposition::Executed(executed) = &result.disposition else { continue };
            let check = format!("{} {}", result.action.id, result.action.name);
            let is_listed = [&self.passed, &self.warned, &self.failed].into_iter().any(|checks| checks.contains(&check));
            let cases = &executed.interpretation.cases;
            if !is_listed || cases.is_empty() {
                continue;
            }
            let mut names = |is_wanted: fn(TestOutcome) -> bool| -> Vec<String> {
                let wanted = cases.iter().filter(|case| is_wanted(case.status));
                let names = wanted.map(|case| redact_text(&case.full_name).into_owned());
                names
                    .take_while(|name| {
                        let rest = left.checked_sub(check.len() + name.len());
                        left = rest.unwrap_or_default();
                        rest.is_some()
                    })
                    .collect()
            };
            let failed = names(|status| matches!(status, TestOutcome::Failed | TestOutcome::Error));
            let passed = names(|status| status == TestOutcome::Passed);
            self.tests.push(AttestedTests { check, passed, failed });
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use proctor_model::{Digest, TestCase};

    fn case(name: &str, status: TestOutcome) -> TestCase {
        TestCase {
            title: name.to_owned(),
            ancestor_titles: Vec::new(),
            full_name: name.to_owned(),
            report_name: None,
            test_file: None,
            status,
            expected_to_fail: false,
            duration_us: None,
            failure_messages: Vec::new(),
            body: None,
        }
    }

    #[test]
    fn tests_are_named_and_a_token_in_a_name_is_not() {
        let mut action = samples::failed_tests();
        let check = format!("{} {}", action.action.id, action.action.name);
        let token = format!("ghp_{}", Digest::of(b"x").hex());
        let ActionDisposition::Executed(executed) = &mut action.disposition else { panic!("it was carried out") };
        let cases = [
            case("good", TestOutcome::Passed),
            case("bad", TestOutcome::Failed),
            case("broken", TestOutcome::Error),
            case("left out", TestOutcome::Skipped),
            case(&token, TestOutcome::Passed),
            case(&"x".repeat(MOST_NAMES), TestOutcome::Passed),
        ];
        executed.interpretation.cases = cases.to_vec();
        let run = |failed: Vec<String>| AttestedRun {
            project: ProjectId::try_from("shop-00000001").unwrap(),
            isolation: None,
            passed: Vec::new(),
            warned: Vec::new(),
            failed,
            tests: Vec::new(),
        };
        let attested = run(vec![check.clone()]).with_tests(std::slice::from_ref(&action));
        let passed = vec!["good".to_owned(), "[redacted: github token]".to_owned()];
        let failed = vec!["bad".to_owned(), "broken".to_owned()];
        assert_eq!(attested.tests, [AttestedTests { check, passed, failed }], "a name that is too long ends the list");
        assert_eq!(run(Vec::new()).with_tests(&[action]).tests, [], "the report does not list the check");
    }
}
