//! Tests what proctor finds in the records of earlier runs, and how many of these runs it reads.

use std::cell::Cell;

use super::*;
use proctor_evidence::report::{AttemptV2, ReusedVerdictV2, parse};
use proctor_model::{ActionId, DurationMs, EvidenceKind, ResultType, Timestamp};

fn run(number: u64) -> RunId {
    RunId::new(Timestamp::from_millis(0), number)
}

pub(crate) fn test(name: &str, status: TestOutcome) -> TestRecordV1 {
    TestRecordV1 {
        ancestor_titles: Vec::new(),
        full_name: name.to_owned(),
        report_name: None,
        status,
        title: name.to_owned(),
        expected_to_fail: false,
        duration: None,
        duration_us: None,
        failure_messages: Vec::new(),
        location: None,
        body: None,
        test_file: None,
    }
}

/// A failed test that people see by another name than the report has.
fn failure(name: &str) -> TestFailure {
    TestFailure { test_name: format!("a.py::{name}"), report_name: Some(name.to_owned()), ..TestFailure::default() }
}

/// Calls [`passed_before`] with failed tests of these names in the report.
fn before<Runs: Iterator<Item = Seen>>(names: &[&str], runs: impl FnOnce() -> Runs) -> PassedBefore {
    let failures: Vec<TestFailure> = names.iter().map(|name| failure(name)).collect();
    passed_before(failures.iter().collect(), runs)
}

fn passed(number: u64, names: &[&str]) -> Seen {
    Ok((run(number), names.iter().map(|name| test(name, TestOutcome::Passed)).collect()))
}

fn unread(number: u64) -> Seen {
    Err(Unread::Tests(run(number)))
}

fn known(passed: &[(&str, u64)]) -> PassedBefore {
    PassedBefore::Known(passed.iter().map(|(name, number)| (format!("a.py::{name}"), run(*number))).collect())
}

#[test]
fn c06_a_declared_test_that_passed_in_any_run_is_named_with_the_newest() {
    let failed = Ok((run(9), vec![test("a", TestOutcome::Failed), test("b", TestOutcome::Skipped)]));
    let runs = [failed, passed(8, &["c", "b"]), passed(7, &["a", "b"]), passed(6, &["a"])];
    assert_eq!(before(&["a", "b", "new"], || runs.into_iter()), known(&[("a", 7), ("b", 8)]));
}

#[test]
fn c06_a_run_that_cannot_be_read_excuses_no_declared_test() {
    let ledger = || iter::once(Err(Unread::Ledger));
    assert_eq!(before(&["a"], ledger), PassedBefore::Unknown("the ledger cannot be read".to_owned()));
    assert_eq!(before(&[], ledger), known(&[]), "nothing failed that was declared to");
    let runs = [passed(4, &["b"]), unread(3), unread(2), passed(1, &["b"])];
    let why = format!("the tests of {} cannot be read as they were sealed", run(3));
    assert_eq!(before(&["a"], || runs.clone().into_iter()), PassedBefore::Unknown(why));
    // A known pass is reported even if another test is unknown.
    assert_eq!(before(&["a", "b"], || runs.clone().into_iter()), known(&[("b", 4)]));
    assert_eq!(before(&["b"], || runs.into_iter()), known(&[("b", 4)]), "it was found before that");
}

#[test]
fn no_run_is_read_after_the_one_that_answers() {
    let read = Cell::new(0);
    let runs = || (0..9).map(|back| passed(9 - back, &["a"])).inspect(|_| read.set(read.get() + 1));
    assert_eq!(before(&[], runs), known(&[]));
    assert_eq!(read.get(), 0);
    assert_eq!(before(&["a"], runs), known(&[("a", 9)]));
    assert_eq!(read.get(), 1);
    assert_eq!(vanished(runs(), |_| true), Some(VanishedTests { run: run(9), tests: vec!["a".to_owned()] }));
    assert_eq!(read.get(), 2);
}

#[test]
fn c07_what_vanished_is_what_passed_in_the_newest_run_that_can_be_read() {
    let last = vec![test("b", TestOutcome::Passed), test("a", TestOutcome::Passed), test("c", TestOutcome::Skipped)];
    // The run has two attempts with the same tests, so each name comes twice. The result must list each name once.
    let last = || Ok((run(3), [last.clone(), last.clone()].concat()));
    let tests = |runs: &[Seen], gone: &[&str]| {
        let found = vanished(runs.iter().cloned(), |name| gone.contains(&name));
        found.map(|found| (found.run.number(), found.tests))
    };
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(tests(&[last(), passed(2, &["d"])], &["a", "b", "c", "d"]), Some((3, named(&["b", "a"]))));
    assert_eq!(tests(&[last(), passed(2, &["d"])], &["d"]), None, "it was gone by then");
    assert_eq!(tests(&[unread(4), last()], &["a"]), Some((3, named(&["a"]))));
    assert_eq!(tests(&[unread(4)], &["a"]), None);
}

#[test]
fn a_record_with_other_names_for_people_is_compared_by_the_names_in_the_report() {
    let renamed =
        |name: &str| TestRecordV1 { report_name: Some(name.to_owned()), ..test(&format!("b.py::{name}"), TestOutcome::Passed) };
    let new: Seen = Ok((run(5), vec![renamed("a"), renamed("b")]));
    assert_eq!(before(&["a"], || [new.clone()].into_iter()), known(&[("a", 5)]));
    let found = vanished([new].into_iter(), |name| name == "b").expect("it is gone");
    assert_eq!(found.tests, ["b.py::b"], "the name that people see");
}

