//! Links in the place of the store's directories and files. proctor follows none: what is behind a link is not what was sealed. A fault
//! that only follows from a link is not reported beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::store::GUARDED;
use crate::verification::inspect::{InspectedEntry, InspectionDepth, inspect_entry};
use crate::verification::{EvidenceFault, FaultKind};

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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes the files that are looked at")]
mod tests {
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
