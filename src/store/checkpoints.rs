//! Where governance workflows stand: a text for each, replaced as a whole after every transition. A file of its own, since the index is
//! thrown away and rebuilt from the ledgers, and these cannot be. What the texts mean is `workflow/`'s.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use crate::model::ProjectId;
use crate::store::IndexError;
use crate::store::tables::{create_private, real_place};

/// How long to wait for another process that writes; a transaction takes some milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const TABLE: &str = "CREATE TABLE IF NOT EXISTS checkpoints (
    project TEXT NOT NULL,
    slug TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (project, slug)
) STRICT, WITHOUT ROWID";

/// The checkpoints of every project. Several processes may have them open.
#[derive(Debug)]
pub struct Checkpoints {
    connection: Connection,
    path: PathBuf,
}

/// Says why a checkpoint could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file could not be made.
    #[error("cannot prepare `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// SQLite refused something.
    #[error("cannot {operation} the checkpoints in `{}`", path.display())]
    Database {
        /// What was being done: `open`, `read`, `write`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

impl Checkpoints {
    /// Opens the file, creating it where it is missing. What is written is on disk when the call returns.
    ///
    /// # Errors
    /// When it cannot be made or opened.
    pub fn open(path: &Path) -> Result<Self, CheckpointError> {
        create_private(path).map_err(|error| CheckpointError::File { path: path.to_owned(), source: to_io(error) })?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let refused = |source| CheckpointError::Database { operation: "open", path: path.to_owned(), source };
        let connection = Connection::open_with_flags(real_place(path), flags).map_err(refused)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(refused)?;
        connection.execute(TABLE, []).map_err(refused)?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// Replaces a workflow's checkpoint.
    ///
    /// # Errors
    /// When it cannot be written; the one before is then still there.
    pub fn save(&mut self, project: &ProjectId, slug: &str, state: &str) -> Result<(), CheckpointError> {
        let statement = "INSERT OR REPLACE INTO checkpoints (project, slug, state) VALUES (?1, ?2, ?3)";
        let done = self.connection.execute(statement, params![project.as_str(), slug, state]);
        done.map(drop).map_err(|source| self.refused("write", source))
    }

    /// Returns a workflow's checkpoint; none where there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn load(&self, project: &ProjectId, slug: &str) -> Result<Option<String>, CheckpointError> {
        let statement = "SELECT state FROM checkpoints WHERE project = ?1 AND slug = ?2";
        let found = self.connection.query_row(statement, params![project.as_str(), slug], |row| row.get(0)).optional();
        found.map_err(|source| self.refused("read", source))
    }

    /// Forgets a workflow's checkpoint.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn remove(&mut self, project: &ProjectId, slug: &str) -> Result<(), CheckpointError> {
        let statement = "DELETE FROM checkpoints WHERE project = ?1 AND slug = ?2";
        let done = self.connection.execute(statement, params![project.as_str(), slug]);
        done.map(drop).map_err(|source| self.refused("write", source))
    }

    /// Returns the names of a project's workflows that are not over, sorted.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn slugs(&self, project: &ProjectId) -> Result<Vec<String>, CheckpointError> {
        let refused = |source| self.refused("read", source);
        let mut statement =
            self.connection.prepare("SELECT slug FROM checkpoints WHERE project = ?1 ORDER BY slug").map_err(refused)?;
        let rows = statement.query_map(params![project.as_str()], |row| row.get(0)).map_err(refused)?;
        rows.collect::<Result<Vec<String>, _>>().map_err(refused)
    }

    fn refused(&self, operation: &'static str, source: rusqlite::Error) -> CheckpointError {
        CheckpointError::Database { operation, path: self.path.clone(), source }
    }
}

impl CheckpointError {
    /// Returns the sentence that says what to do next.
    pub fn hint(&self) -> &'static str {
        "see whether the disk is full, the file is yours and no other program holds it; then run the command again"
    }
}

fn to_io(error: IndexError) -> io::Error {
    match error {
        IndexError::File { source, .. } => source,
        other @ (IndexError::Newer { .. }
        | IndexError::Corrupt { .. }
        | IndexError::Database { .. }
        | IndexError::Value { .. }
        | IndexError::Gap { .. }) => io::Error::other(other),
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
        let mut checkpoints = Checkpoints::open(&path).unwrap();
        checkpoints.save(&shop, "notes", "1").unwrap();
        checkpoints.save(&shop, "notes", "2").unwrap();
        checkpoints.save(&shop, "ideas", "3").unwrap();
        drop(checkpoints);
        let mut checkpoints = Checkpoints::open(&path).unwrap();
        assert_eq!(checkpoints.load(&shop, "notes").unwrap().as_deref(), Some("2"));
        assert_eq!(checkpoints.load(&other, "notes").unwrap(), None);
        assert_eq!(checkpoints.slugs(&shop).unwrap(), ["ideas", "notes"]);
        checkpoints.remove(&shop, "notes").unwrap();
        assert_eq!((checkpoints.load(&shop, "notes").unwrap(), checkpoints.slugs(&shop).unwrap().len()), (None, 1));
    }
}
