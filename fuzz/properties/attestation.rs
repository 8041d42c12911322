//! Notes and bundles with attestations are read or refused, and nobody's line counts without a signature by a trusted key.

use proctor_evidence::{AcceptedChanges, AttestationReader, CommitClaim, PublicKey, ReadAttestation, parse_attestation_bundle};
use proctor_model::ClaimSigner;

/// A key whose private half nobody has kept.
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea";

/// Checks the rules for one input, which is taken as a note, as a bundle and as a statement.
///
/// # Panics
///
/// When a rule does not hold.
pub(crate) fn hold(bytes: &[u8]) {
    let key = PublicKey::parse(KEY).expect("it is a key");
    let refuses = |read: &ReadAttestation| matches!(read, ReadAttestation::Refused(_));
    assert!(AttestationReader::default().read(bytes, &|_| None).iter().all(refuses), "no key is trusted");
    assert!(
        AttestationReader::default().read(bytes, &|_| Some(key.clone())).iter().all(refuses),
        "the trusted key has signed nothing"
    );
    if let Ok(note) = parse_attestation_bundle(bytes) {
        let read = AttestationReader::default().read(&note, &|_| None);
        assert!(read.iter().all(refuses), "no key is trusted in a bundle either");
    }
    if let Some(accepted) = AcceptedChanges::parse(bytes) {
        assert_eq!(accepted.to_statement(), bytes, "a statement has one form");
    }
    if let Some(claim) = CommitClaim::parse(bytes) {
        assert_eq!(claim.to_statement(), bytes, "a statement has one form");
        let latest = claim.latest_end();
        let trusted = claim.clone().into_claim_of(&ClaimSigner::OwnStore);
        assert!(latest >= trusted.origin.ended && trusted.run == claim.claim.run);
        assert!(matches!(claim.claim.origin.signer, ClaimSigner::NotAllowed { .. }), "nobody is trusted yet");
    }
}
