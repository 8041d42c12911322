//! The context of a run in the report: project, tree, isolation, environment, route, TDD state (E15).

use proctor_wire::wire;

use proctor_model::{
    ActionId, Digest, DurationMs, EvidenceFile, ExitCodeSource, FileChangeKind, IsolationLevel, KilledBy, LimitSetting, NextNode,
    PauseRecord, Phase, ProjectId, RouteKind, RunId, TestedPlace, TreeDifference, TreeDigest, TreeFormat, TreeIssueKind,
};

/// Which project was tested, and where it lies.
#[wire(schema, sparse)]
pub struct ProjectV2 {
    pub id: ProjectId,
    /// The name for display; absent if the run died and its start record is damaged.
    pub name: Option<String>,
}

/// The tree that was tested (S5, S6).
#[wire(schema, sparse)]
pub struct TreeV2 {
    /// The format of the digests; absent in old reports, which were written when there was only one format.
    #[serde(default, skip_serializing_if = "TreeFormat::is_unnamed")]
    pub format: TreeFormat,
    /// The tree's digest when the run began.
    pub before: TreeDigest,
    /// The tree's digest after the last process had ended; absent if the tree was not read again.
    pub after: Option<TreeDigest>,
    /// The first 200 paths that changed during the run.
    pub moved: Vec<String>,
    /// How many paths changed during the run; absent if the tree was not read again.
    pub moved_count: Option<u64>,
    /// How many files belong to the tree; absent if the tree was not read again.
    pub files: Option<u64>,
    /// In which files the tree differs from the one that the task's last run tested; absent if proctor does not know that tree any more.
    pub since_last_run: Option<TreeDifference>,
    /// Entries of the tree that could not be digested.
    pub issues: Vec<TreeIssueV2>,
    /// Whether the checks ran on a snapshot of the tree; absent if nothing was run, and in reports of versions without snapshots.
    pub snapshot: Option<SnapshotV2>,
}

/// Where the checks of a run worked, and what they wrote there.
#[wire(schema, sparse)]
pub struct SnapshotV2 {
    /// Whether the checks saw a snapshot or the project itself.
    pub tested: TestedPlace,
    /// Why the checks ran in the project; absent if they ran on a snapshot.
    pub reason: Option<String>,
    /// The digest of the ignored files that were copied for the checks, such as `.env`; absent if the checks ran in the project.
    pub inputs: Option<TreeDigest>,
    /// Whether tools had the caches of earlier runs of the same check; absent if the checks ran in the project.
    pub caches: Option<CachesV2>,
    /// The first 20 entries that checks wrote in the snapshot, without caches and bytecode. Entries that were not copied
    /// to the project were dropped after the run.
    pub written: Vec<WrittenV2>,
    /// How many entries the checks wrote, without caches and bytecode; absent if the checks ran in the project.
    pub written_count: Option<u64>,
    /// How many of the written files are in the project, because `writes` of their checks names them; absent if no check that
    /// was carried out has a `writes`.
    pub kept_count: Option<u64>,
    /// Patterns for `writes` that would keep the files that no `writes` names; at most 5.
    pub writes_to_keep: Vec<String>,
}

/// The caches with which tools started in a snapshot.
#[wire(Copy, kebab, schema)]
pub enum CachesV2 {
    /// The caches that earlier runs of the same check left, if there were any.
    Kept,
    /// The tools started without caches.
    Fresh,
}

/// An entry that a check wrote or removed in its snapshot.
#[wire(schema, sparse)]
pub struct WrittenV2 {
    pub action_id: ActionId,
    /// The path, relative to the project.
    pub path: String,
    /// The size of the written file in bytes; absent if the entry was removed or is no file.
    pub bytes: Option<u64>,
    /// Whether the project has this file now, because `writes` of the check names it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub kept: bool,
    /// Why the file is not in the project although `writes` of the check names it.
    pub not_kept: Option<String>,
}

/// An entry of the tree that could not be digested, for example an unreadable file.
#[wire(schema)]
pub struct TreeIssueV2 {
    /// The path, relative to the project.
    pub path: String,
    /// Why the entry could not be digested.
    pub kind: TreeIssueKind,
}

/// How a run was isolated, and which ways out stayed open (S8).
#[wire(schema, sparse)]
pub struct IsolationV2 {
    /// The weakest isolation level among the run's actions.
    pub level: IsolationLevel,
    /// How processes that an action left behind were ended.
    pub killed_by: Option<KilledBy>,
    /// The processes that were still running when the main process of their action had ended (E14).
    #[kept]
    pub survivors: Vec<SurvivorV2>,
    /// Why stronger isolation levels were not available.
    pub obstacles: Vec<String>,
    /// The limits that `[sandbox]` asks for and that were not enforced for at least one action.
    pub unenforced_limits: Vec<UnenforcedLimitV2>,
    /// The ways by which a command could reach outside of the run.
    #[kept]
    pub open_channels: Vec<String>,
}

