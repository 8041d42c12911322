//! Tests the index of tests: what is added is read back, within its limit, and bytes of other programs are refused.

use super::*;
use crate::testing::{TestIndex, project, run_id, run_record, task};
use proctor_model::{
    DifferingFile, Digest, EntryKind, LedgerBody, OverallResult, OverallStatus, PruneReason, PruneRecord, PrunedRun,
    TreeDifference, TreeDigest, TreeFile,
};
use rusqlite::Connection;

const SHOP: &str = "shop-00000001";

fn test(id: &str, outcome: TestOutcome, duration_us: Option<u64>) -> ListedTest {
    let message = outcome.is_failure().then(|| format!("{id} broke"));
    ListedTest { id: id.to_owned(), report_name: None, outcome, duration_us, message, identity: TestIdentity::default() }
}

/// A test that passes, with its file, its title, and the number that stands for its source text.
fn known(file: &str, title: &str, body: u64) -> ListedTest {
    let identity = TestIdentity { body: Some(TestBody(body)), file: file.to_owned(), title: title.to_owned() };
    ListedTest { identity, ..test(&format!("{file}::{title}"), TestOutcome::Passed, None) }
}

fn check(name: &str, tests: Vec<ListedTest>) -> SealedCheck {
    let failed = tests.iter().any(|test| test.outcome.is_failure());
    SealedCheck {
        name: name.to_owned(),
        attempt: 1,
        status: if failed { ResultType::TestFailure } else { ResultType::Success },
        blocks: failed,
        category: None,
        duration: Some(DurationMs(7)),
        counts: None,
        reused: None,
        tests: Some(ListedTests { tests, is_complete: true }),
    }
}

fn run(sequence: u64, checks: Vec<SealedCheck>) -> SealedTests {
    let run = PastRun {
        sequence: Sequence(sequence),
        run_id: run_id(sequence),
        task: task("default"),
        started: Timestamp::from_millis(1000),
        duration: Some(DurationMs(20)),
        status: OverallStatus::Success,
        result: Some(OverallResult::Passed),
        tree: Some(TreeDigest(Digest::of(b"tree"))),
        counts: Some(TestCounts { passed: 2, failed: 0, skipped: 1 }),
    };
    let file = DifferingFile {
        path: format!("src/{sequence}.py"),
        before: None,
        after: Some(TreeFile { kind: EntryKind::File, digest: Digest::of(b"x") }),
    };
    let since = run_id(sequence.saturating_sub(1));
    SealedTests { run, difference: Some(TreeDifference { since, count: 1, files: vec![file] }), checks }
}

fn all(durations: bool) -> NewestTests {
    NewestTests { limit: 1000, skip: 0, durations, reused: false }
}

fn add(index: &mut TestIndex, run: &SealedTests) {
    index.index.add_tests(&project(SHOP), run).unwrap();
}

/// A test by id, with outcome, message and duration.
type ReadBack = (String, TestOutcome, Option<String>, Option<u64>);

/// Returns the results of the first check: the tests of each run.
fn results(index: &TestIndex) -> Vec<Vec<ReadBack>> {
    let shop = project(SHOP);
    let check = index.index.indexed_checks(&shop).unwrap().remove(0).number;
    let runs = index.index.check_runs(&shop, check, all(true)).unwrap();
    let rosters = index.index.rosters(&shop, &runs.iter().filter_map(|run| run.roster).collect()).unwrap();
    let names: std::collections::BTreeMap<u32, String> =
        index.index.known_tests(&shop).unwrap().into_iter().map(|(number, _, test)| (number, test.id)).collect();
    let of_run = |run: CheckRun| {
        let roster = &rosters[&run.roster.unwrap()];
        let one = |(place, number): (u32, &u32)| {
            let (outcome, message) = run.outcome(place);
            let message = message.map(|number| index.index.failure_message(&shop, number).unwrap().unwrap());
            (names[number].clone(), outcome, message, run.duration_of(place))
        };
        (0..).zip(roster.tests()).map(one).collect()
    };
    runs.into_iter().map(of_run).collect()
}

