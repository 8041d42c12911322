//! An anchor in a file, for example on another disk, in a synchronised directory, or in a file to be sent to another
//! person.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::anchor::{Anchor, AnchorRefusal};
use crate::changes::replace_shared_file;
use crate::error::failed;
use crate::files::if_exists;
use crate::regular_file::open_regular_file;
use crate::transparency::LONGEST_CHECKPOINT;
use crate::{EvidenceError, FileOperation, LedgerLog, SignedCheckpoint};

/// Why a checkpoint (a signed head of the ledger) was not written to a file.
#[derive(Debug, thiserror::Error)]
pub enum AnchorFileError {
    /// The file contains something other than an earlier head of the same ledger, so it is not replaced.
    #[error("`{}` is left alone", path.display())]
    Refused { path: PathBuf, source: AnchorRefusal },
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

/// Reads the anchor in a file. Returns `None` if the file does not exist.
pub fn read_anchor(path: &Path) -> Result<Option<Anchor>, EvidenceError> {
    let Some(file) = if_exists(open_regular_file(path).map_err(failed(FileOperation::Open, path)))? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(LONGEST_CHECKPOINT).read_to_end(&mut bytes).map_err(failed(FileOperation::Read, path))?;
    Ok(Some(Anchor { place: path.to_owned(), found: SignedCheckpoint::parse(&bytes) }))
}

/// Writes the ledger's signed head to a file. The file may already contain an earlier head of the same ledger, which is
/// replaced. A file with any other content is refused.
pub fn write_anchor(path: &Path, log: &LedgerLog, head: &SignedCheckpoint) -> Result<(), AnchorFileError> {
    if let Some(anchor) = read_anchor(path)? {
        anchor.replaceable_by(log).map_err(|source| AnchorFileError::Refused { path: path.to_owned(), source })?;
    }
    Ok(replace_shared_file(path, head.to_text().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signing::Signer;
    use proctor_model::{Digest, ProjectId};

    fn log(project: &str, size: u64, salt: &str) -> LedgerLog {
        let lines = (0..size).map(|number| Digest::of(format!("{salt}{number}").as_bytes())).collect();
        LedgerLog::from_hashes(ProjectId::try_from(project).unwrap(), lines)
    }

    #[test]
    fn an_anchor_is_replaced_by_one_that_goes_on_from_it_and_by_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("head");
        let write = |log: &LedgerLog| {
            let head = log.checkpoint_at(log.size()).unwrap().sign(&Signer::from_seed(&[1; 32]));
            write_anchor(&path, log, &head)
        };
        assert_eq!(read_anchor(&path).unwrap(), None);
        write(&log("shop-00000001", 3, "")).unwrap();
        write(&log("shop-00000001", 5, "")).unwrap();
        write(&log("shop-00000001", 5, "")).unwrap();
        let refusal = |log: &LedgerLog| match write(log) {
            Err(AnchorFileError::Refused { source, .. }) => Some(source),
            _ => None,
        };
        assert_eq!(refusal(&log("shop-00000001", 4, "")), Some(AnchorRefusal::Rewritten(5)));
        assert_eq!(refusal(&log("shop-00000001", 9, "rewritten")), Some(AnchorRefusal::Rewritten(5)));
        assert_eq!(refusal(&log("shop-00000002", 9, "")), Some(AnchorRefusal::OtherProject("shop-00000001".to_owned())));
        assert_eq!(read_anchor(&path).unwrap().unwrap().found.unwrap().checkpoint().size, 5);
        crate::testing::put(&path, b"mine");
        assert!(matches!(refusal(&log("shop-00000001", 9, "")), Some(AnchorRefusal::NotOurs(_))));
    }
}
