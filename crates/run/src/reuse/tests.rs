//! Tests when an earlier result is used for a check. The rows of tables name every reason to refuse it.

use std::collections::BTreeMap;

use super::*;
use proctor_evidence::report::{ActionDisposition, ActionOutcomeV2, ActionResult, SkipReason, action_result};
use proctor_model::{AgentAction, CategoryCode, Classification, DebtGeneration, DurationMs, OverallStatus, ResultType};

/// No toolchain is known.
static NONE_KNOWN: BTreeMap<String, Digest> = BTreeMap::new();
const CHECK: (&str, &str) = ("STEP.1", "check");

/// A change to an entry that could otherwise be reused.
type Change = fn(&mut ActionResultV2);

fn environment() -> Digest {
    Digest::of(b"environment")
}

fn tree() -> TreeDigest {
    TreeDigest(Digest::of(b"tree"))
}

/// Returns an entry as written by a run that carried out the check.
fn carried_out() -> ActionResultV2 {
    let action = proctor_model::testing::generic_action(proctor_model::ActionPhase::Step);
    let skipped = action_result(&ActionResult::new(action, ActionDisposition::Skipped(SkipReason::Stopped)));
    ActionResultV2 {
        skip_reason: None,
        disposition: DispositionV2::Executed,
        status: Some(ResultType::ExecutionError),
        blocking: Some(true),
        duration: Some(DurationMs(7)),
        result: Some(ActionOutcomeV2 { exit_code: Some(1), ..ActionOutcomeV2::default() }),
        classification: Some(Classification::plain(
            ResultType::ExecutionError,
            CategoryCode::UnexpectedExit,
            "exit 1".to_owned(),
        )),
        debt_generation: Some(DebtGeneration::none("nothing")),
        agent_action: Some(AgentAction { required: true, action: "FIX".to_owned(), message: "mend it".to_owned() }),
        ..skipped
    }
}

/// Returns a report as written by a run with one check.
fn report() -> ExecutionReportV2 {
    let text = include_str!("../../../evidence/src/report/golden/execution-report.json");
    let mut report = proctor_evidence::report::parse(text.as_bytes()).expect("the golden report is ours");
    report.execution_summary.overall_status = OverallStatus::Failed;
    report.step_execution.results = vec![carried_out()];
    let tree_of_report = report.tree.as_mut().expect("it has one");
    (tree_of_report.before, tree_of_report.after) = (tree(), Some(tree()));
    report.environment.as_mut().expect("it has one").digest = environment();
    report
}

fn wanted() -> ReuseCriteria<'static> {
    ReuseCriteria { check: CHECK, environment: environment(), toolchains: &NONE_KNOWN, tree: Some(tree()), now: tree() }
}

fn refusal(change: impl FnOnce(&mut ExecutionReportV2)) -> Option<ReuseRefusal> {
    let mut report = report();
    change(&mut report);
    entry_to_reuse(&report, &wanted()).err()
}

fn refusal_of_entry(change: impl FnOnce(&mut ActionResultV2)) -> Option<ReuseRefusal> {
    refusal(|report| change(&mut report.step_execution.results[0]))
}

#[test]
fn whoever_asks_for_a_run_gets_one_unless_the_setting_says_always() {
    use RunPurpose::{AnAttempt, SomethingParticular, TheTree};
    use TriggerKind::{Moved, Request, Save, Start, Wait};
    for (asked, trigger, watch, always) in [
        (TheTree, Start, true, true),
        (TheTree, Save, true, true),
        (TheTree, Wait, true, true),
        (AnAttempt, Wait, false, false),
        (TheTree, Request, false, true),
        (TheTree, Moved, false, true),
        (SomethingParticular, Request, false, false),
        (SomethingParticular, Save, false, false),
        (AnAttempt, Save, false, false),
        (AnAttempt, Start, false, false),
        (AnAttempt, Request, false, false),
    ] {
        let reuse_context = ReuseContext { trigger, asked };
        for reuse in [Reuse::Off, Reuse::Own] {
            assert!(!may_reuse(reuse, reuse_context), "{reuse_context:?}");
        }
        assert_eq!(
            (may_reuse(Reuse::Watch, reuse_context), may_reuse(Reuse::Always, reuse_context)),
            (watch, always),
            "{reuse_context:?}"
        );
    }
}

