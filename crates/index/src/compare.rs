//! Verifies an index against the ledger: the same lines are applied to an empty index, and the rows are compared.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use crate::ApprovalJudge;
use crate::IndexError;
use crate::schema::{TABLES, VERSION, create_tables, read_version};
use crate::tables::{Tables, resolve_parent};
use crate::words::ColumnReader;
use proctor_model::{LedgerLine, ProjectId, Sequence};

/// A difference between an index and the ledger from which the index was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexDifference {
    /// The index has applied more lines than the ledger has.
    Ahead {
        /// The number of the last line that the index has applied.
        knows: Sequence,
    },
    /// The index has a row that does not follow from the ledger, or lacks a row that does.
    Row {
        table: &'static str,
        kind: RowDifference,
        /// The row's values as text.
        row: String,
    },
}

/// Whether a row is only in the index, or only follows from the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowDifference {
    /// The row is in the index and does not follow from the ledger.
    Unfounded,
    /// The row follows from the ledger and is not in the index.
    Missing,
}

/// An index that is open for reading only. All of its queries see the state at one moment.
#[derive(Debug)]
pub struct IndexReader {
    index: Tables,
}

impl IndexReader {
    /// Opens an index for reading; `judge` must be the function that its writer used. Returns `None` if there is no
    /// index, or only one of an older version, whose tables the next run makes anew. All answers show the index as it was at one
    /// moment. So an index that is opened before the ledger is read is never ahead of the ledger.
    ///
    /// # Errors
    /// When the index cannot be read, or a newer version wrote it.
    pub fn open(path: &Path, judge: ApprovalJudge) -> Result<Option<Self>, IndexError> {
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        let reader = ColumnReader { path: path.to_owned() };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection =
            Connection::open_with_flags(resolve_parent(path), flags).map_err(|source| reader.refused("open", source))?;
        // The transaction only reads. It begins with the first query, and in WAL mode it blocks no writer.
        connection.execute_batch("BEGIN").map_err(|source| reader.refused("open", source))?;
        let found = read_version(&connection).map_err(|source| reader.refused("read", source))?;
        if found > VERSION {
            return Err(IndexError::Newer { path: path.to_owned(), found, known: VERSION });
        }
        Ok((found == VERSION).then_some(Self { index: Tables { connection, reader, judge, identity: None } }))
    }

    /// Returns the ids of the projects that have a row in any table of the index.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn projects(&self) -> Result<BTreeSet<String>, IndexError> {
        let refused = |source| self.index.reader.refused("read", source);
        let mut projects = BTreeSet::new();
        for (table, column) in TABLES {
            let mut statement =
                self.index.connection.prepare(&format!("SELECT DISTINCT {column} FROM {table}")).map_err(refused)?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0)).map_err(refused)?;
            projects.extend(rows.collect::<rusqlite::Result<Vec<_>>>().map_err(refused)?);
        }
        Ok(projects)
    }

    /// Returns the project that was registered at a path; if there were several, the one that was registered last.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn project_at(&self, path: &str) -> Result<Option<ProjectId>, IndexError> {
        let refused = |source| self.index.reader.refused("read", source);
        let statement = "SELECT id FROM projects WHERE path = ?1 ORDER BY registered_sequence DESC LIMIT 1";
        let found = self.index.connection.query_row(statement, params![path], |row| row.get::<_, String>(0)).optional();
        Ok(found.map_err(refused)?.and_then(|id| ProjectId::try_from(id).ok()))
    }

    /// Compares the rows of a project with the lines of its ledger. Each line comes with the offset at which it ends.
    /// Lines that the index has not applied yet are no difference, because the index may be behind.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn compare(&self, project: &ProjectId, lines: &[(u64, LedgerLine)]) -> Result<Vec<IndexDifference>, IndexError> {
        let knows = self.index.position(project)?.map_or(Sequence(0), |(sequence, _)| sequence);
        let last = lines.last().map_or(Sequence(0), |(_, line)| line.sequence);
        if knows > last {
            return Ok(vec![IndexDifference::Ahead { knows }]);
        }
        let known: Vec<_> = lines.iter().filter(|(_, line)| line.sequence <= knows).cloned().collect();
        let mut fresh =
            Tables { connection: self.empty()?, reader: self.index.reader.clone(), judge: self.index.judge, identity: None };
        fresh.apply(project, &known, None)?;
        let mut differences = Vec::new();
        for (table, column) in TABLES {
            let (is, should) = (self.index.rows(table, column, project)?, fresh.rows(table, column, project)?);
            let named = |kind| move |row: &String| IndexDifference::Row { table, kind, row: row.clone() };
            differences.extend(is.difference(&should).map(named(RowDifference::Unfounded)));
            differences.extend(should.difference(&is).map(named(RowDifference::Missing)));
        }
        Ok(differences)
    }

    fn empty(&self) -> Result<Connection, IndexError> {
        let refused = |source| self.index.reader.refused("open", source);
        let mut connection = Connection::open_in_memory().map_err(refused)?;
        create_tables(&mut connection).map_err(refused)?;
        Ok(connection)
    }
}

impl Tables {
    fn rows(&self, table: &str, column: &str, project: &ProjectId) -> Result<BTreeSet<String>, IndexError> {
        let refused = |source| self.reader.refused("read", source);
        let mut statement = self.connection.prepare(&format!("SELECT * FROM {table} WHERE {column} = ?1")).map_err(refused)?;
        let columns = statement.column_count();
        let rows = statement.query_map(params![project.as_str()], |row| {
            let cells: rusqlite::Result<Vec<_>> = (0..columns).map(|cell| row.get_ref(cell).map(value_text)).collect();
            Ok(cells?.join(" | "))
        });
        rows.map_err(refused)?.collect::<rusqlite::Result<_>>().map_err(refused)
    }
}

fn value_text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "-".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

#[cfg(test)]
mod tests {
    use crate::IndexReader;
    use crate::testing::{TestIndex, everything_counts, project, registration, run_record};
    use proctor_model::OverallStatus;

    #[test]
    fn what_is_written_while_it_is_looked_at_is_no_difference() {
        let mut test = TestIndex::new();
        test.append("shop-00000001", registration("shop-00000001", "/srv/shop", 1, None));
        let before = test.lines[&project("shop-00000001")].clone();
        let look = IndexReader::open(&test.path, everything_counts).unwrap().expect("it is there");
        test.append_run("shop-00000001", run_record(1, "default", OverallStatus::Success));
        assert_eq!(look.compare(&project("shop-00000001"), &before).unwrap(), []);
        let later = IndexReader::open(&test.path, everything_counts).unwrap().expect("it is there");
        assert_eq!(later.compare(&project("shop-00000001"), &before).unwrap().len(), 1, "a ledger that is read too early shows");
    }
}
