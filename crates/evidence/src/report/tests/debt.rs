//! Tests the debt file: its bytes and keys, the grouping into items, their ids, and where they go.

use std::collections::BTreeSet;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;
use serde_json::{Value, json};

use crate::report::samples::{
    edit, failed_prerequisite, failed_tests, mixed_run, refused_request, reused_tests, run_of, seen_file, succeeded,
    timed_out_types, warned_lint,
};
use crate::report::tests::judged::judged_run;
use crate::report::tests::seed_keys::collect_paths;
use crate::report::tests::unfilled::UNFILLED_DEBT_KEYS;
use crate::report::{
    ActionResult, DEBT_FILE, DebtItemV1, ExecutionReportV2, RunFacts, TechnicalDebtV1, build, build_debt, parse_debt,
    seal_debt_hash, to_bytes, with_debt,
};
use proctor_model::{
    ActionPhase, Blocking, CategoryCode, Classification, DebtCategory, DebtDestination, DebtGeneration, DebtId, DebtOrigin,
    DebtRouting, DebtSettings, Digest, EvidenceFile, EvidenceKind, LikelyFailure, OverallStatus, ResultType, Severity, TaskId,
    WorkType,
};

/// The sealed debt file of `mixed_run`. Other programs read this format, so check every changed line.
const GOLDEN: &str = include_str!("../golden/technical-debt-data.json");

/// Every key of the original debt item (facts, 2.2), and the keys that the design document seed 004 adds to it.
const KEYS: &str = "
taskId testExecutionId generatedAt generatedBy agentInvolved
debtItems[].debtId debtItems[].title debtItems[].description
debtItems[].classification.category debtItems[].classification.severity debtItems[].classification.priority
debtItems[].classification.estimatedEffort
debtItems[].routing.destination debtItems[].routing.reason debtItems[].routing.sprintTaskId
debtItems[].routing.inventoryCorrelationId
debtItems[].testFailure.testFile debtItems[].testFailure.testName debtItems[].testFailure.errorMessage
debtItems[].testFailure.errorStack debtItems[].testFailure.expectedBehavior debtItems[].testFailure.actualBehavior
debtItems[].evidence.files debtItems[].evidence.relevantLogLines debtItems[].evidence.screenshots
debtItems[].implementationGuidance.files debtItems[].implementationGuidance.steps
debtItems[].implementationGuidance.dependencies debtItems[].implementationGuidance.acceptanceCriteria
debtItems[].agentInstructions.markdownFormat debtItems[].agentInstructions.taskFileUpdate
debtItems[].agentInstructions.inventoryUpdate debtItems[].agentInstructions.prohibitedActions
debtItems[].errorDetails.executionResult
debtItems[].errorDetails.originalError.type debtItems[].errorDetails.originalError.message
debtItems[].errorDetails.originalError.expected debtItems[].errorDetails.originalError.received
debtItems[].errorDetails.originalError.file debtItems[].errorDetails.originalError.line
debtItems[].errorDetails.contextualInformation.prerequisitesMet debtItems[].errorDetails.contextualInformation.serverRunning
debtItems[].errorDetails.contextualInformation.previousStepsSucceeded
debtItems[].errorDetails.contextualInformation.relatedFailures
debtItems[].errorDetails.diagnostics.httpTrace.request debtItems[].errorDetails.diagnostics.httpTrace.responseStatus
debtItems[].errorDetails.diagnostics.httpTrace.responseBody debtItems[].errorDetails.diagnostics.filesChecked
routingSummary.totalDebtItems routingSummary.routedToSprint routingSummary.routedToInventory
routingSummary.sprintCapacity.currentTasks routingSummary.sprintCapacity.maxTasks
routingSummary.sprintCapacity.availableSlots routingSummary.sprintCapacity.criticalHighTasks
routingSummary.sprintCapacity.maxCriticalHigh
authenticity.sha256Hash authenticity.signatureVerification authenticity.tamperDetection
";

fn debt_with(facts: &RunFacts, settings: &DebtSettings, previous: Option<&TechnicalDebtV1>) -> TechnicalDebtV1 {
    build_debt(&build(facts), settings, previous).expect("the run is a verdict")
}

