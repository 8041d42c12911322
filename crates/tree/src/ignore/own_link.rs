//! The links that proctor itself makes in the roots of projects (S1). They belong to no tree: neither to that of their own project nor to
//! that of a project around it. Any other entry of such a name does.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A link by which people reach a project's evidence. Its target alone tells it from other links, because a project in a subdirectory
/// has a link of its own, whose name its own settings say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnLink {
    /// The directory of the store that contains the evidence of all projects. The link's target lies directly in it.
    pub leads_into: PathBuf,
}

impl OwnLink {
    /// Returns whether a link with this target was made by proctor. The target of a link that was copied together with its
    /// project is the evidence of another project, and counts too: the next run replaces it.
    pub fn has_target(&self, target: &[u8]) -> bool {
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
        let own = OwnLink { leads_into: PathBuf::from("/state/proctor/evidence") };
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
