//! That a line is in a log (C2SP tlog-proof), and that one head of a log goes on from another (as tlog-witness has it): texts that say
//! it to somebody who does not have the ledger.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::evidence::transparency::ledger_log::entry_of;
use crate::evidence::transparency::merkle::{hash_entry, is_consistent, root_of_path};
use crate::evidence::transparency::{Checkpoint, CheckpointError, SignedCheckpoint};
use crate::model::Digest;

const PROOF: &str = "c2sp.org/tlog-proof@v1";
/// A tree of 2^63 entries has no longer path, and a proof of consistency is one longer.
const MOST_HASHES: usize = 64;

/// Shows that a line of a ledger is in the log of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogProof {
    /// Which entry it is, from 0.
    pub(super) index: u64,
    pub(super) hashes: Vec<Digest>,
    pub(super) checkpoint: SignedCheckpoint,
}

/// Shows that the log of a checkpoint begins with that of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The size of the earlier one.
    pub(super) old: u64,
    pub(super) hashes: Vec<Digest>,
    pub(super) checkpoint: SignedCheckpoint,
}

/// Says why a text is no proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// It does not begin as one.
    #[error("it is no proof about a log")]
    NotAProof,
    /// What it ends with is no checkpoint.
    #[error("its checkpoint is none")]
    Checkpoint(#[source] CheckpointError),
}

impl LogProof {
    /// Reads a proof. Whether it holds is not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProofError> {
        let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_prefix(PROOF)?.strip_prefix("\nindex "));
        let (index, hashes, checkpoint) = parse_rest(text.ok_or(ProofError::NotAProof)?)?;
        Ok(Self { index, hashes, checkpoint })
    }

    /// Returns it as it is kept and handed on.
    pub fn to_text(&self) -> String {
        format!("{PROOF}\nindex {}\n{}\n{}", self.index, lines(&self.hashes), self.checkpoint.to_text())
    }

    /// Returns the checkpoint whose log it is about.
    pub fn checkpoint(&self) -> &SignedCheckpoint {
        &self.checkpoint
    }

    /// Returns the sequence of the line it is about.
    pub fn sequence(&self) -> u64 {
        self.index.saturating_add(1)
    }

    /// Returns whether it shows that a line of this hash is in the checkpoint's log.
    pub fn holds_for(&self, line: Digest) -> bool {
        let Checkpoint { size, root, .. } = self.checkpoint.checkpoint();
        root_of_path(hash_entry(&entry_of(line)), self.index, *size, &self.hashes) == Some(*root)
    }
}

impl Progress {
    /// What its text begins with.
    pub const START: &'static str = "old ";

    /// Reads a proof. Whether it holds is not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProofError> {
        let text = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_prefix(Self::START));
        let (old, hashes, checkpoint) = parse_rest(text.ok_or(ProofError::NotAProof)?)?;
        Ok(Self { old, hashes, checkpoint })
    }

    /// Returns it as it is handed on: what a witness is sent (tlog-witness, `add-checkpoint`).
    pub fn to_text(&self) -> String {
        format!("{}{}\n{}\n{}", Self::START, self.old, lines(&self.hashes), self.checkpoint.to_text())
    }

    /// Returns the later checkpoint.
    pub fn checkpoint(&self) -> &SignedCheckpoint {
        &self.checkpoint
    }

    /// Returns whether it shows that the log of its checkpoint begins with that of an earlier one.
    pub fn holds_from(&self, earlier: &Checkpoint) -> bool {
        let new = self.checkpoint.checkpoint();
        let is_about_it = earlier.project == new.project && earlier.size == self.old;
        is_about_it && is_consistent((earlier.size, earlier.root), (new.size, new.root), &self.hashes)
    }
}

fn lines(hashes: &[Digest]) -> String {
    hashes.iter().map(|hash| STANDARD.encode(hash.as_bytes()) + "\n").collect()
}

/// Reads a number, hashes, an empty line and a checkpoint.
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
    use crate::evidence::signing::Signer;
    use crate::evidence::transparency::LedgerLog;
    use crate::model::ProjectId;

    fn line(number: u64) -> Digest {
        Digest::of(format!("line {number}").as_bytes())
    }

    fn log(size: u64) -> LedgerLog {
        LedgerLog::of(ProjectId::try_from("shop-00000001").unwrap(), (0..size).map(line).collect())
    }

    fn signed(log: &LedgerLog, size: u64) -> SignedCheckpoint {
        log.checkpoint_at(size).expect("it is so long").sign(&Signer::of_seed(&[1; 32]))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn proofs_survive_being_written_and_hold_for_their_line_alone(size in 1_u64..90, index in 0_u64..90, of in 1_u64..90) {
            let log = log(size);
            let of = 1 + of % size;
            let proof = log.prove_line(index % of, &signed(&log, of)).unwrap();
            let read = LogProof::parse(proof.to_text().as_bytes()).unwrap();
            prop_assert_eq!(&read, &proof);
            prop_assert!(read.holds_for(line(index % of)));
            prop_assert!(!read.holds_for(line(index % of + 1)));
            let progress = log.prove_progress(of, &signed(&log, size)).unwrap();
            let read = Progress::parse(progress.to_text().as_bytes()).unwrap();
            prop_assert_eq!(&read, &progress);
            prop_assert!(read.holds_from(&log.checkpoint_at(of).unwrap()));
            let other = Checkpoint { root: line(0), ..log.checkpoint_at(of).unwrap() };
            prop_assert!(!read.holds_from(&other));
            let other = Checkpoint { project: ProjectId::try_from("shop-00000002").unwrap(), ..log.checkpoint_at(of).unwrap() };
            prop_assert!(!read.holds_from(&other));
        }

        #[test]
        fn reading_never_panics(text in "(c2sp.org/tlog-proof@v1\nindex |old |)[0-9]{0,22}\n?[A-Za-z0-9+/=\n]{0,90}\n{0,2}[ -~\n—]{0,80}") {
            let _ = (LogProof::parse(text.as_bytes()), Progress::parse(text.as_bytes()));
        }
    }

    #[test]
    fn what_is_no_proof_is_refused() {
        let log = log(5);
        let text = log.prove_line(3, &signed(&log, 5)).unwrap().to_text();
        for (from, to) in
            [("@v1", "@v2"), ("index 3", "index 03"), ("index 3", "index x"), ("\n\n", "\n"), ("\nproctor/", "\nother/")]
        {
            assert!(LogProof::parse(text.replacen(from, to, 1).as_bytes()).is_err(), "{from} {to}");
        }
        assert!(LogProof::parse(&[0xff]).is_err());
        assert!(log.prove_line(5, &signed(&log, 5)).is_none(), "there is no such line");
    }
}
