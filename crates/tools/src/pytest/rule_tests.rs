//! One case for each rule, so that a rule that can no longer apply makes a test fail.

use std::collections::BTreeSet;

use crate::interpret::Exited;
use crate::places::Place;
use crate::pytest::rules::{RULES, decide};
use crate::pytest::seen::Seen;
use crate::samples::{Returned, action};
use crate::xml::MAX_BYTES;
use proctor_model::{CategoryCode, CoverageTarget, ReportFileHistory, Timestamp, Tool, ToolReport};

const PASSED: &str = r#"<testcase classname="t" name="a"/>"#;
const FAILED: &str =
    r#"<testcase classname="t" name="b"><failure message="assert 0">t.py:1: AssertionError</failure></testcase>"#;
const SETUP: &str =
    r#"<testcase classname="t" name="e"><error message="failed on setup with &quot;X&quot;">t</error></testcase>"#;
const SKIPPED: &str =
    r#"<testcase classname="t" name="c"><skipped type="pytest.skip" message="no">t.py:1: no</skipped></testcase>"#;
const UNCOLLECTED: &str = r#"<testcase classname="" name="t"><error message="collection failure">E   ModuleNotFoundError: No module named 'm'</error></testcase>"#;
const INTERNAL: &str = r#"<testcase classname="pytest" name="internal"><error message="internal error">x</error></testcase>"#;
const NAMELESS: &str = r#"<testcase time="0.1"/>"#;
const OTHER: &str = r#"<testcase classname="t" name="d"/>"#;
const THREE: &str = "==== test session starts ====\nplatform linux\ncollected 3 items\n\nt.py ...\n==== 3 passed in 0.1s ====\n";
const COVERAGE_LINE: &str = "FAIL Required test coverage of 90% not reached. Total coverage: 66.67%\n1 passed in 0.1s\n";

