//! Compares the wire format with a stored file, in both directions.

use crate::report::ProgramV1;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::judged::judged_run;
use crate::report::samples::{
    aborted_run, at, failed_tests, mixed_run, refused_request, reused_tests, run_of, seen_file, warned_lint,
};
use crate::report::tests::debt::report_with_debt;
use crate::report::{
    ActionDisposition, ActionRecordFacts, ActionResult, AttemptV2, ExecutedAction, RUN_SCHEMA, RecoveryFacts, ReportError,
    RunFacts, RunStartFacts, RunStartV1, action_record, build, diagnostics_record, interrupted_report, parse, parse_run_start,
    report_hash, run_start_details, seal_hash, test_results_record, to_bytes,
};
use proctor_model::{
    CategoryCode, Classification, DiagnosticSummary, Digest, DurationMs, EvidenceFile, EvidenceKind, OverallStatus, ResultType,
};

/// The sealed report of `mixed_run`. Other programs read this format, so check every changed line.
const GOLDEN: &str = include_str!("../golden/execution-report.json");

fn value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("we wrote JSON")
}

fn executed(facts: &ActionResult) -> &ExecutedAction {
    match &facts.disposition {
        ActionDisposition::Executed(executed) => executed,
        ActionDisposition::Skipped(_) | ActionDisposition::Reused(_) => panic!("the sample was carried out"),
    }
}

#[test]
fn the_report_is_the_golden_file_byte_for_byte() {
    let bytes = to_bytes(&seal_hash(report_with_debt(&mixed_run())));
    let text = String::from_utf8(bytes).expect("JSON is UTF-8");
    for (number, (ours, golden)) in text.lines().zip(GOLDEN.lines()).enumerate() {
        assert_eq!(ours, golden, "line {}", number + 1);
    }
    assert_eq!(text.len(), GOLDEN.len());
}

#[test]
fn the_golden_file_reads_back_and_its_hash_is_right() {
    let report = parse(GOLDEN.as_bytes()).expect("the golden report is ours");
    assert_eq!(report, seal_hash(report_with_debt(&mixed_run())));
    assert_eq!(to_bytes(&report), GOLDEN.as_bytes());
    assert_eq!(report.authenticity.report_hash, Some(report_hash(value(GOLDEN.as_bytes()))));
}

#[test]
fn a_reused_result_is_the_earlier_one_and_names_the_run_it_comes_from() {
    let facts = run_of(vec![reused_tests()]);
    let report = value(&to_bytes(&seal_hash(build(&facts))));
    let original = value(&to_bytes(&build(&run_of(vec![failed_tests()]))));
    let (entry, earlier) = (&report["stepExecution"]["results"][0], &original["stepExecution"]["results"][0]);
    for key in ["actionId", "status", "blocking", "duration", "result", "classification", "debtGeneration", "agentAction"] {
        assert_eq!(entry[key], earlier[key], "{key}");
    }
    assert_eq!(entry["disposition"], "REUSED");
    assert!(
        entry.get("evidence").is_none() && entry.get("evidenceFiles").is_none(),
        "none of its files is in this run's directory"
    );
    let run_id = "exec-20260304T092959.120Z-000041";
    assert_eq!(
        entry["reused"],
        json!({"runId": run_id, "evidence": earlier["evidence"], "evidenceFiles": earlier["evidenceFiles"]})
    );
    let listed = &report["reused"][0];
    assert_eq!((&listed["actionId"], &listed["runId"]), (&json!("STEP.1"), &json!(run_id)));
    assert_eq!(listed["reportHash"], json!(Digest::of(b"report").hex()));
    assert_eq!(listed["isolationLevel"], "landlock");
    assert_eq!(listed["evidenceFiles"].as_array().map(Vec::len), earlier["evidenceFiles"].as_array().map(Vec::len));
    assert_eq!(report["executionSummary"]["actionCounts"]["reused"], 1);
    assert_eq!(report["executionSummary"]["testResults"], original["executionSummary"]["testResults"]);
    assert_eq!(parse(&to_bytes(&build(&facts))).expect("it reads back"), build(&facts));
    assert!(original.get("reused").is_none() && original["executionSummary"]["actionCounts"].get("reused").is_none());
}

