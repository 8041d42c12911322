//! The tables of the index.

use rusqlite::{Connection, TransactionBehavior};

/// The version of the tables, which is the file's `user_version`. Whoever changes the tables raises it.
///
/// Compatibility: an old program refuses a file with a newer version and never writes to it. A new program makes the tables of
/// an older file anew, and they are filled as in a new file, because every row follows from ledgers and evidence: only what the index
/// of tests knew of pruned runs is lost.
pub(super) const VERSION: u32 = 21;

/// Makes all tables. The tables with long rows have row numbers: in a table without them every comparison of a search reads a whole
/// row, so an answer from 10,000 runs read hundreds of thousands of pages. Seals cover the order of the columns.
///
/// * `runs`: `tree_format` is null for the first format, whose name no ledger line has; `tested` for runs whose line does not name
///   the place in which the checks worked; `isolation` for namespaces, the strongest level; `coverage` for runs whose line does not
///   name their checks.
/// * `checks`: the last result of each check. `changed_rules` says whether the rules were not the approved ones.
/// * `seals`: the signature over the rows of each project (`seal`).
/// * `history_…`: the index of tests, filled from the evidence of the runs that are there. A question about older results counts the
///   newer ones in the index `history_results_carried_out`, and does not read their rows, which hold the durations of every test.
const SCHEMA: &str = "
CREATE TABLE positions (
    project TEXT PRIMARY KEY,
    applied_sequence INTEGER NOT NULL,
    applied_offset INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    path TEXT NOT NULL,
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    git_common_directory TEXT,
    plan_digest TEXT NOT NULL,
    registered_sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    project TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    task TEXT NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER,
    status TEXT NOT NULL,
    counts INTEGER NOT NULL,
    result TEXT,
    blocking INTEGER NOT NULL,
    tree_digest TEXT,
    environment_digest TEXT,
    plan_digest TEXT,
    report_hash TEXT,
    manifest_hash TEXT,
    route TEXT,
    exit TEXT,
    tree_format TEXT,
    tested TEXT,
    isolation TEXT,
    coverage TEXT,
    changed_rules INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project, sequence)
) STRICT;
CREATE INDEX runs_by_id ON runs (project, run_id);
CREATE INDEX runs_by_task ON runs (project, task, sequence);
CREATE INDEX runs_by_tree ON runs (tree_digest, project, sequence);

CREATE TABLE tdd (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    state TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (project, task)
) STRICT, WITHOUT ROWID;

