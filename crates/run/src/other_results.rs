//! Finds checks and tests with two results on one tree: with the same plan, environment, ignored inputs, caches and place, one
//! of the two results is chance. The verdict does not change, because nobody knows which one it is. Where ignored inputs,
//! caches or place differ, the note says that instead.

use std::collections::{BTreeMap, BTreeSet};

use crate::earlier_runs::CheckedRows;
use crate::test_history::{report_of, tests_of};
use proctor_evidence::Store;
use proctor_evidence::report::{
    ActionResult, ActionResultV2, DispositionV2, ExecutionReportV2, RunFacts, SnapshotV2, TestRecordV1,
};
use proctor_index::IndexedRun;
use proctor_model::{CategoryCode, CheckRecord, OverallResult, PlanNote, ResultType, TestCase, TestOutcome};
use proctor_project::{Evidence, NOT_HASHED, RunRequest};

/// At most this many earlier runs of the same tree are compared, the newest first. Their reports may be large.
const RUNS: usize = 3;
/// At most this many tests of a check are named.
const NAMED: usize = 5;

/// How a check or a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Passed,
    Failed,
}

/// Returns a note about the checks and tests that ended in another way in an earlier run of the same tree, plan and
/// environment. Only checks that both runs carried out are compared. If only runs with other ignored inputs, caches or another
/// place ended in another way, the note names what differs.
pub(crate) fn other_results(
    evidence: &Evidence,
    request: &RunRequest<'_>,
    facts: &RunFacts,
    runs: &CheckedRows<'_>,
) -> Option<PlanNote> {
    let is_same = |run: &IndexedRun| {
        run.status.counts()
            && run.tree_digest == Some(facts.tree.before)
            && run.plan_digest == Some(facts.plan_digest)
            && run.environment_digest == Some(facts.environment.digest)
    };
    // A run without a verdict shows nothing.
    facts.overall_result?;
    let mut explained = None;
    let by_chance = runs.matching(is_same).take(RUNS).find_map(|run| {
        if has_same_results(&facts.actions, &runs.checks_of(run)) {
            return None;
        }
        let report = report_of(evidence, request, run)?;
        let of_check = |action: &ActionResult| other_result(&evidence.store, request, &report, action);
        let differ: Vec<String> = facts.actions.iter().filter_map(of_check).collect();
        let then = report.tree.as_ref().and_then(|tree| tree.snapshot.as_ref());
        let other = other_conditions((facts.tree.snapshot.as_ref(), &facts.notes), (then, &report.notes));
        if let Some((subject, what)) = other.filter(|_| !differ.is_empty()) {
            let message = format!("{what} {}, which had another result on the same tree: {}", run.run_id, differ.join("; "));
            explained.get_or_insert(PlanNote { subject: subject.to_owned(), message });
            return None;
        }
        let verdict = match run.result {
            Some(OverallResult::Passed) => "passed",
            Some(OverallResult::Failed) | None => "failed",
        };
        let message = format!(
            "the same tree {verdict} in {} with the same plan and environment: {}; one of the two results is chance, so look \
             for what depends on time, order, the network, variables such as `TZ`, or the times and permissions of files, which the digest \
             does not name",
            run.run_id,
            differ.join("; ")
        );
        (!differ.is_empty()).then(|| PlanNote { subject: "flaky".to_owned(), message })
    });
    by_chance.or(explained)
}

/// Returns whether no check has tests that could have ended in another way, and each ended as in an earlier run, by what the ledger says of
/// that run. Then its report, which may be large, need not be read.
fn has_same_results(actions: &[ActionResult], then: &[CheckRecord]) -> bool {
    actions.iter().filter_map(|action| Some((action, action.executed()?))).all(|(action, executed)| {
        let classification = &executed.judgement.classification;
        let before = then.iter().find(|check| check.id == action.action.id);
        let is_same = |now: Ended| before.is_none_or(|before| before.succeeded == Some(now == Ended::Passed));
        executed.interpretation.cases.is_empty() && check_ended(classification.category, classification.code).is_none_or(is_same)
    })
}

