//! That somebody whom the trusted commit names accepts what another commit changes about how it is judged. Without it, such a commit is
//! not accepted, whatever its checks say (P8).

use serde_json::{Value, json};

use crate::signing::STATEMENT_TYPE;
use proctor_git::ObjectId;
use proctor_model::{Digest, Timestamp, TreePath};

/// The type of the statement's predicate. Another version is not understood.
const ACCEPTED_CHANGES: &str = "urn:proctor:accepted-changes:v1";
/// The name of the subject that is git's tree object.
const GIT_TREE: &str = "git-tree";

/// That the owner of a key accepts changes of how a commit is judged. It holds for one content beside one trusted commit, so that a change
/// which was taken back later is not accepted by it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedChanges {
    /// The tree object of the whole commit that has the changes.
    pub git_tree: ObjectId,
    /// The project's directory in the repository.
    pub below: TreePath,
    /// The trusted commit with which the commit was compared.
    pub trusted: ObjectId,
    /// The changes that the person saw, such as `gate` and `check tests`, each as `proctor gate` names it.
    pub changes: Vec<String>,
    /// The id of the key that signs.
    pub key: Digest,
    /// When the person accepted.
    pub accepted: Timestamp,
}

impl AcceptedChanges {
    /// Returns the statement, as the bytes to be signed.
    pub fn to_statement(&self) -> Vec<u8> {
        let project = if self.below.is_root() { String::new() } else { self.below.to_string() };
        let statement = json!({
            "_type": STATEMENT_TYPE,
            "subject": [{ "name": GIT_TREE, "digest": { "gitTree": self.git_tree.hex() } }],
            "predicateType": ACCEPTED_CHANGES,
            "predicate": {
                "accepted": self.accepted,
                "changes": self.changes,
                "key": self.key,
                "project": project,
                "trustedCommit": self.trusted.hex(),
            },
        });
        serde_json::to_vec(&statement).expect("its keys are text")
    }

    /// Reads a statement back. Only what this version writes is understood, like in [`super::CommitClaim::parse`].
    pub fn parse(statement: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(statement).ok()?;
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let part = |pointer: &str| value.pointer(pointer).cloned();
        let below = text("/predicate/project")?;
        let read = Self {
            git_tree: ObjectId::parse(text("/subject/0/digest/gitTree")?)?,
            below: if below.is_empty() { TreePath::root() } else { TreePath::try_from(below).ok()? },
            trusted: ObjectId::parse(text("/predicate/trustedCommit")?)?,
            changes: serde_json::from_value(part("/predicate/changes")?).ok()?,
            key: serde_json::from_value(part("/predicate/key")?).ok()?,
            accepted: serde_json::from_value(part("/predicate/accepted")?).ok()?,
        };
        (read.to_statement() == statement).then_some(read)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns an acceptance that nobody signed yet.
    pub(in crate::attestation) fn acceptance(key: Digest) -> AcceptedChanges {
        AcceptedChanges {
            git_tree: ObjectId::parse(&"1".repeat(40)).unwrap(),
            below: TreePath::root(),
            trusted: ObjectId::parse(&"2".repeat(40)).unwrap(),
            changes: vec!["gate".to_owned(), "sandbox.mode".to_owned()],
            key,
            accepted: Timestamp::from_millis(1_700_000_000_123),
        }
    }

    #[test]
    fn an_acceptance_is_read_as_it_was_written_and_in_no_other_form() {
        let mut below = acceptance(Digest::of(b"key"));
        below.below = TreePath::try_from("sub/project").unwrap();
        for one in [acceptance(Digest::of(b"key")), below] {
            let statement = one.to_statement();
            assert_eq!(AcceptedChanges::parse(&statement), Some(one));
            let text = String::from_utf8(statement).unwrap();
            let mut more: Value = serde_json::from_str(&text).unwrap();
            more["predicate"]["except"] = json!("nothing");
            for other in [
                more.to_string(),
                format!("{text} "),
                text.replace(":v1", ":v2"),
                text.replace("\"gate\",", "\"gate\",\"gate\"],\"changes\":[\"gate\","),
                text.replacen(&"1".repeat(40), "HEAD", 1),
                text.replacen(&"2".repeat(40), "main", 1),
                text.replace("\"accepted\":\"2023", "\"accepted\":\"later"),
                String::new(),
                "null".to_owned(),
            ] {
                assert_ne!(other, text);
                assert_eq!(AcceptedChanges::parse(other.as_bytes()), None, "{other}");
            }
        }
    }
}
