//! Whether a ledger goes on from what was anchored elsewhere. This alone shows a store that was written anew with its own key.

use std::path::Path;

use crate::evidence::anchor::Anchor;
use crate::evidence::transparency::{Checkpoint, CheckpointError, LedgerLog, LogProof, Progress, ProofError};
use crate::evidence::verification::{Fault, FaultKind};
use crate::evidence::{KeyRing, KnownKey, PublicKey};
use crate::model::{Digest, Sequence};

/// Who must have signed a checkpoint.
#[derive(Debug, Clone, Copy)]
pub enum Notary<'a> {
    /// One of the store's keys.
    Ring(&'a KeyRing),
    /// The owner of a key that came from elsewhere.
    Key(&'a PublicKey),
}

/// Compares an anchor with a project's log.
pub fn check_anchor(anchor: &Anchor, log: &LedgerLog, notary: Notary<'_>) -> Vec<Fault> {
    let fault = |kind, detail: String| Fault::of(kind, &anchor.place, detail);
    let signed = match &anchor.found {
        Ok(signed) => signed,
        Err(error) => return vec![fault(FaultKind::AnchorUnreadable, error.to_string())],
    };
    let checkpoint = signed.checkpoint();
    if checkpoint.project != *log.project() {
        let detail = format!("it is of project {}, and {} is verified", checkpoint.project, log.project());
        return vec![fault(FaultKind::AnchorDiffers, detail)];
    }
    let mut faults = Vec::new();
    if !notary.has_signed(anchor) {
        faults.push(fault(FaultKind::AnchorSignature, notary.expects()));
    }
    match log.checkpoint_at(checkpoint.size) {
        None => {
            let detail = format!("{} lines were anchored, the ledger has {}", checkpoint.size, log.size());
            faults.push(fault(FaultKind::AnchorAhead, detail));
        }
        Some(now) if now != *checkpoint => {
            let detail = format!("the first {} lines have the root {}, {} was anchored", now.size, now.root, checkpoint.root);
            faults.push(fault(FaultKind::AnchorDiffers, detail));
        }
        Some(_) => {}
    }
    faults
}

/// Checks the proof that comes with a run's line, and whether it is about the log of the anchors that are at hand.
pub(super) fn check_proof(
    path: &Path,
    bytes: Option<&[u8]>,
    (line, sequence): (Digest, Sequence),
    key: &PublicKey,
    anchors: &[Anchor],
) -> Vec<Fault> {
    let fault = |kind, detail: &str| vec![Fault::of(kind, path, detail)];
    let Some(bytes) = bytes else {
        let is_needed = !anchors.is_empty();
        return if is_needed {
            fault(FaultKind::ProofMissing, "a run without it cannot be compared with an anchor")
        } else {
            Vec::new()
        };
    };
    let proof = match LogProof::parse(bytes) {
        Ok(proof) => proof,
        Err(error) => return fault(FaultKind::ProofUnreadable, &of_proof(&error)),
    };
    let mut faults = Vec::new();
    if proof.sequence() != sequence.0 || !proof.holds_for(line) {
        faults.extend(fault(FaultKind::ProofWrong, "it does not lead from the run's line to the root of its checkpoint"));
    }
    if !proof.checkpoint().is_signed_by(key) {
        faults.extend(fault(FaultKind::AnchorSignature, &Notary::Key(key).expects()));
    }
    let proven = proof.checkpoint().checkpoint();
    for anchor in anchors {
        faults.extend(compare(anchor, proven, key));
    }
    faults
}

/// Compares what a proof is about with what an anchor says.
fn compare(anchor: &Anchor, proven: &Checkpoint, key: &PublicKey) -> Vec<Fault> {
    let fault = |kind, detail: String| Fault::of(kind, &anchor.place, detail);
    let kept = match &anchor.found {
        Ok(signed) => signed.checkpoint(),
        Err(error) => return vec![fault(FaultKind::AnchorUnreadable, error.to_string())],
    };
    let mut faults = Vec::new();
    if !Notary::Key(key).has_signed(anchor) {
        faults.push(fault(FaultKind::AnchorSignature, Notary::Key(key).expects()));
    }
    if (&kept.project, kept.size) != (&proven.project, proven.size) {
        let detail =
            format!("it is of {} lines of {}, the proof of {} of {}", kept.size, kept.project, proven.size, proven.project);
        faults.push(fault(FaultKind::ProofElsewhere, detail));
    } else if kept.root != proven.root {
        faults.push(fault(FaultKind::AnchorDiffers, format!("its root is {}, the proof's {}", kept.root, proven.root)));
    }
    faults
}

/// Checks that a log went on from what was anchored, by a proof alone.
pub fn check_progress(path: &Path, bytes: &[u8], key: &PublicKey, anchors: &[Anchor]) -> Vec<Fault> {
    let fault = |kind, detail: String| vec![Fault::of(kind, path, detail)];
    let progress = match Progress::parse(bytes) {
        Ok(progress) => progress,
        Err(error) => return fault(FaultKind::ProofUnreadable, of_proof(&error)),
    };
    let mut faults = Vec::new();
    if !progress.checkpoint().is_signed_by(key) {
        faults.extend(fault(FaultKind::AnchorSignature, Notary::Key(key).expects()));
    }
    if anchors.is_empty() {
        faults.extend(fault(FaultKind::ProofElsewhere, "there is no earlier checkpoint to compare it with".to_owned()));
    }
    for anchor in anchors {
        match &anchor.found {
            Err(error) => faults.push(Fault::of(FaultKind::AnchorUnreadable, &anchor.place, error.to_string())),
            Ok(earlier) if !progress.holds_from(earlier.checkpoint()) => {
                let (old, new) = (earlier.checkpoint().size, progress.checkpoint().checkpoint().size);
                faults.extend(fault(
                    FaultKind::ProofWrong,
                    format!("it does not lead from the {old} lines of the anchor to its {new}"),
                ));
            }
            Ok(_) => {}
        }
    }
    faults
}

fn of_proof(error: &ProofError) -> String {
    match error {
        ProofError::NotAProof => error.to_string(),
        ProofError::Checkpoint(cause @ (CheckpointError::NotANote | CheckpointError::Origin(_) | CheckpointError::Malformed)) => {
            format!("{error}: {cause}")
        }
    }
}

impl Notary<'_> {
    fn has_signed(self, anchor: &Anchor) -> bool {
        let is_signed = |key: &PublicKey| anchor.found.as_ref().is_ok_and(|signed| signed.is_signed_by(key));
        match self {
            Self::Ring(ring) => ring.keys().iter().map(KnownKey::public).any(is_signed),
            Self::Key(key) => is_signed(key),
        }
    }

    fn expects(self) -> String {
        match self {
            Self::Ring(ring) => format!("one of the store's {} keys is expected", ring.keys().len()),
            Self::Key(key) => format!("key {} is expected", key.id().short()),
        }
    }
}