#[test]
fn criteria_are_written_as_the_seed_has_them_and_read_back() {
    let report = build(&judged_run());
    let json = value(&to_bytes(&report));
    let validation = &json["validationCriteriaEvaluation"];
    assert_eq!(
        validation["successConditions"],
        json!({"total": 2, "met": 1, "failed": 1, "details": [
            {"condition": "STEP.1.exitCode === 0", "description": "What STEP.1.exitCode === 0 stands for", "met": true, "actualValue": 0},
            {"condition": "STEP.3.exitCode === 0", "description": "What STEP.3.exitCode === 0 stands for", "met": false,
             "actualValue": 2, "reason": "TypeScript found 1 error"},
        ]})
    );
    let failure = &validation["failureConditions"];
    assert_eq!((&failure["total"], &failure["triggered"]), (&json!(2), &json!(1)));
    assert_eq!(failure["details"][0]["unknown"], json!(["STEP.9.statusCode"]));
    assert!(failure["details"][0].get("actualValue").is_none());
    assert_eq!(
        failure["details"][1]["actualValues"],
        json!([{"reference": "STEP.1.exitCode", "value": 0}, {"reference": "STEP.3.exitCode", "value": 2}])
    );
    assert_eq!(validation["expectedOutput"]["failed"], 1);
    let completion = &json["completionCriteriaEvaluation"];
    assert_eq!(
        completion["requiredEvidence"],
        json!({"required": ["terminal-output", "test-execution-log", "api-responses"],
               "collected": ["terminal-output", "test-execution-log"], "missing": ["api-responses"]})
    );
    assert_eq!((&completion["allStepsMustPass"], &completion["taskStatusLock"]), (&json!(true), &json!(true)));
    assert_eq!(completion["minimumPassRate"], json!(100.0));
    assert_eq!(parse(&to_bytes(&report)).expect("it reads back"), report);
}

#[test]
fn equal_facts_give_equal_bytes_and_files_in_any_order_too() {
    let mut shuffled = mixed_run();
    shuffled.evidence_files.reverse();
    shuffled.environment.names.reverse();
    assert_eq!(to_bytes(&build(&shuffled)), to_bytes(&build(&mixed_run())));
}

#[test]
fn a_key_nobody_writes_is_refused_wherever_it_stands() {
    let cases: [(&str, &str, &str); 5] = [
        ("/", "extra", "extra"),
        ("/executionSummary/actionResults", "MAYBE", "MAYBE"),
        ("/stepExecution/results/0/classification", "note", "stepExecution.results[0].classification.note"),
        ("/stepExecution/results/0/result/testResults", "rerun", "stepExecution.results[0].result.testResults.rerun"),
        ("/trigger", "who", "trigger.who"),
    ];
    for (place, key, named) in cases {
        let mut report = value(GOLDEN.as_bytes());
        let object = if place == "/" { Some(&mut report) } else { report.pointer_mut(place) };
        object.and_then(Value::as_object_mut).expect("the place is there").insert(key.to_owned(), json!(1));
        let error = parse(&to_bytes(&report)).expect_err(place);
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(format!("{error} {cause}").contains(named), "{place}: {error} {cause}");
    }
}

#[test]
fn another_version_and_other_bytes_are_refused_by_name() {
    let newer = GOLDEN.replace("\"reportVersion\": \"2.0.0\"", "\"reportVersion\": \"3.0.0\"");
    assert!(matches!(parse(newer.as_bytes()), Err(ReportError::Version { found, .. }) if found == "3.0.0"));
    assert!(matches!(parse(b""), Err(ReportError::Shape { .. })));
    assert!(matches!(parse(&GOLDEN.as_bytes()[..500]), Err(ReportError::Shape { .. })));
    let twice = GOLDEN.replacen("\"reportVersion\"", "\"custody\": \"same-user\", \"reportVersion\"", 1);
    assert!(matches!(parse(twice.as_bytes()), Err(ReportError::Shape { .. })), "a key that is there twice");
}

