//! Whether an index says what the ledger says: the same lines are applied to an empty one, and rows are compared.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use crate::model::{LedgerLine, ProjectId, Sequence};
use crate::store::ApprovalJudge;
use crate::store::IndexError;
use crate::store::schema::{MIGRATIONS, TABLES, migrate, read_version};
use crate::store::tables::{Tables, real_place};
use crate::store::words::Reader;

/// How an index and a ledger differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexDifference {
    /// The index knows more lines than there are.
    Ahead {
        /// The last line it knows.
        knows: Sequence,
    },
    /// A row is there that does not follow from the ledger, or is missing.
    Row {
        /// Its table.
        table: &'static str,
        /// Which of the two.
        kind: RowDifference,
        /// Its values.
        row: String,
    },
}

/// How a row differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowDifference {
    /// It does not follow from the ledger.
    Unfounded,
    /// It follows from the ledger and is not there.
    Missing,
}

/// An index that is only looked at.
#[derive(Debug)]
pub struct IndexLook {
    index: Tables,
}

impl IndexLook {
    /// Opens an index for looking, by whoever judges approvals as its writer did; none where there is none, or one of an older version
    /// that the next run migrates. What is seen of it is as it is now, whatever is written later: an index that is looked at before the
    /// ledger is read is never ahead of it.
    ///
    /// # Errors
    /// When it cannot be read, or was made by a newer version.
    pub fn open(path: &Path, judge: ApprovalJudge) -> Result<Option<Self>, IndexError> {
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        let reader = Reader { path: path.to_owned() };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(real_place(path), flags).map_err(|source| reader.refused("open", source))?;
        // A transaction of readers only: it begins with the first look, and in WAL mode keeps no writer waiting.
        connection.execute_batch("BEGIN").map_err(|source| reader.refused("open", source))?;
        let found = read_version(&connection).map_err(|source| reader.refused("read", source))?;
        let known = u32::try_from(MIGRATIONS.len()).expect("there are few migrations");
        if found > known {
            return Err(IndexError::Newer { path: path.to_owned(), found, known });
        }
        Ok((found == known).then_some(Self { index: Tables { connection, reader, judge, identity: None } }))
    }

    /// Returns the projects the index knows.
    ///
    /// # Errors
    /// When it cannot be read.
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

    /// Returns the project that the index has at a path.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn project_at(&self, path: &str) -> Result<Option<ProjectId>, IndexError> {
        let refused = |source| self.index.reader.refused("read", source);
        let statement = "SELECT id FROM projects WHERE path = ?1 ORDER BY registered_sequence DESC LIMIT 1";
        let found = self.index.connection.query_row(statement, params![path], |row| row.get::<_, String>(0)).optional();
        Ok(found.map_err(refused)?.and_then(|id| ProjectId::try_from(id).ok()))
    }

    /// Compares what the index says of a project with its ledger's lines, each with the offset after it. Lines that the index does not
    /// know yet are no difference: it may be behind.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn compare(&self, project: &ProjectId, lines: &[(u64, LedgerLine)]) -> Result<Vec<IndexDifference>, IndexError> {
        let knows = self.index.position(project)?.map_or(Sequence(0), |(sequence, _)| sequence);
        let last = lines.last().map_or(Sequence(0), |(_, line)| line.sequence);
        if knows > last {
            return Ok(vec![IndexDifference::Ahead { knows }]);
        }
        let known: Vec<_> = lines.iter().filter(|(_, line)| line.sequence <= knows).cloned().collect();
        let mut fresh =
            Tables { connection: self.empty()?, reader: self.index.reader.clone(), judge: self.index.judge, identity: None };
        fresh.apply(project, &known)?;
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
        migrate(&mut connection, MIGRATIONS).map_err(refused)?;
        Ok(connection)
    }
}

impl Tables {
    /// Returns every row of a project in a table, as text.
    fn rows(&self, table: &str, column: &str, project: &ProjectId) -> Result<BTreeSet<String>, IndexError> {
        let refused = |source| self.reader.refused("read", source);
        let mut statement = self.connection.prepare(&format!("SELECT * FROM {table} WHERE {column} = ?1")).map_err(refused)?;
        let columns = statement.column_count();
        let rows = statement.query_map(params![project.as_str()], |row| {
            let cells: rusqlite::Result<Vec<_>> = (0..columns).map(|cell| row.get_ref(cell).map(shown)).collect();
            Ok(cells?.join(" | "))
        });
        rows.map_err(refused)?.collect::<rusqlite::Result<_>>().map_err(refused)
    }
}

fn shown(value: ValueRef<'_>) -> String {
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
    use crate::model::OverallStatus;
    use crate::store::IndexLook;
    use crate::store::testing::{TestIndex, everything_counts, project, registration, run_record};

    #[test]
    fn what_is_written_while_it_is_looked_at_is_no_difference() {
        let mut test = TestIndex::new();
        test.append("shop-00000001", registration("shop-00000001", "/srv/shop", 1, None));
        let before = test.lines[&project("shop-00000001")].clone();
        let look = IndexLook::open(&test.path, everything_counts).unwrap().expect("it is there");
        test.append_run("shop-00000001", run_record(1, "default", OverallStatus::Success));
        assert_eq!(look.compare(&project("shop-00000001"), &before).unwrap(), []);
        let later = IndexLook::open(&test.path, everything_counts).unwrap().expect("it is there");
        assert_eq!(later.compare(&project("shop-00000001"), &before).unwrap().len(), 1, "a ledger that is read too early shows");
    }
}