/// Returns the report of a run with tests and two recorded attempts.
fn report() -> ExecutionReportV2 {
    let mut report =
        parse(include_bytes!("../../../evidence/src/report/golden/execution-report.json")).expect("the golden report is ours");
    let first = report.evidence_files.iter().find(|file| file.name == "STEP.1-test-results.json").expect("pytest ran").clone();
    let entry = report.step_execution.results.iter_mut().find(|entry| entry.name == "pytest").expect("pytest ran");
    entry.earlier_attempts.push(AttemptV2 {
        attempt: 1,
        status: ResultType::TestFailure,
        reason: "1 failed".to_owned(),
        duration: DurationMs(1),
        evidence_files: vec![first.name.clone()],
    });
    report.evidence_files.insert(0, EvidenceFile { name: "STEP.1-attempt-2-test-results.json".to_owned(), ..first });
    report
}

fn names<'r>(records: &TestRecords<'r>) -> Vec<&'r str> {
    records.files.iter().map(|file| file.name.as_str()).collect()
}

#[test]
fn an_action_has_a_record_of_each_attempt_and_the_last_is_the_first_to_be_read() {
    let mut report = report();
    for _ in 0..2 {
        let records = TestRecords::of(&report, "pytest").expect("it ran");
        assert_eq!(records.run, &report.authenticity.execution_id);
        assert_eq!(names(&records), ["STEP.1-attempt-2-test-results.json", "STEP.1-test-results.json"]);
        // The order of the files in the report must not matter, so the second turn has it reversed.
        report.evidence_files.reverse();
    }
    assert_eq!(TestRecords::of(&report, "eslint"), None, "it has no tests");
    assert_eq!(TestRecords::of(&report, "mypy"), None, "it was not there");
}

#[test]
fn c07_tests_that_were_reused_are_read_in_the_run_that_carried_them_out() {
    let mut report = report();
    let file = |name: &str, action: &str| EvidenceFile {
        name: name.to_owned(),
        kind: EvidenceKind::TestExecutionLog,
        action_id: Some(action.to_owned()),
        bytes: 1,
        sha256: Digest::of(b"1"),
    };
    report.evidence_files.retain(|file| file.action_id.as_deref() != Some("STEP.1"));
    assert_eq!(TestRecords::of(&report, "pytest"), None);
    report.reused.push(ReusedVerdictV2 {
        action_id: ActionId::numbered("STEP", 1),
        run_id: run(41),
        report_hash: Digest::of(b"report"),
        isolation_level: None,
        evidence_files: vec![file("STEP.1-pytest.log", "STEP.1"), file("STEP.1-test-results.json", "STEP.1")],
    });
    let records = TestRecords::of(&report, "pytest").expect("another run carried it out");
    assert_eq!((records.run, names(&records)), (&run(41), vec!["STEP.1-test-results.json"]));
    assert_eq!(TestRecords::of(&report, "eslint"), None);
}

#[test]
fn a_test_is_below_the_directory_the_file_and_the_node_id_it_belongs_to() {
    for (path, test, expected) in [
        ("tests/test_a.py", "tests.test_a::test_x", true),
        ("./tests/test_a.py", "tests.test_a.TestX::test_y[1]", true),
        ("tests", "tests.test_a::test_x", true),
        ("tests/", "tests.deep.test_a::test_x", true),
        ("tests/test_a.py::test_x", "tests.test_a::test_x", true),
        ("tests/test_a.py::test_x", "tests.test_a::test_x[a::b]", true),
        ("tests/test_a.py::TestX", "tests.test_a.TestX::test_y", true),
        ("tests/test_a.py::TestX::test_y", "tests.test_a.TestX::test_y", true),
        ("tests/test_a.py", "tests.test_ab::test_x", false),
        ("tests/test_a.py::test_x", "tests.test_a::test_xy", false),
        ("tests/test_a.py::test_x", "tests.test_b::test_x", false),
        ("test", "tests.test_a::test_x", false),
        ("", "tests.test_a::test_x", false),
        ("--option", "tests.test_a::test_x", false),
    ] {
        assert_eq!(is_below(path, test), expected, "{path} {test}");
    }
}

#[test]
fn only_a_run_with_a_verdict_on_a_plan_says_something_about_its_tests() {
    use proctor_model::{LedgerBody, OverallStatus, RunRecord, TaskId, testing};
    let judged = |result, status, plan: Option<&str>| {
        let time = (Timestamp::from_millis(1), Timestamp::from_millis(2));
        let record = RunRecord::without_verdict(run(1), TaskId::default_task(), Digest::of(b"report"), status, time);
        let plan_digest = plan.map(|plan| Digest::of(plan.as_bytes()));
        let record = RunRecord { overall_result: result, plan_digest, ..record };
        is_judged(&IndexedRun::of_line(&testing::ledger_line(1, LedgerBody::Run(Box::new(record)))).unwrap())
    };
    assert!(judged(Some(OverallResult::Passed), OverallStatus::Success, Some("plan")));
    assert!(judged(Some(OverallResult::Failed), OverallStatus::SpecificationError, Some("plan")));
    assert!(!judged(Some(OverallResult::Failed), OverallStatus::SpecificationError, None));
    assert!(!judged(None, OverallStatus::Interrupted, Some("plan")));
}
