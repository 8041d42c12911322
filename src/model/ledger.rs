//! The lines of a project's ledger: the truth about registrations, runs, routes and TDD state (S3).
//!
//! Each line is one JSON object. A new optional field or a new kind of line stays compatible with older lines. Any other change
//! needs a new [`LEDGER_SCHEMA`]: readers refuse lines with an unknown schema or kind instead of guessing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    ApprovalRecord, ArchiveRecord, CommandExit, Digest, GovernanceRecord, OverallResult, OverallStatus, Phase, PlanTerms,
    ProjectId, PruneRecord, RouteEntry, RunId, Sequence, TaskId, TaskListRecord, TddState, Timestamp, TreeDigest,
    ViolationRecord,
};

/// The name and version of the format, in the `schema` field of every line.
pub const LEDGER_SCHEMA: &str = "proctor-ledger-v1";

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LedgerLine {
    /// Always [`LEDGER_SCHEMA`].
    pub schema: String,
    /// The line's number, counted from 1 without gaps.
    pub sequence: Sequence,
    /// SHA-256 of the previous line without its newline; for the first line, the SHA-256 of no bytes.
    pub previous: Digest,
    pub time: Timestamp,
    /// The process that asked for the recorded change.
    pub asker: Asker,
    pub body: LedgerBody,
    /// The Ed25519 signature over the line without this key, in base64; `None` in lines that were written before a key existed (S3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The process that asked for a change of state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asker {
    pub pid: u32,
    /// The user that the process runs as.
    pub uid: u32,
    /// The path of its executable, if it can be read.
    pub executable: Option<String>,
    pub terminal: Option<String>,
}

/// The content of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum LedgerBody {
    /// A project was registered, which approves its plan (S7).
    Registered(RegistrationRecord),
    /// A run was sealed. Writing this line commits the run.
    Run(Box<RunRecord>),
    /// A newer save stopped a run, and its directory was deleted.
    Superseded(SupersededRecord),
    /// A TDD cycle was started, moved to another phase, or reset.
    Phase(PhaseRecord),
    /// A person decided where a paused task continues (R9).
    Override(OverrideRecord),
    /// The service was told to start or to stop watching the project.
    Serving(ServingRecord),
    /// An agent was granted a retest (R4).
    Retest(RetestRecord),
    /// proctor wrote its blocks in a task list.
    TaskList(TaskListRecord),
    /// The blocks of a task list were changed by others, and proctor reverted the change.
    Violation(ViolationRecord),
    /// A task's plan was approved, by rule or by a person (S7).
    Approval(Box<ApprovalRecord>),
    /// Runs were selected for removal, to keep within the project's limits.
    Pruned(PruneRecord),
    /// Runs were replaced by archives.
    Archived(ArchiveRecord),
    /// Files were stored in the trail of a governance workflow.
    Governance(Box<GovernanceRecord>),
}

/// A line about runs.
#[derive(Debug, Clone, Copy)]
pub enum RunLine<'a> {
    /// A run was sealed.
    Sealed(&'a RunRecord),
    /// A run was dropped for a newer save.
    Superseded(&'a SupersededRecord),
    /// Runs were selected for removal.
    Pruned(&'a PruneRecord),
    /// Runs were replaced by archives.
    Archived(&'a ArchiveRecord),
}

/// A line that approves a plan.
#[derive(Debug, Clone, Copy)]
pub enum ApprovingLine<'a> {
    /// The registration approves the plan that the project had then.
    Registered(&'a RegistrationRecord),
    /// The plan of a task was approved later.
    Approved(&'a ApprovalRecord),
}

impl LedgerBody {
    /// Returns what the line says about runs; `None` if it is about something else.
    pub fn about_runs(&self) -> Option<RunLine<'_>> {
        match self {
            Self::Run(record) => Some(RunLine::Sealed(record)),
            Self::Superseded(record) => Some(RunLine::Superseded(record)),
            Self::Pruned(record) => Some(RunLine::Pruned(record)),
            Self::Archived(record) => Some(RunLine::Archived(record)),
            Self::Registered(_)
            | Self::Phase(_)
            | Self::Override(_)
            | Self::Serving(_)
            | Self::Retest(_)
            | Self::TaskList(_)
            | Self::Violation(_)
            | Self::Approval(_)
            | Self::Governance(_) => None,
        }
    }

    /// Returns what the line approves; `None` if it approves nothing.
    pub fn approving(&self) -> Option<ApprovingLine<'_>> {
        match self {
            Self::Registered(record) => Some(ApprovingLine::Registered(record)),
            Self::Approval(record) => Some(ApprovingLine::Approved(record)),
            Self::Run(_)
            | Self::Superseded(_)
            | Self::Phase(_)
            | Self::Override(_)
            | Self::Serving(_)
            | Self::Retest(_)
            | Self::TaskList(_)
            | Self::Violation(_)
            | Self::Pruned(_)
            | Self::Archived(_)
            | Self::Governance(_) => None,
        }
    }
}

/// Another run that an agent was granted, within the task's budget. The run's own line follows if it is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetestRecord {
    pub task: TaskId,
    /// The tree when the retest was granted.
    pub tree_digest: TreeDigest,
    /// How many retests were granted since the budget was last full.
    pub number: u32,
}

/// Whether the service watches a project. The project keeps its evidence and id in both cases (S7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServingRecord {
    /// The state from this line on.
    pub serving: Serving,
}

