//! Checks whether a ledger continues from a checkpoint that was stored elsewhere. Only this check detects a store that
//! was rewritten with its own key.

use std::path::Path;

use crate::AcceptedKeys;
use crate::anchor::Anchor;
use crate::transparency::{InclusionProof, LedgerLog, LogCheckpoint, LogCheckpointError, ProofError};
use crate::verification::{EvidenceFault, FaultKind};
use proctor_model::{Digest, Sequence};

/// Reports an anchor that cannot be read, is not signed by one of `keys`, or is not an earlier state of this log.
pub fn check_anchor(anchor: &Anchor, log: &LedgerLog, keys: &AcceptedKeys) -> Vec<EvidenceFault> {
    let fault = |kind, detail: String| EvidenceFault::new(kind, &anchor.place, detail);
    let signed = match &anchor.found {
        Ok(signed) => signed,
        Err(error) => return vec![fault(FaultKind::AnchorUnreadable, error.to_string())],
    };
    let checkpoint = signed.checkpoint();
    if checkpoint.project != *log.project() {
        let detail = format!("it belongs to project {}, but {} is verified", checkpoint.project, log.project());
        return vec![fault(FaultKind::AnchorDiffers, detail)];
    }
    let mut faults = Vec::new();
    if !keys.have_signed(signed) {
        faults.push(fault(FaultKind::AnchorSignature, keys.expectation()));
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

/// Checks the inclusion proof of an exported ledger line, and whether the checkpoint in the proof agrees with the given
/// anchors.
pub(super) fn check_proof(
    path: &Path,
    bytes: Option<&[u8]>,
    line: Digest,
    sequence: Sequence,
    keys: &AcceptedKeys,
    anchors: &[Anchor],
) -> Vec<EvidenceFault> {
    let fault = |kind, detail: &str| vec![EvidenceFault::new(kind, path, detail)];
    let Some(bytes) = bytes else {
        return fault(FaultKind::ProofMissing, "every export has one");
    };
    let proof = match InclusionProof::parse(bytes) {
        Ok(proof) => proof,
        Err(error) => return fault(FaultKind::ProofUnreadable, &describe_proof_error(&error)),
    };
    let mut faults = Vec::new();
    if proof.sequence() != sequence.0 || !proof.proves_line(line) {
        faults.extend(fault(FaultKind::ProofWrong, "it does not lead from the run's line to the root of its checkpoint"));
    }
    if !keys.have_signed(proof.checkpoint()) {
        faults.extend(fault(FaultKind::AnchorSignature, &keys.expectation()));
    }
    let proven = proof.checkpoint().checkpoint();
    for anchor in anchors {
        faults.extend(compare(anchor, proven, keys));
    }
    faults
}

/// Compares the checkpoint of a proof with the checkpoint of an anchor. Reports an anchor that is unreadable, not
/// signed by the key, for another number of lines, or with another root.
fn compare(anchor: &Anchor, proven: &LogCheckpoint, keys: &AcceptedKeys) -> Vec<EvidenceFault> {
    let fault = |kind, detail: String| EvidenceFault::new(kind, &anchor.place, detail);
    let signed = match &anchor.found {
        Ok(signed) => signed,
        Err(error) => return vec![fault(FaultKind::AnchorUnreadable, error.to_string())],
    };
    let kept = signed.checkpoint();
    let mut faults = Vec::new();
    if !keys.have_signed(signed) {
        faults.push(fault(FaultKind::AnchorSignature, keys.expectation()));
    }
    if (&kept.project, kept.size) != (&proven.project, proven.size) {
        let detail =
            format!("it covers {} lines of {}, the proof {} lines of {}", kept.size, kept.project, proven.size, proven.project);
        faults.push(fault(FaultKind::ProofElsewhere, detail));
    } else if kept.root != proven.root {
        faults.push(fault(FaultKind::AnchorDiffers, format!("its root is {}, the proof's {}", kept.root, proven.root)));
    }
    faults
}

fn describe_proof_error(error: &ProofError) -> String {
    match error {
        ProofError::NotAProof => error.to_string(),
        ProofError::Checkpoint(
            cause @ (LogCheckpointError::NotANote | LogCheckpointError::Origin(_) | LogCheckpointError::Malformed),
        ) => {
            format!("{error}: {cause}")
        }
    }
}