#[test]
fn older_results_are_counted_without_those_that_were_reused() {
    let mut index = TestIndex::new();
    let shop = project(SHOP);
    for sequence in 1..=6 {
        let mut of_run = check("pytest", vec![test("a", TestOutcome::Passed, Some(sequence * 1000))]);
        if sequence % 2 == 0 {
            (of_run.reused, of_run.tests) = (Some(run_id(sequence - 1)), None);
        }
        add(&mut index, &run(sequence, vec![of_run]));
    }
    let check = index.index.indexed_checks(&shop).unwrap().remove(0).number;
    let found = |limit, skip| {
        let runs = index.index.check_runs(&shop, check, NewestTests { limit, skip, durations: true, reused: false }).unwrap();
        runs.into_iter().map(|run| (run.sequence.0, run.duration_of(0))).collect::<Vec<_>>()
    };
    assert_eq!(found(9, 0), [(1, Some(1000)), (3, Some(3000)), (5, Some(5000))]);
    let every = NewestTests { limit: 3, skip: 0, durations: false, reused: true };
    let every = index.index.check_runs(&shop, check, every).unwrap();
    assert_eq!(
        every.iter().map(|run| (run.sequence.0, run.reused.is_some())).collect::<Vec<_>>(),
        [(4, true), (5, false), (6, true)]
    );
    assert_eq!((found(1, 1), found(2, 1), found(2, 3)), (vec![(3, Some(3000))], vec![(1, Some(1000)), (3, Some(3000))], vec![]));
    assert_eq!(index.index.results_after(&shop, check, Sequence(1)).unwrap(), 2);
}

#[test]
fn the_place_of_a_test_is_found_in_every_list_that_has_it() {
    let mut index = TestIndex::new();
    let shop = project(SHOP);
    let passed = |name: &str| test(name, TestOutcome::Passed, None);
    add(&mut index, &run(1, vec![check("pytest", vec![passed("b"), passed("c")])]));
    add(&mut index, &run(2, vec![check("pytest", vec![passed("a"), passed("b"), passed("c")])]));
    add(&mut index, &run(3, vec![check("pytest", vec![passed("a")])]));
    let check = index.index.indexed_checks(&shop).unwrap().remove(0).number;
    let known = index.index.known_tests(&shop).unwrap();
    let number = |id: &str| known.iter().find(|(_, _, test)| test.id == id).unwrap().0;
    let lists: Vec<u32> = index.index.check_runs(&shop, check, all(false)).unwrap().iter().filter_map(|run| run.roster).collect();
    let places = |id| index.index.places(&shop, check, number(id)).unwrap().into_iter().collect::<Vec<_>>();
    assert_eq!(places("b"), [(lists[0], 0), (lists[1], 1)]);
    assert_eq!(places("a"), [(lists[1], 0), (lists[2], 0)]);
    let only = index.index.rosters(&shop, &std::collections::BTreeSet::from([lists[2], 99])).unwrap();
    assert_eq!(only.into_iter().map(|(number, list)| (number, list.tests().len())).collect::<Vec<_>>(), [(lists[2], 1)]);
}

#[test]
fn what_is_added_is_read_back() {
    let mut index = TestIndex::new();
    let names = ["b[1-\u{1b}[31m]", "a\0b", "ä \"quoted\"\n::x", ""];
    let tests = vec![
        test(names[0], TestOutcome::Failed, Some(12_345)),
        test(names[1], TestOutcome::Passed, None),
        test(names[2], TestOutcome::Skipped, Some(0)),
        test(names[3], TestOutcome::Error, Some(u64::MAX / 2)),
    ];
    add(&mut index, &run(1, vec![check("pytest", tests.clone())]));
    let mut expected: Vec<_> =
        tests.iter().map(|test| (test.id.clone(), test.outcome, test.message.clone(), test.duration_us)).collect();
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(results(&index), [expected]);
    let runs = index.index.past_runs(&project(SHOP), None, false, None, 9).unwrap();
    assert_eq!((runs.len(), runs[0].0.counts, runs[0].0.duration), (1, run(1, Vec::new()).run.counts, Some(DurationMs(20))));
    let differences = index.index.tree_differences(&project(SHOP), &task("default"), Sequence(0), Sequence(1)).unwrap();
    assert_eq!(differences, [(run_id(1), run(1, Vec::new()).difference)]);
}