fn debt_of(actions: Vec<ActionResult>) -> TechnicalDebtV1 {
    debt_with(&run_of(actions), &DebtSettings::default(), None)
}

/// Returns an action that becomes a debt item: a failed command. `reason` is the action's name and the reason of the
/// failure, so actions with different reasons have different causes.
fn due(number: usize, category: DebtCategory, severity: Severity, blocking: Blocking, reason: &str) -> ActionResult {
    let mut facts = succeeded(ActionPhase::Step, number);
    facts.action.name = reason.to_owned();
    edit(&mut facts, |executed| {
        executed.judgement.classification = Classification::plain(ResultType::TestFailure, CategoryCode::UnexpectedExit, reason);
        executed.judgement.blocking = blocking;
        executed.judgement.debt = DebtGeneration {
            should_generate: true,
            category: Some(category),
            severity: Some(severity),
            title: Some(format!("title of {reason}")),
            suggested_fix: Some(format!("mend {reason}")),
            ..DebtGeneration::none("it must be mended")
        };
    });
    facts
}

fn simple(number: usize, severity: Severity, blocking: Blocking) -> ActionResult {
    due(number, DebtCategory::BusinessLogicError, severity, blocking, &format!("cause {}", char::from(b'a' + number as u8)))
}

/// Returns the sample action with a judgement that makes it a debt item of this severity.
fn with_debt_due(mut facts: ActionResult, category: DebtCategory, severity: Severity, status: ResultType) -> ActionResult {
    edit(&mut facts, |executed| {
        executed.judgement.classification.category = status;
        executed.judgement.debt.should_generate = true;
        executed.judgement.debt.category = Some(category);
        executed.judgement.debt.severity = Some(severity);
    });
    facts
}

fn ids(debt: &TechnicalDebtV1) -> Vec<(String, Digest)> {
    let mut ids: Vec<_> = debt.debt_items.iter().map(|item| (item.debt_id.to_string(), item.fingerprint)).collect();
    ids.sort();
    ids
}

fn related(item: &DebtItemV1) -> Vec<&str> {
    item.error_details.contextual_information.related_failures.iter().map(|id| id.as_str()).collect()
}

/// Returns the report of a run with the section about the run's debt.
pub(in crate::report) fn report_with_debt(facts: &RunFacts) -> ExecutionReportV2 {
    let report = build(facts);
    let debt = seal_debt_hash(build_debt(&report, &DebtSettings::default(), None).expect("the run is a verdict"));
    let bytes = to_bytes(&debt);
    let file = EvidenceFile {
        name: DEBT_FILE.to_owned(),
        kind: EvidenceKind::TechnicalDebt,
        action_id: None,
        bytes: bytes.len() as u64,
        sha256: Digest::of(&bytes),
    };
    with_debt(report, &debt, file)
}

#[test]
fn the_debt_file_is_the_golden_file_byte_for_byte_and_reads_back() {
    let debt = seal_debt_hash(debt_with(&mixed_run(), &DebtSettings::default(), None));
    assert_eq!(String::from_utf8(to_bytes(&debt)).expect("JSON is UTF-8"), GOLDEN);
    assert_eq!(parse_debt(GOLDEN.as_bytes()).expect("it is ours"), debt);
    let edited = GOLDEN.replace("\"HIGH\"", "\"LOW\"");
    assert_ne!(edited, GOLDEN);
    let error = parse_debt(edited.as_bytes()).expect_err("its hash is another's").to_string();
    assert!(error.contains("authenticity.sha256Hash"), "{error}");
    let extra = GOLDEN.replacen("\"schema\"", "\"extra\": 1, \"schema\"", 1);
    assert!(parse_debt(extra.as_bytes()).is_err(), "a key nobody writes");
}

#[test]
fn every_key_of_the_original_item_is_filled_or_says_why_not() {
    let mut ours = BTreeSet::new();
    for debt in [debt_of(vec![failed_tests(), seen_file()]), debt_of(vec![refused_request()])] {
        collect_paths(&serde_json::to_value(debt).expect("text keys"), "", &mut ours);
    }
    let unfilled: BTreeSet<_> = UNFILLED_DEBT_KEYS.iter().map(|key| key.path).collect();
    for key in KEYS.split_whitespace() {
        assert_ne!(ours.contains(key), unfilled.contains(key), "`{key}` must be filled, or be listed as unfilled, and not both");
    }
    for key in &unfilled {
        assert!(KEYS.split_whitespace().any(|known| known == *key), "`{key}` is no key of the original item");
    }
}

