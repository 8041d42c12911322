//! Failing tests where a failure is expected: a valid RED of a cycle (the tests fail before the code is written), and a
//! failure that was declared beforehand (C06, R6).

use crate::verdict::classify::ActionFacts;
use crate::verdict::wording::AgentWord;
use proctor_model::{ActionJudgement, ActionPhase, Blocking, CategoryCode, DebtGeneration, Phase, TestOutcome};

/// The most tests that a message names.
const NAMED: usize = 5;

/// How the failed tests compare with the tests that were declared to fail.
enum Declared {
    /// No tests were declared by name, or there are no test results to compare.
    Nothing,
    /// All failed tests were declared, and each of them ran.
    All,
    /// The failure is not the declared one. The text says why, for example which other tests failed.
    More(String),
}

/// Marks failing tests as a valid RED: tests that fail as the RED phase demands. If the tests were declared by name, they do not
/// block. Nor do tests that are new since a started RED phase began; the run is no PASS all the same (R6). Whether every declared test failed is not decided here: it is
/// a criterion of the task.
pub(in crate::verdict) fn mark_red(outcome: &mut ActionJudgement, facts: &ActionFacts<'_>) {
    let classification = &mut outcome.classification;
    classification.is_expected_failure = Some(false);
    classification.is_tdd_red_phase = Some(false);
    // Prerequisites must succeed in any case, and cleanup actions prove nothing.
    if classification.code != CategoryCode::TestsFailed || facts.action.phase != ActionPhase::Step {
        return;
    }
    let is_red = facts.cycle_started && facts.phase == Phase::Red;
    match declared_red(facts) {
        Declared::Nothing if is_red => {
            classification.is_tdd_red_phase = Some(true);
            outcome.agent_action = AgentWord::Continue.action("The tests fail, as RED demands. Go on to the implementation.");
            match facts.history.no_new_red() {
                None => {
                    outcome.blocking = Blocking::Allowed;
                    outcome.debt = DebtGeneration::none("The failing tests are new since the RED phase began");
                }
                Some(why) => {
                    classification.reason = format!("{}; {why}", classification.reason);
                    outcome.debt.reason = Some(format!("RED does not excuse the failures: {why}"));
                }
            }
        }
        Declared::Nothing => {}
        Declared::All => {
            outcome.classification.is_tdd_red_phase = Some(is_red);
            outcome.classification.is_expected_failure = Some(true);
            outcome.blocking = Blocking::Allowed;
            outcome.debt = DebtGeneration::none("The failing tests were declared beforehand (`expectedFailingTests`)");
            outcome.agent_action = AgentWord::Continue.action("The tests fail as declared. Go on to the implementation.");
        }
        Declared::More(what) => {
            outcome.classification.reason = format!("{}; {what}", outcome.classification.reason);
            outcome.debt.reason = Some(format!("The failure is not the one that was declared: {what}"));
        }
    }
}

fn declared_red(facts: &ActionFacts<'_>) -> Declared {
    let Some(expected) = facts.expected_failure.filter(|expected| !expected.tests.is_empty()) else { return Declared::Nothing };
    let Some(results) = &facts.interpretation.test_results else { return Declared::Nothing };
    // A test whose fixture or hook raised an error did not run, so it did not fail as declared.
    let raised = facts.interpretation.cases.iter().filter(|case| case.status == TestOutcome::Error);
    let raised: Vec<&str> = raised.map(|case| case.title.as_str()).collect();
    if !raised.is_empty() {
        return Declared::More(format!("what raised outside of a test was not declared: {}", listed(&raised)));
    }
    let others = results.failures.iter().filter(|failure| !expected.declares(failure));
    let others: Vec<&str> = others.map(|failure| failure.test_name.as_str()).collect();
    if !others.is_empty() {
        return Declared::More(format!("not declared as failing: {}", listed(&others)));
    }
    // A failure without a name cannot have been declared.
    if results.failures.is_empty() || results.counts.failed != results.failures.len() as u64 {
        return Declared::More(format!("{} failed, and {} are named", results.counts.failed, results.failures.len()));
    }
    facts.history.no_new_failure().map_or(Declared::All, Declared::More)
}

/// Returns a list of names for a sentence: the first few names, and how many others there are.
pub(in crate::verdict) fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