/// Whether the service watches a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Serving {
    /// The project was added to the service.
    Served,
    /// The project was never added, or was removed.
    NotServed,
}

/// The facts by which a project's root is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootIdentity {
    /// Its absolute path, decoded lossily.
    pub path: String,
    pub device: u64,
    pub inode: u64,
    /// The git common directory of the root, if there is one.
    pub git_common_directory: Option<String>,
}

/// The registration of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegistrationRecord {
    pub project_id: ProjectId,
    /// The absolute path of the root, with invalid UTF-8 replaced.
    pub path: String,
    pub device: u64,
    pub inode: u64,
    /// The git common directory of the root, if the project uses git.
    pub git_common_directory: Option<String>,
    /// The digest of the plan with all defaults filled in, which this line approves.
    pub plan_digest: Digest,
    /// The demands of the project's own checks, which this line approves; `None` if it approves none of them, or the line is older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<PlanTerms>>,
}

/// A sealed run: its hashes, its verdict, and the state that later runs need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunRecord {
    pub run_id: RunId,
    pub task: TaskId,
    /// The `authenticity.reportHash` of the run's report (E13).
    pub report_hash: Digest,
    /// SHA-256 of the run's `SHA256SUMS`.
    pub manifest_hash: Digest,
    /// The tree that was tested; `None` if the run was interrupted before the tree was known.
    pub tree_digest: Option<TreeDigest>,
    /// The digest of the environment; `None` if the run was interrupted before it was known.
    pub environment_digest: Option<Digest>,
    /// The digest of the plan; `None` if the run was interrupted before it was known.
    pub plan_digest: Option<Digest>,
    /// The checks that a person selected by name; empty if none were selected. A run of selected checks says nothing about the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// How the run ended.
    pub overall_status: OverallStatus,
    /// The verdict; `None` if the run has no verdict (E17).
    pub overall_result: Option<OverallResult>,
    /// The number of blocking results.
    pub blocking: u32,
    /// The exit code of a command that reports this run (G5); `None` in older lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<CommandExit>,
    /// The routing decision; `None` if the run was not routed (R2).
    pub route: Option<RouteEntry>,
    /// The task's TDD state after the run; `None` if the run does not change it.
    pub tdd: Option<TddState>,
    /// Prerequisites that need not run again, by name, with the digest of their inputs and outputs. The list is complete: a
    /// prerequisite that is missing here failed, or its success is not known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prerequisites: BTreeMap<String, Digest>,
    /// The digests, by path, of configuration files that can change the meaning of a run (`configurationChanged`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub configuration: BTreeMap<String, Digest>,
    /// The digests, by name, of the inputs of checks whose result may be reused. Only checks that ran to a definite result are
    /// listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Digest>,
    /// The runs from which results were reused, sorted: the verdict depends on their files too. Older lines do not record them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reused: Vec<RunId>,
    pub started: Timestamp,
    /// When the last process of the run had ended.
    pub ended: Timestamp,
    /// Null in lines of old versions that signed nothing. It is no longer written: [`LedgerLine::signature`] covers the whole
    /// line.
    #[serde(default, skip_serializing)]
    pub signature: Option<String>,
}

/// A run that a newer save stopped (E17).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SupersededRecord {
    pub run_id: RunId,
    pub task: TaskId,
    pub tree_digest: TreeDigest,
    /// Prerequisites that succeeded in it or did not need to run, as in [`RunRecord::prerequisites`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prerequisites: BTreeMap<String, Digest>,
    pub started: Timestamp,
}

/// A change of the TDD phase by a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PhaseRecord {
    pub task: TaskId,
    /// The command: `start`, `phase` or `reset`.
    pub verb: String,
    /// The phase before the change.
    pub from: Phase,
    /// The task's state after the change.
    pub tdd: TddState,
}

/// A person's decision on a paused task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OverrideRecord {
    pub task: TaskId,
    /// The reason in the person's words.
    pub reason: String,
    /// The task's state after the decision. The last entry of its route history is the override.
    pub tdd: TddState,
}

impl RunRecord {
    /// Returns a record for a run without verdict and route. Every field that is not passed in is empty.
    pub fn without_verdict(
        run_id: RunId,
        task: TaskId,
        report_hash: Digest,
        status: OverallStatus,
        time: (Timestamp, Timestamp),
    ) -> Self {
        Self {
            run_id,
            task,
            report_hash,
            manifest_hash: Digest::of(b""),
            tree_digest: None,
            environment_digest: None,
            plan_digest: None,
            checks: Vec::new(),
            overall_status: status,
            overall_result: None,
            blocking: 0,
            exit: None,
            route: None,
            tdd: None,
            prerequisites: BTreeMap::new(),
            configuration: BTreeMap::new(),
            inputs: BTreeMap::new(),
            reused: Vec::new(),
            started: time.0,
            ended: time.1,
            signature: None,
        }
    }

    /// Returns whether `latest` points to the run: it has a verdict (E17), and the verdict covers all checks and not only
    /// selected ones.
    pub fn leads_latest(&self) -> bool {
        self.overall_status.counts() && self.checks.is_empty()
    }
}
