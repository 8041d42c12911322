//! The link in a project through which people and their tools reach its evidence (S1). proctor itself never follows it.

use std::io;
use std::path::{Path, PathBuf};

use crate::changes::{create_directories, make_link, remove_file, rename};
use crate::error::failed;
use crate::files::{if_exists, list_directory};
use crate::names::{REPORT_NAME, check_component};
use crate::store::evidence_directory;
use crate::{EvidenceError, FileOperation, KeyRing, Store, VerificationScope, verify_project};
use proctor_model::{Digest, ProjectId};

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
            // The replaced file goes into the store: in the project it would be a part of the tree.
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

/// Makes a project's link again if it shows other evidence than the project's: it is a link to another store, or to a place with reports.
/// Returns where it led. Any other entry of that name is the user's own and stays.
///
/// # Errors
/// When the link cannot be replaced.
pub fn mend_project_link(project_root: &Path, link_name: &str, target: &Path) -> Result<Option<PathBuf>, EvidenceError> {
    let link = project_root.join(link_name);
    let Some(other) = link.read_link().ok().filter(|other| other != target) else { return Ok(None) };
    if other.file_name() != target.file_name() && !has_reports(&link) {
        return Ok(None);
    }
    remove_file(&link)?;
    make_link(target, &link)?;
    Ok(Some(other))
}

/// Returns what is in the place of a project's link if it looks like evidence to somebody who follows the documented path: a link to
/// another place, or a directory with a report. A user's own directory of that name does not.
///
/// A copy of a store is verified while the project links to the original. So a link to another store is right where that store has every
/// line of this one, whose hashes are `lines`, and verifies with the same keys: the mere presence of its files says nothing.
pub fn find_replaced_link(
    project_root: &Path,
    link_name: &str,
    (target, lines): (&Path, &[Digest]),
    keys: &KeyRing,
) -> Option<String> {
    let link = project_root.join(link_name);
    let metadata = link.symlink_metadata().ok()?;
    if is_our_link(&link, target) {
        return None;
    }
    if metadata.is_symlink() {
        let other = link.read_link().ok()?;
        if is_original(&other, target, lines, keys) {
            return None;
        }
        return Some(format!("a link to `{}`, and one to `{}` is expected", other.display(), target.display()));
    }
    has_reports(&link).then(|| format!("a directory with reports, and a link to `{}` is expected", target.display()))
}

/// Returns whether an entry of a directory, or of the directory that a link leads to, has a report as a task's directory has it.
fn has_reports(directory: &Path) -> bool {
    let reports = |task: &std::fs::DirEntry| {
        [task.path().join(REPORT_NAME), task.path().join("latest").join(REPORT_NAME)].into_iter().any(|path| path.exists())
    };
    directory.is_dir() && list_directory(directory).is_ok_and(|tasks| tasks.iter().any(reports))
}

fn is_original(other: &Path, target: &Path, lines: &[Digest], keys: &KeyRing) -> bool {
    let project = target.file_name().filter(|name| other.file_name() == Some(*name)).and_then(|name| name.to_str());
    let project = project.and_then(|name| ProjectId::try_from(name).ok());
    let place = other.parent().filter(|parent| parent.file_name() == evidence_directory(Path::new("")).file_name());
    let (Some(project), Some(root)) = (project, place.and_then(Path::parent)) else { return false };
    let found = verify_project(&Store::open_to_read(root), &project, keys, &VerificationScope::Everything, 1);
    !lines.is_empty() && found.is_ok_and(|found| found.faults.is_empty() && found.line_hashes.starts_with(lines))
}

