//! The head of a log: how many entries it has and their root, as C2SP's tlog-checkpoint has it, signed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::evidence::signing::{PublicKey, Signer};
use crate::evidence::transparency::note::{self, Note};
use crate::model::{Digest, ProjectId};

/// What the name of every log begins with; the project's id follows.
const ORIGIN: &str = "proctor/";
/// No checkpoint is longer, whoever has signed below ours.
pub(in crate::evidence) const LONGEST_CHECKPOINT: u64 = 64 * 1024;

/// The head of a project's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Whose log it is.
    pub project: ProjectId,
    /// How many entries, which is how many lines the ledger has.
    pub size: u64,
    /// The root of their tree.
    pub root: Digest,
}

/// A checkpoint with signatures under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    checkpoint: Checkpoint,
    note: Note,
}

/// Says why a text is no checkpoint of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// It is no signed note.
    #[error("it is no signed note: text, an empty line, and lines `— NAME SIGNATURE` are expected")]
    NotANote,
    /// It is another log's.
    #[error("it is of the log `{0}`, and `proctor/PROJECT-ID` is expected")]
    Origin(String),
    /// It does not have the three lines of a checkpoint.
    #[error("it does not have the three lines of a checkpoint: the log's name, its size, its root in base64")]
    Malformed,
}

/// Returns the key as programs take it that verify checkpoints of a project (signed-note, Verifier keys).
pub fn verifier_key(project: &ProjectId, key: &PublicKey) -> String {
    note::verifier_key(&origin(project), key)
}

impl Checkpoint {
    /// Signs it.
    pub(in crate::evidence) fn sign(self, signer: &Signer) -> SignedCheckpoint {
        let note = Note::sign(self.to_text(), &origin(&self.project), signer);
        SignedCheckpoint { checkpoint: self, note }
    }

    fn to_text(&self) -> String {
        format!("{}\n{}\n{}\n", origin(&self.project), self.size, STANDARD.encode(self.root.as_bytes()))
    }

    fn parse(text: &str) -> Result<Self, CheckpointError> {
        let lines: Vec<&str> = text.split_terminator('\n').collect();
        let origin = lines.first().copied().unwrap_or_default();
        let project = origin.strip_prefix(ORIGIN).and_then(|id| ProjectId::try_from(id).ok());
        let project = project.ok_or_else(|| CheckpointError::Origin(origin.to_owned()))?;
        let [_, size, root] = lines.as_slice() else { return Err(CheckpointError::Malformed) };
        let root = STANDARD.decode(root).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let parsed = size.parse().ok().zip(root).map(|(size, root)| Self { project, size, root: Digest::from_bytes(root) });
        // One form for one content: a sign, a leading zero or other base64 is none of ours.
        parsed.filter(|checkpoint| checkpoint.to_text() == text).ok_or(CheckpointError::Malformed)
    }
}

impl SignedCheckpoint {
    /// Reads a checkpoint. Who signed it is not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let text = std::str::from_utf8(bytes).map_err(|_| CheckpointError::NotANote)?;
        let note = Note::parse(text).ok_or(CheckpointError::NotANote)?;
        Ok(Self { checkpoint: Checkpoint::parse(&note.text)?, note })
    }

    /// Returns it as it is kept and handed on.
    pub fn to_text(&self) -> String {
        self.note.to_text()
    }

    /// Returns what it says.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Returns whether the key's owner signed it as the log's.
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

    fn checkpoint() -> Checkpoint {
        let project = ProjectId::try_from("shop-00000001").unwrap();
        Checkpoint { project, size: 7, root: Digest::of(b"root") }
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_signed() {
        let signer = Signer::of_seed(&[1; 32]);
        let signed = checkpoint().sign(&signer);
        assert_eq!(SignedCheckpoint::parse(signed.to_text().as_bytes()), Ok(signed.clone()));
        assert!(signed.is_signed_by(signer.public()) && !signed.is_signed_by(Signer::of_seed(&[2; 32]).public()));
        let text = signed.to_text();
        assert!(text.starts_with("proctor/shop-00000001\n7\n"), "{text}");
        let vkey = verifier_key(&checkpoint().project, signer.public());
        assert!(vkey.starts_with("proctor/shop-00000001+"), "{vkey}");
    }

    #[test]
    fn another_form_of_the_same_is_refused() {
        let signer = Signer::of_seed(&[1; 32]);
        let of = |text: &str| {
            let note = Note::sign(text.to_owned(), "proctor/shop-00000001", &signer);
            SignedCheckpoint::parse(note.to_text().as_bytes()).map(|_| ())
        };
        let text = checkpoint().to_text();
        assert_eq!(of(&text), Ok(()));
        for bad in
            [text.replace("\n7\n", "\n07\n"), text.replace("\n7\n", "\n+7\n"), format!("{text}more\n"), text.replace('=', "")]
        {
            assert_eq!(of(&bad), Err(CheckpointError::Malformed), "{bad}");
        }
        assert!(matches!(of(&text.replace("proctor/", "other/")), Err(CheckpointError::Origin(_))));
        assert!(matches!(of(&text.replace("shop", "../shop")), Err(CheckpointError::Origin(_))));
        assert_eq!(SignedCheckpoint::parse(b"proctor/shop-00000001\n7\n"), Err(CheckpointError::NotANote));
        assert_eq!(SignedCheckpoint::parse(b"\xff"), Err(CheckpointError::NotANote));
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "(proctor/shop-00000001|[a-z—+ ]{0,9})\n?[0-9]{0,22}\n?[A-Za-z0-9+/=]{0,50}\n{0,2}(— )?[ -~]{0,80}\n?") {
            let _ = SignedCheckpoint::parse(text.as_bytes());
        }
    }
}