#[test]
fn a_run_is_added_once_and_tests_keep_their_number_and_key() {
    let mut index = TestIndex::new();
    let first = run(1, vec![check("pytest", vec![test("a", TestOutcome::Passed, None)])]);
    add(&mut index, &first);
    add(&mut index, &first);
    let both = vec![test("b", TestOutcome::Passed, Some(5)), test("a", TestOutcome::Failed, None)];
    add(&mut index, &run(2, vec![check("pytest", both)]));
    let known = index.index.known_tests(&project(SHOP)).unwrap();
    let named: Vec<_> = known.iter().map(|(number, _, test)| (*number, test.id.as_str(), test.key)).collect();
    let key = |id| write::test_key(&task("default"), "pytest", id);
    assert_eq!(named, [(1, "a", key("a")), (2, "b", key("b"))]);
    assert_eq!(results(&index).len(), 2);
}

#[test]
fn tests_with_one_name_are_one_test_that_ended_as_the_worst_of_them() {
    let mut index = TestIndex::new();
    let tests = vec![
        test("same", TestOutcome::Passed, Some(3)),
        test("same", TestOutcome::Failed, Some(4)),
        test("same", TestOutcome::Skipped, None),
    ];
    add(&mut index, &run(1, vec![check("node", tests)]));
    let expected = ("same".to_owned(), TestOutcome::Failed, Some("same broke".to_owned()), Some(7));
    assert_eq!(results(&index), [[expected]]);
}

#[test]
fn ten_thousand_runs_of_a_thousand_tests_fit_into_the_limit() {
    let mut index = TestIndex::new();
    let tests = |sequence: u64| {
        let one = |number: u64| {
            let outcome = if number == sequence % 1000 { TestOutcome::Failed } else { TestOutcome::Passed };
            test(&format!("tests/test_{}.py::test_{number}", number / 50), outcome, Some((number * 7 + sequence) % 400 * 1000))
        };
        (0..1000).map(one).collect()
    };
    add(&mut index, &run(1, vec![check("pytest", tests(1))]));
    let first = index.index.bytes_of_tests(&project(SHOP)).unwrap();
    for sequence in 2..=21 {
        add(&mut index, &run(sequence, vec![check("pytest", tests(sequence))]));
    }
    let each = (index.index.bytes_of_tests(&project(SHOP)).unwrap() - first) / 20;
    assert!(first + each * 10_000 < LARGEST, "{first} bytes for the first run and {each} for each other");
}

#[test]
fn beyond_the_limit_the_oldest_runs_go_with_what_only_they_had() {
    let mut index = TestIndex::new();
    let shop = project(SHOP);
    let tests = |sequence: u64| {
        (0..50).map(|number| test(&format!("run {sequence} test {number}"), TestOutcome::Failed, Some(number))).collect()
    };
    let largest = 100_000;
    for sequence in 1..=40 {
        let run = run(sequence, vec![check("fuzz", tests(sequence))]);
        index.index.update(|tables, _| tables.add_tests(&shop, &run, largest)).unwrap();
    }
    let runs = index.index.past_runs(&shop, None, false, None, 99).unwrap();
    assert!((1..40).contains(&runs.len()) && runs[0].0.sequence == Sequence(40), "{} runs are left", runs.len());
    assert_eq!(index.index.known_tests(&shop).unwrap().len(), runs.len() * 50);
    assert!(index.index.bytes_of_tests(&shop).unwrap() <= largest);
    // One run that is larger than the limit stays alone.
    let large =
        run(41, vec![check("fuzz", (0..900).map(|number| test(&format!("{number}"), TestOutcome::Passed, None)).collect())]);
    index.index.update(|tables, _| tables.add_tests(&shop, &large, largest)).unwrap();
    assert_eq!(index.index.past_runs(&shop, None, false, None, 99).unwrap().len(), 1);
}

