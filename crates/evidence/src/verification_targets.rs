//! Finding projects and runs to verify even if ledgers are damaged. Lines that cannot be read are skipped here; verification
//! reports them.

use std::path::Path;

use serde_json::Value;

use crate::files::list_directory;
use crate::ledger_file::read_ledger_bytes;
use crate::{EvidenceError, Store, list_projects, list_runs};
use proctor_model::{ProjectId, RunId, TaskId};

/// Returns the project that was registered for a directory last, according to the ledgers.
pub fn find_registered_project(store: &Store, root: &Path) -> Result<Option<ProjectId>, EvidenceError> {
    let root = root.to_string_lossy();
    let mut found = None;
    for project in list_projects(store)? {
        let bodies = read_bodies(store, &project)?;
        let times = bodies.iter().filter(|line| line["body"]["kind"] == "registered");
        let last = times
            .filter_map(|line| Some((line["time"].as_str()?.to_owned(), line["body"]["path"].as_str()? == root)))
            .next_back();
        if let Some((time, true)) = last {
            found = found.into_iter().chain([(time, project)]).max();
        }
    }
    Ok(found.map(|(_, project)| project))
}

/// Returns the projects that have a directory of evidence, sorted.
pub fn projects_with_evidence(store: &Store) -> Result<Vec<ProjectId>, EvidenceError> {
    let entries = list_directory(&store.evidence_directory())?;
    let is_directory = |entry: &&std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let directories = entries.iter().filter(is_directory);
    let mut projects: Vec<_> = directories.filter_map(|entry| ProjectId::try_from(entry.file_name().to_str()?).ok()).collect();
    projects.sort();
    Ok(projects)
}

/// Returns every run that has a directory or a ledger line, with its task. A run may occur twice.
pub fn known_runs(store: &Store, project: &ProjectId) -> Result<Vec<(RunId, TaskId)>, EvidenceError> {
    let stored = list_runs(store, project, None)?.into_iter().map(|run| (run.run_id, run.task));
    let parse_run = |line: &Value| {
        let text = |key: &str| line["body"][key].as_str().map(str::to_owned);
        (line["body"]["kind"] == "run").then_some(())?;
        Some((RunId::try_from(text("runId")?).ok()?, TaskId::try_from(text("task")?).ok()?))
    };
    let from_ledger: Vec<_> = read_bodies(store, project)?.iter().filter_map(parse_run).collect();
    Ok(stored.chain(from_ledger).collect())
}

fn read_bodies(store: &Store, project: &ProjectId) -> Result<Vec<Value>, EvidenceError> {
    let bytes = read_ledger_bytes(&store.ledger_path(project))?.unwrap_or_default();
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}
