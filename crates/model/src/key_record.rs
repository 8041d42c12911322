//! The record of a signing key: what the file `keys/key-<number>.json`, a ledger line, an export and `proctor key export` say of it.

use std::collections::BTreeMap;

use proctor_wire::wire;

use crate::{Digest, ProjectId, Sequence, Timestamp};

/// The end of a ledger when a key took over. Lines up to this end were signed by the key before, or not at all.
#[wire(Copy, schema)]
pub struct LedgerPosition {
    /// The sequence number of the last line; 0 if the ledger had no line.
    pub sequence: Sequence,
    /// The hash of the last line; if the ledger had no line, the hash of no bytes.
    pub hash: Digest,
}

/// The signed part of a key's record. Its canonical form is compact JSON with the fields in this order.
#[wire(schema)]
pub struct KeyStatement {
    /// The first key has 1, and no number is left out.
    pub number: u32,
    /// The SHA-256 of the public key as securesystemslib writes it.
    pub key_id: Digest,
    /// The public key as a line in OpenSSH's form.
    pub public_key: String,
    /// When the key was made.
    pub made: Timestamp,
    /// The id of the key before; `None` for the first key.
    pub previous: Option<Digest>,
    /// The end of every ledger when the key took over, by the project: the SHA-256 of its id, so that an export does not name
    /// other projects (records of the version `proctor-key-v1` have the id itself).
    pub ledgers: BTreeMap<String, LedgerPosition>,
}

/// The record of a key. A ledger line of kind `keyReplaced` has it without the checkpoints of other projects.
#[wire(schema)]
pub struct KeyRecord {
    /// The version of the format: `proctor-key-v1` or `proctor-key-v2`.
    pub schema: String,
    /// What the signatures sign.
    pub key: KeyStatement,
    /// The key's own signature of the statement, in base64.
    pub signature: String,
    /// The signature of the statement by the key before, in base64. `None` for the first key, and if the key before was lost.
    pub endorsement: Option<String>,
    /// For each project the last checkpoint that the key before signed (C2SP tlog-checkpoint). If that key was lost, the key itself
    /// signed it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checkpoints: BTreeMap<ProjectId, String>,
}

impl KeyRecord {
    /// Returns the end of a project's ledger when the key took over; `None` if the project had no ledger then, or a damaged one.
    pub fn took_over_after(&self, project: &ProjectId) -> Option<LedgerPosition> {
        let ledgers = &self.key.ledgers;
        ledgers.get(&ledger_name(project)).or_else(|| ledgers.get(project.as_str())).copied()
    }

    /// Returns the record without the checkpoints of other projects, for readers that are told of this project alone.
    #[must_use]
    pub fn for_project(&self, project: &ProjectId) -> Self {
        let mut record = self.clone();
        record.checkpoints.retain(|of, _| of == project);
        record
    }
}

/// Returns the name of a project in [`KeyStatement::ledgers`]: the SHA-256 of the project's id.
pub fn ledger_name(project: &ProjectId) -> String {
    Digest::of(project.as_str().as_bytes()).hex()
}
