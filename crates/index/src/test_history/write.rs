//! Turns a sealed run into rows of the index of tests.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension as _, Params, TransactionBehavior, params};

use crate::IndexError;
use crate::tables::Tables;
use crate::test_history::codec::{NotPassed, encode_durations, encode_not_passed, encode_roster};
use crate::test_history::limit::keep_within;
use crate::test_history::renames::{find_renamed, note_identities, rename};
use crate::test_history::{ListedTest, PastRun, SealedCheck, SealedTests};
use crate::words::{from_integer, to_integer, to_json, to_word};
use proctor_model::{Digest, ProjectId, ResultType, Sequence, TaskId, TestKey, TestOutcome};

/// The most characters of a failure's first line that are kept.
const LONGEST_MESSAGE: usize = 200;
/// What a row takes in the file beside its own texts and bytes: its keys, also in the database's own index.
pub(super) const ROW: usize = 160;
/// A row longer than this is continued on pages of its own.
const ON_PAGE: usize = 230;
const PAGE: usize = 1024;

impl Tables {
    /// Adds the results of a run, and lets the oldest runs go if the project's rows then take more than `largest` bytes.
    pub(super) fn add_tests(&mut self, project: &ProjectId, run: &SealedTests, largest: u64) -> Result<(), IndexError> {
        let refused = |source| self.reader.refused("write", source);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(refused)?;
        let (before, bytes) = read_position(&transaction, project).map_err(refused)?;
        // Another process may have added the run a moment ago.
        if run.run.sequence > before {
            let added = write_run(&transaction, project, run).map_err(refused)?;
            let bytes = bytes.saturating_add(added as u64);
            write_position(&transaction, project, run.run.sequence, bytes).map_err(refused)?;
            if bytes > largest {
                keep_within(&transaction, project, largest).map_err(refused)?;
            }
        }
        transaction.commit().map_err(refused)
    }

    pub(super) fn pass_over_tests(&mut self, project: &ProjectId, sequence: Sequence) -> Result<(), IndexError> {
        let refused = |source| self.reader.refused("write", source);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(refused)?;
        let (before, bytes) = read_position(&transaction, project).map_err(refused)?;
        if sequence > before {
            write_position(&transaction, project, sequence, bytes).map_err(refused)?;
        }
        transaction.commit().map_err(refused)
    }
}

/// Returns the last ledger line whose run was added or passed over, and how many bytes the project's rows take.
pub(super) fn read_position(connection: &Connection, project: &ProjectId) -> rusqlite::Result<(Sequence, u64)> {
    let statement = "SELECT sequence, bytes FROM history_positions WHERE project = ?1";
    let row = connection.query_row(statement, params![project.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (sequence, bytes) = row.unwrap_or((0, 0));
    Ok((Sequence(from_integer(sequence)), from_integer(bytes)))
}

pub(super) fn write_position(
    connection: &Connection,
    project: &ProjectId,
    sequence: Sequence,
    bytes: u64,
) -> rusqlite::Result<()> {
    let statement = "INSERT OR REPLACE INTO history_positions (project, sequence, bytes) VALUES (?1, ?2, ?3)";
    execute(connection, statement, params![project.as_str(), to_integer(sequence.0), to_integer(bytes)]).map(drop)
}

/// Returns how many bytes of the file the rows take.
fn write_run(connection: &Connection, project: &ProjectId, sealed: &SealedTests) -> rusqlite::Result<usize> {
    let run = &sealed.run;
    let paths = sealed.difference.as_ref().map(to_json);
    let counts = run.counts.unwrap_or_default();
    let count = |count: u64| run.counts.map(|_| to_integer(count));
    execute(
        connection,
        "INSERT INTO history_runs (project, sequence, run_id, task, started, duration, status, result, tree, passed, failed, \
         skipped, paths) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            project.as_str(),
            to_integer(run.sequence.0),
            run.run_id.as_str(),
            run.task.as_str(),
            run.started.as_millis(),
            run.duration.map(|duration| to_integer(duration.0)),
            to_word(&run.status),
            run.result.as_ref().map(to_word),
            run.tree.as_ref().map(to_word),
            count(counts.passed),
            count(counts.failed),
            count(counts.skipped),
            paths,
        ],
    )?;
    let mut bytes = row_bytes(&[140, run.task.as_str().len(), paths.as_ref().map_or(0, String::len)]);
    for check in &sealed.checks {
        bytes += write_check(connection, project, run, check)?;
    }
    Ok(bytes)
}

fn write_check(connection: &Connection, project: &ProjectId, run: &PastRun, check: &SealedCheck) -> rusqlite::Result<usize> {
    let (number, mut bytes) = check_number(connection, project, &run.task, &check.name)?;
    let (mut roster, mut is_complete) = (None, true);
    let (mut not_passed, mut durations) = (Vec::new(), Vec::new());
    if let Some(listed) = &check.tests {
        let tests = one_for_each_name(&listed.tests);
        // A check that could not be carried out to its end may not have come to every test.
        let has_run = matches!(check.status, ResultType::Success | ResultType::TestFailure | ResultType::ValidationFailure);
        let ran = CheckOfRun { number, run, name: &check.name, may_rename: listed.is_complete && has_run };
        let (found, added) = roster_number(connection, project, &ran, &tests)?;
        bytes += added;
        let mut others = Vec::new();
        for (position, test) in (0_u32..).zip(&tests) {
            if test.outcome == TestOutcome::Passed {
                continue;
            }
            let message = test.message.as_deref().filter(|_| test.outcome.is_failure());
            let message = message.map(|text| message_number(connection, project, text)).transpose()?;
            bytes += message.map_or(0, |(_, added)| added);
            others.push(NotPassed { position, outcome: test.outcome, message: message.map(|(number, _)| number) });
        }
        not_passed = encode_not_passed(&others);
        durations = encode_durations(&tests.iter().map(|test| test.duration_us).collect::<Vec<_>>());
        (roster, is_complete) = (Some(found), listed.is_complete);
    }
    let count = |count: fn(&proctor_model::TestCounts) -> u64| check.counts.as_ref().map(|counts| to_integer(count(counts)));
    execute(
        connection,
        "INSERT INTO history_results (project, check_number, sequence, attempt, status, blocks, duration, passed, failed, skipped, \
         reused, roster, complete, outcomes, durations) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            project.as_str(),
            number,
            to_integer(run.sequence.0),
            check.attempt,
            to_word(&check.status),
            check.blocks,
            check.duration.map(|duration| to_integer(duration.0)),
            count(|counts| counts.passed),
            count(|counts| counts.failed),
            count(|counts| counts.skipped),
            check.reused.as_ref().map(|run_id| run_id.as_str()),
            roster,
            is_complete,
            not_passed,
            durations,
        ],
    )?;
    Ok(bytes + row_bytes(&[60, not_passed.len(), durations.len()]))
}

