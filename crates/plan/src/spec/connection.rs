//! Reads the connection string of a DATABASE_QUERY: which database it names. A secret in it is a variable of the action, `${NAME}`,
//! or of proctor's own environment, `{{NAME}}`; its value is put in only when the query is carried out.
//!
//! Decides whether a query only reads rows, or changes something.

use crate::spec::specification::{RawQueryType, below};
use proctor_model::{Database, QueryKind, SqlPart, sql_parts};

/// Why a connection string cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::spec) enum ConnectionProblem {
    /// The text names a kind of database that proctor does not query, or no known kind.
    Unknown,
    /// The file of SQLite does not lie in the project.
    LeavesProject,
    /// The connection string has a password.
    Secret,
    /// The path of a file has a secret in it. The path of a file is part of the plan, so it cannot be one.
    SecretPath,
}

/// The beginnings of connection strings of PostgreSQL.
const POSTGRESQL: &[&str] = &["postgresql://", "postgres://"];
/// The beginnings of connection strings of SQLite.
const SQLITE: &[&str] = &["sqlite:", "sqlite3:", "file:"];
/// The ends of the names of files of SQLite, for a connection string that is only a path.
const SQLITE_FILES: &[&str] = &[".db", ".db3", ".sqlite", ".sqlite3"];
/// The name of SQLite's database in memory.
const IN_MEMORY: &str = ":memory:";

/// Reads a connection string. `root` is the specification's `workspaceRoot`.
pub(in crate::spec) fn read_connection(root: &str, text: &str) -> Result<Database, ConnectionProblem> {
    let text = text.trim();
    if let Some(rest) = POSTGRESQL.iter().find_map(|begin| text.strip_prefix(begin)) {
        return if has_password(rest) { Err(ConnectionProblem::Secret) } else { Ok(postgresql(text)) };
    }
    if is_variable(text) {
        return Ok(postgresql(text));
    }
    let path = SQLITE.iter().find_map(|begin| text.strip_prefix(begin));
    let is_file = |text: &str| SQLITE_FILES.iter().any(|end| text.ends_with(end)) && !text.contains("://");
    let path = path.or_else(|| is_file(text).then_some(text)).or_else(|| (text == IN_MEMORY).then_some(text));
    let path = path.ok_or(ConnectionProblem::Unknown)?;
    if path.contains("{{") {
        return Err(ConnectionProblem::SecretPath);
    }
    let path = path.split('?').next().unwrap_or_default();
    if path.trim_start_matches('/') == IN_MEMORY || path.trim_start_matches('/').is_empty() {
        return Ok(Database::SqliteInMemory);
    }
    let file = file_below(root, path).filter(|file| !file.is_empty()).ok_or(ConnectionProblem::LeavesProject)?;
    Ok(Database::Sqlite { path: file.join("/") })
}

fn postgresql(text: &str) -> Database {
    Database::Postgresql { connection: text.to_owned() }
}

/// Returns the components of a path after `sqlite:`. In `sqlite:///a.db` the path is relative for some programs and absolute for
/// others: it is absolute where it lies below the root. `sqlite:////a.db` is absolute for all of them.
fn file_below<'p>(root: &str, path: &'p str) -> Option<Vec<&'p str>> {
    if let Some(absolute) = path.strip_prefix("///").filter(|rest| rest.starts_with('/')) {
        return below(root, absolute);
    }
    match path.strip_prefix("///") {
        Some(relative) => below(root, &path[2..]).or_else(|| below(root, relative)),
        None => below(root, path.strip_prefix("//").unwrap_or(path)),
    }
}

/// Returns whether a text is `${NAME}` or `{{NAME}}` and nothing else.
fn is_variable(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let name = name.or_else(|| text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")));
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|part| part.is_ascii_alphanumeric() || part == '_'))
}

/// Returns whether a password that is no variable stands in `user:password@host/database?options`.
fn has_password(rest: &str) -> bool {
    let (address, options) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = address.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let of_user = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let of_options = options.split('&').find_map(|option| option.strip_prefix("password="));
    of_user.into_iter().chain(of_options).any(|password| !password.is_empty() && !is_variable(password))
}

/// The first words of statements that return rows and change nothing.
const READING: &[&str] = &["select", "values", "table"];

/// The first words of statements inside of `WITH …` that change rows.
const CHANGING: &[&str] = &["insert", "update", "delete", "merge", "replace"];

/// Returns the kind of a query: what `queryType` says, otherwise what its words show.
pub(in crate::spec) fn query_kind(said: Option<RawQueryType>, query: &str) -> QueryKind {
    match said {
        Some(RawQueryType::Select) => QueryKind::Reads,
        Some(
            RawQueryType::Insert | RawQueryType::Update | RawQueryType::Delete | RawQueryType::Ddl | RawQueryType::Procedure,
        ) => QueryKind::Changes,
        None => {
            let parts = sql_parts(query);
            let first = parts.iter().position(|part| *part != SqlPart::Sign('('));
            let reads = match first.map(|first| (&parts[first], &parts[first + 1..])) {
                Some((SqlPart::Word(word), rest)) => {
                    READING.contains(&word.as_str()) || (word == "with" && !has_changing_statement(rest))
                }
                Some((SqlPart::Quoted | SqlPart::Sign(_), _)) | None => false,
            };
            if reads { QueryKind::Reads } else { QueryKind::Changes }
        }
    }
}

