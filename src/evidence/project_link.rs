//! The link in a project through which people and their tools reach its evidence (S1). proctor itself never follows it.

use std::io;
use std::path::{Path, PathBuf};

use crate::evidence::changes::{make_link, remove_file};
use crate::evidence::error::failed;
use crate::evidence::files::{if_exists, list_directory};
use crate::evidence::names::check_component;
use crate::evidence::{EvidenceError, FileOperation};

/// The result of creating the project's link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkOutcome {
    /// The link was created, or it replaced a link to the evidence of another project. The user is told about it.
    Created,
    /// The link existed and has the right target.
    AlreadyRight,
    /// Another entry has the link's name and was not changed. The user is told about it and about the setting
    /// `evidence.link`.
    Obstructed(LinkObstacle),
    /// The link is turned off: `evidence.link` is empty.
    Off,
}

/// The entry that has the name of the project's link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkObstacle {
    /// A link to another target.
    LinkTo(PathBuf),
    Directory,
    /// A regular file, or an entry of another kind, such as a pipe.
    File,
}

/// Creates the link `link_name` in a project's root, pointing to the project's evidence. With an empty name, no link is
/// created.
pub fn link_project(project_root: &Path, link_name: &str, target: &Path) -> Result<LinkOutcome, EvidenceError> {
    if link_name.is_empty() {
        return Ok(LinkOutcome::Off);
    }
    check_component(link_name)?;
    let link = project_root.join(link_name);
    match make_link(target, &link) {
        Ok(()) => Ok(LinkOutcome::Created),
        Err(EvidenceError::File { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
            handle_existing(&link, target)
        }
        Err(error) => Err(error),
    }
}

/// Returns whether `link` is proctor's link to the project's evidence.
pub fn is_our_link(link: &Path, target: &Path) -> bool {
    link.read_link().is_ok_and(|found| found == target)
}

/// Removes the links in a project's root that lead to its evidence, after the evidence was purged. The setting may have changed the
/// link's name, so every entry of the root is looked at. Nothing else is touched. A root that is gone has no link.
///
/// # Errors
/// When a link cannot be removed.
pub fn remove_project_links(project_root: &Path, target: &Path) -> Result<(), EvidenceError> {
    let entries = if_exists(list_directory(project_root))?.unwrap_or_default();
    entries.iter().map(std::fs::DirEntry::path).filter(|path| is_our_link(path, target)).try_for_each(|path| remove_file(&path))
}

fn handle_existing(link: &Path, target: &Path) -> Result<LinkOutcome, EvidenceError> {
    let metadata = link.symlink_metadata().map_err(failed(FileOperation::Open, link))?;
    if metadata.is_symlink() {
        let found = link.read_link().map_err(failed(FileOperation::Read, link))?;
        if found == target {
            return Ok(LinkOutcome::AlreadyRight);
        }
        // The project's directory was copied together with its link, or is registered as another project now. The link
        // is proctor's and points to the wrong evidence, so it is replaced.
        if target.parent().is_some_and(|store| found.parent() == Some(store)) {
            remove_file(link)?;
            make_link(target, link)?;
            return Ok(LinkOutcome::Created);
        }
        return Ok(LinkOutcome::Obstructed(LinkObstacle::LinkTo(found)));
    }
    let found = if metadata.is_dir() { LinkObstacle::Directory } else { LinkObstacle::File };
    Ok(LinkOutcome::Obstructed(found))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::evidence::testing::put;

    #[test]
    fn the_link_is_made_once_and_other_entries_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let target = Path::new("/store/evidence/shop-00000001");
        let link = |name: &str| link_project(directory.path(), name, target).unwrap();
        assert_eq!(link(""), LinkOutcome::Off);
        assert_eq!(link("evidence"), LinkOutcome::Created);
        assert_eq!(link("evidence"), LinkOutcome::AlreadyRight);
        assert_eq!(std::fs::read_link(directory.path().join("evidence")).unwrap(), target);
        symlink("/store/evidence/shop-00000002", directory.path().join("copied")).unwrap();
        assert_eq!(link("copied"), LinkOutcome::Created, "it led to another project's evidence");
        assert_eq!(std::fs::read_link(directory.path().join("copied")).unwrap(), target);
        symlink("/elsewhere", directory.path().join("old")).unwrap();
        put(&directory.path().join("file"), b"");
        put(&directory.path().join("directory/x"), b"");
        assert_eq!(link("old"), LinkOutcome::Obstructed(LinkObstacle::LinkTo("/elsewhere".into())));
        assert_eq!(link("file"), LinkOutcome::Obstructed(LinkObstacle::File));
        assert_eq!(link("directory"), LinkOutcome::Obstructed(LinkObstacle::Directory));
        assert!(link_project(directory.path(), "a/b", target).is_err());
        assert!(link_project(directory.path(), "..", target).is_err());
    }
}
