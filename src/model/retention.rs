//! How long runs are kept, and the ledger's records of removed and archived runs.

use serde::{Deserialize, Serialize};

use crate::model::{ByteSize, Digest, RunId, TaskId};

/// The limits on the runs that a project keeps. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetentionLimits {
    /// The number of runs.
    pub runs: Option<u32>,
    /// The age in days, counted from a run's start. Failed runs are kept twice as long.
    pub days: Option<u32>,
    /// The total size in bytes.
    pub bytes: Option<ByteSize>,
    /// The age in days after which a run is archived. It removes nothing.
    pub archive_days: Option<u32>,
}

/// Runs whose directories are removed. The directories are deleted only after this line is safely on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PruneRecord {
    pub runs: Vec<PrunedRun>,
}

/// A run whose directory is removed. Its other ledger lines stay valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrunedRun {
    pub run_id: RunId,
    pub task: TaskId,
    /// SHA-256 of its `SHA256SUMS`, by which a copy of the run can be recognised.
    pub manifest_hash: Digest,
    /// The limit that the run exceeded.
    pub why: PruneReason,
}

/// Runs whose directories became archives. The directories are deleted only after this line is safely on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArchiveRecord {
    pub runs: Vec<PackedRun>,
}

/// A run that is kept as `RUN.tar.zst` next to its former directory. Its other ledger lines stay valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackedRun {
    pub run_id: RunId,
    pub task: TaskId,
    pub manifest_hash: Digest,
    pub archive_hash: Digest,
    /// The size of the archive.
    pub archive_bytes: u64,
    /// The number of files in the archive.
    pub files: u64,
    /// The total size of these files.
    pub bytes: u64,
}

/// The limit that a run exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PruneReason {
    /// The setting `keep_days`.
    Days,
    /// The setting `keep_runs`.
    Runs,
    /// The setting `max_bytes`.
    Bytes,
}

impl RetentionLimits {
    /// Returns whether no limit is set.
    pub fn is_unlimited(&self) -> bool {
        *self == Self { archive_days: self.archive_days, ..Self::default() }
    }

    /// Returns whether neither removal nor archiving is configured.
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}

impl PruneReason {
    /// Returns the name of the setting.
    pub fn setting(self) -> &'static str {
        match self {
            Self::Days => "keep_days",
            Self::Runs => "keep_runs",
            Self::Bytes => "max_bytes",
        }
    }
}
