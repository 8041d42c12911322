//! That a policy accepted a commit's content, as a SLSA verification summary v1. `proctor gate` judges the claims themselves and believes
//! no summary; it is for tools that know this format only.

use serde_json::{Value, json};

use crate::attestation::CommitClaim;
use crate::signing::STATEMENT_TYPE;
use proctor_model::{Digest, IsolationLevel, Timestamp};

/// The type of the statement's predicate.
pub(super) const VERIFICATION_SUMMARY: &str = "https://slsa.dev/verification_summary/v1";
/// The name of the program's part that judged.
const VERIFIER: &str = "urn:proctor:gate:v1";

/// That a policy accepted the content of a commit.
#[derive(Debug, Clone)]
pub struct VerificationSummary<'a> {
    /// The claims on which the judgement rests; at least one, and all about the same content.
    pub claims: &'a [CommitClaim],
    /// The digest of the policy.
    pub policy: Digest,
    /// When it was judged.
    pub verified: Timestamp,
}

impl VerificationSummary<'_> {
    /// Returns the statement, as the bytes to be signed; `None` if there is no claim.
    pub fn to_statement(&self) -> Option<Vec<u8>> {
        let first = self.claims.first()?;
        let weakest = self.claims.iter().map(|claim| claim.claim.origin.level).max().unwrap_or(IsolationLevel::ProcessGroup);
        let level = weakest.word().to_uppercase().replace('-', "_");
        let inputs: Vec<Value> =
            self.claims.iter().map(|claim| json!({ "digest": { "sha256": Digest::of(&claim.to_statement()) } })).collect();
        let statement = json!({
            "_type": STATEMENT_TYPE,
            "subject": first.subject(),
            "predicateType": VERIFICATION_SUMMARY,
            "predicate": {
                "verifier": { "id": VERIFIER },
                "timeVerified": self.verified,
                "resourceUri": format!("urn:proctor:git-tree:{}", first.git_tree.hex()),
                "policy": { "uri": "urn:proctor:gate-policy:v1", "digest": { "sha256": self.policy } },
                "inputAttestations": inputs,
                "verificationResult": "PASSED",
                "verifiedLevels": [format!("PROCTOR_ISOLATION_{level}")],
            },
        });
        Some(serde_json::to_vec(&statement).expect("its keys are text"))
    }
}
