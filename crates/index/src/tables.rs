//! Opens the index file. A missing file is created, and a damaged file can be moved aside.

use std::fs::OpenOptions;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _};

use crate::schema::{CACHE_TABLE, HISTORY_TABLES, SEALS_TABLE, TABLES, VERSION, create_tables, read_version};
use crate::words::ColumnReader;
use crate::{ApprovalJudge, IndexError};

/// The longest time that SQLite waits while another process writes to the index. A transaction takes a millisecond.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The size of the file's pages in bytes. A run changes a few rows on a few pages. Every changed page is written to the
/// write-ahead log, and the next process that opens the file reads it again. Small pages keep the log short.
const PAGE_SIZE: u32 = 1024;
/// When the index is closed, a write-ahead log of more than this many bytes is moved into the file. A run writes about
/// 8 kB.
const LONG_LOG: u64 = 128 * 1024;
/// The most attempts to open the index while another process blocks the file; after each, the program waits
/// `BUSY_PAUSE`.
const BUSY_ATTEMPTS: u32 = 500;
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// The suffixes of the files that SQLite keeps beside the index.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// The open index file, with the path that errors name and the function that decides which approvals count.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) connection: Connection,
    pub(super) reader: ColumnReader,
    pub(super) judge: ApprovalJudge,
    /// Device and inode of the file when it was opened; `None` if they could not be read.
    pub(super) identity: Option<(u64, u64)>,
}

impl Tables {
    /// Opens the file at `path`, and makes its tables if it has none of this version. A damaged file is an error. `judge` decides
    /// which approvals count.
    pub(super) fn open(path: &Path, judge: ApprovalJudge) -> Result<Self, IndexError> {
        let reader = ColumnReader { path: path.to_owned() };
        let is_new = create_private(path)?;
        // The flags forbid a URI as a path, and a link in place of the file.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection =
            Connection::open_with_flags(resolve_parent(path), flags).map_err(|source| reader.refused("open", source))?;
        let identity = path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
        let mut index = Self { connection, reader, judge, identity };
        let found = index.prepare_patiently(is_new).map_err(|source| index.reader.refused("open", source))?;
        if found > VERSION {
            return Err(IndexError::Newer { path: path.to_owned(), found, known: VERSION });
        }
        if found < VERSION {
            create_tables(&mut index.connection).map_err(|source| index.reader.refused("create", source))?;
        }
        index.probe().map_err(|source| index.reader.refused("read", source))?;
        Ok(index)
    }

    /// Makes an index in memory, for a store that cannot be written. `path` is the path of the index that errors name.
    pub(super) fn in_memory(path: &Path, judge: ApprovalJudge) -> Result<Self, IndexError> {
        let reader = ColumnReader { path: path.to_owned() };
        let connection = Connection::open_in_memory().map_err(|source| reader.refused("open", source))?;
        let mut index = Self { connection, reader, judge, identity: None };
        create_tables(&mut index.connection).map_err(|source| index.reader.refused("create", source))?;
        Ok(index)
    }

    /// Reads the first row of every table. This takes microseconds and finds lost or overwritten pages. A full check is
    /// not made, because its time grows with the file.
    fn probe(&self) -> rusqlite::Result<()> {
        let tables = TABLES.iter().map(|(table, _)| *table).chain([CACHE_TABLE, SEALS_TABLE]).chain(HISTORY_TABLES);
        let first_rows: Vec<String> = tables.map(|table| format!("(SELECT 1 FROM {table} LIMIT 1)")).collect();
        self.connection.query_row(&format!("SELECT {}", first_rows.join(", ")), [], |_| Ok(()))?;
        // Questions about past results name this index, so a file without it could not answer them.
        let indexed = "SELECT 1 FROM history_results INDEXED BY history_results_carried_out WHERE project = '' AND check_number = 0 \
                       AND reused IS NULL LIMIT 1";
        self.connection.query_row(indexed, [], |_| Ok(())).optional()?;
        Ok(())
    }

    /// Prepares the connection, and tries again while another process blocks the file. SQLite does not wait by itself
    /// where two processes could wait for each other, for example when both find a new file and change its journal
    /// mode.
    fn prepare_patiently(&self, is_new: bool) -> rusqlite::Result<u32> {
        let mut attempts = 1;
        loop {
            match self.prepare(is_new) {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && attempts < BUSY_ATTEMPTS => {
                    attempts += 1;
                    thread::sleep(BUSY_PAUSE);
                }
                other => return other,
            }
        }
    }

