//! The proof for people who do not have the ledger that a line is in a log (C2SP tlog-proof).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::transparency::ledger_log::entry_from_line;
use crate::transparency::merkle::{hash_entry, root_from_path};
use crate::transparency::{LogCheckpoint, LogCheckpointError, SignedCheckpoint};
use proctor_model::Digest;

const PROOF: &str = "c2sp.org/tlog-proof@v1";
/// A path in a tree of 2^63 entries has at most 63 hashes.
const MOST_HASHES: usize = 63;

/// Proves that a line of a ledger is in the log of a checkpoint (an inclusion proof of RFC 6962).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    /// The entry's index in the log; the first entry has 0.
    pub(super) index: u64,
    pub(super) hashes: Vec<Digest>,
    pub(super) checkpoint: SignedCheckpoint,
}

/// Why a text is not a proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    #[error("it is no proof about a log")]
    NotAProof,
    /// The text has the form of a proof, but the checkpoint at its end is not valid.
    #[error("the checkpoint at its end cannot be read")]
    Checkpoint(#[source] LogCheckpointError),
}

impl InclusionProof {
    /// Parses an inclusion proof. A parsed proof may still be wrong: `proves_line` checks it.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProofError> {
        let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_prefix(PROOF)?.strip_prefix("\nindex "));
        let (index, hashes, checkpoint) = parse_rest(text.ok_or(ProofError::NotAProof)?)?;
        Ok(Self { index, hashes, checkpoint })
    }

    /// Returns the proof in the text form of tlog-proof.
    pub fn to_text(&self) -> String {
        format!("{PROOF}\nindex {}\n{}\n{}", self.index, lines(&self.hashes), self.checkpoint.to_text())
    }

    /// Returns the checkpoint to whose root the proof leads.
    pub fn checkpoint(&self) -> &SignedCheckpoint {
        &self.checkpoint
    }

    /// Returns the sequence number of the ledger line that the proof is about.
    pub fn sequence(&self) -> u64 {
        self.index.saturating_add(1)
    }

    /// Checks that a line with this hash is in the checkpoint's log.
    pub fn proves_line(&self, line: Digest) -> bool {
        let LogCheckpoint { size, root, .. } = self.checkpoint.checkpoint();
        root_from_path(hash_entry(&entry_from_line(line)), self.index, *size, &self.hashes) == Some(*root)
    }
}

fn lines(hashes: &[Digest]) -> String {
    hashes.iter().map(|hash| STANDARD.encode(hash.as_bytes()) + "\n").collect()
}

/// Parses what follows the first words: a number, a list of hashes, an empty line and a checkpoint.
fn parse_rest(text: &str) -> Result<(u64, Vec<Digest>, SignedCheckpoint), ProofError> {
    let (head, checkpoint) = text.split_once("\n\n").ok_or(ProofError::NotAProof)?;
    let mut lines = head.split('\n');
    let number = lines.next().and_then(|number| number.parse().ok().filter(|parsed: &u64| parsed.to_string() == number));
    let hash = |line: &str| <[u8; 32]>::try_from(STANDARD.decode(line).ok()?).ok().map(Digest::from_bytes);
    let hashes = lines.map(hash).collect::<Option<Vec<_>>>().filter(|hashes| hashes.len() <= MOST_HASHES);
    let (number, hashes) = number.zip(hashes).ok_or(ProofError::NotAProof)?;
    let checkpoint = SignedCheckpoint::parse(checkpoint.as_bytes()).map_err(ProofError::Checkpoint)?;
    Ok((number, hashes, checkpoint))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::signing::Signer;
    use crate::transparency::LedgerLog;
    use proctor_model::ProjectId;

    fn line(number: u64) -> Digest {
        Digest::of(format!("line {number}").as_bytes())
    }

    fn log(size: u64) -> LedgerLog {
        LedgerLog::from_hashes(ProjectId::try_from("shop-00000001").unwrap(), (0..size).map(line).collect())
    }

    fn signed(log: &LedgerLog, size: u64) -> SignedCheckpoint {
        log.checkpoint_at(size).expect("it is so long").sign(&Signer::from_seed(&[1; 32]))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn proofs_survive_being_written_and_hold_for_their_line_alone(size in 1_u64..90, index in 0_u64..90, old_size in 1_u64..90) {
            let log = log(size);
            let old_size = 1 + old_size % size;
            let proof = log.prove_inclusion(index % old_size, &signed(&log, old_size)).unwrap();
            let read = InclusionProof::parse(proof.to_text().as_bytes()).unwrap();
            prop_assert_eq!(&read, &proof);
            prop_assert!(read.proves_line(line(index % old_size)));
            prop_assert!(!read.proves_line(line(index % old_size + 1)));
        }

        #[test]
        fn reading_never_panics(text in "(c2sp.org/tlog-proof@v1\nindex |old |)[0-9]{0,22}\n?[A-Za-z0-9+/=\n]{0,90}\n{0,2}[ -~\n—]{0,80}") {
            let _ = InclusionProof::parse(text.as_bytes());
        }
    }

    #[test]
    fn malformed_proofs_are_refused() {
        let log = log(5);
        let text = log.prove_inclusion(3, &signed(&log, 5)).unwrap().to_text();
        for (from, to) in
            [("@v1", "@v2"), ("index 3", "index 03"), ("index 3", "index x"), ("\n\n", "\n"), ("\nproctor/", "\nother/")]
        {
            assert!(InclusionProof::parse(text.replacen(from, to, 1).as_bytes()).is_err(), "{from} {to}");
        }
        assert!(InclusionProof::parse(&[0xff]).is_err());
        assert!(log.prove_inclusion(5, &signed(&log, 5)).is_none(), "there is no such line");
    }
}
