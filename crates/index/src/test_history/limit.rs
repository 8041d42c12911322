//! Keeps a project's rows in the index of tests within their limit, and lets those of purged runs go.

use std::collections::BTreeSet;

use rusqlite::{Connection, TransactionBehavior, params};

use crate::IndexError;
use crate::schema::HISTORY_TABLES;
use crate::tables::Tables;
use crate::test_history::codec::{decode_not_passed, decode_roster};
use crate::test_history::write::{read_position, row_bytes, write_position};
use crate::words::{from_integer, to_integer};
use proctor_model::{ProjectId, Sequence};

impl Tables {
    pub(super) fn forget_tests(&mut self, project: &ProjectId) -> Result<(), IndexError> {
        let refused = |source| self.reader.refused("write", source);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(refused)?;
        for table in HISTORY_TABLES {
            let statement = format!("DELETE FROM {table} WHERE project = ?1");
            transaction.execute(&statement, params![project.as_str()]).map_err(refused)?;
        }
        transaction.commit().map_err(refused)
    }
}

/// Deletes the rows of the oldest runs, until the project's rows take at most seven eighths of `largest` bytes. So this is not
/// done again after the next run.
pub(super) fn keep_within(connection: &Connection, project: &ProjectId, largest: u64) -> rusqlite::Result<()> {
    let wanted = largest - largest / 8;
    loop {
        let bytes = measure(connection, project)?;
        let (last, _) = read_position(connection, project)?;
        write_position(connection, project, last, bytes)?;
        if bytes <= wanted {
            return Ok(());
        }
        // An eighth of the runs, and at least one. The newest run stays, however large it is.
        let statement = "SELECT sequence FROM history_runs WHERE project = ?1 ORDER BY sequence LIMIT 1 OFFSET \
                         (SELECT max(1, count(*) / 8) FROM history_runs WHERE project = ?1)";
        let first_kept = connection.query_row(statement, params![project.as_str()], |row| row.get::<_, i64>(0));
        match first_kept {
            Ok(first_kept) => delete_before(connection, project, Sequence(from_integer(first_kept)))?,
            Err(rusqlite::Error::QueryReturnedNoRows) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Deletes what is known about the tests of all runs before a ledger line, because their evidence was purged: the names of
/// tests and their failures were a part of it.
pub(crate) fn forget_before(connection: &Connection, project: &ProjectId, sequence: Sequence) -> rusqlite::Result<()> {
    delete_before(connection, project, sequence)?;
    let (last, _) = read_position(connection, project)?;
    let bytes = measure(connection, project)?;
    write_position(connection, project, last.max(sequence), bytes)
}

fn delete_before(connection: &Connection, project: &ProjectId, sequence: Sequence) -> rusqlite::Result<()> {
    for table in ["history_results", "history_runs"] {
        let statement = format!("DELETE FROM {table} WHERE project = ?1 AND sequence < ?2");
        connection.execute(&statement, params![project.as_str(), to_integer(sequence.0)])?;
    }
    let statement = "DELETE FROM history_former_names WHERE project = ?1 AND sequence < ?2";
    connection.execute(statement, params![project.as_str(), to_integer(sequence.0)])?;
    delete_unused(connection, project)
}

/// Deletes the lists of tests, tests, messages and checks that no result refers to any more.
fn delete_unused(connection: &Connection, project: &ProjectId) -> rusqlite::Result<()> {
    let id = params![project.as_str()];
    connection.execute(
        "DELETE FROM history_rosters WHERE project = ?1 AND number NOT IN \
         (SELECT roster FROM history_results WHERE project = ?1 AND roster IS NOT NULL)",
        id,
    )?;
    connection.execute(
        "DELETE FROM history_checks WHERE project = ?1 AND number NOT IN \
         (SELECT check_number FROM history_results WHERE project = ?1)",
        id,
    )?;
    let mut tests = BTreeSet::new();
    let mut statement = connection.prepare("SELECT tests FROM history_rosters WHERE project = ?1")?;
    for list in statement.query_map(id, |row| row.get::<_, Vec<u8>>(0))? {
        tests.extend(decode_roster(&list?).unwrap_or_default());
    }
    let mut messages = BTreeSet::new();
    let mut statement = connection.prepare("SELECT outcomes FROM history_results WHERE project = ?1 AND outcomes != x''")?;
    for outcomes in statement.query_map(id, |row| row.get::<_, Vec<u8>>(0))? {
        messages.extend(decode_not_passed(&outcomes?).unwrap_or_default().iter().filter_map(|test| test.message));
    }
    for (table, used) in [("history_tests", tests), ("history_messages", messages)] {
        let mut statement = connection.prepare(&format!("SELECT number FROM {table} WHERE project = ?1"))?;
        let known: Vec<u32> = statement.query_map(id, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut delete = connection.prepare(&format!("DELETE FROM {table} WHERE project = ?1 AND number = ?2"))?;
        for number in known.into_iter().filter(|number| !used.contains(number)) {
            delete.execute(params![project.as_str(), number])?;
        }
    }
    let statement = "DELETE FROM history_former_names WHERE project = ?1 AND number NOT IN \
                     (SELECT number FROM history_tests WHERE project = ?1)";
    connection.execute(statement, id).map(drop)
}

/// Returns how many bytes the project's rows take, counted as they are when they are added. SQLite counts the characters of a text,
/// so the texts are counted as bytes.
fn measure(connection: &Connection, project: &ProjectId) -> rusqlite::Result<u64> {
    let sizes = [
        "SELECT 140 + length(CAST(task AS BLOB)) + COALESCE(length(CAST(paths AS BLOB)), 0) FROM history_runs WHERE project = ?1",
        "SELECT 2 * (length(CAST(task AS BLOB)) + length(CAST(name AS BLOB))) FROM history_checks WHERE project = ?1",
        "SELECT length(CAST(id AS BLOB)) + COALESCE(length(CAST(report_name AS BLOB)), 0) FROM history_tests WHERE project = ?1",
        "SELECT length(CAST(id AS BLOB)) + COALESCE(length(CAST(report_name AS BLOB)), 0) FROM history_former_names WHERE project = ?1",
        "SELECT 200 + length(tests) FROM history_rosters WHERE project = ?1",
        "SELECT 2 * length(CAST(text AS BLOB)) FROM history_messages WHERE project = ?1",
        "SELECT 60 + length(outcomes) + length(durations) FROM history_results WHERE project = ?1",
    ];
    let mut bytes = 0;
    for statement in sizes {
        let mut statement = connection.prepare(statement)?;
        for size in statement.query_map(params![project.as_str()], |row| row.get::<_, i64>(0))? {
            bytes += row_bytes(&[usize::try_from(size?).unwrap_or(0)]) as u64;
        }
    }
    Ok(bytes)
}
