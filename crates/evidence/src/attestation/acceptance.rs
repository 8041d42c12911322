//! An acceptance: a person whom the trusted commit names accepts what another commit changes about how it is judged. Without it, such a
//! commit is not accepted, whatever its checks say (P8).

use serde_json::{Value, json};

use crate::signing::STATEMENT_TYPE;
use proctor_git::ObjectId;
use proctor_model::{Digest, Timestamp, TreePath};

/// The type of the predicate of a statement about a commit. Another version is not understood.
const ACCEPTED_CHANGES: &str = "urn:proctor:accepted-changes:v1";
/// The type of the predicate of a statement about a file.
const ACCEPTED_FILE: &str = "urn:proctor:accepted-file:v1";
/// The name of the subject that is git's tree object.
const GIT_TREE: &str = "git-tree";
/// The name of the subject that is the object of a file's content.
const GIT_BLOB: &str = "git-blob";

/// The statement that the owner of a key accepts changes of how a commit is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedChanges {
    /// The commit or file that has the changes.
    pub of: AcceptedOf,
    /// The project's directory in the repository.
    pub below: TreePath,
    /// The changes that the person saw, such as `gate` and `check tests`, each as `proctor gate` names it.
    pub changes: Vec<String>,
    /// The id of the key that signs.
    pub key: Digest,
    /// When the person accepted.
    pub accepted: Timestamp,
}

/// Where an acceptance counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptedOf {
    /// Only for this content, compared with this trusted commit. So the acceptance does not count again for a change that was taken back
    /// and made anew.
    Commit {
        /// The tree object of the whole commit that has the changes.
        git_tree: ObjectId,
        /// The trusted commit with which the commit was compared.
        trusted: ObjectId,
    },
    /// For a file that changes from one content to another, in any commit: after a rebase, the acceptance still counts.
    File {
        /// The blob in the trusted commit; `None` if the file is not there.
        before: Option<ObjectId>,
        /// The blob in the judged commit; `None` if the file is not there.
        after: Option<ObjectId>,
    },
}

impl AcceptedOf {
    /// Returns the object to which the note with the acceptance belongs; `None` for a file that is nowhere.
    pub fn noted_at(self) -> Option<ObjectId> {
        match self {
            Self::Commit { git_tree, .. } => Some(git_tree),
            Self::File { before, after } => after.or(before),
        }
    }
}

impl AcceptedChanges {
    /// Returns whether it holds for one commit's content beside this trusted commit.
    pub fn is_beside(&self, trusted: Option<ObjectId>) -> bool {
        matches!(self.of, AcceptedOf::Commit { trusted: accepted, .. } if Some(accepted) == trusted)
    }

    /// Returns the statement, as the bytes to be signed.
    pub fn to_statement(&self) -> Vec<u8> {
        let project = if self.below.is_root() { String::new() } else { self.below.to_string() };
        let mut predicate = json!({ "accepted": self.accepted, "changes": self.changes, "key": self.key, "project": project });
        let object = self.of.noted_at().map(ObjectId::hex);
        let (name, algorithm, kind) = match self.of {
            AcceptedOf::Commit { trusted, .. } => {
                predicate["trustedCommit"] = trusted.hex().into();
                (GIT_TREE, "gitTree", ACCEPTED_CHANGES)
            }
            AcceptedOf::File { before, after } => {
                predicate["before"] = before.map(ObjectId::hex).into();
                predicate["after"] = after.map(ObjectId::hex).into();
                (GIT_BLOB, "gitBlob", ACCEPTED_FILE)
            }
        };
        let statement = json!({
            "_type": STATEMENT_TYPE,
            "subject": [{ "name": name, "digest": { algorithm: object } }],
            "predicateType": kind,
            "predicate": predicate,
        });
        serde_json::to_vec(&statement).expect("its keys are text")
    }

    /// Reads a statement back. Only what this version writes is understood, like in [`super::CommitClaim::parse`].
    pub fn parse(statement: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(statement).ok()?;
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
        let part = |pointer: &str| value.pointer(pointer).cloned();
        let object = |pointer: &str| text(pointer).and_then(ObjectId::parse);
        let below = text("/predicate/project")?;
        let of = match text("/predicateType")? {
            ACCEPTED_FILE => AcceptedOf::File { before: object("/predicate/before"), after: object("/predicate/after") },
            _ => AcceptedOf::Commit {
                git_tree: object("/subject/0/digest/gitTree")?,
                trusted: object("/predicate/trustedCommit")?,
            },
        };
        let read = Self {
            of,
            below: if below.is_empty() { TreePath::root() } else { TreePath::try_from(below).ok()? },
            changes: serde_json::from_value(part("/predicate/changes")?).ok()?,
            key: serde_json::from_value(part("/predicate/key")?).ok()?,
            accepted: serde_json::from_value(part("/predicate/accepted")?).ok()?,
        };
        (read.of.noted_at().is_some() && read.to_statement() == statement).then_some(read)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns an acceptance without a signature.
    pub(in crate::attestation) fn acceptance(key: Digest) -> AcceptedChanges {
        AcceptedChanges {
            of: AcceptedOf::Commit {
                git_tree: ObjectId::parse(&"1".repeat(40)).unwrap(),
                trusted: ObjectId::parse(&"2".repeat(40)).unwrap(),
            },
            below: TreePath::root(),
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

    #[test]
    fn an_acceptance_of_a_file_is_read_back_and_one_of_nothing_is_none() {
        let object = |digit: &str| ObjectId::parse(&digit.repeat(40));
        let of = |before, after| AcceptedChanges { of: AcceptedOf::File { before, after }, ..acceptance(Digest::of(b"key")) };
        for (before, after, noted_at) in
            [(object("1"), object("2"), object("2")), (object("1"), None, object("1")), (None, object("2"), object("2"))]
        {
            let accepted = of(before, after);
            assert_eq!(accepted.of.noted_at(), noted_at);
            let statement = accepted.to_statement();
            assert_eq!(AcceptedChanges::parse(&statement), Some(accepted));
            let text = String::from_utf8(statement).unwrap();
            for other in [text.replace(&"2".repeat(40), &"3".repeat(39)), text.replace("gitBlob", "gitTree")] {
                assert!(other == text || AcceptedChanges::parse(other.as_bytes()).is_none(), "{other}");
            }
        }
        assert_eq!(AcceptedChanges::parse(&of(None, None).to_statement()), None);
    }
}