fn report(tests: usize, cases: &[&str]) -> Returned {
    Returned::pytest(0, &format!(r#"<testsuites><testsuite tests="{tests}">{}</testsuite></testsuites>"#, cases.concat()))
}

fn exit(code: i32, cases: &[&str]) -> Returned {
    let returned = report(cases.len(), cases);
    Returned { end: proctor_model::ActionEnd::Exited { code }, ..returned }
}

fn without(code: i32, report: ToolReport) -> Returned {
    Returned { report, ..exit(code, &[]) }
}

fn inherited(returned: Returned) -> Returned {
    Returned { channel: Some("inherited"), ..returned }
}

fn started_by(command: &str, returned: Returned) -> Returned {
    Returned { action: action(Tool::Pytest, command), ..returned }
}

fn at(millis: i64) -> Option<Timestamp> {
    Some(Timestamp::from_millis(millis))
}

fn written(writes: u32, changed: Option<i64>) -> ReportFileHistory {
    ReportFileHistory { writes: Some(writes), changed: changed.and_then(at) }
}

fn covered(mut returned: Returned, coverage: Option<&str>) -> Returned {
    returned.action.coverage = Some(CoverageTarget { minimum_basis_points: 9000, report: "c.json".to_owned() });
    returned.coverage = coverage.map_or(ToolReport::Missing, |text| ToolReport::Fresh(text.as_bytes().to_vec()));
    returned
}

fn cases() -> Vec<(&'static str, Returned, CategoryCode)> {
    let low = Some(r#"{"totals":{"percent_covered":66.6}}"#);
    let high = Some(r#"{"totals":{"percent_covered":96.6}}"#);
    vec![
        (
            "printed summary contradicts the report",
            exit(0, &[PASSED, OTHER]).saying("F.\n==== 1 failed, 1 passed in 0.1s ====\n", ""),
            CategoryCode::Inconsistent,
        ),
        (
            "the session of the report is not the one that was started",
            exit(0, &[PASSED]).saying("\n", ""),
            CategoryCode::Inconsistent,
        ),
        (
            "the session of the report is not the one that was started",
            exit(0, &[PASSED]).saying("==== test session starts ====\nplatform linux\n", ""),
            CategoryCode::Inconsistent,
        ),
        (
            "report written more than once",
            Returned { report_file: written(2, None), ..exit(0, &[PASSED]) },
            CategoryCode::Inconsistent,
        ),
        (
            "report changed after the last line",
            Returned {
                report_file: written(1, Some(5)),
                last_output: at(4),
                ..exit(0, &[PASSED]).saying("1 passed in 0.1s\n", "")
            },
            CategoryCode::Inconsistent,
        ),
        // The clock of a file may be some milliseconds behind, never ahead.
        (
            "passed",
            Returned {
                report_file: written(1, Some(5)),
                last_output: at(5),
                ..exit(0, &[PASSED]).saying("1 passed in 0.1s\n", "")
            },
            CategoryCode::TestsPassed,
        ),
        // Without the last line, it is not known when the session ended.
        (
            "passed",
            Returned { report_file: written(1, Some(5)), last_output: at(4), ..exit(0, &[PASSED]) },
            CategoryCode::TestsPassed,
        ),
        ("passed", inherited(started_by("npm run test:py", exit(0, &[PASSED])).saying("", "")), CategoryCode::TestsPassed),
        (
            "passed",
            started_by("bash -c 'pytest --junitxml=a.xml >log'", exit(0, &[PASSED])).saying("", ""),
            CategoryCode::TestsPassed,
        ),
        (
            "pytest-timeout ended pytest",
            without(1, ToolReport::Missing).saying("+++ Timeout +++\n~~~ Stack of MainThread (1) ~~~\n+++ Timeout +++\n", ""),
            CategoryCode::TimedOut,
        ),
        ("a wrapper passed a signal on", exit(139, &[PASSED]), CategoryCode::Signalled),
        ("an exit code pytest does not have", exit(7, &[PASSED]), CategoryCode::UnknownExit),
        (
            "conftest cannot be imported",
            without(4, ToolReport::Missing).saying("", "ImportError while loading conftest '/project/conftest.py'."),
            CategoryCode::ConftestError,
        ),
        ("internal error", exit(3, &[INTERNAL]), CategoryCode::InternalError),
        ("internal error", exit(1, &[INTERNAL]), CategoryCode::InternalError),
        ("internal error", without(3, ToolReport::Missing), CategoryCode::InternalError),
        ("collection errors", exit(2, &[UNCOLLECTED, PASSED]), CategoryCode::CollectionError),
        ("collection errors", exit(4, &[UNCOLLECTED]), CategoryCode::CollectionError),
        ("usage error", exit(4, &[]), CategoryCode::UsageError),
        ("tests failed behind a wrapper that gives 2", inherited(exit(2, &[FAILED])), CategoryCode::TestsFailed),
        ("tests failed behind a text", inherited(started_by("make test", exit(2, &[FAILED, PASSED]))), CategoryCode::TestsFailed),
        ("tests failed behind a text", inherited(started_by("poe test", exit(9, &[FAILED]))), CategoryCode::TestsFailed),
        ("an exit code of a text", inherited(started_by("make test", exit(2, &[PASSED]))), CategoryCode::UnexpectedExit),
        ("an exit code of a text", inherited(started_by("poe test", exit(5, &[]))), CategoryCode::UnexpectedExit),
        (
            "an exit code of a text",
            inherited(started_by("make test", without(2, ToolReport::Missing))).saying("", "make: *** No rule to make target"),
            CategoryCode::UnexpectedExit,
        ),
        ("collection errors", inherited(started_by("make test", exit(2, &[UNCOLLECTED]))), CategoryCode::CollectionError),
        (
            "several sessions behind a text",
            inherited(started_by("make test", exit(0, &[PASSED]))).saying("1 passed in 0.1s\n1 passed in 0.1s\n", ""),
            CategoryCode::Inconsistent,
        ),
        ("interrupted", exit(2, &[PASSED, FAILED]), CategoryCode::Interrupted),
        ("interrupted", inherited(exit(2, &[FAILED, NAMELESS])), CategoryCode::Interrupted),
        ("interrupted", without(2, ToolReport::Missing), CategoryCode::Interrupted),
        ("report too large", without(0, ToolReport::Fresh(vec![b' '; MAX_BYTES + 1])), CategoryCode::OutputTooLarge),
        ("report unreadable", without(0, ToolReport::Fresh(b"<testsuites>".to_vec())), CategoryCode::ReportUnreadable),
        ("report unreadable", without(1, ToolReport::Refused("it is a link".to_owned())), CategoryCode::ReportUnreadable),
        ("report missing", without(0, ToolReport::Missing), CategoryCode::ReportMissing),
        ("report missing", without(1, ToolReport::NotRequested), CategoryCode::ReportMissing),
        ("report missing", without(5, ToolReport::Missing), CategoryCode::ReportMissing),
        ("tests were only planned", report(0, &[PASSED]), CategoryCode::NoTestsExecuted),
        ("report cut short", exit(0, &[PASSED, NAMELESS]), CategoryCode::ReportIncomplete),
        ("report cut short", exit(1, &[FAILED, NAMELESS]), CategoryCode::ReportIncomplete),
        ("report cut short", report(1, &[PASSED, SKIPPED]), CategoryCode::ReportIncomplete),
        ("exit code contradicts failures or passes", exit(0, &[PASSED, FAILED]), CategoryCode::Inconsistent),
        ("exit code contradicts failures or passes", exit(0, &[PASSED, SETUP]), CategoryCode::Inconsistent),
        ("exit code contradicts failures or passes", exit(6, &[FAILED]), CategoryCode::Inconsistent),
        ("exit code contradicts failures or passes", exit(5, &[PASSED]), CategoryCode::Inconsistent),
        ("nothing collected", exit(5, &[]), CategoryCode::NoTestsCollected),
        ("nothing collected", exit(5, &[SKIPPED]), CategoryCode::NoTestsCollected),
        ("only collection errors", exit(1, &[UNCOLLECTED, PASSED]), CategoryCode::CollectionError),
        ("tests failed", exit(1, &[FAILED, PASSED]), CategoryCode::TestsFailed),
        ("tests failed", exit(1, &[SETUP]), CategoryCode::TestsFailed),
        ("tests failed", exit(1, &[UNCOLLECTED, FAILED]), CategoryCode::TestsFailed),
        ("nothing collected, and coverage hides it", exit(1, &[]).saying(COVERAGE_LINE, ""), CategoryCode::NoTestsCollected),
        ("nothing passed", exit(0, &[]), CategoryCode::NoTestsExecuted),
        ("nothing passed", exit(0, &[SKIPPED]), CategoryCode::NoTestsExecuted),
        ("nothing passed", exit(6, &[SKIPPED]), CategoryCode::NoTestsExecuted),
        ("nothing passed", exit(1, &[SKIPPED]).saying(COVERAGE_LINE, ""), CategoryCode::NoTestsExecuted),
        ("fewer tests reported than collected", exit(0, &[PASSED, SKIPPED]).saying(THREE, ""), CategoryCode::ReportIncomplete),
        ("fewer tests reported than collected", exit(6, &[PASSED]).saying(THREE, ""), CategoryCode::ReportIncomplete),
        ("passed", exit(0, &[PASSED, SKIPPED, OTHER]).saying(THREE, ""), CategoryCode::TestsPassed),
        ("passed", inherited(exit(0, &[PASSED])).saying(THREE, ""), CategoryCode::TestsPassed),
        // For a test that is named twice on the command line, pytest counts two tests and lists one. The run still
        // passes.
        ("passed", report(3, &[PASSED, SKIPPED]).saying(THREE, ""), CategoryCode::TestsPassed),
        ("tests failed", exit(1, &[FAILED]).saying(THREE, ""), CategoryCode::TestsFailed),
        ("coverage below target", exit(1, &[PASSED]).saying(COVERAGE_LINE, ""), CategoryCode::CoverageBelowTarget),
        ("coverage below target", covered(exit(0, &[PASSED]), low), CategoryCode::CoverageBelowTarget),
        ("coverage below target", covered(exit(1, &[PASSED]), low), CategoryCode::CoverageBelowTarget),
        ("failed outside tests", exit(1, &[PASSED]), CategoryCode::FailedOutsideTests),
        ("failed outside tests", exit(1, &[]), CategoryCode::FailedOutsideTests),
        ("too many warnings", exit(6, &[PASSED]), CategoryCode::MaxWarnings),
        ("coverage report missing", covered(exit(0, &[PASSED]), None), CategoryCode::ReportMissing),
        ("coverage report unreadable", covered(exit(0, &[PASSED]), Some("{}")), CategoryCode::ReportUnreadable),
        ("passed", covered(exit(0, &[PASSED, SKIPPED]), high), CategoryCode::TestsPassed),
        ("passed", exit(0, &[PASSED]).saying(COVERAGE_LINE, ""), CategoryCode::TestsPassed),
    ]
}

fn rule_of(returned: &Returned) -> &'static str {
    let exited = Exited {
        code: returned.end.exit_code().expect("every case is an exit"),
        action: &returned.action,
        stdout: returned.stdout.text(),
        stderr: returned.stderr.text(),
        stdout_is_complete: true,
        stderr_is_complete: true,
        place: Place { root: std::path::Path::new("/project"), directory: std::path::Path::new("") },
        names_in: |_| Vec::new(),
    };
    returned.with_input(|input| decide(&Seen::collect(&exited, input, returned.channel)).0.name)
}

#[test]
fn every_rule_decides_a_case() {
    let mut decided = BTreeSet::new();
    for (number, (rule, returned, category)) in cases().into_iter().enumerate() {
        let interpretation = returned.interpret();
        assert_eq!((rule_of(&returned), interpretation.category), (rule, category), "case {number}: {}", interpretation.reason);
        assert!(!interpretation.reason.is_empty(), "{rule}");
        decided.insert(rule);
    }
    let all: BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(decided, all);
}

#[test]
fn reasons_name_what_was_found() {
    let reason = |returned: Returned| returned.interpret().reason;
    assert_eq!(reason(exit(1, &[FAILED, PASSED])), "1 of 2 tests failed: t::b: assert 0");
    let collection = exit(2, &[UNCOLLECTED]).interpret();
    assert_eq!(collection.reason, "1 module(s) could not be collected: t: ModuleNotFoundError: No module named 'm'");
    assert_eq!((collection.missing_modules, collection.only_missing_modules), (vec!["m".to_owned()], true));
    assert_eq!(reason(exit(0, &[PASSED, SKIPPED])), "1 passed, 0 failed, 1 skipped");
}

#[test]
fn doubles_of_a_test_are_one_test() {
    let teardown = FAILED.replace("failure", "error");
    let double = report(2, &[FAILED, &teardown]).interpret();
    let results = double.test_results.expect("a report");
    assert_eq!((results.counts.failed, results.total, results.failures.len()), (1, 1, 1));
    let rerun = report(1, &[PASSED, PASSED]).interpret();
    assert_eq!(rerun.category, CategoryCode::TestsFailed, "{}", rerun.reason);
    assert!(report(2, &[PASSED, PASSED]).interpret().warnings.is_empty(), "the same test asked for twice is no rerun");
    let unnamed = report(1, &[PASSED]).saying("1 passed, 1 retried in 0.01s\n", "").interpret();
    assert!(
        unnamed.reason.starts_with("1 of 1 tests failed, and passed only when they were tried again: 1 without"),
        "{unnamed:?}"
    );
    let mut accepting = report(1, &[PASSED, PASSED]);
    accepting.action.retry_attempts = 1;
    let accepted = accepting.interpret();
    let said = (accepted.category, accepted.reason.as_str(), accepted.warnings.len());
    assert_eq!(said, (CategoryCode::TestsPassed, "1 passed (1 of them flaky), 0 failed, 0 skipped", 1));
    let subtests = report(4, &[FAILED]);
    assert_eq!(
        Returned { end: proctor_model::ActionEnd::Exited { code: 1 }, ..subtests }.interpret().category,
        CategoryCode::TestsFailed
    );
}

#[test]
fn a_missing_pytest_is_not_a_failed_test() {
    let absent = Returned::exited(Tool::Pytest, "python -m pytest", 1).saying("", "/usr/bin/python3: No module named pytest\n");
    assert_eq!(absent.interpret().category, CategoryCode::ToolNotFound);
    let printed = exit(1, &[FAILED]).saying("", "x: No module named pytest\n");
    assert_eq!(printed.interpret().category, CategoryCode::TestsFailed, "a report proves that pytest ran");
}
