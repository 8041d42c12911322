//! Tests of opening the index file: files of other versions, damaged files, two processes that open it at once.

use std::os::unix::fs::PermissionsExt;
use std::thread;

use crate::schema::VERSION;
use crate::tables::set_aside;
use crate::testing::{TestIndex, everything_counts, line, project, run_record};
use crate::{IndexError, RunsJudgedBy, StoreIndex};
use proctor_model::{LedgerBody, OverallStatus};

#[test]
fn an_index_is_private_and_kept() {
    let mut test = TestIndex::new();
    test.append_run("shop-00000001", run_record(1, "default", OverallStatus::Success));
    let mode = test.path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let again = StoreIndex::open(&test.path, everything_counts).unwrap();
    assert_eq!(again.set_aside, None);
    assert_eq!(again.index.runs(&project("shop-00000001"), None, RunsJudgedBy::AnyRules, 10).unwrap().len(), 1);
    let setting = |name: &str| {
        again
            .index
            .tables
            .borrow()
            .as_ref()
            .unwrap()
            .connection
            .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
    };
    assert_eq!(setting("journal_mode").unwrap(), rusqlite::types::Value::Text("wal".to_owned()));
    assert_eq!(setting("synchronous").unwrap(), rusqlite::types::Value::Integer(1));
}

#[test]
fn a_newer_version_is_refused_and_left_as_it_is() {
    let test = TestIndex::new();
    test.index.tables.borrow().as_ref().unwrap().connection.pragma_update(None, "user_version", 99).unwrap();
    match StoreIndex::open(&test.path, everything_counts) {
        Err(IndexError::Newer { found, known, .. }) => assert_eq!((found, known), (99, VERSION)),
        other => panic!("{other:?}"),
    }
    assert!(test.path.exists());
}

#[test]
fn an_empty_file_becomes_an_index() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    std::fs::File::create(&path).unwrap();
    let opened = StoreIndex::open(&path, everything_counts).unwrap();
    assert_eq!((opened.set_aside, opened.index.projects().unwrap()), (None, vec![]));
}

#[test]
fn what_is_no_database_is_set_aside_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    for number in 1..=2 {
        let garbage = "no database ".repeat(1000);
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), garbage.as_bytes()).unwrap();
        let opened = StoreIndex::open(&path, everything_counts).unwrap();
        let aside = directory.path().join(format!("state.db.corrupt-{number}"));
        assert_eq!(opened.set_aside.as_ref(), Some(&aside));
        assert_eq!(std::fs::read(&aside).unwrap(), garbage.as_bytes());
        assert_eq!(opened.index.position(&project("shop-00000001")).unwrap(), None);
        close_with_everything_in_one_file(opened.index);
        assert_eq!(StoreIndex::open(&path, everything_counts).unwrap().set_aside, None);
        close_with_everything_in_one_file(StoreIndex::open(&path, everything_counts).unwrap().index);
    }
}

#[test]
fn damage_deep_inside_shows_as_such_and_can_be_set_aside() {
    let mut test = TestIndex::new();
    for number in 1..=300 {
        test.append_run("shop-00000001", run_record(number, "default", OverallStatus::Success));
    }
    let TestIndex { index, path, _directory, .. } = test;
    close_with_everything_in_one_file(index);
    let mut bytes = std::fs::read(&path).unwrap();
    // The newest rows are in the last pages.
    let last_pages = bytes.len() / 4096 * 3 * 1024;
    bytes[last_pages..].fill(0xff);
    std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), &bytes).unwrap();
    let opened = StoreIndex::open(&path, everything_counts).unwrap();
    let refused = opened.index.runs(&project("shop-00000001"), None, RunsJudgedBy::AnyRules, 10);
    assert!(matches!(refused, Err(IndexError::Corrupt { .. })), "{refused:?}");
    drop(opened);
    let aside = set_aside(&path).unwrap();
    assert!(aside.ends_with("state.db.corrupt-1"));
    assert_eq!(StoreIndex::open(&path, everything_counts).unwrap().index.projects().unwrap(), []);
}

#[test]
fn a_damaged_list_of_tables_and_lost_tables_are_set_aside_at_once() {
    for damaged in [100..4096, 4096..usize::MAX] {
        let test = TestIndex::new();
        let TestIndex { index, path, _directory, .. } = test;
        close_with_everything_in_one_file(index);
        let mut bytes = std::fs::read(&path).unwrap();
        let end = damaged.end.min(bytes.len());
        bytes[damaged.start..end].fill(0xff);
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), &bytes).unwrap();
        assert!(StoreIndex::open(&path, everything_counts).unwrap().set_aside.is_some(), "{damaged:?}");
    }
}

#[test]
fn several_may_open_a_new_index_at_once() {
    for _ in 0..40 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let openings: Vec<_> = (0..6)
            .map(|_| {
                let path = path.clone();
                thread::spawn(move || StoreIndex::open(&path, everything_counts).map(|opened| opened.set_aside))
            })
            .collect();
        for opening in openings {
            assert_eq!(opening.join().unwrap().unwrap(), None);
        }
    }
}

#[test]
fn the_write_ahead_log_outlives_the_last_connection_and_stays_short() {
    let test = TestIndex::new();
    let wal = test.path.with_extension("db-wal");
    let TestIndex { index, path, _directory, .. } = test;
    drop(index);
    let shop = project("shop-00000001");
    let mut lengths = Vec::new();
    for before in 0..100 {
        let mut index = StoreIndex::open(&path, everything_counts).unwrap().index;
        let record = run_record(before as u64 + 1, "default", OverallStatus::Success);
        index.apply(&shop, &[line(before, LedgerBody::Run(Box::new(record)))]).unwrap();
        drop(index);
        lengths.push(wal.metadata().unwrap().len());
    }
    assert!(lengths.windows(2).any(|pair| 0 < pair[0] && pair[0] < pair[1]), "nothing is moved at most closings: {lengths:?}");
    assert!(lengths.iter().all(|length| *length <= 512 * 1024), "{lengths:?}");
    assert_eq!(
        StoreIndex::open(&path, everything_counts).unwrap().index.runs(&shop, None, RunsJudgedBy::AnyRules, 1000).unwrap().len(),
        100
    );
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        StoreIndex::open(&path, everything_counts).unwrap().index.projects().unwrap(),
        [],
        "a log without its file says nothing"
    );
}

/// Moves the write-ahead log's content into the file, and removes the log.
fn close_with_everything_in_one_file(index: StoreIndex) {
    index
        .tables
        .borrow()
        .as_ref()
        .unwrap()
        .connection
        .set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
        .unwrap();
    drop(index);
}
