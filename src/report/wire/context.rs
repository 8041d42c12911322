//! What surrounds a run: project, tree, isolation, environment, route, TDD state (E15).

use serde::{Deserialize, Serialize};

use crate::model::{
    ActionId, Digest, DurationMs, EvidenceFile, ExitCodeSource, FileChangeKind, IsolationLevel, KilledBy, NextNode, PauseRecord,
    Phase, ProjectId, RouteKind, RunId, TreeDigest, TreeIssueKind,
};

/// The project that was tested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectV2 {
    /// Its id in the store.
    pub id: ProjectId,
    /// Its name for people; absent where the start record of a run that died is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The tree that was tested (S5, S6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TreeV2 {
    /// Its digest when the run began.
    pub before: TreeDigest,
    /// Its digest after the last process had ended; absent where that second look was not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<TreeDigest>,
    /// The first 200 paths that moved during the run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub moved: Vec<String>,
    /// How many paths moved; absent where the second look was not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_count: Option<u64>,
    /// How many files belong to the tree; absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Entries that are named instead of digested.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub issues: Vec<TreeIssueV2>,
}

/// An entry that could not take part in the digest as it should.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TreeIssueV2 {
    /// The entry, relative to the project.
    pub path: String,
    /// What is wrong with it.
    pub kind: TreeIssueKind,
}

/// How a run was kept apart, and what stayed open (S8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IsolationV2 {
    /// The level that was reached.
    pub level: IsolationLevel,
    /// By what means whatever was left of an action was ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed_by: Option<KilledBy>,
    /// The processes that were alive when their action's leader had ended (E14).
    pub survivors: Vec<SurvivorV2>,
    /// Why no stronger level was reached.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub obstacles: Vec<String>,
    /// The channels by which a command could reach outside the run.
    pub open_channels: Vec<String>,
}

/// A process that outlived the leader of its action, and was killed (E14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SurvivorV2 {
    /// The action.
    pub action_id: ActionId,
    /// Its process id, as the action itself saw it.
    pub pid: i32,
    /// Its argument vector, lossily decoded.
    pub argv: Vec<String>,
    /// How long it had been running; absent where that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_ms: Option<DurationMs>,
}

/// What the commands ran in: its digest, and what it was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentV2 {
    /// The digest over everything below.
    pub digest: Digest,
    /// The names of the variables that were handed on, sorted.
    pub names: Vec<String>,
    /// What else the digest was made of.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub components: Vec<EnvironmentComponentV2>,
}

/// A tool, a lock file or another thing that the environment's digest covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EnvironmentComponentV2 {
    /// What it is: a path, or a path and what was read of it.
    pub name: String,
    /// Its SHA-256.
    pub sha256: Digest,
}

/// A file that can change what the checks mean, and did change (S7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigurationChangeV2 {
    /// The file, relative to the project.
    pub path: String,
    /// How it differs.
    pub change: FileChangeKind,
}

/// Who is able to write and sign evidence (S8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CustodyV2 {
    /// The same user whose code is tested.
    SameUser,
}

/// Where the task goes next (R1). Outside a started cycle it is advice (R2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteV2 {
    /// The node to go to.
    pub next_node: NextNode,
    /// Why.
    pub reason: String,
    /// Whether a person is needed.
    pub requires_human: bool,
    /// Whether an automatic retry is permitted.
    pub retry_allowed: bool,
    /// Which rule decided (addition).
    pub kind: RouteKind,
    /// The phase it was decided in (addition).
    pub phase: Phase,
    /// The exit code that was routed; null where there was none (addition).
    pub exit_code: Option<i32>,
    /// Where the code came from (addition).
    pub exit_code_source: ExitCodeSource,
    /// Where the table alone would have sent it, where another rule decided (R7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_of: Option<NextNode>,
}

/// An action that waited for those of other runs, because as many went on as may on the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContentionV2 {
    /// The action.
    pub action_id: ActionId,
    /// How long it waited, in milliseconds. Its own duration and time-out begin after that.
    pub waited_ms: DurationMs,
}

/// A check whose result comes from an earlier run on the same inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReusedVerdictV2 {
    /// The check.
    pub action_id: ActionId,
    /// The run that carried it out.
    pub run_id: RunId,
    /// The hash of that run's report, as the ledger has it; the report was seen to have it.
    pub report_hash: Digest,
    /// The level of isolation that run reached; absent where it did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation_level: Option<IsolationLevel>,
    /// The check's files in that run's directory, each seen to have its hash when the result was reused.
    pub evidence_files: Vec<EvidenceFile>,
}

/// The task's TDD state, as far as a reader of the report needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TddV2 {
    /// Whether a cycle is started. Without one nothing is counted (R2).
    pub started: bool,
    /// The phase the run was judged in.
    pub phase: Phase,
    /// The phase after it.
    pub phase_after: Phase,
    /// Attempts in the phase, this one included.
    pub attempts: u32,
    /// Set while the task waits for a person (R9).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<PauseRecord>,
}
