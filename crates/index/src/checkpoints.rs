//! Stores the state (checkpoint) of governance workflows: one text for each workflow, replaced as a whole after every
//! transition. The texts have a file of their own, because the index can be deleted and rebuilt from the ledgers, but
//! checkpoints cannot. Only `workflow/` interprets the texts.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row, params};

use crate::IndexError;
use crate::tables::{create_private, resolve_parent};
use proctor_model::{ProjectId, Timestamp};

/// The longest time that SQLite waits while another process writes to the file of checkpoints. A transaction takes some
/// milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const TABLE: &str = "CREATE TABLE IF NOT EXISTS checkpoints (
    project TEXT NOT NULL,
    slug TEXT NOT NULL,
    state TEXT NOT NULL,
    since INTEGER,
    PRIMARY KEY (project, slug)
) STRICT, WITHOUT ROWID";

/// Returns a row if the table has the column for times. The table of an older proctor lacks it. An older proctor can
/// still read and write the file after the column is added; it leaves the column empty.
const HAS_TIMES: &str = "SELECT 1 FROM pragma_table_info('checkpoints') WHERE name = 'since'";
const ADD_TIMES: &str = "ALTER TABLE checkpoints ADD COLUMN since INTEGER";

/// The stored state of a workflow, and when the workflow entered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCheckpoint {
    pub slug: String,
    /// The state as `workflow/` wrote it. This module does not interpret the text.
    pub text: String,
    /// When the workflow entered this state; `None` if an older proctor wrote it.
    pub since: Option<Timestamp>,
}

/// The checkpoints of every project. Several processes may have the file open.
#[derive(Debug)]
pub struct Checkpoints {
    connection: Connection,
    path: PathBuf,
}

/// A checkpoint could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("cannot prepare `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot {operation} the checkpoints in `{}`", path.display())]
    Database {
        /// The operation that failed: `open`, `read` or `write`.
        operation: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
}

impl Checkpoints {
    /// Opens the file of checkpoints, and creates it if it is missing. When a later call of [`Self::save`] returns, the
    /// checkpoint is on disk.
    ///
    /// # Errors
    /// When the file cannot be created or opened.
    pub fn open(path: &Path) -> Result<Self, CheckpointError> {
        create_private(path).map_err(|error| CheckpointError::File { path: path.to_owned(), source: to_io(error) })?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let refused = |source| CheckpointError::Database { operation: "open", path: path.to_owned(), source };
        let connection = Connection::open_with_flags(resolve_parent(path), flags).map_err(refused)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(refused)?;
        connection.execute(TABLE, []).map_err(refused)?;
        let has_times = || connection.prepare(HAS_TIMES).and_then(|mut statement| statement.exists([])).map_err(refused);
        if !has_times()? {
            let added = connection.execute(ADD_TIMES, []);
            // Another process may have added the column meanwhile.
            if !has_times()? {
                added.map_err(refused)?;
            }
        }
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Replaces a workflow's checkpoint. If no time is given, the stored time is kept.
    ///
    /// # Errors
    /// When the checkpoint cannot be written. The previous checkpoint is then kept.
    pub fn save(
        &mut self,
        project: &ProjectId,
        slug: &str,
        state: &str,
        since: Option<Timestamp>,
    ) -> Result<(), CheckpointError> {
        let statement = "INSERT INTO checkpoints (project, slug, state, since) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (project, slug) DO UPDATE SET state = excluded.state, since = COALESCE(excluded.since, since)";
        let millis = since.map(Timestamp::as_millis);
        let done = self.connection.execute(statement, params![project.as_str(), slug, state, millis]);
        done.map(drop).map_err(|source| self.refused("write", source))
    }

    /// Returns the text of a workflow's checkpoint; `None` if the workflow has no checkpoint.
    ///
    /// # Errors
    /// When the checkpoint cannot be read.
    pub fn load(&self, project: &ProjectId, slug: &str) -> Result<Option<String>, CheckpointError> {
        let statement = "SELECT state FROM checkpoints WHERE project = ?1 AND slug = ?2";
        let found = self.connection.query_row(statement, params![project.as_str(), slug], |row| row.get(0)).optional();
        found.map_err(|source| self.refused("read", source))
    }

    /// Deletes a workflow's checkpoint. It is no error if the workflow has no checkpoint.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove(&mut self, project: &ProjectId, slug: &str) -> Result<(), CheckpointError> {
        let statement = "DELETE FROM checkpoints WHERE project = ?1 AND slug = ?2";
        let done = self.connection.execute(statement, params![project.as_str(), slug]);
        done.map(drop).map_err(|source| self.refused("write", source))
    }