#[test]
fn rows_of_pruned_runs_stay_and_say_so_and_those_of_purged_runs_go() {
    let mut index = TestIndex::new();
    let shop = project(SHOP);
    for number in 1..=2 {
        index.append_run(SHOP, run_record(number, "default", OverallStatus::Success));
        add(&mut index, &run(number, vec![check("pytest", vec![test("a", TestOutcome::Failed, None)])]));
    }
    index.append(SHOP, LedgerBody::Pruned(pruned(&[1])));
    let states = |index: &TestIndex| {
        let runs = index.index.past_runs(&shop, None, false, None, 9).unwrap();
        runs.into_iter().map(|(run, evidence)| (run.sequence.0, evidence)).collect::<Vec<_>>()
    };
    assert_eq!(states(&index), [(2, ProofState::Kept), (1, ProofState::Pruned)]);
    let lines = index.lines[&shop].clone();
    index.index.apply_anew(&shop, &lines).unwrap();
    assert_eq!(states(&index), [(2, ProofState::Kept), (1, ProofState::Pruned)], "rows that were made anew keep the tests");
    index
        .index
        .update(|tables, _| {
            forget_before(&tables.connection, &shop, Sequence(4)).map_err(|source| tables.reader.refused("write", source))
        })
        .unwrap();
    assert_eq!(states(&index), []);
    assert_eq!(index.index.known_tests(&shop).unwrap(), []);
    assert_eq!(index.index.failure_message(&shop, 1).unwrap(), None);
}

fn pruned(runs: &[u64]) -> PruneRecord {
    let run = |number: &u64| PrunedRun {
        task: task("default"),
        run_id: run_id(*number),
        manifest_hash: Digest::of(b"manifest"),
        why: PruneReason::Runs,
    };
    PruneRecord { runs: runs.iter().map(run).collect() }
}

#[test]
fn runs_are_known_to_lack_tests_until_they_are_added_or_passed_over() {
    let mut index = TestIndex::new();
    let shop = project(SHOP);
    for number in 1..=3 {
        index.append_run(SHOP, run_record(number, "default", OverallStatus::Success));
    }
    let lacking = |index: &TestIndex| index.index.runs_without_tests(&shop, 9).unwrap();
    assert_eq!(lacking(&index), [Sequence(1), Sequence(2), Sequence(3)]);
    add(&mut index, &run(1, Vec::new()));
    index.index.pass_over_tests(&shop, Sequence(2)).unwrap();
    assert_eq!(lacking(&index), [Sequence(3)]);
    assert!(!index.index.tests_are_foreign(&shop).unwrap());
    add(&mut index, &SealedTests { run: PastRun { run_id: run_id(99), ..run(3, Vec::new()).run }, ..run(3, Vec::new()) });
    assert!(index.index.tests_are_foreign(&shop).unwrap(), "the ledger has another run there");
    index.index.forget_tests(&shop).unwrap();
    assert_eq!(lacking(&index).len(), 3);
}

#[test]
fn numbers_that_no_ledger_gives_make_the_tests_foreign() {
    let mut index = TestIndex::new();
    let shop = project(SHOP);
    index.append_run(SHOP, run_record(1, "default", OverallStatus::Success));
    add(&mut index, &run(1, Vec::new()));
    assert!(!index.index.tests_are_foreign(&shop).unwrap());
    let position = |sequence: i64, bytes: i64| {
        let connection = Connection::open(&index.path).unwrap();
        connection.execute("UPDATE history_positions SET sequence = ?1, bytes = ?2", [sequence, bytes]).unwrap();
    };
    for (sequence, bytes) in [(-1, 0), (1, -1), (99, 0), (i64::MAX, 0), (0, 0)] {
        position(sequence, bytes);
        assert!(index.index.tests_are_foreign(&shop).unwrap(), "{sequence} {bytes}");
    }
    position(1, 500);
    assert!(!index.index.tests_are_foreign(&shop).unwrap());
    // A position alone, beyond the ledger, as after a purge and an older copy of the ledger.
    Connection::open(&index.path).unwrap().execute("DELETE FROM history_runs", []).unwrap();
    position(99, 0);
    assert!(index.index.tests_are_foreign(&shop).unwrap());
}

#[test]
fn bytes_are_counted_alike_when_rows_are_added_and_when_they_are_measured() {
    let mut index = TestIndex::new();
    let shop = project(SHOP);
    let tests = (0..40).map(|number| test(&format!("{number} {}", "ä".repeat(200)), TestOutcome::Failed, Some(5))).collect();
    add(&mut index, &run(1, vec![check("prüft", tests)]));
    let added = index.index.bytes_of_tests(&shop).unwrap();
    let measured = |tables: &mut Tables| {
        limit::keep_within(&tables.connection, &shop, LARGEST).map_err(|source| tables.reader.refused("write", source))
    };
    index.index.update(|tables, _| measured(tables)).unwrap();
    assert_eq!(index.index.bytes_of_tests(&shop).unwrap(), added);
}

