//! An answer of `proctor prove` as a signed statement: whether the tests of a change fail without it, as it was seen in the store whose key
//! signs.

use serde_json::{Value, json};

use crate::signing::STATEMENT_TYPE;
use proctor_git::ObjectId;
use proctor_model::{Digest, ProofRecord, Timestamp, TreePath};

/// The type of the predicate. Another version is not understood.
const PROVED_CHANGE: &str = "urn:proctor:proved-change:v1";

/// An answer of `proctor prove`, as it is told to other people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvedChange {
    /// The tree object of the whole commit with the change.
    pub git_tree: ObjectId,
    /// The project's directory in the repository.
    pub below: TreePath,
    pub record: ProofRecord,
    /// The id of the key that signs.
    pub key: Digest,
    /// When the answer was signed.
    pub signed: Timestamp,
}

impl ProvedChange {
    /// Returns the statement, as the bytes to be signed.
    pub fn to_statement(&self) -> Vec<u8> {
        let project = if self.below.is_root() { String::new() } else { self.below.to_string() };
        let statement = json!({
            "_type": STATEMENT_TYPE,
            "subject": [{ "name": "git-tree", "digest": { "gitTree": self.git_tree.hex() } }],
            "predicateType": PROVED_CHANGE,
            "predicate": { "answer": self.record, "key": self.key, "project": project, "signed": self.signed },
        });
        serde_json::to_vec(&statement).expect("its keys are text")
    }

    /// Reads a statement back. Only what this version writes is understood, like in [`super::CommitClaim::parse`].
    pub fn parse(statement: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(statement).ok()?;
        let predicate = &value["predicate"];
        let below = predicate["project"].as_str()?;
        let read = Self {
            git_tree: value.pointer("/subject/0/digest/gitTree").and_then(Value::as_str).and_then(ObjectId::parse)?,
            below: if below.is_empty() { TreePath::root() } else { TreePath::try_from(below).ok()? },
            record: serde_json::from_value(predicate["answer"].clone()).ok()?,
            key: serde_json::from_value(predicate["key"].clone()).ok()?,
            signed: serde_json::from_value(predicate["signed"].clone()).ok()?,
        };
        (read.to_statement() == statement).then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_model::{CommandExit, ProofOfTest, TreeDigest};

    #[test]
    fn an_answer_is_read_as_it_was_written_and_in_no_other_form() {
        let test = ProofOfTest { test: "a.py::test_b".to_owned(), word: "proves it".to_owned(), added: true };
        let record = ProofRecord {
            base: "2".repeat(40),
            after: None,
            tree_digest: TreeDigest(Digest::of(b"tree")),
            without_source: Digest::of(b"before"),
            plan_digest: Digest::of(b"plan"),
            state: "PROVED".to_owned(),
            exit: CommandExit::Proceed,
            summary: "1 test fails without the change and passes with it".to_owned(),
            tests: vec![test],
            more_tests: 0,
            made: None,
            environment_digest: None,
            unnamed: Vec::new(),
            toolchains: Vec::new(),
            toolchains_looked: None,
        };
        let git_tree = ObjectId::parse(&"1".repeat(40)).unwrap();
        let below = TreePath::try_from("sub/project").unwrap();
        let signed = Timestamp::from_millis(1_700_000_000_123);
        let one = ProvedChange { git_tree, below, record, key: Digest::of(b"key"), signed };
        let statement = one.to_statement();
        assert_eq!(ProvedChange::parse(&statement), Some(one));
        let text = String::from_utf8(statement).unwrap();
        for other in [
            format!("{text} "),
            text.replace(":v1", ":v2"),
            text.replace("\"summary\"", "\"then\""),
            text.replace("\"state\":\"PROVED\"", "\"state\":\"PROVED\",\"sure\":true"),
            text.replacen(&"1".repeat(40), "HEAD", 1),
            "null".to_owned(),
        ] {
            assert_ne!(other, text);
            assert!(ProvedChange::parse(other.as_bytes()).is_none(), "{other}");
        }
    }
}
