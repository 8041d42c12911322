//! The ledger's hash chain, torn lines, and reading from an offset.

use crate::ledger_tail::{ChainEnd, LONGEST_LINE, is_write_cut_short, whole_length};
use crate::testing::{TestStore, asker, now, record, run_id};
use crate::{EvidenceError, Ledger, LineProblem, read_lines};
use proctor_model::{Digest, LedgerBody, LedgerLine, OverallStatus, RunId, Sequence};

fn body(test: &TestStore, run_id: &RunId) -> LedgerBody {
    LedgerBody::Run(Box::new(record(run_id, &test.task, b"", OverallStatus::Success)))
}

fn filled(lines: u64) -> TestStore {
    let test = TestStore::new();
    let mut ledger = Ledger::open(&test.lock()).unwrap();
    for number in 1..=lines {
        ledger.append(body(&test, &run_id(number)), &asker(), now()).unwrap();
    }
    test
}

fn bytes(test: &TestStore) -> Vec<u8> {
    std::fs::read(test.store.ledger_path(&test.project)).unwrap()
}

fn replace(test: &TestStore, bytes: &[u8]) {
    crate::testing::put(&test.store.ledger_path(&test.project), bytes);
}

fn read_all(test: &TestStore) -> Result<Vec<(u64, LedgerLine)>, EvidenceError> {
    read_lines(&test.store, &test.project, 0)?.collect()
}

