//! Judges the result of a database query. Both clients print a query's rows in one form: a JSON object for each row, on a line
//! of its own. For a statement that changes rows, the last line says how many.

use serde_json::{Map, Value};

use crate::client::{failed, first_line};
use crate::file_validation::{quoted, sentence};
use crate::interpret::Exited;
use crate::json_schema::{SchemaProblem, check_schema};
use proctor_model::{Advice, CategoryCode, ClientFacts, DatabaseQuery, Interpretation, QueryKind, SqlPart, sql_parts};

/// `psql`'s exit code for a connection to the server that was not made, or was lost.
const NO_CONNECTION: i32 = 2;

/// The exit code of the process that queries SQLite (`proctor __sqlite`) if the database cannot be opened.
pub const SQLITE_NOT_OPENED: u8 = 3;

/// The words of `psql` before the number of rows that a statement changed.
const TAGS: &[&str] = &["INSERT 0", "UPDATE", "DELETE", "MERGE", "COPY", "SELECT"];

/// The word of proctor's own process for SQLite before that number.
const CHANGED: &str = "CHANGED";

pub(super) fn interpret_postgresql(exited: &Exited<'_>, wanted: &DatabaseQuery) -> Interpretation {
    match exited.code {
        0 => judge(exited, wanted),
        NO_CONNECTION => {
            let why = first_line(&exited.stderr).unwrap_or("it does not say why");
            Interpretation::plain(CategoryCode::NoAnswer, format!("The database did not answer: {why}"))
        }
        _ => failed(exited, "`psql`"),
    }
}

pub(super) fn interpret_sqlite(exited: &Exited<'_>, wanted: &DatabaseQuery) -> Interpretation {
    match exited.code {
        0 => judge(exited, wanted),
        code if code == i32::from(SQLITE_NOT_OPENED) => {
            let why = first_line(&exited.stderr).unwrap_or("it does not say why");
            let reason = format!("The database cannot be opened: {why}");
            let advice = Advice::to_do(format!(
                "Let a step before this one make the database's file, or correct `connectionString`: it cannot be opened: {why}"
            ));
            Interpretation { advice, ..Interpretation::plain(CategoryCode::ClientFailed, reason) }
        }
        _ => failed(exited, "SQLite"),
    }
}

fn judge(exited: &Exited<'_>, wanted: &DatabaseQuery) -> Interpretation {
    if !exited.stdout_is_complete {
        let reason = "The query returned more than is looked through; ask for fewer rows".to_owned();
        return Interpretation::plain(CategoryCode::OutputTooLarge, reason);
    }
    let mut lines = exited.stdout.lines().filter(|line| !line.trim().is_empty());
    let (count, rows) = match wanted.kind {
        QueryKind::Reads => match lines.map(serde_json::from_str::<Map<String, Value>>).collect::<Result<Vec<_>, _>>() {
            Ok(rows) => (Some(rows.len() as u64), rows),
            Err(error) => {
                let reason = format!("What the query returned cannot be read as rows: {error}");
                return Interpretation::plain(CategoryCode::ReportUnreadable, reason);
            }
        },
        QueryKind::Changes => (lines.next_back().and_then(changed_rows), Vec::new()),
    };
    let facts = Some(ClientFacts { rows: count, initialized: None });
    let judged = match fault(wanted, count, &rows) {
        Ok(()) => Interpretation::plain(CategoryCode::ResultValid, proven(wanted, count)),
        Err((category, reason)) => Interpretation::plain(category, reason),
    };
    Interpretation { client: facts, ..judged }
}

/// The first words of statements that return rows, of which no row is changed.
const RETURNING: &[&str] = &["pragma", "explain", "select", "values", "table", "show"];

fn proven(wanted: &DatabaseQuery, count: Option<u64>) -> String {
    let first = sql_parts(&wanted.query).into_iter().next();
    let returns = matches!(first, Some(SqlPart::Word(word)) if RETURNING.contains(&word.as_str()));
    match (wanted.kind, count) {
        (QueryKind::Changes, Some(count)) if returns => format!("The statement returned {count} row(s)"),
        (QueryKind::Reads, Some(count)) => format!("The query returned {count} row(s), as it must"),
        (QueryKind::Changes, Some(count)) => format!("The statement was carried out on {count} row(s)"),
        (QueryKind::Reads | QueryKind::Changes, None) => "The statement was carried out".to_owned(),
    }
}

/// Returns the number of rows in a line such as `UPDATE 3`.
fn changed_rows(line: &str) -> Option<u64> {
    let words = TAGS.iter().chain([&CHANGED]);
    words.filter_map(|word| line.trim().strip_prefix(word)).find_map(|rest| rest.strip_prefix(' ')?.parse().ok())
}

fn fault(wanted: &DatabaseQuery, count: Option<u64>, rows: &[Map<String, Value>]) -> Result<(), (CategoryCode, String)> {
    let invalid = |reason: String| Err((CategoryCode::ResultInvalid, reason));
    match (wanted.expected_rows, count) {
        (Some(expected), Some(count)) if expected != count => {
            let did = if wanted.kind == QueryKind::Reads { "returned" } else { "changed" };
            return invalid(format!("The query {did} {count} row(s), expected are {expected}"));
        }
        (Some(expected), None) => {
            return invalid(format!("The database does not say how many rows were changed, expected are {expected}"));
        }
        (Some(_) | None, _) => {}
    }
    if let Some(schema) = &wanted.row_schema {
        if rows.is_empty() {
            return invalid("The query returned no row, so no row satisfies `rowSchema`".to_owned());
        }
        for (number, row) in rows.iter().enumerate() {
            let text = serde_json::to_vec(row).unwrap_or_default();
            match check_schema(schema, &text) {
                Ok(()) => {}
                Err(problem @ SchemaProblem::Schema(_)) => return Err((CategoryCode::UsageError, sentence(&problem))),
                Err(problem) => return invalid(format!("Row {} is not valid: {problem}", number + 1)),
            }
        }
    }
    if let Some(values) = &wanted.contains_values
        && !rows.iter().any(|row| values.iter().all(|(name, value)| row.get(name).is_some_and(|seen| is_same(seen, value))))
    {
        let text = serde_json::to_string(values).unwrap_or_default();
        return invalid(format!("None of {} row(s) has the values `{}`", rows.len(), quoted(&text)));
    }
    Ok(())
}

