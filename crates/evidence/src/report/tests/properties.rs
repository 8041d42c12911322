//! Properties of every report that can be built.

use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use crate::report::samples::{
    action, at, failed_prerequisite, failed_tests, mixed_run, reused_tests, run_of, skipped, succeeded, timed_out_types,
    warned_lint,
};
use crate::report::{
    ActionDisposition, ActionResult, ExecutionReportV2, RunFacts, SkipReason, build, parse, report_hash, seal_hash, to_bytes,
};
use proctor_model::{
    ActionEnd, ActionPhase, Digest, DurationMs, FurtherTestCounts, LimitKind, OverallStatus, ResultType, StopReason, StopStage,
    TestCounts, TestResults, Tool,
};

fn ends() -> impl Strategy<Value = ActionEnd> {
    let stages = prop_oneof![Just(StopStage::Sigint), Just(StopStage::Sigterm), Just(StopStage::Sigkill)];
    prop_oneof![
        any::<u8>().prop_map(|code| ActionEnd::Exited { code: i32::from(code) }),
        (1..65).prop_map(|signal| ActionEnd::Signalled { signal }),
        (stages.clone(), any::<Option<u8>>()).prop_map(|(stage, code)| ActionEnd::TimedOut {
            limit: LimitKind::Wall,
            stage,
            code: code.map(i32::from),
            signal: None
        }),
        stages.prop_map(|stage| ActionEnd::Stopped { reason: StopReason::Interrupted, stage }),
        any::<String>().prop_map(|why| ActionEnd::Lost { why }),
    ]
}

fn actions() -> impl Strategy<Value = Vec<ActionResult>> {
    let one = prop_oneof![
        Just(succeeded(ActionPhase::Step, 1)),
        Just(succeeded(ActionPhase::Cleanup, 1)),
        Just(succeeded(ActionPhase::Prerequisite, 1)),
        Just(failed_tests()),
        Just(timed_out_types()),
        Just(warned_lint()),
        Just(failed_prerequisite()),
        Just(reused_tests()),
        Just(skipped(action(ActionPhase::Prerequisite, 2, Tool::Generic), SkipReason::Unchanged)),
        Just(skipped(action(ActionPhase::Step, 2, Tool::Pytest), SkipReason::PrerequisiteFailed)),
        Just(skipped(action(ActionPhase::Step, 3, Tool::Eslint), SkipReason::Stopped)),
    ];
    let changes = (
        any::<String>(),
        (vec(any::<u8>(), 0..40), 0_usize..400).prop_map(|(bytes, times)| bytes.repeat(times)),
        ends(),
        any::<u32>(),
        0_usize..7,
    );
    let changed = (one, changes).prop_map(|(mut facts, (text, bytes, end, count, status))| {
        facts.action.name = text.clone();
        if let ActionDisposition::Executed(executed) = &mut facts.disposition {
            executed.ended.captured.stdout.total = bytes.len() as u64;
            executed.ended.captured.stdout.head = bytes;
            executed.ended.captured.stdout.tail = Vec::new();
            executed.ended.end = end;
            executed.interpretation.reason = text;
            executed.judgement.classification.category = ResultType::ALL[status];
            executed.interpretation.test_results = (count % 2 == 0).then(|| TestResults {
                further: FurtherTestCounts { todo: u64::from(count % 2), ..FurtherTestCounts::default() },
                counts: TestCounts { passed: u64::from(count), failed: u64::from(count % 7), skipped: 1 },
                total: u64::from(count) + u64::from(count % 7) + 1,
                failures: Vec::new(),
            });
        }
        facts
    });
    vec(changed, 0..8)
}

fn runs() -> impl Strategy<Value = RunFacts> {
    let statuses = prop_oneof![
        Just(OverallStatus::Success),
        Just(OverallStatus::PartialSuccess),
        Just(OverallStatus::Interrupted),
        Just(OverallStatus::Moved),
    ];
    (actions(), statuses, any::<String>(), any::<bool>(), 0_i64..9_000_000).prop_map(
        |(actions, status, text, has_route, time)| {
            let mut run = run_of(actions);
            run.overall_status = status;
            run.overall_reason = text.clone();
            run.trigger.paths = vec![text];
            run.generated_at = at(time);
            if !has_route {
                run.route = None;
                run.tree.comparison = None;
            }
            run
        },
    )
}