    /// Returns the checkpoints of a project's workflows, sorted by name.
    ///
    /// # Errors
    /// When the checkpoints cannot be read.
    pub fn list(&self, project: &ProjectId) -> Result<Vec<KeptCheckpoint>, CheckpointError> {
        let refused = |source| self.refused("read", source);
        let statement = "SELECT slug, state, since FROM checkpoints WHERE project = ?1 ORDER BY slug";
        let mut statement = self.connection.prepare(statement).map_err(refused)?;
        let kept = |row: &Row<'_>| {
            let since = row.get::<_, Option<i64>>(2)?.map(Timestamp::from_millis);
            Ok(KeptCheckpoint { slug: row.get(0)?, text: row.get(1)?, since })
        };
        let rows = statement.query_map(params![project.as_str()], kept).map_err(refused)?;
        rows.collect::<Result<Vec<KeptCheckpoint>, _>>().map_err(refused)
    }

    fn refused(&self, operation: &'static str, source: rusqlite::Error) -> CheckpointError {
        CheckpointError::Database { operation, path: self.path.clone(), source }
    }
}

impl CheckpointError {
    /// Returns the advice for the user: what to do about the error.
    pub fn hint(&self) -> &'static str {
        "see whether the disk is full, `ulimit -f` limits files, the file is yours and no other program holds it; then run the command again"
    }
}

fn to_io(error: IndexError) -> io::Error {
    match error {
        IndexError::File { source, .. } => source,
        other @ (IndexError::Newer { .. }
        | IndexError::Corrupt { .. }
        | IndexError::Database { .. }
        | IndexError::Value { .. }
        | IndexError::Foreign { .. }
        | IndexError::Unsteady { .. }
        | IndexError::Gap { .. }
        | IndexError::Changed { .. }) => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_has_one_checkpoint_and_projects_have_their_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("checkpoints.db");
        let (shop, other) = (ProjectId::mint("shop", 1), ProjectId::mint("other", 2));
        let time = Some(Timestamp::from_millis(1000));
        let mut checkpoints = Checkpoints::open(&path).unwrap();
        checkpoints.save(&shop, "notes", "1", time).unwrap();
        checkpoints.save(&shop, "notes", "2", None).unwrap();
        checkpoints.save(&shop, "ideas", "3", None).unwrap();
        drop(checkpoints);
        let mut checkpoints = Checkpoints::open(&path).unwrap();
        assert_eq!(checkpoints.load(&shop, "notes").unwrap().as_deref(), Some("2"));
        assert_eq!(checkpoints.load(&other, "notes").unwrap(), None);
        let kept = |slug: &str, text: &str, since| KeptCheckpoint { slug: slug.to_owned(), text: text.to_owned(), since };
        assert_eq!(checkpoints.list(&shop).unwrap(), [kept("ideas", "3", None), kept("notes", "2", time)]);
        checkpoints.remove(&shop, "notes").unwrap();
        assert_eq!((checkpoints.load(&shop, "notes").unwrap(), checkpoints.list(&shop).unwrap().len()), (None, 1));
    }

    #[test]
    fn a_file_without_times_gets_them_and_stays_one_that_its_writer_can_use() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("checkpoints.db");
        let shop = ProjectId::mint("shop", 1);
        let time = Some(Timestamp::from_millis(1000));
        let older = Connection::open(&path).unwrap();
        older.execute(&TABLE.replace("    since INTEGER,\n", ""), []).unwrap();
        let write = |state: &str| {
            let statement = "INSERT OR REPLACE INTO checkpoints (project, slug, state) VALUES (?1, 'notes', ?2)";
            older.execute(statement, params![shop.as_str(), state]).unwrap();
        };
        write("1");
        let mut checkpoints = Checkpoints::open(&path).unwrap();
        let seen = |checkpoints: &Checkpoints| checkpoints.list(&shop).unwrap().pop().map(|kept| (kept.text, kept.since));
        assert_eq!(seen(&checkpoints), Some(("1".to_owned(), None)));
        checkpoints.save(&shop, "notes", "2", time).unwrap();
        assert_eq!(seen(&checkpoints), Some(("2".to_owned(), time)));
        write("3");
        assert_eq!(seen(&checkpoints), Some(("3".to_owned(), None)));
    }
}
