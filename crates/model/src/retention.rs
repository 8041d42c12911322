//! How long runs are kept, and the ledger's records of removed and archived runs.

use proctor_wire::wire;
use serde::{Deserialize as _, Deserializer};

use crate::{ByteSize, Digest, RunId, TaskId, Timestamp};

/// The limits on the runs that a project keeps. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetentionLimits {
    /// The most runs that are kept.
    pub runs: Option<u32>,
    /// The greatest age of a run in days, counted from its start. Failed runs are kept twice as long.
    pub days: Option<u32>,
    /// The largest total size of all runs.
    pub bytes: Option<ByteSize>,
}

/// The limit on a project's runs together (`max_bytes`) that proctor proposes at its first use and in `doctor`. It never sets the limit
/// by itself.
pub const PROPOSED_MAX_BYTES: ByteSize = ByteSize(5 << 30);

/// The runs that were chosen for deletion. Their directories are deleted only after this ledger line is safely on disk.
#[wire(schema)]
pub struct PruneRecord {
    pub runs: Vec<PrunedRun>,
}

/// The ledger's record that a person removed a project together with its evidence (`proctor service remove --purge`). The evidence is
/// deleted only after this ledger line is safely on disk. The ledger itself stays, with every verdict and hash.
#[wire(schema)]
pub struct PurgeRecord {
    /// The hash of the ledger's last line before the purge.
    pub head: Digest,
    /// How many runs the purge removes, with those of earlier lines of the same purge.
    pub purged_runs: u64,
    /// The total size of these runs, in bytes.
    pub bytes: u64,
    /// When the first removed run started; `None` if no run was removed.
    pub first: Option<Timestamp>,
    /// When the last removed run started; `None` if no run was removed.
    pub last: Option<Timestamp>,
    /// The runs that this line removes: the newest ones, if earlier lines of the same purge removed others.
    pub runs: Vec<PrunedRun>,
}

/// A run that was chosen for deletion. The run's earlier ledger lines stay valid.
#[wire(schema)]
pub struct PrunedRun {
    pub run_id: RunId,
    pub task: TaskId,
    /// SHA-256 of the run's manifest `SHA256SUMS`, by which a copy of the run can be recognised.
    pub manifest_hash: Digest,
    /// Why the run is deleted.
    pub why: PruneReason,
}

/// The runs that a version of proctor before 0.1.0 packed, each into a file `RUN.tar.zst` beside its former directory. This version reads
/// no such file: to it these runs are removed.
#[wire(schema)]
pub struct ArchiveRecord {
    #[serde(deserialize_with = "packed_runs")]
    #[cfg_attr(any(test, feature = "testing"), schemars(with = "Vec<PackedRun>"))]
    pub runs: Vec<PrunedRun>,
}

/// The keys that are read of a packed run. Its other keys are about the packed file.
#[wire(schema, read, open)]
struct PackedRun {
    run_id: RunId,
    task: TaskId,
    manifest_hash: Digest,
}

/// Reads packed runs as removed ones.
fn packed_runs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PrunedRun>, D::Error> {
    let packed = Vec::<PackedRun>::deserialize(deserializer)?.into_iter();
    let pruned =
        |PackedRun { run_id, task, manifest_hash }| PrunedRun { run_id, task, manifest_hash, why: PruneReason::Archived };
    Ok(packed.map(pruned).collect())
}

/// Why a run is deleted: because of a limit, or because a person removed the project with its evidence.
#[wire(Copy, Hash, schema)]
pub enum PruneReason {
    /// The run is older than the setting `keep_days` allows.
    Days,
    /// The project has more runs than the setting `keep_runs` allows.
    Runs,
    /// The project's runs together are larger than the setting `max_bytes` allows.
    Bytes,
    /// A person removed the project together with its evidence.
    Purged,
    /// An earlier version packed the run into a file, which is not read any more.
    Archived,
}

impl RetentionLimits {
    /// Returns whether no limit deletes runs.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

impl PruneReason {
    /// Returns the reason in words that follow "because".
    pub fn because(self) -> String {
        match self {
            Self::Days | Self::Runs | Self::Bytes => format!("it was over `{}` of `[evidence]`", self.setting()),
            Self::Purged => "a person removed the project with its evidence (`proctor service remove --purge`)".to_owned(),
            Self::Archived => "an earlier version packed it into a file `.tar.zst`, which is not read any more".to_owned(),
        }
    }
}

words! {
    /// Returns the name of the limit in `proctor.toml`, or the command that removed the run.
    pub fn PruneReason::setting: Days "keep_days", Runs "keep_runs", Bytes "max_bytes", Purged "remove --purge", Archived "archived"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_an_earlier_version_packed_count_as_removed() {
        let line = r#"{"runs": [{"runId": "exec-20260101T000000.000Z-000001", "task": "default", "manifestHash": "HASH",
            "archiveHash": "HASH", "archiveBytes": 5, "files": 2, "bytes": 9}]}"#;
        let record: ArchiveRecord = serde_json::from_str(&line.replace("HASH", &Digest::of(b"").hex())).unwrap();
        assert_eq!(
            record.runs.iter().map(|run| (run.run_id.number(), run.why)).collect::<Vec<_>>(),
            [(1, PruneReason::Archived)]
        );
    }
}
