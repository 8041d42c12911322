//! Writing a log out as files (tlog-tiles): a directory that any web server can hand out, and that only grows.

use std::path::{Path, PathBuf};

use crate::evidence::EvidenceError;
use crate::evidence::changes::{create_open_directories, replace_open_file};
use crate::evidence::files::{if_there, read_plain};
use crate::evidence::transparency::tiles;
use crate::evidence::transparency::{CheckpointError, LedgerLog, SignedCheckpoint};

/// The file with the log's head.
const CHECKPOINT: &str = "checkpoint";

/// Says why a log was not written out.
#[derive(Debug, thiserror::Error)]
pub enum LogDirectoryError {
    /// What lies there is another log, or what this one was before it was rewritten.
    #[error("`{}` is of another history than the ledger's", path.display())]
    Differs {
        /// The file that differs.
        path: PathBuf,
    },
    /// What lies there in the checkpoint's place is none.
    #[error("`{}` is no checkpoint", path.display())]
    NotACheckpoint {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: CheckpointError,
    },
    /// A file operation failed.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// Writes what is missing of a log, and its head last. Nothing that lies there is overwritten but an earlier head of the same log.
///
/// Returns how many files were written. Two that write at the same time do not harm each other: files of a name have one content.
pub fn write_log_directory(directory: &Path, log: &LedgerLog, head: &SignedCheckpoint) -> Result<usize, LogDirectoryError> {
    let checkpoint = directory.join(CHECKPOINT);
    if let Some(bytes) = if_there(read_plain(&checkpoint))? {
        let earlier = SignedCheckpoint::parse(&bytes)
            .map_err(|source| LogDirectoryError::NotACheckpoint { path: checkpoint.clone(), source })?;
        if !log.goes_on_from(earlier.checkpoint()) {
            return Err(LogDirectoryError::Differs { path: checkpoint });
        }
    }
    let mut written = 0;
    for file in tiles::files(log) {
        let path = directory.join(&file.path);
        match if_there(read_plain(&path))? {
            Some(there) if there == file.bytes => continue,
            Some(_) => return Err(LogDirectoryError::Differs { path }),
            None => {}
        }
        create_open_directories(path.parent().expect("it lies in the log's directory"))?;
        replace_open_file(&path, &file.bytes)?;
        written += 1;
    }
    create_open_directories(directory)?;
    replace_open_file(&checkpoint, head.to_text().as_bytes())?;
    Ok(written + 1)
}

impl LogDirectoryError {
    /// Returns the sentence that says what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Differs { .. } => {
                "`proctor verify --anchor` with the checkpoint there says what is wrong; where it is another project's, name another directory"
            }
            Self::NotACheckpoint { .. } => "name a new directory, or one with a log that proctor wrote",
            Self::Evidence(error) => error.hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::signing::Signer;
    use crate::model::{Digest, ProjectId};

    fn log(size: u64, salt: &str) -> LedgerLog {
        let lines = (0..size).map(|number| Digest::of(format!("{salt}{number}").as_bytes())).collect();
        LedgerLog::of(ProjectId::try_from("shop-00000001").unwrap(), lines)
    }

    fn write(directory: &Path, log: &LedgerLog) -> Result<usize, LogDirectoryError> {
        write_log_directory(directory, log, &log.checkpoint_at(log.size()).unwrap().sign(&Signer::of_seed(&[1; 32])))
    }

    #[test]
    fn a_directory_grows_with_its_log_and_takes_no_other() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("public/log");
        assert_eq!(write(&directory, &log(300, "")).unwrap(), 6);
        assert_eq!(write(&directory, &log(300, "")).unwrap(), 1, "only the head is written again");
        assert_eq!(write(&directory, &log(301, "")).unwrap(), 3);
        let head = SignedCheckpoint::parse(&std::fs::read(directory.join("checkpoint")).unwrap()).unwrap();
        assert_eq!(head.checkpoint().size, 301);
        let refused = write(&directory, &log(400, "rewritten")).unwrap_err();
        assert!(matches!(&refused, LogDirectoryError::Differs { path } if path.ends_with("checkpoint")), "{refused}");
        assert!(matches!(write(&directory, &log(300, "")), Err(LogDirectoryError::Differs { .. })), "it was cut");
        std::fs::remove_file(directory.join("checkpoint")).unwrap();
        let refused = write(&directory, &log(400, "rewritten")).unwrap_err();
        assert!(matches!(&refused, LogDirectoryError::Differs { path } if path.ends_with("tile/0/000")), "{refused}");
        crate::evidence::testing::put(&directory.join("checkpoint"), b"mine");
        assert!(matches!(write(&directory, &log(301, "")), Err(LogDirectoryError::NotACheckpoint { .. })));
    }
}