#[test]
fn every_file_an_action_names_is_in_the_list_of_files() {
    for facts in [mixed_run(), aborted_run()] {
        let report = build(&facts);
        let known: Vec<_> = report.evidence_files.iter().map(|file| file.name.as_str()).collect();
        let phases = [&report.prerequisite_execution.results, &report.step_execution.results, &report.cleanup_execution.results];
        for entry in phases.into_iter().flatten() {
            assert!(entry.evidence.iter().chain(&entry.evidence_files).all(|name| known.contains(&name.as_str())), "{entry:?}");
            assert_eq!(entry.evidence.is_some(), entry.status.is_some(), "{entry:?}");
        }
    }
}

#[test]
fn a_failed_prerequisite_says_what_it_kept_from_running() {
    let report = value(&to_bytes(&build(&aborted_run())));
    let entry = &report["prerequisiteExecution"]["results"][0];
    assert_eq!(entry["impact"]["subsequentStepsSkipped"], 2);
    assert_eq!(entry["impact"]["testExecutionAborted"], true);
    assert_eq!(entry["result"]["error"]["code"], "ENOENT");
    assert_eq!(entry["result"].get("stdout"), None, "it never ran");
    assert_eq!(report["prerequisiteExecution"]["allMet"], false);
    let step = &report["stepExecution"]["results"][0];
    assert_eq!((step.get("status"), &step["skipReason"]), (Some(&Value::Null), &json!("prerequisite-failed")));
    assert_eq!(report["completionCriteriaEvaluation"]["actualPassRate"], 0.0);
    assert_eq!(report["executionSummary"].get("testResults"), None, "no tests were counted, so none are claimed");
}

#[test]
fn findings_beyond_the_list_are_named_and_not_lost() {
    let mut facts = mixed_run();
    let ActionDisposition::Executed(lint) = &mut facts.actions[4].disposition else { panic!("eslint was carried out") };
    let judgement = &mut lint.judgement;
    judgement.diagnostics = vec![judgement.diagnostics[0].clone(); 501];
    judgement.summary = Some(DiagnosticSummary::of(&judgement.diagnostics));
    let report = build(&facts);
    let result = report.step_execution.results[2].result.as_ref().expect("it was carried out");
    assert_eq!((result.diagnostics.findings().len(), result.summary.map(|summary| summary.warnings)), (500, Some(501)));
    assert_eq!(result.warnings, ["500 of 501 diagnostics are listed here, all of them in `STEP.3-eslint-report.json`"]);
}

#[test]
fn the_record_of_an_action_names_its_command_end_output_and_variables() {
    let facts = failed_tests();
    let run_id = mixed_run().run_id;
    let variables = BTreeMap::from([("PATH", "/usr/bin"), ("QUOTES_MODE", "strict"), ("API_TOKEN", "hush")])
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let record = value(&to_bytes(&action_record(ActionRecordFacts {
        run_id: &run_id,
        action: &facts.action,
        attempt: 1,
        ended: &executed(&facts).ended,
        working_directory: "/home/dev/quotes".to_owned(),
        program: Some(ProgramV1 {
            path: "/usr/bin/python3.11".to_owned(),
            sha256: Some(Digest::of(b"python")),
            version: Some("7.2.1".to_owned()),
        }),
        environment: &variables,
    })));
    assert_eq!(record["schema"], "proctor-action-v1");
    assert_eq!(record["argv"], json!([".venv/bin/python", "-m", "pytest"]));
    assert_eq!((&record["execution"]["exitCode"], record["execution"].get("signal")), (&json!(1), Some(&Value::Null)));
    assert_eq!(record["output"]["log"], "STEP.1-pytest.log");
    assert_eq!(record["output"]["stdout"], "FAILED tests/test_quote.py::test_the_last_day_counts[day2-True]\n");
    assert_eq!(record["environment"]["values"], json!({"PATH": "/usr/bin", "QUOTES_MODE": "strict"}));
    assert_eq!(record["authenticity"]["outputHash"], record["output"]["logSha256"]);
    assert!(!record.to_string().contains("hush"));
}