fn check_sums(report: &ExecutionReportV2) {
    let counts = report.execution_summary.action_counts.expect("a run that was seen to its end has counts");
    let results = report.execution_summary.action_results.expect("likewise");
    let sum = results.success
        + results.test_failure
        + results.execution_error
        + results.validation_failure
        + results.timeout
        + results.prerequisite_failure
        + results.specification_error;
    assert_eq!(sum, counts.executed + counts.reused + results.specification_error, "C61");
    assert_eq!(counts.executed + counts.reused + counts.skipped + results.specification_error, counts.total, "C62");
    assert_eq!(counts.prerequisites + counts.steps + counts.cleanup, counts.total);
    let phases = [&report.prerequisite_execution.results, &report.step_execution.results, &report.cleanup_execution.results];
    assert_eq!(phases.map(|results| results.len() as u64), [counts.prerequisites, counts.steps, counts.cleanup]);
    let skipped = phases.into_iter().flatten().filter(|entry| entry.status.is_none()).count() as u64;
    assert_eq!(skipped, counts.skipped);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn c61_c62_any_run_builds_reads_back_hashes_and_adds_up(facts in runs()) {
        let report = seal_hash(build(&facts));
        let bytes = to_bytes(&report);
        let value: Value = serde_json::from_slice(&bytes).expect("we wrote JSON");
        prop_assert_eq!(report.authenticity.report_hash, Some(report_hash(value.clone())));
        prop_assert_eq!(&parse(&bytes).expect("our own report"), &report);
        prop_assert_eq!(to_bytes(&seal_hash(build(&facts))), bytes);
        check_sums(&report);
    }

    #[test]
    fn changing_any_value_changes_the_hash(choice in any::<proptest::sample::Index>()) {
        let sealed = serde_json::to_value(seal_hash(build(&mixed_run()))).expect("the wire types have text keys");
        let leaves = leaves(&sealed, String::new());
        let pointer = choice.get(&leaves);
        let mut changed = sealed.clone();
        let leaf = changed.pointer_mut(pointer).expect("the pointer was made from it");
        *leaf = match leaf {
            Value::Null => json!(0),
            Value::Bool(it) => json!(!*it),
            Value::Number(_) => json!("changed"),
            Value::String(text) => json!(format!("{text}.")),
            Value::Array(_) | Value::Object(_) => json!(null),
        };
        let is_covered = pointer != "/authenticity/reportHash";
        prop_assert!((report_hash(changed) != report_hash(sealed.clone())) == is_covered, "{}", pointer);
    }
}

/// Returns the JSON pointers of all values that contain no further values.
fn leaves(value: &Value, pointer: String) -> Vec<String> {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(entries) => entries.iter().map(|(key, value)| (format!("{pointer}/{key}"), value)).collect(),
        Value::Array(entries) => {
            entries.iter().enumerate().map(|(position, value)| (format!("{pointer}/{position}"), value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    if below.is_empty() {
        return vec![pointer];
    }
    below.into_iter().flat_map(|(pointer, value)| leaves(value, pointer)).collect()
}

#[test]
fn c75_a_signature_does_not_change_the_hash_and_a_changed_fact_does() {
    let report = seal_hash(build(&mixed_run()));
    let mut signed = report.clone();
    signed.authenticity.signature = Some("c2lnbmVk".to_owned());
    assert_eq!(seal_hash(signed).authenticity.report_hash, report.authenticity.report_hash);
    let mut longer = mixed_run();
    longer.duration = DurationMs(6501);
    assert_ne!(seal_hash(build(&longer)).authenticity.report_hash, report.authenticity.report_hash);
    let mut other_plan = mixed_run();
    other_plan.plan_digest = Digest::of(b"another plan");
    assert_ne!(seal_hash(build(&other_plan)).authenticity.report_hash, report.authenticity.report_hash);
}

#[test]
fn c61_c62_sums_of_the_samples_add_up() {
    let report = build(&mixed_run());
    check_sums(&report);
    let counts = report.execution_summary.action_counts.expect("it was seen to its end");
    assert_eq!((counts.total, counts.executed, counts.skipped), (6, 5, 1));
    let tests = report.execution_summary.test_results.expect("pytest's report was read");
    assert_eq!((tests.passed, tests.failed, tests.skipped, tests.total, tests.pass_rate), (1, 1, 1, 3, Some(50.0)));
    assert_eq!(report.completion_criteria_evaluation.actual_pass_rate, Some(0.0));
    assert_eq!(report.limit, Some(LimitKind::Wall));
    assert_eq!(report.prerequisite_execution.all_met, Some(true), "an unchanged prerequisite is met");
}