/// Returns whether a statement in the parts of a `WITH …` changes rows. A statement stands at the beginning of a bracket or behind the
/// end of one; `replace(` is a call.
fn has_changing_statement(parts: &[SqlPart]) -> bool {
    parts.windows(2).enumerate().any(|(place, pair)| {
        let next = parts.get(place + 2);
        let begins = matches!(pair[0], SqlPart::Sign('(' | ')'));
        let is_changing = matches!(&pair[1], SqlPart::Word(word) if CHANGING.contains(&word.as_str()));
        begins && is_changing && next != Some(&SqlPart::Sign('('))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_names_a_database_and_holds_no_password() {
        let read = |text: &str| read_connection("/srv/app", text);
        let sqlite = |path: &str| Ok(Database::Sqlite { path: path.to_owned() });
        let server = |text: &str| Ok(Database::Postgresql { connection: text.to_owned() });
        for (text, expected) in [
            ("sqlite:data/app.db", sqlite("data/app.db")),
            ("sqlite://data/app.db", sqlite("data/app.db")),
            ("sqlite:///data/app.db", sqlite("data/app.db")),
            ("sqlite:////srv/app/data/app.db", sqlite("data/app.db")),
            ("sqlite:///srv/app/data/app.db", sqlite("data/app.db")),
            ("file:app.db?mode=ro", sqlite("app.db")),
            ("data/app.sqlite3", sqlite("data/app.sqlite3")),
            ("/srv/app/app.db", sqlite("app.db")),
            ("${WORKSPACE_ROOT}/app.db", sqlite("app.db")),
            (":memory:", Ok(Database::SqliteInMemory)),
            ("sqlite://", Ok(Database::SqliteInMemory)),
            ("sqlite::memory:", Ok(Database::SqliteInMemory)),
            ("sqlite:../other.db", Err(ConnectionProblem::LeavesProject)),
            ("sqlite:////etc/app.db", Err(ConnectionProblem::LeavesProject)),
            ("/etc/app.db", Err(ConnectionProblem::LeavesProject)),
            ("postgresql://localhost/app", server("postgresql://localhost/app")),
            ("postgres://app@db:5432/app?sslmode=require", server("postgres://app@db:5432/app?sslmode=require")),
            ("postgres://app:${DB_PASSWORD}@db/app", server("postgres://app:${DB_PASSWORD}@db/app")),
            ("${DATABASE_URL}", server("${DATABASE_URL}")),
            ("postgres://app:{{DB_PASSWORD}}@db/app", server("postgres://app:{{DB_PASSWORD}}@db/app")),
            ("{{DATABASE_URL}}", server("{{DATABASE_URL}}")),
            ("postgres://app:a{{B}}@db/app", Err(ConnectionProblem::Secret)),
            ("sqlite:{{FILE}}", Err(ConnectionProblem::SecretPath)),
            ("{{FILE}}.db", Err(ConnectionProblem::SecretPath)),
            ("postgres://app:hush@db/app", Err(ConnectionProblem::Secret)),
            ("postgres://app:a${B}@db/app", Err(ConnectionProblem::Secret)),
            ("postgres://db/app?user=a&password=hush", Err(ConnectionProblem::Secret)),
            ("mysql://db/app", Err(ConnectionProblem::Unknown)),
            ("mongodb://db/app.db", Err(ConnectionProblem::Unknown)),
            ("Server=db;Database=app", Err(ConnectionProblem::Unknown)),
            ("", Err(ConnectionProblem::Unknown)),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        let windows = |text: &str| read_connection(r"D:\app", text);
        assert_eq!(windows(r"sqlite:///D:\app\data\app.db"), sqlite("data/app.db"));
        assert_eq!(windows(r"sqlite:D:\other\app.db"), Err(ConnectionProblem::LeavesProject));
    }

    #[test]
    fn what_reads_is_told_from_what_changes() {
        for (query, expected) in [
            (" select 1", QueryKind::Reads),
            ("(SELECT 1)", QueryKind::Reads),
            ("-- all quotes\nSELECT * FROM quotes", QueryKind::Reads),
            ("/* quotes */ ((select 1))", QueryKind::Reads),
            ("WITH a AS (SELECT 1) SELECT * FROM a", QueryKind::Reads),
            ("WITH a AS (SELECT replace(name, 'x', 'y') AS n FROM quotes) SELECT * FROM a", QueryKind::Reads),
            ("WITH a AS (SELECT 1) SELECT * FROM a WHERE state = 'delete' -- ) delete", QueryKind::Reads),
            ("WITH a AS (SELECT (\"update\")) SELECT (replace(n, 'a', 'b')) FROM a", QueryKind::Reads),
            ("WITH a AS (SELECT 1) DELETE FROM b", QueryKind::Changes),
            ("WITH a AS (DELETE FROM b RETURNING *) SELECT * FROM a", QueryKind::Changes),
            ("with a as (select 1) /* c */ insert into b select * from a", QueryKind::Changes),
            ("INSERT INTO a VALUES (1)", QueryKind::Changes),
            ("-- select\ndelete from a", QueryKind::Changes),
            ("pragma journal_mode = wal", QueryKind::Changes),
            ("", QueryKind::Changes),
        ] {
            assert_eq!(query_kind(None, query), expected, "{query}");
        }
        assert_eq!(query_kind(Some(RawQueryType::Procedure), "select f()"), QueryKind::Changes);
        assert_eq!(query_kind(Some(RawQueryType::Select), "explain select 1"), QueryKind::Reads);
    }
}
