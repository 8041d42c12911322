//! Queries a database of SQLite. This runs in a process of its own inside an action's isolation, and never in the process that
//! judges: a file of the project may be made to attack whoever reads it.

use std::io::Write;
use std::path::Path;

use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::types::ValueRef;
use rusqlite::{Batch, Connection, OpenFlags, Statement};
use serde_json::{Map, Value};

use crate::client_start::{IN_MEMORY, SQLITE_READS};
use proctor_tools::SQLITE_NOT_OPENED;

/// Why a query was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum SqliteQueryError {
    #[error("three arguments are expected: the kind of query, the database, and the query")]
    Arguments,
    #[error("`{path}` cannot be opened: {source}")]
    Open { path: String, source: rusqlite::Error },
    #[error("{0}")]
    Query(#[from] rusqlite::Error),
    #[error("the rows cannot be written: {0}")]
    Write(#[from] std::io::Error),
}

impl SqliteQueryError {
    /// Returns the exit code of the process.
    pub fn code(&self) -> u8 {
        match self {
            Self::Open { .. } => SQLITE_NOT_OPENED,
            Self::Arguments | Self::Query(_) | Self::Write(_) => 1,
        }
    }
}

/// Carries out the query that the arguments name. Writes each row as a JSON object on a line of its own, or how many rows were
/// changed.
///
/// # Errors
/// When the database cannot be opened, or SQLite refuses the query.
pub fn query_sqlite(arguments: &[String], output: &mut dyn Write) -> Result<(), SqliteQueryError> {
    let [kind, path, query] = arguments else { return Err(SqliteQueryError::Arguments) };
    let reads = kind == SQLITE_READS;
    let connection = open(path, reads)?;
    let mut changed = 0;
    let mut batch = Batch::new(&connection, query);
    while let Some(mut statement) = batch.next()? {
        let is_reading = statement.column_count() > 0;
        let before = connection.total_changes();
        let rows = write_rows(&mut statement, if reads { Some(&mut *output) } else { None })?;
        // A statement that returns rows and changes none, such as a SELECT, counts the rows that it returned.
        let by_statement = connection.total_changes() - before;
        changed = if is_reading && by_statement == 0 { rows } else { by_statement };
    }
    if !reads {
        writeln!(output, "CHANGED {changed}")?;
    }
    Ok(output.flush()?)
}

fn open(path: &str, reads: bool) -> Result<Connection, SqliteQueryError> {
    let failed = |source| SqliteQueryError::Open { path: path.to_owned(), source };
    if path == IN_MEMORY {
        return Connection::open_in_memory().map_err(failed);
    }
    // A query never makes a database: a wrong path would show an empty one.
    let access = if reads { OpenFlags::SQLITE_OPEN_READ_ONLY } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
    let connection = Connection::open_with_flags(Path::new(path), access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(failed)?;
    // SQLite looks at the file only now.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(failed)?;
    Ok(connection)
}

/// Steps through a statement's rows and returns their number. Writes them if there is an output.
fn write_rows(statement: &mut Statement<'_>, mut output: Option<&mut dyn Write>) -> Result<u64, SqliteQueryError> {
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.raw_query();
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let Some(output) = &mut output else { continue };
        let mut object = Map::new();
        for (index, name) in names.iter().enumerate() {
            object.insert(name.clone(), as_json(row.get_ref(index)?));
        }
        serde_json::to_writer(&mut **output, &object).map_err(std::io::Error::from)?;
        output.write_all(b"\n")?;
    }
    Ok(count)
}

/// Returns a value of SQLite as JSON. Bytes become hexadecimal digits, as SQLite's `hex` writes them.
fn as_json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) => Value::from(number),
        ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::from(bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the files that are no databases")]
mod tests {
    use super::*;

    fn query(kind: &str, path: &Path, text: &str) -> Result<String, SqliteQueryError> {
        let mut output = Vec::new();
        let arguments = [kind.to_owned(), path.display().to_string(), text.to_owned()];
        query_sqlite(&arguments, &mut output).map(|()| String::from_utf8(output).expect("it is text"))
    }

    #[test]
    fn rows_come_as_json_and_changes_as_a_number() {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("app.db");
        Connection::open(&path).expect("a new database");
        let changes = |text: &str| query("changes", &path, text).expect(text);
        let reads = |text: &str| query("reads", &path, text).expect(text);
        assert_eq!(changes("CREATE TABLE quotes (id INTEGER, name TEXT, price REAL, data BLOB)"), "CHANGED 0\n");
        assert_eq!(changes("INSERT INTO quotes VALUES (1, 'a', 2.5, x'00ff'), (2, NULL, NULL, NULL)"), "CHANGED 2\n");
        assert_eq!(changes("UPDATE quotes SET name = 'b' WHERE id = 2; -- done"), "CHANGED 1\n");
        assert_eq!(changes("DELETE FROM quotes WHERE id = 9"), "CHANGED 0\n");
        assert_eq!(
            reads("SELECT * FROM quotes ORDER BY id;"),
            "{\"data\":\"00FF\",\"id\":1,\"name\":\"a\",\"price\":2.5}\n{\"data\":null,\"id\":2,\"name\":\"b\",\"price\":null}\n"
        );
        assert_eq!(reads("SELECT 1 WHERE false"), "");
        assert!(
            matches!(query("reads", &path, "DELETE FROM quotes"), Err(SqliteQueryError::Query(_))),
            "it is opened for reading"
        );
        assert!(matches!(query("reads", &path, "SELECT gone FROM quotes"), Err(SqliteQueryError::Query(_))));
    }

    #[test]
    fn a_database_that_is_none_or_is_not_there_is_not_opened() {
        let place = tempfile::tempdir().expect("a directory");
        std::fs::write(place.path().join("text.db"), "this is no database, however long it may be: ".repeat(99)).expect("a file");
        for name in ["none.db", "text.db", "."] {
            for kind in ["reads", "changes"] {
                let said = query(kind, &place.path().join(name), "SELECT 1").expect_err(name);
                assert_eq!(said.code(), SQLITE_NOT_OPENED, "{name}: {said}");
            }
        }
        assert!(!place.path().join("none.db").exists(), "no database is made");
        assert_eq!(query("changes", Path::new(IN_MEMORY), "SELECT 1").expect("it is in memory"), "CHANGED 1\n");
    }
}