/// Says how a check and its tests ended in an earlier run, if they ended in another way there.
fn other_result(store: &Store, request: &RunRequest<'_>, report: &ExecutionReportV2, action: &ActionResult) -> Option<String> {
    let name = &action.action.name;
    let executed = action.executed()?;
    let now = check_ended(executed.judgement.classification.category, executed.judgement.classification.code)?;
    let before = report.step_execution.results.iter().find(|result| result.action_id == action.action.id)?;
    let then = earlier_ended(before)?;
    let tests = tests_of(store, request, report, name).unwrap_or_default();
    let differ = other_tests(&executed.interpretation.cases, &tests);
    let of_tests = [(&differ.failed_now, "passed there and failed here"), (&differ.failed_then, "failed there and passed here")];
    let of_tests = of_tests.iter().filter(|(names, _)| !names.is_empty());
    let said: Vec<String> = of_tests.map(|(names, what)| format!("{} of `{name}` {what}", named(names))).collect();
    match (said.is_empty(), now == then, now) {
        (false, _, _) => Some(said.join(", ")),
        (true, true, _) => None,
        (true, false, Ended::Passed) => Some(format!("`{name}` failed there and passed here")),
        (true, false, Ended::Failed) => Some(format!("`{name}` passed there and failed here")),
    }
}

/// Returns what the checks of two runs of one tree did not have in common beside the tree, as the subject of a note and the
/// beginning of its message; `None` if they had the same. Each run is given by its snapshot and its notes.
fn other_conditions(
    (now, notes): (Option<&SnapshotV2>, &[PlanNote]),
    (then, notes_then): (Option<&SnapshotV2>, &[PlanNote]),
) -> Option<(&'static str, &'static str)> {
    if now.map(|now| now.tested) != then.map(|then| then.tested) {
        return Some(("place", "the checks did not run where they ran in"));
    }
    if now.map(|now| now.inputs) != then.map(|then| then.inputs) {
        return Some(("ignored inputs", "not what they were in"));
    }
    if now.map(|now| now.caches) != then.map(|then| then.caches) {
        return Some(("caches", "not the kind that they were in"));
    }
    // The digest of the environment lacks a toolchain that is not hashed.
    let is_unknown = notes.iter().chain(notes_then).any(|note| note.subject == NOT_HASHED);
    is_unknown.then_some(("environment", "a toolchain was not hashed in both runs, so it may not be what it was in"))
}

/// Returns how a check ended; `None` if a person, a newer save or the machine's state decided that.
fn check_ended(category: ResultType, code: CategoryCode) -> Option<Ended> {
    let decided_elsewhere =
        [CategoryCode::Stopped, CategoryCode::StatusLost, CategoryCode::NotStarted, CategoryCode::PortHeld].contains(&code);
    let ended = if category == ResultType::Success { Ended::Passed } else { Ended::Failed };
    (!decided_elsewhere).then_some(ended)
}

/// Returns how a check of an earlier run ended; `None` if that run did not carry it out.
fn earlier_ended(result: &ActionResultV2) -> Option<Ended> {
    let classification = result.classification.as_ref().filter(|_| result.disposition == DispositionV2::Executed)?;
    check_ended(classification.category, classification.code)
}

/// The tests with another outcome than in an earlier run.
#[derive(Debug, Default, PartialEq, Eq)]
struct OtherTests<'t> {
    failed_now: Vec<&'t str>,
    failed_then: Vec<&'t str>,
}

fn other_tests<'t>(now: &'t [TestCase], then: &'t [TestRecordV1]) -> OtherTests<'t> {
    let shown: BTreeMap<&str, &str> = now.iter().map(|test| (test.stable_name(), test.full_name.as_str())).collect();
    let now = ends(now.iter().map(|test| (test.stable_name(), test.status)));
    let then = ends(then.iter().map(|test| (test.stable_name(), test.status)));
    let differ = |ended: Ended| {
        let of_now = now.iter().filter(move |(_, now)| **now == ended);
        let then = &then;
        let other = of_now.filter(move |(name, _)| then.get(*name).is_some_and(|then| *then != ended));
        other.map(|(name, _)| shown.get(*name).copied().unwrap_or(name)).collect()
    };
    OtherTests { failed_now: differ(Ended::Failed), failed_then: differ(Ended::Passed) }
}