CREATE TABLE prerequisites (
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (project, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE configuration (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (project, task, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE served (
    project TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE inputs (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (project, task, name, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE approvals (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    plan_digest TEXT NOT NULL,
    terms TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    protected TEXT,
    PRIMARY KEY (project, task)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_lists (
    project TEXT NOT NULL,
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (project, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE violations (
    project TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (project, sequence)
) STRICT, WITHOUT ROWID;

CREATE TABLE pruned (
    project TEXT NOT NULL,
    run_id TEXT NOT NULL,
    why TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (project, run_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE checks (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    changed_rules INTEGER NOT NULL,
    place INTEGER NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    plan_digest TEXT NOT NULL,
    tree_digest TEXT,
    blocking TEXT,
    run_id TEXT,
    sequence INTEGER,
    PRIMARY KEY (project, task, changed_rules, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE seals (
    project TEXT PRIMARY KEY,
    line TEXT NOT NULL,
    signature TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE file_digests (
    path TEXT PRIMARY KEY,
    stamp TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE history_positions (
    project TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE history_runs (
    project TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    task TEXT NOT NULL,
    started INTEGER NOT NULL,
    duration INTEGER,
    status TEXT NOT NULL,
    result TEXT,
    tree TEXT,
    passed INTEGER,
    failed INTEGER,
    skipped INTEGER,
    paths TEXT,
    PRIMARY KEY (project, sequence)
) STRICT;
CREATE INDEX history_runs_by_id ON history_runs (project, run_id);

CREATE TABLE history_checks (
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    task TEXT NOT NULL,
    name TEXT NOT NULL,
    identities TEXT,
    PRIMARY KEY (project, number),
    UNIQUE (project, task, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE history_tests (
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    check_number INTEGER NOT NULL,
    key INTEGER NOT NULL,
    id TEXT NOT NULL,
    report_name TEXT,
    body INTEGER,
    file INTEGER,
    title INTEGER,
    PRIMARY KEY (project, number),
    UNIQUE (project, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE history_former_names (
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    key INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    id TEXT NOT NULL,
    report_name TEXT,
    PRIMARY KEY (project, number, key)
) STRICT;

CREATE TABLE history_rosters (
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    check_number INTEGER NOT NULL,
    digest TEXT NOT NULL,
    tests BLOB NOT NULL,
    PRIMARY KEY (project, number),
    UNIQUE (project, check_number, digest)
) STRICT;

CREATE TABLE history_messages (
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (project, number),
    UNIQUE (project, text)
) STRICT, WITHOUT ROWID;

CREATE TABLE history_results (
    project TEXT NOT NULL,
    check_number INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    status TEXT NOT NULL,
    blocks INTEGER NOT NULL,
    duration INTEGER,
    passed INTEGER,
    failed INTEGER,
    skipped INTEGER,
    reused TEXT,
    roster INTEGER,
    complete INTEGER NOT NULL,
    outcomes BLOB NOT NULL,
    durations BLOB NOT NULL,
    PRIMARY KEY (project, check_number, sequence, attempt)
) STRICT;
CREATE INDEX history_results_by_run ON history_results (project, sequence);
CREATE INDEX history_results_carried_out ON history_results (project, check_number, sequence, attempt) WHERE reused IS NULL;
";

/// Every table whose rows belong to a project, with the column that has the project's id.
pub(super) const TABLES: [(&str, &str); 13] = [
    ("positions", "project"),
    ("projects", "id"),
    ("runs", "project"),
    ("tdd", "project"),
    ("prerequisites", "project"),
    ("configuration", "project"),
    ("served", "project"),
    ("inputs", "project"),
    ("approvals", "project"),
    ("task_lists", "project"),
    ("violations", "project"),
    ("pruned", "project"),
    ("checks", "project"),
];

/// The table with the seals of the projects' rows. It is not in [`TABLES`], because a seal does not follow from ledger lines
/// alone.
pub(super) const SEALS_TABLE: &str = "seals";

/// The tables of the index of tests. They are not in [`TABLES`], because their rows follow from evidence and not from ledger lines.
pub(super) const HISTORY_TABLES: [&str; 8] = [
    "history_positions",
    "history_runs",
    "history_checks",
    "history_tests",
    "history_former_names",
    "history_rosters",
    "history_messages",
    "history_results",
];

/// The only table whose rows belong to no project: a cache of file digests that all projects use.
pub(super) const CACHE_TABLE: &str = "file_digests";

/// Reads the version of the tables in a file; a new file has version 0.
pub(super) fn read_version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Makes the tables in a file that has none, or those of an older version, in one transaction. The version is read inside the
/// transaction, because another process may have made the tables a moment before.
pub(super) fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = read_version(&transaction)?;
    if version < VERSION {
        // Tables in a file without a version are another program's.
        let statement = "SELECT name FROM sqlite_schema WHERE type = 'table' AND ?1 > 0 AND name NOT LIKE 'sqlite_%'";
        let older: Vec<String> =
            transaction.prepare(statement)?.query_map([version], |row| row.get(0))?.collect::<Result<_, _>>()?;
        older.iter().try_for_each(|table| transaction.execute_batch(&format!("DROP TABLE \"{table}\"")))?;
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_an_older_version_are_made_anew_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        let older = "CREATE TABLE runs (x INTEGER); CREATE INDEX by_x ON runs (x); CREATE TABLE programs (y TEXT); \
                     INSERT INTO runs VALUES (7); PRAGMA user_version = 6;";
        connection.execute_batch(older).unwrap();
        create_tables(&mut connection).unwrap();
        assert_eq!(read_version(&connection), Ok(VERSION));
        let count = |connection: &Connection, table: &str| {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))
        };
        assert_eq!(count(&connection, "runs"), Ok(0));
        assert!(count(&connection, "programs").is_err());
        connection.execute("INSERT INTO served (project, sequence) VALUES ('shop-00000001', 1)", []).unwrap();
        create_tables(&mut connection).unwrap();
        assert_eq!(count(&connection, "served"), Ok(1), "tables of this version keep their rows");
    }

    #[test]
    fn tables_that_cannot_be_made_change_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE a (x INTEGER); CREATE TABLE checks (x INTEGER);").unwrap();
        assert!(create_tables(&mut connection).is_err());
        assert_eq!(read_version(&connection), Ok(0));
        connection.query_row("SELECT count(*) FROM a", [], |row| row.get::<_, i64>(0)).unwrap();
    }

    #[test]
    fn every_table_is_known_by_name() {
        let mut connection = Connection::open_in_memory().unwrap();
        create_tables(&mut connection).unwrap();
        let count =
            connection.query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get::<_, i64>(0));
        // The tables `file_digests` and `seals` are counted too, and are not in `TABLES`.
        assert_eq!(count, Ok((TABLES.len() + HISTORY_TABLES.len()) as i64 + 2));
        for (table, column) in TABLES.into_iter().chain(HISTORY_TABLES.map(|table| (table, "project"))) {
            connection.prepare(&format!("SELECT {column} FROM {table}")).unwrap();
        }
    }
}