#[test]
fn runs_whose_tests_are_not_known_fit_all_the_same() {
    let mut index = TestIndex::new();
    let shop = project(SHOP);
    for number in 1..=3 {
        index.append_run(SHOP, run_record(number, "default", OverallStatus::Success));
    }
    add(&mut index, &run(2, Vec::new()));
    index.append(SHOP, LedgerBody::Pruned(pruned(&[1])));
    let fitting = |task_id: &str, limit| {
        let runs = index.index.fitting_runs(&shop, Some(&task(task_id)), false, None, limit).unwrap();
        runs.into_iter().map(|(sequence, _, proof)| (sequence.0, proof)).collect::<Vec<_>>()
    };
    let (kept, pruned) = (ProofState::Kept, ProofState::Pruned);
    assert_eq!(fitting("default", 9), [(3, kept), (2, kept), (1, pruned)]);
    assert_eq!((fitting("default", 1), fitting("T9", 9)), (vec![(3, kept)], Vec::new()));
    let later = Some(Timestamp::from_millis(i64::MAX));
    assert_eq!(index.index.fitting_runs(&shop, None, false, later, 9).unwrap(), []);
}

#[test]
fn bytes_of_another_program_are_damage_and_no_answer() {
    let mut index = TestIndex::new();
    add(&mut index, &run(1, vec![check("pytest", vec![test("a", TestOutcome::Passed, Some(1000))])]));
    for (column, bytes) in [("outcomes", "x'ffff'"), ("durations", "x'07'"), ("durations", "x'01'")] {
        let connection = Connection::open(&index.path).unwrap();
        connection.execute(&format!("UPDATE history_results SET {column} = {bytes}"), []).unwrap();
        let check = index.index.indexed_checks(&project(SHOP)).unwrap()[0].number;
        let answer = index.index.check_runs(&project(SHOP), check, all(true));
        assert!(matches!(answer, Err(IndexError::Value { .. })), "{column} {bytes}: {answer:?}");
        connection.execute("UPDATE history_results SET outcomes = x'', durations = x''", []).unwrap();
    }
}

/// Returns the ids of the tests of each run of the first check, as the tests are named now.
fn ids(index: &TestIndex) -> Vec<Vec<String>> {
    results(index).into_iter().map(|run| run.into_iter().map(|(id, ..)| id).collect()).collect()
}

#[test]
fn a_test_that_was_renamed_or_moved_keeps_its_number_and_any_other_is_a_new_one() {
    let others = [known("a.py", "two", 2), known("a.py", "alike", 3), known("a.py", "also", 3), known("a.py", "copied", 4)];
    let first = [&[known("a.py", "one", 1)][..], &others].concat();
    let shop = project(SHOP);
    for (now, renamed, count) in [
        // Renamed in its file; moved to another file with its title; both at once is another test.
        (vec![known("a.py", "uno", 1)], vec![("a.py::one", "a.py::uno")], 5),
        (vec![known("b.py", "one", 1)], vec![("a.py::one", "b.py::one")], 5),
        (vec![known("b.py", "uno", 1)], vec![], 6),
        // Another text, or a text that two tests have, says nothing.
        (vec![known("a.py", "uno", 9)], vec![], 6),
        (vec![known("a.py", "uno", 1), known("a.py", "dos", 1)], vec![], 7),
        (vec![known("a.py", "uno", 4)], vec![], 6),
        // A test that is still there was not renamed.
        (vec![known("a.py", "one", 1), known("a.py", "copy", 1)], vec![], 6),
        (vec![test("a.py::uno", TestOutcome::Passed, None)], vec![], 6),
    ] {
        let mut index = TestIndex::new();
        add(&mut index, &run(1, vec![check("pytest", first.to_vec())]));
        add(&mut index, &run(2, vec![check("pytest", [&now[..], &others].concat())]));
        let tests = index.index.known_tests(&shop).unwrap();
        assert_eq!(tests.len(), count, "{now:?}");
        let names = index.index.former_names(&shop).unwrap();
        let name_now = |number| tests.iter().find(|(other, ..)| *other == number).map(|(_, _, test)| test.id.as_str());
        let found: Vec<(&str, &str)> =
            names.iter().filter_map(|name| Some((name.former_id.as_str(), name_now(name.number)?))).collect();
        assert_eq!(found, renamed, "{now:?}");
        assert!(names.iter().all(|name| name.until == Sequence(2)));
    }
}

