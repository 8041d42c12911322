//! A ledger whose old lines are compressed is the same ledger to every reader.

use super::*;
use crate::ledger_file::read_ledger_bytes;
use crate::testing::{TestStore, asker, mode, now, put, record, run_id};
use crate::{LedgerLookup, LineProblem, read_lines, read_signed_lines};
use proctor_model::{LedgerBody, LedgerLine, OverallStatus, Sequence};

const LINES: u64 = 60;
/// Sizes with which these lines make several segments.
const SMALL: (u64, u64) = (8 * 1024, 4 * 1024);

fn append(test: &TestStore, ledger: &mut Ledger, number: u64) {
    let body = LedgerBody::Run(Box::new(record(&run_id(number), &test.task, b"", OverallStatus::Success)));
    ledger.append(body, &asker(), now()).unwrap();
}

fn filled() -> TestStore {
    let test = TestStore::new();
    let mut ledger = Ledger::open(&test.lock()).unwrap();
    (1..=LINES).for_each(|number| append(&test, &mut ledger, number));
    test
}

fn path(test: &TestStore) -> std::path::PathBuf {
    test.store.ledger_path(&test.project)
}

fn compress_small(test: &TestStore) -> CompressedLines {
    let lock = test.lock();
    compress(&lock, &Ledger::open(&lock).unwrap(), SMALL.0, SMALL.1).unwrap()
}

fn whole(test: &TestStore) -> Vec<u8> {
    read_ledger_bytes(&path(test)).unwrap().unwrap()
}

fn read_all(test: &TestStore) -> Result<Vec<(u64, LedgerLine)>, EvidenceError> {
    read_lines(&test.store, &test.project, 0)?.collect()
}

#[test]
fn every_reader_finds_the_same_lines_at_the_same_offsets() {
    let test = filled();
    let (bytes, lines) = (whole(&test), read_all(&test).unwrap());
    assert!(!has_old_lines(&test.store, &test.project).unwrap());
    let done = compress_small(&test);
    assert!(done.before > SMALL.0 && done.after < done.before / 2, "{done:?}");

    let on_disk = std::fs::read(path(&test)).unwrap();
    assert_eq!(on_disk.len(), bytes.len(), "the file keeps its length");
    assert!(on_disk[..usize::try_from(done.before).unwrap()].iter().all(|byte| *byte == 0));
    assert_eq!(whole(&test), bytes);
    assert_eq!(read_all(&test).unwrap(), lines);
    let lookup = LedgerLookup::open(&test.store, &test.project).unwrap();
    assert_eq!(lookup.newest().map(Result::unwrap).collect::<Vec<_>>().len(), lines.len());
    for (end, line) in &lines {
        assert_eq!(lookup.find_with_end(line.sequence).unwrap(), Some((*end, line.clone())));
        let after: Vec<_> = read_lines(&test.store, &test.project, *end).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(after, lines[usize::try_from(line.sequence.0).unwrap()..], "from offset {end}");
    }
    let (end, third) = &lines[2];
    assert_eq!(read_signed_lines(&test.store, &test.project, *end, |line| line == third).unwrap().count(), lines.len() - 3);

    let mut ledger = Ledger::open(&test.lock()).unwrap();
    append(&test, &mut ledger, LINES + 1);
    drop(ledger);
    let longer = read_all(&test).unwrap();
    assert_eq!((longer.len(), &longer[..lines.len()]), (lines.len() + 1, &lines[..]));
    assert_eq!(compress_small(&test), CompressedLines::default(), "too few lines are new");
    for (_, segment) in segments(&path(&test)).unwrap() {
        assert_eq!(mode(&segment), 0o600);
    }
}

#[test]
fn what_a_process_that_died_left_is_finished_and_hides_nothing() {
    let test = filled();
    let bytes = whole(&test);
    // It died while it wrote a segment.
    put(&path(&test).with_file_name("shop-00000001.jsonl.segment-new"), b"half");
    compress_small(&test);
    assert_eq!(whole(&test), bytes);
    assert!(!path(&test).with_file_name("shop-00000001.jsonl.segment-new").exists());
    // It died before it took out what a segment holds.
    put(&path(&test), &bytes);
    assert_eq!(whole(&test), bytes);
    assert_eq!(read_all(&test).unwrap().len() as u64, LINES);
    compress_small(&test);
    assert!(std::fs::read(path(&test)).unwrap().starts_with(&[0; 1024]));
    assert_eq!(whole(&test), bytes);
}

#[test]
fn a_segment_that_is_damaged_gone_or_another_one_is_named_and_never_believed() {
    let test = filled();
    let done = compress_small(&test);
    let found = segments(&path(&test)).unwrap();
    assert!(found.len() >= 2 && found.last().unwrap().0.end == done.before);
    let (first, second) = (found[0].1.clone(), found[1].1.clone());
    let original = std::fs::read(&first).unwrap();
    let content = whole(&test);
    for at in (0..original.len()).step_by(7) {
        let mut changed = original.clone();
        changed[at] ^= 1;
        put(&first, &changed);
        // On a few bits of the compressed form no content depends.
        assert!(read_all(&test).is_err() || whole(&test) == content, "byte {at}");
    }
    put(&first, &std::fs::read(&second).unwrap());
    assert!(matches!(read_all(&test), Err(EvidenceError::LedgerSegment { .. } | EvidenceError::LedgerLine { .. })));
    put(&first, &[&original[..], b"x"].concat());
    let behind = read_all(&test).unwrap_err().to_string();
    assert!(behind.contains("1 bytes stand behind its stream"), "{behind}");
    put(&first, &compress_to_vec_zlib(&vec![b'x'; 1 << 20], LEVEL));
    let longer = read_all(&test).unwrap_err().to_string();
    assert!(longer.contains("is no segment of a ledger"), "{longer}");
    std::fs::remove_file(&first).unwrap();
    let Err(EvidenceError::LedgerLine { line, problem: LineProblem::SegmentGone, .. }) = read_all(&test) else {
        panic!("{:?}", read_all(&test));
    };
    assert_eq!(line, 1);
    // What is left can be read: a line is found from the end, and by its number.
    let lookup = LedgerLookup::open(&test.store, &test.project).unwrap();
    assert!(lookup.find(Sequence(LINES)).unwrap().is_some());
    put(&first, &original);
    assert_eq!(read_all(&test).unwrap().len() as u64, LINES);
}

#[test]
fn names_that_are_no_segments_are_not_read() {
    let test = filled();
    let bytes = whole(&test);
    for name in ["jsonl.1-2.zlib", "jsonl.000000000000-000000000000.zlib", "jsonl.000000000009-000000000003.zlib", "jsonl.zlib"] {
        put(&path(&test).with_file_name(format!("shop-00000001.{name}")), b"x");
    }
    put(&path(&test).with_file_name("shop-00000002.jsonl.000000000000-000000000100.zlib"), b"x");
    assert_eq!(segments(&path(&test)).unwrap(), []);
    assert_eq!(whole(&test), bytes);
}
