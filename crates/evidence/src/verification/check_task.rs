//! Checks that the links beside a task's runs have the right targets. The links are for people: proctor never follows
//! them.

use std::path::Path;

use crate::names::MANIFEST_NAME;
use crate::publish::LATEST;
use crate::verification::inspect::{InspectedDirectory, InspectedEntry};
use crate::verification::{EvidenceFault, FaultKind};
use proctor_model::RunId;

const RUNS: &str = "runs";

/// Checks the entries of a task's directory. `latest` is the run to which the link `latest` should point, with its
/// files.
pub(super) fn check_task(
    base: &Path,
    names: &[(String, InspectedEntry)],
    latest: Option<(&RunId, &InspectedDirectory)>,
) -> Vec<EvidenceFault> {
    let mut faults = Vec::new();
    let target = latest.map(|(run_id, _)| Path::new(RUNS).join(run_id.as_str()));
    let entry_at = |name: &str| names.iter().find(|(there, _)| there == name).map(|(_, entry)| entry);
    match (entry_at(LATEST), &target) {
        (Some(InspectedEntry::SymbolicLink(to)), Some(target)) if to == target => {}
        (None, None) => {}
        (there, expected) => {
            let expected = expected.as_ref().map_or("nothing".to_owned(), |target| format!("a link to `{}`", target.display()));
            let detail = format!("{}, and {expected} is expected", describe(there));
            faults.push(EvidenceFault::new(FaultKind::LatestWrong, base.join(LATEST), detail));
        }
    }
    let in_latest =
        |name: &str| latest.is_some_and(|(_, run)| run.entries.contains_key(name.as_bytes())) && name != MANIFEST_NAME;
    for (name, entry) in names.iter().filter(|(name, _)| name != LATEST && name != RUNS) {
        let kind = match entry {
            InspectedEntry::SymbolicLink(to) if *to == Path::new(LATEST).join(name) && in_latest(name) => continue,
            InspectedEntry::SymbolicLink(_) => FaultKind::NameWrong,
            InspectedEntry::File(_) | InspectedEntry::Directory(_) | InspectedEntry::Other | InspectedEntry::Unreadable(_) => {
                FaultKind::Foreign
            }
        };
        faults.push(EvidenceFault::new(kind, base.join(name), describe(Some(entry))));
    }
    let run_names = latest.into_iter().flat_map(|(_, run)| run.entries.keys());
    for name in run_names.filter_map(|name| std::str::from_utf8(name).ok()).filter(|name| *name != MANIFEST_NAME) {
        if entry_at(name).is_none() {
            faults.push(EvidenceFault::new(FaultKind::NameWrong, base.join(name), "there is no link of that name"));
        }
    }
    faults
}

fn describe(entry: Option<&InspectedEntry>) -> String {
    match entry {
        None => "nothing is there".to_owned(),
        Some(InspectedEntry::SymbolicLink(to)) => format!("a link to `{}`", shown(to)),
        Some(InspectedEntry::File(_)) => "a file".to_owned(),
        Some(InspectedEntry::Directory(_)) => "a directory".to_owned(),
        Some(InspectedEntry::Other) => "a pipe, socket or device".to_owned(),
        Some(InspectedEntry::Unreadable(why)) => why.clone(),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
