//! The head of a log, signed: how many entries it has and their Merkle root, in the format of C2SP's tlog-checkpoint.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::signing::{PublicKey, Signer};
use crate::transparency::note::{self, Note};
use proctor_model::{Digest, ProjectId};

/// The prefix of every log's name; the project's id follows.
const ORIGIN: &str = "proctor/";
/// The limit for the size of a checkpoint, in bytes. The limit leaves room for signatures that other programs may have
/// added below proctor's.
pub(crate) const LONGEST_CHECKPOINT: u64 = 64 * 1024;

/// The head of a project's log, unsigned: how many entries it has, and their Merkle root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCheckpoint {
    pub project: ProjectId,
    /// The number of entries, which is the number of lines of the ledger.
    pub size: u64,
    /// The root of the entries' Merkle tree.
    pub root: Digest,
}

/// A checkpoint with its signatures. The signatures may be invalid: `is_signed_by` checks them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    checkpoint: LogCheckpoint,
    note: Note,
}

/// Why a text is not a checkpoint of proctor's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogCheckpointError {
    #[error("it is no signed note: text, an empty line, and lines `— NAME SIGNATURE` are expected")]
    NotANote,
    /// The text is a checkpoint of a log whose name does not have the form `proctor/PROJECT-ID`.
    #[error("it is of the log `{0}`, and `proctor/PROJECT-ID` is expected")]
    Origin(String),
    #[error("it does not have the three lines of a checkpoint: the log's name, its size, its root in base64")]
    Malformed,
}

/// Returns the public key as a text with which other programs verify a project's checkpoints (signed-note, Verifier
/// keys).
pub fn verifier_key(project: &ProjectId, key: &PublicKey) -> String {
    note::verifier_key(&origin(project), key)
}

impl LogCheckpoint {
    pub(crate) fn sign(self, signer: &Signer) -> SignedCheckpoint {
        let note = Note::sign(self.to_text(), &origin(&self.project), signer);
        SignedCheckpoint { checkpoint: self, note }
    }

    fn to_text(&self) -> String {
        format!("{}\n{}\n{}\n", origin(&self.project), self.size, STANDARD.encode(self.root.as_bytes()))
    }

    fn parse(text: &str) -> Result<Self, LogCheckpointError> {
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        let origin = lines.first().copied().unwrap_or_default();
        let project = origin.strip_prefix(ORIGIN).and_then(|id| ProjectId::try_from(id).ok());
        let project = project.ok_or_else(|| LogCheckpointError::Origin(origin.to_owned()))?;
        let [_, size, root] = lines.as_slice() else { return Err(LogCheckpointError::Malformed) };
        let root = STANDARD.decode(root).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let parsed = size.parse().ok().zip(root).map(|(size, root)| Self { project, size, root: Digest::from_bytes(root) });
        // A checkpoint has exactly one text form: a plus sign, a leading zero or other base64 is refused.
        parsed.filter(|checkpoint| checkpoint.to_text() == text).ok_or(LogCheckpointError::Malformed)
    }
}

impl SignedCheckpoint {
    /// Parses a checkpoint. Signatures are not checked.
    pub fn parse(bytes: &[u8]) -> Result<Self, LogCheckpointError> {
        let text = std::str::from_utf8(bytes).map_err(|_| LogCheckpointError::NotANote)?;
        let note = Note::parse(text).ok_or(LogCheckpointError::NotANote)?;
        Ok(Self { checkpoint: LogCheckpoint::parse(&note.text)?, note })
    }

    /// Returns the checkpoint with its signatures, in the text form that is stored and sent.
    pub fn to_text(&self) -> String {
        self.note.to_text()
    }

    pub fn checkpoint(&self) -> &LogCheckpoint {
        &self.checkpoint
    }

    /// Returns whether this key signed the checkpoint under the log's name.
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.note.is_signed_by(&origin(&self.checkpoint.project), key)
    }
}

fn origin(project: &ProjectId) -> String {
    format!("{ORIGIN}{project}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn checkpoint() -> LogCheckpoint {
        let project = ProjectId::try_from("shop-00000001").unwrap();
        LogCheckpoint { project, size: 7, root: Digest::of(b"root") }
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_signed() {
        let signer = Signer::from_seed(&[1; 32]);
        let signed = checkpoint().sign(&signer);
        assert_eq!(SignedCheckpoint::parse(signed.to_text().as_bytes()), Ok(signed.clone()));
        assert!(signed.is_signed_by(signer.public()) && !signed.is_signed_by(Signer::from_seed(&[2; 32]).public()));
        let text = signed.to_text();
        assert!(text.starts_with("proctor/shop-00000001\n7\n"), "{text}");
        let vkey = verifier_key(&checkpoint().project, signer.public());
        assert!(vkey.starts_with("proctor/shop-00000001+"), "{vkey}");
    }

    #[test]
    fn a_checkpoint_in_another_text_form_is_refused() {
        let signer = Signer::from_seed(&[1; 32]);
        let parse_text = |text: &str| {
            let note = Note::sign(text.to_owned(), "proctor/shop-00000001", &signer);
            SignedCheckpoint::parse(note.to_text().as_bytes()).map(|_| ())
        };
        let text = checkpoint().to_text();
        assert_eq!(parse_text(&text), Ok(()));
        for bad in
            [text.replace("\n7\n", "\n07\n"), text.replace("\n7\n", "\n+7\n"), format!("{text}more\n"), text.replace('=', "")]
        {
            assert_eq!(parse_text(&bad), Err(LogCheckpointError::Malformed), "{bad}");
        }
        assert!(matches!(parse_text(&text.replace("proctor/", "other/")), Err(LogCheckpointError::Origin(_))));
        assert!(matches!(parse_text(&text.replace("shop", "../shop")), Err(LogCheckpointError::Origin(_))));
        assert_eq!(SignedCheckpoint::parse(b"proctor/shop-00000001\n7\n"), Err(LogCheckpointError::NotANote));
        assert_eq!(SignedCheckpoint::parse(b"\xff"), Err(LogCheckpointError::NotANote));
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "(proctor/shop-00000001|[a-z—+ ]{0,9})\n?[0-9]{0,22}\n?[A-Za-z0-9+/=]{0,50}\n{0,2}(— )?[ -~]{0,80}\n?") {
            let _ = SignedCheckpoint::parse(text.as_bytes());
        }
    }
}
