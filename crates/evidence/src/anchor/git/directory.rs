//! Making directories and files in a repository, through the descriptors of directories that were opened without following
//! a symbolic link ([`GitDirectory`]).

use crate::EvidenceError;
use crate::anchor::git::error::GitAnchorError;
use crate::changes::create_shared_directories;
use proctor_git::{GitDirectory, GitReadError};

/// Opens a directory below another one. It is created if it does not exist, and so are missing directories above it.
pub(super) fn create_directory(above: &GitDirectory, relative: &str) -> Result<GitDirectory, GitAnchorError> {
    let mut at = above.clone();
    for name in relative.split('/').filter(|name| !name.is_empty()) {
        at = match at.directory(name)? {
            Some(directory) => directory,
            None => {
                named(&at, name, create_shared_directories(&at.through_handle(name)))?;
                let removed =
                    || GitReadError::Unreadable { path: at.path().join(name), source: std::io::ErrorKind::NotFound.into() };
                at.directory(name)?.ok_or_else(removed)?
            }
        };
    }
    Ok(at)
}

/// Names the file by its own path in an error of an operation that went through the directory's descriptor.
pub(super) fn named<T>(directory: &GitDirectory, name: &str, result: Result<T, EvidenceError>) -> Result<T, EvidenceError> {
    result.map_err(|mut error| {
        if let EvidenceError::File { path, .. } = &mut error {
            *path = directory.path().join(name);
        }
        error
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::put;

    #[test]
    fn no_directory_is_made_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        put(&root.join("elsewhere/file"), b"theirs");
        put(&root.join("git/HEAD"), b"ref: refs/heads/main");
        symlink(root.join("elsewhere"), root.join("git/linked")).unwrap();
        symlink(root.join("missing"), root.join("git/dangling")).unwrap();
        let git = GitDirectory::open(&root.join("git")).unwrap();
        for linked in ["linked", "linked/below", "dangling", "dangling/below"] {
            let made = create_directory(&git, linked);
            assert!(matches!(made, Err(GitAnchorError::Read(GitReadError::Linked { .. }))), "{linked}");
        }
        create_directory(&git, "refs/notes/proctor").unwrap();
        assert!(root.join("git/refs/notes/proctor").is_dir());
        assert_eq!(std::fs::read_dir(root.join("elsewhere")).unwrap().count(), 1);
        assert!(!root.join("missing").exists());
    }
}