/// Returns whether two values are the same. `3` and `3.0` are one number, because databases write some integers as fractions.
fn is_same(one: &Value, other: &Value) -> bool {
    let number = |value: &Value| value.as_f64().filter(|number| number.abs() < 9e15);
    one == other || number(one).zip(number(other)).is_some_and(|(one, other)| one.to_bits() == other.to_bits())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::samples::Returned;
    use proctor_model::{ActionKind, ClientCall, Database, Tool};

    fn query(kind: QueryKind) -> DatabaseQuery {
        DatabaseQuery {
            database: Database::Postgresql { connection: "${DATABASE_URL}".to_owned() },
            query: "select 1".to_owned(),
            kind,
            expected_rows: None,
            row_schema: None,
            contains_values: None,
            connection_timeout_ms: 5000,
        }
    }

    fn seen(query: DatabaseQuery, code: i32, stdout: &str, stderr: &str) -> (CategoryCode, Option<u64>, String) {
        let mut returned = Returned::exited(Tool::Generic, "psql", code).saying(stdout, stderr);
        returned.action.kind = ActionKind::ClientCommand(Box::new(ClientCall::Query(query)));
        let judged = returned.interpret();
        (judged.category, judged.client.and_then(|client| client.rows), judged.reason)
    }

    #[test]
    fn rows_are_counted_and_compared_and_nothing_that_is_unknown_is_valid() {
        use CategoryCode::{NoAnswer, ReportUnreadable, ResultInvalid, ResultValid};
        const ROWS: &str = "{\"id\": 1, \"name\": \"a\"}\n{\"id\": 2, \"name\": null}\n";
        let reads = || query(QueryKind::Reads);
        let map = |value: Value| value.as_object().cloned();
        let schema = |property: Value| Some(json!({ "required": ["id"], "properties": { "name": property } }));
        for (wanted, stdout, expected) in [
            (reads(), ROWS, (ResultValid, Some(2))),
            (reads(), "", (ResultValid, Some(0))),
            (DatabaseQuery { expected_rows: Some(2), ..reads() }, ROWS, (ResultValid, Some(2))),
            (DatabaseQuery { expected_rows: Some(0), ..reads() }, "", (ResultValid, Some(0))),
            (DatabaseQuery { expected_rows: Some(3), ..reads() }, ROWS, (ResultInvalid, Some(2))),
            (DatabaseQuery { contains_values: map(json!({ "id": 1.0, "name": "a" })), ..reads() }, ROWS, (ResultValid, Some(2))),
            (DatabaseQuery { contains_values: map(json!({ "name": null })), ..reads() }, ROWS, (ResultValid, Some(2))),
            (DatabaseQuery { contains_values: map(json!({ "id": 2, "name": "a" })), ..reads() }, ROWS, (ResultInvalid, Some(2))),
            (DatabaseQuery { contains_values: map(json!({ "other": null })), ..reads() }, ROWS, (ResultInvalid, Some(2))),
            (DatabaseQuery { row_schema: schema(json!({})), ..reads() }, ROWS, (ResultValid, Some(2))),
            (DatabaseQuery { row_schema: schema(json!({ "type": "string" })), ..reads() }, ROWS, (ResultInvalid, Some(2))),
            (DatabaseQuery { row_schema: schema(json!({})), ..reads() }, "", (ResultInvalid, Some(0))),
            (reads(), "SELECT 2\n", (ReportUnreadable, None)),
            (query(QueryKind::Changes), "CREATE TABLE\nINSERT 0 3\n", (ResultValid, Some(3))),
            (query(QueryKind::Changes), "CHANGED 1\n", (ResultValid, Some(1))),
            (query(QueryKind::Changes), "CREATE TABLE\n", (ResultValid, None)),
            (DatabaseQuery { expected_rows: Some(1), ..query(QueryKind::Changes) }, "UPDATE 1\n", (ResultValid, Some(1))),
            (DatabaseQuery { expected_rows: Some(1), ..query(QueryKind::Changes) }, "DELETE 2\n", (ResultInvalid, Some(2))),
            (DatabaseQuery { expected_rows: Some(1), ..query(QueryKind::Changes) }, "CREATE TABLE\n", (ResultInvalid, None)),
        ] {
            let (category, count, reason) = seen(wanted.clone(), 0, stdout, "");
            assert_eq!((category, count), expected, "{wanted:?} {stdout}: {reason}");
        }
        let refused = "psql: error: connection to server at \"db\", port 5432 failed: Connection refused\n";
        assert_eq!(seen(reads(), 2, "", refused).0, NoAnswer);
        let (category, _, reason) = seen(reads(), 1, "", "ERROR:  relation \"quotes\" does not exist\nLINE 1: x\n");
        assert_eq!(category, CategoryCode::ClientFailed);
        let pragma = DatabaseQuery { query: "-- which\nPRAGMA table_info(a)".to_owned(), ..query(QueryKind::Changes) };
        assert_eq!(seen(pragma, 0, "CHANGED 5\n", "").2, "The statement returned 5 row(s)");
        assert!(reason.contains("relation \"quotes\" does not exist"), "{reason}");
    }
}
