//! Whether the names beside a task's runs lead where they must. They are for people: nothing of proctor's goes through them.

use std::path::Path;

use crate::evidence::names::MANIFEST_NAME;
use crate::evidence::publish::LATEST;
use crate::evidence::verification::look::{FoundDirectory, FoundEntry};
use crate::evidence::verification::{Fault, FaultKind};
use crate::model::RunId;

const RUNS: &str = "runs";

/// Checks the directory of a task, given the last run that counts and what lies in it.
pub(super) fn check_task(base: &Path, names: &[(String, FoundEntry)], latest: Option<(&RunId, &FoundDirectory)>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let target = latest.map(|(run_id, _)| Path::new(RUNS).join(run_id.as_str()));
    let leads = |name: &str| names.iter().find(|(there, _)| there == name).map(|(_, entry)| entry);
    match (leads(LATEST), &target) {
        (Some(FoundEntry::Link(to)), Some(target)) if to == target => {}
        (None, None) => {}
        (there, expected) => {
            let expected = expected.as_ref().map_or("nothing".to_owned(), |target| format!("a link to `{}`", target.display()));
            let detail = format!("{}, and {expected} is expected", describe(there));
            faults.push(Fault::of(FaultKind::LatestWrong, base.join(LATEST), detail));
        }
    }
    let in_latest =
        |name: &str| latest.is_some_and(|(_, run)| run.entries.contains_key(name.as_bytes())) && name != MANIFEST_NAME;
    for (name, entry) in names.iter().filter(|(name, _)| name != LATEST && name != RUNS) {
        let kind = match entry {
            FoundEntry::Link(to) if *to == Path::new(LATEST).join(name) && in_latest(name) => continue,
            FoundEntry::Link(_) => FaultKind::NameWrong,
            FoundEntry::File(_) | FoundEntry::Directory(_) | FoundEntry::Other | FoundEntry::Unreadable(_) => FaultKind::Foreign,
        };
        faults.push(Fault::of(kind, base.join(name), describe(Some(entry))));
    }
    let run_names = latest.into_iter().flat_map(|(_, run)| run.entries.keys());
    for name in run_names.filter_map(|name| std::str::from_utf8(name).ok()).filter(|name| *name != MANIFEST_NAME) {
        if leads(name).is_none() {
            faults.push(Fault::of(FaultKind::NameWrong, base.join(name), "there is no link of that name"));
        }
    }
    faults
}

fn describe(entry: Option<&FoundEntry>) -> String {
    match entry {
        None => "nothing is there".to_owned(),
        Some(FoundEntry::Link(to)) => format!("a link to `{}`", shown(to)),
        Some(FoundEntry::File(_)) => "a file".to_owned(),
        Some(FoundEntry::Directory(_)) => "a directory".to_owned(),
        Some(FoundEntry::Other) => "a pipe, socket or device".to_owned(),
        Some(FoundEntry::Unreadable(why)) => why.clone(),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
