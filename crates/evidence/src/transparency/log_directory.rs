//! Writing a log as files (tlog-tiles) into a directory that any web server can serve. The directory only grows.

use std::path::{Path, PathBuf};

use crate::EvidenceError;
use crate::changes::{create_shared_directories, replace_shared_file};
use crate::files::{if_exists, read_no_follow};
use crate::transparency::tiles;
use crate::transparency::{LedgerLog, LogCheckpointError, SignedCheckpoint};

/// The name of the file that contains the log's head.
const CHECKPOINT: &str = "checkpoint";

/// Why a log was not written.
#[derive(Debug, thiserror::Error)]
pub enum LogDirectoryError {
    /// The directory contains another log, or this ledger's log from before the ledger was rewritten.
    #[error("`{}` belongs to another ledger, or to this one before it was rewritten", path.display())]
    Differs {
        /// The file in the directory whose content is not what this ledger's log has for a file of that name.
        path: PathBuf,
    },
    /// The file at the checkpoint's path does not contain a checkpoint.
    #[error("`{}` is no checkpoint", path.display())]
    NotACheckpoint { path: PathBuf, source: LogCheckpointError },
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// Writes the files of a log that the directory does not have yet, and last the log's head. Only the file with the head
/// is ever overwritten, and only by a later head of the same log.
///
/// Returns how many files were written. Two processes may write at the same time, because a file of a given name always
/// has the same content.
pub fn write_log_directory(directory: &Path, log: &LedgerLog, head: &SignedCheckpoint) -> Result<usize, LogDirectoryError> {
    let checkpoint = directory.join(CHECKPOINT);
    if let Some(bytes) = if_exists(read_no_follow(&checkpoint))? {
        let earlier = SignedCheckpoint::parse(&bytes)
            .map_err(|source| LogDirectoryError::NotACheckpoint { path: checkpoint.clone(), source })?;
        if !log.extends(earlier.checkpoint()) {
            return Err(LogDirectoryError::Differs { path: checkpoint });
        }
    }
    let mut written = 0;
    for file in tiles::log_files(log) {
        let path = directory.join(&file.path);
        match if_exists(read_no_follow(&path))? {
            Some(there) if there == file.bytes => continue,
            Some(_) => return Err(LogDirectoryError::Differs { path }),
            None => {}
        }
        create_shared_directories(path.parent().expect("it lies in the log's directory"))?;
        replace_shared_file(&path, &file.bytes)?;
        written += 1;
    }
    create_shared_directories(directory)?;
    replace_shared_file(&checkpoint, head.to_text().as_bytes())?;
    Ok(written + 1)
}

impl LogDirectoryError {
    /// Returns the hint that is shown below the message: what to do next.
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
    use crate::signing::Signer;
    use proctor_model::{Digest, ProjectId};

    fn log(size: u64, salt: &str) -> LedgerLog {
        let lines = (0..size).map(|number| Digest::of(format!("{salt}{number}").as_bytes())).collect();
        LedgerLog::from_hashes(ProjectId::try_from("shop-00000001").unwrap(), lines)
    }

    fn write(directory: &Path, log: &LedgerLog) -> Result<usize, LogDirectoryError> {
        write_log_directory(directory, log, &log.checkpoint_at(log.size()).unwrap().sign(&Signer::from_seed(&[1; 32])))
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
        crate::testing::put(&directory.join("checkpoint"), b"mine");
        assert!(matches!(write(&directory, &log(301, "")), Err(LogDirectoryError::NotACheckpoint { .. })));
    }
}
