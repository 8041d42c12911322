//! Paths inside a project's tree: relative, clean, and made of bytes, because a file name on Linux need not be UTF-8.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use serde::{Serialize, Serializer};

/// A path relative to a project's root: no leading `/`, no `.`, `..` or empty component. The root itself is empty. Only the path of an
/// input beside the project begins with `..` ([`TreePath::beside`]).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TreePath(Vec<u8>);

/// The error for a path that does not lie inside the tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a path inside the project")]
pub struct PathError(pub String);

impl TreePath {
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns `path` as a path relative to `root`. It is an error if `path` lies outside of `root` or contains `.` or
    /// `..`.
    pub fn below(root: &Path, path: &Path) -> Result<Self, PathError> {
        let relative = path.strip_prefix(root).map_err(|_| PathError(path.display().to_string()))?;
        Self::try_from(relative.as_os_str().as_bytes())
    }

    /// Returns the path of a file or directory that lies beside the root: as many `..` as lead to a directory above both, then the way
    /// down. Both paths are absolute and have no links.
    pub fn beside(root: &Path, path: &Path) -> Self {
        let shared = root.components().zip(path.components()).take_while(|(left, right)| left == right).count();
        let up = root.components().skip(shared).map(|_| Component::ParentDir);
        let way: PathBuf = up.chain(path.components().skip(shared)).collect();
        Self(way.into_os_string().into_vec())
    }

    /// Returns whether this is the path of something beside the project.
    pub fn is_beside(&self) -> bool {
        self.0 == b".." || self.0.starts_with(b"../")
    }

    /// Returns the path of the entry `name` in the directory `self`.
    pub fn join(&self, name: &[u8]) -> Self {
        let mut bytes = self.0.clone();
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name);
        Self(bytes)
    }

    /// Returns the directory that contains the path; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.0.is_empty() {
            return None;
        }
        let cut = self.0.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        Some(Self(self.0[..cut].to_vec()))
    }

    /// Returns the path's last component; empty for the root.
    pub fn name(&self) -> &[u8] {
        let start = self.0.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        &self.0[start..]
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the path for calls of the file system; the path is still relative to the project's root.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// Returns whether this is the root, whose path is empty.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryFrom<&[u8]> for TreePath {
    type Error = PathError;
    fn try_from(bytes: &[u8]) -> Result<Self, PathError> {
        let is_clean =
            bytes.is_empty() || bytes.split(|byte| *byte == b'/').all(|part| !part.is_empty() && part != b"." && part != b"..");
        if is_clean && !bytes.contains(&0) {
            Ok(Self(bytes.to_vec()))
        } else {
            Err(PathError(String::from_utf8_lossy(bytes).into_owned()))
        }
    }
}

impl TryFrom<&str> for TreePath {
    type Error = PathError;
    fn try_from(text: &str) -> Result<Self, PathError> {
        Self::try_from(text.as_bytes())
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return formatter.write_str(".");
        }
        formatter.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl Serialize for TreePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_path_cannot_leave_the_tree() {
        for bad in ["/etc", "..", "a/../b", "a//b", "a/", "./a", "a\0b"] {
            assert!(TreePath::try_from(bad).is_err(), "{bad}");
        }
        let path = TreePath::below(Path::new("/p"), Path::new("/p/src/a.py")).expect("below the root");
        assert_eq!((path.name(), path.parent().map(|parent| parent.to_string())), (&b"a.py"[..], Some("src".to_owned())));
        assert_eq!(TreePath::root().join(b"x").parent(), Some(TreePath::root()));
        assert!(TreePath::below(Path::new("/p"), Path::new("/q/a")).is_err());
    }

    #[test]
    fn a_path_beside_the_tree_leads_up_and_then_down() {
        for (path, expected) in [("/r/shared/a", "../shared/a"), ("/x", "../../x"), ("/r/app-2", "../app-2")] {
            let found = TreePath::beside(Path::new("/r/app"), Path::new(path));
            assert_eq!((found.to_string().as_str(), found.is_beside()), (expected, true));
        }
        assert!(!TreePath::try_from("..a/b").expect("a name").is_beside());
    }
}
