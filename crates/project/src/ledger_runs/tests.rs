//! What decides is read from checked lines of the ledger, whatever the rows of the index say.

use std::fs;

use rusqlite::Connection;

use super::*;
use crate::checked_index::catch_up;
use crate::repaired_index::open_index;
use proctor_evidence::testing::new_store;
use proctor_evidence::{EvidenceError, Ledger, WaitDecision};
use proctor_model::{Asker, LedgerBody, PruneRecord, PrunedRun, Serving, ServingRecord, Timestamp};

/// A store with a project whose ledger has lines of these bodies.
struct Lines {
    store: Store,
    project: ProjectId,
    _directory: tempfile::TempDir,
}

fn asker() -> Asker {
    Asker { pid: 1, uid: 0, executable: None, terminal: None }
}

fn time() -> Timestamp {
    Timestamp::from_millis(1_772_616_600_120)
}

fn id(number: u64) -> RunId {
    RunId::new(time(), number)
}

fn record(number: u64, inputs: &str) -> RunRecord {
    let task = TaskId::default_task();
    let status = OverallStatus::Success;
    let record = RunRecord::without_verdict(id(number), task, Digest::of(b"report"), status, (time(), time()));
    RunRecord { inputs: [("check".to_owned(), Digest::of(inputs.as_bytes()))].into(), ..record }
}

fn run(number: u64) -> LedgerBody {
    LedgerBody::Run(Box::new(record(number, "inputs")))
}

fn other() -> LedgerBody {
    LedgerBody::Serving(ServingRecord { serving: Serving::Served })
}

fn pruned(number: u64) -> LedgerBody {
    let (task, manifest_hash) = (TaskId::default_task(), Digest::of(b""));
    LedgerBody::Pruned(PruneRecord { runs: vec![PrunedRun { run_id: id(number), task, manifest_hash, why: PruneReason::Runs }] })
}

impl Lines {
    fn of(bodies: impl IntoIterator<Item = LedgerBody>) -> Self {
        let (store, directory) = new_store();
        let project = ProjectId::try_from("shop-00000001").unwrap();
        let lines = Self { store, project, _directory: directory };
        let mut attempts = 0;
        // A child that another test starts keeps a copy of the lock's descriptor until it calls exec.
        let lock = lines.store.lock(&lines.project, &mut || {
            attempts += 1;
            if attempts < 500 { WaitDecision::GoOn } else { WaitDecision::GiveUp }
        });
        let mut ledger = Ledger::open(&lock.unwrap()).unwrap();
        bodies.into_iter().for_each(|body| drop(ledger.append(body, &asker(), time()).unwrap()));
        lines
    }

    fn lookup(&self) -> LedgerLookup {
        LedgerLookup::open(&self.store, &self.project).unwrap()
    }

    fn numbered(&self, number: u64) -> Option<u64> {
        let found = run_with_number(&self.store, &self.lookup(), &self.project, number);
        found.unwrap().map(|run| run.sequence.0)
    }

    /// Changes a line so that its signature is wrong.
    fn damage(&self, number: usize) {
        let path = self.store.ledger_path(&self.project);
        let text = fs::read_to_string(&path).unwrap();
        let changed = text.lines().enumerate().map(|(place, line)| {
            let uid = if place + 1 == number { "\"uid\":7" } else { "\"uid\":0" };
            line.replacen("\"uid\":0", uid, 1)
        });
        fs::write(&path, changed.map(|line| line + "\n").collect::<String>()).unwrap();
    }
}

#[test]
fn a_run_of_an_older_store_is_found_by_its_number_at_the_first_line_about_a_run_from_there_on() {
    // The third run was superseded by nothing; its process died, so that its line came late.
    let lines = Lines::of([other(), run(2), other(), other(), run(3), run(6), other()]);
    let found: Vec<_> = (0..9).map(|number| lines.numbered(number)).collect();
    assert_eq!(found, [None, None, Some(2), Some(5), None, None, Some(6), None, None]);
    assert_eq!(lines.numbered(u64::MAX), None);
    assert_eq!(run_of_ledger(&lines.store, &lines.project, &id(3)).unwrap().map(|run| run.sequence.0), Some(5));
    let elsewhere = RunId::new(Timestamp::from_millis(9), 3);
    assert_eq!(run_of_ledger(&lines.store, &lines.project, &elsewhere).unwrap(), None);
}

