//! The `[approval]` settings: how a plan that demands less than the approved one is approved, and which files are
//! protected (S7).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use proctor_wire::wire;

use crate::Digest;

/// The `[approval]` settings. The settings are part of the plan that is approved. So a person must agree before a
/// setting is loosened.
#[wire(Default, schema, sparse)]
pub struct ApprovalTerms {
    /// Globs of the protected files, relative to the project; empty if no file is protected.
    pub protect: Vec<String>,
    #[serde(default, skip_serializing_if = "OnProtectedChange::is_show")]
    pub on_protected_change: OnProtectedChange,
    /// Whether a person can approve a weaker plan only by a signature; if false, an answer at a terminal is enough.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_signature: bool,
    /// The keys whose signatures count as an approval, in the order of the `allowed_signers` file.
    pub signers: Vec<AllowedSigner>,
}

/// What happens from the change of a protected file until a person approves the change.
#[wire(Copy, Hash, Default, schema)]
pub enum OnProtectedChange {
    /// The change is shown beside the verdict.
    #[default]
    Show,
    /// The change is shown, and a person is asked to approve it.
    HumanReview,
}

/// A key whose owner may approve, from an `allowed_signers` file.
#[wire(PartialOrd, Ord, schema)]
pub struct AllowedSigner {
    /// The owner's name in the `allowed_signers` file. The name is a label only: a signature is checked against the
    /// key.
    pub principals: String,
    /// The public key as OpenSSH writes it, without the trailing comment: `ssh-ed25519 AAAA…`.
    pub key: String,
}

/// The digests of the project's protected files at one moment, to be compared with a later moment.
#[wire(Default, schema)]
pub struct ProtectedFiles {
    /// The digest of each file by its path, relative to the project.
    pub files: BTreeMap<String, Digest>,
}

/// A protected file whose content is not the approved content.
#[wire(schema)]
pub struct ProtectedChange {
    /// The file's path, relative to the project.
    pub path: String,
    pub change: FileChangeKind,
}

/// How a file that affects the meaning of the checks differs from an earlier state.
#[wire(Copy, Hash, schema)]
pub enum FileChangeKind {
    Added,
    Removed,
    Modified,
}

impl ApprovalTerms {
    /// Returns whether no setting differs from its default; default settings are left out of the stored plan.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl OnProtectedChange {
    /// Returns whether the setting is the default `Show`, which is left out of the stored plan.
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
    /// Returns one digest for all files. It is computed over lines `<digest>  <path>`, as `sha256sum` writes them,
    /// sorted by path.
    pub fn digest(&self) -> Digest {
        let lines: String = self.files.iter().map(|(path, digest)| format!("{}  {path}\n", digest.hex())).collect();
        Digest::of(lines.as_bytes())
    }

    /// Returns the files that differ between `self` and `now`, sorted by path.
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