/// Returns how each test ended. A name that several tests have failed if one of them failed. Skipped tests are left out.
fn ends<'t>(tests: impl Iterator<Item = (&'t str, TestOutcome)>) -> BTreeMap<&'t str, Ended> {
    let (mut passed, mut failed) = (BTreeSet::new(), BTreeSet::new());
    for (name, status) in tests {
        match status {
            TestOutcome::Passed => passed.insert(name),
            TestOutcome::Failed | TestOutcome::Error => failed.insert(name),
            TestOutcome::Skipped => false,
        };
    }
    let passed = passed.into_iter().map(|name| (name, Ended::Passed));
    passed.chain(failed.into_iter().map(|name| (name, Ended::Failed))).collect()
}

fn named(names: &[&str]) -> String {
    let listed = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_history::tests::test;
    use proctor_evidence::report::{CachesV2, samples};
    use proctor_model::{ActionPhase, Blocking, CheckOutcome, Digest, TestedPlace, TreeDigest};

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
    fn tests_with_another_outcome_are_found_in_both_directions() {
        use TestOutcome::{Error, Failed, Passed, Skipped};
        let now =
            [case("a", Passed), case("b", Error), case("c", Skipped), case("d", Passed), case("d", Failed), case("new", Failed)];
        let then = [test("a", Failed), test("b", Passed), test("c", Passed), test("d", Failed)];
        assert_eq!(other_tests(&now, &then), OtherTests { failed_now: vec!["b"], failed_then: vec!["a"] });
    }

    #[test]
    fn two_runs_with_other_ignored_inputs_caches_or_another_place_show_no_chance() {
        let snapshot = |inputs: &str, caches| SnapshotV2 {
            tested: TestedPlace::Snapshot,
            reason: None,
            inputs: Some(TreeDigest(Digest::of(inputs.as_bytes()))),
            caches: Some(caches),
            written: Vec::new(),
            written_count: None,
            kept_count: None,
            writes_to_keep: Vec::new(),
        };
        let one = snapshot("one", CachesV2::Kept);
        let in_place = SnapshotV2 { tested: TestedPlace::InPlace, inputs: None, caches: None, ..one.clone() };
        let other = |now: &SnapshotV2, then: &SnapshotV2| {
            other_conditions((Some(now), &[]), (Some(then), &[])).map(|(subject, _)| subject)
        };
        assert_eq!(other(&one, &SnapshotV2 { written_count: Some(3), ..one.clone() }), None);
        assert_eq!(other(&one, &snapshot("two", CachesV2::Kept)), Some("ignored inputs"));
        assert_eq!(other(&one, &snapshot("one", CachesV2::Fresh)), Some("caches"));
        assert_eq!(other(&one, &in_place), Some("place"));
        assert_eq!(other_conditions((Some(&one), &[]), (None, &[])).map(|(subject, _)| subject), Some("place"));
        let not_hashed = [PlanNote { subject: NOT_HASHED.to_owned(), message: String::new() }];
        for (now, then) in [(&not_hashed[..], &[][..]), (&[], &not_hashed)] {
            let other = other_conditions((Some(&one), now), (Some(&one), then));
            assert_eq!(other.map(|(subject, _)| subject), Some("environment"));
        }
    }

    #[test]
    fn a_report_is_read_only_for_tests_or_where_a_check_ended_in_another_way() {
        let green = [samples::succeeded(ActionPhase::Step, 1)];
        let then = |succeeded| {
            let (id, name) = (green[0].action.id.clone(), green[0].action.name.clone());
            [CheckRecord { id, name, outcome: CheckOutcome::CarriedOut { blocking: Blocking::Allowed }, succeeded }]
        };
        assert!(has_same_results(&green, &then(Some(true))));
        assert!(has_same_results(&green, &[]), "no such check then");
        assert!(!has_same_results(&green, &then(Some(false))));
        assert!(!has_same_results(&green, &then(None)), "a line of an earlier version");
        assert!(!has_same_results(&[samples::failed_tests()], &[]), "it has tests");
    }

    #[test]
    fn a_result_that_the_check_did_not_decide_is_not_compared() {
        assert_eq!(check_ended(ResultType::ExecutionError, CategoryCode::Stopped), None);
        assert_eq!(check_ended(ResultType::Timeout, CategoryCode::TimedOut), Some(Ended::Failed));
        assert_eq!(check_ended(ResultType::Success, CategoryCode::TestsPassed), Some(Ended::Passed));
        assert_eq!(check_ended(ResultType::TestFailure, CategoryCode::TestsFailed), Some(Ended::Failed));
    }
}
