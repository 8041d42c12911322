//! The part of `proctor doctor` about disk space: the evidence and its proposed limit, and the snapshots, of which each project can have one
//! or not. Pure.

use proctor_wire::wire;
use serde::Serialize;

use crate::doctor::machine::MachineFacts;
use proctor_model::{PROPOSED_MAX_BYTES, ProjectId};
use proctor_project::{ProjectFound, SnapshotUsage};

/// The size of the evidence in the store, and how many projects let it grow.
#[wire(Copy, Default, open, written)]
pub struct EvidenceSize {
    /// The bytes on disk of all evidence and the ledgers.
    pub bytes: u64,
    /// The number of registered projects whose `[evidence]` sets no `max_bytes`.
    pub projects_without_limit: u64,
}

impl EvidenceSize {
    /// Returns the line for people. Nothing is wrong without a limit, so a limit is only proposed.
    pub(super) fn line(self) -> String {
        let size = format!("evidence: {} MiB", self.bytes.div_ceil(1 << 20));
        match self.projects_without_limit {
            0 => size,
            1 => format!("{size}; 1 project has no limit: {}", proposal()),
            many => format!("{size}; {many} projects have no limit: {}", proposal()),
        }
    }
}

fn proposal() -> String {
    format!(
        "`max_bytes = \"{PROPOSED_MAX_BYTES}\"` in `[evidence]` of proctor.toml is proposed; nothing is removed before it is set"
    )
}

/// The disk space of all snapshots in the store, in bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SnapshotsV1 {
    bytes: u64,
    /// The part of `bytes` that belongs to no registered project.
    unused_bytes: u64,
}

/// Whether a project can have a snapshot, and how many bytes on disk its copies of the tree, its checks' writes
/// (layers), its kept caches and its own caches of pip, npm and other tools use.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SnapshotV1 {
    possible: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    obstacle: Option<String>,
    copies_bytes: u64,
    layers_bytes: u64,
    caches_bytes: u64,
    own_caches_bytes: u64,
}

/// Returns the object about all snapshots in the document that `--json` prints.
pub(super) fn document(facts: &MachineFacts) -> SnapshotsV1 {
    SnapshotsV1 { bytes: all_bytes(facts), unused_bytes: unused_bytes(facts) }
}

/// Returns the object about a project's snapshot in the document.
pub(super) fn of_project(project: &ProjectFound, usage: SnapshotUsage) -> SnapshotV1 {
    SnapshotV1 {
        possible: project.snapshot_obstacle.is_none(),
        obstacle: project.snapshot_obstacle.clone(),
        copies_bytes: usage.copies,
        layers_bytes: usage.layers,
        caches_bytes: usage.caches,
        own_caches_bytes: usage.own_caches,
    }
}

/// Returns the line about all snapshots for people.
pub(super) fn line(facts: &MachineFacts) -> String {
    format!("snapshots: {} in `{}`", mebibytes(all_bytes(facts)), facts.store.join("snapshots").display())
}

/// Returns the line about a project's snapshot for people.
pub(super) fn line_of_project(facts: &MachineFacts, project: &ProjectFound) -> String {
    let can = match &project.snapshot_obstacle {
        _ if project.file_system.is_none() => "none without its root".to_owned(),
        None => "can be had".to_owned(),
        Some(obstacle) => format!("in place, because {obstacle}"),
    };
    let usage = usage_of(facts, project);
    let [copies, layers, caches, own] = [usage.copies, usage.layers, usage.caches, usage.own_caches].map(mebibytes);
    format!("  {:<19} {can} · copies {copies}, layers {layers}, caches {caches}, package caches {own}", "snapshot")
}

/// Returns the finding about snapshots of projects that are not registered any more, with its remedy.
pub(super) fn unused(facts: &MachineFacts) -> Option<(String, String)> {
    let bytes = Some(unused_bytes(facts)).filter(|bytes| *bytes > 0)?;
    let problem = format!("snapshots of projects that are not registered any more take {}", mebibytes(bytes));
    Some((problem, "proctor prune".to_owned()))
}

/// Returns a number of bytes for people, rounded up to whole MiB, so that only 0 bytes are shown as `0 MiB`.
fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

/// Returns the disk space of a project's snapshots. All sizes are 0 if the project has none or is not registered.
pub(super) fn usage_of(facts: &MachineFacts, project: &ProjectFound) -> SnapshotUsage {
    project.id.as_ref().and_then(|id| facts.snapshots.get(id)).copied().unwrap_or_default()
}

fn all_bytes(facts: &MachineFacts) -> u64 {
    facts.snapshots.values().map(SnapshotUsage::total).sum()
}

/// Returns the disk space of snapshots that belong to no registered project.
fn unused_bytes(facts: &MachineFacts) -> u64 {
    let is_known = |id: &ProjectId| facts.projects.iter().any(|project| project.id.as_ref() == Some(id));
    facts.snapshots.iter().filter(|(id, _)| !is_known(id)).map(|(_, usage)| usage.total()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_proposed_while_a_project_has_none() {
        let line = |bytes, projects_without_limit| EvidenceSize { bytes, projects_without_limit }.line();
        assert_eq!(line(3 << 20, 0), "evidence: 3 MiB");
        assert_eq!(
            line(1, 1),
            "evidence: 1 MiB; 1 project has no limit: `max_bytes = \"5GiB\"` in `[evidence]` of proctor.toml is proposed; \
             nothing is removed before it is set"
        );
        assert!(line(0, 2).starts_with("evidence: 0 MiB; 2 projects have no limit: "));
    }
}
