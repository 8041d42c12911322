//! How long runs are kept, and what the ledger says of those that are not.

use serde::{Deserialize, Serialize};

use crate::model::{ByteSize, Digest, RunId, TaskId};

/// How much of a project's runs is kept. None of a kind: as much as there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetentionLimits {
    /// So many runs.
    pub runs: Option<u32>,
    /// So many days from their start; twice as many those that failed.
    pub days: Option<u32>,
    /// So many bytes.
    pub bytes: Option<ByteSize>,
    /// Runs that began so many days ago are archived. It bounds nothing.
    pub archive_days: Option<u32>,
}

/// Runs whose directories are removed. They are gone only after the line that says so is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PruneRecord {
    /// The runs.
    pub runs: Vec<PrunedRun>,
}

/// A run whose directory is removed. What the ledger says of it otherwise stays true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrunedRun {
    /// Its id.
    pub run_id: RunId,
    /// Its task.
    pub task: TaskId,
    /// SHA-256 of its `SHA256SUMS`, by which a copy of it is known.
    pub manifest_hash: Digest,
    /// Which limit it was over.
    pub why: PruneReason,
}

/// Runs whose directories became archives. The directories are removed only after the line that says so is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArchiveRecord {
    /// The runs.
    pub runs: Vec<PackedRun>,
}

/// A run that is kept as `RUN.tar.zst` beside where its directory lay. What the ledger says of it otherwise stays true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackedRun {
    /// Its id.
    pub run_id: RunId,
    /// Its task.
    pub task: TaskId,
    /// SHA-256 of its `SHA256SUMS`.
    pub manifest_hash: Digest,
    /// SHA-256 of the archive.
    pub archive_hash: Digest,
    /// What the archive has.
    pub archive_bytes: u64,
    /// How many files are in it.
    pub files: u64,
    /// What they have together.
    pub bytes: u64,
}

/// Which limit a run was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PruneReason {
    /// `keep_days`.
    Days,
    /// `keep_runs`.
    Runs,
    /// `max_bytes`.
    Bytes,
}

impl RetentionLimits {
    /// Returns whether everything is kept.
    pub fn is_unlimited(&self) -> bool {
        *self == Self { archive_days: self.archive_days, ..Self::default() }
    }

    /// Returns whether there is nothing to be done with runs that are sealed.
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}

impl PruneReason {
    /// Returns the setting.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Days => "keep_days",
            Self::Runs => "keep_runs",
            Self::Bytes => "max_bytes",
        }
    }
}
