//! The link that proctor itself makes in a project's root (S1). It does not belong to the tree; any other entry of its name does.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The link by which people reach a project's evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnLink {
    /// The link's name in the project's root.
    pub name: String,
    /// The directory of the store that contains the evidence of all projects. The link's target lies directly in it.
    pub leads_into: PathBuf,
}

impl OwnLink {
    pub(super) fn is_at(&self, path: &[u8]) -> bool {
        self.name.as_bytes() == path
    }

    /// Returns whether a link with this target was made by proctor. The target of a link that was copied together with its
    /// project is the evidence of another project, and counts too: the next run replaces it.
    pub(super) fn has_target(&self, target: &[u8]) -> bool {
        let target = Path::new(OsStr::from_bytes(target));
        // `..` has no file name, so `EVIDENCE/..` does not count.
        target.file_name().is_some() && target.parent() == Some(self.leads_into.as_path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_link_into_the_evidence_of_this_store_is_proctors_own() {
        let own = OwnLink { name: "evidence".to_owned(), leads_into: PathBuf::from("/state/proctor/evidence") };
        assert!(own.is_at(b"evidence") && !own.is_at(b"src/evidence") && !own.is_at(b"evidence/a"));
        for (target, expected) in [
            ("/state/proctor/evidence/shop-00000001", true),
            ("/state/proctor/evidence", false),
            ("/state/proctor/evidence/..", false),
            ("/state/proctor/evidence/shop-00000001/../..", false),
            ("/state/proctor/evidence/shop-00000001/default", false),
            ("/elsewhere/shop-00000001", false),
            ("own", false),
            ("", false),
        ] {
            assert_eq!(own.has_target(target.as_bytes()), expected, "{target}");
        }
    }
}
