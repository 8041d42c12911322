//! Checks what belongs to no project: the store's own directories, entries that proctor did not put there, and modes that let others
//! write.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::ledger_file::is_segment_of;
use crate::store::GUARDED;
use crate::verification::check_run::check_access;
use crate::verification::inspect::{InspectedEntry, InspectionDepth, OwnerAndMode, inspect_entries, inspect_entry};
use crate::verification::{EvidenceFault, FaultKind};
use crate::{Store, list_runs};
use proctor_model::ProjectId;

const DIRECTORY_MODE: u32 = 0o700;
/// The bits of a mode that let somebody else write.
const OTHERS_WRITE: u32 = 0o022;

/// Other entries that proctor makes in the store: caches, work under way, states of agents' sessions, its log.
const OTHERS: [&str; 16] = [
    "agents",
    "log",
    "trees",
    "approved-trees",
    "fetched-notes",
    "environments",
    "toolchains",
    "hooks",
    "copying",
    "snapshots",
    "scratch",
    "out",
    "archiving",
    "workflows",
    "reserve",
    "replaced-links",
];
/// The beginnings of further names: the index with its companions and the ones that were set aside, where issue workflows stand, and
/// examinations by `proctor init`.
const BEGINNINGS: [&str; 3] = ["state.db", "checkpoints.db", "examination-"];
/// The files of `locks/` that are no project's.
const OTHER_LOCKS: [&str; 3] = ["slots", "service", "watches"];

/// Checks the store's own directory, and its entries that belong to no project.
pub fn check_store_entries(store: &Store) -> Vec<EvidenceFault> {
    let owner = owner_of(store.root());
    // The store itself may be a link, which is the user's own.
    let own = access_of(&inspect_entry(store.root(), InspectionDepth::Metadata));
    let mut faults: Vec<_> =
        own.into_iter().flat_map(|access| check_access(Path::new("."), access, DIRECTORY_MODE, owner)).collect();
    for (name, entry) in inspect_entries(store.root()) {
        let path = PathBuf::from(&name);
        match (&entry, GUARDED.contains(&name.as_str())) {
            (InspectedEntry::Directory(access), true) if name != "keys" => {
                faults.extend(check_access(&path, *access, DIRECTORY_MODE, owner));
            }
            // `check_guarded` reports what is no directory.
            (_, true) => {}
            (_, false) if OTHERS.contains(&name.as_str()) || BEGINNINGS.iter().any(|start| name.starts_with(start)) => {
                faults.extend(access_of(&entry).and_then(|access| check_not_writable(&path, access)));
            }
            (_, false) => faults.push(foreign(path, "only proctor's own files and directories belong there")),
        }
    }
    faults.extend(strays_in(store, "ledger", is_ledger_file, "only ledgers of projects belong there"));
    faults.extend(strays_in(store, "locks", is_lock_file, "only locks belong there"));
    faults.extend(strays_in(store, "evidence", is_project_directory, "only directories of projects belong there"));
    faults
}

fn strays_in(store: &Store, directory: &str, belongs: fn(&str, &InspectedEntry) -> bool, why: &str) -> Vec<EvidenceFault> {
    let base = Path::new(directory);
    let mut faults = Vec::new();
    for (name, entry) in inspect_entries(&store.root().join(directory)) {
        let path = base.join(&name);
        if let InspectedEntry::SymbolicLink(target) = &entry
            && directory == "evidence"
        {
            let detail = format!("a link to `{}`, which is not followed", target.display());
            faults.push(EvidenceFault::new(FaultKind::NotAFile, path, detail));
        } else if directory == "evidence" && is_without_ledger(store, &name, &entry) {
            faults.push(foreign(path, "no ledger has that name, and no run is in it"));
        } else if belongs(&name, &entry) {
            faults.extend(access_of(&entry).and_then(|access| check_not_writable(&path, access)));
        } else {
            faults.push(foreign(path, why));
        }
    }
    faults
}

/// Returns whether a project's directory is there without a ledger and without a run. One with a run is a fault of its project.
fn is_without_ledger(store: &Store, name: &str, entry: &InspectedEntry) -> bool {
    let Ok(project) = ProjectId::try_from(name) else { return false };
    let has_no_run = || list_runs(store, &project, None).is_ok_and(|runs| runs.is_empty());
    is_project_directory(name, entry) && store.ledger_path(&project).symlink_metadata().is_err() && has_no_run()
}

fn is_ledger_file(name: &str, _entry: &InspectedEntry) -> bool {
    let is_project = |id: &str| ProjectId::try_from(id).is_ok();
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if let Some((ledger, _)) = name.split_once(".jsonl.") {
        return is_project(ledger) && is_segment_of(&format!("{ledger}.jsonl"), name);
    }
    match name.rsplit_once('.') {
        Some((id, "jsonl")) => is_project(id),
        Some((id, torn)) => is_project(id) && torn.strip_prefix("torn-").is_some_and(is_number),
        None => false,
    }
}

fn is_lock_file(name: &str, entry: &InspectedEntry) -> bool {
    let is_named = OTHER_LOCKS.contains(&name) || ProjectId::try_from(name).is_ok();
    is_named && matches!(entry, InspectedEntry::File(_))
}

fn is_project_directory(name: &str, entry: &InspectedEntry) -> bool {
    ProjectId::try_from(name).is_ok() && matches!(entry, InspectedEntry::Directory(_))
}

fn access_of(entry: &InspectedEntry) -> Option<OwnerAndMode> {
    match entry {
        InspectedEntry::File(file) => Some(file.access),
        InspectedEntry::Directory(access) => Some(*access),
        InspectedEntry::SymbolicLink(_) | InspectedEntry::Other | InspectedEntry::Unreadable(_) => None,
    }
}

