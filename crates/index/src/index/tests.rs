//! Tests of damage at every position in the index file. Damage is found when the damaged part is read.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::mpsc::channel;

use crate::testing::{TestIndex, everything_counts, project, run_record, task};
use crate::{AllLedgerLines, IndexError, IndexRepair, RunsJudgedBy, StoreIndex};
use proctor_model::OverallStatus;

const PAGE: u64 = 1024;
const SHOP: &str = "shop-00000001";

/// Returns the answers to some queries about a project, as text, to compare two indexes.
fn answers(index: &StoreIndex) -> Result<String, IndexError> {
    let (shop, default) = (project(SHOP), task("default"));
    let runs = index.runs(&shop, None, RunsJudgedBy::AnyRules, 1000)?;
    let asked = (
        index.position(&shop)?,
        index.projects()?,
        index.tasks(&shop)?,
        index.last_run(&shop, &default, RunsJudgedBy::AnyRules)?,
    );
    Ok(format!("{runs:?} {asked:?} {:?}", index.tdd(&shop, &default)?))
}

/// Returns an index of several pages without a write-ahead log, and the lines that it was made from.
fn filled() -> (TestIndex, AllLedgerLines) {
    let mut test = TestIndex::new();
    for number in 1..=60 {
        test.append_run(SHOP, run_record(number, "default", OverallStatus::Success));
    }
    let lines: AllLedgerLines = test.lines.iter().map(|(project, lines)| (project.clone(), lines.clone())).collect();
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    test.index.tables.borrow().as_ref().unwrap().connection.query_row(checkpoint, [], |_| Ok(())).unwrap();
    (test, lines)
}

fn mending(lines: &AllLedgerLines, done: impl Fn(&Path) + Send + 'static) -> IndexRepair {
    let lines = lines.clone();
    IndexRepair { lines: Box::new(move || lines.clone()), done: Box::new(done) }
}

#[test]
fn a_damaged_page_anywhere_is_mended_when_it_is_read_and_said_once() {
    let (sound, lines) = filled();
    let expected = answers(&sound.index).unwrap();
    let bytes = fs::read(&sound.path).unwrap();
    let (mut at_opening, mut when_read) = (0, 0);
    for page in 0..bytes.len() as u64 / PAGE {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        fs::copy(&sound.path, &path).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&vec![0xa5; PAGE as usize], page * PAGE).unwrap();
        let opened = StoreIndex::open(&path, everything_counts).unwrap();
        let mut index = opened.index;
        if opened.set_aside.is_some() {
            at_opening += 1;
            continue;
        }
        let (say, said) = channel();
        index.repair_with(mending(&lines, move |aside| say.send(aside.to_owned()).unwrap()));
        assert_eq!(answers(&index).unwrap(), expected, "page {page}");
        assert_eq!(answers(&index).unwrap(), expected, "page {page}");
        drop(index);
        let said: Vec<_> = said.into_iter().collect();
        when_read += said.len();
        assert!(said.len() <= 1, "page {page}: {said:?}");
        assert!(said.iter().all(|aside| aside.is_file()), "page {page}: {said:?}");
        assert_eq!(
            answers(&StoreIndex::open(&path, everything_counts).unwrap().index).unwrap(),
            expected,
            "page {page}: it is kept"
        );
    }
    assert!(at_opening > 3 && when_read > 3, "{at_opening} at the opening, {when_read} when it was read");
}

#[test]
fn a_value_that_nobody_wrote_is_mended_and_without_the_lines_it_is_an_error() {
    let (mut test, lines) = filled();
    let expected = answers(&test.index).unwrap();
    let spoil = |index: &StoreIndex| {
        index
            .tables
            .borrow()
            .as_ref()
            .unwrap()
            .connection
            .execute("UPDATE runs SET status = 'FINE' WHERE sequence = 7", [])
            .unwrap();
    };
    spoil(&test.index);
    assert!(matches!(answers(&test.index), Err(IndexError::Value { .. })));
    test.index.repair_with(mending(&lines, |_| ()));
    assert_eq!(answers(&test.index).unwrap(), expected);
    test.append_run(SHOP, run_record(61, "default", OverallStatus::Failed));
    assert!(answers(&test.index).unwrap().contains("Failed"), "the new one goes on");
}

#[test]
fn an_index_that_another_process_has_mended_is_not_set_aside_again() {
    let (mut test, lines) = filled();
    let expected = answers(&test.index).unwrap();
    let mut other = StoreIndex::open(&test.path, everything_counts).unwrap().index;
    let spoil = "UPDATE runs SET status = 'FINE' WHERE sequence = 7";
    test.index.tables.borrow().as_ref().unwrap().connection.execute(spoil, []).unwrap();
    test.index.repair_with(mending(&lines, |_| ()));
    other.repair_with(mending(&lines, |_| panic!("it was mended before")));
    assert_eq!(answers(&test.index).unwrap(), expected);
    assert_eq!(answers(&other).unwrap(), expected);
    let names = fs::read_dir(test.path.parent().unwrap()).unwrap().flatten();
    let aside = names.filter(|entry| entry.file_name().to_string_lossy().contains("corrupt")).count();
    assert!(aside > 0 && !test.path.with_extension("db.corrupt-2").exists());
}