/// Sorts tests by name. Tests with one name, as two files may have, become one test: it ended as the worst of them did.
fn one_for_each_name(tests: &[ListedTest]) -> Vec<ListedTest> {
    let mut named: BTreeMap<&str, ListedTest> = BTreeMap::new();
    for test in tests {
        match named.get_mut(test.stable_name()) {
            None => drop(named.insert(test.stable_name(), test.clone())),
            Some(known) => {
                known.duration_us = match (known.duration_us, test.duration_us) {
                    (Some(first), Some(second)) => Some(first.saturating_add(second)),
                    (first, second) => first.or(second),
                };
                if severity_of(test.outcome) > severity_of(known.outcome) {
                    known.outcome = test.outcome;
                    known.message.clone_from(&test.message);
                }
            }
        }
    }
    named.into_values().collect()
}

fn severity_of(outcome: TestOutcome) -> u8 {
    match outcome {
        TestOutcome::Skipped => 0,
        TestOutcome::Passed => 1,
        TestOutcome::Failed => 2,
        TestOutcome::Error => 3,
    }
}

/// Returns the number of a check, and the bytes of a row that was added for it.
fn check_number(connection: &Connection, project: &ProjectId, task: &TaskId, name: &str) -> rusqlite::Result<(u32, usize)> {
    let statement = "SELECT number FROM history_checks WHERE project = ?1 AND task = ?2 AND name = ?3";
    let key = params![project.as_str(), task.as_str(), name];
    if let Some(number) = connection.query_row(statement, key, |row| row.get(0)).optional()? {
        return Ok((number, 0));
    }
    let number = next_number(connection, project, "history_checks")?;
    let statement = "INSERT INTO history_checks (project, number, task, name) VALUES (?1, ?2, ?3, ?4)";
    execute(connection, statement, params![project.as_str(), number, task.as_str(), name])?;
    Ok((number, row_bytes(&[task.as_str().len() * 2, name.len() * 2])))
}

/// A check of a run whose list of tests is stored.
struct CheckOfRun<'a> {
    number: u32,
    run: &'a PastRun,
    name: &'a str,
    /// Whether tests that are missing may be others by a new name: the list is complete.
    may_rename: bool,
}

