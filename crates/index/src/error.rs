//! Errors of the index, with advice.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use nix::libc;
use rusqlite::ErrorCode;

use proctor_model::{ProjectId, Sequence};

/// SQLite's own codes for errors of the system, with the system's error numbers.
const SQLITE_CODES: [(ErrorCode, i32); 4] = [
    (ErrorCode::DiskFull, libc::ENOSPC),
    (ErrorCode::OutOfMemory, libc::ENOMEM),
    (ErrorCode::ReadOnly, libc::EROFS),
    (ErrorCode::PermissionDenied, libc::EACCES),
];

/// The index could not be used. Such an error never loses data, because the index can be rebuilt from the ledgers.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The file could not be created, or could not be renamed when it was damaged.
    #[error("cannot prepare `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
    /// A newer version of proctor wrote the file.
    #[error("`{}` has version {found}, this proctor knows versions up to {known}", path.display())]
    Newer {
        path: PathBuf,
        /// The version of the tables in the file.
        found: u32,
        /// The newest version of the tables that this proctor can read.
        known: u32,
    },
    /// The file is damaged: SQLite cannot read it as a database.
    #[error("`{}` is damaged", path.display())]
    Corrupt { path: PathBuf, source: rusqlite::Error },
    #[error("cannot {operation} the index `{}`", path.display())]
    Database {
        /// The operation that failed: `open`, `create`, `read` or `write`.
        operation: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
    /// The index has a value that this version of proctor does not write.
    #[error("`{}` holds `{value}`, which is no {kind}", path.display())]
    Value {
        path: PathBuf,
        /// What was expected, for example "run id".
        kind: &'static str,
        /// The text that the index has in place of the expected value.
        value: String,
    },
    /// A column has a value of another kind than proctor writes, such as a text that is not UTF-8, or a table is another one.
    #[error("`{}` holds something that proctor did not write", path.display())]
    Foreign { path: PathBuf, source: rusqlite::Error },
    /// A line of the ledger is missing between the last applied line and the lines that were passed.
    #[error("the index knows the ledger of `{project}` up to line {}, line {} does not follow it", applied.0, found.0)]
    Gap {
        project: ProjectId,
        /// The number of the last applied line.
        applied: Sequence,
        /// The number of the line that was passed and does not follow it.
        found: Sequence,
    },
    /// Other programs write to the file so often that its rows cannot be compared with their seal and read in between.
    #[error("`{}` is written to again and again", path.display())]
    Unsteady { path: PathBuf },
    /// The rows of a project are not the ones that proctor wrote and signed: another program changed them.
    #[error("`{}` holds rows of project `{project}` that proctor did not write", path.display())]
    Changed { path: PathBuf, project: ProjectId },
}

impl IndexError {
    /// Returns whether the file is damaged, so that rebuilding it helps.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Corrupt { .. } | Self::Value { .. } | Self::Foreign { .. } => true,
            Self::File { .. }
            | Self::Newer { .. }
            | Self::Database { .. }
            | Self::Unsteady { .. }
            | Self::Gap { .. }
            | Self::Changed { .. } => false,
        }
    }

    /// Returns the error number of the system (`errno(3)`) behind the error, if there is one. SQLite has codes of its own for
    /// some of them.
    pub fn system_error(&self) -> Option<i32> {
        let (path, source) = match self {
            Self::File { source, .. } => return source.raw_os_error(),
            Self::Database { source, path, .. } => (path, source),
            Self::Newer { .. }
            | Self::Corrupt { .. }
            | Self::Value { .. }
            | Self::Foreign { .. }
            | Self::Gap { .. }
            | Self::Unsteady { .. }
            | Self::Changed { .. } => return None,
        };
        let code = source.sqlite_error_code()?;
        if code == ErrorCode::CannotOpen {
            return Some(why_not_opened(path));
        }
        SQLITE_CODES.iter().find(|(known, _)| *known == code).map(|(_, number)| *number)
    }

    /// Returns the advice for the user: what to do about the error.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::File { .. } | Self::Database { .. } => {
                "see whether the disk is full, `ulimit -f` limits files, the file is yours and no other program holds it; then run the command again"
            }
            Self::Unsteady { .. } => "let no other program write there, then run the command again",
            Self::Newer { .. } => "use the newer proctor, or delete the file: it is rebuilt from the ledgers",
            Self::Corrupt { .. } | Self::Value { .. } | Self::Foreign { .. } | Self::Gap { .. } | Self::Changed { .. } => {
                "delete the file: it is rebuilt from the ledgers"
            }
        }
    }
}

/// Returns the error number of the system with which a database cannot be opened, which SQLite does not tell. If nothing here fails, the
/// reason is taken to be that no file may be made in the directory (`EACCES`): a database makes others beside its own.
fn why_not_opened(path: &Path) -> i32 {
    // A database takes more than one descriptor: the file, its log and the memory that processes share.
    let opened = [(); 3].map(|()| File::options().read(true).write(true).open(path));
    let opened = opened.into_iter().chain(path.parent().map(File::open));
    let numbers = opened.filter_map(|opened| opened.err()?.raw_os_error());
    numbers.filter(|number| *number != libc::ENOENT).min_by_key(|number| *number != libc::EMFILE).unwrap_or(libc::EACCES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test makes a file where a directory should be")]
    fn a_database_that_cannot_be_opened_has_the_reason_of_the_system() {
        let place = tempfile::tempdir().unwrap();
        let cannot_open = |path: &Path| {
            let source = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN), None);
            IndexError::Database { operation: "open", path: path.to_owned(), source }.system_error()
        };
        assert_eq!(cannot_open(&place.path().join("state.db")), Some(libc::EACCES));
        assert_eq!(cannot_open(place.path()), Some(libc::EISDIR));
        std::fs::write(place.path().join("file"), "").unwrap();
        assert_eq!(cannot_open(&place.path().join("file/state.db")), Some(libc::ENOTDIR));
    }
}
