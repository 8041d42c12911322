//! How it is approved that less is asked for, and which files of the tree are protected (S7).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::Digest;

/// What `[approval]` says, as a plan holds it and an approval writes it down: less of it is a weakening like any other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalTerms {
    /// Globs of the protected files, relative to the project; empty: none are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<String>,
    /// What a change of a protected file does.
    #[serde(default, skip_serializing_if = "OnProtectedChange::is_show")]
    pub on_protected_change: OnProtectedChange,
    /// Whether only a signature approves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_signature: bool,
    /// Whose signatures approve, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signers: Vec<AllowedSigner>,
}

/// What a change of a protected file does, until it is approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnProtectedChange {
    /// It is named beside the verdict.
    #[default]
    Show,
    /// It asks for a person as well.
    HumanReview,
}

/// A key whose owner may approve, from an `allowed_signers` file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedSigner {
    /// Who the file says it is. A label: the key alone decides.
    pub principals: String,
    /// The key as OpenSSH writes it, without a comment: `ssh-ed25519 AAAA…`.
    pub key: String,
}

/// The protected files of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProtectedFiles {
    /// The digest of each by its path, relative to the project.
    pub files: BTreeMap<String, Digest>,
}

/// A protected file that is not what was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProtectedChange {
    /// The file, relative to the project.
    pub path: String,
    /// How it differs.
    pub change: FileChangeKind,
}

/// How a file that decides what the checks mean differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FileChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its content is another.
    Modified,
}

impl ApprovalTerms {
    /// Returns whether nothing is said that is not said by default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl OnProtectedChange {
    /// Returns whether a change is only named.
    pub fn is_show(&self) -> bool {
        *self == Self::Show
    }
}

impl fmt::Display for AllowedSigner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.principals, self.key)
    }
}

impl ProtectedFiles {
    /// Returns the one digest of all of them: of the lines `<digest>  <path>`, as `sha256sum` writes them, sorted by path.
    pub fn digest(&self) -> Digest {
        let lines: String = self.files.iter().map(|(path, digest)| format!("{}  {path}\n", digest.hex())).collect();
        Digest::of(lines.as_bytes())
    }

    /// Returns what of `now` is not as it is here, sorted by path.
    pub fn changes_to(&self, now: &Self) -> Vec<ProtectedChange> {
        let paths: BTreeSet<&String> = self.files.keys().chain(now.files.keys()).collect();
        let changes = paths.into_iter().filter_map(|path| {
            let change = match (self.files.get(path), now.files.get(path)) {
                (None, Some(_)) => FileChangeKind::Added,
                (Some(_), None) => FileChangeKind::Removed,
                (Some(before), Some(now)) if before != now => FileChangeKind::Modified,
                (Some(_), Some(_)) | (None, None) => return None,
            };
            Some(ProtectedChange { path: path.clone(), change })
        });
        changes.collect()
    }
}

impl fmt::Display for ProtectedChange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.change {
            FileChangeKind::Added => "is new",
            FileChangeKind::Removed => "is gone",
            FileChangeKind::Modified => "is another",
        };
        write!(formatter, "{} {word}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(pairs: &[(&str, &str)]) -> ProtectedFiles {
        ProtectedFiles { files: pairs.iter().map(|(path, text)| ((*path).to_owned(), Digest::of(text.as_bytes()))).collect() }
    }

    #[test]
    fn an_added_a_changed_and_a_vanished_file_are_changes_and_the_digest_is_another() {
        let before = files(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let now = files(&[("a", "1"), ("b", "2"), ("d", "1")]);
        let said: Vec<String> = before.changes_to(&now).iter().map(ToString::to_string).collect();
        assert_eq!(said, ["b is another", "c is gone", "d is new"]);
        assert_ne!(before.digest(), now.digest());
        assert_eq!(before.changes_to(&before), []);
    }

    #[test]
    fn terms_of_older_lines_say_nothing_of_it() {
        assert_eq!(serde_json::to_string(&ApprovalTerms::default()).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<ApprovalTerms>("{}").unwrap(), ApprovalTerms::default());
    }
}