#[test]
fn an_earlier_verdict_stands_for_the_check_whatever_it_says() {
    assert_eq!(refusal(|_| {}), None);
    let report = report();
    let entry = entry_to_reuse(&report, &wanted()).expect("nothing speaks against it");
    let outcome = judgement_from_entry(entry).expect("it has one");
    assert_eq!((outcome.classification.category, outcome.blocking), (ResultType::ExecutionError, Blocking::Blocks));
    let mut passed = self::report();
    passed.step_execution.results[0].blocking = Some(false);
    let entry = entry_to_reuse(&passed, &wanted()).expect("nothing speaks against it");
    assert_eq!(judgement_from_entry(entry).map(|outcome| outcome.blocking), Some(Blocking::Allowed));
}

#[test]
fn a_report_without_a_verdict_stands_for_nothing() {
    for status in [OverallStatus::Interrupted, OverallStatus::Moved, OverallStatus::Superseded] {
        assert_eq!(
            refusal(|report| report.execution_summary.overall_status = status),
            Some(ReuseRefusal::NoVerdict),
            "{status:?}"
        );
    }
    assert_eq!(refusal(|report| report.execution_summary.overall_status = OverallStatus::PartialSuccess), None);
}

#[test]
fn another_tree_or_environment_is_refused_and_so_is_one_that_is_not_known() {
    let other = TreeDigest(Digest::of(b"other"));
    assert_eq!(refusal(|report| report.tree.as_mut().unwrap().before = other), Some(ReuseRefusal::OtherTree));
    assert_eq!(refusal(|report| report.tree.as_mut().unwrap().after = Some(other)), Some(ReuseRefusal::OtherTree));
    assert_eq!(refusal(|report| report.tree.as_mut().unwrap().after = None), Some(ReuseRefusal::OtherTree));
    assert_eq!(refusal(|report| report.tree = None), Some(ReuseRefusal::OtherTree));
    let changed = |report: &mut ExecutionReportV2| report.environment.as_mut().unwrap().digest = Digest::of(b"other");
    assert_eq!(refusal(changed), Some(ReuseRefusal::OtherEnvironment));
    assert_eq!(refusal(|report| report.environment = None), Some(ReuseRefusal::OtherEnvironment));
    let mut of_other_tree = report();
    of_other_tree.tree = None;
    let by_files = ReuseCriteria { tree: None, ..wanted() };
    assert!(entry_to_reuse(&of_other_tree, &by_files).is_ok(), "a check with `paths` does not depend on the rest of the tree");
}

#[test]
fn only_what_was_carried_out_and_ended_by_itself_is_reused() {
    let rows: [(&str, Change, ReuseRefusal); 11] = [
        ("another id", |entry| entry.action_id = proctor_model::ActionId::numbered("STEP", 2), ReuseRefusal::NoSuchCheck),
        ("another name", |entry| entry.name = "other".to_owned(), ReuseRefusal::NoSuchCheck),
        ("skipped", |entry| entry.disposition = DispositionV2::Skipped, ReuseRefusal::NotCarriedOut),
        ("reused itself", |entry| entry.disposition = DispositionV2::Reused, ReuseRefusal::NotCarriedOut),
        ("invalid", |entry| entry.disposition = DispositionV2::Invalid, ReuseRefusal::NotCarriedOut),
        ("no exit code", |entry| entry.result.as_mut().unwrap().exit_code = None, ReuseRefusal::NotSettled),
        ("output cut off", |entry| entry.result.as_mut().unwrap().pipes_left_open = Some(true), ReuseRefusal::NotSettled),
        ("no result", |entry| entry.result = None, ReuseRefusal::NotSettled),
        ("no classification", |entry| entry.classification = None, ReuseRefusal::NotSettled),
        ("a status that contradicts it", |entry| entry.status = Some(ResultType::Success), ReuseRefusal::NotSettled),
        ("blocking is not known", |entry| entry.blocking = None, ReuseRefusal::NotSettled),
    ];
    for (what, change, expected) in rows {
        assert_eq!(refusal_of_entry(change), Some(expected), "{what}");
    }
}

#[test]
fn results_that_depend_on_more_than_the_inputs_are_not_reused() {
    use CategoryCode::{CollectionError, ConftestError, NotStarted, Signalled, Stopped, TimedOut, ToolNotFound};
    for code in [CollectionError, ConftestError, ToolNotFound, NotStarted, TimedOut, Signalled, Stopped] {
        let refused = refusal_of_entry(|entry| entry.classification.as_mut().unwrap().code = code);
        assert_eq!(refused, Some(ReuseRefusal::NotSettled), "{code:?}");
    }
    use CategoryCode::{Clean, ExpectedExit, Findings, TestsFailed, TestsPassed};
    for code in [TestsPassed, TestsFailed, Findings, Clean, ExpectedExit] {
        assert_eq!(refusal_of_entry(|entry| entry.classification.as_mut().unwrap().code = code), None, "{code:?}");
    }
}