#[test]
fn a_record_has_microseconds_only_where_a_tool_tells_them() {
    let tests = failed_tests();
    let of_tests = executed(&tests);
    let mut interpretation = of_tests.interpretation.clone();
    for (case, duration) in interpretation.cases.iter_mut().zip([Some(420), Some(7000), Some(1500)]) {
        case.duration_us = duration;
    }
    let record = test_results_record(&mixed_run().run_id, &tests.action, &of_tests.ended, &interpretation).expect("tests ran");
    let durations: Vec<_> = record.results.test_results.iter().map(|test| (test.duration, test.duration_us)).collect();
    assert_eq!(durations, [(Some(0), Some(420)), (Some(7), None), (Some(2), Some(1500))]);
}

#[test]
fn the_records_of_tests_and_diagnostics_hold_every_finding() {
    let run_id = mixed_run().run_id;
    let tests = failed_tests();
    let of_tests = executed(&tests);
    let record = test_results_record(&run_id, &tests.action, &of_tests.ended, &of_tests.interpretation).expect("tests ran");
    let record = value(&to_bytes(&record));
    assert_eq!((&record["schema"], &record["testFramework"]), (&json!("proctor-test-results-v1"), &json!("pytest")));
    let counts =
        ["numTotalTests", "numPassedTests", "numFailedTests", "numPendingTests"].map(|key| record["results"][key].clone());
    assert_eq!(counts, [3, 1, 1, 1].map(|count| json!(count)));
    assert_eq!(record["results"]["testResults"][1]["location"], json!({"file": "tests/test_quote.py", "line": 46}));

    let lint = warned_lint();
    let of_lint = executed(&lint);
    let summary = of_lint.judgement.summary.expect("it looked");
    let record = diagnostics_record(&run_id, &lint.action, &of_lint.ended, &of_lint.judgement.diagnostics, summary);
    let record = value(&to_bytes(&record));
    assert_eq!(record["summary"], json!({"errors": 0, "warnings": 1, "fixable": 0, "totalFiles": 1}));
    assert_eq!(record["diagnostics"][0]["ruleId"], "no-console");
    assert_eq!(test_results_record(&run_id, &lint.action, &of_lint.ended, &of_lint.interpretation), None);
}

fn started() -> RunStartV1 {
    let facts = mixed_run();
    let details = run_start_details(RunStartFacts {
        project_id: facts.project_id.clone(),
        plan: &facts.plan,
        plan_digest: facts.plan_digest,
        specification_file: facts.specification_file.clone(),
        tree_digest: facts.tree.before,
        tree_format: facts.tree.format,
        trigger: facts.trigger.clone(),
        started: facts.started,
        process_id: facts.process_id,
    });
    RunStartV1 { schema: RUN_SCHEMA.to_owned(), run_id: facts.run_id, task: facts.plan.task, details }
}

fn recovery(start: Option<RunStartV1>) -> RecoveryFacts {
    let facts = mixed_run();
    RecoveryFacts {
        run_id: facts.run_id,
        project_id: facts.project_id,
        task: facts.plan.task,
        start,
        recovered_at: at(90_000),
        evidence_files: facts.evidence_files,
    }
}

#[test]
fn a_start_record_reads_back_and_only_as_it_was_written() {
    let start = started();
    assert_eq!(parse_run_start(&to_bytes(&start)).expect("our own start record"), start);
    let mut edited = value(&to_bytes(&start));
    edited["extra"] = json!(1);
    assert!(matches!(parse_run_start(&to_bytes(&edited)), Err(ReportError::Foreign { path, .. }) if path == "extra"));
    assert!(parse_run_start(&to_bytes(&start)[..100]).is_err());
}

#[test]
fn a_run_that_died_is_reported_from_its_start_record_without_inventing_anything() {
    let facts = mixed_run();
    let report = seal_hash(interrupted_report(&recovery(Some(started()))));
    assert_eq!(parse(&to_bytes(&report)).expect("our own report"), report);
    assert_eq!(report.test_specification, build(&facts).test_specification);
    assert_eq!(report.execution_summary.overall_status, OverallStatus::Interrupted);
    assert_eq!((report.execution_summary.end_time, report.execution_summary.action_counts), (None, None));
    assert_eq!((report.validation_criteria_evaluation.overall_result, report.route.clone()), (None, None));
    assert_eq!(report.tree.map(|tree| (tree.before, tree.after)), Some((facts.tree.before, None)));
}