#[test]
fn runs_that_are_counted_are_found_by_their_number_and_follow_those_of_an_older_store() {
    let lines = Lines::of([other(), run(1), other(), other(), run(2), run(3), other(), run(4), other()]);
    assert_eq!(lines.lookup().next_run_number(), 5);
    let found: Vec<_> = (0..7).map(|number| lines.numbered(number)).collect();
    assert_eq!(found, [None, Some(2), Some(5), Some(6), Some(8), None, None]);
    // The lines between the beginning of the run 2 and its own let the first jump go too far.
    let lines = Lines::of([other(), other(), other(), run(2), run(5), run(6), other(), run(7)]);
    let found: Vec<_> = (2..9).map(|number| lines.numbered(number)).collect();
    assert_eq!(found, [Some(4), None, None, Some(5), Some(6), Some(8), None]);
    assert_eq!(Lines::of([other(), other()]).lookup().next_run_number(), 1, "a registration is no run");
}

#[test]
fn where_the_last_run_cannot_be_read_the_next_has_the_number_of_its_line() {
    let lines = Lines::of([other(), run(1), run(2)]);
    lines.damage(3);
    assert_eq!(lines.lookup().next_run_number(), 4);
}

#[test]
fn a_run_that_does_not_exist_costs_a_look_at_a_few_lines() {
    let lines = Lines::of((1..=60).map(|number| if number % 10 == 0 { other() } else { run(number) }));
    // Whoever reads the line from the beginning or from the end comes across a damaged one.
    lines.damage(2);
    lines.damage(59);
    for absent in [30, 61, 1_000_000] {
        assert_eq!(lines.numbered(absent), None, "{absent}");
    }
    assert_eq!(lines.numbered(31), Some(31));
    let read = run_with_number(&lines.store, &lines.lookup(), &lines.project, 59);
    assert!(matches!(read, Err(ProjectError::Evidence(EvidenceError::LedgerLine { line: 59, .. }))), "{read:?}");
}

#[test]
fn runs_come_newest_first_with_the_limit_that_pruned_them() {
    let lines = Lines::of([run(1), run(2), pruned(1), run(4)]);
    let ledger = lines.lookup();
    let mut runs = LedgerRuns::newest(&ledger);
    let mut seen = Vec::new();
    while let Some(run) = runs.next() {
        let run = run.unwrap();
        seen.push((run.run_id.number(), runs.pruned(&run.run_id)));
    }
    assert_eq!(seen, [(4, None), (2, None), (1, Some(PruneReason::Runs))]);
    assert_eq!(pruned_since(&lines.store, &lines.project, &id(1)).unwrap(), Some(PruneReason::Runs));
    assert_eq!(pruned_since(&lines.store, &lines.project, &id(2)).unwrap(), None);
}

#[test]
fn a_run_is_reused_only_if_its_own_line_has_the_inputs_and_no_later_line_has() {
    let bodies = [record(1, "green"), record(2, "red"), record(3, "other"), record(4, "red")];
    let lines = Lines::of(bodies.map(|record| LedgerBody::Run(Box::new(record))));
    let mut index = open_index(&lines.store).unwrap().index;
    catch_up(&lines.store, &mut index, &lines.project).unwrap();
    let task = TaskId::default_task();
    let found = |inputs: &str| {
        let inputs = Digest::of(inputs.as_bytes());
        run_on_inputs(&lines.store, &index, &lines.project, &task, "check", inputs).unwrap().map(|run| run.sequence.0)
    };
    assert_eq!((found("green"), found("red"), found("other")), (Some(1), Some(4), Some(3)));
    let red = Digest::of(b"red").hex();
    for (planted, what) in [(1, "a run on other inputs"), (2, "an earlier run on the same inputs"), (9, "no run")] {
        let change = format!("UPDATE inputs SET sequence = {planted} WHERE digest = '{red}'");
        let changed = Connection::open(lines.store.index_path()).unwrap().execute(&change, []).unwrap();
        assert_eq!((changed, found("red")), (1, None), "{what}");
    }
    let rows = index.runs(&lines.project, None, store::RunsJudgedBy::AnyRules, 9).unwrap();
    let ledger = lines.lookup();
    let line_of = |row: &IndexedRun| ledger.find(row.sequence).unwrap().expect("its line");
    assert!(rows.iter().all(|row| is_told_by(&line_of(row), row)));
    let forged = IndexedRun { blocking: 7, ..rows[2].clone() };
    assert!(!is_told_by(&line_of(&forged), &forged));
    assert!(!is_told_by(&line_of(&rows[1]), &rows[2]), "a line about another run");
}
