//! The link in a project that leads people and their tools to its evidence (S1). proctor itself never goes through it.

use std::io;
use std::path::{Path, PathBuf};

use crate::evidence::changes::{make_link, remove_file};
use crate::evidence::error::failed;
use crate::evidence::names::check_component;
use crate::evidence::{EvidenceError, FileOperation};

/// What became of the project's link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkOutcome {
    /// It was created: to be said once.
    Created,
    /// It was there.
    AlreadyRight,
    /// Something else has its name and was left there: to be said, with `evidence.link` as the way out.
    SomethingElseThere(FoundThere),
    /// `evidence.link` is empty.
    Off,
}

/// What has the name of the project's link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundThere {
    /// A link to somewhere else.
    LinkTo(PathBuf),
    /// A directory.
    Directory,
    /// A file, or anything else.
    File,
}

/// Creates the link `link_name` in a project's root, pointing to the project's evidence; an empty name turns it off.
pub fn link_project(project_root: &Path, link_name: &str, target: &Path) -> Result<LinkOutcome, EvidenceError> {
    if link_name.is_empty() {
        return Ok(LinkOutcome::Off);
    }
    check_component(link_name)?;
    let link = project_root.join(link_name);
    match make_link(target, &link) {
        Ok(()) => Ok(LinkOutcome::Created),
        Err(EvidenceError::File { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => look_at(&link, target),
        Err(error) => Err(error),
    }
}

/// Returns whether what lies at `link` is the link to the project's evidence, and not something of the project's own.
pub fn is_our_link(link: &Path, target: &Path) -> bool {
    link.read_link().is_ok_and(|found| found == target)
}

fn look_at(link: &Path, target: &Path) -> Result<LinkOutcome, EvidenceError> {
    let metadata = link.symlink_metadata().map_err(failed(FileOperation::Open, link))?;
    if metadata.is_symlink() {
        let found = link.read_link().map_err(failed(FileOperation::Read, link))?;
        if found == target {
            return Ok(LinkOutcome::AlreadyRight);
        }
        // A directory that was copied with its link, or is another project now: the link is ours, and leads to the wrong one.
        if target.parent().is_some_and(|store| found.parent() == Some(store)) {
            remove_file(link)?;
            make_link(target, link)?;
            return Ok(LinkOutcome::Created);
        }
        return Ok(LinkOutcome::SomethingElseThere(FoundThere::LinkTo(found)));
    }
    let found = if metadata.is_dir() { FoundThere::Directory } else { FoundThere::File };
    Ok(LinkOutcome::SomethingElseThere(found))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::evidence::testing::put;

    #[test]
    fn the_link_is_made_once_and_what_is_there_is_left() {
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
        assert_eq!(link("old"), LinkOutcome::SomethingElseThere(FoundThere::LinkTo("/elsewhere".into())));
        assert_eq!(link("file"), LinkOutcome::SomethingElseThere(FoundThere::File));
        assert_eq!(link("directory"), LinkOutcome::SomethingElseThere(FoundThere::Directory));
        assert!(link_project(directory.path(), "a/b", target).is_err());
        assert!(link_project(directory.path(), "..", target).is_err());
    }
}
