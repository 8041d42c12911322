//! The statement that a policy accepted a commit's content, as a SLSA verification summary v1. `proctor gate` judges the claims themselves
//! and believes no summary; it is for tools that know this format only.

use serde_json::{Value, json};

use crate::attestation::CommitClaim;
use crate::names::statements_name;
use crate::signing::{Envelope, STATEMENT_TYPE, Statement};
use crate::{EvidenceError, PublicKey, SealedFileProblem, SealedFiles, Store, read_key_ring};
use proctor_model::{Digest, IsolationLevel, ProjectId, RunRecord, Timestamp};

/// The type of the statement's predicate.
pub(super) const VERIFICATION_SUMMARY: &str = "https://slsa.dev/verification_summary/v1";
/// The name of the program's part that judged.
const VERIFIER: &str = "urn:proctor:gate:v1";

/// The statement that a policy accepted the content of a commit.
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

// The names of a run's tests, as the run's signed statements have them.

/// The names of a run's tests. Empty for a run whose evidence was removed, and for runs of proctor 0.1.0, which named no tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedTests {
    statement: Option<Statement>,
}

impl NamedTests {
    /// Returns whether the check did not succeed, and did not make the run fail either.
    pub fn is_warned(&self, check: &str) -> bool {
        self.statement.as_ref().is_some_and(|statement| statement.warns_of(check))
    }

    /// Returns the tests of a check that passed, that failed without making the check fail, and that made it fail. The check is named by
    /// its id and name, for example `STEP.1 pytest`.
    pub fn of_check(&self, check: &str) -> [Vec<String>; 3] {
        self.statement.as_ref().map(|statement| statement.tests_of(check)).unwrap_or_default()
    }
}

/// Reads the names of a run's tests.
///
/// # Errors
/// When the run's signed statements cannot be read, or are not as they were sealed.
pub fn named_tests(store: &Store, project: &ProjectId, record: &RunRecord) -> Result<NamedTests, EvidenceError> {
    let keys: Vec<PublicKey> = read_key_ring(store)?.keys().iter().map(|key| key.public().clone()).collect();
    let name = statements_name(&record.run_id);
    let opened = SealedFiles::open(store, project, &record.task, &record.run_id, record.manifest_hash);
    let bytes = match opened.and_then(|files| if files.has(&name) { files.read(&name).map(Some) } else { Ok(None) }) {
        Err(EvidenceError::NotAsSealed { problem: SealedFileProblem::Missing, .. }) => None,
        read => read?,
    };
    let first = bytes.as_deref().and_then(|bytes| bytes.split(|byte| *byte == b'\n').next());
    let envelope = first.and_then(Envelope::parse);
    let opened = envelope.and_then(|envelope| keys.iter().find_map(|key| envelope.open(key)));
    Ok(NamedTests { statement: opened.and_then(|signed| Statement::parse(&signed.payload)) })
}
