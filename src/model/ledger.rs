//! The lines of a project's ledger: the truth for registrations, runs, routes and TDD state (S3).
//!
//! A line is JSON on one line. Adding an optional field or a kind is compatible with older lines; anything else needs a new
//! [`LEDGER_SCHEMA`]: readers refuse lines of a schema or a kind they do not know instead of guessing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    ApprovalRecord, ArchiveRecord, CommandExit, Digest, GovernanceRecord, OverallResult, OverallStatus, Phase, PlanTerms,
    ProjectId, PruneRecord, RouteEntry, RunId, Sequence, TaskId, TaskListRecord, TddState, Timestamp, TreeDigest,
    ViolationRecord,
};

/// The name and version of the format; the `schema` field of every line.
pub const LEDGER_SCHEMA: &str = "proctor-ledger-v1";

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LedgerLine {
    /// [`LEDGER_SCHEMA`].
    pub schema: String,
    /// Counted from 1 without gaps.
    pub sequence: Sequence,
    /// SHA-256 of the previous line without its newline; of nothing (the empty digest) for the first.
    pub previous: Digest,
    /// When it was written.
    pub time: Timestamp,
    /// Who asked for what it records.
    pub asker: Asker,
    /// What it records.
    pub body: LedgerBody,
    /// The Ed25519 signature of the line without this key, in base64; none in lines from before there was a key (S3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// Who asked for a change of state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asker {
    /// The process that asked.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its executable, where it can be read.
    pub executable: Option<String>,
    /// Its controlling terminal, where it has one.
    pub terminal: Option<String>,
}

/// What a line records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum LedgerBody {
    /// A project was registered, and its plan approved by that (S7).
    Registered(RegistrationRecord),
    /// A run was sealed: this line is its commit point.
    Run(Box<RunRecord>),
    /// A run was stopped by a newer save; its directory is dropped.
    Superseded(SupersededRecord),
    /// A cycle was started, set to another phase, or reset.
    Phase(PhaseRecord),
    /// A person decided where a paused task goes on (R9).
    Override(OverrideRecord),
    /// The service was told to watch the project, or to leave it alone.
    Serving(ServingRecord),
    /// An agent was granted another run (R4).
    Retest(RetestRecord),
    /// The blocks of a task list were written.
    TaskList(TaskListRecord),
    /// Somebody else had changed them; that was put back.
    Violation(ViolationRecord),
    /// A task's plan was approved, by rule or by a person (S7).
    Approval(Box<ApprovalRecord>),
    /// Runs are removed to keep to the project's limits.
    Pruned(PruneRecord),
    /// Runs are kept as archives from here on.
    Archived(ArchiveRecord),
    /// Files were kept in the trail of a governance workflow.
    Governance(Box<GovernanceRecord>),
}

/// Another run that an agent was granted, within the task's budget. The run's own line follows if it is carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetestRecord {
    /// The task.
    pub task: TaskId,
    /// The tree that was there.
    pub tree_digest: TreeDigest,
    /// How many this makes since the budget was full.
    pub number: u32,
}

/// Whether the service watches a project. Its evidence and its id stay either way (S7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServingRecord {
    /// From here on.
    pub serving: Serving,
}

/// Whether the service watches a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Serving {
    /// It was added.
    Served,
    /// It was never added, or was removed.
    NotServed,
}

/// What a project's root is recognised by.
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
    /// Its id.
    pub project_id: ProjectId,
    /// Its root, absolute, lossily decoded.
    pub path: String,
    /// Device number of the root.
    pub device: u64,
    /// Inode of the root.
    pub inode: u64,
    /// The git common directory of the root, where there is one.
    pub git_common_directory: Option<String>,
    /// Digest of the plan as resolved, which this line approves.
    pub plan_digest: Digest,
    /// What the plan of the project's own checks asks for, which this line approves; none: it approves none of them, or is older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<PlanTerms>>,
}

/// A sealed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunRecord {
    /// Its id.
    pub run_id: RunId,
    /// Its task.
    pub task: TaskId,
    /// `authenticity.reportHash` of its report (E13).
    pub report_hash: Digest,
    /// SHA-256 of its `SHA256SUMS`.
    pub manifest_hash: Digest,
    /// The tree it tested; none when it was interrupted before the tree was known.
    pub tree_digest: Option<TreeDigest>,
    /// The environment it ran in; none likewise.
    pub environment_digest: Option<Digest>,
    /// The plan it carried out; none likewise.
    pub plan_digest: Option<Digest>,
    /// The checks that a person named; empty: none were named. Such a run says nothing about the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// What happened.
    pub overall_status: OverallStatus,
    /// The verdict; none where there is none (E17).
    pub overall_result: Option<OverallResult>,
    /// How many results block.
    pub blocking: u32,
    /// The exit code of a command that ends with it (G5); older lines have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<CommandExit>,
    /// The route, where one was taken (R2).
    pub route: Option<RouteEntry>,
    /// The task's TDD state after the run; none where the run does not touch it.
    pub tdd: Option<TddState>,
    /// Prerequisites that need not run again, by name, with the digest of what they depend on and make. The whole truth:
    /// one that is not named here has failed, or its success is not known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prerequisites: BTreeMap<String, Digest>,
    /// Digests of configuration files that can change what a run means, by path (`configurationChanged`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub configuration: BTreeMap<String, Digest>,
    /// Digests of what checks depended on whose verdict may be reused, by name: those that were carried out and settled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Digest>,
    /// The runs that carried out what it took over from them, sorted: its verdict rests on their files. Older lines do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reused: Vec<RunId>,
    /// When it began.
    pub started: Timestamp,
    /// When its last process had ended.
    pub ended: Timestamp,
    /// Null in lines of versions that signed nothing, and not written any more: [`LedgerLine::signature`] covers the whole line.
    #[serde(default, skip_serializing)]
    pub signature: Option<String>,
}

/// A run stopped by a newer save (E17).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SupersededRecord {
    /// Its id.
    pub run_id: RunId,
    /// Its task.
    pub task: TaskId,
    /// The tree it was testing.
    pub tree_digest: TreeDigest,
    /// Prerequisites that succeeded in it or were unchanged, as in [`RunRecord::prerequisites`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prerequisites: BTreeMap<String, Digest>,
    /// When it began.
    pub started: Timestamp,
}

/// A change of phase by command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PhaseRecord {
    /// The task.
    pub task: TaskId,
    /// `start`, `phase` or `reset`.
    pub verb: String,
    /// The phase before.
    pub from: Phase,
    /// The task's state from here on.
    pub tdd: TddState,
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OverrideRecord {
    /// The task.
    pub task: TaskId,
    /// The person's words.
    pub reason: String,
    /// The task's state from here on; its route history ends with the override.
    pub tdd: TddState,
}

impl RunRecord {
    /// Returns the record of a run of which only this is known: no verdict, no route, nothing that is met.
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

    /// Returns whether `latest` leads to the run: it is a verdict (E17), and not one on checks that somebody picked.
    pub fn leads_latest(&self) -> bool {
        self.overall_status.counts() && self.checks.is_empty()
    }
}