#[test]
fn a_list_that_may_lack_tests_renames_none() {
    let shop = project(SHOP);
    let cut = |mut check: SealedCheck| {
        check.tests.as_mut().unwrap().is_complete = false;
        check
    };
    let stopped = |mut check: SealedCheck| {
        check.status = ResultType::Timeout;
        check
    };
    let many: Vec<ListedTest> = (0..10).map(|number| known("a.py", &format!("t{number}"), number + 10)).collect();
    for (now, count) in [
        (cut(check("pytest", [&[known("a.py", "uno", 1)][..], &many].concat())), 0),
        (stopped(check("pytest", [&[known("a.py", "uno", 1)][..], &many].concat())), 0),
        (check("pytest", [&[known("a.py", "uno", 1)][..], &many[..8]].concat()), 0),
        (check("pytest", [&[known("a.py", "uno", 1)][..], &many[..9]].concat()), 1),
    ] {
        let mut index = TestIndex::new();
        add(&mut index, &run(1, vec![check("pytest", [&[known("a.py", "one", 1)][..], &many].concat())]));
        add(&mut index, &run(2, vec![now]));
        assert_eq!(index.index.former_names(&shop).unwrap().len(), count);
    }
}

#[test]
fn a_rename_is_known_also_if_the_check_was_broken_in_between() {
    let mut index = TestIndex::new();
    let many: Vec<ListedTest> = (0..10).map(|number| known("a.py", &format!("t{number}"), number + 10)).collect();
    let broken = || check("pytest", vec![test("a.py", TestOutcome::Error, None)]);
    add(&mut index, &run(1, vec![check("pytest", [&[known("a.py", "one", 1)][..], &many].concat())]));
    add(&mut index, &run(2, vec![broken()]));
    add(&mut index, &run(3, vec![broken()]));
    add(&mut index, &run(4, vec![check("pytest", [&[known("a.py", "uno", 1)][..], &many].concat())]));
    let names = index.index.former_names(&project(SHOP)).unwrap();
    assert_eq!(names.iter().map(|name| name.former_id.as_str()).collect::<Vec<_>>(), ["a.py::one"]);
}

#[test]
fn a_test_can_be_named_back_and_another_one_can_get_its_former_name() {
    let mut index = TestIndex::new();
    let shop = project(SHOP);
    // Once the text is changed a little in between, and the last text counts.
    for (sequence, title, body) in [(1, "one", 1), (2, "one", 2), (3, "uno", 2), (4, "one", 2), (5, "uno", 2)] {
        add(&mut index, &run(sequence, vec![check("pytest", vec![known("a.py", title, body)])]));
    }
    let names = |index: &TestIndex| -> Vec<(String, u64)> {
        index.index.former_names(&shop).unwrap().into_iter().map(|name| (name.former_id, name.until.0)).collect()
    };
    assert_eq!(names(&index), [("a.py::uno".to_owned(), 4), ("a.py::one".to_owned(), 5)], "each name once");
    assert_eq!(ids(&index), vec![vec!["a.py::uno".to_owned()]; 5]);
    // Another test gets the former name, and is alone later: its results are its own.
    add(&mut index, &run(6, vec![check("pytest", vec![known("a.py", "one", 7), known("a.py", "uno", 2)])]));
    add(&mut index, &run(7, vec![check("pytest", vec![known("a.py", "one", 7)])]));
    assert_eq!(ids(&index)[5..], [vec!["a.py::one".to_owned(), "a.py::uno".to_owned()], vec!["a.py::one".to_owned()]]);
    // The same name with another text is the same test, as long as no other one has the text.
    add(&mut index, &run(8, vec![check("pytest", vec![known("a.py", "one", 8)])]));
    assert_eq!(ids(&index)[7], ["a.py::one"]);
    assert_eq!(index.index.known_tests(&shop).unwrap().len(), 2);
}
