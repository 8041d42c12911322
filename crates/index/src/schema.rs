//! The tables of the index, and the migration of files that an older version wrote.

use rusqlite::{Connection, TransactionBehavior};

/// The migration steps, one for each version. A file whose `user_version` is `n` has had the first `n` steps. Steps are
/// never edited, only added.
///
/// Compatibility: an old program refuses a file with a newer version and never writes to it. A new program migrates an
/// older file. A migration that needs the ledger lines again empties the table `positions`, so that all lines are
/// applied once more.
pub(super) const MIGRATIONS: &[&str] = &[
    VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7, VERSION_8, VERSION_9, VERSION_10, VERSION_11,
    VERSION_12, VERSION_13, VERSION_14, VERSION_15, VERSION_16, VERSION_17, VERSION_18, VERSION_19,
];

const VERSION_1: &str = "
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
    PRIMARY KEY (project, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_id ON runs (project, run_id);
CREATE INDEX runs_by_task ON runs (project, task, sequence);

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

CREATE TABLE file_digests (
    path TEXT PRIMARY KEY,
    stamp TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT, WITHOUT ROWID;
";

const VERSION_2: &str = "
ALTER TABLE runs ADD COLUMN exit TEXT;

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
";

const VERSION_3: &str = "
CREATE TABLE approvals (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    plan_digest TEXT NOT NULL,
    terms TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (project, task)
) STRICT, WITHOUT ROWID;
";

/// Adds a column for the protected files to the approvals.
const VERSION_6: &str = "
ALTER TABLE approvals ADD COLUMN protected TEXT;
";

/// Adds a column for the format of a run's tree digest; null for the first format, whose name no ledger line has.
const VERSION_7: &str = "
ALTER TABLE runs ADD COLUMN tree_format TEXT;
";

/// Adds a column for the place in which a run's checks worked; null for runs whose ledger line does not name it.
const VERSION_8: &str = "
ALTER TABLE runs ADD COLUMN tested TEXT;
";

/// Adds a column for the isolation level of a run; null for namespaces, the strongest level.
const VERSION_9: &str = "
ALTER TABLE runs ADD COLUMN isolation TEXT;
";

/// Adds a column that says whether a run covers all checks of its plan, and a table with the last result of each check. The
/// column is null for runs whose ledger line does not name their checks.
const VERSION_10: &str = "
ALTER TABLE runs ADD COLUMN coverage TEXT;

CREATE TABLE checks (
    project TEXT NOT NULL,
    task TEXT NOT NULL,
    place INTEGER NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    plan_digest TEXT NOT NULL,
    tree_digest TEXT,
    blocking TEXT,
    run_id TEXT,
    sequence INTEGER,
    PRIMARY KEY (project, task, place)
) STRICT, WITHOUT ROWID;
";

/// Adds a table with the programs that the runs of each project started. Of the runs before this version they are not known.
const VERSION_11: &str = "
CREATE TABLE programs (
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    program TEXT NOT NULL,
    tool TEXT NOT NULL,
    ending TEXT NOT NULL,
    PRIMARY KEY (project, name, program, tool, ending)
) STRICT, WITHOUT ROWID;

INSERT INTO programs (project, name, program, tool, ending) SELECT DISTINCT project, '', '', '', 'unknown' FROM runs;
";

/// Adds a table with the seal of each project's rows (`seal`). The rows of older versions have no seal, so all lines are applied
/// once more.
const VERSION_12: &str = "
CREATE TABLE seals (
    project TEXT PRIMARY KEY,
    line TEXT NOT NULL,
    signature TEXT NOT NULL
) STRICT, WITHOUT ROWID;

DELETE FROM positions;
";

/// Has all lines applied once more, so that the rows of pruned runs that no answer needs are gone.
const VERSION_13: &str = "
DELETE FROM runs;
DELETE FROM inputs;
DELETE FROM pruned;
DELETE FROM violations;
DELETE FROM seals;
DELETE FROM positions;
";

/// Adds the tables of the index of tests. They are filled from the evidence of the runs that are there, and no ledger line is applied
/// again.
const VERSION_14: &str = "
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
) STRICT, WITHOUT ROWID;
CREATE INDEX history_runs_by_id ON history_runs (project, run_id);

CREATE TABLE history_checks (
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    task TEXT NOT NULL,
    name TEXT NOT NULL,
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
    PRIMARY KEY (project, number),
    UNIQUE (project, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE history_rosters (
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    check_number INTEGER NOT NULL,
    digest TEXT NOT NULL,
    tests BLOB NOT NULL,
    PRIMARY KEY (project, number),
    UNIQUE (project, check_number, digest)
) STRICT, WITHOUT ROWID;

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
) STRICT, WITHOUT ROWID;
CREATE INDEX history_results_by_run ON history_results (project, sequence);
";

/// Adds an index of the results that were carried out. A question about older results counts the newer ones in it, and does not read
/// their rows, which hold the durations of every test.
const VERSION_15: &str = "
CREATE INDEX IF NOT EXISTS history_results_carried_out ON history_results (project, check_number, sequence, attempt) WHERE reused IS NULL;
";

/// Makes the tables with long rows anew as tables with row numbers. In a table without them every comparison of a search reads a whole row,
/// so an answer from 10,000 runs read hundreds of thousands of pages. The order of the columns stays: seals cover it.
const VERSION_16: &str = "
CREATE TABLE runs_with_rowid (
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
    PRIMARY KEY (project, sequence)
) STRICT;
INSERT INTO runs_with_rowid SELECT * FROM runs ORDER BY project, sequence;
DROP TABLE runs;
ALTER TABLE runs_with_rowid RENAME TO runs;
CREATE INDEX runs_by_id ON runs (project, run_id);
CREATE INDEX runs_by_task ON runs (project, task, sequence);

CREATE TABLE history_runs_with_rowid (
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
INSERT INTO history_runs_with_rowid SELECT * FROM history_runs ORDER BY project, sequence;
DROP TABLE history_runs;
ALTER TABLE history_runs_with_rowid RENAME TO history_runs;
CREATE INDEX history_runs_by_id ON history_runs (project, run_id);

CREATE TABLE history_rosters_with_rowid (
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    check_number INTEGER NOT NULL,
    digest TEXT NOT NULL,
    tests BLOB NOT NULL,
    PRIMARY KEY (project, number),
    UNIQUE (project, check_number, digest)
) STRICT;
INSERT INTO history_rosters_with_rowid SELECT * FROM history_rosters ORDER BY project, number;
DROP TABLE history_rosters;
ALTER TABLE history_rosters_with_rowid RENAME TO history_rosters;

CREATE TABLE history_results_with_rowid (
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
INSERT INTO history_results_with_rowid SELECT * FROM history_results ORDER BY project, check_number, sequence, attempt;
DROP TABLE history_results;
ALTER TABLE history_results_with_rowid RENAME TO history_results;
CREATE INDEX history_results_by_run ON history_results (project, sequence);
CREATE INDEX history_results_carried_out ON history_results (project, check_number, sequence, attempt) WHERE reused IS NULL;
";

/// Adds what says that a test with another name is the same one, and the names that tests had before.
const VERSION_17: &str = "
ALTER TABLE history_tests ADD COLUMN body INTEGER;
ALTER TABLE history_tests ADD COLUMN file INTEGER;
ALTER TABLE history_tests ADD COLUMN title INTEGER;
ALTER TABLE history_checks ADD COLUMN identities TEXT;

CREATE TABLE history_former_names (
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    key INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    id TEXT NOT NULL,
    report_name TEXT,
    PRIMARY KEY (project, number, key)
) STRICT;
";

/// Says of each run, and of each last result of a check, whether the rules were approved; takes out the table of programs, which nothing
/// reads. All lines are applied once more.
const VERSION_18: &str = "
DROP TABLE programs;
ALTER TABLE runs ADD COLUMN changed_rules INTEGER NOT NULL DEFAULT 0;
DROP TABLE checks;
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

DELETE FROM seals;
DELETE FROM positions;
";

/// The column of paths has the difference of two trees since. Of the runs before this version it is not known.
const VERSION_19: &str = "
UPDATE history_runs SET paths = NULL;
";

const VERSION_4: &str = "
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
";

const VERSION_5: &str = "
CREATE TABLE pruned (
    project TEXT NOT NULL,
    run_id TEXT NOT NULL,
    why TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (project, run_id)
) STRICT, WITHOUT ROWID;
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

/// Runs the migration steps that a file has not had yet, in one transaction. The version is read inside the
/// transaction, because another process may have migrated the file a moment before.
pub(super) fn migrate(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = read_version(&transaction)?;
    for step in migrations.iter().skip(version as usize) {
        transaction.execute_batch(step)?;
    }
    let newest = u32::try_from(migrations.len()).expect("there are few migrations");
    if version < newest {
        transaction.pragma_update(None, "user_version", newest)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_only_the_steps_it_has_not_had() {
        let mut connection = Connection::open_in_memory().unwrap();
        let first = "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1);";
        let second = "ALTER TABLE a ADD COLUMN y INTEGER DEFAULT 7;";
        migrate(&mut connection, &[first]).unwrap();
        migrate(&mut connection, &[first, second]).unwrap();
        migrate(&mut connection, &[first, second]).unwrap();
        let row = connection.query_row("SELECT x, y FROM a", [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        assert_eq!((row.unwrap(), read_version(&connection).unwrap()), ((1, 7), 2));
    }

    #[test]
    fn a_step_that_fails_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert!(migrate(&mut connection, &["CREATE TABLE a (x INTEGER); nonsense;"]).is_err());
        assert_eq!(read_version(&connection).unwrap(), 0);
        assert!(connection.query_row("SELECT count(*) FROM a", [], |row| row.get::<_, i64>(0)).is_err());
    }

    #[test]
    fn every_table_is_known_by_name() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, MIGRATIONS).unwrap();
        let count =
            connection.query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get::<_, i64>(0));
        // The tables `file_digests` and `seals` are counted too, and are not in `TABLES`.
        assert_eq!(count, Ok((TABLES.len() + HISTORY_TABLES.len()) as i64 + 2));
        for (table, column) in TABLES.into_iter().chain(HISTORY_TABLES.map(|table| (table, "project"))) {
            connection.prepare(&format!("SELECT {column} FROM {table}")).unwrap();
        }
    }
}