/// A limit on memory or processes that was not enforced.
#[wire(schema)]
pub struct UnenforcedLimitV2 {
    /// The key of `[sandbox]` that asks for the limit.
    pub setting: LimitSetting,
    /// Why the limit was not enforced.
    pub why: String,
    /// What a person can do so that the limit is enforced.
    pub mend: String,
}

impl UnenforcedLimitV2 {
    /// What a person can do so that limits are enforced.
    pub const MEND: &'static str = "start proctor by `systemd-run --user --scope --property=Delegate=yes proctor run`; \
        `proctor doctor` says whether this machine needs more for it";
}

/// A process that was still running when the main process of its action had ended, and was killed (E14).
#[wire(schema, sparse)]
pub struct SurvivorV2 {
    pub action_id: ActionId,
    /// The process id, as seen from inside the action.
    pub pid: i32,
    /// The argument vector, with invalid UTF-8 replaced.
    #[kept]
    pub argv: Vec<String>,
    /// How long the process had been running; absent if that could not be read.
    pub age_ms: Option<DurationMs>,
}

/// The environment of the commands: a digest of the programs and packages that they use, and the names of their
/// variables.
#[wire(schema)]
pub struct EnvironmentV2 {
    /// The digest of the programs, lock files, packages and test plugins that the commands use. The variables in
    /// `names` are not part of it.
    pub digest: Digest,
    /// The names of the variables that were passed on, sorted.
    pub names: Vec<String>,
    /// The digest of the variables that checks got because of where proctor was started and what the settings pass on, without the
    /// project's own path. It is made with the key of the store, so values cannot be guessed from it. Absent in reports of earlier
    /// versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub variables: Option<Digest>,
    /// The programs, lock files, environments (directories of installed packages) and plugins that the digest covers, each
    /// with a digest of its own.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub components: Vec<EnvironmentComponentV2>,
}

/// A program, a lock file or another part of the environment that the digest covers.
#[wire(schema)]
pub struct EnvironmentComponentV2 {
    /// The path of the tool or file, in some cases followed by the name of the value that was read from it.
    pub name: String,
    pub sha256: Digest,
}

/// A configuration file that was changed, and that can change what the checks mean (S7).
#[wire(schema)]
pub struct ConfigurationChangeV2 {
    /// The path, relative to the project.
    pub path: String,
    pub change: FileChangeKind,
}

/// Who can write and sign evidence (S8).
#[wire(Copy, Hash, kebab, schema)]
pub enum CustodyV2 {
    /// The user who runs the tested code can also write and sign the evidence.
    SameUser,
}

/// Where the task goes next (R1). Without a started cycle the route is only advice (R2).
#[wire(schema)]
pub struct RouteV2 {
    pub next_node: NextNode,
    pub reason: String,
    /// Whether a person has to decide before the task goes on.
    pub requires_human: bool,
    /// Whether the task may be retried without a person.
    pub retry_allowed: bool,
    /// The rule that decided the route (added to the original format).
    pub kind: RouteKind,
    /// The phase in which the route was decided (added to the original format).
    pub phase: Phase,
    /// The exit code that led to the route; null if the process had no exit code (added to the original format).
    pub exit_code: Option<i32>,
    /// From where the exit code was taken (added to the original format).
    pub exit_code_source: ExitCodeSource,
    /// The node that the routing table gives, if another rule sent the task elsewhere (R7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_of: Option<NextNode>,
}

/// An action that waited because the largest allowed number of actions was already running on the machine.
#[wire(schema)]
pub struct ContentionV2 {
    pub action_id: ActionId,
    /// The waiting time in milliseconds. The action's own duration and time limit begin after the wait.
    pub waited_ms: DurationMs,
}

/// A check whose result is reused from an earlier run with the same inputs.
#[wire(schema, sparse)]
pub struct ReusedVerdictV2 {
    pub action_id: ActionId,
    /// The earlier run, which carried out the check.
    pub run_id: RunId,
    /// The hash of the earlier run's report in the ledger. The report was checked against this hash.
    pub report_hash: Digest,
    /// The isolation level of the earlier run; absent if it is not recorded.
    pub isolation_level: Option<IsolationLevel>,
    /// The check's files in the earlier run's directory. Their hashes were checked when the result was reused.
    #[kept]
    pub evidence_files: Vec<EvidenceFile>,
}

/// The task's TDD state, as far as readers of the report need it.
#[wire(schema, sparse)]
pub struct TddV2 {
    /// Whether a cycle is started. Without a cycle no attempt is counted (R2).
    pub started: bool,
    /// The phase in which the run was judged.
    pub phase: Phase,
    pub phase_after: Phase,
    /// The number of attempts in the phase, including this run.
    pub attempts: u32,
    /// Why and since when the task waits for a person; absent if it does not wait (R9).
    pub paused: Option<PauseRecord>,
    /// Why and since when a person should look at the task, although nothing waits for it; absent if there is no reason to (R3).
    pub notice: Option<PauseRecord>,
}
