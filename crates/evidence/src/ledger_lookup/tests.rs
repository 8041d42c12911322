//! Single lines of a ledger are found by their number, and a changed line is refused.

use crate::testing::{TestStore, asker, now, put, record, run_id};
use crate::{EvidenceError, Ledger, LedgerLookup, LineProblem, read_signed_lines};
use proctor_model::{LedgerBody, OverallStatus, Sequence};

const LINES: u64 = 40;

fn filled() -> TestStore {
    let test = TestStore::new();
    let mut ledger = Ledger::open(&test.lock()).unwrap();
    for number in 1..=LINES {
        // Lines of different lengths: the third is longer than the chunks that are read.
        let report = vec![b'x'; if number == 3 { 40_000 } else { usize::try_from(number).unwrap() * 7 }];
        let mut record = record(&run_id(number), &test.task, &report, OverallStatus::Success);
        record.checks = vec![String::from_utf8(report).unwrap()];
        ledger.append(LedgerBody::Run(Box::new(record)), &asker(), now()).unwrap();
    }
    test
}

fn problem<T: std::fmt::Debug>(result: Result<T, EvidenceError>) -> LineProblem {
    match result {
        Err(EvidenceError::LedgerLine { problem, .. }) => problem,
        other => panic!("{other:?}"),
    }
}

/// Replaces the ledger by lines of which one is changed by `change`.
fn with_change(test: &TestStore, number: usize, change: impl Fn(&str) -> String) {
    let path = test.store.ledger_path(&test.project);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<String> =
        text.lines().enumerate().map(|(place, line)| if place + 1 == number { change(line) } else { line.to_owned() }).collect();
    put(&path, format!("{}\n", lines.join("\n")).as_bytes());
}

#[test]
fn every_line_is_found_by_its_number_and_from_the_end() {
    let test = filled();
    let ledger = LedgerLookup::open(&test.store, &test.project).unwrap();
    for number in 1..=LINES {
        assert_eq!(ledger.find(Sequence(number)).unwrap().unwrap().sequence, Sequence(number));
    }
    for absent in [0, LINES + 1, u64::MAX] {
        assert_eq!(ledger.find(Sequence(absent)).unwrap(), None);
    }
    let newest: Vec<u64> = ledger.newest().map(|line| line.unwrap().sequence.0).collect();
    assert_eq!(newest, (1..=LINES).rev().collect::<Vec<_>>());
    let signed = read_signed_lines(&test.store, &test.project, 0, |_| true).unwrap();
    assert_eq!(signed.filter(Result::is_ok).count() as u64, LINES);
}

#[test]
fn a_project_without_a_ledger_has_no_lines() {
    let test = TestStore::new();
    let ledger = LedgerLookup::open(&test.store, &test.project).unwrap();
    assert_eq!((ledger.find(Sequence(1)).unwrap(), ledger.newest().count()), (None, 0));
}

#[test]
fn a_changed_line_is_refused_by_every_way_of_reading_it() {
    let test = filled();
    with_change(&test, 20, |line| line.replacen("\"blocking\":0", "\"blocking\":7", 1));
    let ledger = LedgerLookup::open(&test.store, &test.project).unwrap();
    assert!(matches!(problem(ledger.find(Sequence(20))), LineProblem::WrongSignature { .. }));
    assert_eq!(problem(ledger.find(Sequence(21))), LineProblem::BrokenChain);
    assert_eq!(problem(ledger.find(Sequence(19)).and(ledger.find(Sequence(21)))), LineProblem::BrokenChain);
    assert!(ledger.find(Sequence(30)).unwrap().is_some(), "neither this line nor its neighbours were changed");
    let newest: Result<Vec<_>, _> = ledger.newest().collect();
    assert!(matches!(problem(newest), LineProblem::WrongSignature { .. }));
    let signed: Result<Vec<_>, _> = read_signed_lines(&test.store, &test.project, 0, |_| true).unwrap().collect();
    assert!(matches!(problem(signed), LineProblem::WrongSignature { .. }));
}

#[test]
fn a_line_without_its_signature_and_a_line_of_another_place_are_refused() {
    let test = filled();
    with_change(&test, 40, |line| format!("{}}}", line.rsplit_once(",\"signature\"").unwrap().0));
    let ledger = LedgerLookup::open(&test.store, &test.project).unwrap();
    assert!(matches!(problem(ledger.find(Sequence(40))), LineProblem::Unsigned { .. }));

    // The line is signed, but it stands behind another line than the one it names.
    let other = filled();
    let lines = std::fs::read_to_string(other.store.ledger_path(&other.project)).unwrap();
    let kept: Vec<&str> = lines.lines().enumerate().filter(|(place, _)| *place != 9).map(|(_, line)| line).collect();
    put(&other.store.ledger_path(&other.project), format!("{}\n", kept.join("\n")).as_bytes());
    let ledger = LedgerLookup::open(&other.store, &other.project).unwrap();
    assert_eq!(problem(ledger.find(Sequence(11))), LineProblem::BrokenChain);
    let newest: Result<Vec<_>, _> = ledger.newest().collect();
    assert!(matches!(problem(newest), LineProblem::WrongSequence { .. }));
}

#[test]
fn reading_goes_on_only_behind_the_line_that_was_read_before() {
    let test = filled();
    let path = test.store.ledger_path(&test.project);
    let end = std::fs::metadata(&path).unwrap().len();
    assert_eq!(read_signed_lines(&test.store, &test.project, end, |line| line.sequence.0 == LINES).unwrap().count(), 0);
    assert_eq!(problem(read_signed_lines(&test.store, &test.project, end, |_| false).map(|_| ())), LineProblem::Replaced);
    with_change(&test, 40, |line| line.replacen("\"blocking\":0", "\"blocking\":7", 1));
    assert!(read_signed_lines(&test.store, &test.project, end, |_| true).is_err());
}