#[test]
fn the_seeds_numbers_two_critical_one_high_and_one_medium_are_three_for_the_sprint_and_one_for_the_inventory() {
    let run = run_of(vec![
        simple(1, Severity::Critical, Blocking::Blocks),
        simple(2, Severity::Critical, Blocking::Blocks),
        simple(3, Severity::High, Blocking::Allowed),
        simple(4, Severity::Medium, Blocking::Allowed),
    ]);
    let report = serde_json::to_value(report_with_debt(&run)).expect("text keys");
    assert_eq!(
        report["technicalDebtGenerated"],
        json!({"itemsCreated": 4, "debtDataFile": "technical-debt-data.json",
               "summary": {"CRITICAL": 2, "HIGH": 1, "MEDIUM": 1, "LOW": 0}, "routing": {"toSprint": 3, "toInventory": 1}})
    );
    let listed = report["evidenceFiles"].as_array().expect("a list").iter();
    assert_eq!(listed.filter(|file| file["name"] == DEBT_FILE && file["kind"] == "technical-debt").count(), 1);
}

#[test]
fn c41_c42_work_type_says_whether_something_is_missing_and_refactoring_is_neither() {
    use DebtCategory::{ApiEndpointMissing, BusinessLogicError, Refactor};
    let work = |category, error: &str| {
        let mut facts = with_debt_due(failed_tests(), category, Severity::High, ResultType::TestFailure);
        edit(&mut facts, |executed| {
            let results = executed.interpretation.test_results.as_mut().expect("the sample has tests");
            results.failures[0].error = error.to_owned();
        });
        debt_of(vec![facts]).debt_items[0].classification.work_type
    };
    assert_eq!(work(ApiEndpointMissing, "Expected status 200, received 404"), Some(WorkType::Feature));
    assert_eq!(work(BusinessLogicError, "ImportError: cannot import name 'total'"), Some(WorkType::Feature));
    assert_eq!(work(BusinessLogicError, "AssertionError: assert 404 == 200"), Some(WorkType::BugFix));
    assert_eq!(work(Refactor, "too many warnings"), None);
}

#[test]
fn c47_a_timeout_is_medium_and_goes_to_the_sprint_because_it_blocks() {
    let facts = with_debt_due(timed_out_types(), DebtCategory::PerformanceIssue, Severity::Medium, ResultType::Timeout);
    let debt = debt_of(vec![facts]);
    let item = &debt.debt_items[0];
    assert_eq!((item.classification.severity, item.classification.priority), (Severity::Medium, 3));
    assert_eq!(item.routing.destination, DebtDestination::SprintTasks);
}

#[test]
fn c48_one_cause_is_one_item_and_the_other_actions_are_its_related_failures() {
    let another = |number, error: &str| {
        let mut facts = failed_tests();
        facts.action.id = proctor_model::ActionId::numbered("STEP", number);
        edit(&mut facts, |executed| {
            let results = executed.interpretation.test_results.as_mut().expect("the sample has tests");
            results.failures[0].error = error.to_owned();
            results.failures[0].line = Some(number as u64);
        });
        facts
    };
    let debt = debt_of(vec![another(4, "assert 3 == 4"), another(5, "assert 17  ==  4"), another(6, "KeyError: 'a'")]);
    assert_eq!(debt.debt_items.len(), 2, "numbers, lines and blanks do not tell causes apart");
    assert_eq!(related(&debt.debt_items[0]), ["STEP.5"]);
    assert_eq!(debt.debt_items[0].test_failure.as_ref().map(|test| test.further_failures), Some(1));
    assert_eq!(related(&debt.debt_items[1]), [""; 0]);
    let files = &debt.debt_items[0].implementation_guidance.files;
    assert_eq!(files, &["tests/test_quote.py"], "each once");
}