    /// Sets up the connection and reads the file's version.
    fn prepare(&self, is_new: bool) -> rusqlite::Result<u32> {
        self.connection.busy_timeout(BUSY_TIMEOUT)?;
        let version = read_version(&self.connection)?;
        // The version is in the file's header, which may be intact in a damaged file. So the list of tables is read
        // too.
        self.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        // The journal mode is stored in the file. If another process is still creating the file, both processes set the same
        // mode, which is harmless.
        if is_new || version == 0 {
            // SQLite accepts a page size only while the file has no page.
            self.connection.pragma_update(None, "page_size", PAGE_SIZE)?;
            match self.connection.pragma_update(None, "journal_mode", "WAL") {
                // SQLite does not wait here. The process that blocks the file is setting the same mode, or will set it
                // at the next opening.
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {}
                outcome => outcome?,
            }
        }
        // proctor makes no triggers and no views. Those of another program would change rows within proctor's own
        // transactions, and the changed rows would be sealed.
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        // By default the last connection that is closed moves the write-ahead log into the file and deletes the log.
        // The next connection would create it again. That would cost four syncs for every command.
        self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // What is deleted is overwritten: names of tests and lines of failures that a purge removed must not stay in the file.
        self.connection.pragma_update(None, "secure_delete", "ON")?;
        // After a power loss the newest rows may be missing, but they follow from the ledger. A power loss never
        // damages the file.
        self.connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(version)
    }
}

impl Drop for Tables {
    /// Keeps the write-ahead log short, because the first process that opens the file reads all of it. SQLite's own
    /// limit of 1000 pages has no effect with short-lived processes: SQLite moves the pages into the file, but begins
    /// the log anew only while connections stay open.
    fn drop(&mut self) {
        let log = log_of(&self.reader.path);
        if log.metadata().is_ok_and(|metadata| metadata.len() > LONG_LOG) {
            // SQLite refuses this while another process reads. The next process that closes the index tries again.
            let _refused = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }
}

/// Returns the path of the write-ahead log of an index.
pub(super) fn log_of(path: &Path) -> PathBuf {
    with_suffix(path, COMPANIONS[0])
}

impl ColumnReader {
    /// Turns an error of SQLite into an [`IndexError`] with the operation that failed. Damage has a variant of its own,
    /// because it can be repaired.
    pub(super) fn refused(&self, operation: &'static str, source: rusqlite::Error) -> IndexError {
        let path = self.path.clone();
        if matches!(source.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) {
            IndexError::Corrupt { path, source }
        } else if is_foreign(&source) {
            IndexError::Foreign { path, source }
        } else {
            IndexError::Database { operation, path, source }
        }
    }
}

/// Returns whether an error says that a table or a value is not one that proctor writes.
fn is_foreign(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, SqlInputError, SqliteFailure, Utf8Error,
    };
    if let SqliteFailure(code, Some(message)) = error {
        let is_about_a_table = message.starts_with("no such table")
            || message.contains("has no column named")
            || message.ends_with("already exists");
        return code.code == ErrorCode::Unknown && is_about_a_table;
    }
    // The statements are proctor's own, so a wrong one means that a table has other columns.
    let is_value =
        matches!(error, InvalidColumnType(..) | FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | Utf8Error(..));
    is_value || matches!(error, SqlInputError { .. })
}

/// Moves the file at `path` and SQLite's files beside it to `state.db.corrupt-<n>`, where they can be examined.
///
/// A process that has the file open goes on using it under the new name.
pub(super) fn set_aside(path: &Path) -> Result<PathBuf, IndexError> {
    let with = |suffix: &str| with_suffix(path, suffix);
    let free = (1_u32..)
        .map(|number| format!(".corrupt-{number}"))
        .find(|suffix| with(suffix).symlink_metadata().is_err())
        .expect("numbers do not run out");
    rename(path, &with(&free))?;
    for companion in COMPANIONS {
        if with(companion).symlink_metadata().is_ok() {
            rename(&with(companion), &with(&format!("{free}{companion}")))?;
        }
    }
    Ok(with(&free))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[expect(clippy::disallowed_methods, reason = "a damaged index is kept aside; it is derived data, not evidence")]
fn rename(from: &Path, to: &Path) -> Result<(), IndexError> {
    std::fs::rename(from, to).map_err(|source| IndexError::File { path: from.to_owned(), source })
}

/// Resolves links in the directories of a path. SQLite would refuse such links (`SQLITE_OPEN_NOFOLLOW`), but users may
/// have links on the way to the evidence store. A link in place of the file itself is not resolved, and SQLite refuses
/// it.
pub(super) fn resolve_parent(path: &Path) -> PathBuf {
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    parent.zip(path.file_name()).map_or_else(|| path.to_owned(), |(parent, name)| parent.join(name))
}

/// Creates the file if it is missing, readable and writable by the user alone; SQLite would only apply the umask.
/// Returns whether this call created the file.
pub(super) fn create_private(path: &Path) -> Result<bool, IndexError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(IndexError::File { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests;