fn problem_of<T: std::fmt::Debug>(result: Result<T, EvidenceError>) -> (u64, LineProblem) {
    match result {
        Err(EvidenceError::LedgerLine { line, problem, .. }) => (line, problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lines_are_chained_and_read_back_with_their_offsets() {
    let test = filled(3);
    let lines = read_all(&test).unwrap();
    let raw = bytes(&test);
    let texts: Vec<_> = raw.split_inclusive(|byte| *byte == b'\n').collect();
    let mut offset = 0;
    let mut previous = Digest::of(b"");
    for ((after, line), text) in lines.iter().zip(&texts) {
        offset += text.len() as u64;
        assert_eq!((*after, line.previous), (offset, previous));
        previous = Digest::of(&text[..text.len() - 1]);
    }
    assert_eq!(lines.iter().map(|(_, line)| line.sequence.0).collect::<Vec<_>>(), [1, 2, 3]);
    let ledger = Ledger::open(&test.lock()).unwrap();
    assert_eq!((ledger.next_sequence(), ledger.last_hash(), ledger.length()), (Sequence(4), previous, offset));
    assert_eq!(ledger.torn_line_file(), None);
}

#[test]
fn reading_continues_only_where_a_line_ends() {
    let test = filled(4);
    let lines = read_all(&test).unwrap();
    for (index, (offset, _)) in lines.iter().enumerate() {
        let rest: Vec<_> = read_lines(&test.store, &test.project, *offset).unwrap().map(Result::unwrap).collect();
        assert_eq!(rest, lines[index + 1..]);
    }
    for wrong in [1, lines[0].0 - 1, lines[0].0 + 1, lines[3].0 + 1, 1 << 40] {
        let refused = read_lines(&test.store, &test.project, wrong);
        assert!(matches!(refused, Err(EvidenceError::LedgerOffset { .. })), "{wrong}");
    }
}

#[test]
fn a_ledger_that_is_not_there_has_no_lines() {
    let test = TestStore::new();
    assert!(read_all(&test).unwrap().is_empty());
    assert!(matches!(read_lines(&test.store, &test.project, 5), Err(EvidenceError::LedgerGone { .. })));
}

#[test]
fn a_last_line_torn_at_any_byte_is_not_read_and_is_kept_aside() {
    let test = filled(2);
    let whole = bytes(&test);
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in first + 1..whole.len() {
        replace(&test, &whole[..length]);
        assert_eq!(read_all(&test).unwrap().len(), 1, "{length}");
        let ledger = Ledger::open(&test.lock()).unwrap();
        assert_eq!((ledger.next_sequence(), ledger.length()), (Sequence(2), first as u64));
        let aside = ledger.torn_line_file().unwrap();
        assert_eq!(std::fs::read(aside).unwrap(), &whole[first..length]);
        assert!(aside.file_name().unwrap().to_str().unwrap().starts_with("shop-00000001.torn-2"), "{aside:?}");
        assert_eq!(bytes(&test), &whole[..first]);
        std::fs::remove_file(aside).unwrap();
    }
}

#[test]
fn a_first_line_may_be_torn_too_and_the_next_one_takes_its_place() {
    let test = filled(1);
    let whole = bytes(&test);
    for _ in 0..2 {
        replace(&test, &whole[..whole.len() - 1]);
        let mut ledger = Ledger::open(&test.lock()).unwrap();
        assert_eq!((ledger.next_sequence(), ledger.length()), (Sequence(1), 0));
        assert!(ledger.torn_line_file().is_some());
        ledger.append(body(&test, &run_id(2)), &asker(), now()).unwrap();
    }
    assert_eq!(read_all(&test).unwrap().len(), 1);
}

#[test]
fn a_last_line_with_zero_bytes_is_torn() {
    let test = filled(2);
    let mut torn = bytes(&test);
    let last = torn.len() - 30;
    torn[last..last + 20].fill(0);
    replace(&test, &torn);
    assert_eq!(read_all(&test).unwrap().len(), 1);
    let ledger = Ledger::open(&test.lock()).unwrap();
    assert_eq!(ledger.next_sequence(), Sequence(2));
    assert!(ledger.torn_line_file().is_some());
}

#[test]
fn a_changed_removed_or_foreign_line_is_named() {
    let test = filled(4);
    let whole = String::from_utf8(bytes(&test)).unwrap();
    let lines: Vec<_> = whole.split_inclusive('\n').collect();
    let with = |second: &str| [lines[0], second, lines[2], lines[3]].concat();
    let cases = [
        (with(&lines[1].replace("\"blocking\":0", "\"blocking\":1")), 3, LineProblem::BrokenChain),
        (with(""), 2, LineProblem::WrongSequence { expected: Sequence(2), found: Sequence(3) }),
        (with(&lines[1].replace("ledger-v1", "ledger-v9")), 2, LineProblem::UnknownSchema("proctor-ledger-v9".to_owned())),
    ];
    for (text, line, problem) in cases {
        replace(&test, text.as_bytes());
        assert_eq!(problem_of(read_all(&test)), (line, problem));
    }
    for bad in ["{}\n", "\n", "[1]\n", "{\"schema\":\"proctor-ledger-v1\",\"more\":1}\n", "\0\n"] {
        replace(&test, with(bad).as_bytes());
        let (line, problem) = problem_of(read_all(&test));
        assert_eq!(line, 2, "{bad}");
        assert!(matches!(problem, LineProblem::Unreadable(_)), "{bad}");
    }
}

#[test]
fn a_whole_last_line_of_another_schema_is_an_error_and_stays() {
    let test = filled(2);
    let changed = String::from_utf8(bytes(&test)).unwrap().replace("ledger-v1", "ledger-v2");
    replace(&test, changed.as_bytes());
    let refused = problem_of(Ledger::open(&test.lock()));
    assert_eq!(refused, (2, LineProblem::UnknownSchema("proctor-ledger-v2".to_owned())));
    assert_eq!(bytes(&test), changed.as_bytes());
}

#[test]
fn reading_ends_at_the_first_error() {
    let test = filled(3);
    let changed = String::from_utf8(bytes(&test)).unwrap().replacen("\"blocking\":0", "\"blocking\":1", 1);
    replace(&test, changed.as_bytes());
    let mut lines = read_lines(&test.store, &test.project, 0).unwrap();
    assert!(lines.next().unwrap().is_ok());
    assert!(lines.next().unwrap().is_err());
    assert!(lines.next().is_none());
}

#[test]
fn a_line_somebody_else_added_stops_the_writer() {
    let test = filled(1);
    let mut ledger = Ledger::open(&test.lock()).unwrap();
    let twice = bytes(&test).repeat(2);
    replace(&test, &twice);
    let refused = ledger.append(body(&test, &run_id(2)), &asker(), now());
    assert!(matches!(refused, Err(EvidenceError::LedgerChanged { .. })));
}

#[test]
fn lines_longer_than_a_chunk_are_found_from_the_end() {
    let test = TestStore::new();
    let mut ledger = Ledger::open(&test.lock()).unwrap();
    for size in [1, 40_000, 16_384, 100] {
        let mut long = record(&run_id(1), &test.task, b"", OverallStatus::Success);
        long.signature = Some("x".repeat(size));
        ledger.append(LedgerBody::Run(Box::new(long)), &asker(), now()).unwrap();
        let length = ledger.length();
        let sequence = ledger.next_sequence();
        let hash = ledger.last_hash();
        drop(ledger);
        ledger = Ledger::open(&test.lock()).unwrap();
        assert_eq!((ledger.length(), ledger.next_sequence(), ledger.last_hash()), (length, sequence, hash));
    }
}

#[test]
fn only_a_beginning_of_the_next_line_counts_as_a_write_that_was_cut_short() {
    let test = filled(3);
    let whole = bytes(&test);
    let starts: Vec<usize> = whole.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len).collect();
    let (before, due) = whole.split_at(starts[..2].iter().sum());
    let end =
        ChainEnd { length: before.len() as u64, sequence: Sequence(2), hash: Digest::of(&before[starts[0]..before.len() - 1]) };
    for length in 0..due.len() {
        assert!(is_write_cut_short(&due[..length], &end), "{length} bytes");
        let mut lost = due[..length].to_vec();
        lost[length / 2..].fill(0);
        assert!(is_write_cut_short(&lost, &end), "{length} bytes, half of them zero");
    }
    for other in [b"}".as_slice(), b"{}", b"x", b"{ ", b"\"", &before[starts[0]..before.len() - 1], &whole[..60]] {
        assert!(!is_write_cut_short(other, &end), "{}", String::from_utf8_lossy(other));
    }
    let unknown = String::from_utf8(due.to_vec()).unwrap().replace("\"asker\"", "\"added\":1,\"asker\"");
    assert!(!is_write_cut_short(unknown.trim_end().as_bytes(), &end));
    assert!(!is_write_cut_short(&vec![0; usize::try_from(LONGEST_LINE).unwrap() + 1], &end), "no writer could open it");
}

#[test]
fn whole_lines_end_in_a_newline_and_have_no_zero_bytes_at_the_end() {
    for (bytes, expected) in [
        (b"".as_slice(), 0),
        (b"a", 0),
        (b"a\n", 2),
        (b"a\nb", 2),
        (b"a\nb\n", 4),
        (b"a\n\0\n", 2),
        (b"\0\n", 0),
        (b"\0\nb\n", 4),
    ] {
        assert_eq!(whole_length(bytes), expected, "{}", String::from_utf8_lossy(bytes));
    }
}