#[test]
fn c48_commands_that_fail_alike_have_causes_of_their_own() {
    let mut one = simple(1, Severity::High, Blocking::Blocks);
    let mut other = simple(2, Severity::High, Blocking::Blocks);
    for (facts, name) in [(&mut one, "lint"), (&mut other, "package")] {
        facts.action.name = name.to_owned();
        edit(facts, |executed| executed.judgement.classification.reason = "it ended with 1".to_owned());
    }
    assert_eq!(debt_of(vec![one, other]).debt_items.len(), 2);
}

#[test]
fn c49_debt_of_a_prerequisite_is_the_environments() {
    let category = DebtCategory::IntegrationFailure;
    let prerequisite = with_debt_due(failed_prerequisite(), category, Severity::Critical, ResultType::PrerequisiteFailure);
    let item = &debt_of(vec![prerequisite]).debt_items[0];
    assert_eq!((item.classification.origin, item.classification.work_type), (Some(DebtOrigin::Environment), None));
    assert_eq!(debt_of(vec![failed_tests()]).debt_items[0].classification.origin, Some(DebtOrigin::Code));
}

#[test]
fn c50_context_is_what_was_seen_and_null_otherwise() {
    let refused = debt_of(vec![succeeded(ActionPhase::Prerequisite, 1), succeeded(ActionPhase::Step, 1), refused_request()]);
    let details = &refused.debt_items[0].error_details;
    let context = &details.contextual_information;
    assert_eq!((context.prerequisites_met, context.server_running), (Some(true), Some(false)));
    assert_eq!(context.previous_steps_succeeded.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["PREREQ.1", "STEP.1"]);
    assert_eq!(details.original_error.error_type.as_deref(), Some("ECONNREFUSED"));
    let trace = serde_json::to_value(&details.diagnostics.http_trace).expect("text keys");
    assert_eq!((&trace["responseStatus"], &trace["responseBody"]), (&Value::Null, &Value::Null));
    let tests = debt_of(vec![failed_tests()]);
    let details = &tests.debt_items[0].error_details;
    assert_eq!((details.contextual_information.server_running, &details.diagnostics.http_trace), (None, &None));
    assert_eq!(debt_of(vec![seen_file()]).debt_items[0].error_details.diagnostics.files_checked, ["src/quote.ts: FOUND"]);
}

#[test]
fn guidance_names_what_was_seen_and_what_the_specification_says_and_nothing_else() {
    let likely = |scenario: &str, severity| LikelyFailure {
        scenario: scenario.to_owned(),
        category: DebtCategory::BusinessLogicError,
        severity,
        suggested_fix: Some("count the last day".to_owned()),
    };
    let settings = DebtSettings {
        likely_failures: vec![likely("the last day", Severity::High), likely("another", Severity::Low)],
        dependencies: vec!["T110: totals".to_owned()],
        ..DebtSettings::default()
    };
    let mut run = judged_run();
    let criteria = run.criteria.as_mut().expect("the sample has some");
    criteria.success[0].decided = false;
    criteria.success[1].condition.condition = "STEP.11.exitCode === 0".to_owned();
    let guidance = &debt_with(&run, &settings, None).debt_items[0].implementation_guidance;
    let test = "tests/test_quote.py::test_the_last_day_counts[day2-True]";
    assert_eq!(
        guidance.steps,
        [
            format!("make `{test}` pass: assert False is True"),
            "the specification, for \"the last day\": count the last day".to_owned()
        ]
    );
    assert_eq!(guidance.files, ["tests/test_quote.py"]);
    assert_eq!(guidance.dependencies, ["T110: totals"]);
    assert_eq!(
        guidance.acceptance_criteria,
        [
            format!("`{test}` passes"),
            "STEP.1 (`pytest`) is SUCCESS".to_owned(),
            "`STEP.1.exitCode === 0` is met".to_owned(),
            "evidence of kind `api-responses` is collected".to_owned()
        ]
    );
}

#[test]
fn a_result_of_an_earlier_run_is_debt_all_the_same_and_names_where_its_files_lie() {
    let (now, earlier) = (debt_of(vec![failed_tests()]), debt_of(vec![reused_tests()]));
    assert_eq!(ids(&now), ids(&earlier));
    let evidence = &earlier.debt_items[0].evidence;
    assert!(evidence.files.is_empty() && evidence.earlier_run.is_some());
    assert!(!now.debt_items[0].evidence.files.is_empty() && now.debt_items[0].evidence.earlier_run.is_none());
}