/// Returns the number of a list of tests, sorted by name, and the bytes of the rows that were added for it. A list is known by the
/// numbers of its tests, because another test may have got a name meanwhile.
fn roster_number(
    connection: &Connection,
    project: &ProjectId,
    ran: &CheckOfRun<'_>,
    tests: &[ListedTest],
) -> rusqlite::Result<(u32, usize)> {
    let CheckOfRun { number: check, run, name, may_rename } = *ran;
    let statement = "SELECT key, number FROM history_tests WHERE project = ?1 AND check_number = ?2";
    let mut statement = connection.prepare(statement)?;
    let by_key = statement.query_map(params![project.as_str(), check], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let by_key: HashMap<i64, u32> = by_key.collect::<rusqlite::Result<_>>()?;
    let keys: Vec<i64> = tests.iter().map(|test| to_integer(test_key(&run.task, name, test.stable_name()).bits())).collect();
    let known: Vec<Option<u32>> = keys.iter().map(|key| by_key.get(key).copied()).collect();
    let renamed = if may_rename { find_renamed(connection, project, check, tests, &known)? } else { BTreeMap::new() };
    let mut bytes = 0;
    let mut next = next_number(connection, project, "history_tests")?;
    let mut numbers = Vec::with_capacity(tests.len());
    let mut add = connection.prepare(
        "INSERT INTO history_tests (project, number, check_number, key, id, report_name) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (place, test) in tests.iter().enumerate() {
        let size = || row_bytes(&[test.id.len(), test.report_name.as_ref().map_or(0, String::len)]);
        let number = match (known[place], renamed.get(&place)) {
            (Some(number), _) => number,
            (None, Some(number)) => {
                rename(connection, project, run.sequence, *number, keys[place], test)?;
                bytes += size();
                *number
            }
            (None, None) => {
                add.execute(params![project.as_str(), next, check, keys[place], test.id, test.report_name])?;
                bytes += size();
                next += 1;
                next - 1
            }
        };
        numbers.push(number);
    }
    note_identities(connection, project, check, tests, &numbers)?;
    let list = encode_roster(&numbers);
    let digest = Digest::of(&list).hex();
    let statement = "SELECT number FROM history_rosters WHERE project = ?1 AND check_number = ?2 AND digest = ?3";
    let values = params![project.as_str(), check, digest];
    if let Some(number) = connection.query_row(statement, values, |row| row.get(0)).optional()? {
        return Ok((number, bytes));
    }
    let number = next_number(connection, project, "history_rosters")?;
    let statement = "INSERT INTO history_rosters (project, number, check_number, digest, tests) VALUES (?1, ?2, ?3, ?4, ?5)";
    execute(connection, statement, params![project.as_str(), number, check, digest, list])?;
    Ok((number, bytes + row_bytes(&[200, list.len()])))
}

/// Returns the key of a test. Each name comes after its length, so that no two tests have the same bytes.
pub(super) fn test_key(task: &TaskId, check: &str, stable_name: &str) -> TestKey {
    let mut names = Vec::new();
    for name in [task.as_str(), check, stable_name] {
        append_text(&mut names, name);
    }
    let first = Digest::of(&names).as_bytes().first_chunk().copied().unwrap_or_default();
    TestKey::from_bits(u64::from_be_bytes(first))
}

fn append_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// Returns the number of a failure's first line, and the bytes of a row that was added for it.
fn message_number(connection: &Connection, project: &ProjectId, text: &str) -> rusqlite::Result<(u32, usize)> {
    let text = match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => &text[..end],
        None => text,
    };
    let statement = "SELECT number FROM history_messages WHERE project = ?1 AND text = ?2";
    if let Some(number) = connection.query_row(statement, params![project.as_str(), text], |row| row.get(0)).optional()? {
        return Ok((number, 0));
    }
    let number = next_number(connection, project, "history_messages")?;
    let statement = "INSERT INTO history_messages (project, number, text) VALUES (?1, ?2, ?3)";
    execute(connection, statement, params![project.as_str(), number, text])?;
    Ok((number, row_bytes(&[text.len() * 2])))
}

fn next_number(connection: &Connection, project: &ProjectId, table: &str) -> rusqlite::Result<u32> {
    let statement = format!("SELECT COALESCE(max(number), 0) + 1 FROM {table} WHERE project = ?1");
    connection.query_row(&statement, params![project.as_str()], |row| row.get(0))
}

/// Returns how many bytes of the file a row takes, by the sizes of its columns.
pub(super) fn row_bytes(columns: &[usize]) -> usize {
    let content: usize = columns.iter().sum();
    ROW + content.min(ON_PAGE) + content.saturating_sub(ON_PAGE).div_ceil(PAGE) * PAGE
}

fn execute(connection: &Connection, statement: &str, values: impl Params) -> rusqlite::Result<usize> {
    connection.execute(statement, values)
}