#[test]
fn a_run_that_died_before_its_start_record_was_whole_is_reported_too() {
    let report = seal_hash(interrupted_report(&recovery(None)));
    assert_eq!(parse(&to_bytes(&report)).expect("our own report"), report);
    assert_eq!(report.execution_summary.start_time, at(0), "its id says so");
    let unknown = value(&to_bytes(&report));
    for key in ["/tree", "/trigger", "/testSpecification/planDigest", "/authenticity/processId", "/project/name", "/notes"] {
        assert_eq!(unknown.pointer(key), None, "{key}");
    }
}

#[test]
fn what_was_no_process_has_neither_output_nor_exit_code_and_reads_back() {
    let facts = run_of(vec![seen_file(), refused_request()]);
    let report = build(&facts);
    assert_eq!(parse(&to_bytes(&report)).expect("our own report"), report);
    let entries = value(&to_bytes(&report))["stepExecution"]["results"].clone();
    assert_eq!((&entries[0]["type"], &entries[1]["type"]), (&json!("FILE_VALIDATION"), &json!("HTTP_REQUEST")));
    for key in ["exitCode", "stdout", "killed"] {
        assert_eq!((entries[0]["result"].get(key), entries[1]["result"].get(key)), (None, None), "{key}");
    }
    let error = json!({
        "code": "ECONNREFUSED", "errno": 111, "syscall": "connect", "address": "127.0.0.1", "port": 3000,
        "message": "connect ECONNREFUSED 127.0.0.1:3000",
    });
    assert_eq!(entries[1]["result"]["error"], error);
    let diagnostics = json!({"portCheck": {"port": 3000, "inUse": false, "process": null}, "dnsResolution": "127.0.0.1"});
    assert_eq!(entries[1]["result"]["diagnostics"], diagnostics);
}

#[test]
fn attempts_before_the_last_are_named_with_their_files_and_a_success_after_them_is_flaky() {
    let mut facts = seen_file();
    let file = |name: &str| EvidenceFile {
        name: name.to_owned(),
        kind: EvidenceKind::ActionRecord,
        action_id: Some("STEP.1".to_owned()),
        bytes: 1,
        sha256: Digest::of(b"1"),
    };
    let (first, last) = (file("STEP.1-file-validation.json"), file("STEP.1-attempt-2-file-validation.json"));
    let ActionDisposition::Executed(executed) = &mut facts.disposition else { panic!("it was carried out") };
    executed.judgement.classification = Classification::plain(ResultType::Success, CategoryCode::FileValid, "it is there");
    executed.earlier = vec![AttemptV2 {
        attempt: 1,
        status: ResultType::ValidationFailure,
        reason: "it was not there".to_owned(),
        duration: DurationMs(3),
        evidence_files: vec![first.name.clone()],
    }];
    let run = RunFacts { evidence_files: vec![first, last], ..run_of(vec![facts]) };
    let entry = value(&to_bytes(&build(&run)))["stepExecution"]["results"][0].clone();
    assert_eq!((&entry["attempts"], &entry["flaky"]), (&json!(2), &json!(true)));
    assert_eq!(entry["evidenceFiles"], json!(["STEP.1-attempt-2-file-validation.json"]));
    assert_eq!(entry["evidence"], "STEP.1-attempt-2-file-validation.json");
    let earlier = json!([{
        "attempt": 1, "status": "VALIDATION_FAILURE", "reason": "it was not there", "duration": 3,
        "evidenceFiles": ["STEP.1-file-validation.json"],
    }]);
    assert_eq!(entry["earlierAttempts"], earlier);
}

#[test]
fn c60_the_counts_of_actions_have_a_name_and_six_keys() {
    let report = value(&to_bytes(&build(&mixed_run())));
    let counts = report["executionSummary"]["actionCounts"].as_object().expect("they are counted");
    let keys: Vec<_> = counts.keys().map(String::as_str).collect();
    let mut expected = ["total", "executed", "skipped", "prerequisites", "steps", "cleanup"];
    expected.sort_unstable();
    let mut found = keys;
    found.sort_unstable();
    assert_eq!(found, expected);
}