#[test]
fn r6_e17_what_is_no_verdict_has_no_debt_file_and_a_green_run_has_one_without_items() {
    for status in [OverallStatus::Interrupted, OverallStatus::Superseded, OverallStatus::Moved] {
        let run = RunFacts { overall_status: status, ..mixed_run() };
        assert_eq!(build_debt(&build(&run), &DebtSettings::default(), None), None);
    }
    let green = RunFacts { overall_status: OverallStatus::Success, ..run_of(vec![succeeded(ActionPhase::Step, 1)]) };
    let debt = debt_with(&green, &DebtSettings::default(), None);
    assert_eq!((debt.debt_items.len(), debt.routing_summary.total_debt_items, debt.next_number), (0, 0, 1));
}

#[test]
fn a_specification_may_want_no_debt_or_that_of_some_severities_alone() {
    let disabled = DebtSettings { enabled: false, ..DebtSettings::default() };
    assert_eq!(build_debt(&build(&mixed_run()), &disabled, None), None);
    let run = run_of(vec![simple(1, Severity::High, Blocking::Blocks), simple(2, Severity::Low, Blocking::Allowed)]);
    let settings = DebtSettings { severities: vec![Severity::Critical, Severity::Low], ..DebtSettings::default() };
    let debt = debt_with(&run, &settings, None);
    assert_eq!(debt.debt_items.iter().map(|item| item.classification.severity).collect::<Vec<_>>(), [Severity::Low]);
    assert_eq!(debt.routing_summary.left_out, 1);
}

#[test]
fn the_strategies_differ_in_what_is_high_and_blocks_nothing() {
    use DebtDestination::{Inventory, SprintTasks, Unrouted};
    let run = run_of(vec![
        simple(1, Severity::Critical, Blocking::Blocks),
        simple(2, Severity::High, Blocking::Allowed),
        simple(3, Severity::High, Blocking::Allowed),
        simple(4, Severity::Low, Blocking::Blocks),
        simple(5, Severity::Medium, Blocking::Allowed),
    ]);
    for (routing, destinations, over_capacity) in [
        (DebtRouting::CapacityBased, [SprintTasks, SprintTasks, Inventory, Inventory, SprintTasks], true),
        (DebtRouting::SeverityBased, [SprintTasks, SprintTasks, SprintTasks, Inventory, SprintTasks], true),
        (DebtRouting::Manual, [Unrouted; 5], false),
    ] {
        let settings = DebtSettings { routing, sprint_max_items: 2, ..DebtSettings::default() };
        let debt = debt_with(&run, &settings, None);
        let found: Vec<_> = debt.debt_items.iter().map(|item| item.routing.destination).collect();
        assert_eq!(found, destinations, "{routing:?}");
        assert_eq!(debt.routing_summary.over_capacity, over_capacity, "{routing:?}");
    }
    let critical = DebtSettings { sprint_max_critical: 0, ..DebtSettings::default() };
    assert!(debt_with(&run, &critical, None).debt_items[0].routing.over_capacity, "more CRITICAL ones than a sprint should hold");
}

#[test]
fn an_item_keeps_its_id_while_others_come_and_go_and_has_it_again_when_it_comes_back() {
    let one = || simple(1, Severity::High, Blocking::Blocks);
    let two = || simple(2, Severity::High, Blocking::Blocks);
    let worse = || simple(3, Severity::Critical, Blocking::Blocks);
    let after = |actions: Vec<ActionResult>, previous: &TechnicalDebtV1| {
        debt_with(&run_of(actions), &DebtSettings::default(), Some(previous))
    };
    let names = |debt: &TechnicalDebtV1| debt.debt_items.iter().map(|item| item.debt_id.to_string()).collect::<Vec<_>>();
    let first = debt_of(vec![one(), two()]);
    assert_eq!(names(&first), ["DEBT-default-001", "DEBT-default-002"]);
    let mended = after(vec![two()], &first);
    assert_eq!(names(&mended), ["DEBT-default-002"]);
    assert_eq!(mended.earlier_items[0].debt_id.as_str(), "DEBT-default-001");
    let new = after(vec![two(), worse()], &mended);
    assert_eq!(names(&new), ["DEBT-default-003", "DEBT-default-002"], "no number is given twice");
    let green = after(vec![succeeded(ActionPhase::Step, 1)], &new);
    assert_eq!((green.debt_items.len(), green.earlier_items.len(), green.next_number), (0, 3, 4));
    assert_eq!(names(&after(vec![one()], &green)), ["DEBT-default-001"]);
    let foreign = TechnicalDebtV1 { task_id: TaskId::try_from("T030").expect("a task"), ..new };
    assert_eq!(names(&after(vec![two()], &foreign)), ["DEBT-default-001"], "another task's file says nothing");
}