/// Creates the link `link_name` in a project's root, pointing to the project's evidence, and the directory to which it leads: a link to
/// nothing means that the store was removed. With an empty name, no link is created.
pub fn link_project(project_root: &Path, link_name: &str, target: &Path) -> Result<LinkOutcome, EvidenceError> {
    if link_name.is_empty() {
        return Ok(LinkOutcome::Off);
    }
    check_component(link_name)?;
    create_directories(target)?;
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

    use proctor_model::OverallStatus;

    use super::*;
    use crate::testing::put;

    #[test]
    fn the_link_is_made_once_and_other_entries_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("store/evidence/shop-00000001");
        let link = |name: &str| link_project(directory.path(), name, &target).unwrap();
        assert_eq!(link(""), LinkOutcome::Off);
        assert_eq!(link("evidence"), LinkOutcome::Created);
        assert_eq!(link("evidence"), LinkOutcome::AlreadyRight);
        assert_eq!(std::fs::read_link(directory.path().join("evidence")).unwrap(), target);
        symlink(directory.path().join("store/evidence/shop-00000002"), directory.path().join("copied")).unwrap();
        assert_eq!(link("copied"), LinkOutcome::Created, "it led to another project's evidence");
        assert_eq!(std::fs::read_link(directory.path().join("copied")).unwrap(), target);
        symlink("/elsewhere", directory.path().join("old")).unwrap();
        put(&directory.path().join("file"), b"");
        put(&directory.path().join("directory/x"), b"");
        assert_eq!(link("old"), LinkOutcome::Obstructed(LinkObstacle::LinkTo("/elsewhere".into())));
        assert_eq!(link("file"), LinkOutcome::Obstructed(LinkObstacle::File));
        assert_eq!(link("directory"), LinkOutcome::Obstructed(LinkObstacle::Directory));
        assert!(link_project(directory.path(), "a/b", &target).is_err());
        assert!(link_project(directory.path(), "..", &target).is_err());
    }

    #[test]
    fn whatever_replaces_the_link_is_named_and_gives_way() {
        let test = crate::testing::TestStore::new();
        let home = tempfile::tempdir().unwrap();
        let (root, target) = (home.path(), test.store.project_directory(&test.project));
        let link = root.join("evidence");
        let restore = || restore_project_link(&test.store, root, "evidence", &target).unwrap();
        assert_eq!(restore(), LinkRepair::Removed);
        let find = || find_replaced_link(root, "evidence", (&target, &[]), &KeyRing::default());
        assert_eq!((restore(), find()), (LinkRepair::NotNeeded, None));
        std::fs::remove_file(&link).unwrap();
        symlink("/elsewhere", &link).unwrap();
        assert!(find().unwrap().contains("`/elsewhere`"));
        assert_eq!(restore(), LinkRepair::WasLink("/elsewhere".into()));
        std::fs::remove_file(&link).unwrap();
        put(&link.join("default/latest/execution-report.json"), b"{}");
        assert!(find().is_some());
        let LinkRepair::MovedTo(aside) = restore() else { panic!("a directory was there") };
        assert!(aside.join("default/latest/execution-report.json").is_file() && is_our_link(&link, &target));
        std::fs::remove_file(&link).unwrap();
        put(&link.join("mine"), b"");
        assert_eq!(find(), None, "it is nobody's evidence");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test copies a store as a person does")]
    fn a_link_to_another_store_is_right_only_if_that_store_verifies_and_has_every_line() {
        let test = crate::testing::TestStore::new();
        test.run(1, &["a.log"], OverallStatus::Success);
        let home = tempfile::tempdir().unwrap();
        let (root, link) = (home.path(), home.path().join("evidence"));
        let (ring, target) = (crate::read_key_ring(&test.store).unwrap(), test.store.project_directory(&test.project));
        let lines = || {
            let all = VerificationScope::Everything;
            verify_project(&test.store, &test.project, &ring, &all, 1).unwrap().line_hashes
        };
        let named = || find_replaced_link(root, "evidence", (&target, &lines()), &ring).is_some();
        // A file where a ledger would be, and a report beside it.
        let forged = root.join("forged/evidence").join(test.project.as_str());
        put(&forged.join("default/execution-report.json"), b"{}");
        put(&root.join(format!("forged/ledger/{}.jsonl", test.project)), b"");
        symlink(&forged, &link).unwrap();
        assert!(named());
        assert_eq!(mend_project_link(root, "evidence", &target).unwrap(), Some(forged));
        assert!(is_our_link(&link, &target) && !named());
        // The store itself under another name is the original of this one until this one has more lines.
        let copied = std::process::Command::new("cp").arg("-a").arg(test.store.root()).arg(root.join("copy")).status().unwrap();
        assert!(copied.success());
        let copy = Store::open_to_read(&root.join("copy")).project_directory(&test.project);
        std::fs::remove_file(&link).unwrap();
        symlink(&copy, &link).unwrap();
        // The texts of these runs are no reports, which verification says of both stores alike.
        let faults =
            verify_project(&Store::open_to_read(&root.join("copy")), &test.project, &ring, &VerificationScope::Everything, 1);
        assert_eq!(named(), !faults.unwrap().faults.is_empty());
        test.run(2, &["a.log"], OverallStatus::Success);
        assert!(named(), "what it shows is older than this store");
        assert_eq!(mend_project_link(root, "evidence", &target).unwrap(), Some(copy));
        // What is not about evidence is the user's own.
        std::fs::remove_file(&link).unwrap();
        symlink("/tmp", &link).unwrap();
        assert_eq!(mend_project_link(root, "evidence", &target).unwrap(), None);
        assert!(named());
    }
}
