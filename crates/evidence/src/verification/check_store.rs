//! Checks what belongs to no project: the store's own directories, entries that proctor did not put there, and modes that let others
//! write.

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
const OTHERS: [&str; 15] = [
    "agents",
    "log",
    "trees",
    "approved-trees",
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
const OTHER_LOCKS: [&str; 2] = ["slots", "service"];

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
    faults.extend(strays(store, "ledger", is_ledger_file, "only ledgers of projects belong there"));
    faults.extend(strays(store, "locks", is_lock_file, "only locks belong there"));
    faults.extend(strays(store, "evidence", is_project_directory, "only directories of projects belong there"));
    faults
}

fn strays(store: &Store, directory: &str, belongs: fn(&str, &InspectedEntry) -> bool, why: &str) -> Vec<EvidenceFault> {
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