#[test]
fn an_id_names_its_task_and_its_number() {
    let task = TaskId::try_from("T-030.b").expect("a task");
    let id = DebtId::new(&task, 7);
    assert_eq!((id.as_str(), id.number()), ("DEBT-T-030.b-007", 7));
    for bad in ["", "DEBT-", "DEBT-T030", "DEBT-T030-01", "DEBT--001", "DEBT-T/0-001", "DEBT-T030-99999999999"] {
        assert!(DebtId::try_from(bad).is_err(), "{bad}");
    }
}

fn actions() -> impl Strategy<Value = Vec<ActionResult>> {
    let severities = select(Severity::ALL.to_vec());
    let blocking = prop_oneof![Just(Blocking::Blocks), Just(Blocking::Allowed)];
    let one = (severities, blocking, 0_u8..6).prop_map(|(severity, blocking, cause)| (severity, blocking, cause));
    proptest::collection::vec(one, 0..12).prop_map(|all| {
        let action = |(index, (severity, blocking, cause)): (usize, (Severity, Blocking, u8))| {
            let reason = format!("cause {}", char::from(b'a' + cause));
            due(index + 1, DebtCategory::BusinessLogicError, severity, blocking, &reason)
        };
        all.into_iter().enumerate().map(action).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn debt_is_deterministic_adds_up_hides_nothing_that_blocks_and_keeps_its_ids(
        failing in actions(),
        (turn, most, severity_based) in (any::<usize>(), 0_u32..8, any::<bool>()),
    ) {
        let routing = if severity_based { DebtRouting::SeverityBased } else { DebtRouting::CapacityBased };
        let settings = DebtSettings { routing, sprint_max_items: most, ..DebtSettings::default() };
        let mut others = failing.clone();
        others.push(failed_tests());
        others.push(warned_lint());
        let run = run_of(others.clone());
        let debt = debt_with(&run, &settings, None);
        prop_assert_eq!(to_bytes(&seal_debt_hash(debt.clone())), to_bytes(&seal_debt_hash(debt_with(&run, &settings, None))));
        prop_assert_eq!(parse_debt(&to_bytes(&seal_debt_hash(debt.clone()))).expect("it reads back"), seal_debt_hash(debt.clone()));
        let sums = &debt.routing_summary;
        prop_assert_eq!(sums.total_debt_items, debt.debt_items.len() as u64);
        prop_assert_eq!(sums.total_debt_items, sums.routed_to_sprint + sums.routed_to_inventory + sums.unrouted);
        let actions: usize = debt.debt_items.iter().map(|item| 1 + related(item).len()).sum();
        prop_assert_eq!(actions, failing.len() + 1, "every action that is due debt is in one item");
        for item in &debt.debt_items {
            let must = item.classification.blocking || item.classification.severity == Severity::Critical;
            prop_assert!(!must || item.routing.destination == DebtDestination::SprintTasks);
        }
        let known: BTreeSet<_> = debt.debt_items.iter().map(|item| item.debt_id.clone()).collect();
        prop_assert_eq!(known.len(), debt.debt_items.len());
        let turn = if others.is_empty() { 0 } else { turn % others.len() };
        others.rotate_left(turn);
        let turned = debt_with(&run_of(others), &settings, Some(&debt));
        prop_assert_eq!(ids(&turned), ids(&debt), "the order of the actions changes no id");
        prop_assert!(turned.earlier_items.is_empty() && turned.next_number == debt.next_number);
    }
}
