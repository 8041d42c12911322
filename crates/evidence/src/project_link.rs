//! The link in a project through which people and their tools reach its evidence (S1). proctor itself never follows it.

use std::io;
use std::path::{Path, PathBuf};

use crate::changes::{create_directories, make_link, remove_file, rename};
use crate::error::failed;
use crate::files::{if_exists, list_directory};
use crate::names::{REPORT_NAME, check_component};
use crate::{EvidenceError, FileOperation, Store};

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

/// What was found in the place of the project's link after a run, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkRepair {
    /// The link is as it was.
    NotNeeded,
    /// The link was gone, and was made again.
    Removed,
    /// The link led to another target, which is named, and leads to the evidence again.
    WasLink(PathBuf),
    /// A file or a directory was in the place of the link. It was moved to this path in the store.
    MovedTo(PathBuf),
}

/// Makes a project's link again that was there before the checks ran, whatever is in its place now.
///
/// # Errors
/// When the link cannot be made, or what is in its place cannot be moved to the store.
pub fn restore_project_link(
    store: &Store,
    project_root: &Path,
    link_name: &str,
    target: &Path,
) -> Result<LinkRepair, EvidenceError> {
    let link = project_root.join(link_name);
    if is_our_link(&link, target) {
        return Ok(LinkRepair::NotNeeded);
    }
    let repair = match link.symlink_metadata() {
        Err(_) => LinkRepair::Removed,
        Ok(metadata) if metadata.is_symlink() => {
            let other = link.read_link().map_err(failed(FileOperation::Read, &link))?;
            remove_file(&link)?;
            LinkRepair::WasLink(other)
        }
        Ok(_) => {
            // It stays outside of the project, where it would be a part of the tree.
            let directory = store.replaced_links_directory();
            create_directories(&directory)?;
            let name = |number: u32| directory.join(format!("{link_name}-{number}"));
            let aside = (1..).map(name).find(|path| path.symlink_metadata().is_err()).expect("numbers do not run out");
            rename(&link, &aside)?;
            LinkRepair::MovedTo(aside)
        }
    };
    make_link(target, &link)?;
    Ok(repair)
}

/// Returns what is in the place of a project's link if it looks like evidence to somebody who follows the documented path: a link to
/// another place, or a directory with a report. A user's own directory of that name does not. A link to this project in another store with
/// its ledger is right too, because a copy of a store is verified while the project links to the original.
pub fn find_replaced_link(project_root: &Path, link_name: &str, target: &Path) -> Option<String> {
    let link = project_root.join(link_name);
    let metadata = link.symlink_metadata().ok()?;
    if is_our_link(&link, target) {
        return None;
    }
    if metadata.is_symlink() {
        let other = link.read_link().ok()?;
        if is_in_another_store(&other, target) {
            return None;
        }
        return Some(format!("a link to `{}`, and one to `{}` is expected", other.display(), target.display()));
    }
    let tasks = if metadata.is_dir() { list_directory(&link).ok()? } else { Vec::new() };
    let reports = |task: &std::fs::DirEntry| {
        [task.path().join(REPORT_NAME), task.path().join("latest").join(REPORT_NAME)].into_iter().any(|path| path.exists())
    };
    tasks.iter().any(reports).then(|| format!("a directory with reports, and a link to `{}` is expected", target.display()))
}

fn is_in_another_store(other: &Path, target: &Path) -> bool {
    let (Some(project), Some(store)) = (target.file_name(), other.parent().and_then(Path::parent)) else { return false };
    let mut ledger = project.to_owned();
    ledger.push(".jsonl");
    other.file_name() == Some(project) && store.join("ledger").join(ledger).is_file()
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
    use crate::testing::put;

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

    #[test]
    fn whatever_replaces_the_link_is_named_and_gives_way() {
        let test = crate::testing::TestStore::new();
        let home = tempfile::tempdir().unwrap();
        let (root, target) = (home.path(), test.store.project_directory(&test.project));
        let link = root.join("evidence");
        let restore = || restore_project_link(&test.store, root, "evidence", &target).unwrap();
        assert_eq!(restore(), LinkRepair::Removed);
        assert_eq!((restore(), find_replaced_link(root, "evidence", &target)), (LinkRepair::NotNeeded, None));
        std::fs::remove_file(&link).unwrap();
        symlink("/elsewhere", &link).unwrap();
        assert!(find_replaced_link(root, "evidence", &target).unwrap().contains("`/elsewhere`"));
        assert_eq!(restore(), LinkRepair::WasLink("/elsewhere".into()));
        std::fs::remove_file(&link).unwrap();
        put(&link.join("default/latest/execution-report.json"), b"{}");
        assert!(find_replaced_link(root, "evidence", &target).is_some());
        let LinkRepair::MovedTo(aside) = restore() else { panic!("a directory was there") };
        assert!(aside.join("default/latest/execution-report.json").is_file() && is_our_link(&link, &target));
        std::fs::remove_file(&link).unwrap();
        put(&link.join("mine"), b"");
        assert_eq!(find_replaced_link(root, "evidence", &target), None, "it is nobody's evidence");
    }
}