fn check_not_writable(path: &Path, access: OwnerAndMode) -> Option<EvidenceFault> {
    let detail = || format!("{:04o} lets others write", access.mode);
    (access.mode & OTHERS_WRITE != 0).then(|| EvidenceFault::new(FaultKind::WrongMode, path, detail()))
}

fn foreign(path: PathBuf, why: &str) -> EvidenceFault {
    EvidenceFault::new(FaultKind::Foreign, path, why)
}

fn owner_of(root: &Path) -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    root.metadata().map(|metadata| metadata.uid()).unwrap_or_default()
}

// Links in the place of the store's directories and files. proctor follows none: what is behind a link is not what was sealed. A fault
// that only follows from a link is not reported beside it.

/// Checks that the store's directories with evidence are directories. A missing one is reported by what it lacks.
pub(super) fn check_guarded(root: &Path) -> Vec<EvidenceFault> {
    GUARDED.iter().filter_map(|name| not_a_directory(root, Path::new(name))).collect()
}

fn not_a_directory(root: &Path, path: &Path) -> Option<EvidenceFault> {
    let detail = match inspect_entry(&root.join(path), InspectionDepth::Metadata) {
        InspectedEntry::SymbolicLink(target) => format!("a link to `{}`, which is not followed", target.display()),
        InspectedEntry::File(_) | InspectedEntry::Other => "a directory is expected".to_owned(),
        InspectedEntry::Directory(_) | InspectedEntry::Unreadable(_) => return None,
    };
    Some(EvidenceFault::new(FaultKind::NotAFile, path, detail))
}

/// Puts the links that are in the way in place of the faults that follow from them. `root` is the directory of the store.
pub fn name_links(root: &Path, faults: &mut Vec<EvidenceFault>) {
    let mut links: BTreeMap<PathBuf, EvidenceFault> = BTreeMap::new();
    for fault in faults.iter().filter(|fault| fault.file.is_relative()) {
        // Links of people's own, such as `latest`, have kinds of their own.
        let is_itself = matches!(fault.kind, FaultKind::RunMissing | FaultKind::NotAFile);
        let mut above: Vec<&Path> = fault.file.ancestors().skip(usize::from(!is_itself)).collect();
        above.reverse();
        let is_link = |path: &&Path| root.join(path).is_symlink();
        if let Some(link) = above.into_iter().filter(|path| !path.as_os_str().is_empty()).find(is_link) {
            let known = faults.iter().find(|other| other.kind == FaultKind::NotAFile && other.file == link).cloned();
            links.extend(known.or_else(|| not_a_directory(root, link)).map(|fault| (link.to_owned(), fault)));
        }
    }
    // Where a run is behind a link, the links to it and to its files are expected to be wrong.
    let is_beside = |fault: &EvidenceFault, link: &Path| {
        let is_of_latest = matches!(fault.kind, FaultKind::LatestWrong | FaultKind::NameWrong);
        is_of_latest && fault.file.parent().is_some_and(|task| link.starts_with(task))
    };
    faults.retain(|fault| !links.keys().any(|link| fault.file.starts_with(link) || is_beside(fault, link)));
    faults.extend(links.into_values());
}

// The owner of a store, and paths in it as faults name them.

/// Returns the user number (uid) of the owner of the store's directory; 0 if the directory cannot be examined.
pub(super) fn owner(store: &Store) -> u32 {
    store.root().metadata().map(|metadata| metadata.uid()).unwrap_or_default()
}

/// Returns a path below the store, without the store's own.
pub(super) fn relative(store: &Store, path: &Path) -> PathBuf {
    path.strip_prefix(store.root()).unwrap_or(path).to_owned()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes the files that are looked at")]
mod check_links_tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_named_once_in_place_of_what_follows_from_it() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("evidence/p")).unwrap();
        fs::create_dir(root.path().join("elsewhere")).unwrap();
        fs::write(root.path().join("locks"), "").unwrap();
        symlink("../../elsewhere", root.path().join("evidence/p/task")).unwrap();
        fs::create_dir(root.path().join("evidence/p/third")).unwrap();
        symlink("../../../elsewhere", root.path().join("evidence/p/third/runs")).unwrap();
        let fault = |kind, file: &str| EvidenceFault::new(kind, file, "why");
        let mut faults = vec![
            fault(FaultKind::RunMissing, "evidence/p/task/runs/1"),
            fault(FaultKind::RunMissing, "evidence/p/task/runs/2"),
            fault(FaultKind::Foreign, "evidence/p/task"),
            fault(FaultKind::RunMissing, "evidence/p/other/runs/3"),
            fault(FaultKind::RunMissing, "evidence/p/third/runs/4"),
            fault(FaultKind::NameWrong, "evidence/p/third/report"),
            fault(FaultKind::IndexAhead, "state.db"),
        ];
        name_links(root.path(), &mut faults);
        let names: Vec<_> = faults.iter().map(|fault| (fault.kind, fault.file.to_str().unwrap())).collect();
        assert_eq!(
            names,
            [
                (FaultKind::RunMissing, "evidence/p/other/runs/3"),
                (FaultKind::IndexAhead, "state.db"),
                (FaultKind::NotAFile, "evidence/p/task"),
                (FaultKind::NotAFile, "evidence/p/third/runs")
            ]
        );
        assert!(faults[2].detail.contains("a link to `../../elsewhere`"));
        assert_eq!(check_guarded(root.path()), [EvidenceFault::new(FaultKind::NotAFile, "locks", "a directory is expected")]);
    }
}
